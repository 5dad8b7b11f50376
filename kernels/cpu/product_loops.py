"""The loops of matrix products over register tiles: blocks of depth, panels of columns, threads'
shares, batches."""

from __future__ import annotations

import functools
from typing import Any

import numpy as np

from mindtorch.kernels.codegen.jit import entry_point, kernel

from .product_tile import dots_of, dots_shape, tile_shape, tiles_of
from .simd import transpose_block

_LINE = 64  # bytes of a cache line, where packed panels begin
# what a product's numbers are, by their places in an array; sizes and steps of a batch follow
M, N, K, A_DOWN, A_ALONG, B_DOWN, B_ALONG, OFFSET, FORM, DEPTH, BREADTH, DIVIDED, UNIT, AXES = (
    range(14)
)
DOTS, READ, PACKED = 0, 1, 2  # forms: the right operand is read as it lies, or packed before
COLUMNS, ROWS, BATCH = 0, 1, 2  # what a share of a thread is made of


@kernel
def _pack(
    packed: Any, to: int, b: Any, at: int, down: int, across: int, columns: int, width: int,
    count: int,
) -> None:  # fmt: skip
    """``packed[to + q * width + j] = b[at + q * down + j * across]``, 0 from ``columns`` on."""
    even, whole = columns // 8 * 8, count // 8 * 8 if down == 1 else 0
    if whole:
        for j in range(0, even, 8):
            for q in range(0, whole, 8):
                transpose_block(packed, to + q * width + j, width, b, at + j * across + q, across)
    for q in range(count):
        target = packed[to + q * width : to + (q + 1) * width]
        if across == 1:
            source = b[at + q * down : at + q * down + columns]
            for j in range(columns):
                target[j] = source[j]
        else:
            for j in range(even if q < whole else 0, columns):
                target[j] = b[np.uint64(at + q * down + j * across)]
        for j in range(columns, width):
            target[j] = 0


def _tiles(rows: int, vectors: int, width: int, line: int) -> Any:
    tile = tiles_of(rows, vectors, width)

    @kernel
    def tiles(
        out: Any, a: Any, b: Any, start: Any, g: Any, out_at: int, a_at: int, b_at: int,
        start_at: int, m: int, n: int,
    ) -> None:  # fmt: skip
        """A product whose columns lie along the vectors."""
        k, pitch, depth, breadth = g[K], g[N], g[DEPTH], g[BREADTH]
        a_down, a_along, b_down, b_along = g[A_DOWN], g[A_ALONG], g[B_DOWN], g[B_ALONG]
        packs = g[FORM] == PACKED
        packed = np.empty(breadth * depth * width + line if packs else 0, out.dtype)
        right, right_at, right_down = b, 0, b_down
        if packs:
            right = packed
        aligned = -packed.ctypes.data % _LINE // packed.itemsize
        across, down = (n + width - 1) // width, (m + rows - 1) // rows
        low, higher = m // down, m % down  # rows of a tile; how many tiles have one more
        for v0 in range(0, across, breadth):
            strip = min(breadth, across - v0)
            panels = (strip + vectors - 1) // vectors
            narrow, wider = strip // panels, strip % panels
            for q in range(0, k, depth):
                count = min(depth, k - q)
                held, held_down, i = start, 0, 0
                if q:
                    held, held_down = out, pitch
                for t in range(down):
                    high, j = low + (t < higher), v0 * width
                    at, left_at = out_at + i * pitch + j, a_at + i * a_down + q * a_along
                    held_at, packed_at = at if q else start_at + j * g[OFFSET], aligned
                    for p in range(panels):
                        wide = narrow + (p < wider)
                        room = wide * width
                        columns = min(room, n - j)
                        if packs:
                            right_at, right_down = packed_at, room
                            if t == 0:
                                _pack(packed, packed_at, b, b_at + q * b_down + j * b_along, b_down,
                                      b_along, columns, room, count)
                        else:
                            right_at = b_at + q * b_down + j
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
    def dots(
        out: Any, a: Any, b: Any, start: Any, g: Any, out_at: int, a_at: int, b_at: int,
        start_at: int, m: int, n: int,
    ) -> None:  # fmt: skip
        """A product whose terms lie along the vectors."""
        made = np.empty(width, out.dtype)
        for j in range(0, n, columns):
            across = min(columns, n - j)
            for i in range(0, m, rows):
                down = min(rows, m - i)
                dot(made, a, a_at + i * g[A_DOWN], g[A_DOWN], down, b, b_at + j * g[B_ALONG],
                    g[B_ALONG], across, g[K])
                for r in range(down):
                    at = out_at + (i + r) * g[N] + j
                    for c in range(across):
                        out[at + c] = start[start_at + (j + c) * g[OFFSET]] + made[r * columns + c]

    return dots


@functools.cache
def _product(size: int, vector: int) -> Any:
    width = vector // size
    tiles, dots = _tiles(*tile_shape(vector), width, _LINE // size), _dots(width)

    @kernel
    def product(out: Any, a: Any, b: Any, start: Any, g: Any, first: int, last: int) -> None:
        """Shares ``first`` to ``last`` of products ``out = a @ b + start``."""
        m, n, divided, count = g[M], g[N], g[DIVIDED], last - first
        out_at, a_at, b_at, start_at = 0, 0, 0, 0
        if divided != BATCH:
            begin, count = first * g[UNIT], 1
            if divided == COLUMNS:
                out_at, b_at, start_at = begin, begin * g[B_ALONG], begin * g[OFFSET]
                n = min(last * g[UNIT], n) - begin
            else:
                out_at, a_at = begin * n, begin * g[A_DOWN]
                m = min(last * g[UNIT], m) - begin
        for i in range(count):
            if divided == BATCH:
                rest, a_at, b_at, axes = first + i, 0, 0, g[AXES]
                out_at = rest * m * n
                for axis in range(AXES + axes, AXES, -1):
                    size = g[axis]
                    a_at += rest % size * g[axis + axes]
                    b_at += rest % size * g[axis + 2 * axes]
                    rest //= size
            if g[FORM] == DOTS:
                dots(out, a, b, start, g, out_at, a_at, b_at, start_at, m, n)
            else:
                tiles(out, a, b, start, g, out_at, a_at, b_at, start_at, m, n)

    return product


@functools.cache
def product(dtype: Any, vector: int) -> Any:
    """``run(out, a, b, start, numbers, first, last)`` for an element type and the bytes of a vector.

    It computes some shares of products ``out = a @ b + start`` of flat arrays; ``numbers`` are in
    the order of the names above.
    """
    arrays = ", ".join([f"{dtype.name}[::1]"] * 4)
    kind = f"void({arrays}, int64[::1], int64, int64)"
    return entry_point(_product(dtype.itemsize, vector), kind)
