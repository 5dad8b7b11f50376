"""The loops of convolution on matrix registers (:mod:`amx_convolution_tiles`).

A source's images lie as parts, padded: ``[part][plane][residue][image][row][column]``. Results are
columns of a product in the order of the source's pixels, so that a tap of the window is an offset;
what is computed between rows is left out when results are written. A plane is two channels, side
by side in words, or, for the gradient for the weight, one channel in halves. Of small images 32 are
abreast: ``[part][plane][residue][row][column][image]``, and nothing is computed between rows.
"""

from __future__ import annotations

import functools
from typing import Any

import numpy as np

from mindtorch.kernels.codegen.jit import entry_point, kernel

from ..matrix_products.amx import configure, release
from ..matrix_products.product_tile import address_of
from ..vectors.simd import transpose_block
from .amx_convolution_tiles import (
    COLUMNS,
    PARTS,
    ROWS,
    TERMS,
    TILE,
    multiply,
    split_of,
    write_plane,
)

# what the numbers of a source are, by their places in an array; those of a result follow
(CHANNELS, HEIGHT, WIDTH, STRIDE_Y, STRIDE_X, TOP, LEFT, ROWS_HELD, PITCH, SIZE, PLANE, PART,
 MADE_CHANNELS, MADE_HEIGHT, MADE_WIDTH, APART_Y, APART_X, MADE_PITCH, STEPS, CHUNK,
 ABREAST) = range(21)  # fmt: skip
# those of a job: where its results begin, how many rows and columns, its first and last step
FROM_Y, FROM_X, DOWN, ACROSS, FIRST, LAST = range(6)
BLOCK = 2 * ROWS  # channels of two tiles
_STEP = PARTS * 2 * TILE  # bytes of a step's left or right operand
_INFINITE = np.int32(0x7F800000)
_in_order, _apart = split_of("row"), split_of("row", 0)


def _packing(in_pairs: bool) -> Any:
    kind = "pairs" if in_pairs else "row"
    split, split_second = split_of(kind), split_of(kind, 2)
    channels_of, halves = 1 + in_pairs, 1 + in_pairs
    unit = 2 * halves

    @kernel
    def pack(
        given: Any, x: Any, g: Any, residues: Any, image: int, images: int, row: int, clears: int
    ) -> None:
        """Images from ``image`` on, of residues the rows from ``row`` on. Rows that are beyond the
        image are written if ``clears``, else they are zeros already."""
        channels, height, width, pitch = g[CHANNELS], g[HEIGHT], g[WIDTH], g[PITCH]
        step, rows, area = g[STRIDE_X], g[ROWS_HELD], height * width
        base, source, part = address_of(given), address_of(x), g[PART] * unit
        for j in range((channels + channels_of - 1) // channels_of):
            for f in range(residues.size // 2):
                lag = residues[2 * f + 1]
                first = max((g[LEFT] - lag + step - 1) // step, 0)
                begin = first * step + lag - g[LEFT]
                count = max((width - begin + step - 1) // step, 0)
                for n in range(images):
                    to = j * g[PLANE] + f * g[SIZE] + n * rows * pitch
                    at = ((image + n) * channels + channels_of * j) * area + begin
                    second = 4 * area if channels_of * j + 1 < channels else 0
                    i = 0
                    while i < rows:
                        y = (row + i) * g[STRIDE_Y] + residues[2 * f] - g[TOP]
                        here, together = to + i * pitch, 1
                        if 0 <= y < height:
                            if count == pitch == width and g[STRIDE_Y] == 1:
                                together = min(rows - i, height - y)
                            a = source + 4 * (at + y * width)
                            b = a + second if second else 0
                            if step == 1:
                                split(base + (here + first) * unit, part, a, b, count * together)
                            else:
                                split_second(base + (here + first) * unit, part, a, b, count)
                        elif clears:
                            for p in range(PARTS):
                                line = (p * g[PART] + here) * halves
                                given[line : line + pitch * halves] = 0
                        i += together

    return pack


@kernel
def _turn(lines: Any, to: int, x: Any, at: int, down: int, count: int, images: int) -> None:
    """``lines[pixel][image]`` of ``count`` pixels of images that are ``down`` apart."""
    whole = count // 8 * 8
    for n in range(0, images, 8):
        for p in range(0, whole, 8):
            transpose_block(lines, to + p * images + n, images, x, at + n * down + p, down)
    for p in range(whole, count):
        for n in range(images):
            lines[to + p * images + n] = x[at + n * down + p]


def _packing_abreast(in_pairs: bool) -> Any:
    kind = "pairs" if in_pairs else "row"
    split, channels_of, halves = split_of(kind), 1 + in_pairs, 1 + in_pairs
    unit = 2 * halves

    @kernel
    def pack(
        given: Any, x: Any, lines: Any, g: Any, residues: Any, image: int, row: int, clears: int
    ) -> None:
        """The same for images abreast."""
        channels, height, width, pitch = g[CHANNELS], g[HEIGHT], g[WIDTH], g[PITCH]
        step, rows, area, images = g[STRIDE_X], g[ROWS_HELD], height * width, g[ABREAST]
        part, down = g[PART] * unit, g[STRIDE_Y]
        top = max(row * down - g[TOP], 0)
        bottom = min((row + rows) * down - g[TOP], height)
        second = 4 * area * images
        for j in range((channels + channels_of - 1) // channels_of):
            there = min(channels_of, channels - channels_of * j)
            for c in range(there):
                at = (image * channels + channels_of * j + c) * area + top * width
                _turn(lines, (c * area + top * width) * images, x, at, channels * area,
                      (bottom - top) * width, images)  # fmt: skip
            for f in range(residues.size // 2):
                lag = residues[2 * f + 1]
                first = max((g[LEFT] - lag + step - 1) // step, 0)
                begin = first * step + lag - g[LEFT]
                count = max((width - begin + step - 1) // step, 0)
                for i in range(rows):
                    y = (row + i) * down + residues[2 * f] - g[TOP]
                    here = j * g[PLANE] + f * g[SIZE] + i * pitch * images
                    if 0 <= y < height:
                        to = address_of(given) + (here + first * images) * unit
                        a = address_of(lines) + 4 * (y * width + begin) * images
                        b = a + second if there == 2 else 0
                        if step == 1:
                            split(to, part, a, b, count * images)
                        else:
                            for q in range(count):
                                ahead = 4 * q * step * images
                                other = b + ahead if b else 0
                                split(to + q * images * unit, part, a + ahead, other, images)
                    elif clears:
                        for p in range(PARTS):
                            line = (p * g[PART] + here) * halves
                            given[line : line + pitch * images * halves] = 0

    return pack


_pack_pairs, _pack_halves = _packing(True), _packing(False)
_pack_pairs_abreast, _pack_halves_abreast = _packing_abreast(True), _packing_abreast(False)


@kernel
def _pack_weight(
    packed: Any, weight: Any, held: Any, terms: Any, taps: Any, rows: int, channels: int,
    row_step: int, term_step: int, first: int, last: int,
) -> None:  # fmt: skip
    """Blocks of channels ``[block][step][part][tile][row][term]``; of step ``k`` the terms are the
    channels from ``terms[k]`` on at place ``taps[k]``. Where terms are further apart than rows, a
    block's numbers are copied to ``held`` first: there they do not share cache sets."""
    steps, pitch = terms.size, held.size // TERMS
    for block in range(first, last):
        down, begin = min(BLOCK, rows - block * BLOCK), 0
        while begin < steps:
            end = begin
            while end < steps and terms[end] == terms[begin]:
                end += 1
            count = min(channels - terms[begin], TERMS)
            at, apart = block * BLOCK * row_step + terms[begin] * term_step, term_step
            source = address_of(weight)
            if pitch:
                for term in range(count):
                    line = at + term * term_step
                    held[term * pitch : term * pitch + down * row_step] = weight[
                        line : line + down * row_step
                    ]
                source, at, apart = address_of(held), 0, pitch
            for r in range(down):
                to = address_of(packed) + (block * steps + begin) * _STEP + r * 2 * TERMS
                for k in range(begin, end):
                    place = source + 4 * (at + r * row_step + taps[k])
                    if apart == 1:
                        _in_order(to, 2 * TILE, place, 0, count)
                    else:
                        _apart(to, 2 * TILE, place, 4 * apart, count)
                    to += _STEP
            begin = end


@kernel
def _write(
    out: Any, made: Any, bias: Any, g: Any, first_block: int, last_block: int, image: int,
    images: int, start: int, rows: int, across: int,
) -> Any:  # fmt: skip
    """Blocks of channels of results from element ``start`` of their planes on; the largest
    exponent."""
    channels, width, apart = g[MADE_CHANNELS], g[MADE_WIDTH], g[APART_X]
    area, down = g[MADE_HEIGHT] * width, g[APART_Y] * width
    count, pitch, abreast = across, g[PITCH], g[ABREAST]
    size = rows * across * abreast
    if abreast == 1 and across == width == pitch and g[APART_Y] == 1 and apart == 1:
        rows, count = 1, rows * across
    worst = np.int32(0)
    for channel in range(first_block * BLOCK, min(last_block * BLOCK, channels)):
        source = (channel - first_block * BLOCK) * g[MADE_PITCH]
        if abreast > 1:
            address = address_of(made) + 4 * source
            worst = max(worst, write_plane(address, 0, address, 0, 1, size, bias[channel], 1))
            plane = (image * channels + channel) * area + start
            _turn_back(out, plane, channels * area, down, apart, made, source, rows, across,
                       abreast)  # fmt: skip
            continue
        for n in range(images):
            plane = ((image + n) * channels + channel) * area + start
            at = source + n * g[ROWS_HELD] * pitch
            found = write_plane(
                address_of(out) + 4 * plane, 4 * down, address_of(made) + 4 * at, 4 * pitch, rows,
                count, bias[channel], apart,
            )  # fmt: skip
            worst = max(worst, found)
    return worst


@kernel
def _turn_back(
    out: Any, to: int, image_step: int, down: int, apart: int, made: Any, at: int, rows: int,
    across: int, images: int,
) -> None:  # fmt: skip
    """Rows of planes from ``made[pixel][image]``."""
    if down == across and apart == 1:
        rows, across = 1, rows * across
    whole = across // 8 * 8 if apart == 1 else 0
    for n in range(0, images, 8):
        for i in range(rows):
            line, source = to + n * image_step + i * down, at + i * across * images + n
            for p in range(0, whole, 8):
                transpose_block(out, line + p, image_step, made, source + p * images, images)
            for q in range(8 if whole < across else 0):
                for p in range(whole, across):
                    out[line + q * image_step + p * apart] = made[source + p * images + q]


@kernel
def _multiply_blocks(
    packed: Any, given: Any, made: Any, scratch: Any, g: Any, lefts: Any, rights: Any, first: int,
    count: int, segments: int, columns: int, begins: int, first_block: int, last_block: int,
) -> None:  # fmt: skip
    """``count`` steps of some blocks of channels, for segments of ``columns`` columns each."""
    down, part, pitch = 4 * g[PLANE], 4 * g[PART], 4 * g[MADE_PITCH]
    table, steps, room = address_of(lefts), address_of(rights) + 8 * first, address_of(scratch)
    tiles = (columns + COLUMNS - 1) // COLUMNS
    for block in range(first_block, last_block):
        high = 1 + (g[MADE_CHANNELS] - block * BLOCK > ROWS)
        left = address_of(packed) + (block * g[STEPS] + first) * _STEP
        line = address_of(made) + (block - first_block) * BLOCK * pitch
        for s in range(segments):
            right = address_of(given) + 4 * s * g[PITCH] * g[ABREAST]
            for c in range(0, tiles, 2):
                here, to = right + c * 4 * COLUMNS, line + 4 * (s * columns + c * COLUMNS)
                multiply(high, min(2, tiles - c), left, table, 2 * TILE, TILE, 2 * TERMS, here,
                         steps, part, 4 * COLUMNS, down, count, to, pitch, room,
                         begins)  # fmt: skip


@kernel
def _correlate(
    out: Any, x: Any, packed: Any, bias: Any, given: Any, lines: Any, made: Any, scratch: Any,
    g: Any, residues: Any, jobs: Any, lefts: Any, rights: Any, image: int, images: int,
    first_row: int, last_row: int, clears: int, first_block: int, last_block: int,
) -> Any:  # fmt: skip
    """Rows ``first_row`` to ``last_row`` of the results of some images, for some blocks of
    channels; whether all of them are finite."""
    chunk, abreast = g[CHUNK], g[ABREAST]
    if abreast > 1:
        _pack_pairs_abreast(given, x, lines, g, residues, image, first_row, clears)
    else:
        _pack_pairs(given, x, g, residues, image, images, first_row, clears)
    worst = np.int32(0)
    configure()
    for j in range(len(jobs)):
        rows, across = min(last_row, jobs[j, DOWN]) - first_row, jobs[j, ACROSS]
        if rows <= 0:
            continue
        segments, columns = rows, across * abreast
        if abreast == 1:
            segments = 1
            columns = ((images - 1) * g[ROWS_HELD] + rows - 1) * g[PITCH] + across
        for k in range(jobs[j, FIRST], jobs[j, LAST], chunk):
            count, begins = min(chunk, jobs[j, LAST] - k), k == jobs[j, FIRST]
            _multiply_blocks(packed, given, made, scratch, g, lefts, rights, k, count, segments,
                             columns, begins, first_block, last_block)  # fmt: skip
        start = (jobs[j, FROM_Y] + first_row * g[APART_Y]) * g[MADE_WIDTH] + jobs[j, FROM_X]
        found = _write(out, made, bias, g, first_block, last_block, image, images, start, rows,
                       across)  # fmt: skip
        worst = max(worst, found)
    release()
    return worst < _INFINITE


@kernel
def _pack_slopes(
    turned: Any, words: Any, halves: Any, lines: Any, slopes: Any, g: Any, image: int, images: int,
    first_row: int, last_row: int, steps: int,
) -> None:  # fmt: skip
    """Results' slopes at the places of the source's pixels, 0 between rows:
    ``turned[step][part][tile][pair of pixels][channel]``. Of images abreast pairs are of these, and
    there is nothing between rows. ``words`` are the memory of ``halves``."""
    channels, width, abreast = g[MADE_CHANNELS], g[MADE_WIDTH], g[ABREAST]
    rows, pitch, tiles = g[ROWS_HELD], g[PITCH], (channels + BLOCK - 1) // BLOCK * 2
    length = halves.size // (PARTS * ROWS)  # halves of a line, two to a word
    if abreast == 1:
        halves[:] = 0
    down, together = last_row - first_row, 1
    if width == pitch:
        down, together = 1, last_row - first_row
    for t in range(tiles):
        there = max(min(ROWS, channels - t * ROWS), 0)
        for r in range(there):
            if abreast > 1:
                at = (image * channels + t * ROWS + r) * g[MADE_HEIGHT] * width + first_row * width
                count = (last_row - first_row) * width
                _turn(lines, 0, slopes, at, channels * g[MADE_HEIGHT] * width, count, abreast)
                _in_order(address_of(halves) + 2 * r * length, 2 * ROWS * length,
                          address_of(lines), 0, count * abreast)  # fmt: skip
                continue
            for n in range(images):
                plane = ((image + n) * channels + t * ROWS + r) * g[MADE_HEIGHT] * width
                for i in range(down):
                    to = r * length + (n * rows + i) * pitch
                    at = plane + (first_row + i) * width
                    _in_order(address_of(halves) + 2 * to, 2 * ROWS * length,
                              address_of(slopes) + 4 * at, 0, width * together)  # fmt: skip
        for k in range(steps):
            for p in range(PARTS):
                to = ((k * PARTS + p) * tiles + t) * ROWS * COLUMNS
                at = p * ROWS * (length // 2) + k * ROWS
                for r in range(0, ROWS, 8):
                    for c in range(0, ROWS, 8):
                        transpose_block(turned, to + c * COLUMNS + r, COLUMNS, words,
                                        at + r * (length // 2) + c, length // 2)  # fmt: skip


@kernel
def _sum_weights(
    sums: Any, slopes: Any, x: Any, given: Any, lines: Any, turned: Any, words: Any, halves: Any,
    scratch: Any, g: Any, residues: Any, taps: Any, lefts: Any, rights: Any, image: int,
    images: int, first_row: int, last_row: int, clears: int, begins: int,
) -> None:  # fmt: skip
    """Add the share of some rows of results to ``[block][channel given][tap][channel made]``; if
    ``begins``, what is there does not count."""
    if g[ABREAST] > 1:
        _pack_halves_abreast(given, x, lines, g, residues, image, first_row, clears)
    else:
        _pack_halves(given, x, g, residues, image, images, first_row, clears)
    channels, inner, count = g[MADE_CHANNELS], g[CHANNELS], taps.size
    blocks, inner_blocks = (channels + BLOCK - 1) // BLOCK, (inner + BLOCK - 1) // BLOCK
    places = ((images - 1) * g[ROWS_HELD] + last_row - first_row) * g[PITCH]
    steps = (places + TERMS - 1) // TERMS
    if g[ABREAST] > 1:
        steps = (last_row - first_row) * g[MADE_WIDTH]
    _pack_slopes(turned, words, halves, lines, slopes, g, image, images, first_row, last_row, steps)
    table, other_table, room = address_of(lefts), address_of(rights), address_of(scratch)
    part, line, down = 2 * g[PART], 2 * g[PLANE], 4 * BLOCK * count
    slope_part = 2 * blocks * TILE
    configure()
    for k in range(0, steps, g[CHUNK]):
        number, is_first = min(g[CHUNK], steps - k), begins and k == 0
        for block in range(blocks):
            wide = 1 + (channels - block * BLOCK > ROWS)
            right = address_of(turned) + k * PARTS * slope_part + 2 * block * TILE
            for c in range(inner_blocks):
                high = 1 + (inner - c * BLOCK > ROWS)
                left, steps_here = address_of(given) + c * BLOCK * line, table + 8 * k
                out = (block * inner_blocks + c) * BLOCK * count * BLOCK
                out = address_of(sums) + 4 * out
                for t in range(count):
                    multiply(high, wide, left + 2 * taps[t], steps_here, part, ROWS * line, line,
                             right, other_table, slope_part, TILE, 4 * COLUMNS, number,
                             out + 4 * t * BLOCK, down, room, is_first)  # fmt: skip
    release()


class Loops:
    """The compiled loops, called without checks of types."""

    @functools.cached_property
    def pack_weight(self) -> Any:
        kinds = "uint8[::1], float32[::1], float32[::1], int64[::1], int64[::1]"
        return entry_point(_pack_weight, f"void({kinds}{', int64' * 6})")

    @functools.cached_property
    def correlate(self) -> Any:
        kinds = (
            "float32[::1], float32[::1], uint8[::1], float32[::1], int16[::1], float32[::1], "
            "float32[::1], uint8[::1], int64[::1], int64[::1], int64[:, ::1], int64[::1], "
            "int64[::1]"
        )
        return entry_point(_correlate, f"boolean({kinds}{', int64' * 7})")

    @functools.cached_property
    def sum_weights(self) -> Any:
        kinds = (
            "float32[::1], float32[::1], float32[::1], int16[::1], float32[::1], float32[::1], "
            "float32[::1], int16[::1], uint8[::1], int64[::1], int64[::1], int64[::1], int64[::1], "
            "int64[::1]"
        )
        return entry_point(_sum_weights, f"void({kinds}{', int64' * 6})")


@functools.cache
def loops() -> Loops:
    """The loops."""
    return Loops()
