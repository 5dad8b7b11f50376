"""Matrix products of bfloat16 with float32 sums by the instruction that multiplies pairs of them
(:mod:`bfloat16_tile`), for processors that have it and no matrix registers.

The right operand is packed in pairs of terms, in blocks that the second cache holds; the left one
is read as it lies where its terms are in order, and packed for two tiles at a time where its rows
are. Sums of more terms than a block has are kept in float32, so that a result is rounded once.
``MINDTORCH_PRODUCTS=0`` turns these products off.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import ml_dtypes
import numpy as np

from mindtorch.kernels.codegen.jit import entry_point, kernel
from mindtorch.kernels.support.workspace import LINE, workspace_of_lines

from ..processor import cache_bytes
from ..threads.thread_pool import get_num_threads, parallel_for
from . import product_loops as loops
from .bfloat16_tile import LANES, ROWS, VECTORS, available, pack_pairs_of, pack_turned, tile
from .product_loops import (
    A_ALONG,
    A_DOWN,
    B_ALONG,
    B_DOWN,
    BATCH,
    BREADTH,
    DEPTH,
    DIVIDED,
    FORM,
    OFFSET,
    K,
    N,
)  # fmt: skip
from .product_shapes import Product
from .product_tile import address_of, heights

HEIGHT = FORM  # the place of how many rows pass a block
BFLOAT16 = np.dtype(ml_dtypes.bfloat16)
_SERIAL = 2_000_000  # multiplications that one thread does sooner than two
DEPTH_OF_BLOCKS = 1024  # terms of a block where a sum has more than these and half as many
_SUMS = 1 << 20  # bytes of sums that wait for more terms
_HEIGHTS = np.array(heights(ROWS))
_share = loops.share
_pairs, _some_pairs = pack_pairs_of(True), pack_pairs_of(False)


@kernel
def _pack_left(to: int, a: int, along: int, rows: int, terms: int) -> None:
    """Pairs of two tiles' rows that lie side by side."""
    for p in range((terms + 1) // 2):
        place, down = a + 2 * p * along, along if 2 * p + 1 < terms else 0
        if rows >= LANES:
            _pairs(to + p * 4 * LANES, place, LANES, down, 4 * along)
        else:
            _some_pairs(to + p * 4 * LANES, place, min(rows, LANES), down, 4 * along)


@kernel
def pack_right(
    to: int, b: int, down: int, across: int, columns: int, vectors: int, terms: int
) -> None:
    """A panel of ``vectors`` vectors of a right operand; steps in bytes."""
    pitch, pairs = vectors * LINE, (terms + 1) // 2
    if down == 2:
        for v in range(vectors):
            lines, at = columns - v * LANES, b + v * LANES * across
            for p in range(0, pairs, LANES):
                pack_turned(to + p * pitch + v * LINE, pitch, at + 4 * p, across, lines,
                            terms - 2 * p, LINE)  # fmt: skip
        return
    for p in range(pairs):
        at, second = b + 2 * p * down, down if 2 * p + 1 < terms else 0
        for v in range(vectors):
            count, place = columns - v * LANES, at + 2 * v * LANES
            if count >= LANES:
                _pairs(to + p * pitch + v * LINE, place, LANES, second, 4 * down)
            else:
                _some_pairs(to + p * pitch + v * LINE, place, count, second, 4 * down)


@kernel
def pack_panels(
    packed: int, right: int, down: int, across: int, columns: int, terms: int
) -> tuple[int, int, int]:
    """All panels of a block; how many there are, vectors of a narrow one, how many are wider."""
    wide = (columns + LANES - 1) // LANES
    panels = (wide + VECTORS - 1) // VECTORS
    narrow, wider = divmod(wide, panels)
    done = 0
    for p in range(panels):
        many = narrow + (p < wider)
        at = done * LANES
        pack_right(packed, right + at * across, down, across, columns - at, many, terms)
        packed += many * LINE * ((terms + 1) // 2)
        done += many
    return panels, narrow, wider


@kernel
def multiply_block(
    out: int, out_down: int, a: int, a_down: int, a_along: int, bias: int, held: int,
    held_down: int, zeros: int, packed: int, turned: int, rows: int, columns: int, panels: int,
    narrow: int, wider: int, terms: int, begins: bool, ends: bool,
) -> None:  # fmt: skip
    """Rows of a left operand through one packed block; steps in bytes."""
    i, turns, turned_row = 0, a_along != 2, -2 * ROWS
    pairs, odd = terms // 2, terms % 2
    count = pairs + odd if turns else pairs
    while i < rows:
        high = _HEIGHTS[min(rows - i, 2 * ROWS)]
        left, left_down, left_along = a + i * a_down, a_down, 4
        if turns:
            if i != turned_row + ROWS:
                turned_row = i
                _pack_left(turned, left, a_along, rows - i, terms)
            left, left_down, left_along = turned + (i - turned_row) * 4, 4, 4 * LANES
        right, j = packed, 0
        for p in range(panels):
            across = narrow + (p < wider)
            sums, sums_down = held + i * held_down + 4 * j, held_down
            if begins and ends:
                sums, sums_down = zeros, 0
            tile(high, across, count, 0 if turns else odd, left, left_down, left_along, right,
                 sums, sums_down, out + i * out_down + 2 * j, out_down, columns - j,
                 bias + 2 * j, ends)  # fmt: skip
            right += across * LINE * (pairs + odd)
            j += across * LANES
        i += high


@kernel
def _product(
    out: Any, a: Any, b: Any, bias: Any, g: Any, held: Any, first: int, last: int
) -> None:
    """Shares of products; numbers as in :mod:`product_loops`, and ``BREADTH`` in vectors."""
    k, pitch, depth, breadth, height = g[K], 2 * g[N], g[DEPTH], g[BREADTH], g[HEIGHT]
    a_down, a_along, b_down, b_along = 2 * g[A_DOWN], 2 * g[A_ALONG], 2 * g[B_DOWN], 2 * g[B_ALONG]
    zeros, turned = address_of(held), address_of(held) + VECTORS * LINE
    packed = turned + (depth // 2 + 1) * LINE
    sums = packed + breadth * (depth // 2 + 1 + LANES) * LINE
    held[: VECTORS * LINE] = 0
    for number in range(last - first if g[DIVIDED] == BATCH else 1):
        out_at, a_at, b_at, start_at, m, n = _share(g, first, last, number)
        across = (n + LANES - 1) // LANES
        for i0 in range(0, m, height):
            for v0 in range(0, across, breadth):
                wide = min(breadth, across - v0)
                rows, columns = min(height, m - i0), n - v0 * LANES
                if depth < k:
                    begin = sums - zeros
                    held[begin : begin + rows * wide * LINE] = 0
                for q in range(0, k, depth):
                    terms = min(depth, k - q)
                    right = address_of(b) + 2 * b_at + q * b_down + v0 * LANES * b_along
                    panels, narrow, wider = pack_panels(
                        packed, right, b_down, b_along, min(columns, wide * LANES), terms
                    )
                    start = address_of(bias) + 2 * (start_at + v0 * LANES * g[OFFSET])
                    target = address_of(out) + 2 * (out_at + v0 * LANES) + i0 * pitch
                    left = address_of(a) + 2 * a_at + i0 * a_down + q * a_along
                    multiply_block(target, pitch, left, a_down, a_along, start, sums, wide * LINE,
                                   zeros, packed, turned, rows, columns, panels, narrow, wider,
                                   terms, q == 0 and depth >= k, q + depth >= k)  # fmt: skip


@functools.cache
def _loop() -> Any:
    arrays = ", ".join(["uint16[::1]"] * 4)
    return entry_point(_product, f"void({arrays}, int64[::1], uint8[::1], int64, int64)")


_nothing = np.zeros(1, BFLOAT16)


def _numbers(given: Product, biased: bool) -> tuple[Any, int, int]:
    """The array that describes a product to its loops, into how many shares it divides, and how
    many bytes a share needs."""
    (m, n, k), batch = given.size, given.batch
    if batch is not None:
        divided, unit, shares = loops.BATCH, 1, int(np.prod(batch.shape))
    elif n >= m or n >= 8 * LANES:
        divided, unit, shares = loops.COLUMNS, LANES, -(-n // LANES)
    else:
        divided, unit, shares = loops.ROWS, ROWS, -(-m // ROWS)
    depth = k
    if k > DEPTH_OF_BLOCKS * 3 // 2:
        depth = -(-k // -(-k // DEPTH_OF_BLOCKS) // 2) * 2
    across = -(-n // LANES)
    most = max(cache_bytes(2) * 2 // 5 // (2 * LANES * depth) // VECTORS, 1) * VECTORS
    breadth = -(-across // -(-across // most))
    breadth = min(-(-breadth // VECTORS) * VECTORS, across)
    height = m if depth >= k else max(_SUMS // (breadth * LINE) // (2 * ROWS), 1) * 2 * ROWS
    axes = [0] if batch is None else [len(batch.shape), *batch.shape, *batch.a, *batch.b]
    numbers = [m, n, k, *given.a, *given.b, 0, int(biased), height, 0, depth, breadth]
    held = VECTORS * LINE + (depth // 2 + 1) * LINE + breadth * (depth // 2 + 1 + LANES) * LINE
    held += min(height, m) * breadth * LINE if depth < k else 0
    return np.array([*numbers, divided, unit, *axes], np.int64), shares, held


def plan(given: Product, *, biased: bool = False) -> Callable[..., None] | None:
    """``run(out, a, b)``, or ``run(out, a, b, bias)``, on flat arrays of bfloat16.

    Args:
        biased: whether a row, which lies in order, is added to each of the result's.

    Returns:
        None where there is no such instruction, or both steps of an operand are longer than one.
    """
    m, n, k = given.size
    if not m * n * k or min(*given.a, *given.b) < 0:
        return None
    if 1 not in given.a or 1 not in given.b or not available():
        return None
    numbers, shares, room = _numbers(given, biased)
    nothing = np.zeros(n, BFLOAT16) if not biased else _nothing
    run = _loop()
    alone = (1 if given.batch is None else shares) * m * n * k < _SERIAL

    def product(target: Any, x: Any, y: Any, bias: Any = nothing) -> None:
        def part(first: int, last: int) -> None:
            held = workspace_of_lines(room, np.uint8, "bfloat16 products")
            run(target, x, y, bias, numbers, held, first, last)

        if alone or get_num_threads() == 1:
            part(0, shares)
        else:
            parallel_for(shares, part)

    return product
