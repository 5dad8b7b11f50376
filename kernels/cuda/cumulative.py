"""Running results along an axis for CUDA, and the spread and norm of whole axes.

    picture   one block for each row, or for each part of a long one; each thread folds a stretch of
              it, thread 0 scans the stretches' results, and each thread walks its stretch again
              from where it begins. What parts come to is folded first, and scanned likewise
    memory    one accumulator (and one place, for cummax) a thread in shared memory
    sync      after the stretches are folded, and after they are scanned
    sizes     rows of any length; elements of a row lie ``inner`` apart
"""

from __future__ import annotations

import functools
import math
from typing import Any

import numpy as np
from numba import int64

from . import arrays, launch, memory
from .device_math import mathematics
from .float_bits import NAMESPACE
from .launch import cuda
from .reduction import numba_type
from .row_statistics import fold_rows
from .via_float32 import flat, in_float32

_SPAN = 8 if launch.SIMULATED else 8 * launch.FOLDING  # elements of a part
_STEP = {
    "sum": ("0", "a + v"), "prod": ("1", "a * v"), "logsum": ("-inf", "logaddexp(a, v)"),
}  # fmt: skip


def _picture(x: Any, axis: int) -> tuple[int, int, int]:
    """(rows, length of the axis, distance between its elements) of a dense array."""
    n = x.shape[axis] if x.ndim else 1
    inner = math.prod(x.shape[axis + 1 :]) if x.ndim else 1
    return x.size // max(n, 1), n, inner


@functools.cache
def _kernels(name: str, accumulator: Any, reverse: bool) -> tuple[Any, Any]:
    """(the scan of each part of each row, the fold of each part).

    Block b takes part ``b % parts``, ``span`` elements of row ``b // parts``; ``before[b - 1]`` is
    what the parts before it come to.
    """
    begin, step = _STEP[name]
    place = "(n - 1 - k)" if reverse else "k"
    fold = f"        v = A(x[base + {place} * inner])\n        a = {step}\n"
    head = (
        "(out, x, before, n, inner, parts, span):\n    held = cuda.shared.array(FOLDING, KIND)\n"
        "    t = cuda.threadIdx.x\n    r = cuda.blockIdx.x // parts\n"
        "    part = cuda.blockIdx.x % parts\n    base = (r // inner) * n * inner + r % inner\n"
        "    end = min((part + 1) * span, n)\n    length = (span + FOLDING - 1) // FOLDING\n"
        "    start = min(part * span + t * length, end)\n    stop = min(start + length, end)\n"
        f"    a = A({begin})\n    for k in range(start, stop):\n{fold}"
        "    held[t] = a\n    cuda.syncthreads()\n    if t == 0:\n"
    )
    whole = (
        f"        a = A({begin})\n        for k in range(FOLDING):\n            v = held[k]\n"
        f"            a = {step}\n        out[cuda.blockIdx.x] = a\n"
    )
    running = (
        f"        a = before[cuda.blockIdx.x - 1] if part > 0 else A({begin})\n"
        "        for k in range(FOLDING):\n            v = held[k]\n"
        f"            held[k] = a\n            a = {step}\n"
        "    cuda.syncthreads()\n    a = held[t]\n    for k in range(start, stop):\n"
        f"{fold}        out[base + {place} * inner] = a\n"
    )
    own = mathematics(np.dtype(np.float64))
    exp, log1p = own["exp"], own["log1p"]

    @launch.device
    def logaddexp(a: Any, b: Any) -> Any:
        top = a if a > b else b
        if a != a or b != b:
            return a + b
        if top == math.inf or top == -math.inf:
            return top
        return top + log1p(exp(-abs(a - b)))

    space = {**NAMESPACE, "A": accumulator.type, "KIND": numba_type(accumulator),
             "FOLDING": launch.FOLDING, "logaddexp": logaddexp, "inf": math.inf}  # fmt: skip
    return (launch.from_source(f"def scan{head}{running}", "scan", space),
            launch.from_source(f"def total{head}{whole}", "total", space))  # fmt: skip


def _rows(
    name: str, out: Any, x: Any, rows: int, n: int, inner: int, accumulator: Any, reverse: bool
) -> None:
    """Scan dense rows. Long ones are cut into parts, whose folds are scanned first: many blocks,
    whose threads read near to each other."""
    scan, total = _kernels(name, accumulator, reverse)
    parts = -(-n // _SPAN) if n >= 2 * _SPAN else 1
    span = _SPAN if parts > 1 else n
    before = memory.empty(rows * parts, accumulator)
    if parts > 1:
        totals = memory.empty(rows * parts, accumulator)
        launch.rows(total, rows * parts, totals, x, before, n, inner, parts, span)
        _rows(name, before, totals, rows, parts, 1, accumulator, False)
    launch.rows(scan, rows * parts, out, x, before, n, inner, parts, span)


def _scan(
    name: str, out: Any, x: Any, axis: int, accumulator: Any = None, reverse: bool = False
) -> None:
    if accumulator is None:
        accumulator = np.dtype(np.float64) if out.dtype.kind == "f" else out.dtype
    work = out if out.dense else arrays.empty(out.shape, out.dtype)
    _rows(name, work.flat, flat(x), *_picture(x, axis), accumulator, reverse)
    if work is not out:
        arrays.assign(out, work)


@in_float32
def cumsum(out: Any, x: Any, *, axis: int, reverse: bool) -> None:
    """``out[i] = x[0] + ... + x[i]`` along ``axis``; reversed, ``x[i] + ... + x[n - 1]``."""
    _scan("sum", out, x, axis, reverse=reverse)


@in_float32
def cumprod(out: Any, x: Any, *, axis: int) -> None:
    """``out[i] = x[0] * ... * x[i]`` along ``axis``."""
    _scan("prod", out, x, axis)


@in_float32
def logcumsumexp(out: Any, x: Any, *, axis: int) -> None:
    """``out[i] = log(exp(x[0]) + ... + exp(x[i]))``."""
    _scan("logsum", out, x, axis, np.dtype(np.float64))


@launch.kernel
def _products(count: int, out: Any, g: Any, x: Any, before: Any, n: int, inner: int) -> None:
    """One thread for each row, from its end; ``before[i]`` is the product up to x[i]."""
    r = cuda.grid(1)
    while r < count:
        base = (r // inner) * n * inner + r % inner
        after = 0.0
        for i in range(n - 1, -1, -1):
            at = base + i * inner
            left = before[at - inner] if i > 0 else 1.0
            out[at] = left * (g[at] + after)
            after = (g[at] + after) * x[at]
        r = launch.following(r, count)


@in_float32
def cumprod_gradient(out: Any, g: Any, x: Any, *, axis: int) -> None:
    """``out[i]`` = sum over k >= i of ``g[k]`` times the product of ``x[0..k]`` but ``x[i]``."""
    rows, n, inner = _picture(x, axis)
    before = arrays.empty(x.shape, np.float64)
    cumprod(before, x, axis=axis)
    work = out if out.dense else arrays.empty(out.shape, out.dtype)
    launch.each(_products, rows, work, flat(g), flat(x), before, n, inner)
    if work is not out:
        arrays.assign(out, work)


@functools.cache
def _running_kernel(greatest: bool) -> Any:
    sign = ">=" if greatest else "<="
    test = f"(v {sign} a) or (v != v)"
    source = f"""
def running(values, places, x, n, inner):
    held = cuda.shared.array(FOLDING, int64)
    t = cuda.threadIdx.x
    r = cuda.blockIdx.x
    base = (r // inner) * n * inner + r % inner
    length = (n + FOLDING - 1) // FOLDING
    start = min(t * length, n)
    stop = min(start + length, n)
    best = -1
    for k in range(start, stop):
        v = x[base + k * inner]
        if best < 0:
            best = k
        else:
            a = x[base + best * inner]
            if ({test}) and not (a != a and v == v):
                best = k
    held[t] = best
    cuda.syncthreads()
    if t == 0:
        best = -1
        for i in range(FOLDING):
            k = held[i]
            held[i] = best
            if k >= 0:
                if best < 0:
                    best = k
                else:
                    v = x[base + k * inner]
                    a = x[base + best * inner]
                    if ({test}) and not (a != a and v == v):
                        best = k
    cuda.syncthreads()
    best = held[t]
    for k in range(start, stop):
        v = x[base + k * inner]
        if best < 0:
            best = k
        else:
            a = x[base + best * inner]
            if ({test}) and not (a != a and v == v):
                best = k
        values[base + k * inner] = x[base + best * inner]
        places[base + k * inner] = best
"""
    return launch.from_source(
        source, "running", {"FOLDING": launch.FOLDING, "int64": int64}
    )


@in_float32
def cummax(outs: Any, x: Any, *, axis: int) -> None:
    """The running maximum and the last place where it was met; nan stays."""
    rows, n, inner = _picture(x, axis)
    launch.rows(_running_kernel(True), rows, *outs, flat(x), n, inner)


@in_float32
def cummin(outs: Any, x: Any, *, axis: int) -> None:
    """The running minimum and the last place where it was met; nan stays."""
    rows, n, inner = _picture(x, axis)
    launch.rows(_running_kernel(False), rows, *outs, flat(x), n, inner)


# --- whole axes --------------------------------------------------------------------------------


def rows_of(x: Any, axis: Any) -> tuple[Any, int, int]:
    """(a dense flat array with the axes ``axis`` last, rows, their length)."""
    kept = [i for i in range(x.ndim) if i not in axis]
    moved = x.permute((*kept, *[i for i in range(x.ndim) if i in axis]))
    count = math.prod(x.shape[i] for i in axis) if x.ndim else 1
    return flat(moved), x.size // max(count, 1), count


def _folds(out: Any, x: Any, axis: Any, kind: str, number: float) -> None:
    source, rows, count = rows_of(x, axis)
    fold_rows(kind, out.flat, source, max(rows, math.prod(out.shape)), count, number)


@in_float32
def var(out: Any, x: Any, *, axis: Any, correction: float, keepdims: bool) -> None:
    """The sum of squared distances from the mean over (count - correction)."""
    _folds(out, x, axis, "var", float(correction))


@in_float32
def std(out: Any, x: Any, *, axis: Any, correction: float, keepdims: bool) -> None:
    """The square root of the variance."""
    _folds(out, x, axis, "std", float(correction))


@in_float32
def vector_norm(out: Any, x: Any, *, order: float, axis: Any, keepdims: bool) -> None:
    """``(sum of abs(x) ** order) ** (1 / order)`` and its limits at 0 and infinity."""
    special = {0: "norm0", 1: "norm1", 2: "norm2", math.inf: "largest", -math.inf: "smallest"}
    _folds(out, x, axis, special.get(order, "norm"), float(order))


@in_float32
def logsumexp(out: Any, x: Any, *, axis: Any, keepdims: bool) -> None:
    """``log(sum(exp(x)))`` with the greatest element taken out of the exponent."""
    _folds(out, x, axis, "logsumexp", 0.0)
