"""Parity with PyTorch's own table of ops (``op_db``), which the torch wheel ships.

    python -m tests.support.parity --dtype float32 --only 'fft' --report out.json

For every entry and dtype: torch's sample inputs through the same callable of both libraries.
Values, dtypes and shapes are compared, the gradients of float inputs for fixed cotangents, the
method and in-place variants, and for the entry's erroneous inputs the type and text of the error.
"""

from __future__ import annotations

import argparse
import functools
import itertools
import json
import re
import signal
import sys
import time
import types
import warnings
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
import torch
from torch.testing._internal.common_methods_invocations import op_db

import mindtorch.torch as ours
from mindtorch.tools.progress import progress
from tests.support.parity_convert import (
    PARTS,
    MissingError,
    callable_of,
    counterpart,
    numpy_of,
    numpy_of_ours,
    rebound,
    shared_memory,
    to_ours,
)
from tests.support.parity_families import FAMILIES, family
from tests.support.parity_known import (
    AT_FAULT,
    FAR_AT_FAULT,
    PLACES,
    UNINITIALISED,
    UP_TO_SIGNS,
    pointed_at,
)

CLAIMED = ("float32", "float64", "bfloat16", "float16", "int64", "bool", "complex64")
SECONDS = 60
# the inputs of torch's own references (odd shapes, extreme values) in the place of its samples
reference = False
# units in the last place of the largest element that others may be off by: they are sums
SUM_OF_ROUNDINGS = 16



class TooLongError(Exception):
    """The entry took longer than is allowed."""


# --- comparing ------------------------------------------------------------------------------------


def leaves(value: Any) -> Iterator[Any]:
    """Tensors and numbers within a result."""
    if isinstance(value, dict):
        value = tuple(value.values())
    if isinstance(value, (list, tuple)):
        for each in value:
            yield from leaves(each)
    else:
        yield value


def tolerances(info: Any, dtype: torch.dtype) -> tuple[float, float]:
    """(relative, absolute): those of torch.testing, or wider ones that the entry itself has."""
    relative, absolute = torch.testing._comparison.default_tolerances(dtype)
    if info.name.startswith("special.bessel_") and dtype is torch.float64:
        relative = absolute = 1e-6  # torch's are no better; see tests/tables/ops_table_special.py
    for decorator in info.decorators or ():
        for each in getattr(decorator, "decorators", [decorator]):
            bounds = getattr(each, "tol", None)
            if isinstance(bounds, dict) and dtype in bounds:
                relative = max(relative, bounds[dtype].rtol)
                absolute = max(absolute, bounds[dtype].atol)
    return relative, absolute


def check_same(
    info: Any, expected: Any, found: Any, what: str, exact: Callable[[], Any] | None = None
) -> None:
    """Raise AssertionError where results differ.

    Floating-point elements may also be off where they are no further than torch's own from what
    torch finds in double precision: ``exact()``.
    """
    first, second = list(leaves(expected)), list(leaves(found))
    assert len(first) == len(second), f"{what}: {len(first)} results against {len(second)}"
    for i, (a, b) in enumerate(zip(first, second, strict=True)):
        if not isinstance(a, torch.Tensor):
            assert same_number(a, b), f"{what}: {a!r} against {b!r}"
            continue
        if a.layout is not torch.strided:
            check_same_sparse(info, a, b, what)
            continue
        assert isinstance(b, ours.Tensor), f"{what}: {type(b).__name__} for a tensor"
        assert str(a.dtype) == str(b.dtype), f"{what}: {a.dtype} against {b.dtype}"
        assert tuple(a.shape) == tuple(b.shape), (
            f"{what}: shape {tuple(a.shape)} against {tuple(b.shape)}"
        )
        if info.name in UNINITIALISED:
            continue
        try:
            check_close(info, a, b, what)
        except AssertionError:
            if exact is None or not (a.is_floating_point() or a.is_complex()):
                raise
            if not as_exact(a, b, list(leaves(exact()))[i]):
                raise


def check_same_sparse(info: Any, a: torch.Tensor, b: Any, what: str) -> None:
    """Layout, shape and all that is stored, as :func:`check_same`."""
    if a.layout not in PARTS:
        raise MissingError(str(a.layout))
    assert str(a.layout) == str(b.layout), f"{what}: {a.layout} against {b.layout}"
    assert tuple(a.shape) == tuple(b.shape), f"{what}: {tuple(a.shape)} against {tuple(b.shape)}"
    if a.layout is torch.sparse_coo:
        assert a.is_coalesced() == b.is_coalesced(), f"{what}: coalesced is {b.is_coalesced()}"
    for name in PARTS[a.layout]:
        check_same(info, getattr(a.detach(), name)(), getattr(b.detach(), name)(), what)


def as_exact(a: torch.Tensor, b: Any, reference: Any) -> bool:
    """Whether ``b`` is nowhere further from the reference than ``a`` is at its worst.

    Where ``a`` overflowed and the reference is a number of its type, ``b`` is held against that.
    """
    if not isinstance(reference, torch.Tensor) or reference.shape != a.shape:
        return False
    x, y, z = map(doubles, (numpy_of(a), numpy_of_ours(b), numpy_of(reference)))
    lost = ~np.isfinite(x) & np.isfinite(z) & (np.abs(z) < torch.finfo(a.dtype).max)
    relative, absolute = torch.testing._comparison.default_tolerances(a.dtype)
    if not np.isclose(y[lost], z[lost], relative, absolute).all():
        return False
    x, y, z = (v[~lost] for v in (x, y, z))
    if not (np.isfinite(x) == np.isfinite(y)).all():
        # torch overflows on the way to a value that its type has: that value is right
        z = doubles(numpy_of(reference.to(a.dtype)))[~lost]
        allowed = 2 * torch.finfo(a.dtype).eps * np.abs(z[np.isfinite(z)]).max(initial=0)
        with np.errstate(invalid="ignore"):
            within = (y == z) | (np.abs(y - z) <= allowed)
        return bool(within[~np.isfinite(x)].all())
    finite = np.isfinite(x) & np.isfinite(z)
    least = torch.finfo(a.dtype).eps * np.abs(z[finite]).max(initial=0)
    scale = np.maximum(np.abs(z), max(least, np.finfo(np.float32).tiny))[finite]
    mine, theirs = np.abs(y - z)[finite] / scale, np.abs(x - z)[finite] / scale
    return bool(mine.max(initial=0) <= theirs.max(initial=0))


def doubles(array: Any) -> Any:
    """All numbers of an array in double precision, a complex one being two."""
    if array.dtype.kind == "c":
        array = np.stack([array.real, array.imag])
    return array.astype(np.float64)


def widened(value: Any) -> Any:
    """An argument of torch's in double precision."""
    if isinstance(value, torch.Tensor) and value.is_floating_point():
        return value.detach().to(torch.float64, copy=True).requires_grad_(value.requires_grad)
    if isinstance(value, torch.Tensor) and value.is_complex():
        return value.detach().to(torch.complex128, copy=True).requires_grad_(value.requires_grad)
    if isinstance(value, torch.dtype) and value.is_floating_point:
        return torch.float64
    if type(value) in (list, tuple):
        return type(value)(map(widened, value))
    if type(value) is dict:
        return {k: widened(v) for k, v in value.items()}
    return value


def same_number(a: Any, b: Any) -> bool:
    if isinstance(a, (torch.dtype, torch.device, torch.layout)):
        return str(a) == str(b)
    if isinstance(a, float) or isinstance(b, float):
        return bool(np.isclose(a, b, rtol=1e-5, equal_nan=True))
    return bool(a == b)


def check_close(info: Any, a: torch.Tensor, b: Any, what: str) -> None:
    relative, absolute = tolerances(info, a.dtype)
    if a.dtype.itemsize < 4 and what == "gradient":  # four operations, each rounded
        relative = max(relative, 2 * torch.finfo(a.dtype).eps)
    x, y = numpy_of(a), numpy_of_ours(b)
    wide = np.complex128 if x.dtype.kind == "c" else np.float64
    if x.dtype.kind in "biu":
        same = np.array_equal(x, y)
        assert same, f"{what}: {int((x != y).sum())} of {x.size} elements differ"
        return
    x, y = x.astype(wide), y.astype(wide)
    if info.name in UP_TO_SIGNS:
        x, y = np.abs(x), np.abs(y)
    if (a.dtype.itemsize >= 4 or what == "gradient") and x.size:
        largest = np.abs(np.where(np.isfinite(x), x, 0)).max()
        roundings = SUM_OF_ROUNDINGS if a.dtype.itemsize >= 4 else 1
        absolute = max(absolute, roundings * torch.finfo(a.dtype).eps * largest)
    close = np.isclose(y, x, relative, absolute, equal_nan=True)
    if not close.all():
        with np.errstate(all="ignore"):
            worst = np.nanmax(np.where(close, 0, np.abs(x - y)), initial=0)
        raise AssertionError(
            f"{what}: {int((~close).sum())} of {x.size} elements differ, by up to {worst:.2e}"
        )


# --- one entry ------------------------------------------------------------------------------------


@contextmanager
def limited(seconds: int) -> Iterator[None]:
    """Raise TooLongError after so many seconds of the processor's time."""

    def stop(_: int, frame: Any) -> None:
        while frame is not None:  # a compiler must not be interrupted
            if frame.f_globals.get("__name__", "").startswith(("numba", "llvmlite")):
                signal.setitimer(signal.ITIMER_PROF, 1)
                return
            frame = frame.f_back
        raise TooLongError(f"took more than {seconds} s")

    before = signal.signal(signal.SIGPROF, stop)
    signal.setitimer(signal.ITIMER_PROF, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
        signal.signal(signal.SIGPROF, before)


def samples_of(info: Any, dtype: torch.dtype, gradient: bool, count: int) -> list[Any]:
    torch.manual_seed(0)
    make = info.reference_inputs if reference else info.sample_inputs
    found: list[Any] = []
    try:
        found.extend(itertools.islice(make("cpu", dtype, requires_grad=gradient), count))
    except ValueError:  # torch's references ask for gradients of whole numbers
        if not (reference and gradient):
            raise
    return found


def both(info: Any, theirs: Any, mine: Any, sample: Any) -> tuple[Any, Any, Any, Any]:
    """Results of both libraries from the same state of the generators, and their arguments."""
    given = (sample.input, *sample.args), sample.kwargs
    own = to_ours(given)
    torch.manual_seed(1)
    ours.manual_seed(1)
    expected = attempt(lambda: theirs(*given[0], **given[1]))
    found = attempt(lambda: mine(*own[0], **own[1])) if expected is None else (
        mine(*own[0], **own[1])
    )
    return expected, found, given, own


def attempt(call: Callable[[], Any]) -> Any:
    """What a call returns; None where it raises, as some entries' do in torch."""
    try:
        return call()
    except (MissingError, TooLongError):
        raise
    except Exception:
        return None


def float_leaves(value: Any, library: Any) -> list[Any]:
    return [
        x for x in leaves(value)
        if isinstance(x, library.Tensor) and x.requires_grad
    ]  # fmt: skip


def check_gradient(info: Any, sample: Any, expected: Any, found: Any, given: Any, own: Any) -> None:
    """Gradients of the inputs that require them, for random cotangents."""
    raw = found
    expected, found = processed(sample, expected, found)
    outputs, own_outputs = float_leaves(expected, torch), float_leaves(found, ours)
    inputs, own_inputs = float_leaves(given, torch), float_leaves(own, ours)
    if not outputs or not inputs:
        return
    assert len(outputs) == len(own_outputs), "gradient: other results are differentiable"
    random = torch.Generator().manual_seed(2)
    weights = [
        torch.randn(x.shape, generator=random, dtype=torch.float64).to(x.dtype)
        if not x.is_complex()
        else torch.randn(x.shape, generator=random, dtype=x.dtype)
        for x in outputs
    ]
    for i, x in enumerate(outputs):
        if x.layout is not torch.strided:  # the gradient of what is stored
            weights[i] = weights[i].sparse_mask(x.detach())
    try:
        first = torch.autograd.grad(outputs, inputs, weights, allow_unused=True)
    except NotImplementedError:
        assert attempt(
            lambda: ours.autograd.grad(own_outputs, own_inputs, to_ours(weights))
        ) is None, "gradient: torch has none"
        return
    except RuntimeError:  # torch's own rule fails
        if not reference:
            raise
        return
    second = ours.autograd.grad(own_outputs, own_inputs, to_ours(weights), allow_unused=True)

    @functools.cache
    def in_double() -> Any:
        args, kwargs = wide = widened(given)
        torch.manual_seed(1)
        results = float_leaves(processed(sample, info.op(*args, **kwargs), raw)[0], torch)
        return torch.autograd.grad(
            results, float_leaves(wide, torch), widened(weights), allow_unused=True
        )

    for i, (a, b) in enumerate(zip(first, second, strict=True)):
        if i in AT_FAULT.get(title(info), ()):
            continue
        if a is None or b is None:
            present = a if b is None else b
            zero = present is None or not bool((present != 0).any())
            made_so = a is None and inputs[i]._is_view()  # under no_grad: it is never reached
            assert zero or made_so, "gradient: one side has none"
        else:

            def exact(which: int = i) -> Any:
                return in_double()[which]

            check_same(info, a, b, "gradient", exact)


def run_forward(info: Any, dtype: torch.dtype, count: int) -> None:
    mine = callable_of(info)
    for sample in samples_of(info, dtype, False, count):
        expected, found, given, _ = both(info, info.op, mine, sample)
        if info.name in UP_TO_SIGNS:
            expected, found = processed(sample, expected, found)
        found = settled(info, sample, expected, found)

        def exact(given: Any = given) -> Any:
            torch.manual_seed(1)
            args, kwargs = widened(given)
            return info.op(*args, **kwargs)

        check_same(info, expected, found, "value", exact)


def settled(info: Any, sample: Any, expected: Any, found: Any) -> Any:
    """Our result; with torch's places in it where both libraries' point at equal elements."""
    if info.name not in PLACES or expected is None:
        return found
    theirs, mine = (r if info.name == "argsort" else r[1] for r in (expected, found))
    element, places, own = numpy_of(sample.input), numpy_of(theirs), numpy_of_ours(mine)
    if not pointed_at(info, sample, element, places, own):
        return found
    given = to_ours(theirs).to(mine.dtype)
    return given if info.name == "argsort" else type(found)(found[0], given)


def processed(sample: Any, expected: Any, found: Any) -> tuple[Any, Any]:
    """What of the results is determined, as the sample says."""
    process = sample.output_process_fn_grad
    if process is None:
        return expected, found
    mine = rebound(process) if isinstance(process, types.FunctionType) else process
    return process(expected), mine(found)


def run_gradient(info: Any, dtype: torch.dtype, count: int) -> None:
    mine = callable_of(info)
    for sample in samples_of(info, dtype, True, count):
        expected, found, given, own = both(info, info.op, mine, sample)
        if info.name in PLACES and expected is not None:
            if not np.array_equal(numpy_of(expected[1]), numpy_of_ours(found[1])):
                continue  # the gradient goes to another of equal elements
        check_gradient(info, sample, expected, found, given, own)


def run_variants(info: Any, dtype: torch.dtype, count: int) -> None:
    """The Tensor's method, and the one in place."""
    for variant, in_place in ((info.method_variant, False), (info.inplace_variant, True)):
        if variant is None or not hasattr(variant, "__name__"):
            continue
        mine = counterpart(variant)
        for sample in samples_of(info, dtype, False, min(count, 6)):
            if in_place and (sample.broadcasts_input or not in_place_type(info, sample)):
                continue
            before = widened(((sample.input, *sample.args), sample.kwargs))
            expected, found, given, own = both(info, variant, mine, sample)

            def exact(before: Any = before, variant: Any = variant) -> Any:
                torch.manual_seed(1)
                args, kwargs = widened(before)
                return variant(*args, **kwargs)

            found = settled(info, sample, expected, found)
            check_same(info, expected, found, variant.__name__, exact)
            if in_place:
                check_same(info, given[0][0], own[0][0], f"{variant.__name__}'s input", exact)


def in_place_type(info: Any, sample: Any) -> bool:
    """Whether the result has the type of the input, which it is written to."""
    if not isinstance(sample.input, torch.Tensor):
        return False
    try:
        result = info.op(sample.input, *sample.args, **sample.kwargs)
    except Exception:
        return False
    return isinstance(result, torch.Tensor) and result.dtype is sample.input.dtype


def run_errors(info: Any) -> None:
    """Erroneous inputs raise torch's type of error, with a text that torch's expression fits."""
    mine = callable_of(info)
    for wrong in info.error_inputs("cpu"):
        sample = wrong.sample_input
        with shared_memory():  # before torch's call, which may write to what it is given
            args, kwargs = to_ours(((sample.input, *sample.args), sample.kwargs))
        if raises_nothing(info, sample):
            continue
        try:
            mine(*args, **kwargs)
        except wrong.error_type as error:
            assert re.search(wrong.error_regex, str(error)), (
                f"errors: {str(error)[:150]!r} for {wrong.error_regex[:150]!r}"
            )
        except (MissingError, TooLongError):
            raise
        except Exception as error:
            raise AssertionError(
                f"errors: {type(error).__name__} for {wrong.error_type}: {str(error)[:120]}"
            ) from error
        else:
            raise AssertionError(f"errors: none was raised for {wrong.error_regex[:120]!r}")


def raises_nothing(info: Any, sample: Any) -> bool:
    """Whether torch itself takes what its table calls erroneous."""
    try:
        info.op(sample.input, *sample.args, **sample.kwargs)
    except Exception:
        return False
    return True


def outcome(run: Callable[[], None]) -> tuple[str, str]:
    """(pass, fail, missing or slow; why)."""
    try:
        with limited(SECONDS), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            run()
    except MissingError as error:
        return "missing", str(error)
    except TooLongError as error:
        return "slow", str(error)
    except NotImplementedError as error:
        return "missing", f"NotImplementedError: {error}"[:300]
    except AssertionError as error:
        return "fail", str(error)[:300]
    except Exception as error:
        return "fail", f"{type(error).__name__}: {error}"[:300]
    return "pass", ""


def stages_of(info: Any, dtype: torch.dtype, count: int) -> Iterator[tuple[str, Any]]:
    """The checks of an entry in a dtype."""
    forward = dtype in info.supported_dtypes("cpu")
    if forward:
        yield "forward", lambda: run_forward(info, dtype, count)
        if info.supports_autograd and dtype in info.supported_backward_dtypes("cpu"):
            yield "gradient", lambda: run_gradient(info, dtype, count)
        yield "variants", lambda: run_variants(info, dtype, count)


def dtype_of(info: Any, wanted: str) -> torch.dtype | None:
    """``wanted``; "first" is float32, or the first claimed one that the entry has."""
    supported = {str(d).removeprefix("torch."): d for d in info.supported_dtypes("cpu")}
    if wanted == "first":
        return next((supported[name] for name in CLAIMED if name in supported), None)
    return supported.get(wanted)


def title(info: Any) -> str:
    return f"{info.name}.{info.variant_test_name}" if info.variant_test_name else str(info.name)


def run_table(
    infos: Iterable[Any], dtypes: Iterable[str], errors: bool, count: int
) -> Iterator[dict[str, str]]:
    """One record for each check."""
    for info in progress(infos, "entries"):
        for wanted in dtypes:
            dtype = dtype_of(info, wanted)
            if dtype is None:
                continue
            for stage, run in stages_of(info, dtype, count):
                if reference and stage in FAR_AT_FAULT.get(title(info), ()):
                    continue
                status, why = outcome(run)
                yield {
                    "entry": title(info), "dtype": str(dtype).removeprefix("torch."),
                    "stage": stage, "status": status, "why": why,
                }  # fmt: skip
                if stage == "forward" and status != "pass":
                    break
        if errors and info.error_inputs_func is not None:
            status, why = outcome(functools.partial(run_errors, info))
            yield {
                "entry": title(info), "dtype": "", "stage": "errors", "status": status, "why": why,
            }  # fmt: skip


def summary(records: list[dict[str, str]]) -> str:
    """Pass rates: an entry passes in a dtype where forward and gradient do."""
    lines = []
    worst: dict[tuple[str, str], str] = {}
    for r in records:
        if r["stage"] in ("forward", "gradient"):
            key = (r["entry"], r["dtype"])
            worst[key] = r["status"] if worst.get(key, "pass") == "pass" else worst[key]
    for dtype in sorted({d for _, d in worst}):
        found = Counter(status for (_, d), status in worst.items() if d == dtype)
        total = sum(found.values())
        lines.append(f"{dtype}: {found['pass'] / total:.1%} of {total} {dict(found)}")
    if worst:
        passed = sum(status == "pass" for status in worst.values())
        lines.append(f"all: {passed / len(worst):.1%} of {len(worst)}")
    for stage in ("variants", "errors"):
        found = Counter(r["status"] for r in records if r["stage"] == stage)
        if found:
            count = sum(found.values())
            lines.append(f"{stage}: {found['pass'] / count:.1%} of {count} {dict(found)}")
    return "\n".join(lines)


def main() -> int:
    global reference
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--dtype", default="first", help="comma-separated; 'first', or 'all'")
    parser.add_argument("--only", default="", help="a regular expression on the entry's name")
    parser.add_argument("--family", choices=FAMILIES, action="append", help="these families alone")
    parser.add_argument("--shard", default="0/1", help="i/n: every n-th entry, from the i-th on")
    parser.add_argument("--samples", type=int, default=60, help="sample inputs for each entry")
    parser.add_argument("--reference", action="store_true", help="the inputs of torch's references")
    parser.add_argument("--errors", action="store_true", help="erroneous inputs too")
    parser.add_argument("--report", help="write the records as JSON")
    options = parser.parse_args()
    index, shards = map(int, options.shard.split("/"))
    infos = [x for x in op_db if re.search(options.only, title(x))]
    infos = [x for x in infos if not options.family or family(x) in options.family][index::shards]
    if options.reference:
        reference, infos = True, [x for x in infos if x.reference_inputs_func is not None]
    wanted = CLAIMED if options.dtype == "all" else options.dtype.split(",")
    torch.set_num_threads(1)
    records = []
    start = time.perf_counter()
    for record in run_table(infos, wanted, options.errors, options.samples):
        records.append(record)
        if record["status"] != "pass":
            print(*[record[k] for k in ("entry", "dtype", "stage", "status", "why")], sep=" | ")
    print(summary(records))
    print(f"{time.perf_counter() - start:.0f} s", file=sys.stderr)
    if options.report:
        with open(options.report, "w") as file:
            json.dump(records, file, indent=0)
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
