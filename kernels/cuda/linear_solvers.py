"""Inverses and systems for CUDA: cuSOLVER through cupy where it is installed, and own kernels.

    picture   see ``vendor``; triangular systems: one thread for each column of the right side,
              which walks the rows; distances: a product, then one thread for each pair
    memory    no shared memory; neighbouring threads read neighbouring columns
    sync      none
    sizes     any
Least squares are LAPACK's on the host, whose drivers torch names.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from mindtorch.kernels.cpu import linear_solvers as on_cpu

from . import arrays, launch
from .launch import cuda
from .library_calls import through_library
from .matmul import matmul

inverse = through_library(on_cpu.inverse)
det = through_library(on_cpu.det)
slogdet = through_library(on_cpu.slogdet)
cofactors = through_library(on_cpu.cofactors)
cholesky = through_library(on_cpu.cholesky)


def _solve(cupy: Any, outs: Any, x: Any, y: Any, *, check: str) -> None:
    """Both sides with the whole batch: cupy broadcasts neither, and reads fewer axes otherwise."""
    out, info = outs
    info[...] = 0
    batch = out.shape[:-2]
    left, right = (cupy.broadcast_to(a, (*batch, *a.shape[-2:])) for a in (x, y))
    out[...] = cupy.linalg.solve(left, right)


solve = through_library(on_cpu.solve, _solve)

# --- triangular systems ------------------------------------------------------------------------


@launch.kernel
def _substitute(
    count: int, out: Any, x: Any, y: Any, n: int, columns: int, down: int, across: int, upper: int,
    unit: int,
) -> None:  # fmt: skip
    """``x @ out = y``; element (i, k) of matrix b of ``x`` is at ``b n^2 + i down + k across``."""
    at = cuda.grid(1)
    while at < count:
        b, j = at // columns, at % columns
        first, matrix = b * n * columns + j, b * n * n
        for step in range(n):
            i = n - 1 - step if upper else step
            total = np.float64(y[first + i * columns])
            for p in range(step):
                k = n - 1 - p if upper else p
                total -= np.float64(x[matrix + i * down + k * across]) * out[first + k * columns]
            if not unit:
                total /= x[matrix + i * (n + 1)]
            out[first + i * columns] = total
        at = launch.following(at, count)


def _real(out_layouts: Any, in_layouts: Any, **params: Any) -> None:
    if out_layouts[0].dtype.kind == "c":
        raise NotImplementedError("triangular systems of complex numbers")


def _triangular(out: Any, x: Any, y: Any, upper: bool, unit: bool, turned: bool = False) -> None:
    """The solution in dense ``out``; ``turned`` for the transpose of ``x``."""
    n, columns = out.shape[-2:]
    batch = out.shape[:-2]
    matrices, right = (arrays.dense(a.expand((*batch, *a.shape[-2:]))) for a in (x, y))
    down, across = (1, n) if turned else (n, 1)
    launch.each(
        _substitute, math.prod(batch) * columns, out, matrices, right, n, columns, down, across,
        int(upper), int(unit),
    )  # fmt: skip


def solve_triangular(out: Any, x: Any, y: Any, *, upper: bool, unit: bool) -> None:
    """``x @ out = y`` for triangular ``x``, the other triangle not read."""
    _triangular(out, x, y, upper, unit)


def cholesky_solve(out: Any, y: Any, low: Any, *, upper: bool) -> None:
    """``low @ low^T @ out = y``, or ``low^T @ low @ out = y`` where ``upper``."""
    between = arrays.empty(out.shape, out.dtype)
    _triangular(between, low, y, False, False, turned=upper)
    _triangular(out, low, between, True, False, turned=not upper)


for _kernel in (solve_triangular, cholesky_solve):
    _planned: Any = _kernel
    _planned.plan = _real

# --- distances ---------------------------------------------------------------------------------


@launch.kernel
def _squares(count: int, out: Any, x: Any, length: int) -> None:
    row = cuda.grid(1)
    while row < count:
        total = 0.0
        for k in range(length):
            total += np.float64(x[row * length + k]) * x[row * length + k]
        out[row] = total
        row = launch.following(row, count)


@launch.kernel
def _distances(count: int, out: Any, left: Any, right: Any, rows: int, columns: int) -> None:
    i = cuda.grid(1)
    while i < count:
        row = i // columns
        other = row // rows * columns + i % columns
        square = left[row] + right[other] - 2.0 * out[i]
        out[i] = math.sqrt(square) if square > 0.0 or square != square else 0.0
        i = launch.following(i, count)


def euclidean_distance(out: Any, x: Any, y: Any) -> None:
    """The distances of all pairs of rows, by products."""
    matmul(out, x, y.permute((*range(y.ndim - 2), y.ndim - 1, y.ndim - 2)))
    sums = []
    for each in (x, y):
        whole = arrays.dense(each.expand((*out.shape[:-2], *each.shape[-2:])))
        rows = whole.size // max(each.shape[-1], 1)
        sums.append(arrays.zeros((max(rows, 1),), np.float64))
        launch.each(_squares, rows, sums[-1], whole, each.shape[-1])
    launch.each(_distances, out.size, out, *sums, out.shape[-2], out.shape[-1])
