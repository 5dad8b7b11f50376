"""Matrix products through loops of our own (:mod:`.matrix_products.products`) or BLAS: no operand
is copied that these can read as it lies.

A batch is a loop of products inside one compiled function; its axes are given by strides, 0 where
an operand is broadcast.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import numpy as np

from mindtorch.kernels.codegen.fused_loop import Step
from mindtorch.kernels.codegen.jit import bound, entry_point, kernel

from . import amx_products
from .amx_products import BFLOAT16
from .elementwise import Layouts, Operand, fused_plan, strided
from .matrix_products import bfloat16_products, openblas, product_shapes, products
from .matrix_products.openblas import gemm, gemv
from .matrix_products.product_shapes import Matrix
from .threads.thread_pool import get_num_threads, parallel_for
from .via_float32 import narrow, widened

_SERIAL = 1_500_000  # multiplications that one thread does sooner than two
_BLOCK = 16  # rows or columns of a product that one thread computes
_OUTER = 16384  # elements of a product without sums that are worth an elementwise loop
_ROW = 8  # columns that are worth a loop of vectors
_ROWS = 128  # rows of few terms that vectors walk at a time
_FAST = (np.dtype(np.float32), np.dtype(np.float64))


@kernel
def _few_terms(m: int, n: int, k: int, ta: int, tb: int) -> bool:
    """Whether MKL, in PyTorch, rounds products and sums apart, in the terms' order.

    So it does on AMD's processors; on Intel's it fuses products and sums, some or all of them.
    """
    if k < 2 or k > 4 or (n > 11 and m > 3):
        return False
    return k < 4 or ta != 0 or tb == 0 or n <= 3 or m == 1


@kernel
def _by_columns(
    out: Any, a: Any, b: Any, at: int, left: int, right: int, m: int, n: int, k: int, down_a: int,
    along_a: int, down_b: int, along_b: int,
) -> None:  # fmt: skip
    """:func:`_sums` of many rows, by vectors of rows: the few columns are copied apart."""
    given, sums = np.empty(k * _ROWS, a.dtype), np.empty(_ROWS, a.dtype)
    for first in range(0, m, _ROWS):
        count = min(_ROWS, m - first)
        for q in range(k):
            column, begin = given[q * _ROWS : q * _ROWS + count], left + q * along_a
            for i in range(count):
                column[i] = a[np.uint64(begin + (first + i) * down_a)]
        for j in range(n):
            total, begin = sums[:count], right + j * along_b
            for q in range(k):
                column, factor = given[q * _ROWS : q * _ROWS + count], b[begin + q * down_b]
                for i in range(count):
                    product = column[i] * factor
                    total[i] = product if q == 0 else total[i] + product
            for i in range(count):
                out[np.uint64(at + (first + i) * n + j)] = total[i]


@kernel
def _short_sums(
    out: Any, a: Any, b: Any, at: int, left: int, right: int, m: int, n: int, k: int, ta: int,
    lda: int, tb: int, ldb: int,
) -> None:  # fmt: skip
    """:func:`_sums` element by element, of matrices that begin at these places; unsigned places
    need no look whether they count from the end."""
    down_a, along_a = (1, lda) if ta else (lda, 1)
    down_b, along_b = (1, ldb) if tb else (ldb, 1)
    if m >= 2 * _BLOCK:
        _by_columns(out, a, b, at, left, right, m, n, k, down_a, along_a, down_b, along_b)
        return
    for i in range(m):
        for j in range(n):
            p, q = np.uint64(left + i * down_a), np.uint64(right + j * along_b)
            total = a[p] * b[q]
            for _ in range(1, k):
                p += np.uint64(along_a)
                q += np.uint64(down_b)
                total += a[p] * b[q]
            out[np.uint64(at + i * n + j)] = total


@kernel
def _sums(
    out: Any, a: Any, b: Any, m: int, n: int, k: int, ta: int, lda: int, tb: int, ldb: int
) -> None:
    """``out = a @ b`` without fused multiply-adds; terms are few, so that long rows are walked."""
    down_a, along_a = (1, lda) if ta else (lda, 1)
    down_b = 1 if tb else ldb
    if n < _ROW:
        _short_sums(out, a, b, 0, 0, 0, m, n, k, ta, lda, tb, ldb)
        return
    turned = np.empty(n * k, b.dtype) if tb else b
    if tb:
        for j in range(n):
            for q in range(k):
                turned[q * n + j] = b[j * ldb + q]
        down_b = n
    for i in range(m):
        row = out[i * n : i * n + n]
        for q in range(k):
            factor, other = a[i * down_a + q * along_a], turned[q * down_b : q * down_b + n]
            if q == 0:
                for j in range(n):
                    row[j] = factor * other[j]
            else:
                for j in range(n):
                    row[j] += factor * other[j]


@kernel
def is_thin(m: int, n: int, k: int) -> bool:
    """Whether rows or columns of a result are sooner computed one by one than as a product, which
    packs its operands first; BLAS has loops of its own for small ones."""
    least = min(m, n)
    return least <= 3 and m * n * k >= (8192 if least == 1 else 1_000_000)


@kernel
def add_thin(
    out: Any, a: Any, b: Any, m: int, n: int, k: int, ta: int, lda: int, tb: int, ldb: int, ldc: int
) -> None:
    """``out += a @ b`` where one of the two has few rows or columns: the other is read as it lies,
    once for each of them."""
    if m <= n:
        rows, columns = (n, k) if tb else (k, n)
        for i in range(m):
            row = a[i if ta else i * lda :]
            gemv(1 - tb, rows, columns, b, ldb, row, lda if ta else 1, out[i * ldc :], 1)
    else:
        rows, columns = (k, m) if ta else (m, k)
        for j in range(n):
            column = b[j * ldb if tb else j :]
            gemv(ta, rows, columns, a, lda, column, 1 if tb else ldb, out[j:], ldc)


@kernel
def _single(
    out: Any, a: Any, b: Any, m: int, n: int, k: int, ta: int, lda: int, tb: int, ldb: int
) -> None:
    if _few_terms(m, n, k, ta, tb):
        _sums(out, a, b, m, n, k, ta, lda, tb, ldb)
    elif is_thin(m, n, k):
        for i in range(m * n):
            out[i] = 0
        add_thin(out, a, b, m, n, k, ta, lda, tb, ldb, n)
    else:
        gemm(ta, tb, m, n, k, 1.0, a, lda, b, ldb, 0.0, out, n)


@kernel
def _batched(
    out: Any, a: Any, b: Any, m: int, n: int, k: int, ta: int, lda: int, tb: int, ldb: int,
    geometry: Any, first: int, last: int,
) -> None:  # fmt: skip
    """Products ``first`` to ``last`` of the batch."""
    axes = geometry.shape[1]
    if axes == 1:
        step_a, step_b = geometry[1, 0], geometry[2, 0]
        if n < _ROW and _few_terms(m, n, k, ta, tb):
            for i in range(first, last):
                _short_sums(out, a, b, i * m * n, i * step_a, i * step_b, m, n, k, ta, lda, tb, ldb)
            return
        for i in range(first, last):
            into, left, right = out[i * m * n :], a[i * step_a :], b[i * step_b :]
            _single(into, left, right, m, n, k, ta, lda, tb, ldb)
        return
    for i in range(first, last):
        left = i
        at_a = 0
        at_b = 0
        for axis in range(axes - 1, -1, -1):
            place = left % geometry[0, axis]
            left = left // geometry[0, axis]
            at_a += place * geometry[1, axis]
            at_b += place * geometry[2, axis]
        _single(out[i * m * n :], a[at_a:], b[at_b:], m, n, k, ta, lda, tb, ldb)


@kernel
def _linear(
    out: Any, x: Any, w: Any, bias: Any, m: int, n: int, k: int, ta: int, lda: int, tb: int,
    ldb: int,
) -> None:  # fmt: skip
    if tb and _few_terms(m, n, k, ta, tb):
        _sums(out, x, w, m, n, k, ta, lda, tb, ldb)
        for i in range(m):
            for j in range(n):
                out[i * n + j] += bias[j]
        return
    for i in range(m):
        row = out[i * n : i * n + n]
        for j in range(n):
            row[j] = bias[j]
    if is_thin(m, n, k):
        add_thin(out, x, w, m, n, k, ta, lda, tb, ldb, n)
        return
    gemm(ta, tb, m, n, k, 1.0, x, lda, w, ldb, 1.0, out, n)


@kernel
def _some(
    out: Any, a: Any, b: Any, bias: Any, m: int, n: int, k: int, ta: int, lda: int, tb: int,
    ldb: int, first: int, last: int,
) -> None:  # fmt: skip
    """Blocks ``first`` to ``last`` of a product: of columns, or of rows where there are more.

    The bias, where there is one, is added to each row.
    """
    wide = n >= m
    start, stop = first * _BLOCK, min(last * _BLOCK, max(m, n))
    rows, columns = (m, stop - start) if wide else (stop - start, n)
    into = out[start:] if wide else out[start * n :]
    left = a if wide else a[start * (1 if ta else lda) :]
    right = b[start * (ldb if tb else 1) :] if wide else b
    offset = bias[start:] if wide and bias.size else bias
    thin = is_thin(m, n, k)
    for i in range(rows if thin or bias.size else 0):
        row = into[i * n : i * n + columns]
        for j in range(columns):
            row[j] = offset[j] if bias.size else 0
    if thin:
        add_thin(into, left, right, rows, columns, k, ta, lda, tb, ldb, n)
        return
    beta = 1.0 if bias.size else 0.0
    gemm(ta, tb, rows, columns, k, 1.0, left, lda, right, ldb, beta, into, n)


def _whole(
    name: str, m: int, n: int, k: int, ta: int, lda: int, tb: int, ldb: int
) -> Callable[..., None]:
    """``run(out, a, b)`` for one product."""
    vector, numbers = f"{name}[::1]", ", ".join(["int64"] * 7)
    run = entry_point(_single, f"void({vector}, {vector}, {vector}, {numbers})")
    if m * n * k >= _SERIAL and not _few_terms.py_func(m, n, k, ta, tb):
        share, none = _shared(name, m, n, k, ta, lda, tb, ldb), np.empty(0, name)

        def large(target: Any, x: Any, y: Any) -> None:
            if get_num_threads() > 1:
                share(target, x, y, none)
            else:
                run(target, x, y, m, n, k, ta, lda, tb, ldb)

        return large

    def product(target: Any, x: Any, y: Any) -> None:
        run(target, x, y, m, n, k, ta, lda, tb, ldb)

    return bound(product, run, m, n, k, ta, lda, tb, ldb)


def _shared(
    name: str, m: int, n: int, k: int, ta: int, lda: int, tb: int, ldb: int
) -> Callable[..., None]:
    """``run(out, a, b, bias)`` for one product that is shared out to the threads."""
    vector, numbers = f"{name}[::1]", ", ".join(["int64"] * 9)
    blocks = -(-max(m, n) // _BLOCK)
    some: Any = None

    def shared(target: Any, x: Any, y: Any, bias: Any) -> None:
        nonlocal some
        if some is None:
            some = entry_point(_some, f"void({', '.join([vector] * 4)}, {numbers})")

        def part(first: int, last: int) -> None:
            some(target, x, y, bias, m, n, k, ta, lda, tb, ldb, first, last)

        parallel_for(blocks, part)

    return shared


def leading(shape: Any, strides: Any) -> tuple[int, int] | None:
    """(transposed, leading dimension) of a matrix for BLAS; None where it must be copied."""
    rows, columns = shape
    down, across = strides
    if across == 1 and (down >= max(columns, 1) or rows == 1):
        return 0, max(down, columns, 1)
    if down == 1 and (across >= max(rows, 1) or columns == 1):
        return 1, max(across, rows, 1)
    if columns == 1 and down >= 1:
        return 0, down
    if rows == 1 and across >= 1:
        return 1, across
    return None


def _short(given: Any, biased: bool = False) -> Any:
    """A product of bfloat16 by an instruction for these, which may begin with a row for all."""
    start = Matrix(0, 1) if biased else None
    on_registers = amx_products.plan(BFLOAT16, given, start=start)
    return on_registers or bfloat16_products.plan(given, biased=biased)


def _plan(out_layouts: Layouts, in_layouts: Layouts) -> Callable[..., None] | None:
    out, (a, b) = out_layouts[0], in_layouts
    if a.dtype != b.dtype or out.dtype != a.dtype:
        return None
    if a.dtype == BFLOAT16:
        return _short(product_shapes.of_matrices(out, a, b))
    if a.dtype not in _FAST:
        return None
    (m, k), n = a.shape[-2:], b.shape[-1]
    if k == 0:
        return _zeros
    shape = product_shapes.of_matrices(out, a, b)
    own = products.plan(a.dtype, shape.size, shape.a, shape.b, batch=shape.batch)
    if own is not None:
        return own
    left, right = leading(a.shape[-2:], a.strides[-2:]), leading(b.shape[-2:], b.strides[-2:])
    if left is None or right is None:
        return None
    (ta, lda), (tb, ldb) = left, right
    openblas.library()
    name = a.dtype.name
    if len(out.shape) == 2:
        if k == 1 and m * n >= _OUTER:  # products alone, without sums
            step = Step("multiply", (0, 1), out.dtype, out.dtype)
            return fused_plan((step,), (0,), out_layouts, in_layouts)
        return _whole(name, m, n, k, ta, lda, tb, ldb)
    batch, strides = product_shapes.batch_of(out, a, b)
    if m * n * k and not ta and product_shapes.folds(batch, strides, m, k, lda):
        return _whole(name, m * int(np.prod(batch)), n, k, ta, lda, tb, ldb)
    count = int(np.prod(batch))
    if count == 1:
        return _whole(name, m, n, k, ta, lda, tb, ldb)
    geometry = np.array([batch, *strides], np.int64)
    vector, numbers = f"{name}[::1]", ", ".join(["int64"] * 7)
    types = f"{vector}, {vector}, {vector}, {numbers}, int64[:,::1], int64, int64"
    many = entry_point(_batched, f"void({types})")
    if count * m * n * k < _SERIAL:

        def together(target: Any, x: Any, y: Any) -> None:
            many(target, x, y, m, n, k, ta, lda, tb, ldb, geometry, 0, count)

        return bound(together, many, m, n, k, ta, lda, tb, ldb, geometry, 0, count)

    def shared(target: Any, x: Any, y: Any) -> None:
        def part(first: int, last: int) -> None:
            many(target, x, y, m, n, k, ta, lda, tb, ldb, geometry, first, last)

        parallel_for(count, part)

    return shared


def _zeros(target: Any, *operands: Any) -> None:
    target[...] = 0


def matmul(out: Any, a: Any, b: Any) -> None:
    """``out = a @ b`` on the last two axes, the others broadcast; both have at least two axes.

    16-bit floating-point products are summed in float32 and rounded once.
    """
    if not out.size:
        return
    if out.dtype in _FAST:
        _through_plan(matmul, out, (a, b))
    elif out.dtype.kind in "iu" and out.ndim == 2 and a.dtype == b.dtype == out.dtype:
        kind = f"{out.dtype.name}[:, ::1]"
        run = entry_point(_whole_numbers, f"void({kind}, {kind}, {kind})")
        run(out, np.ascontiguousarray(a), np.ascontiguousarray(b))
    elif out.dtype.kind in "ciub":
        out[...] = np.matmul(a, b)
    else:
        wide = np.empty(out.shape, np.float32)
        matmul(wide, widened(a), widened(b))
        with np.errstate(over="ignore"):
            narrow(out, wide)


@kernel
def _whole_numbers(out: Any, a: Any, b: Any) -> None:
    """The product of matrices of whole numbers, which BLAS and numpy have no loops for."""
    for i in range(out.shape[0]):
        row = out[i]
        row[:] = 0
        for q in range(b.shape[0]):
            factor, other = a[i, q], b[q]
            for j in range(row.size):
                row[j] += factor * other[j]


def _matmul_plan(out_layouts: Layouts, in_layouts: Layouts) -> Callable[..., None] | None:
    run = _plan(out_layouts, in_layouts)
    return amx_products.where_allowed(run, amx_products.matmul, out_layouts, in_layouts)


matmul.plan = _matmul_plan


def _through_plan(function: Any, out: Any, operands: Any) -> None:
    """Call a flat form on arrays of any strides; what it declines is copied first."""
    run = _bound(function, *[(x.shape, x.strides, x.dtype) for x in (out, *operands)])
    if run is None:
        operands = [np.ascontiguousarray(x) for x in operands]
        run = _bound(function, *[(x.shape, x.strides, x.dtype) for x in (out, *operands)])
    run(out.reshape(-1), *[_memory(x) for x in operands])


@functools.lru_cache(maxsize=1024)
def _bound(function: Any, out: Any, *operands: Any) -> Any:
    if any(stride < 0 for _, strides, _ in operands for stride in strides):
        return None
    layouts = [
        Operand(shape, tuple(s // dtype.itemsize for s in strides), dtype)
        for shape, strides, dtype in (out, *operands)
    ]
    return function.plan((layouts[0],), tuple(layouts[1:]))


def _memory(array: Any) -> Any:
    """The memory from an array's first element to its last, as a 1-d array."""
    if array.flags.c_contiguous:
        return array.reshape(-1)
    extent = 1 + sum((n - 1) * s for n, s in zip(array.shape, array.strides, strict=True)) // (
        array.itemsize
    )
    return np.lib.stride_tricks.as_strided(array, (extent,), (array.itemsize,))


def _linear_plan(out_layouts: Layouts, in_layouts: Layouts) -> Callable[..., None] | None:
    out, (x, weight, bias) = out_layouts[0], in_layouts
    kinds = {a.dtype for a in (out, *in_layouts) if a is not None}
    shape = product_shapes.of_linear(x, weight)
    if len(kinds) > 1 or shape is None or shape.size[2] == 0:
        return None
    if x.dtype == BFLOAT16 and (bias is None or bias.strides == (1,)):
        short = _short(shape, bias is not None)
        return short if short is None or bias is not None else _bare(short)
    if x.dtype not in _FAST:
        return None
    (m, n, k), step = shape.size, shape.a.down
    if bias is None or bias.strides == (1,):
        start = None if bias is None else Matrix(0, 1)
        own = products.plan(x.dtype, shape.size, shape.a, shape.b, start=start)
        if own is not None:
            return own if bias is not None else _bare(own)
    left = leading((m, k), (max(step, k) if m == 1 else step, x.strides[-1]))
    right = leading((k, n), shape.b)
    if left is None or right is None:
        return None
    (ta, lda), (tb, ldb) = left, right
    openblas.library()
    if bias is None:
        return _bare(_whole(x.dtype.name, m, n, k, ta, lda, tb, ldb))
    if bias.strides != (1,):
        return None
    vector = f"{x.dtype.name}[::1]"
    numbers = ", ".join(["int64"] * 7)
    run = entry_point(_linear, f"void({vector}, {vector}, {vector}, {vector}, {numbers})")
    if m * n * k >= _SERIAL and not _few_terms.py_func(m, n, k, ta, tb):
        share = _shared(x.dtype.name, m, n, k, ta, lda, tb, ldb)

        def large(target: Any, source: Any, w: Any, offset: Any) -> None:
            if get_num_threads() > 1:
                share(target, source, w, offset)
            else:
                run(target, source, w, offset, m, n, k, ta, lda, tb, ldb)

        return large

    def affine(target: Any, source: Any, w: Any, offset: Any) -> None:
        run(target, source, w, offset, m, n, k, ta, lda, tb, ldb)

    return bound(affine, run, m, n, k, ta, lda, tb, ldb)


def _bare(product: Callable[..., None]) -> Callable[..., None]:
    """A product in the place of a linear layer without bias."""

    def run(target: Any, x: Any, weight: Any, bias: Any = None) -> None:
        product(target, x, weight)

    return run


def linear(out: Any, x: Any, weight: Any, bias: Any = None) -> None:
    """``out = x @ weight.T + bias``; ``x`` may have any number of leading axes, or none."""
    if not out.size:
        return
    target = out.reshape(-1, out.shape[-1])
    rows = x.reshape(target.shape[0], x.shape[-1])
    if out.dtype in _FAST and bias is not None and x.size:
        _through_plan(linear, target, (rows, weight, np.ascontiguousarray(bias)))
    elif out.dtype in _FAST or out.dtype.kind in "ciub":
        matmul(target, rows, weight.T)
        if bias is not None:
            target += bias
    else:
        wide = np.empty(target.shape, np.float32)
        given = None if bias is None else bias.astype(np.float32)
        linear(wide, widened(rows), widened(weight), given)
        narrow(target, wide)


def _affine_plan(out_layouts: Layouts, in_layouts: Layouts) -> Callable[..., None] | None:
    run = _linear_plan(out_layouts, in_layouts)
    return amx_products.where_allowed(run, amx_products.linear, out_layouts, in_layouts)


linear.plan = _affine_plan


def addmm(out: Any, bias: Any, a: Any, b: Any, *, alpha: float, beta: float) -> None:
    """``out = beta * bias + alpha * (a @ b)``."""
    product = np.empty(out.shape, a.dtype)
    matmul(product, a, b)
    if alpha != 1:
        product *= a.dtype.type(alpha)
    if beta == 0:
        out[...] = product
    else:
        out[...] = product + (bias if beta == 1 else bias * a.dtype.type(beta))


__all__ = ["addmm", "leading", "linear", "matmul", "strided"]
