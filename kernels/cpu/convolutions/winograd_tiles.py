"""The loops of Winograd's convolutions F(2x2, 3x3) and F(4x4, 3x3), generated for a vector's width.

A tile of 2 x 2 results takes 16 multiplications for each pair of channels, where the definition
has 36, one of 4 x 4 takes 36 for 144 (:mod:`winograd_transforms`). ``edge`` is 2 or 4, ``span``
what a tile reads, down and across. Channels lie along the vectors: pixels that are turned as
``[place of 16 or 36][tile][channel]``, the rest in panels as wide as a register tile,
``[place][panel][channel or tile][width]``. A piece is some rows of tiles of some images.
"""

from __future__ import annotations

import functools
from typing import Any

import numpy as np

from mindtorch.kernels.codegen.jit import entry_point, kernel

from ..vectors.simd import lanes, tile_of, tile_rows, transpose_block
from .winograd_transforms import GIVEN, OUT, WEIGHT, transform_of, turned

APART = 16  # numbers between places, which a power of two apart would share cache sets
TOGETHER = 16  # channels whose weights are in the first cache while they are turned
TERMS = 64  # of a sum that are added up before they are added to others, so that less is rounded
_INFINITE = np.int32(0x7F800000)  # the exponent of what is not finite
# what is said of a case, by places in an array
(INNER, HEIGHT, BREADTH, CHANNELS, DOWN, ACROSS, BEFORE_Y, BEFORE_X, PITCH) = range(9)


@kernel
def read_pixels(
    strip: Any, pitch: int, columns: int, x: Any, x_at: int, step: int, channels: int,
    width: int, first: int, last: int, down: int, right: int,
) -> None:  # fmt: skip
    """Rows ``first`` to ``last`` of an image's planes ``x[channel][row][width]``, as pixels.

    Pixel (row, place) is ``pitch`` channels, written to place (row - first + down, place + right)
    of ``strip``, which has ``columns`` pixels in a row.
    """
    if width < 8:
        read_narrow(strip, pitch, columns, x, x_at, step, channels, width, first, last, down, right)
        return
    full = channels // 8 * 8
    to = (down * columns + right) * pitch
    begin = x_at + first * width
    # planes in order, and of each the numbers of a line of memory together
    for c in range(0, full, 16):
        both = c + 16 <= full
        for row in range(last - first):
            for p in range(0, width, 16):
                for q in range(p, min(p + 16, width), 8):
                    place = min(q, width - 8)
                    at = begin + c * step + row * width + place
                    target = to + (row * columns + place) * pitch + c
                    transpose_block(strip, target, pitch, x, at, step)
                    if both:
                        transpose_block(strip, target + 8, pitch, x, at + 8 * step, step)
    for c in range(full, channels):
        for row in range(last - first):
            for p in range(width):
                strip[to + (row * columns + p) * pitch + c] = x[begin + c * step + row * width + p]


@kernel
def read_narrow(
    strip: Any, pitch: int, columns: int, x: Any, x_at: int, step: int, channels: int,
    width: int, first: int, last: int, down: int, right: int,
) -> None:  # fmt: skip
    """The same for rows shorter than a block."""
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
    full = channels // 8 * 8 if length >= 8 else 0
    for row in range(rows):
        source = row * columns * pitch
        target = out_at + (first + row) * width
        for c in range(0, full, 8):
            for p in range(0, length, 8):
                at = min(p, length - 8)
                transpose_block(
                    out, target + c * step + at, step, made, source + at * pitch + c, pitch
                )
        for c in range(full, channels):
            for p in range(length):
                out[target + c * step + p] = made[source + p * pitch + c]


class Loops:
    """The compiled loops of Winograd's convolution, in float32, for tiles of one size.

    Attributes:
        edge: the results of a tile, down and across.
        span: the pixels that it reads.
        places: how many multiplications it takes.
    """

    def __init__(self, edge: int) -> None:
        self.edge, self.span = edge, edge + 2
        self.places = self.span * self.span
        self.lanes = lanes(np.float32)
        self.width = 2 * self.lanes
        self.rows = tile_rows()

    def _entry(self, loop: Any, kinds: str, result: str = "void") -> Any:
        """``kinds``: of each argument, v: elements, w: their bits, p: places, i: a number."""
        names = {"v": "float32[::1]", "w": "int32[::1]", "p": "int64[::1]", "i": "int64"}
        return entry_point(loop, f"{result}({', '.join([names[k] for k in kinds])})")

    @functools.cached_property
    def turn_weight(self) -> Any:
        return self._entry(_turn_weight(self.edge, self.lanes), "vvvpiiiii")

    @functools.cached_property
    def turn_back(self) -> Any:
        return self._entry(_turn_back(self.edge, self.lanes), "vvvpiiii")

    @functools.cached_property
    def turn_given(self) -> Any:
        return self._entry(_turn_given(self.edge, self.lanes), "vvvpiiiii")

    @functools.cached_property
    def turn_slopes(self) -> Any:
        return self._entry(_turn_slopes(self.edge, self.lanes), "vvvpiiiii")

    @functools.cached_property
    def correlate(self) -> Any:
        loop = _correlate(self.edge, self.rows, self.lanes)
        return self._entry(loop, "vvvvpiiiiiiivvwppv", "boolean")

    @functools.cached_property
    def sum_weights(self) -> Any:
        return self._entry(_sum_weights(self.edge, self.rows, self.lanes), "vvvpiiiiiippvi")


@functools.cache
def loops(edge: int) -> Loops:
    """The loops for this processor."""
    return Loops(edge)


@functools.cache
def _turn_weight(edge: int, width: int) -> Any:
    transform = transform_of(WEIGHT[edge], width)
    span, wide = edge + 2, 2 * width

    @kernel
    def pack_channels(
        packed: Any, weight: Any, at: int, apart: int, count: int, valid: int
    ) -> None:
        """``[term][wide]`` of ``valid`` rows of ``count`` terms in order."""
        even, full = count // 8 * 8, valid // 8 * 8
        for k in range(0, even, 8):
            for c in range(0, full, 8):
                transpose_block(packed, k * wide + c, wide, weight, at + c * apart + k, apart)
        for k in range(count):
            for c in range(full if k < even else 0, valid):
                packed[k * wide + c] = weight[at + c * apart + k]
            packed[k * wide + valid : (k + 1) * wide] = 0

    @kernel
    def pack_flipped(packed: Any, weight: Any, at: int, apart: int, count: int, valid: int) -> None:
        """``[channel][9][wide]`` of windows turned upside down: of ``count`` channels, ``apart``,
        ``valid`` windows each, which follow one another."""
        full = valid // 8 * 8
        for q in range(count):
            to, source = q * 9 * wide, at + q * apart
            for c in range(0, full, 8):
                begin = source + 9 * c
                transpose_block(packed, to + 8 * wide + c, -wide, weight, begin, 9)
                for i in range(8):
                    packed[to + c + i] = weight[begin + 9 * i + 8]
            for k in range(9):
                for c in range(full, valid):
                    packed[to + (8 - k) * wide + c] = weight[source + 9 * c + k]
                packed[to + k * wide + valid : to + (k + 1) * wide] = 0

    @kernel
    def turn_weight(
        turned: Any, packed: Any, weight: Any, sizes: Any, size: int, first: int, last: int,
        base: int, flipped: int,
    ) -> None:  # fmt: skip
        """Panels ``first`` to ``last`` as ``turned[place][panel][channel][wide]``, places being
        ``size`` apart, panels counted from ``base`` on. ``flipped``: of the weight of a convolution
        whose input's gradient is wanted. ``packed`` has room for some channels of a panel."""
        inner, channels = sizes[INNER], sizes[CHANNELS]
        for panel in range(first, last):
            valid = min(wide, channels - panel * wide)
            for begin in range(0, inner, TOGETHER):
                count = min(TOGETHER, inner - begin)
                if flipped:
                    at = (begin * channels + panel * wide) * 9
                    pack_flipped(packed, weight, at, channels * 9, count, valid)
                else:
                    at = (panel * wide * inner + begin) * 9
                    pack_channels(packed, weight, at, inner * 9, count * 9, valid)
                for c in range(count):
                    to = ((panel - base) * inner + begin + c) * wide
                    for v in range(0, wide, width):
                        transform(turned, to + v, span * size, size, packed, c * 9 * wide + v,
                                  3 * wide, wide, packed, 0)  # fmt: skip

    return turn_weight


@functools.cache
def _turn_back(edge: int, width: int) -> Any:
    transform = transform_of(turned(WEIGHT[edge]), width)
    span, wide = edge + 2, 2 * width

    @kernel
    def unpack(out: Any, at: int, apart: int, packed: Any, count: int, valid: int) -> None:
        """``valid`` rows of ``count`` terms in order, of ``[term][wide]``."""
        even, full = count // 8 * 8, valid // 8 * 8
        for c in range(0, full, 8):
            for k in range(0, even, 8):
                transpose_block(out, at + c * apart + k, apart, packed, k * wide + c, wide)
        for c in range(valid):
            for k in range(even if c < full else 0, count):
                out[at + c * apart + k] = packed[k * wide + c]

    @kernel
    def turn_back(
        out: Any, sums: Any, packed: Any, sizes: Any, size: int, deep: int, panel: int, at: int
    ) -> None:
        """The weight's gradient for a panel of channels, of ``[place][channel][wide]`` with
        ``deep`` channels, from ``at`` on, places being ``size`` apart."""
        inner, channels = sizes[INNER], sizes[CHANNELS]
        valid = min(wide, channels - panel * wide)
        for begin in range(0, inner, TOGETHER):
            count = min(TOGETHER, inner - begin)
            for c in range(count):
                for v in range(0, wide, width):
                    transform(packed, c * 9 * wide + v, 3 * wide, wide, sums,
                              at + (begin + c) * wide + v, span * size, size, sums, 0)  # fmt: skip
            to = (panel * wide * inner + begin) * 9
            unpack(out, to, inner * 9, packed, count * 9, valid)

    return turn_back


@functools.cache
def _turn_given(edge: int, width: int) -> Any:
    transform = transform_of(GIVEN[edge], width)
    span = edge + 2

    @kernel
    def turn_given(
        turned: Any, strip: Any, x: Any, sizes: Any, size: int, image: int, images: int,
        first: int, last: int,
    ) -> None:  # fmt: skip
        """``turned[place][tile][channel]`` of a piece, places being ``size`` apart."""
        inner, height, breadth, pitch = sizes[INNER], sizes[HEIGHT], sizes[BREADTH], sizes[PITCH]
        tiles = (sizes[ACROSS] + edge - 1) // edge
        whole = (inner + width - 1) // width * width
        columns, step = edge * tiles + 2, height * breadth
        top = edge * first - sizes[BEFORE_Y]
        low, high = max(top, 0), min(edge * last + 2 - sizes[BEFORE_Y], height)
        strip[: (edge * (last - first) + 2) * columns * whole] = 0
        to = 0
        for n in range(image, image + images):
            read_pixels(strip, whole, columns, x, n * inner * step, step, inner, breadth, low, high,
                        low - top, sizes[BEFORE_X])  # fmt: skip
            for row in range(last - first):
                for i in range(tiles):
                    at = (row * columns + i) * edge * whole
                    for c in range(0, whole, width):
                        transform(turned, to + c, span * size, size, strip, at + c, columns * whole,
                                  whole, strip, 0)  # fmt: skip
                    to += pitch

    return turn_given


@functools.cache
def _turn_slopes(edge: int, width: int) -> Any:
    transform = transform_of(turned(OUT[edge]), width)
    span, wide = edge + 2, 2 * width

    @kernel
    def turn_slopes(
        turned: Any, strip: Any, g: Any, sizes: Any, size: int, image: int, images: int,
        first: int, last: int,
    ) -> None:  # fmt: skip
        """``turned[place][panel][tile][wide]`` of a piece, places being ``size`` apart."""
        channels, down, across = sizes[CHANNELS], sizes[DOWN], sizes[ACROSS]
        tiles = (across + edge - 1) // edge
        pitch, columns = (channels + wide - 1) // wide * wide, edge * tiles
        step, count = down * across, images * (last - first) * tiles
        strip[: edge * (last - first) * columns * pitch] = 0
        tile = 0
        for n in range(image, image + images):
            read_pixels(strip, pitch, columns, g, n * channels * step, step, channels, across,
                        edge * first, min(edge * last, down), 0, 0)  # fmt: skip
            for row in range(last - first):
                for i in range(tiles):
                    at = (row * columns + i) * edge * pitch
                    for c in range(0, pitch, width):
                        to = (c // wide * count + tile) * wide + c % wide
                        transform(turned, to, span * size, size, strip, at + c, columns * pitch,
                                  pitch, strip, 0)  # fmt: skip
                    tile += 1

    return turn_slopes


@functools.cache
def _correlate(edge: int, rows: int, width: int) -> Any:
    tile = tile_of(rows, 2, width)
    transform = transform_of(OUT[edge], width, has_offset=True)
    span, wide = edge + 2, 2 * width
    places = span * span

    @kernel
    def write_panel(
        out: Any, sums: Any, at: int, size: int, bias: Any, panel: int, sizes: Any, image: int,
        images: int, first: int, last: int, made: Any, bits: Any,
    ) -> Any:  # fmt: skip
        """Turn a panel's sums into rows of tiles of the results; the largest exponent of these."""
        channels, down, across = sizes[CHANNELS], sizes[DOWN], sizes[ACROSS]
        tiles = (across + edge - 1) // edge
        columns, step = edge * tiles, down * across
        valid = min(wide, channels - panel * wide)
        worst = np.int32(0)
        for n in range(image, image + images):
            begin = (n * channels + panel * wide) * step
            for row in range(edge * first, edge * last, edge):
                for i in range(tiles):
                    to = i * edge * wide
                    for v in range(0, wide, width):
                        transform(made, to + v, columns * wide, wide, sums, at + v, span * size,
                                  size, bias, panel * wide + v)  # fmt: skip
                    at += wide
                stop = min(row + edge, down)
                for i in range((stop - row) * columns * wide):
                    worst = max(worst, bits[i] & _INFINITE)
                write_pixels(out, begin, step, made, wide, columns, valid, across, row, stop)
        return worst

    @kernel
    def correlate(
        out: Any, given: Any, weight: Any, bias: Any, sizes: Any, size: int, image: int,
        images: int, first: int, last: int, panel: int, last_panel: int, sums: Any, made: Any,
        bits: Any, bases: Any, terms: Any, zeros: Any,
    ) -> Any:  # fmt: skip
        """The results of a piece, for some panels of channels, of which ``weight`` has no others;
        whether these are finite. ``size`` is from one place to the next of ``given``."""
        inner, across = sizes[INNER], (sizes[ACROSS] + edge - 1) // edge
        tiles = images * (last - first) * across
        tiles = (tiles + rows - 1) // rows * rows
        panels = last_panel - panel
        weight_size = panels * inner * wide + APART
        sum_size = panels * tiles * wide + APART
        for place in range(places):
            source = given[place * size :]
            for p in range(panels):
                right = place * weight_size + p * inner * wide
                at = place * sum_size + p * tiles * wide
                for t in range(0, tiles, rows):
                    to, count = at + t * wide, min(inner, TERMS)
                    tile(source, bases, t, terms, 0, count, weight, right, zeros, 0, 0, 1, sums, to)
                    for c in range(TERMS, inner, TERMS):
                        count = min(inner - c, TERMS)
                        tile(source, bases, t, terms, c, count, weight, right + c * wide, sums, to,
                             wide, 0, sums, to)  # fmt: skip
        worst = np.int32(0)
        for p in range(panels):
            worst = max(worst, write_panel(
                out, sums, p * tiles * wide, sum_size, bias, panel + p, sizes, image, images,
                first, last, made, bits,
            ))  # fmt: skip
        return worst < _INFINITE

    return correlate


@functools.cache
def _sum_weights(edge: int, rows: int, width: int) -> Any:
    tile = tile_of(rows, 2, width)
    wide, places = 2 * width, (edge + 2) ** 2

    @kernel
    def sum_weights(
        sums: Any, given: Any, slopes: Any, sizes: Any, given_size: int, slope_size: int,
        tiles: int, deep: int, panel: int, last_panel: int, terms: Any, bases: Any, zeros: Any,
        begins: int,
    ) -> None:  # fmt: skip
        """Add the share of a piece of ``tiles`` to ``[place][panel][channel][wide]`` of some panels
        with ``deep`` channels, of which ``sums`` has no others. If ``begins``, what is there does
        not count."""
        panels = last_panel - panel
        sum_size = panels * deep * wide + APART
        for place in range(places):
            source = given[place * given_size :]
            for p in range(panels):
                right = place * slope_size + (panel + p) * tiles * wide
                at = place * sum_size + p * deep * wide
                for c in range(0, deep, rows):
                    to = at + c * wide
                    if begins:
                        tile(source, bases, c, terms, 0, tiles, slopes, right, zeros, 0, 0, 1,
                             sums, to)  # fmt: skip
                    else:
                        tile(source, bases, c, terms, 0, tiles, slopes, right, sums, to, wide, 0,
                             sums, to)  # fmt: skip

    return sum_weights
