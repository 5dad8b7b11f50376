"""Volumes sampled at the places of a grid, the transpose, and slopes, as :mod:`.grid_sample` has
them of images. The arithmetic is that of PyTorch's loops over volumes, which differs from images'.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from mindtorch.kernels.codegen.jit import entry_point, kernel

from .cat_flip_roll_pad import dense
from .grid_coordinates import MODES, PADDINGS, reflected
from .threads.thread_pool import parallel_for
from .vectors.float_bits import nearest
from .via_float32 import flat

_SERIAL = 20_000  # products that one thread makes sooner than two
# numbers of a call: images, channels, depth, height, width, places, mode, padding, align, orders


@kernel
def _axis(number: Any, size: int, mode: int, padding: int, align: bool, order: int) -> Any:
    """The two pixels (-1 outside) that a number of a grid reads on an axis, and their weights,
    differentiated so often by the grid; the slope of the place."""
    one = type(number)
    whole, slope = one(size), one(size) / one(2)
    if align:
        slope = one(size - 1) / one(2)
        place = (number + one(1)) / one(2) * one(size - 1)
    else:
        place = ((number + one(1)) * whole - one(1)) / one(2)
    if padding == 2:
        place, turned = reflected(place, size, align)
        slope *= turned
    if padding != 0:
        last = one(size - 1)
        if place <= 0:
            place, slope = one(0), one(0)
        elif not place < last:  # also NaN
            place, slope = last, one(0)
    floor = nearest(place) if mode == 0 else np.floor(place)
    above = floor + one(1)
    here = np.int64(floor) if (floor >= 0) & (floor < whole) else -1
    there = np.int64(above) if (above >= 0) & (above < whole) else -1
    if mode == 0:
        return here, there, one(1) if order == 0 else one(0), one(0), slope
    if order == 0:
        return here, there, above - place, place - floor, slope
    if order == 1:
        return here, there, -slope, slope, slope
    return here, there, one(0), one(0), slope


@kernel
def _eight(at: Any, weight: Any, z: Any, y: Any, x: Any, mode: int, height: int, width: int) -> int:
    """All products of three axes' weights, with their pixels in a volume; how many."""
    if mode == 0:
        inside = (z[0] >= 0) & (y[0] >= 0) & (x[0] >= 0)
        at[0] = (z[0] * height + y[0]) * width + x[0] if inside else -1
        weight[0] = x[2] * y[2] * z[2]
        return 1
    for k in range(8):
        i, j = z[0] if k < 4 else z[1], y[0] if k & 2 == 0 else y[1]
        m = x[0] if k & 1 == 0 else x[1]
        at[k] = (i * height + j) * width + m if (i >= 0) & (j >= 0) & (m >= 0) else -1
        by_x, by_y = x[2] if k & 1 == 0 else x[3], y[2] if k & 2 == 0 else y[3]
        weight[k] = by_x * by_y * (z[2] if k < 4 else z[3])
    return 8


@kernel
def sample(out: Any, x: Any, grid: Any, says: Any, first: int, last: int) -> None:
    channels, depth, height, width = says[1], says[2], says[3], says[4]
    places, mode, padding, align = says[5], says[6], says[7], says[8] != 0
    orders, size = (says[9], says[10], says[11]), depth * height * width
    at, weight = np.empty(8, np.int64), np.empty(8, x.dtype)
    for n in range(first, last):
        for p in range(places):
            q = 3 * (n * places + p)
            by_x = _axis(grid[q], width, mode, padding, align, orders[2])
            by_y = _axis(grid[q + 1], height, mode, padding, align, orders[1])
            by_z = _axis(grid[q + 2], depth, mode, padding, align, orders[0])
            count = _eight(at, weight, by_z, by_y, by_x, mode, height, width)
            for c in range(n * channels, (n + 1) * channels):
                total = x.dtype.type(0)
                for k in range(count):
                    if at[k] >= 0:
                        total += x[c * size + at[k]] * weight[k]
                out[c * places + p] = total


@kernel
def spread(out: Any, g: Any, grid: Any, says: Any, first: int, last: int) -> None:
    channels, depth, height, width = says[1], says[2], says[3], says[4]
    places, mode, padding, align = says[5], says[6], says[7], says[8] != 0
    orders, size = (says[9], says[10], says[11]), depth * height * width
    at, weight = np.empty(8, np.int64), np.empty(8, g.dtype)
    for i in range(first * channels * size, last * channels * size):
        out[i] = 0
    for n in range(first, last):
        for p in range(places):
            q = 3 * (n * places + p)
            by_x = _axis(grid[q], width, mode, padding, align, orders[2])
            by_y = _axis(grid[q + 1], height, mode, padding, align, orders[1])
            by_z = _axis(grid[q + 2], depth, mode, padding, align, orders[0])
            count = _eight(at, weight, by_z, by_y, by_x, mode, height, width)
            for c in range(n * channels, (n + 1) * channels):
                value = g[c * places + p]
                for k in range(count):
                    if at[k] >= 0:
                        out[c * size + at[k]] += weight[k] * value


@kernel
def slopes(out: Any, g: Any, x: Any, grid: Any, says: Any, first: int, last: int) -> None:
    channels, depth, height, width = says[1], says[2], says[3], says[4]
    places, mode, padding, align = says[5], says[6], says[7], says[8] != 0
    orders, size = (says[9], says[10], says[11]), depth * height * width
    zero = x.dtype.type(0)
    at, weight, values = np.empty(8, np.int64), np.empty(8, x.dtype), np.empty(8, x.dtype)
    for n in range(first, last):
        for p in range(places):
            q = 3 * (n * places + p)
            out[q] = out[q + 1] = out[q + 2] = 0
            if mode == 0:  # steps have no slope
                continue
            by_x = _axis(grid[q], width, mode, padding, align, orders[2])
            by_y = _axis(grid[q + 1], height, mode, padding, align, orders[1])
            by_z = _axis(grid[q + 2], depth, mode, padding, align, orders[0])
            _eight(at, weight, by_z, by_y, by_x, mode, height, width)
            if orders[0] + orders[1] + orders[2] == 0:
                sum_x, sum_y, sum_z = zero, zero, zero  # in PyTorch's order
                for c in range(n * channels, (n + 1) * channels):
                    slope = g[c * places + p]
                    for k in range(8):
                        if at[k] >= 0:
                            value = x[c * size + at[k]]
                            a = by_x[2] if k & 1 == 0 else by_x[3]
                            b = by_y[2] if k & 2 == 0 else by_y[3]
                            d = by_z[2] if k < 4 else by_z[3]
                            of_x, of_y, of_z = value * b * d, value * a * d, value * a * b
                            sum_x += of_x * slope if k & 1 else -of_x * slope
                            sum_y += of_y * slope if k & 2 else -of_y * slope
                            sum_z += of_z * slope if k & 4 else -of_z * slope
                out[q] = by_x[4] * sum_x
                out[q + 1] = by_y[4] * sum_y
                out[q + 2] = by_z[4] * sum_z
                continue
            values[:] = 0
            for c in range(n * channels, (n + 1) * channels):
                for k in range(8):
                    if at[k] >= 0:
                        values[k] += g[c * places + p] * x[c * size + at[k]]
            for d in range(3):
                by_x = _axis(grid[q], width, mode, padding, align, orders[2] + (d == 0))
                by_y = _axis(grid[q + 1], height, mode, padding, align, orders[1] + (d == 1))
                by_z = _axis(grid[q + 2], depth, mode, padding, align, orders[0] + (d == 2))
                _eight(at, weight, by_z, by_y, by_x, mode, height, width)
                for k in range(8):
                    out[q + d] += values[k] * weight[k]


def _bound(function: Any, arrays: int, volume: Any, grid: Any, how: Any) -> Callable[..., None]:
    """``run(*flat arrays)`` for one call's shapes."""
    batch, places = volume.shape[0], grid.shape[1] * grid.shape[2] * grid.shape[3]
    mode, padding, align, order = how
    says = np.array(
        [*volume.shape, places, MODES.index(mode), PADDINGS.index(padding), align, *order],
        np.int64,
    )
    vectors = ", ".join([f"{grid.dtype.name}[::1]"] * arrays)
    run = entry_point(function, f"void({vectors}, int64[::1], int64, int64)")
    least = 1 + _SERIAL // max(8 * volume.shape[1] * places, 1)

    def call(*flats: Any) -> None:
        parallel_for(batch, lambda first, last: run(*flats, says, first, last), least)

    return call


def on_volumes(function: Any, arrays: list[Any], volume: Any, grid: Any, *how: Any) -> None:
    """``function`` on arrays, of which the first is the result."""
    _bound(function, len(arrays), volume, grid, how)(*[flat(x) for x in arrays])


def planned(function: Any, at: int) -> Callable[..., Any]:
    """What makes plans for ``function``, whose array number ``at`` is the volume."""

    def plan(
        outs: Any, ins: Any, *, mode: str, padding_mode: str, align: bool, order: Any
    ) -> Callable[..., None] | None:
        arrays = (*outs, *ins)
        if len(arrays[at].shape) != 5 or any(
            x.dtype not in (np.float32, np.float64) or not dense(x) for x in arrays
        ):
            return None
        how = mode, padding_mode, align, order
        return _bound(function, len(arrays), arrays[at], arrays[-1], how)

    return plan

