"""Pooling over windows of one to three axes.

The largest elements are found one tap of the window at a time, for all windows of a plane. Fewer
than three axes are filled up with length 1.
"""

from __future__ import annotations

import functools
from typing import Any

import numpy as np

from mindtorch.kernels.compile import kernel

from .convolution_geometry import grid
from .half import flat, in_float32
from .threads import parallel_for
from .vectors import BLOCK, keep_largest, largest_of_four

_AHEAD = 8192  # elements
_SERIAL = 100_000  # elements that one thread reads sooner than two


@kernel
def _max(
    out: Any, places: Any, x: Any, planes: int, lowest: Any, sizes: Any, padded: int, begins: Any,
    steps: Any, bases: Any, offsets: Any, firsts: Any,
) -> None:  # fmt: skip
    """One tap of all windows at a time, so that comparisons run along whole planes.

    ``begins`` and ``steps`` say where windows and taps lie in a plane padded with ``lowest``;
    ``bases`` and ``offsets``, in the plane; ``firsts`` is each window's first tap inside.
    """
    depth, height, width = sizes[0], sizes[1], sizes[2]
    rows, columns = sizes[4], sizes[5]
    size, count = depth * height * width, bases.size
    whole = (count + BLOCK - 1) // BLOCK * BLOCK
    ahead = min(max(_AHEAD // whole, 1), steps.size)
    best, values = np.empty(whole, x.dtype), np.empty(whole * ahead, x.dtype)
    taps = np.zeros(whole, np.int64)
    room = np.empty(sizes[3] * rows * columns if padded else 0, x.dtype)
    values[:] = lowest
    room[:] = lowest
    for plane in range(planes):
        image = x[plane * size : (plane + 1) * size]
        if padded:
            for z in range(depth):
                for y in range(height):
                    to = ((z + sizes[6]) * rows + y + sizes[7]) * columns + sizes[8]
                    at = (z * height + y) * width
                    for i in range(width):
                        room[to + i] = image[at + i]
            image = room
        best[:] = lowest
        for q in range(count):
            taps[q] = firsts[q]
        for first in range(0, steps.size, ahead):
            last = min(first + ahead, steps.size)
            for tap in range(first, last):
                row = values[(tap - first) * whole :]
                step = steps[tap]
                for q in range(count):
                    row[q] = image[begins[q] + step]
            for q in range(0, whole, BLOCK):
                keep_largest(best, taps, values, q, whole, first, last)
        result = out[plane * count : (plane + 1) * count]
        where = places[plane * count : (plane + 1) * count]
        for q in range(count):
            result[q] = best[q]
            where[q] = bases[q] + offsets[taps[q]]


@functools.cache
def _max_of_four(width: int) -> Any:
    largest = largest_of_four(width)

    @kernel
    def max_of_four(
        out: Any, places: Any, x: Any, planes: int, height: int, breadth: int, rows: int,
        columns: int,
    ) -> None:  # fmt: skip
        """Windows of 2 by 2 that do not overlap: the last vectors of a row do instead."""
        for plane in range(planes):
            for row in range(rows):
                first = 2 * row * breadth
                at, to = plane * height * breadth + first, (plane * rows + row) * columns
                for begin in range(0, columns, width):
                    c = min(begin, columns - width)
                    largest(out, places, to + c, x, at + 2 * c, breadth, first + 2 * c)

    return max_of_four


@kernel
def _scatter(out: Any, g: Any, places: Any, planes: int) -> None:
    size = out.size // planes
    count = g.size // planes
    for i in range(out.size):
        out[i] = 0
    for plane in range(planes):
        target = out[plane * size : (plane + 1) * size]
        for i in range(plane * count, (plane + 1) * count):
            target[places[i]] += g[i]


@kernel
def _average(
    wide: Any, narrow: Any, planes: int, facts: Any, include: int, divisor: int, backward: int
) -> None:
    """Means of windows of ``wide`` into ``narrow``, or ``narrow`` spread back over ``wide``."""
    depth, height, width = facts[0], facts[1], facts[2]
    od, oh, ow = facts[3], facts[4], facts[5]
    kd, kh, kw = facts[6], facts[7], facts[8]
    sd, sh, sw = facts[9], facts[10], facts[11]
    pd, ph, pw = facts[12], facts[13], facts[14]
    for plane in range(planes):
        for i in range(od):
            z0 = i * sd - pd
            z1 = min(z0 + kd, depth + pd)
            for j in range(oh):
                y0 = j * sh - ph
                y1 = min(y0 + kh, height + ph)
                for k in range(ow):
                    x0 = k * sw - pw
                    x1 = min(x0 + kw, width + pw)
                    count = (z1 - z0) * (y1 - y0) * (x1 - x0)
                    za, zb = max(z0, 0), min(z1, depth)
                    ya, yb = max(y0, 0), min(y1, height)
                    xa, xb = max(x0, 0), min(x1, width)
                    if not include:
                        count = (zb - za) * (yb - ya) * (xb - xa)
                    if divisor:
                        count = divisor
                    at = ((plane * od + i) * oh + j) * ow + k
                    if backward:
                        share = narrow[at] / wide.dtype.type(count)
                        for z in range(za, zb):
                            for y in range(ya, yb):
                                row = ((plane * depth + z) * height + y) * width
                                for q in range(xa, xb):
                                    wide[row + q] += share
                    else:
                        total = wide.dtype.type(0)
                        for z in range(za, zb):
                            for y in range(ya, yb):
                                row = ((plane * depth + z) * height + y) * width
                                for q in range(xa, xb):
                                    total += wide[row + q]
                        narrow[at] = total / wide.dtype.type(count)


@kernel
def _adaptive_average(wide: Any, narrow: Any, planes: int, facts: Any, backward: int) -> None:
    depth, height, width = facts[0], facts[1], facts[2]
    od, oh, ow = facts[3], facts[4], facts[5]
    for plane in range(planes):
        for i in range(od):
            z0, z1 = i * depth // od, ((i + 1) * depth + od - 1) // od
            for j in range(oh):
                y0, y1 = j * height // oh, ((j + 1) * height + oh - 1) // oh
                for k in range(ow):
                    x0, x1 = k * width // ow, ((k + 1) * width + ow - 1) // ow
                    count = wide.dtype.type((z1 - z0) * (y1 - y0) * (x1 - x0))
                    at = ((plane * od + i) * oh + j) * ow + k
                    total = wide.dtype.type(0)
                    share = narrow[at] / count if backward else total
                    for z in range(z0, z1):
                        for y in range(y0, y1):
                            row = ((plane * depth + z) * height + y) * width
                            for q in range(x0, x1):
                                if backward:
                                    wide[row + q] += share
                                else:
                                    total += wide[row + q]
                    if not backward:
                        narrow[at] = total / count


@kernel(fastmath={"reassoc"})
def _mean_of_planes(wide: Any, narrow: Any, planes: int, backward: int) -> None:
    """The mean of each plane, in any order of summation, or its gradient."""
    size = wide.size // planes
    count = wide.dtype.type(size)
    for plane in range(planes):
        image = wide[plane * size : (plane + 1) * size]
        if backward:
            image[:] = narrow[plane] / count
            continue
        total = wide.dtype.type(0)
        for i in range(image.size):
            total += image[i]
        narrow[plane] = total / count


@kernel
def _adaptive_max(out: Any, places: Any, x: Any, planes: int, facts: Any) -> None:
    depth, height, width = facts[0], facts[1], facts[2]
    od, oh, ow = facts[3], facts[4], facts[5]
    for plane in range(planes):
        image = x[plane * depth * height * width :]
        for i in range(od):
            z0, z1 = i * depth // od, ((i + 1) * depth + od - 1) // od
            for j in range(oh):
                y0, y1 = j * height // oh, ((j + 1) * height + oh - 1) // oh
                for k in range(ow):
                    x0, x1 = k * width // ow, ((k + 1) * width + ow - 1) // ow
                    place = (z0 * height + y0) * width + x0
                    best = image[place]
                    for z in range(z0, z1):
                        for y in range(y0, y1):
                            for q in range(x0, x1):
                                here = (z * height + y) * width + q
                                if (image[here] > best) | (image[here] != image[here]):
                                    best = image[here]
                                    place = here
                    at = ((plane * od + i) * oh + j) * ow + k
                    out[at] = best
                    places[at] = place


def _three(values: Any, fill: int) -> tuple[int, ...]:
    return (fill,) * (3 - len(values)) + tuple(int(v) for v in values)


def _facts(wide: Any, narrow: Any, window: Any = (), stride: Any = (), padding: Any = (),
           dilation: Any = ()) -> Any:  # fmt: skip
    return np.array(
        [*_three(wide, 1), *_three(narrow, 1), *_three(window, 1), *_three(stride, 1),
         *_three(padding, 0), *_three(dilation, 1)],
        np.int64,
    )  # fmt: skip


def _planes(x: Any) -> int:
    return int(x.shape[0] * x.shape[1])


@functools.lru_cache(maxsize=256)
def _max_tables(wide: Any, narrow: Any, *window: Any) -> tuple[Any, ...]:
    """What the loop is told of a case: from ``sizes`` on, its arguments."""
    facts = _facts(wide, narrow, *window)
    lengths, counts, taps, strides, pads, spreads = facts.reshape(6, 3)
    starts = [np.arange(n) * s - p for n, s, p in zip(counts, strides, pads, strict=True)]
    firsts = [np.where(v < 0, (d - 1 - v) // d, 0) for v, d in zip(starts, spreads, strict=True)]
    offsets = [np.arange(k) * d for k, d in zip(taps, spreads, strict=True)]
    reach = (counts - 1) * strides + (taps - 1) * spreads + 1
    padded = int(pads.any() or (reach > lengths).any())
    room = np.maximum(reach, lengths + pads) if padded else lengths
    begins = [v + p for v, p in zip(starts, pads, strict=True)]
    return (
        np.array([*lengths, *room, *pads], np.int64), padded, grid(begins, room),
        grid(offsets, room), grid(starts, lengths), grid(offsets, lengths), grid(firsts, taps),
    )  # fmt: skip


def _halved(values: Any, places: Any, source: Any, shape: Any) -> None:
    """Windows of 2 by 2 that do not overlap: nothing but comparisons of neighbours."""
    (height, breadth), (rows, columns) = shape[2:], values.shape[2:]
    run = _max_of_four(8 if columns >= 8 else 4)
    out, where = values.reshape(-1), places.reshape(-1)
    size, count = height * breadth, rows * columns

    def part(first: int, last: int) -> None:
        run(
            out[first * count :], where[first * count :], source[first * size :], last - first,
            height, breadth, rows, columns,
        )  # fmt: skip

    parallel_for(shape[0] * shape[1], part, 1 + _SERIAL // max(size, 1))


@in_float32
def max_pool(
    outs: Any, x: Any, *, kernel_size: Any, stride: Any, padding: Any, dilation: Any
) -> None:
    """The largest element of each window (NaN wins), and its place within the spatial axes."""
    values, places = outs
    window = (*kernel_size, *stride, *padding, *dilation)
    halved = window == (2, 2, 2, 2, 0, 0, 1, 1) and values.shape[-1] >= 4
    inside = all(2 * n <= m for n, m in zip(values.shape[2:], x.shape[2:], strict=True))
    if halved and inside and x.dtype.kind == "f":
        _halved(values, places, flat(x), x.shape)
        return
    tables = _max_tables(
        x.shape[2:], values.shape[2:], tuple(kernel_size), tuple(stride), tuple(padding),
        tuple(dilation),
    )  # fmt: skip
    kind = x.dtype
    lowest = kind.type(-np.inf) if kind.kind == "f" else kind.type(np.iinfo(kind).min)
    out, where, source = values.reshape(-1), places.reshape(-1), flat(x)
    size, count = int(np.prod(x.shape[2:])), int(np.prod(values.shape[2:]))

    def part(first: int, last: int) -> None:
        _max(
            out[first * count :], where[first * count :], source[first * size :], last - first,
            lowest, *tables,
        )  # fmt: skip

    parallel_for(_planes(x), part, 1 + _SERIAL // max(size, 1))


@in_float32
def max_pool_gradient(out: Any, g: Any, indices: Any) -> None:
    """``g`` added at ``indices`` of zeros, channel by channel."""
    target, slope, places = out.reshape(-1), flat(g), flat(indices)
    planes = max(_planes(out), 1)
    size, count = target.size // planes, slope.size // planes

    def part(first: int, last: int) -> None:
        here = slice(first * count, last * count)
        _scatter(target[first * size : last * size], slope[here], places[here], last - first)

    parallel_for(planes, part, 1 + _SERIAL // max(size, 1))


@in_float32
def avg_pool(
    out: Any, x: Any, *, kernel_size: Any, stride: Any, padding: Any, count_include_pad: bool,
    divisor_override: int | None,
) -> None:  # fmt: skip
    """The mean of each window."""
    facts = _facts(x.shape[2:], out.shape[2:], kernel_size, stride, padding)
    _average(
        flat(x), out.reshape(-1), _planes(x), facts, int(count_include_pad),
        divisor_override or 0, 0,
    )  # fmt: skip


@in_float32
def avg_pool_gradient(
    out: Any, g: Any, *, kernel_size: Any, stride: Any, padding: Any, count_include_pad: bool,
    divisor_override: int | None,
) -> None:  # fmt: skip
    """``g`` spread evenly over each window of ``out``."""
    out[...] = 0
    facts = _facts(out.shape[2:], g.shape[2:], kernel_size, stride, padding)
    _average(
        out.reshape(-1), flat(g), _planes(out), facts, int(count_include_pad),
        divisor_override or 0, 1,
    )  # fmt: skip


@in_float32
def adaptive_avg_pool(out: Any, x: Any) -> None:
    """Means over windows from ``floor(i n / m)`` up to ``ceil((i + 1) n / m)``."""
    if out.size == _planes(out):
        _mean_of_planes(flat(x), out.reshape(-1), _planes(x), 0)
        return
    facts = _facts(x.shape[2:], out.shape[2:])
    _adaptive_average(flat(x), out.reshape(-1), _planes(x), facts, 0)


@in_float32
def adaptive_avg_pool_gradient(out: Any, g: Any) -> None:
    """``g`` spread evenly over those windows of ``out``."""
    if g.size == _planes(g):
        _mean_of_planes(out.reshape(-1), flat(g), _planes(out), 1)
        return
    out[...] = 0
    facts = _facts(out.shape[2:], g.shape[2:])
    _adaptive_average(out.reshape(-1), flat(g), _planes(out), facts, 1)


@in_float32
def adaptive_max_pool(outs: Any, x: Any) -> None:
    """The largest element of each such window, and its place within the spatial axes."""
    values, places = outs
    facts = _facts(x.shape[2:], values.shape[2:])
    _adaptive_max(values.reshape(-1), places.reshape(-1), flat(x), _planes(x), facts)
