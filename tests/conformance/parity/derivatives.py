"""Second gradients and tangents over PyTorch's table of ops, in double precision.

    python -m tests.conformance.parity.derivatives --only 'cumsum'
"""

from __future__ import annotations

import argparse
import re
import warnings
from collections.abc import Iterator
from typing import Any

import torch
from torch.testing._internal.common_methods_invocations import op_db

import mindtorch.torch as ours
from mindtorch.tools.progress import progress
from tests.support import parity
from tests.support.parity_convert import callable_of, to_ours

DTYPE = torch.float64
# entries whose derivatives are not compared, and why
SECOND_APART = {
    # the first gradient has history here; PyTorch's chunks leave none
    "nn.functional.linear_cross_entropy.chunked",
    # PyTorch's first gradient is wrong: parity_known.AT_FAULT
    "as_strided_scatter",
    # it reads memory beside its input, which no tensor of ours shares
    "as_strided.partial_views",
    # halves of complex numbers go over as complex64
    "chalf",
    # the first gradient is the cotangent itself: PyTorch returns the leaf, ours a result
    "logcumsumexp", "masked.prod",
}  # fmt: skip
TANGENTS_APART = {
    # the tangent of an asymmetric matrix: PyTorch's is not the derivative of what it computes
    "linalg.cholesky", "linalg.cholesky_ex", "linalg.eigh",
    # PyTorch's are off by 1e-5 of central differences, and by the whole where A is not triangular
    "cholesky_inverse", "triangular_solve", "logcumsumexp",
    # of places that are given twice the last one counts, in an order of PyTorch's
    "nn.functional.max_unpool1d", "nn.functional.max_unpool2d", "nn.functional.max_unpool3d",
    # weights of float32 beside float64
    "cov",
    # at 0 one side has nan, the other infinity
    "linalg.norm.subgradients_at_zero",
    "as_strided.partial_views",
}  # fmt: skip


def drawn(like: list[torch.Tensor]) -> list[torch.Tensor]:
    """Random tensors of these shapes and types."""
    random = torch.Generator().manual_seed(2)
    return [torch.randn(x.shape, generator=random, dtype=x.dtype) for x in like]


def check_pairs(info: Any, theirs: Any, mine: Any, what: str) -> None:
    """Derivatives of both sides; None stands for zeros, and what is not finite is PyTorch's."""
    for a, b in zip(theirs, mine, strict=True):
        if a is None or b is None:
            present = a if b is None else b
            assert present is None or not bool((present != 0).any()), f"{what}: one side has none"
        elif bool(torch.isfinite(a).all()):
            parity.check_same(info, a, b, what)


def run_second(info: Any, count: int) -> None:
    """Gradients of the gradients, by the inputs and the cotangents."""
    mine = callable_of(info)
    for sample in parity.samples_of(info, DTYPE, True, count):
        expected, found, given, own = parity.both(info, info.op, mine, sample)
        expected, found = parity.processed(sample, expected, found)
        results, own_results = (
            parity.float_leaves(x, t) for x, t in ((expected, torch), (found, ours))
        )
        inputs, own_inputs = (parity.float_leaves(x, t) for x, t in ((given, torch), (own, ours)))
        dense = all(x.layout is torch.strided for x in (*results, *inputs))
        if not (results and inputs and dense):
            continue
        weights = [w.requires_grad_() for w in drawn(results)]
        own_weights = to_ours(weights)
        slopes = parity.attempt(lambda: torch.autograd.grad(
            results, inputs, weights, create_graph=True, allow_unused=True))  # noqa: B023
        if slopes is None:
            continue
        own_slopes = ours.autograd.grad(
            own_results, own_inputs, own_weights, create_graph=True, allow_unused=True
        )
        rows = [(a, b) for a, b in zip(slopes, own_slopes, strict=True)
                if a is not None and a.requires_grad]  # fmt: skip
        cotangents = drawn([a for a, _ in rows])
        second = parity.attempt(lambda: torch.autograd.grad(
            [a for a, _ in rows], inputs + weights, cotangents, allow_unused=True))  # noqa: B023
        if second is None:
            continue
        kept = [(b, c) for (_, b), c in zip(rows, cotangents, strict=True)
                if b is not None and b.requires_grad]  # fmt: skip
        own_second = ours.autograd.grad(
            [b for b, _ in kept], own_inputs + own_weights, [to_ours(c) for _, c in kept],
            allow_unused=True,
        ) if kept else [None] * len(second)  # fmt: skip
        check_pairs(info, second, own_second, "second gradient")


def dual(value: Any, library: Any, tangents: Iterator[Any]) -> Any:
    """``value`` with dual tensors in the place of those that require gradients."""
    if isinstance(value, library.Tensor) and value.requires_grad:
        return library.autograd.forward_ad.make_dual(value.detach(), next(tangents))
    if type(value) in (list, tuple):
        return type(value)(dual(each, library, tangents) for each in value)
    if type(value) is dict:
        return {key: dual(each, library, tangents) for key, each in value.items()}
    return value


def tangents_of(library: Any, results: Any) -> list[Any]:
    unpack = library.autograd.forward_ad.unpack_dual
    return [
        unpack(x).tangent for x in parity.leaves(results) if isinstance(x, library.Tensor)
        and x.layout is library.strided
    ]  # fmt: skip


def run_tangents(info: Any, count: int) -> None:
    """What ``torch.autograd.forward_ad`` gives for random tangents."""
    mine = callable_of(info)
    levels = torch.autograd.forward_ad.dual_level, ours.autograd.forward_ad.dual_level
    for sample in parity.samples_of(info, DTYPE, True, count):
        given: Any = (sample.input, *sample.args), sample.kwargs
        own = to_ours(given)
        moved = drawn(parity.float_leaves(given, torch))
        with levels[0](), levels[1]():
            args, kwargs = dual(given, torch, iter(moved))
            torch.manual_seed(1)
            expected = parity.attempt(lambda: info.op(*args, **kwargs))  # noqa: B023
            if expected is None:
                continue
            own_args, own_kwargs = dual(own, ours, iter(to_ours(moved)))
            ours.manual_seed(1)
            found = mine(*own_args, **own_kwargs)
            expected, found = parity.processed(sample, expected, found)
            check_pairs(
                info, tangents_of(torch, expected), tangents_of(ours, found), "tangent"
            )


def checks_of(info: Any, count: int) -> Iterator[tuple[str, Any]]:
    """The checks of an entry: second gradients and tangents, where PyTorch has them."""
    name = parity.title(info)
    if not info.supports_autograd or DTYPE not in info.supported_backward_dtypes("cpu"):
        return
    if info.supports_gradgrad and name not in SECOND_APART:
        yield "second gradients", lambda: run_second(info, count)
    if info.supports_forward_ad and name not in TANGENTS_APART:
        yield "tangents", lambda: run_tangents(info, count)


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--only", default="", help="a regular expression on the entry's name")
    parser.add_argument("--shard", default="0/1", help="i/n: every n-th entry, from the i-th on")
    parser.add_argument("--samples", type=int, default=10, help="sample inputs for each entry")
    options = parser.parse_args()
    index, shards = map(int, options.shard.split("/"))
    torch.set_num_threads(1)
    total = failed = 0
    infos = [x for x in op_db if re.search(options.only, parity.title(x))][index::shards]
    for info in progress(infos, "entries"):
        for what, check in checks_of(info, options.samples):
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                status, why = parity.outcome(check)
            total += 1
            if status != "pass":
                failed += 1
                print(parity.title(info), what, status, why, sep=" | ", flush=True)
    print(f"{total - failed} of {total} checks pass")
    return failed != 0


if __name__ == "__main__":
    raise SystemExit(main())
