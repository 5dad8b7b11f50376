"""Losses of class scores for CUDA: negative log likelihood, and it with log_softmax.

    picture   nll: one thread for each target. Cross entropy: one block for each target walks its
              classes twice (maximum, sum); the mean over targets is a fold of its own
    memory    one float64 a thread in shared memory
    sync      of the folds (see ``fold``)
    sizes     any; the classes of a target lie ``inner`` apart
A target that is no class is left out and reported (see ``faults``).
"""

from __future__ import annotations

import functools
import math
from typing import Any

import numpy as np
from numba import float64

from . import arrays, errors, launch
from .block_reduce import largest, total
from .device_math import mathematics
from .fast_division import divisors, over, three
from .launch import cuda
from .via_float32 import flat, in_float32, optional

FOLDING = launch.FOLDING


def _sizes(x: Any) -> tuple[int, int]:
    """(classes, distance between a target's classes)."""
    return x.shape[1], math.prod(x.shape[2:])


@launch.kernel
def _pick(
    count: int, out: Any, x: Any, target: Any, weight: Any, weighted: int, classes: int,
    inner: int, by_inner: Any, ignored: int, fault: Any,
) -> None:  # fmt: skip
    i = cuda.grid(1)
    while i < count:
        t = target[i]
        if t == ignored:
            out[i] = 0
        elif t < 0 or t >= classes:
            out[i] = 0
            fault[0] = 1
        else:
            row = over(i, by_inner)
            value = -x[(row * (classes - 1) + t) * inner + i]
            out[i] = value * weight[t] if weighted else value
        i = launch.following(i, count)


@in_float32
def nll(out: Any, x: Any, target: Any, weight: Any = None, *, ignore_index: int = -100) -> None:
    """``out[n, ...] = -weight[t] * x[n, t, ...]``; 0 where the target is ignored."""
    launch.each(_pick, out.size, out, flat(x), flat(target), optional(weight, x.dtype),
                int(weight is not None), *_sizes(x), *divisors(out.size, _sizes(x)[1]),
                ignore_index, errors.cell())  # fmt: skip


@launch.kernel
def _spread(
    count: int, out: Any, g: Any, target: Any, weight: Any, weighted: int, classes: int,
    inner: int, by_classes: Any, by_inner: Any, ignored: int,
) -> None:  # fmt: skip
    i = cuda.grid(1)
    while i < count:
        row, k, column = three(i, classes, inner, by_classes, by_inner)
        at = row * inner + column
        t = target[at]
        value = -g[at] if t == k and t != ignored else 0.0
        out[i] = value * weight[k] if weighted else value
        i = launch.following(i, count)


@in_float32
def nll_gradient(
    out: Any, g: Any, target: Any, weight: Any = None, *, ignore_index: int = -100
) -> None:
    """The gradient of :func:`nll` for ``x`` (shape of ``out``)."""
    launch.each(_spread, out.size, out, flat(g), flat(target), optional(weight, out.dtype),
                int(weight is not None), *_sizes(out), *divisors(out.size, *_sizes(out)),
                ignore_index)  # fmt: skip


# --- cross entropy -----------------------------------------------------------------------------


@functools.cache
def _kernels(dtype: Any) -> tuple[Any, Any]:
    """(forward, backward) for one element type."""
    own = mathematics(dtype)
    exp, log = own["exp"], mathematics(np.dtype(np.float64))["log"]
    kind = dtype.type

    @launch.kernel
    def forward(
        losses: Any, weights: Any, shifts: Any, logs: Any, x: Any, target: Any, weight: Any,
        weighted: int, classes: int, inner: int, ignored: int, smoothing: float, fault: Any,
    ) -> None:  # fmt: skip
        lanes = cuda.shared.array(FOLDING, float64)
        r, t = cuda.blockIdx.x, cuda.threadIdx.x
        base = (r // inner) * classes * inner + r % inner
        best = -math.inf
        for k in range(t, classes, FOLDING):
            value = x[base + k * inner]
            best = value if (value > best) or (value != value) else best
        shift = kind(largest(lanes, t, best))
        part = 0.0
        for k in range(t, classes, FOLDING):
            part += exp(x[base + k * inner] - shift)
        whole = kind(log(total(lanes, t, part)))
        part = 0.0
        if smoothing > 0:
            for k in range(t, classes, FOLDING):
                value = whole - (x[base + k * inner] - shift)
                part += value * weight[k] if weighted else value
        part = total(lanes, t, part)
        if t == 0:
            shifts[r] = shift
            logs[r] = whole
            losses[r] = 0
            weights[r] = 0
            wanted = target[r]
            if wanted != ignored and (wanted < 0 or wanted >= classes):
                fault[0] = 1
            elif wanted != ignored:
                factor = weight[wanted] if weighted else kind(1)
                own = whole - (x[base + wanted * inner] - shift)
                losses[r] = own * factor * (1 - smoothing) + part * (smoothing / classes)
                weights[r] = factor

    @launch.kernel
    def backward(
        count: int, gx: Any, g: Any, x: Any, shifts: Any, logs: Any, target: Any, weight: Any,
        weighted: int, sums: Any, mean: int, step: int, classes: int, inner: int, ignored: int,
        smoothing: float, whole: Any,
    ) -> None:  # fmt: skip
        i = cuda.grid(1)
        while i < count:
            k = (i // inner) % classes
            r = i // (inner * classes) * inner + i % inner
            t = target[r]
            if t == ignored or t < 0 or t >= classes:
                gx[i] = 0
            else:
                slope = np.float64(g[r * step])
                if mean:
                    slope = slope / sums[0]
                own = slope * (1 - smoothing)
                if weighted:
                    own = own * weight[t]
                even = slope * smoothing / classes
                value = exp(x[i] - shifts[r] - logs[r]) * (own + even * whole[0])
                value = value - (even * weight[k] if weighted else even)
                gx[i] = value - own if k == t else value
            i = launch.following(i, count)

    return forward, backward


@launch.kernel
def _summed(out: Any, count_out: Any, losses: Any, weights: Any, count: int, mean: int) -> None:
    """One block: the sum (or mean) of the losses, and the sum of the weights."""
    lanes = cuda.shared.array(FOLDING, float64)
    t = cuda.threadIdx.x
    a, b = 0.0, 0.0
    for i in range(t, count, FOLDING):
        a += losses[i]
        b += weights[i]
    a = total(lanes, t, a)
    b = total(lanes, t, b)
    if t == 0:
        count_out[0] = b
        if mean:
            out[0] = a / b if b != 0 else math.nan
        else:
            out[0] = a


@in_float32
def cross_entropy(
    outs: Any, x: Any, target: Any, weight: Any = None, *, ignore_index: int, reduction: str,
    smoothing: float,
) -> None:  # fmt: skip
    """``outs`` = loss, maxima, log(sum(exp(x - maximum))), the sum of the targets' weights."""
    loss, shifts, logs, sums = outs
    number = target.size
    losses = loss if reduction == "none" else arrays.empty((number,), x.dtype)
    weights = arrays.empty((number,), x.dtype)
    launch.rows(_kernels(x.dtype)[0], number, losses, weights, shifts, logs, flat(x), flat(target),
                optional(weight, x.dtype), int(weight is not None), *_sizes(x), ignore_index,
                float(smoothing), errors.cell())  # fmt: skip
    result = arrays.empty((1,), x.dtype) if reduction == "none" else loss
    launch.rows(_summed, 1, result, sums, losses, weights, number, int(reduction == "mean"))


@in_float32
def cross_entropy_gradient(
    out: Any, g: Any, x: Any, shifts: Any, logs: Any, count: Any, target: Any, weight: Any = None,
    *, ignore_index: int, reduction: str, smoothing: float,
) -> None:  # fmt: skip
    """The gradient of :func:`cross_entropy` for ``x``."""
    factors, whole = optional(weight, x.dtype), arrays.empty((1,), np.float64)
    if weight is None:
        arrays.fill(whole, float(x.shape[1]))
    else:
        nothing = arrays.empty((1,), np.float64)
        launch.rows(_summed, 1, whole, nothing, factors, factors, x.shape[1], 0)
    launch.each(_kernels(x.dtype)[1], out.size, out, flat(g), flat(x), flat(shifts), flat(logs),
                flat(target), factors, int(weight is not None), flat(count),
                int(reduction == "mean"), int(reduction == "none"), *_sizes(x), ignore_index,
                float(smoothing), whole)  # fmt: skip
