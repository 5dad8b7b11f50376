"""Images sampled at the places of a grid on CUDA, the transpose, and slopes.

    picture   first a table: one thread for each place writes the pixels it reads and their weights.
              Then one thread for each element of the result sums what its place reads (``_sample``,
              ``_slopes``); or pixels are sorted, and one thread for each run of equal pixels and
              each channel adds up what was made of that pixel (``_spread``)
    memory    no shared memory; the table [taps, places] lies so that neighbours read neighbours
    sync      none: nobody writes where another does, so sums come in one order
    sizes     any number of places; taps are 1 (nearest), 4 (bilinear) or 16 (bicubic)
The arithmetic of a tap is that of ``kernels.cpu.sampling``, whose functions are compiled here, too.
"""

from __future__ import annotations

import functools
import types
from typing import Any

import numpy as np

from mindtorch.kernels.cpu import grid_sample as on_cpu

from . import arrays, launch
from .arrays import Array
from .device_math import mathematics
from .launch import cuda
from .merge_sort import sort_rows
from .via_float32 import flat, in_float32

_MODES, _PADDINGS = on_cpu.MODES, on_cpu.PADDINGS


@functools.cache
def _table_kernel(dtype: Any) -> Any:
    """The kernel that writes the table, with arithmetic in ``dtype``."""
    own = mathematics(dtype)
    one = dtype.type
    nearest, whole, fused = own["_round"], own["_floor"], own["_fma"]
    numpy: Any = types.ModuleType("numpy")  # whose floor the CPU's source calls
    numpy.floor = whole
    reflected = launch.twin(on_cpu.reflected, np=numpy)
    padded = launch.twin(on_cpu._padded, reflected=reflected)
    cubic = launch.twin(on_cpu._cubic)

    @launch.device
    def inside(place: Any, size: int) -> Any:
        """A whole place as the number of a pixel, -1 outside."""
        return np.int64(place) if (place >= one(0)) & (place <= one(size - 1)) else np.int64(-1)

    @launch.device
    def begin(number: Any, size: int, mode: int, padding: int, align: int) -> Any:
        """Where a number of the grid lies on an axis, and the slope of that."""
        half = one(size - 1) / one(2) if align else one(size) / one(2)
        at = number + one(1)
        place, slope = (at * half if align else fused(at, half, one(-0.5))), half
        if padding != 0 and mode != 2:
            place, bent = padded(place, size, padding, align != 0)
            slope *= bent
        return place, slope

    @launch.device
    def tap(
        place: Any, slope: Any, size: int, mode: int, padding: int, align: int, order: int, k: int
    ) -> Any:
        """Pixel ``k`` that a place reads on an axis, and its weight."""
        if mode == 0:
            return inside(nearest(place), size), one(1) if order == 0 else one(0)
        low = whole(place)
        far = place - low
        if mode == 1:
            turned = one(0) if order > 1 else slope
            near = (far if k else one(1) - far) if order == 0 else (turned if k else -turned)
            return inside(low + one(k), size), near
        scale = one(1)
        for _ in range(order):
            scale *= slope
        if k >= 2 and order % 2 == 1:
            scale = -scale
        distance = far + one(1 - k) if k < 2 else one(k - 1) - far
        weight = cubic(distance, order, k == 0 or k == 3) * scale
        bent, _ = padded(low + one(k - 1), size, padding, align != 0)
        return inside(bent, size), weight

    @launch.kernel
    def table(
        count: int, pixels: Any, weights: Any, grid: Any, places: int, height: int, width: int,
        mode: int, padding: int, align: int, row_order: int, column_order: int,
    ) -> None:  # fmt: skip
        taps = 1 << mode
        p = cuda.grid(1)
        while p < count:
            plane = p // places * height * width
            down, down_slope = begin(grid[2 * p + 1], height, mode, padding, align)
            across, across_slope = begin(grid[2 * p], width, mode, padding, align)
            for a in range(taps):
                row, first = tap(down, down_slope, height, mode, padding, align, row_order, a)
                for b in range(taps):
                    column, second = tap(
                        across, across_slope, width, mode, padding, align, column_order, b
                    )
                    at = (a * taps + b) * count + p
                    known = (row >= 0) & (column >= 0)
                    pixels[at] = plane + row * width + column if known else np.int64(-1)
                    weights[at] = first * second
            p = launch.following(p, count)

    return table


def _table(x: Any, grid: Any, mode: str, padding_mode: str, align: bool, order: Any) -> Any:
    """(pixels counted through the planes of a batch, weights), each [taps, places of the batch]."""
    batch, _, height, width = x.shape
    places = grid.shape[1] * grid.shape[2]
    which, count = _MODES.index(mode), batch * places
    taps = 1 << 2 * which
    pixels = arrays.empty((taps, count), np.int64)
    weights = arrays.empty((taps, count), grid.dtype)
    launch.each(
        _table_kernel(grid.dtype), count, pixels, weights, flat(grid), places, height, width,
        which, _PADDINGS.index(padding_mode), int(align), *order,
    )  # fmt: skip
    return pixels, weights


@launch.kernel
def _sample(
    count: int, out: Any, x: Any, pixels: Any, weights: Any, taps: int, channels: int, places: int,
    size: int, stride: int,
) -> None:  # fmt: skip
    i = cuda.grid(1)
    while i < count:
        p, plane = i % places, i // places
        n = plane // channels
        at = n * places + p
        base = (plane - n) * size
        out[i] = 0
        for _ in range(taps):
            if pixels[at] >= 0:
                out[i] += x[base + pixels[at]] * weights[at]
            at += stride
        i = launch.following(i, count)


@launch.kernel
def _slopes(
    count: int, out: Any, g: Any, x: Any, pixels: Any, weights: Any, taps: int, channels: int,
    places: int, size: int, d: int,
) -> None:  # fmt: skip
    i = cuda.grid(1)
    while i < count:
        n, p = i // places, i % places
        out[2 * i + d] = 0
        for k in range(taps):
            pixel = pixels[k * count + i]
            if pixel >= 0:
                total = weights[i] * 0
                for c in range(channels):
                    plane = n * channels + c
                    total += g[plane * places + p] * x[(plane - n) * size + pixel]
                out[2 * i + d] += total * weights[k * count + i]
        i = launch.following(i, count)


@launch.kernel
def _spread(
    count: int, out: Any, g: Any, keys: Any, order: Any, weights: Any, channels: int, places: int,
    size: int, stride: int,
) -> None:  # fmt: skip
    reads = count // channels
    i = cuda.grid(1)
    while i < count:
        j, c = i % reads, i // reads
        pixel = keys[j]
        if pixel >= 0 and (j == 0 or keys[j - 1] != pixel):
            n = pixel // size
            total = weights[0] * 0
            while j < reads and keys[j] == pixel:
                at = order[j]
                p = at % stride - n * places
                total += g[(n * channels + c) * places + p] * weights[at]
                j += 1
            out[(n * channels + c) * size + pixel - n * size] = total
        i = launch.following(i, count)


@in_float32
def grid_sample(
    out: Any, x: Any, grid: Any, *, mode: str, padding_mode: str, align: bool, order: Any
) -> None:
    """``x`` [N, C, H, W] at the places of ``grid`` [N, rows, columns, 2]."""
    pixels, weights = _table(x, grid, mode, padding_mode, align, order)
    taps, count = pixels.shape
    places, size = count // max(x.shape[0], 1), x.shape[2] * x.shape[3]
    launch.each(
        _sample, out.size, out, flat(x), pixels, weights, taps, x.shape[1], places, size, count
    )


@in_float32
def grid_spread(
    out: Any, g: Any, grid: Any, *, mode: str, padding_mode: str, align: bool, order: Any
) -> None:
    """The transpose of :func:`grid_sample` in ``x``."""
    arrays.fill(out, 0)
    pixels, weights = _table(out, grid, mode, padding_mode, align, order)
    _, count = pixels.shape
    places, size = count // max(out.shape[0], 1), out.shape[2] * out.shape[3]
    keys, places_before = sort_rows(Array(pixels.flat, (1, pixels.size)), False)
    launch.each(
        _spread, pixels.size * out.shape[1], out, flat(g), keys, places_before, weights,
        out.shape[1], places, size, count,
    )  # fmt: skip


@in_float32
def grid_slopes(
    out: Any, g: Any, x: Any, grid: Any, *, mode: str, padding_mode: str, align: bool, order: Any
) -> None:
    """The gradient of :func:`grid_sample` by ``grid``."""
    if mode == "nearest":  # steps have no slope
        arrays.fill(out, 0)
        return
    for d in range(2):
        orders = (order[0] + d, order[1] + 1 - d)
        pixels, weights = _table(x, grid, mode, padding_mode, align, orders)
        taps, count = pixels.shape
        places, size = count // max(x.shape[0], 1), x.shape[2] * x.shape[3]
        launch.each(
            _slopes, count, out, flat(g), flat(x), pixels, weights, taps, x.shape[1], places, size,
            d,
        )  # fmt: skip
