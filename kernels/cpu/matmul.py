"""Matrix products through BLAS: no operand that has a unit stride is copied.

A batch is a loop of products inside one compiled function; its axes are given by strides, 0 where
an operand is broadcast.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import numpy as np

from mindtorch.kernels.chains import Step
from mindtorch.kernels.compile import bound, entry_point, kernel

from . import blas
from .blas import gemm
from .elementwise import Layouts, Operand, broadcast_strides, fused_plan, strided
from .half import narrow, widened

_FAST = (np.dtype(np.float32), np.dtype(np.float64))


@kernel
def _few_terms(m: int, n: int, k: int, ta: int, tb: int) -> bool:
    """Whether MKL, in PyTorch, rounds products and sums apart, in the terms' order."""
    if k < 2 or k > 4 or (n > 11 and m > 3):
        return False
    return k < 4 or ta != 0 or tb == 0 or n <= 3 or m == 1


@kernel
def _sums(
    out: Any, a: Any, b: Any, m: int, n: int, k: int, ta: int, lda: int, tb: int, ldb: int
) -> None:
    """``out = a @ b`` without fused multiply-adds."""
    down_a, along_a = (1, lda) if ta else (lda, 1)
    down_b, along_b = (1, ldb) if tb else (ldb, 1)
    for i in range(m):
        for j in range(n):
            total = a[i * down_a] * b[j * along_b]
            for q in range(1, k):
                total += a[i * down_a + q * along_a] * b[j * along_b + q * down_b]
            out[i * n + j] = total


@kernel
def _single(
    out: Any, a: Any, b: Any, m: int, n: int, k: int, ta: int, lda: int, tb: int, ldb: int
) -> None:
    if _few_terms(m, n, k, ta, tb):
        _sums(out, a, b, m, n, k, ta, lda, tb, ldb)
    else:
        gemm(ta, tb, m, n, k, 1.0, a, lda, b, ldb, 0.0, out, n)


@kernel(fastmath={"reassoc", "contract"})
def _inner(out: Any, a: Any, b: Any, m: int, k: int, step: int) -> None:
    """The products of ``m`` rows, ``step`` apart, with a vector: blocks of 256 terms, these in
    float64."""
    for i in range(m):
        row = a[i * step : i * step + k]
        total = 0.0
        for start in range(0, k, 256):
            block, terms = row[start : start + 256], b[start : start + 256]
            part = out.dtype.type(0)
            for j in range(block.size):
                part += block[j] * terms[j]
            total += part
        out[i] = total


@kernel(fastmath={"contract"})
def _combined(out: Any, a: Any, b: Any, n: int, k: int, step: int) -> None:
    """The sum of ``k`` rows of ``n`` elements, ``step`` apart, each times its factor in ``b``."""
    out[:n] = 0
    whole = k // 4 * 4
    for q in range(0, whole, 4):
        r, s, t, u = (
            a[q * step : q * step + n], a[(q + 1) * step : (q + 1) * step + n],
            a[(q + 2) * step : (q + 2) * step + n], a[(q + 3) * step : (q + 3) * step + n],
        )  # fmt: skip
        c, d, e, f = b[q], b[q + 1], b[q + 2], b[q + 3]
        for j in range(n):
            out[j] += (c * r[j] + d * s[j]) + (e * t[j] + f * u[j])
    for q in range(whole, k):
        r, c = a[q * step : q * step + n], b[q]
        for j in range(n):
            out[j] += c * r[j]


def _with_vector(name: str, sizes: Any, left: Any, right: Any, strides: Any) -> Any:
    """The product of a matrix and a vector, read once at the speed of memory."""
    (m, k, n), (ta, lda), (tb, ldb) = sizes, left, right
    if m * n * k < _LONG or min(m, n) > 1 or k < 8:
        return None
    first = n == 1  # the matrix comes first
    if strides[1 if first else 0] != 1:
        return None
    length, step, along = (m, lda, not ta) if first else (n, ldb, bool(tb))
    loop = _inner if along else _combined
    run = entry_point(loop, f"void({f'{name}[::1], ' * 3}int64, int64, int64)")
    if first:
        return bound(lambda out, x, y: run(out, x, y, length, k, step), run, length, k, step)
    return lambda out, x, y: run(out, y, x, length, k, step)


_LONG = 16384  # products that are worth a loop of their own


@kernel
def _batched(
    out: Any, a: Any, b: Any, m: int, n: int, k: int, ta: int, lda: int, tb: int, ldb: int,
    geometry: Any,
) -> None:  # fmt: skip
    axes = geometry.shape[1]
    count = 1
    for axis in range(axes):
        count *= geometry[0, axis]
    for i in range(count):
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
    gemm(ta, tb, m, n, k, 1.0, x, lda, w, ldb, 1.0, out, n)


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


def _plan(out_layouts: Layouts, in_layouts: Layouts) -> Callable[..., None] | None:
    out, (a, b) = out_layouts[0], in_layouts
    if a.dtype not in _FAST or a.dtype != b.dtype or out.dtype != a.dtype:
        return None
    (m, k), n = a.shape[-2:], b.shape[-1]
    if k == 0:
        return _zeros
    left, right = leading(a.shape[-2:], a.strides[-2:]), leading(b.shape[-2:], b.strides[-2:])
    if left is None or right is None:
        return None
    (ta, lda), (tb, ldb) = left, right
    blas.library()
    name = a.dtype.name
    vector, numbers = f"{name}[::1]", ", ".join(["int64"] * 7)
    if len(out.shape) == 2:
        if k == 1 and m * n >= _LONG:  # products alone, without sums
            step = Step("multiply", (0, 1), out.dtype, out.dtype)
            return fused_plan((step,), (0,), out_layouts, in_layouts)
        vector_strides = (a.strides[-1] if k > 1 else 1, b.strides[-2] if k > 1 else 1)
        found = _with_vector(name, (m, k, n), left, right, vector_strides)
        if found is not None:
            return found
        run = entry_point(_single, f"void({vector}, {vector}, {vector}, {numbers})")

        def product(target: Any, x: Any, y: Any) -> None:
            run(target, x, y, m, n, k, ta, lda, tb, ldb)

        return bound(product, run, m, n, k, ta, lda, tb, ldb)
    batch = out.shape[:-2]
    own = [_Part(x.shape[:-2], x.strides[:-2]) for x in (a, b)]
    strides = [broadcast_strides(part, batch) for part in own]
    if m * n * k and _folds(batch, strides, m, k, ta, lda):
        rows = m * int(np.prod(batch))
        single = entry_point(_single, f"void({vector}, {vector}, {vector}, {numbers})")

        def folded(target: Any, x: Any, y: Any) -> None:
            single(target, x, y, rows, n, k, ta, lda, tb, ldb)

        return bound(folded, single, rows, n, k, ta, lda, tb, ldb)
    geometry = np.array([batch, *strides], np.int64)
    many = entry_point(_batched, f"void({vector}, {vector}, {vector}, {numbers}, int64[:,::1])")

    def products(target: Any, x: Any, y: Any) -> None:
        many(target, x, y, m, n, k, ta, lda, tb, ldb, geometry)

    return bound(products, many, m, n, k, ta, lda, tb, ldb, geometry)


def _folds(batch: Any, strides: Any, m: int, k: int, ta: int, lda: int) -> bool:
    """One matrix on the right and dense matrices on the left: a single tall product."""
    if ta or lda != k or any(strides[1]):
        return False
    expected = m * k
    for n, s in zip(reversed(batch), reversed(strides[0]), strict=True):
        if n != 1 and s != expected:
            return False
        expected *= n
    return True


class _Part:
    """The batch axes of a layout."""

    def __init__(self, shape: Any, strides: Any) -> None:
        self.shape = shape
        self.strides = strides


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
    elif out.dtype.kind in "ciub":
        out[...] = np.matmul(a, b)
    else:
        wide = np.empty(out.shape, np.float32)
        matmul(wide, widened(a), widened(b))
        with np.errstate(over="ignore"):
            narrow(out, wide)


matmul.plan = _plan


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
    if bias is None or x.dtype not in _FAST or {x.dtype, weight.dtype, bias.dtype} != {out.dtype}:
        return None
    n, k = weight.shape
    m = int(np.prod(x.shape[:-1], dtype=np.int64))
    expected, rows_in_order = x.strides[-2] if len(x.shape) > 1 else k, True
    for length, stride in zip(reversed(x.shape[:-1]), reversed(x.strides[:-1]), strict=True):
        rows_in_order = rows_in_order and (length == 1 or stride == expected)
        expected *= length
    step = x.strides[-2] if len(x.shape) > 1 else k
    left = leading((m, k), (max(step, k) if m == 1 else step, x.strides[-1]))
    right = leading((k, n), (weight.strides[1], weight.strides[0]))
    if not rows_in_order or left is None or right is None or bias.strides != (1,) or k == 0:
        return None
    (ta, lda), (tb, ldb) = left, right
    blas.library()
    vector = f"{x.dtype.name}[::1]"
    numbers = ", ".join(["int64"] * 7)
    run = entry_point(_linear, f"void({vector}, {vector}, {vector}, {vector}, {numbers})")

    def affine(target: Any, source: Any, w: Any, offset: Any) -> None:
        run(target, source, w, offset, m, n, k, ta, lda, tb, ldb)

    return bound(affine, run, m, n, k, ta, lda, tb, ldb)


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


linear.plan = _linear_plan


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
