"""Running results along an axis, and the spread and norm of whole axes."""

from __future__ import annotations

import functools
import math
from collections.abc import Callable
from typing import Any

import numpy as np

from mindtorch.kernels.codegen.jit import entry_point, kernel
from mindtorch.kernels.codegen.typed_scalar import arithmetic_type

from . import reduction, softmax, strided_copy
from .cat_flip_roll_pad import dense, picture
from .complex_numbers import logaddexp as complex_logaddexp
from .strided_copy import ordered
from .sums import norm_order, variance
from .threads.thread_pool import parallel_for
from .via_float32 import is_half, narrow, widened

_SIDE = 256  # columns that are worked on together
_SERIAL = 65536  # elements that one thread reads sooner than two
_PIECE = 16384  # elements of the spread that are worked on together

_quiet = np.errstate(all="ignore")  # infinities and NaN are results like others


def _wide(x: Any) -> Any:
    """Half precision is summed in single precision."""
    return widened(x) if is_half(x) else x


@kernel
def _row(x: Any, r: int, n: int) -> Any:
    return x[r * n : (r + 1) * n]


@kernel
def _row_backwards(x: Any, r: int, n: int) -> Any:
    return x[r * n : (r + 1) * n][::-1]


def _steps(combine: Any, identity: int, accumulator: Any, reverse: bool) -> tuple[Any, Any]:
    """Two loops over dense arrays [outer, n, inner], from row ``first`` to ``last`` and from column
    ``left`` to ``right``: for rows, of which four at a time hide each other's waits, and for
    columns, a block of accumulators wide."""
    row = _row_backwards if reverse else _row

    @kernel
    def rows(
        out: Any, x: Any, n: int, inner: int, first: int, last: int, left: int, right: int
    ) -> None:
        whole = first + (last - first) // 4 * 4
        for r in range(first, whole, 4):
            x0, x1, x2, x3 = row(x, r, n), row(x, r + 1, n), row(x, r + 2, n), row(x, r + 3, n)
            y0, y1, y2, y3 = (
                row(out, r, n), row(out, r + 1, n), row(out, r + 2, n), row(out, r + 3, n)
            )  # fmt: skip
            a = b = c = d = accumulator(identity)
            for i in range(n):
                a, b = combine(a, accumulator(x0[i])), combine(b, accumulator(x1[i]))
                c, d = combine(c, accumulator(x2[i])), combine(d, accumulator(x3[i]))
                y0[i], y1[i], y2[i], y3[i] = a, b, c, d
        for r in range(whole, last):
            x0, y0 = row(x, r, n), row(out, r, n)
            a = accumulator(identity)
            for i in range(n):
                a = combine(a, accumulator(x0[i]))
                y0[i] = a

    @kernel
    def columns(
        out: Any, x: Any, n: int, inner: int, first: int, last: int, left: int, right: int
    ) -> None:
        held = np.empty(_SIDE, accumulator)
        for r in range(first, last):
            for begin in range(left, right, _SIDE):
                width = min(_SIDE, right - begin)
                total = held[:width]
                for i in range(width):
                    total[i] = identity
                for k in range(n):
                    j = n - 1 - k if reverse else k
                    start = (r * n + j) * inner + begin
                    here, result = x[start : start + width], out[start : start + width]
                    for i in range(width):
                        total[i] = combine(total[i], accumulator(here[i]))
                        result[i] = total[i]

    return rows, columns


@kernel
def _add(a: Any, b: Any) -> Any:
    return a + b


@kernel
def _multiply(a: Any, b: Any) -> Any:
    return a * b


@functools.cache
def _loop(name: str, dtype: str, accumulator: str, columns: bool, reverse: bool) -> Any:
    """The compiled loop for rows or columns of ``dtype``."""
    combine, identity = (_add, 0) if name == "cumsum" else (_multiply, 1)
    loop = _steps(combine, identity, getattr(np, accumulator), reverse)[columns]
    signature = f"void({dtype}[::1], {dtype}[::1], {', '.join(['int64'] * 6)})"
    return entry_point(loop, signature)


def _running(name: str, dtype: str, accumulator: str, pictured: Any, reverse: bool) -> Any:
    """``run(out, x)`` on flat arrays of the picture (outer, n, inner), over the threads."""
    outer, n, inner = pictured
    loop = _loop(name, dtype, accumulator, inner > 1, reverse)
    if outer * n * inner < 2 * _SERIAL:
        return lambda out, x: loop(out, x, n, inner, 0, outer, 0, inner)

    def run(out: Any, x: Any) -> None:
        def some_rows(first: int, last: int) -> None:
            loop(out, x, n, inner, first, last, 0, inner)

        def some_columns(left: int, right: int) -> None:
            loop(out, x, n, inner, 0, outer, left, right)

        if outer > 1:
            parallel_for(outer, some_rows, 1 + _SERIAL // (n * inner))
        else:
            parallel_for(inner, some_columns, 1 + _SERIAL // n)

    return run


def _planner(name: str) -> Callable[..., Any]:
    def plan(out_layouts: Any, in_layouts: Any, *, axis: int, **options: bool) -> Any:
        """For operands of one type, the result in C order; of another order is a copy."""
        out, x = out_layouts[0], in_layouts[0]
        dtype = out.dtype.name
        if dtype not in ("float32", "float64", "int64") or x.dtype != out.dtype or not dense(out):
            return None
        accumulator = "float64" if dtype == "float32" else dtype
        reverse = options.get("reverse", False)
        run = _running(name, dtype, accumulator, picture(x.shape, axis), reverse)
        if dense(x):
            return run
        copy = strided_copy.planned(x.shape, out.strides, x.strides, x.dtype)

        def run_on_copy(target: Any, source: Any) -> None:
            held = np.empty(target.size, target.dtype)
            copy(held, source)
            run(target, held)

        return run_on_copy

    return plan


def _apply(name: str, out: Any, x: Any, axis: int, reverse: bool) -> None:
    """Any arrays: copies in the order of the axes, of the type that is added in for numbers that
    are stored in fewer bits."""
    if not x.ndim or not x.size:
        out[...] = x
        return
    accumulator = {"float16": "float32", "bfloat16": "float32", "complex64": "complex128",
                   "float32": "float64"}.get(out.dtype.name, out.dtype.name)  # fmt: skip
    work = out.dtype.name if out.dtype == np.float32 else accumulator
    source = widened(x) if is_half(x) and work == "float32" else ordered(x.astype(work, copy=False))
    target = np.empty(x.shape, work)
    run = _running(name, work, accumulator, picture(x.shape, axis), reverse)
    run(target.reshape(-1), source.reshape(-1))
    if is_half(out):
        narrow(out, target)
    else:
        out[...] = target


@_quiet
def cumsum(out: Any, x: Any, *, axis: int, reverse: bool) -> None:
    """``out[i] = x[0] + ... + x[i]`` along ``axis``; reversed, ``x[i] + ... + x[n - 1]``."""
    _apply("cumsum", out, x, axis, reverse)


@_quiet
def cumprod(out: Any, x: Any, *, axis: int) -> None:
    """``out[i] = x[0] * ... * x[i]`` along ``axis``."""
    _apply("cumprod", out, x, axis, False)


cumsum.plan = _planner("cumsum")
cumprod.plan = _planner("cumprod")


@kernel
def _products(out: Any, g: Any, x: Any, before: Any, first: int, last: int) -> None:
    """The gradient of running products; ``before[k]`` is the product of a row's first k."""
    n = before.size
    kind = before.dtype.type
    for r in range(first, last):
        row, slope = x[r * n : (r + 1) * n], g[r * n : (r + 1) * n]
        result = out[r * n : (r + 1) * n]
        product = kind(1)
        for k in range(n):
            before[k] = product
            product *= kind(row[k])
        after = kind(0)
        for k in range(n - 1, -1, -1):
            # after: the sum over j > k of g[j] * x[k + 1] * ... * x[j]
            after += kind(slope[k])
            result[k] = before[k] * after
            after *= kind(row[k])


@_quiet
def cumprod_gradient(out: Any, g: Any, x: Any, *, axis: int) -> None:
    """``out[i]`` = sum over k >= i of ``g[k]`` times the product of ``x[0..k]`` but ``x[i]``."""
    if not x.ndim or not x.size:
        out[...] = g
        return
    wide: Any = np.complex128 if x.dtype.kind == "c" else np.float64
    work: Any = np.float32 if x.dtype == g.dtype == np.float32 else wide
    values, slopes = (
        np.ascontiguousarray(np.moveaxis(a, axis, -1), work).reshape(-1) for a in (x, g)
    )
    n = x.shape[axis]
    target = np.empty(values.shape, work)
    arrays = f"{np.dtype(work)}[::1], " * 3 + f"{np.dtype(wide)}[::1]"
    run = entry_point(_products, f"void({arrays}, int64, int64)")

    def some_rows(first: int, last: int) -> None:
        run(target, slopes, values, np.empty(n, wide), first, last)

    parallel_for(x.size // n, some_rows, 1 + _SERIAL // n)
    moved = np.moveaxis(out, axis, -1)
    moved[...] = target.reshape(moved.shape)


@_quiet
def logcumsumexp(out: Any, x: Any, *, axis: int) -> None:
    """``out[i] = log(exp(x[0]) + ... + exp(x[i]))``."""
    if not x.ndim:
        out[...] = x
        return
    if x.dtype.kind == "c":
        total = np.moveaxis(x.astype(np.complex128), axis, 0)
        found: Any = complex(-np.inf)
        for i in range(len(total)):
            total[i] = found = complex_logaddexp(total[i], found)
        out[...] = np.moveaxis(total, 0, axis)
        return
    out[...] = np.logaddexp.accumulate(x.astype(np.float64), axis).astype(out.dtype)


def cummax(outs: Any, x: Any, *, axis: int) -> None:
    """The running maximum and the last place where it was met; nan stays."""
    _running_extreme(outs, x, axis, np.maximum)


def cummin(outs: Any, x: Any, *, axis: int) -> None:
    """The running minimum and the last place where it was met; nan stays."""
    _running_extreme(outs, x, axis, np.minimum)


_COMPARED = {"float32", "float64", "int64", "int32"}


@kernel
def _better(a: Any, b: Any, greatest: bool) -> bool:
    """Whether ``a``, which comes later, takes the place of ``b``."""
    return a != a or (b == b and (a >= b if greatest else a <= b))


@kernel
def _extremes(
    values: Any, places: Any, x: Any, n: int, inner: int, greatest: bool, first: int, last: int
) -> None:
    for r in range(first, last):
        start = r * n * inner
        for b in range(start, start + inner):
            values[b] = x[b]
            places[b] = 0
        if inner == 1:
            best, at = x[start], 0
            for j in range(1, n):
                here = x[start + j]
                if _better(here, best, greatest):
                    best, at = here, j
                values[start + j] = best
                places[start + j] = at
            continue
        for j in range(1, n):
            here = start + j * inner
            for b in range(here, here + inner):
                taken = _better(x[b], values[b - inner], greatest)
                values[b] = x[b] if taken else values[b - inner]
                places[b] = j if taken else places[b - inner]


@functools.cache
def _name(dtype: Any) -> str:
    """numpy works a type's name out anew each time it is asked."""
    return str(dtype.name)


def _bound_extreme(shape: Any, dtype: Any, axis: int, greatest: bool) -> Callable[..., None]:
    """:func:`_running_extreme` on flat arrays, of types that the loop is compiled for."""
    outer, n, inner = picture(shape, axis)
    kind = _name(dtype)
    run = entry_point(
        _extremes,
        f"void({kind}[::1], int64[::1], {kind}[::1], int64, int64, boolean, int64, int64)",
    )
    smallest = 1 + _SERIAL // (n * inner)
    if outer < 2 * smallest:
        return lambda *arrays: run(*arrays, n, inner, greatest, 0, outer)
    return lambda *arrays: parallel_for(
        outer, lambda first, last: run(*arrays, n, inner, greatest, first, last), smallest
    )


def _compiled_extreme(values: Any, indices: Any, x: Any, axis: int, greatest: bool) -> None:
    run = _bound_extreme(x.shape, x.dtype, axis, greatest)
    run(values.reshape(-1), indices.reshape(-1), ordered(x).reshape(-1))


def _extreme_planner(greatest: bool) -> Callable[..., Callable[..., None] | None]:
    def plan(outs: Any, ins: Any, *, axis: int) -> Callable[..., None] | None:
        (x,) = ins
        known = _name(x.dtype) in _COMPARED and x.shape and all(map(dense, (*outs, x)))
        return _bound_extreme(x.shape, x.dtype, axis, greatest) if known else None

    return plan


cummax.plan = _extreme_planner(True)
cummin.plan = _extreme_planner(False)


def _running_extreme(outs: Any, x: Any, axis: int, extreme: Any) -> None:
    values, indices = outs
    if not x.ndim:
        values[...] = x
        indices[...] = 0
        return
    if _name(x.dtype) in _COMPARED and x.size:
        _compiled_extreme(values, indices, x, axis, extreme is np.maximum)
        return
    # what holds all of their numbers is compared in their place
    wide = widened(x) if is_half(x) else x.astype(np.int64)
    found = np.empty(x.shape, wide.dtype)
    places = np.empty(x.shape, np.int64)
    if x.size:
        _compiled_extreme(found, places, wide, axis, extreme is np.maximum)
    values[...], indices[...] = found.astype(x.dtype), places


@_quiet
def var(out: Any, x: Any, *, axis: Any, correction: float, keepdims: bool) -> None:
    """The sum of squared distances from the mean over (count - correction)."""
    out[...] = _variance(x, axis, correction, out.shape)


@_quiet
def std(out: Any, x: Any, *, axis: Any, correction: float, keepdims: bool) -> None:
    """The square root of the variance, of single precision rounded once."""
    out[...] = np.sqrt(_variance(x, axis, correction, out.shape))


def _spread_plan(root: bool) -> Callable[..., Any]:
    def plan(outs: Any, ins: Any, *, axis: Any, correction: float, keepdims: bool) -> Any:
        return variance.plan(outs, ins, axis=axis, correction=correction, root=root)

    return plan


var.plan, std.plan = _spread_plan(False), _spread_plan(True)


def _variance(x: Any, axis: Any, correction: float, shape: Any) -> Any:
    """In double precision; ``shape`` is the result's."""
    x = _wide(x)
    count = math.prod(x.shape[i] for i in axis)
    if not count:
        return np.full(shape, np.nan)
    mean = _sums(x, None, axis) / count
    return _sums(x, mean, axis).reshape(shape) / np.float64(max(count - correction, 0))


def _sums(x: Any, mean: Any, axis: Any) -> Any:
    """The sums over ``axis``, which stays, in double precision: of ``x``, or of the squared
    distances from ``mean``. Large arrays are summed piece by piece, each of which fits the cache.
    """
    if x.size <= _PIECE or x.ndim == 0:
        wide = x.astype(np.complex128 if x.dtype.kind == "c" else np.float64)
        if mean is not None:
            wide -= mean
            wide = np.abs(wide) if x.dtype.kind == "c" else wide
            if len(axis) == x.ndim:
                flat = wide.reshape(-1)
                return np.dot(flat, flat).reshape([1] * x.ndim)
            wide *= wide
        return np.add.reduce(wide, axis, keepdims=True)
    along = next(i for i, n in enumerate(x.shape) if n > 1)
    step = max(1, _PIECE * x.shape[along] // x.size)
    parts = []
    for start in range(0, x.shape[along], step):
        piece = (slice(None),) * along + (slice(start, start + step),)
        shift = mean if mean is None or along in axis else mean[piece]
        parts.append(_sums(x[piece], shift, axis))
    return sum(parts[1:], parts[0]) if along in axis else np.concatenate(parts, along)


@_quiet
def vector_norm(out: Any, x: Any, *, order: float, axis: Any, keepdims: bool) -> None:
    """``(sum of abs(x) ** order) ** (1 / order)`` and its limits at 0 and infinity."""
    x = _wide(x)
    size = np.abs(x)
    if order == 2:
        result = np.sqrt(np.sum(size * size, axis, keepdims=keepdims))
    elif order == 1:
        result = np.sum(size, axis, keepdims=keepdims)
    elif order == 0:
        result = np.count_nonzero(size, axis, keepdims=keepdims)
    elif order == math.inf:
        result = np.max(size, axis, keepdims=keepdims)
    elif order == -math.inf:
        result = np.min(size, axis, keepdims=keepdims)
    else:
        result = np.sum(size**order, axis, keepdims=keepdims) ** (1 / order)
    out[...] = result


def _norm_plan(out: Any, ins: Any, *, order: float, axis: Any, keepdims: bool) -> Any:
    name = {1.0: "norm1", 2.0: "norm2"}.get(order)
    if name is None or arithmetic_type(ins[0].dtype).kind != "f" or out[0].dtype != ins[0].dtype:
        return None
    if order == 2:
        run = norm_order.plan(out[0], ins[0], axis)
        if run is not None:
            return run
    return reduction.plan(name, out, ins, axis=axis, keepdims=keepdims)


vector_norm.plan = _norm_plan


@_quiet
def logsumexp(out: Any, x: Any, *, axis: Any, keepdims: bool) -> None:
    """``log(sum(exp(x)))`` with the greatest element taken out of the exponent.

    In half precision each step is rounded, as PyTorch composes them.
    """
    short = x.dtype if is_half(x) else None
    x = _wide(x)

    def rounded(values: Any) -> Any:
        if short is None:
            return values
        kept = np.empty(values.shape, short)
        narrow(kept, values)
        return widened(kept)

    if not x.size:
        out[...] = -np.inf
        return
    top = np.max(x.real, axis, keepdims=True)  # a complex one would turn the logarithm's branch
    top = np.where(np.isfinite(top), top, 0)
    terms = rounded(np.exp(rounded(x - top)))
    total = rounded(np.log(rounded(np.sum(terms, axis, keepdims=True)))) + top
    out[...] = total.reshape(out.shape)


logsumexp.plan = softmax.logsumexp_plan
