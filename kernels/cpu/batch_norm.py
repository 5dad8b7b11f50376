"""Batch normalisation of x [N, C, S] over N and S, with its gradient.

Sums are added in blocks, blocks in float64, and rounded as PyTorch rounds them, so that results
have the same bits. An absent weight or bias is an empty array to the loops.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from mindtorch.kernels.codegen.jit import entry_point, kernel

from .cat_flip_roll_pad import dense
from .convolutions.channels_last import (
    channels_behind,
    channels_lie_last,
    lies_last,
    writes_channels_last,
)
from .threads.thread_pool import get_num_threads, parallel_for
from .vectors.float_bits import fma
from .vectors.simd import lane_sums_of, lanes
from .via_float32 import flat, in_float32, optional

_SERIAL = 65536  # elements that one thread reads sooner than two
_LANES = lanes(np.float32)
_lane_sums = lane_sums_of(_LANES)


@kernel(fastmath={"reassoc"})
def _wide_sum(row: Any) -> Any:
    total = 0.0
    for i in range(row.size):
        total += row[i]
    return total


@kernel(fastmath={"reassoc"})
def _wide_deviation(row: Any, mean: Any) -> Any:
    """The sum of squared deviations, each rounded to the type of ``row``."""
    total = 0.0
    for i in range(row.size):
        d = row[i] - mean
        total += d * d
    return total


@kernel
def _lanes_total(sums: Any) -> Any:
    """The sum of as many lanes as a vector has, by halves."""
    half = _LANES // 2
    while half:
        for i in range(half):
            sums[i] += sums[i + half]
        half //= 2
    return sums[0]


@kernel
def _gradient_sums(sums: Any, g: Any, x: Any, mean: Any) -> Any:
    """The sums of ``g`` and of ``(x - mean) * g`` over a row, lane by lane."""
    kind = g.dtype.type
    size, first = g.size, 0
    total, product = kind(0), kind(0)
    if size >= _LANES:
        _lane_sums(sums, x, g, 0, size // _LANES, mean)
        first = size // _LANES * _LANES
        for i in range(first, size):
            sums[i - first] += g[i]
            at = _LANES + i - first
            sums[at] = fma(x[i] - mean, g[i], sums[at])
        return _lanes_total(sums), _lanes_total(sums[_LANES:])
    for i in range(size):
        total += g[i]
        product += (x[i] - mean) * g[i]
    return total, product


@kernel
def _statistics(
    mean: Any, spread: Any, x: Any, n: int, c: int, first: int, last: int
) -> None:
    """Means of channels, and sums of squared deviations, over images of several elements."""
    size = x.size // (n * c)
    kind = x.dtype.type
    for k in range(first, last):
        total, deviation = 0.0, 0.0
        for i in range(n):
            total += _wide_sum(x[(i * c + k) * size : (i * c + k + 1) * size])
        center = kind(total / (n * size))
        for i in range(n):
            deviation += _wide_deviation(x[(i * c + k) * size : (i * c + k + 1) * size], center)
        mean[k], spread[k] = center, kind(deviation)


@kernel
def _column_statistics(
    mean: Any, spread: Any, x: Any, n: int, c: int, share: int, first: int, last: int
) -> None:
    """The same for images of one element: ``share`` rows at a time are added in their own type."""
    kind = x.dtype.type
    width = last - first
    mean, spread = mean[first:last], spread[first:last]
    totals = np.zeros(width, np.float64)
    partial = np.zeros(width, x.dtype)
    for step in range(2):
        totals[:] = 0
        for start in range(0, n, share):
            partial[:] = 0
            for i in range(start, min(start + share, n)):
                row = x[i * c + first : i * c + last]
                if step == 0:
                    for k in range(width):
                        partial[k] += row[k]
                else:
                    for k in range(width):
                        d = row[k] - mean[k]
                        partial[k] = fma(d, d, partial[k])
            for k in range(width):
                totals[k] += partial[k]
        for k in range(width):
            if step == 0:
                mean[k] = kind(totals[k] / n)
            else:
                spread[k] = kind(totals[k])


@kernel
def _batch_training(
    y: Any, mean: Any, invstd: Any, spread: Any, x: Any, weight: Any, bias: Any, n: int, c: int,
    eps: float, share: int, first: int, last: int,
) -> None:  # fmt: skip
    """Channels ``first`` to ``last``."""
    size = x.size // (n * c)
    kind = x.dtype.type
    if size == 1:
        _column_statistics(mean, spread, x, n, c, share, first, last)
    else:
        _statistics(mean, spread, x, n, c, first, last)
    for k in range(first, last):
        variance = np.float64(spread[k] / kind(n * size))
        invstd[k] = kind(1.0 / np.sqrt(variance + eps))
    _scale(y, x, weight, bias, mean, invstd, n, c, first, last)


@kernel
def _scale(
    y: Any, x: Any, weight: Any, bias: Any, mean: Any, invstd: Any, n: int, c: int, first: int,
    last: int,
) -> None:  # fmt: skip
    """``y = (x - mean) * invstd * weight + bias``, as a factor and an addend."""
    size = x.size // (n * c)
    kind = x.dtype.type
    factor, addend = np.empty(c, x.dtype), np.empty(c, x.dtype)
    for k in range(first, last):
        factor[k] = invstd[k] * (weight[k] if weight.size else kind(1))
        addend[k] = fma(-mean[k], factor[k], bias[k] if bias.size else kind(0))
    if size == 1:
        factor, addend = factor[first:last], addend[first:last]
        for i in range(n):
            row, out = x[i * c + first : i * c + last], y[i * c + first : i * c + last]
            for k in range(row.size):
                out[k] = fma(row[k], factor[k], addend[k])
        return
    for image in range(n):
        for k in range(first, last):
            at = (image * c + k) * size
            row, out = x[at : at + size], y[at : at + size]
            w, b = factor[k], addend[k]
            for j in range(size):
                out[j] = fma(row[j], w, b)


@kernel
def _batch_inference(
    y: Any, x: Any, weight: Any, bias: Any, mean: Any, variance: Any, n: int, c: int, eps: float
) -> None:
    kind = x.dtype.type
    invstd = np.empty(c, x.dtype)
    for k in range(c):
        invstd[k] = kind(1) / np.sqrt(variance[k] + kind(eps))
    _scale(y, x, weight, bias, mean, invstd, n, c, 0, c)


@kernel
def _batch_gradient(
    gx: Any, gw: Any, gb: Any, g: Any, x: Any, weight: Any, mean: Any, invstd: Any, n: int, c: int,
    share: int, first: int, last: int,
) -> None:  # fmt: skip
    """Channels ``first`` to ``last``."""
    size = x.size // (n * c)
    kind = x.dtype.type
    totals, products = np.zeros(c, np.float64), np.zeros(c, np.float64)
    if size == 1:
        _column_gradient_sums(totals, products, g, x, mean, n, c, share, first, last)
    else:
        sums = np.zeros(2 * _LANES, x.dtype)
        for i in range(n):
            for k in range(first, last):
                here = slice((i * c + k) * size, (i * c + k + 1) * size)
                total, product = _gradient_sums(sums, g[here], x[here], mean[k])
                totals[k] += total
                products[k] += product
    offset, pull = np.empty(c, x.dtype), np.empty(c, x.dtype)
    w = np.ones(c, x.dtype)
    for k in range(first, last):
        gw[k] = kind(products[k] * invstd[k])
        gb[k] = kind(totals[k])
        offset[k] = kind(totals[k] / (n * size))
        pull[k] = kind(products[k]) * invstd[k] * invstd[k] / kind(n * size)
        if weight.size:
            w[k] = weight[k]
    if size == 1:
        mean, invstd, w = mean[first:last], invstd[first:last], w[first:last]
        offset, pull = offset[first:last], pull[first:last]
        for i in range(n):
            here = slice(i * c + first, i * c + last)
            slope, row, out = g[here], x[here], gx[here]
            for k in range(row.size):
                d = row[k] - mean[k]
                out[k] = fma(-d, pull[k], slope[k] - offset[k]) * invstd[k] * w[k]
        return
    for i in range(n):
        for k in range(first, last):
            here = slice((i * c + k) * size, (i * c + k + 1) * size)
            slope, row, out = g[here], x[here], gx[here]
            center, shift, slant, scale, factor = mean[k], offset[k], pull[k], invstd[k], w[k]
            for j in range(size):
                out[j] = fma(-(row[j] - center), slant, slope[j] - shift) * scale * factor


@kernel
def _column_gradient_sums(
    totals: Any, products: Any, g: Any, x: Any, mean: Any, n: int, c: int, share: int, first: int,
    last: int,
) -> None:  # fmt: skip
    """The gradient's sums for images of one element."""
    totals, products, mean = totals[first:last], products[first:last], mean[first:last]
    total, product = np.zeros(mean.size, x.dtype), np.zeros(mean.size, x.dtype)
    for start in range(0, n, share):
        total[:] = 0
        product[:] = 0
        for i in range(start, min(start + share, n)):
            here = slice(i * c + first, i * c + last)
            slope, row = g[here], x[here]
            for k in range(row.size):
                total[k] += slope[k]
                product[k] = fma(row[k] - mean[k], slope[k], product[k])
        for k in range(mean.size):
            totals[k] += total[k]
            products[k] += product[k]


def _share(n: int) -> int:
    """How many rows are added before the sums are: a thread's, or one where rows are few."""
    threads = get_num_threads()
    return -(-n // threads) if n > threads else 1


def _over_channels(loop: Any, shape: Any, *arguments: Any) -> None:
    """The loop over the channels of ``shape``, shared out to the threads."""
    images, channels = shape[:2]
    each = math.prod(shape) // max(channels, 1)
    share = _share(images)
    parallel_for(
        channels, lambda first, last: loop(*arguments, share, first, last),
        max(_LANES if each == images else 1, 1 + _SERIAL // max(each, 1)),
    )  # fmt: skip


def _in_rows(out: Any, *others: Any) -> tuple[Any, ...]:
    """The shape ``[images, channels, ...]`` for the loops, and the arrays' flat elements: images
    whose channels lie last are as many images of one element as they have places."""
    if not lies_last(out):
        return out.shape, out.reshape(-1), *[flat(x) for x in others]
    arrays = [channels_behind(x) for x in (out, *others)]
    shape = (math.prod(arrays[0].shape[:-1]), out.shape[1])
    return shape, arrays[0].reshape(-1), *[flat(x) for x in arrays[1:]]


@writes_channels_last
@in_float32
def batch_norm_training(outs: Any, x: Any, weight: Any, bias: Any, *, eps: float) -> None:
    """``outs`` = (normalised by the batch's own statistics, means, inverse deviations, spreads)."""
    y, *statistics = outs
    shape, result, source = _in_rows(y, x)
    arrays = (
        result, *statistics, source, optional(weight, x.dtype), optional(bias, x.dtype),
    )  # fmt: skip
    _over_channels(_batch_training, shape, *arrays, shape[0], shape[1], eps)


@kernel
def _moved(
    out: Any, old: Any, new: Any, share: float, rest: float, divisor: int
) -> None:
    kind = new.dtype.type
    for i in range(out.size):
        part = share * np.float64(new[i] / kind(divisor))
        kept = kind(rest) * old[i]
        out[i] = kind(part + kept) if divisor > 1 else kind(part) + kept


@in_float32
def move_average(out: Any, old: Any, new: Any, *, momentum: float, divisor: int) -> None:
    """``out = momentum * new / divisor + (1 - momentum) * old``.

    As compiled in PyTorch: a variance's product (divisor above 1) is not rounded before the sum.
    """
    _moved(out, flat(old), flat(new), new.dtype.type(momentum), 1 - momentum, divisor)


def _move_plan(outs: Any, ins: Any, *, momentum: float, divisor: int) -> Any:
    name = _one_type(outs, ins)
    if name is None or not all(dense(x) for x in (*outs, *ins)):
        return None
    share, rest = float(np.dtype(name).type(momentum)), 1 - momentum
    loop = entry_point(_moved, f"void({f'{name}[::1], ' * 3}float64, float64, int64)")
    return lambda out, old, new: loop(out, old, new, share, rest, divisor)


@writes_channels_last
@in_float32
def batch_norm_inference(
    out: Any, x: Any, weight: Any, bias: Any, mean: Any, variance: Any, *, eps: float
) -> None:
    """``out`` = ``x`` normalised by the statistics given."""
    shape, result, source = _in_rows(out, x)
    _batch_inference(
        result, source, optional(weight, x.dtype), optional(bias, x.dtype),
        optional(mean, x.dtype), optional(variance, x.dtype), shape[0], shape[1], eps,
    )  # fmt: skip


@writes_channels_last
@in_float32
def batch_norm_gradient(outs: Any, g: Any, x: Any, weight: Any, mean: Any, invstd: Any) -> None:
    """``outs`` = gradients for (x, weight, bias) of :func:`batch_norm_training`."""
    gx, gw, gb = outs
    shape, result, slope, source = _in_rows(gx, g, x)
    arrays = (
        result, gw, gb, slope, source, optional(weight, x.dtype), flat(mean), flat(invstd),
    )  # fmt: skip
    _over_channels(_batch_gradient, shape, *arrays, shape[0], shape[1])


# --- few elements: loops that are called without ado --------------------------------------------


def _one_type(outs: Any, ins: Any) -> str | None:
    """numba's name for the type of all operands; None where it is not one that loops take."""
    kinds = {x.dtype for x in (*outs, *ins) if x is not None}
    kind = kinds.pop()
    return kind.name if not kinds and kind in (np.float32, np.float64) else None


def _small(outs: Any, ins: Any, images: Any) -> Any:
    """(the type's name, images, channels) for the loops, of few elements that lie in their order;
    None for others. ``images`` are as large as the first result."""
    name, (n, c) = _one_type(outs, ins), images[0].shape[:2]
    others = [x for x in (*outs, *ins) if x is not None and x not in images]
    size = math.prod(images[0].shape)
    if name is None or not 0 < size <= _SERIAL or not all(dense(x) for x in others):
        return None
    orders = {channels_lie_last(x) for x in images}
    if orders == {False}:
        return name, n, c
    return (name, size // c, c) if orders == {True} else None


def _training_plan(outs: Any, ins: Any, *, eps: float) -> Any:
    small = _small(outs, ins, (outs[0], ins[0]))
    if small is None:
        return None
    name, n, c = small
    loop = entry_point(
        _batch_training, f"void({f'{name}[::1], ' * 7}int64, int64, float64, int64, int64, int64)"
    )
    none = np.empty(0, name)

    def run(y: Any, mean: Any, invstd: Any, spread: Any, x: Any, weight: Any, bias: Any) -> None:
        loop(
            y, mean, invstd, spread, x, none if weight is None else weight,
            none if bias is None else bias, n, c, eps, _share(n), 0, c,
        )  # fmt: skip

    return run


def _inference_plan(outs: Any, ins: Any, *, eps: float) -> Any:
    small = _small(outs, ins, (outs[0], ins[0]))
    if small is None:
        return None
    name, n, c = small
    loop = entry_point(_batch_inference, f"void({f'{name}[::1], ' * 6}int64, int64, float64)")
    none = np.empty(0, name)

    def run(y: Any, x: Any, weight: Any, bias: Any, mean: Any, variance: Any) -> None:
        loop(y, x, none if weight is None else weight, none if bias is None else bias, mean,
             variance, n, c, eps)  # fmt: skip

    return run


def _gradient_plan(outs: Any, ins: Any) -> Any:
    small = _small(outs, ins, (outs[0], *ins[:2]))
    if small is None:
        return None
    name, n, c = small
    loop = entry_point(
        _batch_gradient, f"void({f'{name}[::1], ' * 8}int64, int64, int64, int64, int64)"
    )
    none = np.empty(0, name)

    def run(
        gx: Any, gw: Any, gb: Any, g: Any, x: Any, weight: Any, mean: Any, invstd: Any
    ) -> None:
        loop(gx, gw, gb, g, x, none if weight is None else weight, mean, invstd, n, c, _share(n),
             0, c)  # fmt: skip

    return run


batch_norm_training.plan, batch_norm_inference.plan = _training_plan, _inference_plan
batch_norm_gradient.plan, move_average.plan = _gradient_plan, _move_plan
