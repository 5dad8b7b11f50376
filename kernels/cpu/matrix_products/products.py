"""Which of our own loops serves a matrix product, if any, and how threads divide it.

The right operand's columns lie along vectors (:mod:`product_tile`); sums are of blocks of terms as
MKL's are: 192 on AMD's processors, whose bits they have where a result has more than 3 rows and
more than 11 columns, 384 on Intel's, whose bits large results in float32 have. Where OpenBLAS is
faster, or products are switched off, there is no plan.
"""

from __future__ import annotations

import bisect
import functools
import os
from collections.abc import Callable
from typing import Any

import numpy as np

from mindtorch.kernels.codegen.jit import bound

from ..processor import cache_bytes, mkl_kernels
from ..threads.thread_pool import get_num_threads, parallel_for
from ..vectors import simd
from . import denormal_operands, product_swapped
from . import product_loops as loops
from .product_shapes import Batch, Matrix
from .product_table import FORMS, LIMITS
from .product_tile import tile_shape

_SERIAL = 1_500_000  # multiplications that one thread does sooner than two
_SHORT = 192  # terms; OpenBLAS's edges of longer sums are slower
_FILLED, _FILLED_PACKED = 0.9, 0.8  # of the vectors' lanes, for a result with few columns
_INTEL = "intel-avx512"  # in the table: AVX-512 where MKL's products have it, too
_WIDE = 128  # columns that are divided, be there more rows or not
_PACKING = 0.5  # cycles for an element of a transposed operand
_SWAPPED = 500_000  # multiplications of products whose transposed result may be computed
_FEWEST = 5  # terms; fewer ones are rounded apart elsewhere
_LETTERS = {"d": loops.DOTS, "r": loops.READ, "p": loops.PACKED, "s": loops.SWAPPED}


def enabled() -> bool:
    """Whether products of our own are used: ``MINDTORCH_PRODUCTS`` is not 0."""
    return os.environ.get("MINDTORCH_PRODUCTS", "1") != "0"


def instruction_set() -> str:
    """The name of this processor's vectors in the table of forms; where MKL's have 512 bits, too,
    they have other sums and are measured apart."""
    if simd.vector_bytes() == 64 and mkl_kernels() == "avx512":
        return _INTEL
    return {64: "avx512", 32: "avx2"}.get(simd.vector_bytes(), "128 bits")


def layout(a: Matrix, b: Matrix) -> str:
    """"n" for each operand whose rows are in order, "t" for others."""
    return ("n" if a.across == 1 else "t") + ("n" if b.across == 1 else "t")


def chosen(dtype: Any, m: int, n: int, k: int, a: Matrix, b: Matrix) -> str:
    """The letter of the form that the table has for a product; "b" for OpenBLAS's."""
    kind = instruction_set()
    filled = n / (-(-n // simd.lanes(dtype)) * simd.lanes(dtype))
    least = _FILLED_PACKED if kind == _INTEL and b.across != 1 else _FILLED
    if filled < least and n < _WIDE and k <= _SHORT:  # OpenBLAS has narrower vectors at edges
        return "b"
    names = (f"{name} {dtype.name} {layout(a, b)}" for name in (kind, kind.removeprefix("intel-")))
    table = next((FORMS[name] for name in names if name in FORMS), None)
    if table is None:
        return "b"
    rows, columns, terms = (
        bisect.bisect_left(limits, size)
        for limits, size in zip(LIMITS, (m, n, k), strict=True)
    )
    letter = table[rows].split()[columns][terms]
    return "s" if letter == "p" and b.across != 1 and _swap_gains(dtype, m, n, k) else letter


def _swap_gains(dtype: Any, m: int, n: int, k: int) -> bool:
    """Whether rows of the left operand along the vectors are faster than packing a transposed right
    one: by cycles, what is packed, lanes that stay empty and results that are turned over."""
    width, terms = simd.lanes(dtype), n * k
    if m * terms < _SWAPPED or _rows_held(m, k, dtype) < min(-(-m // width), 2):
        return False
    empty = -m % width / (2 * width)
    saved = (_PACKING - empty) * terms - _PACKING * m * k - m * n
    return saved > 0.03 * m * terms / (2 * width)


def longest_block() -> int:
    """How many terms of a sum are added up before they are added to others, at most: as in MKL."""
    return 384 if mkl_kernels() == "avx512" else 192


def block_of(k: int) -> int:
    """How many terms of a sum of ``k`` are added up at a time."""
    most = longest_block()
    if most < k < 2 * most:
        return k // 2 if mkl_kernels() == "sse" else -(-k // 2)
    return min(k, most)


def _breadth(n: int, k: int, dtype: Any, in_rows: bool) -> int:
    """How many vectors wide packed blocks of ``n`` columns are: alike, two fifths of the second
    cache at most; half of it where the right operand's rows are in order on Intel's processors."""
    across, vectors = -(-n // simd.lanes(dtype)), tile_shape(simd.vector_bytes())[1]
    held = cache_bytes(2) * (5 if in_rows and instruction_set() == _INTEL else 4) // 10
    most = held // (block_of(k) * simd.vector_bytes())
    blocks = -(-across // (max(most // vectors, 1) * vectors))
    return min(-(-across // (blocks * vectors)) * vectors, across)


def _rows_held(m: int, k: int, dtype: Any) -> int:
    """How many vectors of rows of a left operand are packed with all their terms: blocks alike, two
    fifths of the second cache at most."""
    across = -(-m // simd.lanes(dtype))
    most = max(cache_bytes(2) * 4 // 10 // (k * simd.vector_bytes()), 1)
    return -(-across // -(-across // most))


def panel_width(dtype: Any) -> int:
    """Columns of the widest panel."""
    return tile_shape(simd.vector_bytes())[1] * simd.lanes(dtype)


@functools.cache
def _nothing(dtype: Any) -> Any:
    """What is added to a product without a start, for all panels."""
    return np.zeros(panel_width(dtype), dtype)


def _numbers(
    dtype: Any, size: tuple[int, int, int], a: Matrix, b: Matrix, form: int, turned: bool,
    batch: Batch | None, start: Matrix | None,
) -> tuple[Any, int]:  # fmt: skip
    """The array that describes a product to its loops, and into how many shares it divides."""
    m, n, k = size
    width = simd.lanes(dtype)
    if batch is not None:
        divided, unit, shares = loops.BATCH, 1, int(np.prod(batch.shape))
    elif n >= m or n >= _WIDE:
        divided, unit, shares = loops.COLUMNS, width, -(-n // width)
    else:
        rows = tile_shape(simd.vector_bytes())[0]
        divided, unit, shares = loops.ROWS, rows, -(-m // rows)
    axes = [0] if batch is None else [len(batch.shape), *batch.shape, *batch.a, *batch.b]
    left = loops.TURNED if turned else 0
    given = [m, n, k, *a, *b, *(start or (0, 0)), form, left, block_of(k)]
    if form == loops.SWAPPED:
        given += [_rows_held(m, k, dtype), divided, unit, *axes]
    else:
        given += [_breadth(n, k, dtype, b.across == 1), divided, unit, *axes]
    return np.array(given, np.int64), shares


def plan(
    dtype: Any, size: tuple[int, int, int], a: Matrix, b: Matrix, *, batch: Batch | None = None,
    start: Matrix | None = None, letter: str = "",
) -> Callable[..., None] | None:  # fmt: skip
    """``run(out, a, b)``, or with a start ``run(out, a, b, start)``, on flat arrays.

    Args:
        size: rows and columns of the result, terms of its sums.
        a, b: where the operands' elements lie; any steps but negative ones.
        batch: axes of such products, if any.
        start: of what is added to the product: a matrix, which may be ``out``; a row with no step
            down; or with no step across a column, each of whose numbers is there as often as a
            panel is wide. It is added to the sum of the first terms.
        letter: the form, in place of the table's.

    Returns:
        None where OpenBLAS is to be called.
    """
    m, n, k = size
    if k < _FEWEST or not m * n or not enabled() or min(*a, *b) < 0:
        return None
    letter = letter or chosen(dtype, m, n, k, a, b)
    form, turned = _LETTERS.get(letter.lower()), letter.isupper() and a.down == 1
    if form is None:
        return None
    if (form == loops.READ and b.across != 1) or (form == loops.SWAPPED and b.down != 1) or (
        form == loops.DOTS and (a.across != 1 or b.down != 1)
    ):
        form = loops.PACKED
    if form == loops.SWAPPED:
        run = product_swapped.product(dtype, simd.vector_bytes())
    else:
        run = loops.product(dtype, simd.vector_bytes(), form == loops.DOTS)
    numbers, shares = _numbers(dtype, size, a, b, form, turned, batch, start)
    nothing = _nothing(dtype)
    count = 1 if batch is None else shares
    if count * m * n * k < _SERIAL:
        return _serial(run, nothing, numbers, shares, start is not None)

    def shared(target: Any, x: Any, y: Any, begun: Any = nothing) -> None:
        _run_shares(run, shares, target, x, y, begun, numbers)

    if form == loops.DOTS or not denormal_operands.may_gain(dtype, size, batch, start):
        return shared
    scaled = numbers.copy()
    scaled[loops.LEFT] |= loops.SCALED

    def product(target: Any, x: Any, y: Any) -> None:
        if denormal_operands.has_denormals(x, size, a):
            _run_shares(run, shares, target, x, y, nothing, scaled)
            if denormal_operands.all_finite(target):
                return
        _run_shares(run, shares, target, x, y, nothing, numbers)

    return product


def _run_shares(
    run: Any, shares: int, target: Any, x: Any, y: Any, begun: Any, numbers: Any
) -> None:
    """A product's shares on all threads."""
    if get_num_threads() == 1:
        run(target, x, y, begun, numbers, 0, shares)
        return

    def part(first: int, last: int) -> None:
        run(target, x, y, begun, numbers, first, last)

    parallel_for(shares, part)


def _serial(run: Any, nothing: Any, numbers: Any, shares: int, has_start: bool) -> Any:
    """A product that one thread does."""
    if has_start:

        def affine(target: Any, x: Any, y: Any, begun: Any) -> None:
            run(target, x, y, begun, numbers, 0, shares)

        return bound(affine, run, numbers, 0, shares)

    def product(target: Any, x: Any, y: Any) -> None:
        run(target, x, y, nothing, numbers, 0, shares)

    return bound(product, run, nothing, numbers, 0, shares)
