"""Normalisations, each with its gradient: batch, group (and instance), layer, root mean square.

All are ``y = (x - mean) * invstd * weight + bias`` over some set of elements; the variance is that
of the set (not corrected), computed from the deviations. Sums are added in blocks, blocks in
float64; batch norm's are rounded as PyTorch rounds them, so that results have the same bits. An
absent weight or bias is an empty array to the loops.
"""

from __future__ import annotations

import math
import threading
from typing import Any

import numpy as np

from mindtorch.kernels.compile import kernel

from .bits import fma
from .half import flat, in_float32
from .row_sums import row_deviation, row_product, row_sum, row_triple, slope_sums
from .threads import get_num_threads, parallel_for
from .vectors import lane_sums_of, lanes

_SERIAL = 65536  # elements that one thread reads sooner than two


# --- batch norm: x is [N, C, S] ---------------------------------------------------------------

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
def _column_statistics(mean: Any, spread: Any, x: Any, n: int, c: int, share: int) -> None:
    """The same for images of one element: ``share`` rows at a time are added in their own type."""
    kind = x.dtype.type
    totals = np.zeros(c, np.float64)
    partial = np.zeros(c, x.dtype)
    for step in range(2):
        totals[:] = 0
        for start in range(0, n, share):
            partial[:] = 0
            for i in range(start, min(start + share, n)):
                row = x[i * c : (i + 1) * c]
                if step == 0:
                    for k in range(c):
                        partial[k] += row[k]
                else:
                    for k in range(c):
                        d = row[k] - mean[k]
                        partial[k] = fma(d, d, partial[k])
            for k in range(c):
                totals[k] += partial[k]
        for k in range(c):
            if step == 0:
                mean[k] = kind(totals[k] / n)
            else:
                spread[k] = kind(totals[k])


@kernel
def _batch_training(
    y: Any, mean: Any, invstd: Any, spread: Any, x: Any, weight: Any, bias: Any, n: int, c: int,
    eps: float, share: int, first: int, last: int,
) -> None:  # fmt: skip
    """Channels ``first`` to ``last``; all of them where images have one element."""
    size = x.size // (n * c)
    kind = x.dtype.type
    if size == 1:
        _column_statistics(mean, spread, x, n, c, share)
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
        for i in range(n):
            row, out = x[i * c : (i + 1) * c], y[i * c : (i + 1) * c]
            for k in range(c):
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
    """Channels ``first`` to ``last``; all of them where images have one element."""
    size = x.size // (n * c)
    kind = x.dtype.type
    totals, products = np.zeros(c, np.float64), np.zeros(c, np.float64)
    if size == 1:
        _column_gradient_sums(totals, products, g, x, mean, n, c, share)
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
        for i in range(n):
            slope, row, out = g[i * c : (i + 1) * c], x[i * c : (i + 1) * c], gx[i * c : i * c + c]
            for k in range(c):
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
    totals: Any, products: Any, g: Any, x: Any, mean: Any, n: int, c: int, share: int
) -> None:
    """The gradient's sums for images of one element."""
    total, product = np.zeros(c, x.dtype), np.zeros(c, x.dtype)
    for start in range(0, n, share):
        total[:] = 0
        product[:] = 0
        for i in range(start, min(start + share, n)):
            slope, row = g[i * c : (i + 1) * c], x[i * c : (i + 1) * c]
            for k in range(c):
                total[k] += slope[k]
                product[k] = fma(row[k] - mean[k], slope[k], product[k])
        for k in range(c):
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
    whole = each == images  # a row holds all channels
    parallel_for(
        channels,
        lambda first, last: loop(*arguments, share, first, last),
        channels if whole else 1 + _SERIAL // max(each, 1),
    )


def _optional(array: Any, dtype: Any) -> Any:
    if array is None:
        return np.empty(0, dtype)
    return np.ascontiguousarray(array, dtype).reshape(-1)


@in_float32
def batch_norm_training(outs: Any, x: Any, weight: Any, bias: Any, *, eps: float) -> None:
    """``outs`` = (normalised by the batch's own statistics, means, inverse deviations, spreads)."""
    y, *statistics = outs
    arrays = (
        y.reshape(-1), *statistics, flat(x), _optional(weight, x.dtype), _optional(bias, x.dtype),
    )  # fmt: skip
    _over_channels(_batch_training, x.shape, *arrays, x.shape[0], x.shape[1], eps)


@in_float32
def move_average(out: Any, old: Any, new: Any, *, momentum: float, divisor: int) -> None:
    """``out = momentum * new / divisor + (1 - momentum) * old``.

    As compiled in PyTorch: a variance's product (divisor above 1) is not rounded before the sum.
    """
    kind = new.dtype.type
    with np.errstate(all="ignore"):
        share = np.float64(kind(momentum)) * (new / kind(divisor))
        out[...] = (share if divisor > 1 else share.astype(kind)) + kind(1 - momentum) * old


@in_float32
def batch_norm_inference(
    out: Any, x: Any, weight: Any, bias: Any, mean: Any, variance: Any, *, eps: float
) -> None:
    """``out`` = ``x`` normalised by the statistics given."""
    _batch_inference(
        out.reshape(-1), flat(x), _optional(weight, x.dtype), _optional(bias, x.dtype),
        _optional(mean, x.dtype), _optional(variance, x.dtype), x.shape[0], x.shape[1], eps,
    )  # fmt: skip


@in_float32
def batch_norm_gradient(outs: Any, g: Any, x: Any, weight: Any, mean: Any, invstd: Any) -> None:
    """``outs`` = gradients for (x, weight, bias) of :func:`batch_norm_training`."""
    gx, gw, gb = outs
    arrays = (
        gx.reshape(-1), gw, gb, flat(g), flat(x), _optional(weight, x.dtype), flat(mean),
        flat(invstd),
    )  # fmt: skip
    _over_channels(_batch_gradient, x.shape, *arrays, x.shape[0], x.shape[1])


# --- layer norm: rows -------------------------------------------------------------------------


@kernel(fastmath={"contract"})
def _layer_forward(
    y: Any, mean: Any, rstd: Any, x: Any, weight: Any, bias: Any, eps: float
) -> None:
    rows = mean.size
    n = x.size // rows
    kind = x.dtype.type
    for r in range(rows):
        row, out = x[r * n : (r + 1) * n], y[r * n : (r + 1) * n]
        center = kind(row_sum(row) / n)
        scale = kind(1.0 / np.sqrt(row_deviation(row, center) / n + eps))
        mean[r] = center
        rstd[r] = scale
        if weight.size and bias.size:
            for j in range(n):
                out[j] = (row[j] - center) * scale * weight[j] + bias[j]
        elif weight.size:
            for j in range(n):
                out[j] = (row[j] - center) * scale * weight[j]
        else:
            for j in range(n):
                out[j] = (row[j] - center) * scale
            if bias.size:
                for j in range(n):
                    out[j] += bias[j]


_TOGETHER = 32  # rows whose gradients of the parameters are added in the rows' own type


@kernel(fastmath={"contract"})
def _layer_gradient_of_two(
    gx: Any, gw: Any, gb: Any, g: Any, x: Any, w: Any, n: int, r: int, s: int, facts: Any
) -> None:
    """The gradients of rows r and s, and their part of the parameters' gradients.

    ``facts`` are each row's mean, inverse deviation, and what is subtracted from its slopes.
    """
    gr, gs, xr, xs = g[r * n : r * n + n], g[s * n : s * n + n], x[r * n : r * n + n], x[s * n :]
    to_r, to_s = gx[r * n : r * n + n], gx[s * n : s * n + n]
    (center, scale, offset, pull), (center_s, scale_s, offset_s, pull_s) = facts
    for j in range(n):
        d, e = xr[j] - center, xs[j] - center_s
        gw[j] += gr[j] * (d * scale) + gs[j] * (e * scale_s)
        gb[j] += gr[j] + gs[j]
        to_r[j] = (gr[j] * w[j] - offset - d * pull) * scale
        to_s[j] = (gs[j] * w[j] - offset_s - e * pull_s) * scale_s


@kernel
def _layer_facts(g: Any, x: Any, w: Any, mean: Any, rstd: Any, n: int, r: int) -> Any:
    kind = x.dtype.type
    total, product = slope_sums(g[r * n : (r + 1) * n], w, x[r * n : (r + 1) * n], mean[r])
    return mean[r], rstd[r], kind(total / n), kind(product * rstd[r] * rstd[r] / n)


@kernel
def _layer_gradient(
    gx: Any, held_w: Any, held_b: Any, g: Any, x: Any, w: Any, mean: Any, rstd: Any
) -> None:
    """The parameters' gradients are added to ``held_w`` and ``held_b`` (float64)."""
    n, rows = w.size, mean.size
    part_w, part_b = np.empty(n, x.dtype), np.empty(n, x.dtype)
    for first in range(0, rows, _TOGETHER):
        part_w[:] = 0
        part_b[:] = 0
        last = min(first + _TOGETHER, rows)
        for r in range(first, last - 1, 2):
            one = _layer_facts(g, x, w, mean, rstd, n, r)
            other = _layer_facts(g, x, w, mean, rstd, n, r + 1)
            _layer_gradient_of_two(gx, part_w, part_b, g, x, w, n, r, r + 1, (one, other))
        if (last - first) % 2:
            center, scale, offset, pull = _layer_facts(g, x, w, mean, rstd, n, last - 1)
            for j in range(n):
                at = (last - 1) * n + j
                d = x[at] - center
                part_w[j] += g[at] * (d * scale)
                part_b[j] += g[at]
                gx[at] = (g[at] * w[j] - offset - d * pull) * scale
        for j in range(n):
            held_w[j] += part_w[j]
            held_b[j] += part_b[j]


@in_float32
def layer_norm(
    outs: Any, x: Any, weight: Any, bias: Any, *, eps: float, normalized_ndim: int = 1
) -> None:
    """``outs`` = (rows of the last axes normalised, their means, inverse deviations)."""
    y, means, deviations, given = (v.reshape(-1) for v in (*outs, flat(x)))
    factors, terms = _optional(weight, x.dtype), _optional(bias, x.dtype)
    n = x.size // max(means.size, 1)

    def part(first: int, last: int) -> None:
        rows, here = slice(first, last), slice(first * n, last * n)
        _layer_forward(y[here], means[rows], deviations[rows], given[here], factors, terms, eps)

    parallel_for(means.size, part, 1 + _SERIAL // max(n, 1))


@in_float32
def layer_norm_gradient(
    outs: Any, g: Any, x: Any, weight: Any, mean: Any, rstd: Any, *, normalized_ndim: int = 1
) -> None:
    """``outs`` = gradients for (x, weight, bias) of :func:`layer_norm`."""
    gx, gw, gb = (out.reshape(-1) for out in outs)
    slope, given, means, deviations = flat(g), flat(x), flat(mean), flat(rstd)
    factors = np.ones(gw.size, x.dtype) if weight is None else _optional(weight, x.dtype)
    blocks = -(-means.size // _TOGETHER)
    sums = np.zeros((2, gw.size), np.float64)
    lock = threading.Lock()

    def part(first: int, last: int) -> None:
        held = np.zeros((2, gw.size), np.float64)
        rows = slice(first * _TOGETHER, last * _TOGETHER)
        here = slice(rows.start * gw.size, rows.stop * gw.size)
        _layer_gradient(
            gx[here], held[0], held[1], slope[here], given[here], factors, means[rows],
            deviations[rows],
        )  # fmt: skip
        with lock:
            np.add(sums, held, out=sums)

    parallel_for(blocks, part, 1 + _SERIAL // max(gw.size * _TOGETHER, 1))
    with np.errstate(over="ignore"):
        gw[...], gb[...] = sums[0], sums[1]


# --- group norm: x is [N, C, S], groups of channels ---------------------------------------------


@kernel
def _group_forward(
    y: Any, mean: Any, rstd: Any, x: Any, weight: Any, bias: Any, c: int, groups: int, eps: float
) -> None:
    sets = mean.size
    n = x.size // sets
    channels = c // groups
    size = n // channels
    kind = x.dtype.type
    for s in range(sets):
        row = x[s * n : (s + 1) * n]
        center = kind(row_sum(row) / n)
        scale = kind(1.0 / np.sqrt(row_deviation(row, center) / n + eps))
        mean[s] = center
        rstd[s] = scale
        for k in range(channels):
            channel = (s % groups) * channels + k
            w = scale * (weight[channel] if weight.size else kind(1))
            b = (bias[channel] if bias.size else kind(0)) - center * w
            part = row[k * size : (k + 1) * size]
            out = y[s * n + k * size : s * n + (k + 1) * size]
            for j in range(size):
                out[j] = part[j] * w + b


@kernel
def _group_gradient(
    gx: Any, gw: Any, gb: Any, g: Any, x: Any, weight: Any, mean: Any, rstd: Any, c: int,
    groups: int,
) -> None:  # fmt: skip
    sets = mean.size
    n = x.size // sets
    channels = c // groups
    size = n // channels
    kind = x.dtype.type
    held_w, held_b = np.zeros(c, np.float64), np.zeros(c, np.float64)
    for s in range(sets):
        center, scale = mean[s], rstd[s]
        total = 0.0
        product = 0.0
        for k in range(channels):
            channel = (s % groups) * channels + k
            slope = g[s * n + k * size : s * n + (k + 1) * size]
            row = x[s * n + k * size : s * n + (k + 1) * size]
            w = weight[channel] if weight.size else kind(1)
            part = row_sum(slope)
            inner = row_product(slope, row, center)
            held_b[channel] += part
            held_w[channel] += inner * scale
            total += part * w
            product += inner * w
        offset = kind(total / n)
        pull = kind(product * scale * scale / n)
        for k in range(channels):
            channel = (s % groups) * channels + k
            slope = g[s * n + k * size : s * n + (k + 1) * size]
            row = x[s * n + k * size : s * n + (k + 1) * size]
            out = gx[s * n + k * size : s * n + (k + 1) * size]
            w = weight[channel] if weight.size else kind(1)
            for j in range(size):
                out[j] = (slope[j] * w - offset - (row[j] - center) * pull) * scale
    for j in range(gw.size):
        gw[j] = kind(held_w[j])
    for j in range(gb.size):
        gb[j] = kind(held_b[j])


@in_float32
def group_norm(
    outs: Any, x: Any, weight: Any, bias: Any, *, groups: int, eps: float
) -> None:
    """``outs`` = (groups of channels normalised, means and inverse deviations [N, groups])."""
    y, mean, rstd = outs
    _group_forward(
        y.reshape(-1), mean.reshape(-1), rstd.reshape(-1), flat(x), _optional(weight, x.dtype),
        _optional(bias, x.dtype), x.shape[1], groups, eps,
    )  # fmt: skip


@in_float32
def group_norm_gradient(
    outs: Any, g: Any, x: Any, weight: Any, mean: Any, rstd: Any, *, groups: int
) -> None:
    """``outs`` = gradients for (x, weight, bias) of :func:`group_norm`."""
    gx, gw, gb = outs
    _group_gradient(
        gx.reshape(-1), gw, gb, flat(g), flat(x), _optional(weight, x.dtype), flat(mean),
        flat(rstd), x.shape[1], groups,
    )  # fmt: skip


# --- root mean square norm: rows ----------------------------------------------------------------


@kernel
def _rms_forward(y: Any, rstd: Any, x: Any, weight: Any, eps: float) -> None:
    rows = rstd.size
    n = x.size // rows
    kind = x.dtype.type
    for r in range(rows):
        row, out = x[r * n : (r + 1) * n], y[r * n : (r + 1) * n]
        scale = kind(1.0 / np.sqrt(row_deviation(row, kind(0)) / n + eps))
        rstd[r] = scale
        if weight.size:
            for j in range(n):
                out[j] = row[j] * scale * weight[j]
        else:
            for j in range(n):
                out[j] = row[j] * scale


@kernel
def _rms_gradient(gx: Any, gw: Any, g: Any, x: Any, weight: Any, rstd: Any) -> None:
    rows = rstd.size
    n = gw.size
    kind = x.dtype.type
    held = np.zeros(n, np.float64)
    for r in range(rows):
        slope, row = g[r * n : (r + 1) * n], x[r * n : (r + 1) * n]
        out = gx[r * n : (r + 1) * n]
        scale = rstd[r]
        if weight.size:
            product = row_triple(slope, weight, row, kind(0))
        else:
            product = row_product(slope, row, kind(0))
        pull = kind(product * scale * scale / n)
        if weight.size:
            for j in range(n):
                held[j] += slope[j] * row[j] * scale
                out[j] = (slope[j] * weight[j] - row[j] * pull) * scale
        else:
            for j in range(n):
                out[j] = (slope[j] - row[j] * pull) * scale
    for j in range(gw.size):
        gw[j] = kind(held[j])


@in_float32
def rms_norm(outs: Any, x: Any, weight: Any, *, eps: float, normalized_ndim: int = 1) -> None:
    """``outs`` = (``x / sqrt(mean(x^2) + eps) * weight``, the inverse roots)."""
    y, rstd = outs
    _rms_forward(y.reshape(-1), rstd.reshape(-1), flat(x), _optional(weight, x.dtype), eps)


@in_float32
def rms_norm_gradient(
    outs: Any, g: Any, x: Any, weight: Any, rstd: Any, *, normalized_ndim: int = 1
) -> None:
    """``outs`` = gradients for (x, weight) of :func:`rms_norm`."""
    gx, gw = outs
    _rms_gradient(
        gx.reshape(-1), gw.reshape(-1), flat(g), flat(x), _optional(weight, x.dtype), flat(rstd)
    )
