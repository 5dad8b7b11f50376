"""The loops of scaled dot product attention, over register tiles.

For each batch and head the keys and values are packed once; then some queries at a time have their
scores with a block of keys in a scratch block that stays in the first cache, and are turned into
weights and used there. Keys are in blocks of 256 at most, whose sums are put together by the
largest score so far (Milakov and Gimelshein, "Online normalizer calculation for softmax", 2018).
"""

from __future__ import annotations

import functools
from typing import Any

import numpy as np

from mindtorch.kernels.codegen.jit import entry_point, kernel

from .matrix_products.panel_product import panels_of, whole
from .scalar_math.float32_math import exp_falling
from .scalar_math.float64_math import exp64
from .softmax import largest
from .sums.blocked_sum import row_sum
from .vectors import simd
from .vectors.float_bits import add_any_order

_KEYS = 256  # of a block at most
_SCORES = 32768  # bytes of a block of scores
# the numbers that describe a call, by their places: sizes, whether causal, and the steps of each
# array along batches, heads and rows (of the mask along keys, too)
HEADS, QUERIES, KEYS, WIDTH, OUT_WIDTH, CAUSAL, MASK = range(7)
Q, K, V, Y, G, GQ, GK, GV = range(MASK + 4, MASK + 4 + 8 * 3, 3)
NUMBERS = GV + 3


@kernel(inline="always")
def _place(g: Any, which: int, s: int) -> int:
    """Where a batch and head begin in an array."""
    return s // g[HEADS] * g[which] + s % g[HEADS] * g[which + 1]


def _rows(exponential: Any) -> tuple[Any, ...]:
    """What is done to rows of scores."""

    @kernel
    def add_mask(row: Any, scale: Any, mask: Any, at: int, along: int) -> None:
        if along == 1:
            given = mask[at : at + row.size]
            for j in range(row.size):
                row[j] = row[j] * scale + given[j]
        else:
            for j in range(row.size):
                row[j] = row[j] * scale + mask[at + j * along]

    @kernel
    def exponentials(row: Any, factor: Any, shift: Any) -> Any:
        """Turn ``row`` into ``exp(row * factor - shift)``; their sum."""
        total = row.dtype.type(0)
        for i in range(row.size):
            row[i] = exponential(row[i] * factor - shift)
            total = add_any_order(total, row[i])
        return total

    @kernel
    def slopes(row: Any, pull: Any, factor: Any, whole: Any, drop: Any) -> None:
        """Turn scores into weights, and the weights' gradients into the scores'."""
        for j in range(row.size):
            row[j] = exponential(row[j] * factor - whole)
            pull[j] = row[j] * (pull[j] - drop)

    @kernel(fastmath={"reassoc", "contract"})
    def row_product(a: Any, b: Any) -> Any:
        total = a.dtype.type(0)
        for i in range(a.size):
            total += a[i] * b[i]
        return total

    return add_mask, exponentials, slopes, row_product


@kernel
def _sizes(g: Any, width: int, itemsize: int) -> Any:
    """How many keys a block has, and how many queries are at work at once."""
    blocks = (g[KEYS] + _KEYS - 1) // _KEYS
    keys = whole((g[KEYS] + blocks - 1) // blocks, width)
    queries = min(max(_SCORES // (keys * itemsize) // 8 * 8, 8), 64)
    return keys, queries


def _weights(exponential: Any) -> Any:
    add_mask, exponentials = _rows(exponential)[:2]

    @kernel
    def weights(
        block: Any, acc: Any, best: Any, total: Any, mask: Any, mask_at: int, g: Any,
        scale: float, start: int, rows: int, k0: int, limit: int, pitch: int, acc_pitch: int,
    ) -> None:  # fmt: skip
        """Turn rows of scores into exponentials, beside those of the blocks before."""
        kind = block.dtype.type
        lowest = kind(-np.inf)
        for i in range(rows):
            seen = limit
            if g[CAUSAL]:
                seen = max(min(limit, start + i + 1 - k0), 0)
                block[i * pitch + seen : i * pitch + limit] = 0
                if seen == 0:
                    continue
            row, factor = block[i * pitch : i * pitch + seen], kind(scale)
            if mask.size or scale <= 0:
                if mask.size:
                    at = mask_at + (start + i) * g[MASK + 2] + k0 * g[MASK + 3]
                    add_mask(row, factor, mask, at, g[MASK + 3])
                else:
                    for j in range(seen):
                        row[j] *= factor
                factor = kind(1)
            peak = largest(row) * factor
            if best[i] > peak:
                peak = best[i]
            if peak == lowest and row_sum(row) == lowest:  # not beside NaNs
                row[:] = 0
                continue
            made = exponentials(row, factor, peak)
            if best[i] != peak and k0:
                shrunk = exponential(best[i] - peak)
                total[i] *= shrunk
                held = acc[i * acc_pitch : (i + 1) * acc_pitch]
                for j in range(acc_pitch):
                    held[j] *= shrunk
            total[i] += made
            best[i] = peak

    return weights


def _forward(tiles: Any, exponential: Any, width: int) -> Any:
    (product, pack_turned, pack_rows), weights = tiles, _weights(exponential)

    @kernel
    def forward(
        y: Any, lse: Any, q: Any, k: Any, v: Any, mask: Any, g: Any, scale: float, first: int,
        last: int,
    ) -> None:  # fmt: skip
        queries, keys, terms, out = g[QUERIES], g[KEYS], g[WIDTH], g[OUT_WIDTH]
        most_keys, most = _sizes(g, width, y.itemsize)
        kind, pitch = y.dtype.type, whole(out, width)
        turned = np.empty(whole(keys, width) * terms, y.dtype)
        values = np.empty(keys * pitch, y.dtype)
        block, acc = np.empty(most * most_keys, y.dtype), np.empty(most * pitch, y.dtype)
        best, total = np.empty(most, y.dtype), np.empty(most, y.dtype)
        for s in range(first, last):
            mask_at = _place(g, MASK, s)
            pack_turned(turned, k, _place(g, K, s), g[K + 2], keys, most_keys, terms)
            pack_rows(values, v, _place(g, V, s), g[V + 2], keys, out)
            for start in range(0, queries, most):
                rows = min(most, queries - start)
                reach = min(keys, start + rows) if g[CAUSAL] else keys
                best[:] = -np.inf
                total[:] = 0
                for k0 in range(0, reach, most_keys):
                    here = whole(min(most_keys, keys - k0), width)
                    limit = min(min(most_keys, keys - k0), reach - k0)
                    product(block, 0, most_keys, q, _place(g, Q, s) + start * g[Q + 2], g[Q + 2],
                            1, turned, k0 * terms, 0, rows, here, limit, terms, 0)  # fmt: skip
                    weights(block, acc, best, total, mask, mask_at, g, scale, start, rows, k0,
                            limit, most_keys, pitch)  # fmt: skip
                    product(acc, 0, pitch, block, 0, most_keys, 1, values, k0 * pitch, pitch, rows,
                            pitch, pitch, limit, k0)  # fmt: skip
                for i in range(rows):
                    at = _place(g, Y, s) + (start + i) * g[Y + 2]
                    result, held = y[at : at + out], acc[i * pitch : (i + 1) * pitch]
                    factor = kind(0) if total[i] == 0 else kind(1) / total[i]
                    for j in range(out):
                        result[j] = held[j] * factor
                    lse[s * queries + start + i] = best[i] + kind(np.log(total[i]))

    return forward


@kernel
def _write(
    target: Any, at: int, down: int, held: Any, pitch: int, n: int, terms: int, factor: Any
) -> None:
    """``n`` rows times ``factor`` to where they belong."""
    for i in range(n):
        row, source = target[at + i * down : at + i * down + terms], held[i * pitch :]
        for j in range(terms):
            row[j] = source[j] * factor


def _bend(exponential: Any) -> Any:
    add_mask, _, slopes, row_product = _rows(exponential)

    @kernel
    def bend(
        block: Any, slope: Any, drops: Any, lse: Any, lse_at: int, mask: Any, mask_at: int, g: Any,
        scale: float, start: int, rows: int, k0: int, limit: int, pitch: int,
    ) -> None:  # fmt: skip
        """Turn scores into weights, and the weights' gradients into the scores'."""
        kind = block.dtype.type
        for i in range(rows):
            seen = limit
            if g[CAUSAL]:
                seen = max(min(limit, start + i + 1 - k0), 0)
            if lse[lse_at + i] == kind(-np.inf):
                seen = 0
            block[i * pitch + seen : i * pitch + limit] = 0
            slope[i * pitch + seen : i * pitch + limit] = 0
            row, factor = block[i * pitch : i * pitch + seen], kind(scale)
            if mask.size:
                at = mask_at + (start + i) * g[MASK + 2] + k0 * g[MASK + 3]
                add_mask(row, factor, mask, at, g[MASK + 3])
                factor = kind(1)
            slopes(row, slope[i * pitch : i * pitch + seen], factor, lse[lse_at + i], drops[i])

    @kernel
    def drop(
        drops: Any, slope: Any, pitch: int, y: Any, at: int, down: int, rows: int, out: int
    ) -> None:
        """The sums of ``slope * y`` of each row."""
        for i in range(rows):
            row = y[at + i * down : at + i * down + out]
            drops[i] = row_product(slope[i * pitch : i * pitch + out], row)

    return bend, drop


def _backward(tiles: Any, exponential: Any, width: int) -> Any:
    product, pack_turned, pack_rows = tiles
    bend, drop = _bend(exponential)

    @kernel
    def backward(
        gq: Any, gk: Any, gv: Any, slope_y: Any, q: Any, k: Any, v: Any, mask: Any, y: Any,
        lse: Any, g: Any, scale: float, first: int, last: int,
    ) -> None:  # fmt: skip
        queries, keys, terms, out = g[QUERIES], g[KEYS], g[WIDTH], g[OUT_WIDTH]
        most_keys, most = _sizes(g, width, y.itemsize)
        kind, pitch, out_pitch = y.dtype.type, whole(terms, width), whole(out, width)
        padded = whole(keys, width)
        turned_k, turned_v = np.empty(padded * terms, y.dtype), np.empty(padded * out, y.dtype)
        rows_k = np.empty(keys * pitch, y.dtype)
        sum_k, sum_v = np.empty(keys * pitch, y.dtype), np.empty(keys * out_pitch, y.dtype)
        rows_q, rows_g = np.empty(most * pitch, y.dtype), np.empty(most * out_pitch, y.dtype)
        sum_q, drops = np.empty(most * pitch, y.dtype), np.empty(most, y.dtype)
        block, slope = np.empty(most * most_keys, y.dtype), np.empty(most * most_keys, y.dtype)
        for s in range(first, last):
            mask_at = _place(g, MASK, s)
            pack_turned(turned_k, k, _place(g, K, s), g[K + 2], keys, most_keys, terms)
            pack_turned(turned_v, v, _place(g, V, s), g[V + 2], keys, most_keys, out)
            pack_rows(rows_k, k, _place(g, K, s), g[K + 2], keys, terms)
            sum_k[:] = 0
            sum_v[:] = 0
            for start in range(0, queries, most):
                rows = min(most, queries - start)
                reach = min(keys, start + rows) if g[CAUSAL] else keys
                pack_rows(rows_q, q, _place(g, Q, s) + start * g[Q + 2], g[Q + 2], rows, terms)
                at, y_at = _place(g, G, s) + start * g[G + 2], _place(g, Y, s) + start * g[Y + 2]
                pack_rows(rows_g, slope_y, at, g[G + 2], rows, out)
                drop(drops, rows_g, out_pitch, y, y_at, g[Y + 2], rows, out)
                for k0 in range(0, reach, most_keys):
                    n = min(most_keys, keys - k0)
                    limit, here = min(n, reach - k0), whole(n, width)
                    product(block, 0, most_keys, rows_q, 0, pitch, 1, turned_k, k0 * terms, 0,
                            rows, here, limit, terms, 0)  # fmt: skip
                    product(slope, 0, most_keys, rows_g, 0, out_pitch, 1, turned_v, k0 * out, 0,
                            rows, here, limit, out, 0)  # fmt: skip
                    bend(block, slope, drops, lse, s * queries + start, mask, mask_at, g, scale,
                         start, rows, k0, limit, most_keys)  # fmt: skip
                    product(sum_v, k0 * out_pitch, out_pitch, block, 0, 1, most_keys, rows_g, 0,
                            out_pitch, limit, out_pitch, out_pitch, rows, 1)  # fmt: skip
                    product(sum_k, k0 * pitch, pitch, slope, 0, 1, most_keys, rows_q, 0, pitch,
                            limit, pitch, pitch, rows, 1)  # fmt: skip
                    product(sum_q, 0, pitch, slope, 0, most_keys, 1, rows_k, k0 * pitch, pitch,
                            rows, pitch, pitch, limit, k0)  # fmt: skip
                _write(gq, _place(g, GQ, s) + start * g[GQ + 2], g[GQ + 2], sum_q, pitch, rows,
                      terms, kind(scale))  # fmt: skip
            _write(gk, _place(g, GK, s), g[GK + 2], sum_k, pitch, keys, terms, kind(scale))
            _write(gv, _place(g, GV, s), g[GV + 2], sum_v, out_pitch, keys, out, kind(1))

    return backward


@functools.cache
def loop(dtype: Any, backward: bool) -> Any:
    """``run(y, lse, q, k, v, mask, numbers, scale, first, last)`` of batches and heads, or
    ``run(gq, gk, gv, g, q, k, v, mask, y, lse, numbers, scale, first, last)``.

    Args:
        dtype: of all arrays, which are flat and begin with their first element.
    """
    width = simd.lanes(dtype)
    panels = panels_of(width)
    tiles = panels.product, panels.pack_turned, panels.pack_rows
    exponential = exp_falling if dtype == np.float32 else exp64
    made = (_backward if backward else _forward)(tiles, exponential, width)
    arrays = ", ".join([f"{dtype.name}[::1]"] * (10 if backward else 6))
    return entry_point(made, f"void({arrays}, int64[::1], float64, int64, int64)")
