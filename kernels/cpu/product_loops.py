"""The loops of matrix products over register tiles: blocks of depth, panels of columns, threads'
shares, batches."""

from __future__ import annotations

import functools
from typing import Any

import numpy as np

from mindtorch.kernels.codegen.jit import entry_point, kernel

from .product_tile import (
    address_of,
    copy_lanes_of,
    dots_of,
    dots_shape,
    heights,
    tile_shape,
    tiles_of,
)
from .simd import transpose_block

_LINE = 64  # bytes of a cache line, where packed panels begin
# what a product's numbers are, by their places in an array; sizes and steps of a batch follow
M, N, K, A_DOWN, A_ALONG, B_DOWN, B_ALONG, OFFSET, FORM, DEPTH, BREADTH, DIVIDED, UNIT, AXES = (
    range(14)
)
DOTS, READ, PACKED = 0, 1, 2  # forms: the right operand is read as it lies, or packed before
COLUMNS, ROWS, BATCH = 0, 1, 2  # what a share of a thread is made of


def _pack(lanes: int) -> Any:
    copy = copy_lanes_of(lanes)

    @kernel
    def pack(
        packed: Any, to: int, b: Any, at: int, down: int, across: int, columns: int, width: int,
        count: int,
    ) -> None:  # fmt: skip
        """``packed[to + q * width + j] = b[at + q * down + j * across]``, 0 from ``columns`` on."""
        if across == 1:
            for q in range(count):
                for j in range(0, width, lanes):
                    copy(packed, to + q * width + j, b, at + q * down + j, columns - j)
            return
        even, whole = 0, 0
        if down == 1:
            even, whole = columns // 8 * 8, count // 8 * 8
        for j in range(0, even, 8):
            for q in range(0, whole, 8):
                transpose_block(packed, to + q * width + j, width, b, at + j * across + q, across)
        for q in range(count):
            for j in range(even if q < whole else 0, width):
                value = packed.dtype.type(0)
                if j < columns:
                    value = b[np.uint64(at + q * down + j * across)]
                packed[np.uint64(to + q * width + j)] = value

    return pack


@kernel
def _share(g: Any, first: int, last: int, i: int) -> Any:
    """Where product ``i`` of some shares has its result, operands and bias; its rows, columns."""
    m, n, begin = g[M], g[N], first * g[UNIT]
    if g[DIVIDED] == COLUMNS:
        columns = min(last * g[UNIT], n) - begin
        return begin, 0, begin * g[B_ALONG], begin * g[OFFSET], m, columns
    if g[DIVIDED] == ROWS:
        return begin * n, begin * g[A_DOWN], 0, 0, min(last * g[UNIT], m) - begin, n
    rest, a_at, b_at, axes = first + i, 0, 0, g[AXES]
    out_at = rest * m * n
    for axis in range(AXES + axes, AXES, -1):
        size = g[axis]
        a_at += rest % size * g[axis + axes]
        b_at += rest % size * g[axis + 2 * axes]
        rest //= size
    return out_at, a_at, b_at, 0, m, n


def _tiles(rows: int, vectors: int, width: int, line: int) -> Any:
    tile, pack = tiles_of(rows, vectors, width), _pack(width)
    height = np.array(heights(rows))

    @kernel
    def tiles(out: Any, a: Any, b: Any, start: Any, g: Any, first: int, last: int) -> None:
        """Products whose columns lie along the vectors."""
        k, pitch, depth, breadth = g[K], g[N], g[DEPTH], g[BREADTH]
        a_down, a_along, b_down, b_along = g[A_DOWN], g[A_ALONG], g[B_DOWN], g[B_ALONG]
        packs = g[FORM] == PACKED
        packed = np.empty(breadth * depth * width + line if packs else 0, out.dtype)
        aligned = -address_of(packed) % _LINE // packed.itemsize
        right, right_at, right_down = b, 0, b_down
        if packs:
            right = packed
        for number in range(last - first if g[DIVIDED] == BATCH else 1):
            out_at, a_at, b_at, start_at, m, n = _share(g, first, last, number)
            across = (n + width - 1) // width
            for v0 in range(0, across, breadth):
                strip = min(breadth, across - v0)
                panels = (strip + vectors - 1) // vectors
                narrow, wider = strip // panels, strip % panels
                for q in range(0, k, depth):
                    count = min(depth, k - q)
                    held, held_down, i = start, 0, 0
                    if q:
                        held, held_down = out, pitch
                    while i < m:
                        high, j = height[min(m - i, 2 * rows)], v0 * width
                        at, left_at = out_at + i * pitch + j, a_at + i * a_down + q * a_along
                        held_at, packed_at = at if q else start_at + j * g[OFFSET], aligned
                        for p in range(panels):
                            wide = narrow + (p < wider)
                            room = wide * width
                            columns = min(room, n - j)
                            right_at = b_at + q * b_down + j * b_along
                            if packs:
                                if i == 0:
                                    pack(packed, packed_at, b, right_at, b_down, b_along, columns,
                                         room, count)  # fmt: skip
                                right_at, right_down = packed_at, room
                            tile(high, wide, count, a, left_at, a_down, a_along, right, right_at,
                                 right_down, out, at, pitch, columns, held, held_at, held_down)
                            j, at, packed_at = j + room, at + room, packed_at + room * count
                            if q or g[OFFSET]:
                                held_at += room
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
            out_at, a_at, b_at, start_at, m, n = _share(g, first, last, number)
            for j in range(0, n, columns):
                across = min(columns, n - j)
                for i in range(0, m, rows):
                    down = min(rows, m - i)
                    dot(made, a, a_at + i * g[A_DOWN], g[A_DOWN], down, b, b_at + j * g[B_ALONG],
                        g[B_ALONG], across, g[K])
                    for r in range(down):
                        at = out_at + (i + r) * g[N] + j
                        for c in range(across):
                            offset = start[start_at + (j + c) * g[OFFSET]]
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
        loop = _tiles(*tile_shape(vector), width, _LINE // dtype.itemsize)
    arrays = ", ".join([f"{dtype.name}[::1]"] * 4)
    return entry_point(loop, f"void({arrays}, int64[::1], int64, int64)")
