"""Which of our own loops serves a matrix product, if any, and how threads divide it.

The right operand's columns lie along vectors (:mod:`product_tile`); sums are of blocks of terms,
as MKL's are on AMD's processors, whose bits they have where a result has more than 3 rows and more
than 11 columns. Where OpenBLAS is faster, or products are switched off, there is no plan.
"""

from __future__ import annotations

import bisect
import functools
import os
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from mindtorch.kernels.codegen.jit import bound

from . import product_loops as loops
from . import simd
from .processor import cache_bytes
from .product_table import FORMS, LIMITS
from .product_tile import tile_shape
from .thread_pool import get_num_threads, parallel_for

_SERIAL = 1_500_000  # multiplications that one thread does sooner than two
_FILLED = 0.9  # of the vectors' lanes, for a result with few columns
_BLOCK = 192  # terms of a sum that are added up before they are added to others
_WIDE = 128  # columns that are divided, be there more rows or not
_FEWEST = 5  # terms; fewer ones are rounded apart elsewhere
_LETTERS = {"d": loops.DOTS, "r": loops.READ, "p": loops.PACKED}


class Matrix(NamedTuple):
    """Where an operand's elements lie: from one row, and from one column, to the next."""

    down: int
    across: int


class Batch(NamedTuple):
    """Axes of products of one shape: their lengths, and the steps of both operands."""

    shape: tuple[int, ...]
    a: tuple[int, ...]
    b: tuple[int, ...]


def enabled() -> bool:
    """Whether products of our own are used: ``MINDTORCH_PRODUCTS`` is not 0."""
    return os.environ.get("MINDTORCH_PRODUCTS", "1") != "0"


def instruction_set() -> str:
    """The name of this processor's vectors in the table of forms."""
    return {64: "avx512", 32: "avx2"}.get(simd.vector_bytes(), "128 bits")


def layout(a: Matrix, b: Matrix) -> str:
    """"n" for each operand whose rows are in order, "t" for others."""
    return ("n" if a.across == 1 else "t") + ("n" if b.across == 1 else "t")


def chosen(dtype: Any, m: int, n: int, k: int, a: Matrix, b: Matrix) -> str:
    """The letter of the form that the table has for a product; "b" for OpenBLAS's."""
    filled = n / (-(-n // simd.lanes(dtype)) * simd.lanes(dtype))
    if filled < _FILLED and n < _WIDE and k <= _BLOCK:  # OpenBLAS has narrower vectors at edges
        return "b"
    table = FORMS.get(f"{instruction_set()} {dtype.name} {layout(a, b)}")
    if table is None:
        return "b"
    rows, columns, terms = (
        bisect.bisect_left(limits, size)
        for limits, size in zip(LIMITS, (m, n, k), strict=True)
    )
    return table[rows].split()[columns][terms]


def block_of(k: int) -> int:
    """How many terms of a sum of ``k`` are added up at a time."""
    if _BLOCK < k < 2 * _BLOCK:
        return k // 2
    return min(k, _BLOCK)


@functools.cache
def _breadth() -> int:
    """How many vectors wide a packed block is: a third of the second cache."""
    vectors = tile_shape(simd.vector_bytes())[1]
    most = cache_bytes(2) // 3 // (_BLOCK * simd.vector_bytes())
    return max(most // vectors, 1) * vectors


@functools.cache
def _nothing(dtype: Any) -> Any:
    """What is added to a product without a bias, for all panels."""
    return np.zeros(tile_shape(simd.vector_bytes())[1] * simd.lanes(dtype), dtype)


def _numbers(
    dtype: Any, size: tuple[int, int, int], a: Matrix, b: Matrix, form: int, batch: Batch | None,
    has_bias: bool,
) -> tuple[Any, int]:  # fmt: skip
    """The array that describes a product to its loops, and into how many shares it divides."""
    m, n, k = size
    width = simd.lanes(dtype)
    breadth = min(_breadth(), -(-n // width))
    if batch is not None:
        divided, unit, shares = loops.BATCH, 1, int(np.prod(batch.shape))
    elif n >= m or n >= _WIDE:
        divided, unit, shares = loops.COLUMNS, width, -(-n // width)
    else:
        rows = tile_shape(simd.vector_bytes())[0]
        divided, unit, shares = loops.ROWS, rows, -(-m // rows)
    axes = [0] if batch is None else [len(batch.shape), *batch.shape, *batch.a, *batch.b]
    given = [m, n, k, *a, *b, int(has_bias), form, block_of(k), breadth, divided, unit, *axes]
    return np.array(given, np.int64), shares


def plan(
    dtype: Any, size: tuple[int, int, int], a: Matrix, b: Matrix, *, batch: Batch | None = None,
    has_bias: bool = False, letter: str = "",
) -> Callable[..., None] | None:  # fmt: skip
    """``run(out, a, b)``, or with a bias ``run(out, a, b, bias)``, on flat arrays.

    Args:
        size: rows and columns of the result, terms of its sums.
        a, b: where the operands' elements lie; any steps but negative ones.
        batch: axes of such products, if any.
        has_bias: whether a row is added to all rows.
        letter: the form, in place of the table's.

    Returns:
        None where OpenBLAS is to be called.
    """
    m, n, k = size
    if k < _FEWEST or not m * n or not enabled() or min(*a, *b) < 0:
        return None
    form = _LETTERS.get(letter or chosen(dtype, m, n, k, a, b))
    if form is None:
        return None
    if (form == loops.READ and b.across != 1) or (
        form == loops.DOTS and (a.across != 1 or b.down != 1)
    ):
        form = loops.PACKED
    run = loops.product(dtype, simd.vector_bytes(), form == loops.DOTS)
    numbers, shares = _numbers(dtype, size, a, b, form, batch, has_bias)
    nothing = _nothing(dtype)
    count = 1 if batch is None else shares
    if count * m * n * k < _SERIAL:
        return _serial(run, nothing, numbers, shares, has_bias)

    def shared(target: Any, x: Any, y: Any, bias: Any = nothing) -> None:
        if get_num_threads() == 1:
            run(target, x, y, bias, numbers, 0, shares)
            return

        def part(first: int, last: int) -> None:
            run(target, x, y, bias, numbers, first, last)

        parallel_for(shares, part)

    return shared


def _serial(run: Any, nothing: Any, numbers: Any, shares: int, has_bias: bool) -> Any:
    """A product that one thread does."""
    if has_bias:

        def affine(target: Any, x: Any, y: Any, bias: Any) -> None:
            run(target, x, y, bias, numbers, 0, shares)

        return bound(affine, run, numbers, 0, shares)

    def product(target: Any, x: Any, y: Any) -> None:
        run(target, x, y, nothing, numbers, 0, shares)

    return bound(product, run, nothing, numbers, 0, shares)
