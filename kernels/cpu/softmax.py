"""softmax and log_softmax along one axis, and their gradients.

Two pictures: rows [K, N], where the axis lies last, and columns [K, N, I], where blocks of
``_SIDE`` neighbouring columns are worked on together. Each is read for its maximum, for the
exponentials and their sum, and to write the result. Sums of rows are added in float64.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable
from typing import Any

import numpy as np

from mindtorch.kernels.codegen.jit import entry_point, kernel

from .cat_flip_roll_pad import dense, picture
from .scalar_math.float32_math import exp_falling, log32
from .scalar_math.float64_math import exp64, log64
from .strided_copy import ordered
from .sums.blocked_sum import row_sum
from .threads.thread_pool import parallel_for
from .vectors.float_bits import add_any_order, choose, greater
from .vectors.simd import largest_of_many, prefetch, vector_bytes
from .via_float32 import in_float32

_SIDE = 64
_VECTOR = vector_bytes()
_TOGETHER = 4096  # elements of rows whose logarithms are taken together
_SERIAL = 65536  # elements that one thread reads sooner than two


@kernel
def largest(row: Any) -> Any:
    """The largest element; NaNs are passed over, or returned."""
    if row.size * row.itemsize >= _VECTOR:
        return largest_of_many(row)
    best = row[0]
    for i in range(1, row.size):
        best = choose(row[i] > best, row[i], best)
    return best


@kernel(fastmath={"reassoc", "contract"})
def _product(a: Any, b: Any) -> Any:
    result = 0.0
    start = 0
    while start < a.size:
        first, second = a[start : start + 256], b[start : start + 256]
        partial = a.dtype.type(0)
        for i in range(first.size):
            partial += first[i] * second[i]
        result += partial
        start += 256
    return result


def _row_loops(exponential: Any) -> dict[str, Any]:
    """Loops over rows whose elements lie side by side, with the ``exp`` of an element type."""

    @kernel(noalias=True)
    def row_exponentials(out: Any, row: Any, shift: Any) -> Any:
        """``out = exp(row - shift)``, and its sum. The row behind it is fetched meanwhile."""
        total = 0.0
        for start in range(0, row.size, 256):
            part, result = row[start : start + 256], out[start : start + 256]
            if part.size == 256:
                prefetch(row, row.size + start)
            partial = row.dtype.type(0)
            for i in range(part.size):
                value = exponential(part[i] - shift)
                result[i] = value
                partial = add_any_order(partial, value)
            total += partial
        return total

    @kernel
    def softmax(out: Any, x: Any, outer: int, n: int, inner: int) -> None:
        best = largest(x[:n])
        for r in range(outer):
            row, result = x[r * n : (r + 1) * n], out[r * n : (r + 1) * n]
            total = row_exponentials(result, row, best)
            if r + 1 < outer:  # of the next row, while this one's sums are put together
                best = largest(x[(r + 1) * n : (r + 2) * n])
            scale = x.dtype.type(1.0 / total)
            for i in range(n):
                result[i] = result[i] * scale

    @kernel
    def log_softmax(out: Any, x: Any, outer: int, n: int, inner: int) -> None:
        together = min(max(_TOGETHER // n, 1), outer)
        totals, shifts = np.empty(together), np.empty(together, x.dtype)
        for first in range(0, outer, together):
            count = min(together, outer - first)
            for k in range(count):
                start = (first + k) * n
                row = x[start : start + n]
                shifts[k] = largest(row)
                totals[k] = row_exponentials(out[start : start + n], row, shifts[k])
            for k in range(count):
                totals[k] = log64(totals[k])
            for k in range(count):
                start = (first + k) * n
                row, result = x[start : start + n], out[start : start + n]
                shift, offset = shifts[k], x.dtype.type(totals[k])
                for i in range(n):
                    result[i] = row[i] - shift - offset

    @kernel
    def logsumexp(out: Any, x: Any, outer: int, n: int, inner: int) -> None:
        held = np.empty(n, x.dtype)
        for r in range(outer):
            row = x[r * n : (r + 1) * n]
            shift = largest(row)
            if shift - shift == 0:
                total = row_exponentials(held, row, shift)
                out[r] = x.dtype.type(log64(total) + shift)
                continue
            out[r] = shift  # infinite, unless there is NaN
            for i in range(n):
                if row[i] != row[i]:
                    out[r] = row[i]

    @kernel
    def softmax_gradient(out: Any, g: Any, y: Any, outer: int, n: int, inner: int) -> None:
        for r in range(outer):
            slope, value = g[r * n : (r + 1) * n], y[r * n : (r + 1) * n]
            result = out[r * n : (r + 1) * n]
            whole = g.dtype.type(_product(slope, value))
            for i in range(n):
                result[i] = value[i] * (slope[i] - whole)

    @kernel
    def log_softmax_gradient(out: Any, g: Any, y: Any, outer: int, n: int, inner: int) -> None:
        for r in range(outer):
            slope, value = g[r * n : (r + 1) * n], y[r * n : (r + 1) * n]
            result = out[r * n : (r + 1) * n]
            whole = g.dtype.type(row_sum(slope))
            for i in range(n):
                result[i] = slope[i] - exponential(value[i]) * whole

    return {
        "softmax": softmax, "log_softmax": log_softmax, "softmax_gradient": softmax_gradient,
        "log_softmax_gradient": log_softmax_gradient, "logsumexp": logsumexp,
    }  # fmt: skip


def _column_loops(exponential: Any, logarithm: Any) -> dict[str, Any]:
    """Loops over an axis that others lie behind, a block of columns at a time."""

    @kernel
    def extremes(x: Any, start: int, n: int, inner: int, best: Any) -> None:
        for i in range(best.size):
            best[i] = x[start + i]
        for j in range(1, n):
            row = x[start + j * inner : start + j * inner + best.size]
            for i in range(best.size):
                best[i] = greater(row[i], best[i])

    @kernel
    def exponentials(
        out: Any, x: Any, start: int, n: int, inner: int, best: Any, total: Any
    ) -> None:
        """``out = exp(x - best)`` for a block of columns, and their sums."""
        for i in range(best.size):
            total[i] = 0
        for j in range(n):
            first, last = start + j * inner, start + j * inner + best.size
            row, result = x[first:last], out[first:last]
            for i in range(best.size):
                result[i] = exponential(row[i] - best[i])
            for i in range(best.size):
                total[i] += result[i]

    @kernel
    def softmax_columns(out: Any, x: Any, outer: int, n: int, inner: int) -> None:
        one = x.dtype.type(1)
        held, sums = np.empty(_SIDE, x.dtype), np.empty(_SIDE, x.dtype)
        for r in range(outer):
            for left in range(0, inner, _SIDE):
                width = min(_SIDE, inner - left)
                start = r * n * inner + left
                best, total = held[:width], sums[:width]
                extremes(x, start, n, inner, best)
                exponentials(out, x, start, n, inner, best, total)
                for i in range(width):
                    total[i] = one / total[i]
                for j in range(n):
                    result = out[start + j * inner : start + j * inner + width]
                    for i in range(width):
                        result[i] = result[i] * total[i]

    @kernel
    def log_softmax_columns(out: Any, x: Any, outer: int, n: int, inner: int) -> None:
        held, sums = np.empty(_SIDE, x.dtype), np.empty(_SIDE, x.dtype)
        for r in range(outer):
            for left in range(0, inner, _SIDE):
                width = min(_SIDE, inner - left)
                start = r * n * inner + left
                best, total = held[:width], sums[:width]
                extremes(x, start, n, inner, best)
                exponentials(out, x, start, n, inner, best, total)
                for i in range(width):
                    total[i] = logarithm(total[i])
                for j in range(n):
                    first = start + j * inner
                    row, result = x[first : first + width], out[first : first + width]
                    for i in range(width):
                        result[i] = row[i] - best[i] - total[i]

    return {"softmax_columns": softmax_columns, "log_softmax_columns": log_softmax_columns}


def _column_gradients(exponential: Any) -> dict[str, Any]:
    """The gradients of :func:`_column_loops`."""

    @kernel
    def softmax_gradient_columns(
        out: Any, g: Any, y: Any, outer: int, n: int, inner: int
    ) -> None:
        sums = np.empty(_SIDE, g.dtype)
        for r in range(outer):
            for left in range(0, inner, _SIDE):
                width = min(_SIDE, inner - left)
                start = r * n * inner + left
                total = sums[:width]
                total[:] = 0
                for j in range(n):
                    first, last = start + j * inner, start + j * inner + width
                    slope, value = g[first:last], y[first:last]
                    for i in range(width):
                        total[i] += slope[i] * value[i]
                for j in range(n):
                    first, last = start + j * inner, start + j * inner + width
                    slope, value, result = g[first:last], y[first:last], out[first:last]
                    for i in range(width):
                        result[i] = value[i] * (slope[i] - total[i])

    @kernel
    def log_softmax_gradient_columns(
        out: Any, g: Any, y: Any, outer: int, n: int, inner: int
    ) -> None:
        sums = np.empty(_SIDE, g.dtype)
        for r in range(outer):
            for left in range(0, inner, _SIDE):
                width = min(_SIDE, inner - left)
                start = r * n * inner + left
                total = sums[:width]
                total[:] = 0
                for j in range(n):
                    slope = g[start + j * inner : start + j * inner + width]
                    for i in range(width):
                        total[i] += slope[i]
                for j in range(n):
                    first, last = start + j * inner, start + j * inner + width
                    slope, value, result = g[first:last], y[first:last], out[first:last]
                    for i in range(width):
                        result[i] = slope[i] - exponential(value[i]) * total[i]

    return {
        "softmax_gradient_columns": softmax_gradient_columns,
        "log_softmax_gradient_columns": log_softmax_gradient_columns,
    }


def _loops(exponential: Any, logarithm: Any) -> dict[str, Any]:
    """All loops with the ``exp`` and ``log`` of one element type."""
    rows, columns = _row_loops(exponential), _column_loops(exponential, logarithm)
    return {**rows, **columns, **_column_gradients(exponential)}


_BY_TYPE = {
    np.dtype(np.float32): _loops(exp_falling, log32),
    np.dtype(np.float64): _loops(exp64, log64),
}


@functools.cache
def _bound(name: str, dtype: Any, inner: int) -> Callable[..., None]:
    """The compiled loop on flat arrays, called without checks."""
    loop = _BY_TYPE[dtype][name if inner == 1 else f"{name}_columns"]
    arrays = ["float32[::1]" if dtype == np.float32 else "float64[::1]"]
    arrays *= 3 if name.endswith("gradient") else 2
    run: Callable[..., None] = entry_point(loop, f"void({', '.join(arrays)}, int64, int64, int64)")
    return run


def _over_rows(name: str, dtype: Any, outer: int, n: int, inner: int) -> Callable[..., None]:
    """The loop on flat arrays, over the threads where the arrays are large."""
    loop, pitch = _bound(name, dtype, inner), n * inner
    smallest = 1 + _SERIAL // max(pitch, 1)
    if outer < 2 * smallest:
        return lambda *arrays: loop(*arrays, outer, n, inner)

    def run(*arrays: Any) -> None:
        def part(first: int, last: int) -> None:
            loop(*[a[first * pitch : last * pitch] for a in arrays], last - first, n, inner)

        parallel_for(outer, part, smallest)

    return run


def _planner(name: str) -> Callable[..., Callable[..., None] | None]:
    def plan(out_layouts: Any, in_layouts: Any, *, axis: int) -> Callable[..., None] | None:
        """For dense arrays of float32 or float64."""
        out = out_layouts[0]
        if out.dtype not in _BY_TYPE:
            return None
        if not all(x.dtype == out.dtype and dense(x) for x in in_layouts):
            return None
        return _over_rows(name, out.dtype, *picture(out.shape, axis))

    return plan


def logsumexp_plan(
    out_layouts: Any, in_layouts: Any, *, axis: tuple[int, ...], keepdims: bool
) -> Callable[..., None] | None:
    """Of dense arrays whose last axes are folded."""
    (x,) = in_layouts
    kept = len(x.shape) - len(axis)
    behind = set(axis) == {*range(kept, len(x.shape))}
    if x.dtype not in _BY_TYPE or not axis or not behind or not dense(x):
        return None
    outer, n = math.prod(x.shape[:kept]), math.prod(x.shape[kept:])
    if not outer or not n:
        return None
    loop, smallest = _bound("logsumexp", x.dtype, 1), 1 + _SERIAL // n
    if outer < 2 * smallest:
        return lambda target, source: loop(target, source, outer, n, 1)

    def run(target: Any, source: Any) -> None:
        parallel_for(
            outer,
            lambda first, last: loop(
                target[first:last], source[first * n : last * n], last - first, n, 1
            ),
            smallest,
        )

    return run


def _apply(name: str, out: Any, ins: Any, axis: int) -> None:
    if out.size == 0:
        return
    outer, n, inner = picture(out.shape, axis)
    flat = [ordered(x, out.dtype).reshape(-1) for x in ins]
    _over_rows(name, out.dtype, outer, n, inner)(out.reshape(-1), *flat)


@in_float32
def softmax(out: Any, x: Any, *, axis: int) -> None:
    """``exp(x - max) / sum(exp(x - max))``."""
    _apply("softmax", out, (x,), axis)


@in_float32
def log_softmax(out: Any, x: Any, *, axis: int) -> None:
    """``x - max - log(sum(exp(x - max)))``."""
    _apply("log_softmax", out, (x,), axis)


@in_float32
def softmax_gradient(out: Any, g: Any, y: Any, *, axis: int) -> None:
    """``y * (g - sum(g * y))``."""
    _apply("softmax_gradient", out, (g, y), axis)


@in_float32
def log_softmax_gradient(out: Any, g: Any, y: Any, *, axis: int) -> None:
    """``g - exp(y) * sum(g)``."""
    _apply("log_softmax_gradient", out, (g, y), axis)


for _function in (softmax, log_softmax, softmax_gradient, log_softmax_gradient):
    _function.plan = _planner(_function.__name__)
