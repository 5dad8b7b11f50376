"""Tensors given as ``out=``: torch's errors and its warning, for torch's table of ops."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch.testing._internal.common_methods_invocations import op_db

import mindtorch.torch as ours
from tests.support import parity, parity_convert

STRIDE = 12  # CI takes one in so many; `make test` all
# torch answers otherwise, by an accident of its implementation
OTHERWISE = {
    ("addbmm", "shape"), ("arange", "shape"), ("cumprod", "long"), ("cumsum", "long"),
    ("diag", "long"), ("kthvalue", "shape"), ("mode", "shape"), ("multinomial", "shape"),
    ("nanmean", "long"), ("nansum", "long"), ("narrow_copy", "shape"), ("norm.nuc", "double"),
    ("norm.nuc", "grad"), ("norm.nuc", "long"), ("nn.functional.linear", "shape"),
    ("nn.functional.logsigmoid", "shape"),
}  # fmt: skip
# entries whose functions take ``out`` in torch's table alone, or are not ours
WITHOUT = (
    "_batch_norm_with_update", "_chunk_cat", "_native_batch_norm_legit", "equal", "histogramdd",
    "lu", "native_batch_norm", "sparse.sampled_addmm",
)  # fmt: skip
KINDS: dict[str, Callable[[Any], Any]] = {
    "double": lambda r: torch.empty(r.shape, dtype=torch.float64),
    "long": lambda r: torch.empty(r.shape, dtype=torch.int64),
    "grad": lambda r: torch.empty_like(r).requires_grad_(r.is_floating_point()),
    "shape": lambda r: torch.zeros((*r.shape, 2), dtype=r.dtype),
    "empty": lambda r: torch.zeros(0, dtype=r.dtype),
}


def cases() -> list[Any]:
    found = [
        x for x in op_db
        if x.supports_out and parity.title(x) not in WITHOUT and parity.dtype_of(x, "first")
    ]  # fmt: skip
    return [
        pytest.param(
            info, id=parity.title(info), marks=() if i % STRIDE == 0 else pytest.mark.exhaustive
        )
        for i, info in enumerate(found)
    ]


def sample_of(info: Any) -> Any:
    """The first sample whose input has several elements."""
    dtype = parity.dtype_of(info, "first")
    assert dtype is not None
    samples = parity.samples_of(info, dtype, False, 8)
    several = (x for x in samples if isinstance(x.input, torch.Tensor) and x.input.numel() > 1)
    return next(several, samples[0])


def outcome(function: Any, args: Any, kwargs: Any, out: Any) -> tuple[str, set[str]]:
    """(the error, the warnings about another shape)."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            function(*args, **kwargs, out=out)
            text = ""
        except Exception as error:
            message = str(error).split("\nException raised from")[0]
            text = f"{type(error).__name__}: {message.split('C++ CapturedTraceback')[0].strip()}"
    texts = {str(w.message).split(" (Triggered")[0] for w in caught if "resized" in str(w.message)}
    return text, texts


@pytest.mark.parametrize("info", cases())
def test_unfit_out_is_refused_or_resized_as_by_torch(info: Any) -> None:
    """A result must not be cast, resized or left untracked in silence where torch says so."""
    sample = sample_of(info)
    args, kwargs = (sample.input, *sample.args), sample.kwargs
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        result = info.op(*args, **kwargs)
    mine = parity_convert.callable_of(info)
    for kind, make in KINDS.items():
        if (parity.title(info), kind) in OTHERWISE:
            continue
        made = [
            make(result) if isinstance(result, torch.Tensor) else tuple(map(make, result))
            for _ in range(2)
        ]
        # before torch's call, which may write to what it is given
        own_args, own_kwargs = parity_convert.to_ours((args, kwargs))
        out = parity_convert.to_ours(made[0])
        expected = outcome(info.op, args, kwargs, made[1])
        assert outcome(mine, own_args, own_kwargs, out) == expected, kind


def overlapping(library: Any) -> list[Callable[[], Any]]:
    """Calls that would read what they have already written."""
    x = library.ones(6)
    index = library.zeros(3, dtype=library.int64)
    return [
        lambda: library.add(x[:5], 1, out=x[1:]),
        lambda: library.exp(x[:5], out=x[1:]),
        lambda: library.gather(x, 0, index, out=x[:3]),
        lambda: library.take(x, index, out=x[:3]),
        lambda: library.masked_select(x, x > 0, out=x),
        lambda: library.cat([x[:2], x[3:]], out=x[1:]),
    ]


@pytest.mark.parametrize("library", [torch, ours], ids=["torch", "ours"])
def test_an_out_that_overlaps_what_is_read_is_refused(library: Any) -> None:
    """The result would depend on the order of the writes."""
    for call in overlapping(library):
        with pytest.raises(RuntimeError, match="refer to a single memory location"):
            call()
