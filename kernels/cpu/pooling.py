"""Pooling over windows of one to three axes.

The largest elements are found one tap of the window at a time, for all windows of a plane. Fewer
than three axes are filled up with length 1.
"""

from __future__ import annotations

import functools
import math
from typing import Any

import numpy as np

from mindtorch.kernels.codegen.jit import entry_point, kernel

from .cat_flip_roll_pad import dense
from .convolutions.channels_last import channels_behind, lies_last, writes_channels_last
from .convolutions.convolution_tables import grid, three_axes
from .pooling_loops.max_pool_of_four import max_of_four, spread_of_four
from .pooling_loops.max_pool_rows import adaptive_max, greatest_of_rows, max_of_rows
from .pooling_loops.pooling_channels_last import average_last, max_last, scatter_last
from .threads.thread_pool import parallel_for
from .vectors.simd import BLOCK, keep_largest
from .via_float32 import flat, in_float32

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
    wide: Any, narrow: Any, planes: int, lengths: Any, bounds: Any, divisor: int, backward: int
) -> None:
    """Means of windows of ``wide`` into ``narrow``, or ``narrow`` spread back over ``wide``.

    ``lengths``: three of ``wide``, three of ``narrow``; ``bounds``: of each window along each of
    the three axes, one axis behind the other, where it begins and ends and how long it counts.
    """
    depth, height, width = lengths[0], lengths[1], lengths[2]
    od, oh, ow = lengths[3], lengths[4], lengths[5]
    for plane in range(planes):
        for i in range(od):
            for j in range(oh):
                for k in range(ow):
                    count = bounds[2, i] * bounds[2, od + j] * bounds[2, od + oh + k]
                    if divisor:
                        count = divisor
                    first, last = bounds[0, od + oh + k], bounds[1, od + oh + k]
                    at = ((plane * od + i) * oh + j) * ow + k
                    total = wide.dtype.type(0)
                    share = narrow[at] / wide.dtype.type(count) if backward else total
                    for z in range(bounds[0, i], bounds[1, i]):
                        for y in range(bounds[0, od + j], bounds[1, od + j]):
                            row = ((plane * depth + z) * height + y) * width
                            for q in range(first, last):
                                if backward:
                                    wide[row + q] += share
                                else:
                                    total += wide[row + q]
                    if not backward:
                        narrow[at] = total / wide.dtype.type(count)


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


def _facts(wide: Any, narrow: Any, window: Any = (), stride: Any = (), padding: Any = (),
           dilation: Any = ()) -> Any:  # fmt: skip
    return np.array(
        [*three_axes(wide, 1), *three_axes(narrow, 1), *three_axes(window, 1),
         *three_axes(stride, 1), *three_axes(padding, 0), *three_axes(dilation, 1)],
        np.int64,
    )  # fmt: skip


def _planes(x: Any) -> int:
    return int(x.shape[0] * x.shape[1])


@functools.lru_cache(maxsize=256)
def _windows(wide: Any, narrow: Any, *window: Any) -> tuple[Any, Any]:
    """The lengths and bounds of windows that are averaged; ``window``: their size, stride and
    padding, and whether padding counts; without it they are those of adaptive pooling."""
    lengths, bounds = _facts(wide, narrow)[:6], []
    include = bool(window) and window[3]
    sizes = _facts(wide, narrow, *window[:3]).reshape(6, 3).T
    for n, m, size, stride, padding, _ in sizes:
        steps = np.arange(m)
        if window:
            starts = steps * stride - padding
            stops = np.minimum(starts + size, n + padding)
        else:
            starts, stops = steps * n // m, ((steps + 1) * n + m - 1) // m
        inside = np.maximum(starts, 0), np.minimum(stops, n)
        count = stops - starts if include else inside[1] - inside[0]
        bounds.append(np.stack([*inside, count]))
    return lengths, np.ascontiguousarray(np.concatenate(bounds, 1))


def _averages(wide: Any, narrow: Any, window: Any, divisor: int, backward: int) -> None:
    """``_average`` in the order of the array that is written."""
    if not wide.size:
        return
    written = wide if backward else narrow
    shapes = wide.shape[2:], narrow.shape[2:]
    tables = _windows(*shapes, *window)
    if backward:
        wide[...] = 0
    points = channels_behind(written).flags.c_contiguous and lies_last(wide)
    if points or lies_last(written):
        a, b = flat(channels_behind(wide)), flat(channels_behind(narrow))
        average_last(a, b, wide.shape[0], *tables, divisor, backward)
    else:
        _average(flat(wide), flat(narrow), _planes(wide), *tables, divisor, backward)


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


_WIDTH = 8
_HALVES = (2, 2, 2, 2, 0, 0, 1, 1)


def _are_halves(wide: Any, narrow: Any) -> bool:
    """Whether an image has no more than such rows and columns besides windows of 2 by 2."""
    pairs = zip(narrow[2:], wide[2:], strict=True)
    return len(wide) == 4 and narrow[-1] >= 4 and all(0 <= m - 2 * n <= 1 for n, m in pairs)


def _width(columns: int) -> int:
    """How many windows of a row are looked at together."""
    return _WIDTH if columns >= _WIDTH else 4


def _spreads(wide: Any, narrow: Any) -> bool:
    """Whether gradients may be spread over whole windows; of shorter rows that is slower."""
    return narrow[-1] >= _WIDTH and _are_halves(wide, narrow)


def _halved(values: Any, places: Any, source: Any, shape: Any, rectified: bool = False) -> None:
    """Windows of 2 by 2 that do not overlap: nothing but comparisons of neighbours."""
    (height, breadth), (rows, columns) = shape[2:], values.shape[2:]
    run = max_of_four(_width(columns), rectified)
    out, where = values.reshape(-1), places.reshape(-1)
    size, count = height * breadth, rows * columns

    def part(first: int, last: int) -> None:
        run(
            out[first * count :], where[first * count :], source[first * size :], last - first,
            height, breadth, rows, columns,
        )  # fmt: skip

    parallel_for(shape[0] * shape[1], part, 1 + _SERIAL // max(size, 1))


def _lowest(kind: Any) -> Any:
    return kind.type(-np.inf) if kind.kind == "f" else kind.type(np.iinfo(kind).min)


def _largest_last(values: Any, places: Any, x: Any, *window: Any) -> None:
    """``max_pool`` of images whose channels lie last."""
    facts = _facts(x.shape[2:], values.shape[2:], *window)
    offsets = grid([np.arange(k) * d for k, d in zip(facts[6:9], facts[15:], strict=True)],
                   facts[:3])  # fmt: skip
    out, where = channels_behind(values).reshape(-1), channels_behind(places).reshape(-1)
    source, lowest = flat(channels_behind(x)), _lowest(x.dtype)
    size, count = x[0].size, values[0].size

    def part(first: int, last: int) -> None:
        max_last(
            out[first * count : last * count], where[first * count :],
            source[first * size : last * size], last - first, lowest, facts, offsets,
        )  # fmt: skip

    parallel_for(x.shape[0], part, 1 + _SERIAL // max(size, 1))


def _along_one(
    wide: Any, narrow: Any, window: Any, stride: Any, padding: Any, dilation: Any
) -> tuple[int, ...] | None:
    """Of windows along the last axis alone what :func:`max_of_rows` is told; else None."""
    if any(n != 1 for n in (*wide[2:-1], *narrow[2:-1], *window[:-1])):
        return None
    return (wide[-1], narrow[-1], window[-1], stride[-1], padding[-1], dilation[-1])


@writes_channels_last
@in_float32
def max_pool(
    outs: Any, x: Any, *, kernel_size: Any, stride: Any, padding: Any, dilation: Any
) -> None:
    """The largest element of each window (NaN wins), and its place within the spatial axes."""
    values, places = outs
    window = (*kernel_size, *stride, *padding, *dilation)
    if lies_last(values):
        _largest_last(values, places, x, kernel_size, stride, padding, dilation)
        return
    halved = window == _HALVES and _are_halves(x.shape, values.shape)
    if halved and x.dtype.kind == "f":
        _halved(values, places, flat(x), x.shape)
        return
    along = _along_one(x.shape, values.shape, kernel_size, stride, padding, dilation)
    tables = along or _max_tables(
        x.shape[2:], values.shape[2:], tuple(kernel_size), tuple(stride), tuple(padding),
        tuple(dilation),
    )  # fmt: skip
    run = max_of_rows if along else _max
    lowest = _lowest(x.dtype)
    out, where, source = values.reshape(-1), places.reshape(-1), flat(x)
    size, count = int(np.prod(x.shape[2:])), int(np.prod(values.shape[2:]))

    def part(first: int, last: int) -> None:
        run(
            out[first * count :], where[first * count :], source[first * size :], last - first,
            lowest, *tables,
        )  # fmt: skip

    parallel_for(_planes(x), part, 1 + _SERIAL // max(size, 1))


@writes_channels_last
@in_float32
def max_pool_gradient(out: Any, g: Any, indices: Any) -> None:
    """``g`` added at ``indices`` of zeros, channel by channel."""
    if lies_last(out):
        result, given, where = [channels_behind(a) for a in (out, g, indices)]
        scatter_last(result.reshape(-1), flat(given), flat(where), *out.shape[:2])
        return
    target, slope, places = out.reshape(-1), flat(g), flat(indices)
    planes = max(_planes(out), 1)
    size, count = target.size // planes, slope.size // planes
    if out.dtype.kind == "f" and _spreads(out.shape, g.shape):
        spread, sizes, inside = spread_of_four(_WIDTH), (*out.shape[2:], *g.shape[2:]), []

        def spread_part(first: int, last: int) -> None:
            here = slice(first * count, last * count)
            planes = target[first * size : last * size]
            inside.append(spread(planes, slope[here], places[here], last - first, *sizes))

        parallel_for(planes, spread_part, 1 + _SERIAL // max(size, 1))
        if all(inside):
            return

    def part(first: int, last: int) -> None:
        here = slice(first * count, last * count)
        _scatter(target[first * size : last * size], slope[here], places[here], last - first)

    parallel_for(planes, part, 1 + _SERIAL // max(size, 1))


@writes_channels_last
@in_float32
def avg_pool(
    out: Any, x: Any, *, kernel_size: Any, stride: Any, padding: Any, count_include_pad: bool,
    divisor_override: int | None,
) -> None:  # fmt: skip
    """The mean of each window."""
    window = (tuple(kernel_size), tuple(stride), tuple(padding), count_include_pad)
    _averages(x, out, window, divisor_override or 0, 0)


@writes_channels_last
@in_float32
def avg_pool_gradient(
    out: Any, g: Any, *, kernel_size: Any, stride: Any, padding: Any, count_include_pad: bool,
    divisor_override: int | None,
) -> None:  # fmt: skip
    """``g`` spread evenly over each window of ``out``."""
    window = (tuple(kernel_size), tuple(stride), tuple(padding), count_include_pad)
    _averages(out, g, window, divisor_override or 0, 1)


@writes_channels_last
@in_float32
def adaptive_avg_pool(out: Any, x: Any) -> None:
    """Means over windows from ``floor(i n / m)`` up to ``ceil((i + 1) n / m)``."""
    if out.size == _planes(out) and x.flags.c_contiguous and out.flags.c_contiguous:
        _mean_of_planes(flat(x), out.reshape(-1), _planes(x), 0)
    else:
        _averages(x, out, (), 0, 0)


@writes_channels_last
@in_float32
def adaptive_avg_pool_gradient(out: Any, g: Any) -> None:
    """``g`` spread evenly over those windows of ``out``."""
    if g.size == _planes(g) and out.flags.c_contiguous:
        _mean_of_planes(out.reshape(-1), flat(g), _planes(out), 1)
    else:
        _averages(out, g, (), 0, 1)


@in_float32
def adaptive_max_pool(outs: Any, x: Any) -> None:
    """The largest element of each such window, and its place within the spatial axes."""
    values, places = outs
    facts = _facts(x.shape[2:], values.shape[2:])
    adaptive_max(values.reshape(-1), places.reshape(-1), flat(x), _planes(x), facts)


# --- few elements: loops that are called without ado --------------------------------------------


def _kind(outs: Any, ins: Any, most: float = _SERIAL) -> str | None:
    """numba's name for the type of the operands but places, where they are few and lie in C order;
    else None."""
    given = [x for x in (*outs, *ins) if x.dtype != np.int64]
    kind = given[0].dtype if given else None
    few = 0 < max(math.prod(x.shape) for x in (*outs, *ins)) <= most
    if kind not in (np.float32, np.float64) or not few:
        return None
    return kind.name if all(x.dtype == kind for x in given) and all(
        dense(x) for x in (*outs, *ins)
    ) else None  # fmt: skip


def _max_plan(
    outs: Any, ins: Any, *, kernel_size: Any, stride: Any, padding: Any, dilation: Any
) -> Any:
    name, wide, narrow = _kind(outs, ins), ins[0].shape, outs[0].shape
    along = _along_one(wide, narrow, kernel_size, stride, padding, dilation)
    if along and _kind(outs, ins, math.inf):
        return _along_rows(outs[0].dtype.name, wide[0] * wide[1], along)
    if name is None:
        return None
    planes, window = wide[0] * wide[1], (*kernel_size, *stride, *padding, *dilation)
    if window == _HALVES and _are_halves(wide, narrow):
        return _halves_plan(name, wide, narrow, False)
    tables = _max_tables(
        wide[2:], narrow[2:], tuple(kernel_size), tuple(stride), tuple(padding), tuple(dilation)
    )
    loop = entry_point(
        _max, f"void({name}[::1], int64[::1], {name}[::1], int64, {name}, int64[::1], int64"
        f"{', int64[::1]' * 5})",
    )  # fmt: skip
    lowest = -math.inf
    return lambda out, places, x: loop(out, places, x, planes, lowest, *tables)


def _halves_plan(name: str, wide: Any, narrow: Any, rectified: bool) -> Any:
    halves = entry_point(
        max_of_four(_width(narrow[-1]), rectified),
        f"void({name}[::1], int64[::1], {name}[::1], int64, int64, int64, int64, int64)",
    )
    planes, sizes = wide[0] * wide[1], (*wide[2:], *narrow[2:])
    return lambda out, places, x: halves(out, places, x, planes, *sizes)


def rectified_max_pool(
    outs: Any, ins: Any, *, kernel_size: Any, stride: Any, padding: Any, dilation: Any, **_: Any
) -> Any:
    """A plan of :func:`max_pool` of the input's ReLU, in one pass; None where there is none."""
    wide, narrow = ins[0].shape, outs[0].shape
    name = _kind(outs, ins, math.inf)
    window = (*kernel_size, *stride, *padding, *dilation)
    if name is None or window != _HALVES or not _are_halves(wide, narrow):
        return None
    if math.prod(wide) <= _SERIAL:
        return _halves_plan(name, wide, narrow, True)

    def run(out: Any, places: Any, x: Any) -> None:
        _halved(out.reshape(narrow), places.reshape(narrow), x, wide, True)

    return run


def _along_rows(name: str, planes: int, along: tuple[int, ...]) -> Any:
    """Windows along the last axis; where nobody asks for the places, they are not noted."""
    n, m = along[:2]
    least, numbers = 1 + _SERIAL // n, ", int64" * 6
    signature = f"{name}[::1], int64, {name}{numbers})"
    rows = entry_point(max_of_rows, f"void({name}[::1], int64[::1], {signature}")

    def windows(out: Any, places: Any, x: Any) -> None:
        def part(a: int, b: int) -> None:
            rows(out[a * m :], places[a * m :], x[a * n :], b - a, -math.inf, *along)

        parallel_for(planes, part, least)

    def alone(out: Any, x: Any) -> None:
        greatest = entry_point(greatest_of_rows, f"void({name}[::1], {signature}")

        def part(a: int, b: int) -> None:
            greatest(out[a * m :], x[a * n :], b - a, -math.inf, *along)

        parallel_for(planes, part, least)

    windows.alone = alone
    return windows


def _adaptive_max_plan(outs: Any, ins: Any) -> Any:
    name, planes = _kind(outs, ins), ins[0].shape[0] * ins[0].shape[1]
    if name is None:
        return None
    facts = _facts(ins[0].shape[2:], outs[0].shape[2:])
    loop = entry_point(
        adaptive_max, f"void({name}[::1], int64[::1], {name}[::1], int64, int64[::1])"
    )
    return lambda out, places, x: loop(out, places, x, planes, facts)


def _scatter_plan(outs: Any, ins: Any) -> Any:
    name, planes = _kind(outs, ins), outs[0].shape[0] * outs[0].shape[1]
    if name is None:
        return None
    loop = entry_point(_scatter, f"void({name}[::1], {name}[::1], int64[::1], int64)")
    if not _spreads(outs[0].shape, ins[0].shape):
        return lambda out, g, places: loop(out, g, places, planes)
    sizes = (*outs[0].shape[2:], *ins[0].shape[2:])
    spread = entry_point(
        spread_of_four(_WIDTH),
        f"int64({name}[::1], {name}[::1], int64[::1], int64, int64, int64, int64, int64)",
    )

    def run(out: Any, g: Any, places: Any) -> None:
        if not spread(out, g, places, planes, *sizes):
            loop(out, g, places, planes)

    return run


def _average_plan(backward: int, adaptive: bool) -> Any:
    def plan(
        outs: Any, ins: Any, *, kernel_size: Any = (), stride: Any = (), padding: Any = (),
        count_include_pad: bool = False, divisor_override: int | None = None,
    ) -> Any:  # fmt: skip
        name, (wide, narrow) = _kind(outs, ins), (ins[0].shape, outs[0].shape)
        if name is None:
            return None
        wide, narrow = (narrow, wide) if backward else (wide, narrow)
        planes = wide[0] * wide[1]
        if adaptive and math.prod(narrow) == planes:
            mean = entry_point(_mean_of_planes, f"void({name}[::1], {name}[::1], int64, int64)")
            if backward:
                return lambda out, g: mean(out, g, planes, 1)
            return lambda out, x: mean(x, out, planes, 0)
        window = (tuple(kernel_size), tuple(stride), tuple(padding), count_include_pad)
        lengths, bounds = _windows(wide[2:], narrow[2:], *(() if adaptive else window))
        loop = entry_point(
            _average, f"void({name}[::1], {name}[::1], int64, int64[::1], int64[:,::1], int64, "
            "int64)",
        )  # fmt: skip
        divisor = divisor_override or 0
        if not backward:
            return lambda out, x: loop(x, out, planes, lengths, bounds, divisor, 0)

        def spread(out: Any, g: Any) -> None:
            out[:] = 0
            loop(out, g, planes, lengths, bounds, divisor, 1)

        return spread

    return plan


max_pool.plan, max_pool_gradient.plan = _max_plan, _scatter_plan
adaptive_max_pool.plan = _adaptive_max_plan
avg_pool.plan, avg_pool_gradient.plan = _average_plan(0, False), _average_plan(1, False)
adaptive_avg_pool.plan, adaptive_avg_pool_gradient.plan = (
    _average_plan(0, True), _average_plan(1, True),
)  # fmt: skip
