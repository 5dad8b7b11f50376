"""Products of which one operand is packed by the caller, once for many: its panels lie one after
another, as wide as a register tile, filled up to whole vectors."""

from __future__ import annotations

import functools
from typing import Any, NamedTuple

import numpy as np

from mindtorch.kernels.codegen.jit import kernel

from ..vectors import simd
from ..vectors.simd import transpose_block
from ..vectors.turned_lines import turn_of, turned_terms
from .product_tile import address_of, heights, tile_shape, tiles_of

_LINE = 64  # bytes of a line of memory


class Panels(NamedTuple):
    """Kernels for vectors of one width.

    Attributes:
        product: ``out = left @ right``, or ``out +=``.
        pack_turned: rows as columns of a right operand, in panels.
        pack_panels: rows of a right operand, in panels.
        pack_rows: rows of a right operand, one after another.
    """

    product: Any
    pack_turned: Any
    pack_panels: Any
    pack_rows: Any


@kernel(inline="always")
def whole(count: int, width: int) -> int:
    """``count`` filled up to whole vectors."""
    return (count + width - 1) // width * width


def _product(rows: int, vectors: int, width: int) -> Any:
    dtype = np.dtype(f"f{simd.vector_bytes() // width}")
    tile, height = tiles_of(rows, vectors, width, dtype), np.array(heights(rows))
    size = dtype.itemsize

    @kernel
    def product(
        out: Any, out_at: int, out_down: int, left: Any, left_at: int, left_down: int,
        left_along: int, right: Any, right_at: int, right_down: int, m: int, n: int, limit: int,
        count: int, adds: int,
    ) -> None:  # fmt: skip
        """``out = left @ right``, or ``out +=``, up to the panel with column ``limit - 1``.

        Right operands are filled up to whole vectors; ``right_down`` is 0 for panels one after
        another.
        """
        nothing = np.zeros(vectors * width, out.dtype)
        out_data, left_data, right_data = address_of(out), address_of(left), address_of(right)
        start_down = out_down if adds else 0
        across = (n + width - 1) // width
        panels = (across + vectors - 1) // vectors
        narrow, wider = across // panels, across % panels
        j = 0
        for p in range(panels):
            wide = narrow + (p < wider)
            room, i, line = wide * width, 0, 0
            down = right_down if right_down else room
            # of the next panel, which lies behind this one, each tile fetches two vectors a row
            soon = right_data + (right_at + down * count) * size
            while i < m:
                high = height[min(m - i, 2 * rows)]
                at = out_at + i * out_down + j
                target = out_data + at * size
                begun = target if adds else address_of(nothing)
                tile(high, wide, count, left_data + (left_at + i * left_down) * size, left_down,
                     left_along, right_data + right_at * size, down, target, out_down,
                     min(room, n - j), begun, start_down, soon + line % wide * _LINE, down * size,
                     soon + (line + 1) % wide * _LINE, down * size, nothing.dtype.type(1))
                i, line = i + high, line + 2
            j += room
            right_at += room if right_down else room * count
            if j >= limit:
                break

    return product


def _pack_turned(vectors: int, width: int) -> Any:
    dtype = np.dtype(f"f{simd.vector_bytes() // width}")
    turn, line = turn_of(width, dtype), turned_terms(dtype)

    @kernel
    def block(packed: Any, to: int, x: Any, at: int, down: int, n: int, terms: int) -> None:
        across = (n + width - 1) // width
        panels = (across + vectors - 1) // vectors
        narrow, wider = across // panels, across % panels
        j = 0
        for p in range(panels):
            room = (narrow + (p < wider)) * width
            here = min(room, n - j)
            full, even, whole = here // width * width, here // 8 * 8, terms // line * line
            for i in range(0, full, width):
                for q in range(0, whole, line):
                    turn(packed, to + q * room + i, room, x, at + i * down + q, down)
            for i in range(full, even, 8):
                for q in range(0, whole, 8):
                    transpose_block(packed, to + q * room + i, room, x, at + i * down + q, down)
            for q in range(terms):
                for i in range(even if q < whole else 0, room):
                    value = packed.dtype.type(0)
                    if i < here:
                        value = x[np.uint64(at + i * down + q)]
                    packed[np.uint64(to + q * room + i)] = value
            j, to, at = j + room, to + room * terms, at + room * down

    @kernel
    def pack_turned(
        packed: Any, x: Any, at: int, down: int, n: int, most: int, terms: int
    ) -> None:
        """``n`` rows of ``terms`` as columns, in blocks of ``most``, in the panels of products."""
        for first in range(0, n, most):
            here = min(most, n - first)
            block(packed, first * terms, x, at + first * down, down, here, terms)

    return pack_turned


def _pack_panels(vectors: int, width: int) -> Any:
    @kernel
    def pack_panels(
        packed: Any, to: int, x: Any, at: int, down: int, n: int, terms: int
    ) -> None:
        """``terms`` rows of ``n`` columns, in the panels of products."""
        across = (n + width - 1) // width
        panels = (across + vectors - 1) // vectors
        narrow, wider = across // panels, across % panels
        j = 0
        for p in range(panels):
            room = (narrow + (p < wider)) * width
            here = min(room, n - j)
            for q in range(terms):
                target, source = packed[to + q * room :], x[at + q * down + j :]
                for i in range(here):
                    target[i] = source[i]
                for i in range(here, room):
                    target[i] = 0
            j, to = j + room, to + room * terms

    return pack_panels


def _pack_rows(width: int) -> Any:
    @kernel
    def pack_rows(packed: Any, x: Any, at: int, down: int, n: int, terms: int) -> None:
        """``n`` rows of ``terms``, filled up to whole vectors."""
        pitch = whole(terms, width)
        for i in range(n):
            target, source = packed[i * pitch : (i + 1) * pitch], x[at + i * down :]
            for j in range(terms):
                target[j] = source[j]
            for j in range(terms, pitch):
                target[j] = 0

    return pack_rows


@functools.cache
def panels_of(width: int) -> Panels:
    """The kernels for vectors of ``width`` numbers."""
    rows, vectors = tile_shape(simd.vector_bytes())
    return Panels(
        _product(rows, vectors, width), _pack_turned(vectors, width),
        _pack_panels(vectors, width), _pack_rows(width),
    )  # fmt: skip
