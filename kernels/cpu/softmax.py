"""softmax and log_softmax along one axis, and their gradients.

The axis is brought to the end. A row is read for its maximum (by lanes), for the sum of
exponentials, and to write the result. Sums are added in float64.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from mindtorch.kernels.compile import kernel

from .half import in_float32
from .math import exp32

_LANES = 32


@kernel(inline="always")
def _exp(x: Any) -> Any:
    return np.exp(x)


def _loops(exponential: Any) -> Any:
    """The four loops with an ``exp`` for one element type."""

    @kernel
    def maximum(row: Any, lanes: Any) -> Any:
        best = row[0]
        whole = row.size // lanes.size
        if whole > 1:
            for i in range(lanes.size):
                lanes[i] = row[i]
            for j in range(1, whole):
                part = row[j * lanes.size : (j + 1) * lanes.size]
                for i in range(lanes.size):
                    lanes[i] = part[i] if part[i] > lanes[i] else lanes[i]
            for i in range(lanes.size):
                best = lanes[i] if lanes[i] > best else best
        else:
            whole = 0
        for i in range(whole * lanes.size, row.size):
            best = row[i] if row[i] > best else best
        return best

    @kernel(fastmath={"reassoc"})
    def total(row: Any) -> Any:
        result = 0.0
        start = 0
        while start < row.size:
            part = row[start : start + 256]
            partial = row.dtype.type(0)
            for i in range(part.size):
                partial += part[i]
            result += partial
            start += 256
        return result

    @kernel
    def forward(out: Any, x: Any, rows: int, logarithm: int) -> None:
        n = x.size // rows
        lanes = np.empty(32, x.dtype)
        spare = np.empty(n, x.dtype)
        for r in range(rows):
            row, result = x[r * n : (r + 1) * n], out[r * n : (r + 1) * n]
            shift = maximum(row, lanes)
            target = spare if logarithm else result
            for i in range(n):
                target[i] = exponential(row[i] - shift)
            whole = total(target)
            if logarithm:
                offset = x.dtype.type(np.log(whole))
                for i in range(n):
                    result[i] = row[i] - shift - offset
            else:
                scale = x.dtype.type(1.0 / whole)
                for i in range(n):
                    result[i] = result[i] * scale

    @kernel(fastmath={"reassoc"})
    def backward(out: Any, g: Any, y: Any, rows: int, logarithm: int) -> None:
        n = g.size // rows
        for r in range(rows):
            slope, value = g[r * n : (r + 1) * n], y[r * n : (r + 1) * n]
            result = out[r * n : (r + 1) * n]
            if logarithm:
                whole = g.dtype.type(total(slope))
                for i in range(n):
                    result[i] = slope[i] - exponential(value[i]) * whole
            else:
                for i in range(n):
                    result[i] = slope[i] * value[i]
                whole = g.dtype.type(total(result))
                for i in range(n):
                    result[i] = value[i] * (slope[i] - whole)

    return forward, backward


_BY_TYPE = {np.dtype(np.float32): _loops(exp32), np.dtype(np.float64): _loops(_exp)}


def _last(array: Any, axis: int) -> Any:
    """The elements as rows along ``axis``, flat."""
    moved = array if array.ndim == 0 or axis == array.ndim - 1 else np.moveaxis(array, axis, -1)
    return np.ascontiguousarray(moved).reshape(-1)


def _apply(which: int, out: Any, ins: Any, axis: int, logarithm: int) -> None:
    if out.size == 0:
        return
    last = out.ndim == 0 or axis == out.ndim - 1
    target = out.reshape(-1) if last else np.empty(out.size, out.dtype)
    rows = out.size // (out.shape[axis] if out.ndim else 1)
    _BY_TYPE[out.dtype][which](target, *[_last(x, axis) for x in ins], rows, logarithm)
    if not last:
        moved = np.moveaxis(out, axis, -1)
        moved[...] = target.reshape(moved.shape)


@in_float32
def softmax(out: Any, x: Any, *, axis: int) -> None:
    """``exp(x - max) / sum(exp(x - max))``."""
    _apply(0, out, (x,), axis, 0)


@in_float32
def log_softmax(out: Any, x: Any, *, axis: int) -> None:
    """``x - max - log(sum(exp(x - max)))``."""
    _apply(0, out, (x,), axis, 1)


@in_float32
def softmax_gradient(out: Any, g: Any, y: Any, *, axis: int) -> None:
    """``y * (g - sum(g * y))``."""
    _apply(1, out, (g, y), axis, 0)


@in_float32
def log_softmax_gradient(out: Any, g: Any, y: Any, *, axis: int) -> None:
    """``g - exp(y) * sum(g)``."""
    _apply(1, out, (g, y), axis, 1)
