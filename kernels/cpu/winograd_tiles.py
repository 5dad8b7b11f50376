"""The loops of Winograd's convolution F(2x2, 3x3), generated for a vector's width.

A tile of 2 x 2 results is read from 4 x 4 pixels. For each channel these and the 3 x 3 weights are
turned into 4 x 4 numbers whose products, added up over the channels, are turned into the tile:
16 multiplications where the definition has 36. With ``d`` the pixels, ``w`` the weights, and ``*``
number by number (A. Lavin, S. Gray, Fast algorithms for convolutional neural networks, 2016)::

    y = OUT (sum over channels of (GIVEN d GIVEN^T) * (WEIGHT w WEIGHT^T)) OUT^T

Channels lie along the vectors: ``[place of 16][tile][channel]``, or in panels as wide as a
register tile, ``[place][panel][tile][width]``.
"""

from __future__ import annotations

import functools
from typing import Any

import numpy as np
from numba import types
from numba.extending import intrinsic

from mindtorch.kernels.codegen.jit import kernel

from .simd import Vectors, data_of, lanes, long_of, tile_of, tile_rows, transpose_block

Matrix = tuple[tuple[float, ...], ...]

GIVEN: Matrix = ((1, 0, -1, 0), (0, 1, 1, 0), (0, -1, 1, 0), (0, 1, 0, -1))
WEIGHT: Matrix = ((1, 0, 0), (0.5, 0.5, 0.5), (0.5, -0.5, 0.5), (0, 0, 1))
OUT: Matrix = ((1, 1, 1, 0), (0, 1, -1, -1))
PLACES = 16
INFINITE = np.int32(0x7F800000)  # the exponent of what is not finite
APART = 16  # numbers between places, which a power of two apart would share cache sets


def turned(matrix: Matrix) -> Matrix:
    """The transposed matrix."""
    return tuple(zip(*matrix, strict=True))


@functools.cache
def transform_of(matrix: Matrix, width: int, has_offset: bool = False) -> Any:
    """The kernel of ``matrix x matrix^T`` for vectors of ``width`` numbers of each element of x.

    ``transform(out, to, down, right, x, at, x_down, x_right, offset, offset_at)`` reads element
    ``[i, j]`` at ``at + i * x_down + j * x_right`` and writes alike. ``offset`` is added to all
    results if ``has_offset``.
    """

    @intrinsic
    def transform(
        context: Any, out: Any, to: Any, down: Any, right: Any, x: Any, at: Any, x_down: Any,
        x_right: Any, offset: Any, offset_at: Any,
    ) -> Any:  # fmt: skip
        def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
            form = Vectors(builder, signature.args[0].dtype, width)

            def places(array: int, begin: int, pitches: Any, rows: int, columns: int) -> Any:
                data = data_of(
                    context, builder, signature.args[array], arguments[array], arguments[begin]
                )
                return [
                    [
                        builder.gep(data, [builder.add(
                            builder.mul(pitches[0], long_of(i)), builder.mul(pitches[1], long_of(j))
                        )])
                        for j in range(columns)
                    ]
                    for i in range(rows)
                ]  # fmt: skip

            size = len(matrix[0])
            given = places(4, 5, arguments[6:8], size, size)
            values = [[form.load(place) for place in row] for row in given]
            columns = [
                [_combined(form, row, [values[i][j] for i in range(size)]) for j in range(size)]
                for row in matrix
            ]
            results = [[_combined(form, row, line) for row in matrix] for line in columns]
            if has_offset:
                place = data_of(
                    context, builder, signature.args[8], arguments[8], arguments[9]
                )
                added = form.load(place)
                results = [[builder.fadd(x, added) for x in line] for line in results]
            targets = places(0, 1, arguments[2:4], len(matrix), len(matrix))
            for line, row in zip(results, targets, strict=True):
                for value, place in zip(line, row, strict=True):
                    form.store(value, place)
            return context.get_dummy_value()

        long = types.int64
        return types.void(out, long, long, long, x, long, long, long, offset, long), generate

    return transform


def _combined(form: Any, factors: tuple[float, ...], values: list[Any]) -> Any:
    """The sum of values times factors, which are powers of two: nothing is rounded but the sum."""
    builder = form.builder
    total = None
    for factor, value in zip(factors, values, strict=True):
        if not factor:
            continue
        if abs(factor) != 1:
            value = builder.fmul(value, form.constant(abs(factor)))
        if total is None:
            total = value if factor > 0 else builder.fsub(form.zero, value)
        else:
            total = builder.fadd(total, value) if factor > 0 else builder.fsub(total, value)
    return total


@kernel
def read_pixels(
    strip: Any, pitch: int, columns: int, x: Any, x_at: int, step: int, channels: int,
    width: int, first: int, last: int, down: int, right: int,
) -> None:  # fmt: skip
    """Rows ``first`` to ``last`` of an image's planes ``x[channel][row][width]``, as pixels.

    Pixel (row, place) is ``pitch`` channels, written to place (row - first + down, place + right)
    of ``strip``, which has ``columns`` pixels in a row.
    """
    block, places = np.empty(64, strip.dtype), np.empty(8, np.int64)
    count, full = (last - first) * width, channels // 8 * 8
    begin = x_at + first * width
    row, place = down, 0
    for p in range(0, count, 8):
        together = min(8, count - p)
        for j in range(together):
            places[j] = (row * columns + place + right) * pitch
            place += 1
            if place == width:
                row, place = row + 1, 0
        if together == 8:
            for c in range(0, full, 8):
                transpose_block(block, 0, 8, x, begin + c * step + p, step)
                for j in range(8):
                    to = places[j] + c
                    for i in range(8):
                        strip[to + i] = block[8 * j + i]
        for j in range(together):
            for c in range(full if together == 8 else 0, channels):
                strip[places[j] + c] = x[begin + c * step + p + j]


@kernel
def write_pixels(
    out: Any, out_at: int, step: int, made: Any, pitch: int, columns: int, channels: int,
    width: int, first: int, last: int,
) -> None:  # fmt: skip
    """Rows ``first`` to ``last`` of an image's planes from pixels of ``pitch`` channels."""
    rows, length = last - first, width
    if columns == width:
        rows, length = 1, (last - first) * width
    even, full = length // 8 * 8, channels // 8 * 8
    for row in range(rows):
        source = row * columns * pitch
        target = out_at + (first + row) * width
        for c in range(0, full, 8):
            for p in range(0, even, 8):
                transpose_block(
                    out, target + c * step + p, step, made, source + p * pitch + c, pitch
                )
        for c in range(channels):
            for p in range(even if c < full else 0, length):
                out[target + c * step + p] = made[source + p * pitch + c]


class Loops:
    """The compiled loops of Winograd's convolution for an element type."""

    def __init__(self, dtype: Any) -> None:
        self.lanes = lanes(dtype)
        self.width = 2 * self.lanes
        self.rows = tile_rows()
        self.turn_weight = _turn_weight(self.lanes)
        self.correlate = _correlate(self.rows, self.lanes)
        self.sum_weights = _sum_weights(self.rows, self.lanes)
        self.turn_back = _turn_back(self.lanes)


@functools.cache
def loops(dtype: Any) -> Loops:
    """The loops for an element type."""
    return Loops(dtype)


@functools.cache
def _turn_weight(width: int) -> Any:
    transform = transform_of(WEIGHT, width)

    @kernel
    def turn_weight(turned: Any, packed: Any, count: int, pitch: int, panels: int) -> None:
        """``[place][panel][channel][2 width]`` of panels ``[channel][9][2 width]``."""
        size = panels * pitch * 2 * width
        for panel in range(panels):
            for c in range(count):
                for v in range(2):
                    at = ((panel * count + c) * 9 * 2 + v) * width
                    to = ((panel * pitch + c) * 2 + v) * width
                    transform(turned, to, 4 * size, size, packed, at, 6 * width, 2 * width,
                              packed, 0)  # fmt: skip
            for place in range(PLACES):
                begin = place * size + panel * pitch * 2 * width
                turned[begin + count * 2 * width : begin + pitch * 2 * width] = 0

    return turn_weight


@functools.cache
def _turn_back(width: int) -> Any:
    transform = transform_of(turned(WEIGHT), width)

    @kernel
    def turn_back(packed: Any, sums: Any, count: int, pitch: int, panels: int) -> None:
        """Panels ``[channel][9][2 width]`` of ``[place][panel][channel][2 width]``."""
        size = panels * pitch * 2 * width
        for panel in range(panels):
            for c in range(count):
                for v in range(2):
                    at = ((panel * pitch + c) * 2 + v) * width
                    to = ((panel * count + c) * 9 * 2 + v) * width
                    transform(packed, to, 6 * width, 2 * width, sums, at, 4 * size, size,
                              sums, 0)  # fmt: skip

    return turn_back


@functools.cache
def _turn_given(width: int) -> Any:
    transform = transform_of(GIVEN, width)

    @kernel
    def turn_given(
        turned: Any, size: int, tile: int, strip: Any, pitch: int, columns: int, down: int,
        across: int,
    ) -> None:  # fmt: skip
        """Tiles from ``tile`` on of a strip of ``down`` by ``across`` of them."""
        for ty in range(down):
            for tx in range(across):
                at = (2 * ty * columns + 2 * tx) * pitch
                to = (tile + ty * across + tx) * pitch
                for c in range(0, pitch, width):
                    transform(turned, to + c, 4 * size, size, strip, at + c, columns * pitch,
                              pitch, strip, 0)  # fmt: skip

    return turn_given


@functools.cache
def _correlate(rows: int, width: int) -> Any:
    turn_given, tile = _turn_given(width), tile_of(rows, 2, width)
    transform = transform_of(OUT, width, has_offset=True)

    @kernel
    def write_results(
        out: Any, sums: Any, size: int, tiles: int, bias: Any, sizes: Any, image: int, images: int,
        first: int, last: int, made: Any, bits: Any,
    ) -> Any:  # fmt: skip
        """Turn sums into rows of tiles of the results; whether all of these are finite."""
        channels, height, breadth = sizes[3], sizes[4], sizes[5]
        across = (breadth + 1) // 2
        columns, step = 2 * across, height * breadth
        wide = 2 * width
        worst = np.int32(0)
        for n in range(images):
            for panel in range((channels + wide - 1) // wide):
                valid = min(wide, channels - panel * wide)
                for ty in range(last - first):
                    for tx in range(across):
                        at = (panel * tiles + (n * (last - first) + ty) * across + tx) * wide
                        to = (2 * ty * columns + 2 * tx) * wide
                        for v in range(0, wide, width):
                            transform(made, to + v, columns * wide, wide, sums, at + v, 4 * size,
                                      size, bias, panel * wide + v)  # fmt: skip
                stop = min(2 * last, height)
                for i in range((stop - 2 * first) * columns * wide):
                    worst = max(worst, bits[i] & INFINITE)
                begin = ((image + n) * channels + panel * wide) * step
                write_pixels(out, begin, step, made, wide, columns, valid, breadth, 2 * first, stop)
        return worst < INFINITE

    @kernel
    def correlate(
        out: Any, x: Any, weight: Any, bias: Any, sizes: Any, image: int, images: int, first: int,
        last: int, strip: Any, given: Any, sums: Any, made: Any, bits: Any, bases: Any, taps: Any,
        zeros: Any,
    ) -> Any:  # fmt: skip
        """Rows ``first`` to ``last`` of tiles of ``images`` results from ``image`` on."""
        inner, height, breadth = sizes[0], sizes[1], sizes[2]
        channels, pitch, across = sizes[3], sizes[6], (sizes[5] + 1) // 2
        before_y, before_x = sizes[7], sizes[8]
        columns, wide = 2 * across + 2, 2 * width
        panels = (channels + wide - 1) // wide
        tiles = images * (last - first) * across
        tiles = (tiles + rows - 1) // rows * rows
        size = tiles * pitch + APART
        step = height * breadth
        top, bottom = 2 * first - before_y, 2 * last + 2 - before_y
        low, high = max(top, 0), min(bottom, height)
        for n in range(images):
            strip[: (bottom - top) * columns * pitch] = 0
            read_pixels(strip, pitch, columns, x, (image + n) * inner * step, step, inner, breadth,
                        low, high, low - top, before_x)
            turn_given(given, size, n * (last - first) * across, strip, pitch, columns,
                       last - first, across)  # fmt: skip
        sum_size = panels * tiles * wide + APART
        for place in range(PLACES):
            source = given[place * size : (place + 1) * size]
            for panel in range(panels):
                right = (place * panels + panel) * pitch * wide
                at = place * sum_size + panel * tiles * wide
                for p in range(0, tiles, rows):
                    tile(source, bases, p, taps, 0, inner, weight, right, zeros, 0, 0, 1, sums,
                         at + p * wide)  # fmt: skip
        return write_results(out, sums, sum_size, tiles, bias, sizes, image, images,
                             first, last, made, bits)  # fmt: skip

    return correlate


@functools.cache
def _sum_weights(rows: int, width: int) -> Any:
    turn_given, tile = _turn_given(width), tile_of(rows, 2, width)
    transform = transform_of(turned(OUT), width)

    @kernel
    def turn_slopes(
        slopes: Any, size: int, tiles: int, begin: int, strip: Any, pitch: int, down: int,
        across: int,
    ) -> None:  # fmt: skip
        """``[place][panel][tile][2 width]`` of a strip of ``down`` by ``across`` tiles."""
        wide, columns = 2 * width, 2 * across
        for ty in range(down):
            for tx in range(across):
                at = (2 * ty * columns + 2 * tx) * pitch
                for c in range(0, pitch, width):
                    to = (c // wide * tiles + begin + ty * across + tx) * wide + c % wide
                    transform(slopes, to, 4 * size, size, strip, at + c, columns * pitch, pitch,
                              strip, 0)  # fmt: skip

    @kernel
    def sum_weights(
        sums: Any, g: Any, x: Any, sizes: Any, image: int, images: int, first: int, last: int,
        strip: Any, given: Any, slopes: Any, bases: Any, taps: Any, zeros: Any, begins: int,
    ) -> None:  # fmt: skip
        """Add the share of some rows of tiles to ``[place][panel][channel][2 width]``.

        If ``begins``, what is there does not count.
        """
        inner, height, breadth = sizes[0], sizes[1], sizes[2]
        channels, g_height, g_breadth, pitch = sizes[3], sizes[4], sizes[5], sizes[6]
        across = (g_breadth + 1) // 2
        wide = 2 * width
        panels = (channels + wide - 1) // wide
        down = last - first
        tiles = images * down * across
        size, slope_size = tiles * pitch + APART, panels * tiles * wide + APART
        top, bottom = 2 * first - sizes[7], 2 * last + 2 - sizes[7]
        low, high = max(top, 0), min(bottom, height)
        for n in range(images):
            strip[: (bottom - top) * (2 * across + 2) * pitch] = 0
            read_pixels(strip, pitch, 2 * across + 2, x, (image + n) * inner * height * breadth,
                        height * breadth, inner, breadth, low, high, low - top, sizes[8])
            turn_given(given, size, n * down * across, strip, pitch, 2 * across + 2, down, across)
            strip[: 4 * down * across * panels * wide] = 0
            step = g_height * g_breadth
            read_pixels(strip, panels * wide, 2 * across, g, (image + n) * channels * step, step,
                        channels, g_breadth, 2 * first, min(2 * last, g_height), 0, 0)
            turn_slopes(slopes, slope_size, tiles, n * down * across, strip, panels * wide, down,
                        across)  # fmt: skip
        deep = (inner + rows - 1) // rows * rows
        for place in range(PLACES):
            source = given[place * size :]
            for panel in range(panels):
                right = place * slope_size + panel * tiles * wide
                at = (place * panels + panel) * deep * wide
                for c in range(0, deep, rows):
                    to = at + c * wide
                    if begins:
                        tile(source, bases, c, taps, 0, tiles, slopes, right, zeros, 0, 0, 1,
                             sums, to)  # fmt: skip
                    else:
                        tile(source, bases, c, taps, 0, tiles, slopes, right, sums, to, wide, 1,
                             sums, to)  # fmt: skip

    return sum_weights
