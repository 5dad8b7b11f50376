"""Images sampled at the places of a grid, the transpose, and slopes, with derivatives of weights.
Volumes are in :mod:`.grid_sample_3d`.

A place on an axis reads `taps` pixels, each with a weight; a pixel's weight is the product of both
axes'. ``order`` says how often the weights of rows and columns are differentiated by the grid.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, cast

import numpy as np

from mindtorch.kernels.codegen.jit import entry_point, kernel

from . import grid_sample_3d as volumes
from .cat_flip_roll_pad import dense
from .grid_coordinates import MODES, PADDINGS, reflected
from .threads.thread_pool import parallel_for
from .vectors.float_bits import fma, nearest
from .via_float32 import flat, in_float32

_BLOCK = 128  # places whose pixels and weights are known at a time
_SERIAL = 50_000  # results that one thread makes sooner than two


@kernel
def _padded(place: Any, size: int, padding: int, align: bool) -> Any:
    """The place moved into the image, and the slope of that: 0 on the edge."""
    one = type(place)
    slope = one(1)
    if padding == 2:
        place, slope = reflected(place, size, align)
    if padding != 0:
        if not place > 0:  # also NaN
            return one(0), one(0)
        if place >= one(size - 1):
            return one(size - 1), one(0)
    return place, slope


@kernel
def _cubic(d: Any, order: int, far: bool) -> Any:
    """A polynomial of the cubic convolution with a = -0.75, or its derivative."""
    one = type(d)
    a = one(-0.75)
    if far:
        if order == 0:
            return ((a * d - one(5) * a) * d + one(8) * a) * d - one(4) * a
        if order == 1:
            return (one(3) * a * d - one(10) * a) * d + one(8) * a
        if order == 2:
            return one(6) * a * d - one(10) * a
        return one(6) * a if order == 3 else one(0)
    if order == 0:
        return ((a + one(2)) * d - (a + one(3))) * d * d + one(1)
    if order == 1:
        return (one(3) * (a + one(2)) * d - one(2) * (a + one(3))) * d
    if order == 2:
        return one(6) * (a + one(2)) * d - one(2) * (a + one(3))
    return one(6) * (a + one(2)) if order == 3 else one(0)


@kernel
def _places(places: Any, slopes: Any, numbers: Any, size: int, how: Any) -> Any:
    """Where numbers of a grid lie on an axis, and the slopes of that."""
    one = places.dtype.type
    padding, align = how[1], how[2] != 0
    half = one(size - 1) / one(2) if align else one(size) / one(2)
    for p in range(numbers.size):
        at = numbers[p] + one(1)
        places[p] = at * half if align else fma(at, half, one(-0.5))
        slopes[p] = half
    if padding != 0 and how[0] != 2:
        for p in range(numbers.size):
            places[p], slope = _padded(places[p], size, padding, align)
            slopes[p] *= slope


@kernel
def _set_pixels(pixels: Any, places: Any, offset: int, size: int) -> None:
    """Whole places as numbers of pixels, -1 outside."""
    last, step = places.dtype.type(size - 1), places.dtype.type(offset)
    for p in range(places.size):
        here = places[p] + step
        pixels[p] = np.int64(here) if (here >= 0) & (here <= last) else -1


@kernel
def _taps(
    pixels: Any, weights: Any, numbers: Any, size: int, how: Any, order: int, room: Any
) -> None:
    """The pixels that numbers of a grid read on one axis, -1 for zeros outside, and weights."""
    one, count = weights.dtype.type, numbers.size
    places, slopes, floors = room[0, :count], room[1, :count], room[2, :count]
    _places(places, slopes, numbers, size, how)
    if how[0] == 0:
        for p in range(count):
            floors[p] = nearest(places[p])
            weights[0, p] = one(1) if order == 0 else one(0)
        _set_pixels(pixels[0, :count], floors, 0, size)
        return
    for p in range(count):
        floors[p] = np.floor(places[p])
    if how[0] == 1:
        for k in range(2):
            _set_pixels(pixels[k, :count], floors, k, size)
        for p in range(count):
            far = places[p] - floors[p]
            slope = slopes[p] if order == 1 else one(0)
            weights[0, p] = one(1) - far if order == 0 else -slope
            weights[1, p] = far if order == 0 else slope
        return
    for p in range(count):
        far, scale = places[p] - floors[p], one(1)
        for _ in range(order):
            scale *= slopes[p]
        turned = scale if order % 2 == 0 else -scale
        weights[0, p] = _cubic(far + one(1), order, True) * scale
        weights[1, p] = _cubic(far, order, False) * scale
        weights[2, p] = _cubic(one(1) - far, order, False) * turned
        weights[3, p] = _cubic(one(2) - far, order, True) * turned
    for k in range(4):
        for p in range(count):
            places[p] = _padded(floors[p] + one(k - 1), size, how[1], how[2] != 0)[0]
        _set_pixels(pixels[k, :count], places, 0, size)


@kernel
def _rooms(dtype: Any) -> Any:
    """Memory for the pixels and the weights of a block on both axes."""
    return np.empty((8, _BLOCK), np.int64), np.empty((12, _BLOCK), dtype)


@kernel
def _tables(
    pixels: Any, weights: Any, grid: Any, height: int, width: int, how: Any, row_order: int,
    column_order: int, whole: Any, room: Any,
) -> None:  # fmt: skip
    """For each place of ``grid``: its pixels in a plane (-1 outside) and their weights; ``whole``
    and ``room`` are memory of :func:`_rooms`."""
    count, length = 1 << how[0], grid.size // 2
    rows, columns, down, across = whole[:4], whole[4:], room[:4], room[4:8]
    numbers, room = room[8, :length], room[9:]
    for p in range(length):
        numbers[p] = grid[2 * p + 1]
    _taps(rows, down, numbers, height, how, row_order, room)
    for p in range(length):
        numbers[p] = grid[2 * p]
    _taps(columns, across, numbers, width, how, column_order, room)
    for a in range(count):
        for b in range(count):
            target, product = pixels[a * count + b], weights[a * count + b]
            row, column, one, other = rows[a], columns[b], down[a], across[b]
            for p in range(length):
                inside = (row[p] >= 0) & (column[p] >= 0)
                target[p] = row[p] * width + column[p] if inside else -1
                product[p] = one[p] * other[p]


@kernel(noalias=True)
def _sample(out: Any, x: Any, grid: Any, sizes: Any, how: Any, orders: Any) -> None:
    """``out[n, c, p]``: the weighed sum of the pixels of ``x[n, c]`` that ``grid[n, p]`` reads."""
    images, channels, height, width, places = sizes
    taps, size, zero = 1 << 2 * how[0], height * width, x.dtype.type(0)
    pixels, weights = np.empty((taps, _BLOCK), np.int64), np.empty((taps, _BLOCK), x.dtype)
    whole, room = _rooms(x.dtype)
    for n in range(images):
        for p in range(0, places, _BLOCK):
            length = min(_BLOCK, places - p)
            here = grid[2 * (n * places + p) : 2 * (n * places + p + length)]
            _tables(pixels, weights, here, height, width, how, orders[0], orders[1], whole,
                    room)
            for c in range(n * channels, (n + 1) * channels):
                plane = x[c * size : (c + 1) * size]
                target = out[c * places + p : c * places + p + length]
                for k in range(taps):
                    at, weight = pixels[k], weights[k]
                    for i in range(length):
                        value = plane[max(at[i], 0)]
                        value = value if at[i] >= 0 else zero
                        # rounded once, as in PyTorch's loop over two weights
                        target[i] = fma(value, weight[i], target[i]) if k else value * weight[i]


@kernel
def _spread(out: Any, g: Any, grid: Any, sizes: Any, how: Any, orders: Any) -> None:
    """The transpose of :func:`_sample`: ``g[n, c, p]`` added to the pixels that it was made of."""
    images, channels, height, width, places = sizes
    taps, size = 1 << 2 * how[0], height * width
    pixels, weights = np.empty((taps, _BLOCK), np.int64), np.empty((taps, _BLOCK), g.dtype)
    whole, room = _rooms(g.dtype)
    out[:] = 0
    for n in range(images):
        for p in range(0, places, _BLOCK):
            length = min(_BLOCK, places - p)
            here = grid[2 * (n * places + p) : 2 * (n * places + p + length)]
            _tables(pixels, weights, here, height, width, how, orders[0], orders[1], whole,
                    room)
            for c in range(n * channels, (n + 1) * channels):
                plane = out[c * size : (c + 1) * size]
                slope = g[c * places + p : c * places + p + length]
                for k in range(taps):
                    at, weight = pixels[k], weights[k]
                    for i in range(length):
                        if at[i] >= 0:
                            plane[at[i]] += slope[i] * weight[i]


@kernel(noalias=True)
def _slopes(out: Any, g: Any, x: Any, grid: Any, sizes: Any, how: Any, orders: Any) -> None:
    """``out[n, p]``: the derivatives of ``sum(g[n, :, p] * sample[n, :, p])`` by x and by y."""
    images, channels, height, width, places = sizes
    taps, size, zero = 1 << 2 * how[0], height * width, x.dtype.type(0)
    out[:] = 0
    if how[0] == 0:  # steps have no slope
        return
    pixels = np.empty((taps, _BLOCK), np.int64)
    weights, sums = np.empty((taps, _BLOCK), x.dtype), np.empty((taps, _BLOCK), x.dtype)
    whole, room = _rooms(x.dtype)
    for n in range(images):
        for p in range(0, places, _BLOCK):
            length, first = min(_BLOCK, places - p), 2 * (n * places + p)
            here = grid[first : first + 2 * length]
            for d in range(2):
                _tables(
                    pixels, weights, here, height, width, how, orders[0] + d, orders[1] + 1 - d,
                    whole, room,
                )
                if d == 0:
                    sums[:] = 0
                    for c in range(n * channels, (n + 1) * channels):
                        plane = x[c * size : (c + 1) * size]
                        slope = g[c * places + p : c * places + p + length]
                        for k in range(taps):
                            at, total = pixels[k], sums[k]
                            for i in range(length):
                                value = plane[max(at[i], 0)]
                                total[i] += slope[i] * (value if at[i] >= 0 else zero)
                for k in range(taps):
                    for i in range(length):
                        out[first + 2 * i + d] += sums[k, i] * weights[k, i]


def _bound(
    function: Any, arrays: int, image: Any, grid: Any, mode: str, padding_mode: str, align: bool,
    order: Any,
) -> Callable[..., None]:  # fmt: skip
    """``run(*flat arrays)``, so many: ``function`` on pieces of the batch."""
    batch, channels, height, width = image.shape
    places = grid.shape[1] * grid.shape[2]
    how = np.array([MODES.index(mode), PADDINGS.index(padding_mode), align], np.int64)
    orders = np.array(order, np.int64)
    vectors = ", ".join([f"{grid.dtype.name}[::1]"] * arrays)
    run = entry_point(function, f"void({vectors}, UniTuple(int64, 5), int64[::1], int64[::1])")
    serial = 1 + _SERIAL // max(channels * places, 1)

    def call(*flats: Any) -> None:
        if batch <= serial:
            run(*flats, (batch, channels, height, width, places), how, orders)
            return

        def part(first: int, last: int) -> None:
            pieces = [
                each[first * (each.size // batch) : last * (each.size // batch)] for each in flats
            ]
            run(*pieces, (last - first, channels, height, width, places), how, orders)

        parallel_for(batch, part, serial)

    return call


def _run(function: Any, arrays: list[Any], image: Any, grid: Any, *how: Any) -> None:
    """``function`` on arrays, of which the first is the result."""
    if image.ndim == 5:
        volume_function = getattr(volumes, function.__name__[1:])
        volumes.on_volumes(volume_function, arrays, image, grid, *how)
    elif image.shape[0]:
        _bound(function, len(arrays), image, grid, *how)(*[flat(x) for x in arrays])


@in_float32
def grid_sample(
    out: Any, x: Any, grid: Any, *, mode: str, padding_mode: str, align: bool, order: Any
) -> None:
    """``x`` [N, C, H, W] at the places of ``grid`` [N, rows, columns, 2]."""
    _run(_sample, [out, x, grid], x, grid, mode, padding_mode, align, order)


@in_float32
def grid_spread(
    out: Any, g: Any, grid: Any, *, mode: str, padding_mode: str, align: bool, order: Any
) -> None:
    """The transpose of :func:`grid_sample` in ``x``."""
    _run(_spread, [out, g, grid], out, grid, mode, padding_mode, align, order)


@in_float32
def grid_slopes(
    out: Any, g: Any, x: Any, grid: Any, *, mode: str, padding_mode: str, align: bool, order: Any
) -> None:
    """The gradient of :func:`grid_sample` by ``grid``."""
    _run(_slopes, [out, g, x, grid], x, grid, mode, padding_mode, align, order)


def _planned(function: Any, at: int) -> Callable[..., Any]:
    """What makes plans for ``function``, whose array number ``at`` is the image."""
    of_volumes = volumes.planned(getattr(volumes, function.__name__[1:]), at)

    def plan(
        outs: Any, ins: Any, *, mode: str, padding_mode: str, align: bool, order: Any
    ) -> Callable[..., None] | None:
        arrays = (*outs, *ins)
        how = {"mode": mode, "padding_mode": padding_mode, "align": align, "order": order}
        if len(arrays[at].shape) == 5:
            return cast("Callable[..., None] | None", of_volumes(outs, ins, **how))
        if any(x.dtype not in (np.float32, np.float64) or not dense(x) for x in arrays):
            return None
        return _bound(function, len(arrays), arrays[at], arrays[-1], **how)

    return plan


grid_sample.plan = _planned(_sample, 1)
grid_spread.plan = _planned(_spread, 0)
grid_slopes.plan = _planned(_slopes, 2)
