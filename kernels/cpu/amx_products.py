"""Matrix products on matrix registers (:mod:`amx`): bfloat16 with float32 sums, and float32 as three
bfloat16 parts, several times as fast as with vectors.

Sums are more exact than in MKL's order, and not in it. Parts reach from the largest float32 down to
2 ** -126, so that operands without such large numbers as would not be finite, or with none above
2 ** -90, have other kernels: a product says afterwards whether it could be done.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import ml_dtypes
import numpy as np

from mindtorch.kernels.codegen.jit import entry_point, kernel

from . import amx
from . import product_loops as loops
from .amx import LINES, TERMS, add_of, block_of, configure, release, split_of, step_bytes, turn_tile
from .processor import cache_bytes
from .product_loops import (
    A_ALONG, A_DOWN, B_ALONG, B_DOWN, BATCH, BREADTH, DEPTH, DIVIDED, K, N, OFFSET, START_DOWN,
)  # fmt: skip
from .product_tile import address_of
from .products import Batch, Matrix
from .thread_pool import get_num_threads, parallel_for

BFLOAT16, FLOAT32 = np.dtype(ml_dtypes.bfloat16), np.dtype(np.float32)
_SERIAL = 20_000_000  # multiplications that one thread does sooner than two
_TERMS_AT_ONCE = 128  # of float32: a left operand's parts are half of the first cache
_LINE, _BLOCK = 64, 4096  # bytes of a cache line, and of 32 by 32 results
_HALF = LINES // 2
_FINITE, _LEAST, _MOST = 0x7F000000, -90, 126  # bits of 2 ** 127; exponents


def _pack_step(parts: int, wide: bool) -> Any:
    split, size = split_of(parts, wide), 4 if wide else 2

    @kernel
    def pack(
        to: int, at: int, line: int, along: int, lines: int, terms: int, words: int, largest: int
    ) -> None:
        """One step of an operand: up to 32 lines and terms, ``line`` and ``along`` bytes apart;
        ``words`` says whether words of a row are to be lines."""
        rows = _HALF if lines <= _HALF else LINES
        if along == size:
            for i in range(rows):
                count = terms if i < lines else 0
                source = at + i * line
                split(to + i * 64, source, count, source + _HALF * size, count - _HALF, largest)
        else:
            for first in range(0, rows, _HALF):
                source, count = at + first * size, lines - first
                for j in range(_HALF):
                    here = count if j < terms else 0
                    beyond = count if j + _HALF < terms else 0
                    split(to + (first + j) * 64, source, here, source + _HALF * along, beyond,
                          largest)
                    source += along
        if words != (along != size):
            for tile in range(2 * parts):
                turn_tile(to + tile * 1024)

    return pack


@kernel
def _largest(words: Any) -> int:
    most = 0
    for word in words:
        most = max(most, word)
    return most


@functools.cache
def _product(parts: int, wide: bool) -> Any:
    """``run(out, a, b, start, numbers, largest, first, last)``: shares of products
    ``out = a @ b + start``; numbers as in :mod:`product_loops`, ``BREADTH`` in panels of 32 columns,
    and for each share the bits of each operand's largest magnitude."""
    pack, block, add = _pack_step(parts, wide), block_of(parts), add_of(wide)
    size, step, share = 4 if wide else 2, step_bytes(parts), loops.share

    @kernel
    def tiles(
        out: Any, a: Any, b: Any, start: Any, g: Any, largest: Any, first: int, last: int
    ) -> None:
        k, pitch, depth, breadth = g[K], g[N] * size, g[DEPTH], g[BREADTH]
        a_down, a_along, b_down, b_along = (
            g[A_DOWN] * size, g[A_ALONG] * size, g[B_DOWN] * size, g[B_ALONG] * size
        )
        most_steps = (min(depth, k) + TERMS - 1) // TERMS
        room = most_steps * step
        held = np.empty((breadth + 1) * room + _BLOCK + 3 * _LINE, np.uint8)
        sizes = np.zeros(64, np.int32)
        left = address_of(held) + -address_of(held) % _LINE
        right, made = left + room, left + (breadth + 1) * room
        a_sizes = address_of(sizes) + -address_of(sizes) % _LINE
        b_sizes, places = a_sizes + _LINE, (a_sizes - address_of(sizes)) // 4
        configure()
        for number in range(last - first if g[DIVIDED] == BATCH else 1):
            out_at, a_at, b_at, start_at, m, n = share(g, first, last, number)
            target_data, begun = address_of(out) + out_at * size, address_of(start) + start_at * size
            a_data, b_data = address_of(a) + a_at * size, address_of(b) + b_at * size
            across = (n + LINES - 1) // LINES
            for p0 in range(0, across, breadth):
                panels = min(breadth, across - p0)
                for q in range(0, k, depth):
                    count = min(depth, k - q)
                    steps = (count + TERMS - 1) // TERMS
                    by_rows = b_along == size
                    for each in range(panels * steps):
                        p, s = (each % panels, each // panels) if by_rows else divmod(each, steps)
                        j, t = (p0 + p) * LINES, q + s * TERMS
                        pack(right + (p * steps + s) * step, b_data + j * b_along + t * b_down,
                             b_along, b_down, min(LINES, n - j), k - t, 1, b_sizes)
                    for i in range(0, m, LINES):
                        rows = min(LINES, m - i)
                        for s in range(steps):
                            t = q + s * TERMS
                            pack(left + s * step, a_data + i * a_down + t * a_along, a_down,
                                 a_along, rows, k - t, 0, a_sizes)
                        for p in range(panels):
                            j = (p0 + p) * LINES
                            columns = min(LINES, n - j)
                            block((rows + 15) // 16, (columns + 15) // 16, steps, left,
                                  right + p * steps * step, made)
                            target = target_data + i * pitch + j * size
                            before, before_pitch = target, pitch
                            if q == 0:
                                before_pitch = g[START_DOWN] * size
                                before = begun + i * before_pitch + j * g[OFFSET] * size
                            add(rows, columns, made, before, before_pitch, target, pitch)
        release()
        largest[2 * first] = _largest(sizes[places : places + 16])
        largest[2 * first + 1] = _largest(sizes[places + 16 : places + 32])

    kind = "float32" if wide else "uint16"
    arrays = ", ".join([f"{kind}[::1]"] * 4)
    return entry_point(tiles, f"void({arrays}, int64[::1], int64[::1], int64, int64)")


@functools.cache
def _nothing(dtype: Any) -> Any:
    return np.zeros(LINES, dtype)


def _numbers(
    parts: int, size: tuple[int, int, int], a: Matrix, b: Matrix, batch: Batch | None,
    start: Matrix | None,
) -> tuple[Any, int]:  # fmt: skip
    """The array that describes a product to its loops, and into how many shares it divides."""
    m, n, k = size
    if batch is not None:
        divided, unit, shares = loops.BATCH, 1, int(np.prod(batch.shape))
    elif n >= m:
        divided, unit, shares = loops.COLUMNS, LINES, -(-n // LINES)
    else:
        divided, unit, shares = loops.ROWS, LINES, -(-m // LINES)
    depth = _TERMS_AT_ONCE if parts > 1 else k
    most = cache_bytes(2) // 2 // (-(-min(depth, k) // TERMS) * step_bytes(parts))
    across = -(-n // LINES)
    blocks = -(-across // max(most, 1))
    axes = [0] if batch is None else [len(batch.shape), *batch.shape, *batch.a, *batch.b]
    given = [m, n, k, *a, *b, *(start or (0, 0)), loops.PACKED, 0, depth, -(-across // blocks)]
    return np.array([*given, divided, unit, *axes], np.int64), shares


def _fits(largest: Any, k: int) -> bool:
    """Whether operands with these largest numbers have exact parts, and products that are finite."""
    a, b = int(largest[::2].max()), int(largest[1::2].max())
    if max(a, b) >= _FINITE:
        return False
    if not a or not b:
        return True
    first, second = (a >> 23) - 127, (b >> 23) - 127
    together = first + second
    return min(first, second, together) >= _LEAST and together + k.bit_length() < _MOST


def plan(
    dtype: Any, size: tuple[int, int, int], a: Matrix, b: Matrix, *, batch: Batch | None = None,
    start: Matrix | None = None,
) -> Callable[..., bool] | None:  # fmt: skip
    """``run(out, a, b)``, or with a start ``run(out, a, b, start)``, on flat arrays, which says
    whether it could be done; arguments as of :func:`products.plan`. None where there are no such
    registers, or where steps of both axes of an operand are longer than one."""
    m, n, k = size
    if dtype not in (FLOAT32, BFLOAT16) or not m * n * k or min(*a, *b) < 0:
        return None
    if 1 not in a or 1 not in b or not amx.available():
        return None
    wide = dtype == FLOAT32
    parts = 3 if wide else 1
    numbers, shares = _numbers(parts, size, a, b, batch, start)
    run, nothing = _product(parts, wide), _nothing(dtype)
    alone = (1 if batch is None else shares) * m * n * k < _SERIAL

    def product(target: Any, x: Any, y: Any, begun: Any = nothing) -> bool:
        largest = np.zeros(2 * shares, np.int64)
        if alone or get_num_threads() == 1:
            run(target, x, y, begun, numbers, largest, 0, shares)
        else:

            def part(first: int, last: int) -> None:
                run(target, x, y, begun, numbers, largest, first, last)

            parallel_for(shares, part)
        return not wide or _fits(largest, k)

    return product
