"""softmax and log_softmax along the last axis for CUDA, and their gradients.

    picture   one block of 64 threads for each row; thread t holds the elements t, t + 64, ...
    memory    one float64 a thread in shared memory, for the row's maximum and sum
    sync      after registers are stored and after each halving of a tree
    sizes     rows of any length; the axis must be the last (the caller moves it)
"""

from __future__ import annotations

import math
from typing import Any

from numba import cuda, float64

THREADS = 64


@cuda.jit(device=True)
def _fold(lanes: Any, t: int, value: float, largest: int) -> float:
    """The maximum (``largest``) or sum of the block's values, in every thread."""
    lanes[t] = value
    cuda.syncthreads()
    half = THREADS // 2
    while half > 0:
        if t < half:
            a, b = lanes[t], lanes[t + half]
            if largest:
                lanes[t] = b if (b > a) or (b != b) else a
            else:
                lanes[t] = a + b
        cuda.syncthreads()
        half = half // 2
    result = lanes[0]
    cuda.syncthreads()
    return result


@cuda.jit
def _forward(out: Any, x: Any, logarithm: int) -> None:
    lanes = cuda.shared.array(THREADS, float64)
    r, t, n = cuda.blockIdx.x, cuda.threadIdx.x, x.shape[1]
    best = -math.inf
    for i in range(t, n, THREADS):
        best = x[r, i] if (x[r, i] > best) or (x[r, i] != x[r, i]) else best
    best = _fold(lanes, t, best, 1)
    total = 0.0
    for i in range(t, n, THREADS):
        total += math.exp(x[r, i] - best)
    total = _fold(lanes, t, total, 0)
    for i in range(t, n, THREADS):
        if logarithm:
            out[r, i] = x[r, i] - best - math.log(total)
        else:
            out[r, i] = math.exp(x[r, i] - best) / total


@cuda.jit
def _backward(out: Any, g: Any, y: Any, logarithm: int) -> None:
    lanes = cuda.shared.array(THREADS, float64)
    r, t, n = cuda.blockIdx.x, cuda.threadIdx.x, y.shape[1]
    total = 0.0
    for i in range(t, n, THREADS):
        total += g[r, i] if logarithm else g[r, i] * y[r, i]
    total = _fold(lanes, t, total, 0)
    for i in range(t, n, THREADS):
        if logarithm:
            out[r, i] = g[r, i] - math.exp(y[r, i]) * total
        else:
            out[r, i] = y[r, i] * (g[r, i] - total)


def _rows(array: Any, axis: int) -> Any:
    if axis != array.ndim - 1:
        raise NotImplementedError("softmax on CUDA takes the last axis")
    shape = tuple(int(n) for n in array.shape)
    return array.reshape(array.size // shape[-1], shape[-1])


def softmax(out: Any, x: Any, *, axis: int) -> None:
    """``exp(x - max) / sum(exp(x - max))``."""
    target = _rows(out, axis)
    _forward[target.shape[0], THREADS](target, _rows(x, axis), 0)


def log_softmax(out: Any, x: Any, *, axis: int) -> None:
    """``x - max - log(sum(exp(x - max)))``."""
    target = _rows(out, axis)
    _forward[target.shape[0], THREADS](target, _rows(x, axis), 1)


def softmax_gradient(out: Any, g: Any, y: Any, *, axis: int) -> None:
    """``y * (g - sum(g * y))``."""
    target = _rows(out, axis)
    _backward[target.shape[0], THREADS](target, _rows(g, axis), _rows(y, axis), 0)


def log_softmax_gradient(out: Any, g: Any, y: Any, *, axis: int) -> None:
    """``g - exp(y) * sum(g)``."""
    target = _rows(out, axis)
    _backward[target.shape[0], THREADS](target, _rows(g, axis), _rows(y, axis), 1)
