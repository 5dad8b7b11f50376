"""The loop of matrix products whose transposed result is computed: rows of the left operand lie
along the vectors.

Packing a transposed right operand, as a layer's weight is, takes as long as 8 to 30 rows of the
product. Here the left operand, of which there is less, is packed in its place; columns of the right
one are read as they lie, as other forms read their left operand's rows, and some columns of the
result at a time are turned over on the way to memory. Sums have the same terms in the same order.
"""

from __future__ import annotations

import functools
import math
from typing import Any

import numpy as np

from mindtorch.kernels.codegen.jit import entry_point, kernel

from ..vectors.turned_lines import turn_of, turned_terms
from .denormal_operands import BACK, scale_of
from .product_loops import (
    A_ALONG,
    A_DOWN,
    B_ALONG,
    BATCH,
    BREADTH,
    DEPTH,
    DIVIDED,
    LEFT,
    LINE,
    OFFSET,
    SCALED,
    START_DOWN,
    K,
    N,
    pack_panel_of,
    share,
)
from .product_tile import address_of, tile_shape, tiles_of


@kernel
def _begin(
    made: Any, pitch: int, start: Any, at: int, down: int, offset: int, columns: int, rows: int
) -> None:
    """What products are added to: ``made[c * pitch + r] = start[at + r * down + c * offset]``."""
    for c in range(columns):
        line, begin = made[c * pitch : c * pitch + rows], at + c * offset
        for r in range(rows):
            line[r] = start[np.uint64(begin + r * down)]


@kernel
def _copy_columns(held: Any, b: Any, at: int, along: int, rows: int, columns: int, k: int) -> None:
    """``rows`` columns of a right operand, of which there are ``columns``: the last one stands for
    those beyond."""
    for r in range(rows):
        begin = at + min(r, columns - 1) * along
        line, column = held[r * k : (r + 1) * k], b[begin : begin + k]
        for q in range(k):
            line[q] = column[q]


def _write_of(width: int, dtype: Any) -> Any:
    turn, terms = turn_of(width, dtype), turned_terms(dtype)

    @kernel
    def write(
        out: Any, at: int, pitch: int, made: Any, held: int, square: Any, rows: int, columns: int
    ) -> None:
        """``out[at + r * pitch + c] = made[c * held + r]``, for so many rows and columns."""
        for c in range(0, columns, width):
            for r in range(0, rows, terms):
                if c + width <= columns and r + terms <= rows:
                    turn(out, at + r * pitch + c, pitch, made, c * held + r, held)
                    continue
                turn(square, 0, width, made, c * held + r, held)
                for i in range(min(terms, rows - r)):
                    to = at + (r + i) * pitch + c
                    for j in range(min(width, columns - c)):
                        out[np.uint64(to + j)] = square[np.uint64(i * width + j)]

    return write


def _pack_of(width: int, dtype: Any) -> Any:
    pack_panel, scale = pack_panel_of(width, dtype), scale_of(dtype)

    @kernel
    def pack(
        packed: Any, begun: int, a: Any, at: int, g: Any, rows: int, panels: int, narrow: int,
        wider: int,
    ) -> None:  # fmt: skip
        """Some rows of the left operand, scaled if they are to be: for each block of terms its
        panels of ``narrow`` vectors, the first ones being ``wider``."""
        to, k, depth = begun, g[K], g[DEPTH]
        for q in range(0, k, depth):
            count, i = min(depth, k - q), 0
            for p in range(panels):
                wide = narrow + (p < wider)
                pack_panel(packed, to, a, at + q * g[A_ALONG] + i * g[A_DOWN], g[A_ALONG],
                           g[A_DOWN], min(wide * width, rows - i), wide, count)  # fmt: skip
                to += wide * width * count
                i += wide * width
        if g[LEFT] & SCALED:
            scale(packed[begun:to])

    return pack


def _loop(rows: int, vectors: int, width: int, dtype: Any) -> Any:
    tile, pack = tiles_of(rows, vectors, width, dtype, rows), _pack_of(width, dtype)
    write, terms, size = _write_of(width, dtype), turned_terms(dtype), dtype.itemsize
    chunk = math.lcm(rows, width)  # columns of the result that are computed at a time

    @kernel
    def swapped(out: Any, a: Any, b: Any, start: Any, g: Any, first: int, last: int) -> None:
        k, pitch, depth, breadth, b_along = g[K], g[N], g[DEPTH], g[BREADTH], g[B_ALONG]
        held = (breadth * width + terms - 1) // terms * terms
        packed = np.empty(breadth * width * k + LINE // size, out.dtype)
        made, square = np.empty(chunk * held, out.dtype), np.empty(terms * width, out.dtype)
        rest = np.empty(rows * k if g[N] % rows else 0, out.dtype)
        begun = -address_of(packed) % LINE // size
        packed_data, made_data, b_data = address_of(packed), address_of(made), address_of(b)
        factor = out.dtype.type(BACK if g[LEFT] & SCALED else 1)
        for number in range(last - first if g[DIVIDED] == BATCH else 1):
            out_at, a_at, b_at, start_at, m, n = share(g, first, last, number)
            across = (m + width - 1) // width
            for v0 in range(0, across, breadth):
                row, some = v0 * width, min(breadth, across - v0)
                panels, down = (some + vectors - 1) // vectors, min(some * width, m - row)
                narrow, wider = divmod(some, panels)
                pack(packed, begun, a, a_at + row * g[A_DOWN], g, down, panels, narrow, wider)
                for j in range(0, n, rows):
                    i = j % chunk
                    if i == 0:
                        _begin(made, held, start, start_at + row * g[START_DOWN] + j * g[OFFSET],
                               g[START_DOWN], g[OFFSET], min(chunk, n - j), down)  # fmt: skip
                    line, line_step = b_data + (b_at + j * b_along) * size, b_along
                    later = line + rows * b_along * size  # columns that are computed next
                    if n - j < rows:
                        _copy_columns(rest, b, b_at + j * b_along, b_along, rows, n - j, k)
                        line, line_step = address_of(rest), k
                    right = packed_data + begun * size
                    for q in range(0, k, depth):
                        count, target = min(depth, k - q), made_data + i * held * size
                        for p in range(panels):
                            room = (narrow + (p < wider)) * width
                            below = later + (q + p * count // panels) * rows * size
                            tile(rows, room // width, count, line + q * size, line_step, 1, right,
                                 room, target, held, room, target, held, below,
                                 rows * size // panels, below, 0, factor)  # fmt: skip
                            right += room * count * size
                            target += room * size
                    i += rows
                    if i == chunk or j + rows >= n:
                        write(out, out_at + row * pitch + j + rows - i, pitch, made, held, square,
                              down, min(i, n - j - rows + i))  # fmt: skip

    return swapped


@functools.cache
def product(dtype: Any, vector: int) -> Any:
    """:func:`.product_loops.product`, for right operands whose columns are in order; ``BREADTH`` is
    in vectors of rows of the left operand."""
    loop = _loop(*tile_shape(vector), vector // dtype.itemsize, dtype)
    arrays = ", ".join([f"{dtype.name}[::1]"] * 4)
    return entry_point(loop, f"void({arrays}, int64[::1], int64, int64)")
