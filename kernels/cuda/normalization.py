"""Normalisations for CUDA, each with its gradient: batch, group, layer, root mean square.

All are ``y = (x - mean) * invstd * weight + bias`` over sets of elements, and they differ in which
elements make a set and which share a weight. Both are told by a picture of four numbers:

    picture   statistics and gradients' sums: one block for each set (for each channel); its element
              number k lies at ``base + (k // inner) * outer + k % inner``. Results: one thread for
              each element
    memory    one float64 a thread in shared memory
    sync      of the folds (see ``fold``)
    sizes     any
Sums are float64, in an order that depends on the sizes alone.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np
from numba import float64

from . import arrays, launch
from .block_reduce import total
from .device_math import mathematics
from .fast_division import along, divisor, divisors, over
from .launch import cuda
from .via_float32 import flat, in_float32, optional

FOLDING = launch.FOLDING
_sqrt = mathematics(np.dtype(np.float64))["sqrt"]


class Sets(NamedTuple):
    """Set ``s`` begins at ``s * step`` and holds ``size`` elements, ``inner`` at a time, each
    group ``outer`` after the one before. Element i belongs to set ``(i // share) % sets``."""

    sets: int
    size: int
    step: int
    inner: int
    outer: int
    share: int


def rows(count: int, n: int) -> Sets:
    """Each row of [count, n] is a set."""
    return Sets(count, n, n, n, n, n)


def channels(n: int, c: int, inner: int) -> Sets:
    """Each channel of [n, c, inner] is a set."""
    return Sets(c, n * inner, inner, inner, c * inner, inner)


@launch.device
def _at(k: int, inner: int, outer: int, by_inner: Any) -> Any:
    """Where a set's element lies."""
    q = over(k, by_inner)
    return q * (outer - inner) + k


@launch.device
def _four(x: Any, base: int, k: int, inner: int, outer: int, by_inner: Any) -> Any:
    """A set's elements from number ``k`` on, as far apart as threads that take turns."""
    return (
        x[base + _at(k, inner, outer, by_inner)],
        x[base + _at(k + FOLDING, inner, outer, by_inner)],
        x[base + _at(k + 2 * FOLDING, inner, outer, by_inner)],
        x[base + _at(k + 3 * FOLDING, inner, outer, by_inner)],
    )


@launch.device
def _center_and_squares(
    lanes: Any, t: int, x: Any, base: int, count: int, inner: int, outer: int, by_inner: Any,
    centred: int,
) -> Any:  # fmt: skip
    """(the mean of a set, 0 where it is not ``centred``; the sum of squares around it)."""
    center = 0.0
    if centred:
        part = 0.0
        k = np.int64(t)
        while k < count - 3 * FOLDING:
            for value in _four(x, base, k, inner, outer, by_inner):
                part += value
            k += 4 * FOLDING
        while k < count:
            part += x[base + _at(k, inner, outer, by_inner)]
            k += FOLDING
        center = total(lanes, t, part) / count
    part = 0.0
    k = np.int64(t)
    while k < count - 3 * FOLDING:
        for value in _four(x, base, k, inner, outer, by_inner):
            d = value - center
            part += d * d
        k += 4 * FOLDING
    while k < count:
        d = x[base + _at(k, inner, outer, by_inner)] - center
        part += d * d
        k += FOLDING
    return center, total(lanes, t, part)


@launch.kernel
def _moments(
    mean: Any, invstd: Any, spread: Any, x: Any, count: int, step: int, inner: int, outer: int,
    by_inner: Any, eps: float, centred: int,
) -> None:  # fmt: skip
    lanes = cuda.shared.array(FOLDING, float64)
    s, t = cuda.blockIdx.x, cuda.threadIdx.x
    center, squares = _center_and_squares(
        lanes, t, x, s * step, count, inner, outer, by_inner, centred
    )
    if t == 0:
        mean[s] = center
        spread[s] = squares
        invstd[s] = 1.0 / _sqrt(squares / count + eps)


@launch.kernel
def _rows_forward(
    y: Any, mean: Any, invstd: Any, spread: Any, x: Any, weight: Any, bias: Any, count: int,
    by_count: Any, eps: float, centred: int, weighted: int, shifted: int,
) -> None:  # fmt: skip
    """:func:`_moments` and :func:`_apply` for rows whose elements each have a weight of their own:
    a row is read from the nearest memory after the first time."""
    lanes = cuda.shared.array(FOLDING, float64)
    s, t = cuda.blockIdx.x, cuda.threadIdx.x
    base = np.int64(s) * count
    center, squares = _center_and_squares(
        lanes, t, x, base, count, count, count, by_count, centred
    )
    if t == 0:
        mean[s] = center
        spread[s] = squares
        invstd[s] = 1.0 / _sqrt(squares / count + eps)
    cuda.syncthreads()
    middle, scale = mean[s], invstd[s]
    for k in range(t, count, FOLDING):
        value = (x[base + k] - middle) * scale
        if weighted:
            value = value * weight[k]
        if shifted:
            value = value + bias[k]
        y[base + k] = value


@launch.kernel
def _apply(
    n: int, y: Any, x: Any, mean: Any, invstd: Any, weight: Any, bias: Any, share: int, sets: int,
    inner: int, c: int, by_share: Any, by_sets: Any, by_inner: Any, by_c: Any, weighted: int,
    shifted: int,
) -> None:  # fmt: skip
    i = cuda.grid(1)
    while i < n:
        s = along(i, share, sets, by_share, by_sets)
        value = (x[i] - mean[s]) * invstd[s]
        k = along(i, inner, c, by_inner, by_c)
        if weighted:
            value = value * weight[k]
        if shifted:
            value = value + bias[k]
        y[i] = value
        i = launch.following(i, n)


@launch.kernel
def _pulls(
    first: Any, second: Any, g: Any, x: Any, mean: Any, weight: Any, count: int, step: int,
    inner: int, outer: int, inner_c: int, c: int, by_inner: Any, by_inner_c: Any, by_c: Any,
    weighted: int,
) -> None:  # fmt: skip
    """Sums over a set of ``g * w`` and of ``g * w * (x - mean)``."""
    lanes = cuda.shared.array(FOLDING, float64)
    s, t = cuda.blockIdx.x, cuda.threadIdx.x
    center = np.float64(mean[s])
    a, b = 0.0, 0.0
    for k in range(t, count, FOLDING):
        i = s * step + _at(k, inner, outer, by_inner)
        slope = np.float64(g[i])
        if weighted:
            slope = slope * weight[along(i, inner_c, c, by_inner_c, by_c)]
        a += slope
        b += slope * (x[i] - center)
    a = total(lanes, t, a)
    b = total(lanes, t, b)
    if t == 0:
        first[s] = a
        second[s] = b


@launch.kernel
def _input_gradient(
    n: int, gx: Any, g: Any, x: Any, mean: Any, invstd: Any, weight: Any, first: Any, second: Any,
    share: int, sets: int, inner: int, c: int, by_share: Any, by_sets: Any, by_inner: Any,
    by_c: Any, weighted: int, count: float, centred: int,
) -> None:  # fmt: skip
    i = cuda.grid(1)
    while i < n:
        s = along(i, share, sets, by_share, by_sets)
        slope = np.float64(g[i])
        if weighted:
            slope = slope * weight[along(i, inner, c, by_inner, by_c)]
        scale = np.float64(invstd[s])
        if centred:
            slope = slope - first[s] / count
        slope = slope - (x[i] - mean[s]) * (second[s] * scale * scale / count)
        gx[i] = slope * scale
        i = launch.following(i, n)


@launch.kernel
def _parameter_gradients(
    gw: Any, gb: Any, g: Any, x: Any, mean: Any, invstd: Any, count: int, step: int, inner: int,
    outer: int, share: int, sets: int, by_inner: Any, by_share: Any, by_sets: Any,
) -> None:  # fmt: skip
    """For each channel the sums of ``g * (x - mean) * invstd`` and of ``g``."""
    lanes = cuda.shared.array(FOLDING, float64)
    c, t = cuda.blockIdx.x, cuda.threadIdx.x
    a, b = 0.0, 0.0
    for k in range(t, count, FOLDING):
        i = c * step + _at(k, inner, outer, by_inner)
        s = along(i, share, sets, by_share, by_sets)
        a += g[i] * (x[i] - np.float64(mean[s])) * invstd[s]
        b += g[i]
    a = total(lanes, t, a)
    b = total(lanes, t, b)
    if t == 0:
        gw[c] = a
        gb[c] = b


class Picture(NamedTuple):
    """The sets over which statistics are taken, and the channels that share a weight."""

    sets: Sets
    channels: Sets


def _forward(
    y: Any, mean: Any, invstd: Any, x: Any, weight: Any, bias: Any, picture: Picture, eps: float,
    centred: bool = True, spread: Any = None,
) -> None:  # fmt: skip
    sets, own = picture
    source = flat(x)
    spread = arrays.empty((sets.sets,), np.float64) if spread is None else spread
    if sets.inner == sets.size == own.sets and own.share == 1:
        launch.rows(_rows_forward, sets.sets, y, mean, invstd, spread, source,
                    optional(weight, y.dtype), optional(bias, y.dtype), sets.size,
                    divisor(sets.size, sets.size), eps, int(centred), int(weight is not None),
                    int(bias is not None))  # fmt: skip
        return
    launch.rows(_moments, sets.sets, mean, invstd, spread, source, sets.size, sets.step,
                sets.inner, sets.outer, divisor(sets.inner, sets.size), eps,
                int(centred))  # fmt: skip
    _normalise(y, source, mean, invstd, weight, bias, picture)


def _normalise(
    y: Any, source: Any, mean: Any, invstd: Any, weight: Any, bias: Any, picture: Picture
) -> None:
    sets, own = picture
    dtype = y.dtype
    launch.each(_apply, y.size, y, source, mean, invstd, optional(weight, dtype),
                optional(bias, dtype), sets.share, sets.sets, own.share, own.sets,
                *divisors(y.size, sets.share, sets.sets, own.share, own.sets),
                int(weight is not None), int(bias is not None))  # fmt: skip


def _backward(
    gx: Any, gw: Any, gb: Any, g: Any, x: Any, weight: Any, mean: Any, invstd: Any,
    picture: Picture, centred: bool = True,
) -> None:  # fmt: skip
    sets, own = picture
    slope, source, center, scale = flat(g), flat(x), flat(mean), flat(invstd)
    factors, weighted = optional(weight, x.dtype), int(weight is not None)
    sums = [arrays.empty((sets.sets,), np.float64) for _ in range(2)]
    launch.rows(_pulls, sets.sets, *sums, slope, source, center, factors, sets.size, sets.step,
                sets.inner, sets.outer, own.share, own.sets,
                *divisors(gx.size, sets.inner, own.share, own.sets), weighted)  # fmt: skip
    launch.each(_input_gradient, gx.size, gx, slope, source, center, scale, factors, *sums,
                sets.share, sets.sets, own.share, own.sets,
                *divisors(gx.size, sets.share, sets.sets, own.share, own.sets), weighted,
                float(sets.size), int(centred))  # fmt: skip
    targets = [arrays.empty((own.sets,), x.dtype) if a is None or not a.size else a
               for a in (gw, gb)]  # fmt: skip
    launch.rows(_parameter_gradients, own.sets, *targets, slope, source, center, scale, own.size,
                own.step, own.inner, own.outer, sets.share, sets.sets,
                *divisors(gx.size, own.inner, sets.share, sets.sets))  # fmt: skip


# --- batch norm: x is [N, C, S], sets are channels ----------------------------------------------


def _batch(x: Any) -> Picture:
    own = channels(x.shape[0], x.shape[1], math.prod(x.shape[2:]))
    return Picture(own, own)


@in_float32
def batch_norm_training(outs: Any, x: Any, weight: Any, bias: Any, *, eps: float) -> None:
    """``outs`` = (normalised by the batch's own statistics, means, inverse deviations, spreads)."""
    y, mean, invstd, spread = outs
    _forward(y, mean, invstd, x, weight, bias, _batch(x), eps, spread=spread)


@launch.kernel
def _move(count: int, out: Any, old: Any, new: Any, momentum: float, divisor: float) -> None:
    i = cuda.grid(1)
    while i < count:
        out[i] = momentum * (new[i] / divisor) + (1 - momentum) * old[i]
        i = launch.following(i, count)


@in_float32
def move_average(out: Any, old: Any, new: Any, *, momentum: float, divisor: int) -> None:
    """``out = momentum * new / divisor + (1 - momentum) * old``."""
    launch.each(_move, out.size, out, flat(old), flat(new), float(momentum), float(divisor))


@launch.kernel
def _inverse(count: int, out: Any, variance: Any, eps: float) -> None:
    i = cuda.grid(1)
    while i < count:
        out[i] = 1.0 / _sqrt(np.float64(variance[i]) + eps)
        i = launch.following(i, count)


@in_float32
def batch_norm_inference(
    out: Any, x: Any, weight: Any, bias: Any, mean: Any, variance: Any, *, eps: float
) -> None:
    """``out`` = ``x`` normalised by the statistics given."""
    invstd = arrays.empty((variance.size,), np.float64)
    launch.each(_inverse, variance.size, invstd, flat(variance), eps)
    _normalise(out, flat(x), flat(mean), invstd, weight, bias, _batch(x))


@in_float32
def batch_norm_gradient(outs: Any, g: Any, x: Any, weight: Any, mean: Any, invstd: Any) -> None:
    """``outs`` = gradients for (x, weight, bias) of :func:`batch_norm_training`."""
    _backward(*outs, g, x, weight, mean, invstd, _batch(x))


# --- layer norm, group norm, root mean square norm ----------------------------------------------


def _layer(x: Any, normalized_ndim: int) -> Picture:
    n = math.prod(x.shape[x.ndim - normalized_ndim :])
    count = x.size // max(n, 1)
    return Picture(rows(count, n), channels(count, n, 1))


@in_float32
def layer_norm(
    outs: Any, x: Any, weight: Any, bias: Any, *, eps: float, normalized_ndim: int = 1
) -> None:
    """``outs`` = (rows of the last axes normalised, their means, inverse deviations)."""
    _forward(*outs, x, weight, bias, _layer(x, normalized_ndim), eps)


@in_float32
def layer_norm_gradient(
    outs: Any, g: Any, x: Any, weight: Any, mean: Any, rstd: Any, *, normalized_ndim: int = 1
) -> None:
    """``outs`` = gradients for (x, weight, bias) of :func:`layer_norm`."""
    _backward(*outs, g, x, weight, mean, rstd, _layer(x, normalized_ndim))


def _group(x: Any, groups: int) -> Picture:
    n, c = x.shape[:2]
    inner = math.prod(x.shape[2:])
    return Picture(rows(n * groups, c // groups * inner), channels(n, c, inner))


@in_float32
def group_norm(outs: Any, x: Any, weight: Any, bias: Any, *, groups: int, eps: float) -> None:
    """``outs`` = (groups of channels normalised, means and inverse deviations [N, groups])."""
    _forward(*outs, x, weight, bias, _group(x, groups), eps)


@in_float32
def group_norm_gradient(
    outs: Any, g: Any, x: Any, weight: Any, mean: Any, rstd: Any, *, groups: int
) -> None:
    """``outs`` = gradients for (x, weight, bias) of :func:`group_norm`."""
    _backward(*outs, g, x, weight, mean, rstd, _group(x, groups))


@in_float32
def rms_norm(outs: Any, x: Any, weight: Any, *, eps: float, normalized_ndim: int = 1) -> None:
    """``outs`` = (``x / sqrt(mean(x^2) + eps) * weight``, the inverse roots)."""
    y, rstd = outs
    mean = arrays.empty(rstd.shape, x.dtype)
    _forward(y, mean, rstd, x, weight, None, _layer(x, normalized_ndim), eps, centred=False)


@in_float32
def rms_norm_gradient(
    outs: Any, g: Any, x: Any, weight: Any, rstd: Any, *, normalized_ndim: int = 1
) -> None:
    """``outs`` = gradients for (x, weight) of :func:`rms_norm`."""
    gx, gw = outs
    mean = arrays.zeros(rstd.shape, x.dtype)
    _backward(gx, gw, None, g, x, weight, mean, rstd, _layer(x, normalized_ndim), centred=False)
