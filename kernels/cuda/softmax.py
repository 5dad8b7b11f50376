"""softmax and log_softmax along an axis for CUDA, and their gradients.

    picture   one block for each row (all elements that differ in the axis alone); thread t holds
              the elements t, t + threads, ...
    memory    one float64 a thread in shared memory, for the row's maximum and sum
    sync      after registers are stored and after each halving of a tree
    sizes     rows of any length; elements of a row lie ``inner`` apart
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numba import float64

from . import launch
from .block_reduce import largest, total
from .device_math import mathematics
from .launch import cuda
from .reduction import KINDS
from .via_float32 import flat, in_float32

FOLDING = launch.FOLDING


def _make(dtype: Any) -> tuple[Any, Any]:
    """(forward, backward) for one element type."""
    own = mathematics(np.dtype(dtype))
    exp, kind = own["exp"], np.dtype(dtype).type
    log = mathematics(np.dtype(np.float64))["log"]

    @launch.kernel
    def forward(out: Any, x: Any, n: int, inner: int, logarithm: int) -> None:
        lanes = cuda.shared.array(FOLDING, float64)
        r, t = cuda.blockIdx.x, cuda.threadIdx.x
        base = (r // inner) * n * inner + r % inner
        best = -math.inf
        for i in range(t, n, FOLDING):
            value = x[base + i * inner]
            best = value if (value > best) or (value != value) else best
        shift = kind(largest(lanes, t, best))
        part = 0.0
        for i in range(t, n, FOLDING):
            part += exp(x[base + i * inner] - shift)
        whole = total(lanes, t, part)
        offset = kind(log(whole))
        scale = kind(1.0 / whole)
        for i in range(t, n, FOLDING):
            value = x[base + i * inner] - shift
            out[base + i * inner] = value - offset if logarithm else exp(value) * scale

    @launch.kernel
    def backward(out: Any, g: Any, y: Any, n: int, inner: int, logarithm: int) -> None:
        lanes = cuda.shared.array(FOLDING, float64)
        r, t = cuda.blockIdx.x, cuda.threadIdx.x
        base = (r // inner) * n * inner + r % inner
        part = 0.0
        for i in range(t, n, FOLDING):
            at = base + i * inner
            part += g[at] if logarithm else g[at] * y[at]
        whole = kind(total(lanes, t, part))
        for i in range(t, n, FOLDING):
            at = base + i * inner
            out[at] = g[at] - exp(y[at]) * whole if logarithm else y[at] * (g[at] - whole)

    return forward, backward


_made: dict[Any, Any] = {}


def _run(place: int, out: Any, arrays: Any, axis: int, logarithm: int) -> None:
    if out.dtype not in _made:
        if out.dtype.name not in KINDS:
            raise NotImplementedError(f"softmax for {out.dtype} is not implemented on CUDA")
        _made[out.dtype] = _make(out.dtype)
    n = out.shape[axis] if out.ndim else 1
    inner = math.prod(out.shape[axis + 1 :])
    given = [flat(a) for a in arrays]
    rows = out.size // max(n, 1)
    launch.rows(_made[out.dtype][place], rows, out.flat, *given, n, inner, logarithm)


@in_float32
def softmax(out: Any, x: Any, *, axis: int) -> None:
    """``exp(x - max) / sum(exp(x - max))``."""
    _run(0, out, (x,), axis, 0)


@in_float32
def log_softmax(out: Any, x: Any, *, axis: int) -> None:
    """``x - max - log(sum(exp(x - max)))``."""
    _run(0, out, (x,), axis, 1)


@in_float32
def softmax_gradient(out: Any, g: Any, y: Any, *, axis: int) -> None:
    """``y * (g - sum(g * y))``."""
    _run(1, out, (g, y), axis, 0)


@in_float32
def log_softmax_gradient(out: Any, g: Any, y: Any, *, axis: int) -> None:
    """``g - exp(y) * sum(g)``."""
    _run(1, out, (g, y), axis, 1)
