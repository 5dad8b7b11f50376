"""The loops of matrix products over register tiles: blocks of depth, panels of columns, threads'
shares, batches."""

from __future__ import annotations

import functools
from typing import Any

import numpy as np

from mindtorch.kernels.codegen.jit import entry_point, kernel

from ..vectors.simd import transpose_block
from ..vectors.turned_lines import turn_of, turned_terms
from .denormal_operands import BACK, scale_of
from .product_tile import (
    address_of,
    copy_lanes_of,
    dots_of,
    dots_shape,
    heights,
    tile_shape,
    tiles_of,
)

LINE = 64  # bytes of a cache line, where packed panels begin
# what a product's numbers are, by their places in an array; sizes and steps of a batch follow
(M, N, K, A_DOWN, A_ALONG, B_DOWN, B_ALONG, START_DOWN, OFFSET, FORM, LEFT, DEPTH, BREADTH,
 DIVIDED, UNIT, AXES) = range(16)  # fmt: skip
# how the left operand is packed, if at all: term by term for the rows of tiles, and scaled
TURNED, SCALED = 1, 2
# forms: the right operand is read as it lies, or packed before, or its columns are spread
DOTS, READ, PACKED, SWAPPED = 0, 1, 2, 3
_ROWS = 8  # of a left operand packed for a tile
_PACKED_ROWS = 64  # of it that are packed at a time
_AHEAD = 8  # terms
COLUMNS, ROWS, BATCH = 0, 1, 2  # what a share of a thread is made of


def _pack_rows(lanes: int) -> Any:
    copy, copy_some = (copy_lanes_of(lanes, whole) for whole in (True, False))

    @kernel
    def pack(
        packed: Any, to: int, b: Any, at: int, down: int, columns: int, panels: int, narrow: int,
        wider: int, count: int,
    ) -> None:  # fmt: skip
        """Panels of rows that are in order, row by row, so that a page of memory is visited once.
        """
        for q in range(count):
            panel_at, done = to, 0
            for p in range(panels):
                room = (narrow + (p < wider)) * lanes
                begin = panel_at + q * room - done
                end = done + room
                while done < end:
                    if done + lanes <= columns:
                        copy(packed, begin + done, b, at + done, lanes, down)
                    else:
                        copy_some(packed, begin + done, b, at + done, columns - done, down)
                    done += lanes
                panel_at += room * count
            at += down

    return pack


def _pack_left() -> Any:
    copy, copy_some = (copy_lanes_of(_ROWS, whole) for whole in (True, False))

    @kernel
    def pack(packed: Any, a: Any, at: int, along: int, rows: int, count: int) -> None:
        """Rows of some tiles of a matrix whose columns are in order, term by term for each: lines
        of memory side by side. Those of a later term are fetched meanwhile."""
        even, ahead = rows // _ROWS * _ROWS, _AHEAD * along
        for q in range(count):
            to, begin = q * _ROWS, at + q * along
            for r in range(0, even, _ROWS):
                copy(packed, to + r * count, a, begin + r, _ROWS, ahead)
            if even < rows:
                copy_some(packed, to + even * count, a, begin + even, rows - even, 0)

    return pack


def _pack_columns(width: int, dtype: Any) -> Any:
    turn, terms = turn_of(width, dtype), turned_terms(dtype)

    @kernel
    def pack(
        packed: Any, to: int, b: Any, at: int, down: int, across: int, columns: int, room: int,
        count: int,
    ) -> None:  # fmt: skip
        """``packed[to + q * room + j] = b[at + q * down + j * across]``, 0 from ``columns`` on."""
        even, whole, full = 0, 0, columns // width * width
        if down == 1:
            even, whole = columns // 8 * 8, count // terms * terms
        for j in range(0, even, width):
            for q in range(0, whole if j < full else 0, terms):
                turn(packed, to + q * room + j, room, b, at + j * across + q, across)
        for j in range(full, even, 8):  # where 8 are less than a vector
            for q in range(0, whole, 8):
                transpose_block(packed, to + q * room + j, room, b, at + j * across + q, across)
        for q in range(count):
            for j in range(even if q < whole else 0, room):
                value = packed.dtype.type(0)
                if j < columns:
                    value = b[np.uint64(at + q * down + j * across)]
                packed[np.uint64(to + q * room + j)] = value

    return pack


@kernel
def _left_room(g: Any, out: Any) -> Any:
    """Memory for rows of the left operand, where they are packed, and the factor of sums."""
    room = np.empty(_PACKED_ROWS * g[DEPTH] if g[LEFT] else 0, out.dtype)
    return room, out.dtype.type(BACK if g[LEFT] & SCALED else 1)


@kernel
def _copy_rows(
    packed: Any, a: Any, at: int, down: int, along: int, rows: int, count: int
) -> None:
    for r in range(rows):
        row, begin = packed[r * count : (r + 1) * count], at + r * down
        if along == 1:
            source = a[begin : begin + count]
            for q in range(count):
                row[q] = source[q]
        else:
            for q in range(count):
                row[q] = a[np.uint64(begin + q * along)]


def _left_of(dtype: Any) -> Any:
    pack_left, scale, size = _pack_left(), scale_of(dtype), dtype.itemsize

    @kernel
    def left_of(
        packed: Any, a: Any, at: int, g: Any, i: int, packed_row: int, m: int, count: int
    ) -> Any:
        """Where a tile finds its rows of the left operand, which are packed if they are to be, and
        their steps; the first row that is packed."""
        if not g[LEFT]:
            return address_of(a) + at * size, g[A_DOWN], g[A_ALONG], packed_row
        turned = g[LEFT] & TURNED
        if i >= packed_row + _PACKED_ROWS or (i - packed_row) % _ROWS:
            packed_row, rows = i, min(m - i, _PACKED_ROWS)
            if turned:
                pack_left(packed, a, at, g[A_ALONG], rows, count)
            else:
                _copy_rows(packed, a, at, g[A_DOWN], g[A_ALONG], rows, count)
            if g[LEFT] & SCALED:
                scale(packed[: (rows + _ROWS - 1) // _ROWS * _ROWS * count])
        place = address_of(packed) + (i - packed_row) * count * size
        return place, (1 if turned else count), (_ROWS if turned else 1), packed_row

    return left_of


@kernel
def share(g: Any, first: int, last: int, i: int) -> Any:
    """Where product ``i`` of some shares has its result, operands and start; its rows, columns."""
    m, n, begin = g[M], g[N], first * g[UNIT]
    if g[DIVIDED] == COLUMNS:
        columns = min(last * g[UNIT], n) - begin
        return begin, 0, begin * g[B_ALONG], begin * g[OFFSET], m, columns
    if g[DIVIDED] == ROWS:
        rows = min(last * g[UNIT], m) - begin
        return begin * n, begin * g[A_DOWN], 0, begin * g[START_DOWN], rows, n
    rest, a_at, b_at, axes = first + i, 0, 0, g[AXES]
    out_at = rest * m * n
    for axis in range(AXES + axes, AXES, -1):
        size = g[axis]
        a_at += rest % size * g[axis + axes]
        b_at += rest % size * g[axis + 2 * axes]
        rest //= size
    return out_at, a_at, b_at, 0, m, n


@kernel
def next_block(
    g: Any, begin: int, size: int, n: int, q: int, v0: int, width: int
) -> Any:
    """Of the block of the right operand that follows one: its address, how many bytes of a row or
    column, whichever are in order, fall on a term, how many of these there are, how far apart."""
    q += g[DEPTH]
    if q >= g[K]:
        q, v0 = 0, v0 + g[BREADTH]
    columns, count = min(g[BREADTH] * width, n - v0 * width), min(g[DEPTH], g[K] - q)
    if columns <= 0 or g[DIVIDED] == BATCH:
        return begin, 0, 0, 0
    at = q * g[B_DOWN] + v0 * width * g[B_ALONG]
    if g[B_ALONG] == 1:
        return begin + at * size, columns * size // g[DEPTH], count, g[B_DOWN] * size
    return begin + at * size, size, columns, g[B_ALONG] * size


def pack_panel_of(width: int, dtype: Any) -> Any:
    """The kernel that packs a panel of a right operand."""
    pack_rows, pack_columns = _pack_rows(width), _pack_columns(width, dtype)

    @kernel
    def pack(
        packed: Any, to: int, b: Any, at: int, down: int, across: int, columns: int, wide: int,
        count: int,
    ) -> None:  # fmt: skip
        """One panel of ``wide`` vectors."""
        if across == 1:
            pack_rows(packed, to, b, at, down, columns, 1, wide, 0, count)
        else:
            pack_columns(packed, to, b, at, down, across, columns, wide * width, count)

    return pack


def _tiles(rows: int, vectors: int, width: int, dtype: Any) -> Any:
    tile, size = tiles_of(rows, vectors, width, dtype), dtype.itemsize
    pack_rows, pack_panel = _pack_rows(width), pack_panel_of(width, dtype)
    left_of, line, height = _left_of(dtype), LINE // size, np.array(heights(rows))

    @kernel
    def tiles(out: Any, a: Any, b: Any, start: Any, g: Any, first: int, last: int) -> None:
        """Products whose columns lie along the vectors."""
        k, pitch, depth, breadth = g[K], g[N], g[DEPTH], g[BREADTH]
        a_down, a_along, b_down, b_along = g[A_DOWN], g[A_ALONG], g[B_DOWN], g[B_ALONG]
        packs, by_rows = g[FORM] == PACKED, g[FORM] == PACKED and b_along == 1
        held_columns = breadth if packs else vectors * (g[N] % width > 0)  # a rest is packed
        packed = np.empty(held_columns * depth * width + line, out.dtype)
        lefts, factor = _left_room(g, out)
        aligned = -address_of(packed) % LINE // size
        out_data, b_data = address_of(out), address_of(b)
        start_data, packed_data = address_of(start), address_of(packed)
        for number in range(last - first if g[DIVIDED] == BATCH else 1):
            out_at, a_at, b_at, start_at, m, n = share(g, first, last, number)
            across, begin = (n + width - 1) // width, b_data + b_at * size
            for v0 in range(0, across, breadth):
                panels = (min(breadth, across - v0) + vectors - 1) // vectors
                narrow, wider = divmod(min(breadth, across - v0), panels)
                for q in range(0, k, depth):
                    count, i, packed_row = min(depth, k - q), 0, -_PACKED_ROWS
                    soon, soon_step, pieces, apart = next_block(g, begin, size, n, q, v0, width)
                    if by_rows:
                        pack_rows(packed, aligned, b, b_at + q * b_down + v0 * width, b_down,
                                  n - v0 * width, panels, narrow, wider, count)
                    while i < m:
                        high, j, packed_at = height[min(m - i, 2 * rows)], v0 * width, aligned
                        target = out_data + (out_at + i * pitch + j) * size
                        held, held_down = target, pitch
                        if not q:
                            held_down = g[START_DOWN]
                            held = start_data + (start_at + i * held_down + j * g[OFFSET]) * size
                        left_at = a_at + i * a_down + q * a_along
                        left, left_down, left_along, packed_row = left_of(
                            lefts, a, left_at, g, i, packed_row, m, count)  # fmt: skip
                        for p in range(panels):
                            room = (narrow + (p < wider)) * width
                            columns, at = min(room, n - j), b_at + q * b_down + j * b_along
                            right, right_down = b_data + at * size, b_down
                            if packs or columns < room:
                                if i == 0 and not by_rows:
                                    pack_panel(packed, packed_at, b, at, b_down, b_along, columns,
                                               room // width, count)  # fmt: skip
                                right, right_down = packed_data + packed_at * size, room
                                packed_at += room * count
                            has_row = a_along == 1 and not g[LEFT] and i + high + p < m
                            below = left + (high + p) * a_down * size * has_row
                            tile(high, room // width, count, left, left_down, left_along, right,
                                 right_down, target, pitch, columns, held, held_down, below,
                                 size * has_row, soon, soon_step, factor)  # fmt: skip
                            soon, pieces = soon + apart * (pieces > 1), pieces - 1
                            j, target = j + room, target + room * size
                            held += room * size if q or g[OFFSET] else 0
                        i += high

    return tiles


def _dots(width: int) -> Any:
    rows, columns = dots_shape(width)
    dot = dots_of(width)

    @kernel
    def dots(out: Any, a: Any, b: Any, start: Any, g: Any, first: int, last: int) -> None:
        """Products whose terms lie along the vectors."""
        made = np.empty(width, out.dtype)
        for number in range(last - first if g[DIVIDED] == BATCH else 1):
            out_at, a_at, b_at, start_at, m, n = share(g, first, last, number)
            for j in range(0, n, columns):
                across = min(columns, n - j)
                for i in range(0, m, rows):
                    down = min(rows, m - i)
                    dot(made, a, a_at + i * g[A_DOWN], g[A_DOWN], down, b, b_at + j * g[B_ALONG],
                        g[B_ALONG], across, g[K])
                    for r in range(down):
                        at = out_at + (i + r) * g[N] + j
                        for c in range(across):
                            begin = start_at + (i + r) * g[START_DOWN]
                            offset = start[begin + (j + c) * g[OFFSET]]
                            out[at + c] = offset + made[r * columns + c]

    return dots


@functools.cache
def product(dtype: Any, vector: int, by_lanes: bool) -> Any:
    """``run(out, a, b, start, numbers, first, last)``: shares of products ``out = a @ b + start``.

    Args:
        dtype: the elements' type; arrays are flat.
        vector: bytes of a vector.
        by_lanes: whether in the form of dots. ``numbers`` are in the order of the names above.
    """
    width = vector // dtype.itemsize
    if by_lanes:
        loop = _dots(width)
    else:
        loop = _tiles(*tile_shape(vector), width, dtype)
    arrays = ", ".join([f"{dtype.name}[::1]"] * 4)
    return entry_point(loop, f"void({arrays}, int64[::1], int64, int64)")
