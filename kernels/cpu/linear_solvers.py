"""Inverses, systems and least squares of matrices by LAPACK, through numpy and scipy.

A kernel with a parameter ``check`` raises ``LinAlgError`` in the name that it holds; with an empty
name it leaves LAPACK's number for each matrix in ``info``.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from mindtorch.kernels.support.errors import LinAlgError

from .elementwise import strided
from .lapack_loops import (
    LOWER,
    PLAIN,
    TURNED,
    UNIT,
    UPPER,
    cholesky_of,
    compiled,
    determinant_of,
    in_columns,
    inverse_of,
    least_squares_of,
    order_of,
    solution_of,
    triangular_of,
    writes_columns,
)  # fmt: skip
from .matrix_products import openblas
from .threads.thread_pool import get_num_threads

_SINGULAR_INVERSE = (
    "The diagonal element {0} is zero, the inversion could not be completed because the input "
    "matrix is singular."
)
_SINGULAR_SYSTEM = "The solver failed because the input matrix is singular."
_NOT_POSITIVE = (
    "The factorization could not be completed because the input is not positive-definite (the "
    "leading minor of order {0} is not positive-definite)."
)


def raise_for(
    info: Any, check: str, text: str, kind: type[RuntimeError] = LinAlgError
) -> None:
    """Raise for the first matrix whose number is not zero, unless ``check`` is empty."""
    if not check:
        return
    if not info.ndim:
        raise kind(f"{check}: " + text.format(int(info)))
    first = int(np.flatnonzero(info.reshape(-1))[0])
    number = int(info.reshape(-1)[first])
    raise kind(f"{check}: (Batch element {first}): " + text.format(number))


def lapack(name: str, x: Any) -> Any:
    """The LAPACK function for the type of ``x``."""
    return _scipy_functions()((name,), dtype=x.dtype)[0]


@functools.cache
def _scipy_functions() -> Any:
    """scipy's finder of LAPACK functions, which it loads with a BLAS that follows our threads."""
    from scipy.linalg.lapack import get_lapack_funcs

    openblas.set_threads_of_packages(get_num_threads())
    return get_lapack_funcs


def places(batch: tuple[int, ...], *arrays: Any) -> Iterator[tuple[Any, ...]]:
    """For each place of the batch, the place and the matrix of each (broadcast) array there."""
    wide = [np.broadcast_to(a, (*batch, *a.shape[-2:])) for a in arrays]
    for place in np.ndindex(*batch):
        yield place, *[a[place] for a in wide]


def euclidean_distance(out: Any, x: Any, y: Any) -> None:
    """The distances of all pairs of rows, by products."""
    np.matmul(x * -2, np.swapaxes(y, -1, -2), out=out)
    out += np.square(x).sum(-1)[..., :, None]
    out += np.square(y).sum(-1)[..., None, :]
    np.sqrt(np.maximum(out, 0, out=out), out=out)


@writes_columns
def inverse(outs: Any, x: Any, *, check: str) -> None:
    """``out @ x = 1``."""
    out, info = outs
    info[...] = 0
    try:
        out[...] = np.linalg.inv(x)
    except np.linalg.LinAlgError:
        factor = lapack("getrf", x)
        for place, each in places(x.shape[:-2], x):
            lu, _, info[place] = factor(each)
            out[place] = lu if info[place] else np.linalg.inv(each)
        raise_for(info, check, _SINGULAR_INVERSE)


def _inverse_plan(outs: Any, ins: Any, *, check: str) -> Callable[..., None] | None:
    (x,), by_rows = ins, order_of(ins[0])
    if by_rows is None or not in_columns(outs[0]):
        return None
    run, n = compiled(inverse_of, x, "rirnb"), x.shape[-1]

    def invert(out: Any, info: Any, x: Any) -> None:
        run(out, info, x, n, by_rows)
        if info.any():
            raise_for(_shaped(info, outs[1]), check, _SINGULAR_INVERSE)

    return invert


inverse.plan = _inverse_plan


def _shaped(numbers: Any, layout: Any) -> Any:
    return numbers.reshape(layout.shape)


def det(out: Any, x: Any) -> None:
    """The determinant."""
    out[...] = np.linalg.det(x)


def _det_plan(outs: Any, ins: Any) -> Callable[..., None] | None:
    (x,), by_rows = ins, order_of(ins[0])
    if by_rows is None:
        return None
    run, n = compiled(determinant_of, x, "rrnb"), x.shape[-1]
    return lambda out, x: run(out, x, n, by_rows)


det.plan = _det_plan


def slogdet(outs: Any, x: Any) -> None:
    """Sign and logarithm of the absolute value of the determinant."""
    outs[0][...], outs[1][...] = np.linalg.slogdet(x)


def cofactors(out: Any, x: Any) -> None:
    """The derivative of the determinant: it times the inverse, transposed, of matrices far enough
    from singular ones."""
    try:
        with np.errstate(all="ignore"):
            inverse, size = np.linalg.inv(x), np.asarray(np.linalg.det(x))
            condition = np.abs(x).sum(-1).max(-1) * np.abs(inverse).sum(-1).max(-1)
            near = ~(condition * np.sqrt(np.finfo(x.dtype).eps) < 1) | ~np.isfinite(size)
            out[...] = inverse.swapaxes(-1, -2) * size[..., None, None]
    except np.linalg.LinAlgError:
        near = np.ones(x.shape[:-2], np.bool_)
    if near.any():
        out[near] = _cofactors_of_any(x[near])


def _cofactors_of_any(x: Any) -> Any:
    """Cofactors by the singular values, so that none is divided by."""
    u, s, vh = np.linalg.svd(x)
    n = s.shape[-1]
    others = np.empty_like(s)
    for i in range(n):
        others[..., i] = np.prod(np.delete(s, i, -1), -1)
    sign = np.linalg.det(u) * np.linalg.det(vh)
    factors = (np.conj(u) * others[..., None, :]) @ np.conj(vh)
    return factors * sign[..., None, None]


@writes_columns
def solve(outs: Any, x: Any, y: Any, *, check: str) -> None:
    """``x @ out = y``."""
    out, info = outs
    info[...] = 0
    try:
        out[...] = np.linalg.solve(x, y)
    except np.linalg.LinAlgError:
        factor = lapack("getrf", x)
        for place, each in places(x.shape[:-2], x):
            info[place] = factor(each)[2]
        raise_for(info, check, _SINGULAR_SYSTEM)
        singular = np.broadcast_to(info != 0, out.shape[:-2])
        for place, each, right in places(out.shape[:-2], x, y):
            out[place] = np.nan if singular[place] else np.linalg.solve(each, right)


def _solve_plan(outs: Any, ins: Any, *, check: str) -> Callable[..., None] | None:
    x, y = ins
    by_rows, y_by_rows = order_of(x, outs[0]), order_of(y, outs[0])
    if by_rows is None or y_by_rows is None or not in_columns(outs[0]):
        return None
    if len(x.shape) != len(y.shape) or x.shape[:-2] != y.shape[:-2]:
        return None
    run, n, k = compiled(solution_of, x, "rirrnnbb"), x.shape[-1], y.shape[-1]

    def solved(out: Any, info: Any, x: Any, y: Any) -> None:
        run(out, info, x, y, n, k, by_rows, y_by_rows)
        if info.any():
            raise_for(_shaped(info, outs[1]), check, _SINGULAR_SYSTEM)

    return solved


solve.plan = _solve_plan


@writes_columns
def solve_triangular(out: Any, x: Any, y: Any, *, upper: bool, unit: bool) -> None:
    """``x @ out = y`` for triangular ``x``, the other triangle not read."""
    solver = lapack("trtrs", x)
    for place, each, right in places(out.shape[:-2], x, y):
        # a row-major matrix is LAPACK's transpose
        turned = each.T
        solution, info = solver(turned, right, lower=upper, trans=1, unitdiag=unit)
        if info > 0:
            with np.errstate(all="ignore"):
                solution = _substituted(each, right, upper, unit)
        out[place] = solution


def _triangular_plan(
    outs: Any, ins: Any, *, upper: bool, unit: bool
) -> Callable[..., None] | None:
    (out,), (x, y) = outs, ins
    by_rows, y_by_rows = order_of(x, out), order_of(y, out)
    if by_rows is None or y_by_rows is None or not in_columns(out):
        return None
    if len(x.shape) != len(y.shape):
        return None
    run = compiled(triangular_of, x, "rrrnnnbnnn", "int64")
    n, k = y.shape[-2:]
    count = math.prod(x.shape[:-2])
    triangle = UPPER if upper != by_rows else LOWER
    flags = triangle, TURNED if by_rows else PLAIN, UNIT if unit else PLAIN

    def solved(target: Any, left: Any, right: Any) -> None:
        if run(target, left, right, count, n, k, y_by_rows, *flags):  # a zero on a diagonal
            arrays = strided(left, x), strided(right, y)
            solve_triangular(strided(target, out), *arrays, upper=upper, unit=unit)

    return solved


solve_triangular.plan = _triangular_plan


def _substituted(x: Any, y: Any, upper: bool, unit: bool) -> Any:
    """The solution with the infinities that a zero on the diagonal gives."""
    result = np.array(y)
    n = x.shape[0]
    for i in reversed(range(n)) if upper else range(n):
        if not unit:
            result[i] /= x[i, i]
        rest = slice(0, i) if upper else slice(i + 1, n)
        result[rest] -= x[rest, i, None] * result[i]
    return result


def cholesky_solve(out: Any, y: Any, low: Any, *, upper: bool) -> None:
    """``low @ low^H @ out = y``, or ``low^H @ low @ out = y`` where ``upper``."""
    solver = lapack("potrs", low)
    for place, right, factor in places(out.shape[:-2], y, low):
        out[place] = solver(factor, right, lower=not upper)[0]


@writes_columns
def cholesky(outs: Any, x: Any, *, check: str, upper: bool = False) -> None:
    """``out @ out^H = x``, ``out`` lower triangular; only one triangle is read."""
    out, info = outs
    if upper:
        x = np.conj(np.swapaxes(x, -1, -2))
    info[...] = 0
    try:
        out[...] = np.linalg.cholesky(x)
        whole = not np.isnan(np.diagonal(out, axis1=-2, axis2=-1)).any()
    except np.linalg.LinAlgError:
        whole = False
    if not whole:
        factor = lapack("potrf", x)
        for place, each in places(x.shape[:-2], x):
            out[place], info[place] = factor(each, lower=True, clean=True)
        bad = np.isnan(np.diagonal(out, axis1=-2, axis2=-1).real)
        info[...] = np.where((info == 0) & bad.any(-1), bad.argmax(-1) + 1, info)
        raise_for(info, check, _NOT_POSITIVE)


def _cholesky_plan(
    outs: Any, ins: Any, *, check: str, upper: bool = False
) -> Callable[..., None] | None:
    (x,), by_rows = ins, order_of(ins[0])
    if by_rows is None or not in_columns(outs[0]):
        return None
    run, n = compiled(cholesky_of, x, "rirnb"), x.shape[-1]

    def factored(out: Any, info: Any, x: Any) -> None:
        run(out, info, x, n, by_rows != upper)
        if info.any():
            raise_for(_shaped(info, outs[1]), check, _NOT_POSITIVE)

    return factored


cholesky.plan = _cholesky_plan


@writes_columns
def lstsq(outs: Any, x: Any, y: Any, *, rcond: float, driver: str) -> None:
    """The ``out`` that makes ``x @ out - y`` least, the rank, and the singular values.

    The drivers are LAPACK's: gels (full rank), gelsy (of least norm, by pivoted QR), gelsd and
    gelss (by singular values, which only these two give).
    """
    out, rank, values = outs
    m, n = x.shape[-2:]
    rank[...] = min(m, n)
    if not m or not n:
        out[...], rank[...] = 0, 0
        return
    for place, each, right in places(out.shape[:-2], x, y):
        wide = np.zeros((max(m, n), right.shape[1]), x.dtype)
        wide[:m] = right
        if driver == "gels":
            out[place] = lapack("gels", x)(each, wide)[1][:n]
            continue
        if driver == "gelsy":
            solution, rank[place] = _by_pivoted_qr(each, wide, rcond)
        else:
            solution, values[place], rank[place] = _by_values(driver, each, wide, rcond)
        out[place] = solution[:n]


def _lstsq_plan(
    outs: Any, ins: Any, *, rcond: float, driver: str
) -> Callable[..., None] | None:
    out, (x, y) = outs[0], ins
    by_rows, y_by_rows = order_of(x, out), order_of(y, out)
    if driver != "gelsy" or by_rows is None or y_by_rows is None or not in_columns(out):
        return None
    if len(x.shape) != len(y.shape):
        return None
    run = compiled(least_squares_of, x, "rlrrrnnnbb")
    limit, sizes = np.full(1, rcond, x.dtype), (*x.shape[-2:], y.shape[-1])
    return lambda out, rank, values, x, y: run(out, rank, x, y, limit, *sizes, by_rows, y_by_rows)


lstsq.plan = _lstsq_plan


def _by_pivoted_qr(x: Any, y: Any, rcond: float) -> tuple[Any, int]:
    m, n = x.shape
    space = int(lapack("gelsy_lwork", x)(m, n, y.shape[1], rcond)[0].real)
    pivots = np.zeros((n, 1), np.int32)
    _, solution, _, rank, _ = lapack("gelsy", x)(x, y, pivots, rcond, space)
    return solution, rank


def _by_values(driver: str, x: Any, y: Any, rcond: float) -> tuple[Any, Any, int]:
    m, n = x.shape
    sizes = lapack(driver + "_lwork", x)(m, n, y.shape[1], rcond)
    space = int(np.real(sizes[0]))
    function = lapack(driver, x)
    if driver == "gelss":
        _, solution, values, rank, _, _ = function(x, y, rcond, space)
    elif x.dtype.kind == "c":
        solution, values, rank, _ = function(x, y, space, int(sizes[1]), int(sizes[2]), rcond)
    else:
        solution, values, rank, _ = function(x, y, space, int(sizes[1]), rcond)
    return solution, values, rank
