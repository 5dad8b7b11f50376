"""Which product of matrices a call of an op is: sizes, where elements lie, axes of a batch."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from ..elementwise import Operand, broadcast_strides


class Matrix(NamedTuple):
    """Where an operand's elements lie: from one row, and from one column, to the next."""

    down: int
    across: int


class Batch(NamedTuple):
    """Axes of products of one shape: their lengths, and the steps of both operands."""

    shape: tuple[int, ...]
    a: tuple[int, ...]
    b: tuple[int, ...]


class Product(NamedTuple):
    """A product, or a batch of products.

    Attributes:
        size: rows and columns of a result, terms of its sums.
        a, b: where the operands' elements lie.
        batch: axes of such products, if any.
    """

    size: tuple[int, int, int]
    a: Matrix
    b: Matrix
    batch: Batch | None = None


def batch_of(out: Any, a: Any, b: Any) -> tuple[Any, list[Any]]:
    """The axes of a batch, and the operands' steps along them."""
    batch = out.shape[:-2]
    parts = [Operand(x.shape[:-2], x.strides[:-2], x.dtype) for x in (a, b)]
    return batch, [broadcast_strides(part, batch) for part in parts]


def folds(batch: Any, strides: Any, m: int, k: int, lda: int) -> bool:
    """One matrix on the right and dense matrices on the left: a single tall product."""
    if lda != k or any(strides[1]):
        return False
    return _in_order(batch, strides[0], m * k)


def _in_order(lengths: Any, strides: Any, step: int) -> bool:
    """Whether what lies along these axes lies ``step`` apart, one after another."""
    for n, s in zip(reversed(lengths), reversed(strides), strict=True):
        if n != 1 and s != step:
            return False
        step *= n
    return True


def of_matrices(out: Any, a: Any, b: Any) -> Product:
    """The products of :func:`matmul.matmul`, of layouts."""
    (m, k), n = a.shape[-2:], b.shape[-1]
    batch, strides = batch_of(out, a, b)
    left, right = Matrix(*a.strides[-2:]), Matrix(*b.strides[-2:])
    count = int(np.prod(batch))
    if count > 1 and not folds(batch, strides, m, k, left.down if left.across == 1 else 0):
        return Product((m, n, k), left, right, Batch(tuple(batch), *map(tuple, strides)))
    return Product((count * m, n, k), left, right)


def of_linear(x: Any, weight: Any) -> Product | None:
    """The product of :func:`matmul.linear`, of layouts; None where x's rows are not in order."""
    n, k = weight.shape
    m = int(np.prod(x.shape[:-1], dtype=np.int64))
    steps = [s for length, s in zip(x.shape[:-1], x.strides[:-1], strict=True) if length != 1]
    step = steps[-1] if steps else k
    if not _in_order(x.shape[:-1], x.strides[:-1], step):
        return None
    return Product((m, n, k), Matrix(step, x.strides[-1]), Matrix(*reversed(weight.strides)))
