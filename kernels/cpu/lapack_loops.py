"""LAPACK's routines on matrices of float32 or float64 as they lie: compiled loops over a batch that
call our OpenBLAS by its functions' names.

Results lie in columns, as LAPACK writes them. A matrix that is given lies in rows or in columns;
where :func:`order_of` knows neither, numpy's and scipy's functions take it.
"""

from __future__ import annotations

import ctypes
import functools
from collections.abc import Callable
from typing import Any

import llvmlite.binding
import numpy as np
from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic

from mindtorch.kernels.codegen.jit import entry_point, kernel

from .matrix_products import openblas
from .matrix_products.product_tile import address_of
from .vectors.llvm_code import call, pointer

_REAL = {"f": "s", "d": "d"}
_LONG = ir.IntType(64)
_BLOCK = 16  # columns and rows that are turned together
_FOR_THREADS = 256  # columns or rows of a matrix that threads share
_WIDE = 64  # columns of a block in LAPACK's work space
LOWER, UPPER, PLAIN, TURNED, VECTORS, WHOLE, SHORT, UNIT = map(ord, "LUNTVASU")


@functools.cache
def _routine(name: str, letters: int) -> Any:
    """LAPACK's routine as a function of the addresses of its arguments; the last ``letters`` of
    what C passes are the lengths of words, which are one letter each."""
    symbol = f"mindtorch_{name}"
    function = getattr(openblas.library(), f"scipy_{name}_")
    llvmlite.binding.add_symbol(symbol, ctypes.cast(function, ctypes.c_void_p).value)

    @intrinsic
    def routine(context: Any, addresses: Any) -> Any:
        def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
            given = cgutils.unpack_tuple(builder, arguments[0])
            given = [pointer(builder, each) for each in given]
            given += [ir.Constant(_LONG, 1)] * letters
            call(builder, symbol, ir.VoidType(), given)
            return context.get_dummy_value()

        return types.void(addresses), generate

    return routine


@kernel
def _copied(
    out: Any, x: Any, to: int, at: int, rows: int, columns: int, by_rows: bool, low: bool = False
) -> None:
    """A matrix that begins at ``x[at]``, in columns from ``out[to]``; of one in rows, the blocks
    above the diagonal are left out where the ``low`` triangle is read."""
    if not by_rows:
        for i in range(rows * columns):
            out[np.uint64(to + i)] = x[np.uint64(at + i)]
        return
    for first in range(0, rows, _BLOCK):
        last = min(first + _BLOCK, rows)
        for j in range(last if low else columns):
            for i in range(first, last):
                out[np.uint64(to + j * rows + i)] = x[np.uint64(at + i * columns + j)]


@functools.cache
def cholesky_of(letter: str) -> Any:
    potrf = _routine(f"{letter}potrf", 1)

    @kernel
    def cholesky(out: Any, info: Any, x: Any, n: int, by_rows: bool) -> None:
        facts = np.empty(3, np.int32)
        f = address_of(facts)
        for each in range(info.size):
            at = each * n * n
            _copied(out, x, at, at, n, n, by_rows, True)
            facts[0], facts[1], facts[2] = LOWER, n, 0
            potrf((f, f + 4, address_of(out) + at * out.itemsize, f + 4, f + 8))
            number = facts[2]
            for j in range(n):
                column = at + j * n
                for i in range(j):
                    out[column + i] = 0
                if number == 0 and np.isnan(out[column + j]):
                    number = j + 1
            info[each] = number

    return cholesky


@functools.cache
def inverse_of(letter: str) -> Any:
    getrf, getri = _routine(f"{letter}getrf", 0), _routine(f"{letter}getri", 0)

    @kernel
    def inverse(out: Any, info: Any, x: Any, n: int, by_rows: bool) -> None:
        facts, pivots = np.empty(3, np.int32), np.empty(n, np.int32)
        work = np.empty(n * _WIDE, out.dtype)
        f, p, w = address_of(facts), address_of(pivots), address_of(work)
        for each in range(info.size):
            at = each * n * n
            _copied(out, x, at, at, n, n, by_rows)
            a = address_of(out) + at * out.itemsize
            facts[0], facts[1], facts[2] = n, work.size, 0
            getrf((f, f, a, f, p, f + 8))
            if facts[2] == 0:
                getri((f, a, f, p, w, f + 4, f + 8))
            info[each] = facts[2]

    return inverse


@functools.cache
def determinant_of(letter: str) -> Any:
    getrf = _routine(f"{letter}getrf", 0)

    @kernel
    def determinant(out: Any, x: Any, n: int, by_rows: bool) -> None:
        facts, pivots = np.empty(2, np.int32), np.empty(n, np.int32)
        lu = np.empty(n * n, out.dtype)
        f, p, a = address_of(facts), address_of(pivots), address_of(lu)
        for each in range(out.size):
            _copied(lu, x, 0, each * n * n, n, n, by_rows)
            facts[0], facts[1] = n, 0
            getrf((f, f, a, f, p, f + 4))
            product, exchanged = lu[0], pivots[0] != 1
            for i in range(1, n):
                product *= lu[i * n + i]
                exchanged ^= pivots[i] != i + 1
            out[each] = -product if exchanged else product

    return determinant


@functools.cache
def solution_of(letter: str) -> Any:
    getrf, getrs = _routine(f"{letter}getrf", 0), _routine(f"{letter}getrs", 1)

    @kernel
    def solution(
        out: Any, info: Any, x: Any, y: Any, n: int, k: int, by_rows: bool, y_by_rows: bool
    ) -> None:
        facts, pivots = np.empty(4, np.int32), np.empty(n, np.int32)
        lu = np.empty(n * n, out.dtype)
        f, p, a = address_of(facts), address_of(pivots), address_of(lu)
        for each in range(info.size):
            at = each * n * k
            _copied(lu, x, 0, each * n * n, n, n, by_rows)
            _copied(out, y, at, at, n, k, y_by_rows)
            facts[0], facts[1], facts[2], facts[3] = n, k, 0, PLAIN
            getrf((f, f, a, f, p, f + 8))
            info[each] = facts[2]
            b = address_of(out) + at * out.itemsize
            getrs((f + 12, f, f + 4, a, f, p, b, f, f + 8))

    return solution


@functools.cache
def triangular_of(letter: str) -> Any:
    trtrs = _routine(f"{letter}trtrs", 3)

    @kernel
    def triangular(
        out: Any, x: Any, y: Any, count: int, n: int, k: int, y_by_rows: bool, triangle: int,
        turned: int, diagonal: int,
    ) -> int:  # fmt: skip
        facts, bad = np.empty(6, np.int32), 0
        facts[0], facts[1], facts[3], facts[4], facts[5] = n, k, triangle, turned, diagonal
        f = address_of(facts)
        for each in range(count):
            at = each * n * k
            _copied(out, y, at, at, n, k, y_by_rows)
            a = address_of(x) + each * n * n * x.itemsize
            b = address_of(out) + at * out.itemsize
            facts[2] = 0
            trtrs((f + 12, f + 16, f + 20, f, f + 4, a, f, b, f, f + 8))
            bad += facts[2] != 0
        return bad

    return triangular


@functools.cache
def orthogonal_of(letter: str) -> Any:
    geqrf, orgqr = _routine(f"{letter}geqrf", 0), _routine(f"{letter}orgqr", 0)

    @kernel
    def orthogonal(
        q: Any, r: Any, x: Any, count: int, m: int, n: int, k: int, by_rows: bool
    ) -> None:
        facts, least = np.empty(6, np.int32), min(m, n)
        packed, tau = np.empty(m * n, q.dtype), np.empty(least, q.dtype)
        work = np.empty(max(n, k) * _WIDE, q.dtype)
        facts[0], facts[1], facts[2], facts[3], facts[4] = m, n, k, least, work.size
        f, a, t, w = address_of(facts), address_of(packed), address_of(tau), address_of(work)
        for each in range(count):
            _copied(packed, x, 0, each * m * n, m, n, by_rows)
            geqrf((f, f + 4, a, f, t, w, f + 16, f + 20))
            at = each * k * n
            for j in range(n):
                for i in range(k):
                    r[at + j * k + i] = packed[j * m + i] if i <= j else 0
            at = each * m * k
            for i in range(m * least):
                q[at + i] = packed[i]
            b = address_of(q) + at * q.itemsize
            orgqr((f, f + 8, f + 12, b, f, t, w, f + 16, f + 20))

    return orthogonal


@functools.cache
def symmetric_of(letter: str) -> Any:
    syevd = _routine(f"{letter}syevd", 2)

    @kernel
    def symmetric(
        values: Any, vectors: Any, x: Any, count: int, n: int, by_rows: bool, triangle: int
    ) -> int:
        facts, bad = np.empty(6, np.int32), 0
        work = np.empty(1 + 6 * n + 2 * n * n + n * _WIDE, values.dtype)
        whole = np.empty(3 + 5 * n, np.int32)
        facts[0], facts[1], facts[2], facts[3] = n, work.size, whole.size, 0
        facts[4], facts[5] = VECTORS, triangle
        f, w, i = address_of(facts), address_of(work), address_of(whole)
        for each in range(count):
            at = each * n * n
            _copied(vectors, x, at, at, n, n, by_rows)
            a = address_of(vectors) + at * vectors.itemsize
            v = address_of(values) + each * n * values.itemsize
            syevd((f + 16, f + 20, f, a, f, v, w, f + 4, i, f + 8, f + 12))
            bad += facts[3] != 0
        return bad

    return symmetric


@functools.cache
def singular_of(letter: str) -> Any:
    gesdd = _routine(f"{letter}gesdd", 1)

    @kernel
    def singular(
        u: Any, values: Any, vh: Any, x: Any, count: int, m: int, n: int, columns: int, rows: int,
        by_rows: bool,
    ) -> int:  # fmt: skip
        """``columns`` of ``u``, and ``rows`` of ``vh``."""
        least = min(m, n)
        packed, whole = np.empty(m * n, u.dtype), np.empty(8 * least, np.int32)
        facts, asked, bad = np.empty(6, np.int32), np.empty(1, u.dtype), 0
        facts[0], facts[1], facts[2], facts[3], facts[4] = m, n, rows, -1, 0
        facts[5] = WHOLE if columns == m and rows == n else SHORT
        f, a, i, q = (
            address_of(facts), address_of(packed), address_of(whole), address_of(asked)
        )  # fmt: skip
        s, b, c = address_of(values), address_of(u), address_of(vh)
        gesdd((f + 20, f, f + 4, a, f, s, b, f, c, f + 8, q, f + 12, i, f + 16))
        work = np.empty(int(asked[0]) + 1, u.dtype)
        facts[3] = work.size
        w, size = address_of(work), u.itemsize
        for each in range(count):
            _copied(packed, x, 0, each * m * n, m, n, by_rows)
            gesdd((
                f + 20, f, f + 4, a, f, s + each * least * size, b + each * m * columns * size, f,
                c + each * rows * n * size, f + 8, w, f + 12, i, f + 16,
            ))  # fmt: skip
            bad += facts[4] != 0
        return bad

    return singular


@functools.cache
def least_squares_of(letter: str) -> Any:
    gelsy = _routine(f"{letter}gelsy", 0)

    @kernel
    def least_squares(
        out: Any, rank: Any, x: Any, y: Any, limit: Any, m: int, n: int, k: int, by_rows: bool,
        y_by_rows: bool,
    ) -> None:  # fmt: skip
        least, most = min(m, n), max(m, n)
        packed, right = np.empty(m * n, out.dtype), np.empty(m * k, out.dtype)
        wide, pivots = np.empty(most * k, out.dtype), np.empty(n, np.int32)
        work = np.empty(max(least + 3 * n + 1, 2 * least + k) * _WIDE, out.dtype)
        facts = np.empty(7, np.int32)
        facts[0], facts[1], facts[2], facts[3], facts[4] = m, n, k, most, work.size
        f, a, b, p, w, c = (
            address_of(facts), address_of(packed), address_of(wide), address_of(pivots),
            address_of(work), address_of(limit),
        )  # fmt: skip
        for each in range(rank.size):
            _copied(packed, x, 0, each * m * n, m, n, by_rows)
            _copied(right, y, 0, each * m * k, m, k, y_by_rows)
            for j in range(k):
                for i in range(most):
                    wide[j * most + i] = right[j * m + i] if i < m else 0
            pivots[:] = 0
            gelsy((f, f + 4, f + 8, a, f, b, f + 12, p, c, f + 20, w, f + 16, f + 24))
            rank[each] = facts[5]
            for j in range(k):
                for i in range(n):
                    out[(each * k + j) * n + i] = wide[j * most + i]

    return least_squares


# --- what the kernels' plans ask -------------------------------------------------------------


def order_of(x: Any, *others: Any) -> bool | None:
    """Whether matrices, one after another, lie in rows (else in columns); None where they do
    neither, or have no float32 or float64 elements, or other batches than ``others``."""
    if x.dtype.char not in _REAL or not all(x.shape) or not x.on_host:
        return None
    if any(x.shape[:-2] != each.shape[: len(x.shape) - 2] for each in others):
        return None
    rows, columns = x.shape[-2:]
    step = rows * columns
    for length, stride in zip(x.shape[-3::-1], x.strides[-3::-1], strict=True):
        if length != 1 and stride != step:
            return None
        step *= length
    for by_rows, (down, along) in ((True, (columns, 1)), (False, (1, rows))):
        if (rows == 1 or x.strides[-2] == down) and (columns == 1 or x.strides[-1] == along):
            return by_rows
    return None


def in_columns(*results: Any) -> bool:
    """Whether results lie in columns, one matrix after another."""
    orders = [(min(x.shape[-2:]), order_of(x)) for x in results if x.shape != (0,)]
    return all(order is False or (order and least == 1) for least, order in orders)


def writes_columns(function: Callable[..., Any]) -> Callable[..., Any]:
    """Mark a kernel whose results may lie in columns."""
    marked: Any = function
    marked.writes_columns = True
    return function


def compiled(make: Callable[[str], Any], x: Any, kinds: str, result: str = "void") -> Any:
    """The entry point of a routine for the type of ``x``; in ``kinds``, a letter each: r for an
    array of that type, i for one of int32, l of int64, n for a number, b for a truth value."""
    names = {
        "r": f"{x.dtype.name}[::1]", "i": "int32[::1]", "l": "int64[::1]", "n": "int64",
        "b": "boolean",
    }  # fmt: skip
    signature = f"{result}({', '.join(names[kind] for kind in kinds)})"
    run = entry_point(make(_REAL[x.dtype.char]), signature)
    if max(x.shape[-2:]) < _FOR_THREADS:
        return run

    def run_together(*arrays: Any) -> Any:
        with openblas.together():
            return run(*arrays)

    return run_together
