"""Normalisations, each with its gradient: group (and instance), layer, root mean square, and
batch, whose loops are in ``batch_norm``.

All are ``y = (x - mean) * invstd * weight + bias`` over some set of elements; the variance is that
of the set (not corrected), computed from the deviations. Sums are added in blocks, blocks in
float64. An absent weight or bias is an empty array to the loops.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from mindtorch.kernels.codegen.jit import entry_point, kernel

from .batch_norm import batch_norm_gradient as batch_norm_gradient
from .batch_norm import batch_norm_inference as batch_norm_inference
from .batch_norm import batch_norm_training as batch_norm_training
from .batch_norm import move_average as move_average
from .cat_flip_roll_pad import dense
from .sums.blocked_sum import row_deviation, row_product, row_sum, row_triple, slope_sums
from .threads.thread_pool import parallel_for
from .vectors.simd import prefetch
from .via_float32 import flat, in_float32, optional

_SERIAL = 65536  # elements that one thread reads sooner than two


def _summed(
    count: int, smallest: int, width: int, run: Callable[[int, int, Any], None]
) -> Any:
    """Call ``run(first, last, held)`` on pieces of ``range(count)``: the sum of what these add to
    ``held`` ([2, width], float64), in the order of the pieces."""
    held: dict[int, Any] = {}

    def part(first: int, last: int) -> None:
        held[first] = np.zeros((2, width), np.float64)
        run(first, last, held[first])

    parallel_for(count, part, smallest)
    return sum(held[first] for first in sorted(held))


def _store(target: Any, sums: Any) -> None:
    with np.errstate(over="ignore"):
        target[...] = sums


# --- layer norm: rows -------------------------------------------------------------------------


@kernel(fastmath={"contract"})
def _layer_forward(
    y: Any, mean: Any, rstd: Any, x: Any, weight: Any, bias: Any, eps: float
) -> None:
    rows = mean.size
    n = x.size // rows
    kind = x.dtype.type
    total = row_sum(x[:n])
    for r in range(rows):
        row, out = x[r * n : (r + 1) * n], y[r * n : (r + 1) * n]
        center = kind(total / n)
        scale = kind(1.0 / np.sqrt(row_deviation(row, center) / n + eps))
        if r + 1 < rows:  # of the next row, while this one's sums are put together
            total = row_sum(x[(r + 1) * n : (r + 2) * n])
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
            for at in range((r + 2) * n, (r + 4) * n if n >= 256 else 0, 256):
                prefetch(gx, at)  # what is written next
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
    factors, terms = optional(weight, x.dtype), optional(bias, x.dtype)
    n = x.size // max(means.size, 1)

    def part(first: int, last: int) -> None:
        rows, here = slice(first, last), slice(first * n, last * n)
        _layer_forward(y[here], means[rows], deviations[rows], given[here], factors, terms, eps)

    parallel_for(means.size, part, 1 + _SERIAL // max(n, 1))


def _in_one_piece(outs: Any, ins: Any) -> Any:
    """The type of dense operands of one type that one thread takes, as numba names it; else
    None."""
    given = [*outs, *(x for x in ins if x is not None)]
    kind = given[0].dtype
    if kind not in (np.float32, np.float64) or math.prod(given[0].shape) > _SERIAL:
        return None
    return kind.name if all(x.dtype == kind and dense(x) for x in given) else None


def _layer_plan(outs: Any, ins: Any, *, eps: float, normalized_ndim: int = 1) -> Any:
    """``run(y, mean, rstd, x, weight, bias)`` on flat arrays."""
    name = _in_one_piece(outs, ins)
    if name is None:
        return None
    loop = entry_point(_layer_forward, f"void({f'{name}[::1], ' * 6}float64)")
    absent = np.empty(0, name)

    def run(y: Any, mean: Any, rstd: Any, x: Any, weight: Any, bias: Any) -> None:
        loop(
            y, mean, rstd, x, absent if weight is None else weight,
            absent if bias is None else bias, eps,
        )  # fmt: skip

    return run


def _layer_gradient_plan(outs: Any, ins: Any, *, normalized_ndim: int = 1) -> Any:
    name = _in_one_piece(outs, ins)
    if name is None:
        return None
    arrays = f"{name}[::1], float64[::1], float64[::1]{f', {name}[::1]' * 5}"
    loop, width = entry_point(_layer_gradient, f"void({arrays})"), math.prod(outs[1].shape)
    ones = np.ones(width if ins[2] is None else 0, name)

    def run(
        gx: Any, gw: Any, gb: Any, g: Any, x: Any, weight: Any, mean: Any, rstd: Any
    ) -> None:
        held_w, held_b = np.zeros((2, width))
        loop(gx, held_w, held_b, g, x, ones if weight is None else weight, mean, rstd)
        _store(gw, held_w)
        _store(gb, held_b)

    return run


@in_float32
def layer_norm_gradient(
    outs: Any, g: Any, x: Any, weight: Any, mean: Any, rstd: Any, *, normalized_ndim: int = 1
) -> None:
    """``outs`` = gradients for (x, weight, bias) of :func:`layer_norm`."""
    gx, gw, gb = (out.reshape(-1) for out in outs)
    slope, given, means, deviations = flat(g), flat(x), flat(mean), flat(rstd)
    factors = np.ones(gw.size, x.dtype) if weight is None else optional(weight, x.dtype)
    blocks = -(-means.size // _TOGETHER)

    def run(first: int, last: int, held: Any) -> None:
        rows = slice(first * _TOGETHER, last * _TOGETHER)
        here = slice(rows.start * gw.size, rows.stop * gw.size)
        _layer_gradient(
            gx[here], held[0], held[1], slope[here], given[here], factors, means[rows],
            deviations[rows],
        )  # fmt: skip

    sums = _summed(blocks, 1 + _SERIAL // max(gw.size * _TOGETHER, 1), gw.size, run)
    _store(gw, sums[0])
    _store(gb, sums[1])


layer_norm.plan, layer_norm_gradient.plan = _layer_plan, _layer_gradient_plan


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
    gx: Any, held_w: Any, held_b: Any, g: Any, x: Any, weight: Any, mean: Any, rstd: Any, c: int,
    groups: int,
) -> None:  # fmt: skip
    """The parameters' gradients are added to ``held_w`` and ``held_b`` (float64)."""
    sets = mean.size
    n = x.size // sets
    channels = c // groups
    size = n // channels
    kind = x.dtype.type
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


def _bound_groups(x: Any, groups: int, eps: float) -> Callable[..., None]:
    """``run(y, means, deviations, x, weight, bias)`` on flat arrays; empty where there is no weight
    or bias."""
    images, channels = x.shape[:2]
    n = math.prod(x.shape[1:])
    loop = entry_point(
        _group_forward, f"void({f'{x.dtype.name}[::1], ' * 6}int64, int64, float64)"
    )
    smallest = 1 + _SERIAL // max(n, 1)

    def run(y: Any, means: Any, deviations: Any, x: Any, factors: Any, terms: Any) -> None:
        if images < 2 * smallest:
            loop(y, means, deviations, x, factors, terms, channels, groups, eps)
            return

        def part(first: int, last: int) -> None:
            sets, here = slice(first * groups, last * groups), slice(first * n, last * n)
            loop(
                y[here], means[sets], deviations[sets], x[here], factors, terms, channels, groups,
                eps,
            )  # fmt: skip

        parallel_for(images, part, smallest)

    return run


@in_float32
def group_norm(
    outs: Any, x: Any, weight: Any, bias: Any, *, groups: int, eps: float
) -> None:
    """``outs`` = (groups of channels normalised, means and inverse deviations [N, groups])."""
    arrays = [v.reshape(-1) for v in (*outs, flat(x))]
    factors, terms = optional(weight, x.dtype), optional(bias, x.dtype)
    _bound_groups(x, groups, eps)(*arrays, factors, terms)


def _group_plan(outs: Any, ins: Any, *, groups: int, eps: float) -> Callable[..., None] | None:
    x, *others = ins
    given = [each for each in (*outs, *ins) if each is not None]
    if x.dtype not in (np.float32, np.float64) or not all(map(dense, given)) or any(
        each.dtype != x.dtype for each in given
    ):
        return None
    run, missing = _bound_groups(x, groups, eps), np.empty(0, x.dtype)
    if others == [None, None]:
        return lambda *arrays: run(*arrays[:4], missing, missing)
    return lambda *arrays: run(*[missing if each is None else each for each in arrays])


group_norm.plan = _group_plan


@in_float32
def group_norm_gradient(
    outs: Any, g: Any, x: Any, weight: Any, mean: Any, rstd: Any, *, groups: int
) -> None:
    """``outs`` = gradients for (x, weight, bias) of :func:`group_norm`."""
    gx, gw, gb = (out.reshape(-1) for out in outs)
    slope, given, means, deviations = flat(g), flat(x), flat(mean), flat(rstd)
    factors = optional(weight, x.dtype)
    images, channels = x.shape[:2]
    n = x.size // max(images, 1)

    def run(first: int, last: int, held: Any) -> None:
        sets, here = slice(first * groups, last * groups), slice(first * n, last * n)
        _group_gradient(
            gx[here], held[0], held[1], slope[here], given[here], factors, means[sets],
            deviations[sets], channels, groups,
        )  # fmt: skip

    sums = _summed(images, 1 + _SERIAL // max(n, 1), channels, run)
    for target, total in zip((gw, gb), sums, strict=True):
        if target.size:
            _store(target, total)


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
def _rms_gradient(gx: Any, held: Any, g: Any, x: Any, weight: Any, rstd: Any) -> None:
    """The weight's gradient is added to ``held`` (float64)."""
    rows = rstd.size
    n = held.size
    kind = x.dtype.type
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


@in_float32
def rms_norm(outs: Any, x: Any, weight: Any, *, eps: float, normalized_ndim: int = 1) -> None:
    """``outs`` = (``x / sqrt(mean(x^2) + eps) * weight``, the inverse roots)."""
    y, roots, given = (v.reshape(-1) for v in (*outs, flat(x)))
    factors = optional(weight, x.dtype)
    n = x.size // max(roots.size, 1)

    def part(first: int, last: int) -> None:
        here = slice(first * n, last * n)
        _rms_forward(y[here], roots[first:last], given[here], factors, eps)

    parallel_for(roots.size, part, 1 + _SERIAL // max(n, 1))


@in_float32
def rms_norm_gradient(
    outs: Any, g: Any, x: Any, weight: Any, rstd: Any, *, normalized_ndim: int = 1
) -> None:
    """``outs`` = gradients for (x, weight) of :func:`rms_norm`."""
    gx, gw = (out.reshape(-1) for out in outs)
    slope, given, roots = flat(g), flat(x), flat(rstd)
    factors = optional(weight, x.dtype)

    def run(first: int, last: int, held: Any) -> None:
        here = slice(first * gw.size, last * gw.size)
        _rms_gradient(gx[here], held[0], slope[here], given[here], factors, roots[first:last])

    _store(gw, _summed(roots.size, 1 + _SERIAL // max(gw.size, 1), gw.size, run)[0])
