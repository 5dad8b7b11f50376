"""Factors of matrices by LAPACK: LU, LDL, QR, reflectors, eigenvalues and singular values."""

from __future__ import annotations

import ctypes
import math
from collections.abc import Callable
from typing import Any

import numpy as np

from .elementwise import strided
from .lapack_loops import (
    LOWER,
    UPPER,
    compiled,
    in_columns,
    order_of,
    orthogonal_of,
    singular_of,
    symmetric_of,
    writes_columns,
)  # fmt: skip
from .linear_solvers import lapack, places, raise_for
from .matrix_products.openblas import library

_ZERO_PIVOT = (
    "U[{0},{0}] is zero and using it on lu_solve would result in a division by zero. If you still "
    "want to perform the factorization, consider calling linalg.lu(A, pivot) or "
    "linalg.lu_factor_ex(A, pivot)"
)
_ZERO_BLOCK = (
    "The diagonal element {0} is zero, and using it on ldl_solve would result in a division by "
    "zero."
)
_NOT_FINITE = (
    "The algorithm failed to converge because the input matrix contained non-finite values."
)
_EIGH_FAILED = (
    "The algorithm failed to converge because the input matrix is ill-conditioned or has too many "
    "repeated eigenvalues (error code: {0})."
)


def lu_factor(outs: Any, x: Any, *, check: str) -> None:
    """``x = p @ l @ u`` with ``l`` (below its unit diagonal) and ``u`` in one matrix, the rows
    that were exchanged (counted from 1), and the first zero on the diagonal of ``u``."""
    out, pivots, info = outs
    info[...] = 0
    factor = lapack("getrf", x)
    for place, each in places(x.shape[:-2], x) if x.size else ():
        out[place], rows, info[place] = factor(each)
        pivots[place] = rows + 1
    if info.any():
        raise_for(info, check, _ZERO_PIVOT, RuntimeError)


def check_pivots(pivots: Any, size: int, check: str) -> None:
    """Raise where a pivot is no number of a row, counted from 1."""
    low, high = (pivots < 1).any(), (pivots > size).any()
    if not (low or high):
        return
    properly = "Did you properly pass the result of lu_factor?"
    if check == "lu_unpack":
        raise RuntimeError(
            "pivots passed to lu_unpack must be between 1 and LU.size(-2) inclusive." + properly
        )
    limit = "greater or equal to 1" if low else "smaller or equal to LU.size(-2)"
    raise RuntimeError(f"Pivots given to {check} must all be {limit}. {properly}")


def permutation(out: Any, pivots: Any, *, size: int, check: str) -> None:
    """The order of rows that exchanging row ``i`` with row ``pivots[i] - 1`` one by one gives.

    Raises:
        RuntimeError: a pivot names no row; ``check`` is torch's function to name.
    """
    check_pivots(pivots, size, check)
    out[...] = np.arange(size)
    for place in np.ndindex(*pivots.shape[:-1]):
        order = out[place]
        for i, j in enumerate(pivots[place] - 1):
            order[i], order[j] = order[j], order[i]


def ldl_factor(outs: Any, x: Any, *, hermitian: bool, check: str) -> None:
    """``x = l @ d @ l^T`` (``l^H``) as LAPACK packs it; only the lower triangle is read."""
    out, pivots, info = outs
    name = "hetrf" if hermitian and x.dtype.kind == "c" else "sytrf"
    factor = lapack(name, x)
    for place, each in places(x.shape[:-2], x):
        packed, pivots[place], info[place] = factor(each, lower=1)
        out[place] = np.tril(packed)
    if info.any():
        raise_for(info, check, _ZERO_BLOCK)


def ldl_solve(out: Any, x: Any, pivots: Any, y: Any, *, hermitian: bool) -> None:
    """``out`` with ``l @ d @ l^T @ out = y`` from the packed factors.

    Raises:
        RuntimeError: a pivot names no row.
    """
    high, low = (np.abs(pivots) > x.shape[-2]).any(), (pivots == 0).any()
    if high or low:
        limit = "<= LD.size(-2)" if high else ">= 1"
        raise RuntimeError(
            f"Pivots given to ldl_solve must all satisfy |pivot| {limit}. Did you properly pass "
            "the result of ldl_factor?"
        )
    letter = {"f": "s", "d": "d", "F": "c", "D": "z"}[x.dtype.char]
    kind = "he" if hermitian and x.dtype.kind == "c" else "sy"
    solver = getattr(library(), f"scipy_{letter}{kind}trs_")
    wide = np.broadcast_to(pivots, (*out.shape[:-2], pivots.shape[-1]))
    for place, each, right in places(out.shape[:-2], x, y):
        packed, solution = np.array(each, order="F"), np.array(right, order="F")
        rows = np.ascontiguousarray(wide[place], np.int32)
        size, columns, info = (ctypes.c_int32(v) for v in (*right.shape, 0))
        solver(
            b"L", ctypes.byref(size), ctypes.byref(columns), packed.ctypes.data_as(_POINTER),
            ctypes.byref(size), rows.ctypes.data_as(_POINTER), solution.ctypes.data_as(_POINTER),
            ctypes.byref(size), ctypes.byref(info), ctypes.c_size_t(1),
        )  # fmt: skip
        out[place] = solution


_POINTER = ctypes.c_void_p


@writes_columns
def qr(outs: Any, x: Any, *, mode: str) -> None:
    """``x = q @ r``; for the mode "r" only ``r``."""
    if mode == "r":
        outs[1][...] = np.linalg.qr(x, "r")
    else:
        kind: Any = mode
        outs[0][...], outs[1][...] = np.linalg.qr(x, kind)


def _qr_plan(outs: Any, ins: Any, *, mode: str) -> Callable[..., None] | None:
    (x,), by_rows = ins, order_of(ins[0])
    if mode == "r" or by_rows is None or not in_columns(*outs):
        return None
    run, k = compiled(orthogonal_of, x, "rrrnnnnb"), outs[0].shape[-1]
    m, n = x.shape[-2:]
    count = math.prod(x.shape[:-2])
    return lambda q, r, x: run(q, r, x, count, m, n, k, by_rows)


qr.plan = _qr_plan


def geqrf(outs: Any, x: Any) -> None:
    """``r`` with the reflectors that make ``q`` below its diagonal, and their factors."""
    out, tau = outs
    factor = lapack("geqrf", x)
    for place, each in places(x.shape[:-2], x):
        out[place], tau[place], _, _ = factor(each)


def householder_product(out: Any, x: Any, tau: Any) -> None:
    """The first columns of the product of the reflectors ``1 - tau[i] v[i] v[i]^H``."""
    multiply = lapack("ungqr" if x.dtype.kind == "c" else "orgqr", x)
    for place in np.ndindex(*x.shape[:-2]):
        factors = tau[place]
        if not factors.size:
            out[place] = np.eye(*x.shape[-2:], dtype=x.dtype)
        else:
            out[place] = multiply(np.array(x[place], order="F"), factors)[0]


@writes_columns
def eigh(outs: Any, x: Any, *, lower: bool, name: str) -> None:
    """Eigenvalues in ascending order, and eigenvectors, of Hermitian matrices."""
    outs[0][...], outs[1][...] = _eigh(x, "L" if lower else "U", name)


def _eigh_plan(
    outs: Any, ins: Any, *, lower: bool, name: str
) -> Callable[..., None] | None:
    (x,), by_rows = ins, order_of(ins[0])
    if by_rows is None or not in_columns(outs[1]):
        return None
    run, n = compiled(symmetric_of, x, "rrrnnbn", "int64"), x.shape[-1]
    count, triangle = math.prod(x.shape[:-2]), LOWER if lower else UPPER

    def found(values: Any, vectors: Any, given: Any) -> None:
        if run(values, vectors, given, count, n, by_rows, triangle):
            _eigh(strided(given, x), "L" if lower else "U", name)

    return found


eigh.plan = _eigh_plan


def _eigh(x: Any, triangle: Any, name: str) -> Any:
    try:
        return np.linalg.eigh(x, triangle)
    except np.linalg.LinAlgError:
        raise_for(_bad(x, x.shape[-1] - 1), name, _EIGH_FAILED)
        raise


def eig(outs: Any, x: Any) -> None:
    """Eigenvalues and eigenvectors."""
    if not np.isfinite(x).all():
        raise RuntimeError("torch.linalg.eig: input tensor should not contain infs or NaNs.")
    outs[0][...], outs[1][...] = np.linalg.eig(x)


@writes_columns
def svd(outs: Any, x: Any, *, full_matrices: bool, name: str) -> None:
    """``x = u @ diag(s) @ vh``, singular values in descending order."""
    outs[0][...], outs[1][...], outs[2][...] = _svd(x, full_matrices, name)


def _svd_plan(
    outs: Any, ins: Any, *, full_matrices: bool, name: str
) -> Callable[..., None] | None:
    (x,), by_rows = ins, order_of(ins[0])
    if by_rows is None or not in_columns(outs[0], outs[2]):
        return None
    run = compiled(singular_of, x, "rrrrnnnnnb", "int64")
    sizes = (
        math.prod(x.shape[:-2]), *x.shape[-2:], outs[0].shape[-1], outs[2].shape[-2], by_rows
    )  # fmt: skip

    def found(u: Any, values: Any, vh: Any, given: Any) -> None:
        if run(u, values, vh, given, *sizes):
            _svd(strided(given, x), full_matrices, name)

    return found


svd.plan = _svd_plan


def _thin_svd(x: Any) -> Any:
    """``u``, ``s`` and ``vh`` of no more columns and rows than there are singular values."""
    m, n = x.shape[-2:]
    k = min(m, n)
    if type(x) is not np.ndarray or x.dtype.kind == "c" or not x.size:  # a device's library, too
        return _svd(x, False, "linalg.svd")
    x = np.ascontiguousarray(x)
    shapes = (k, m), (k,), (n, k)
    u, s, vh = (np.empty((*x.shape[:-2], *each), x.dtype) for each in shapes)
    run = compiled(singular_of, x, "rrrrnnnnnb", "int64")
    flat = [each.reshape(-1) for each in (u, s, vh, x)]
    if run(*flat, math.prod(x.shape[:-2]), m, n, k, k, True):
        return _svd(x, False, "linalg.svd")
    return u.swapaxes(-1, -2), s, vh.swapaxes(-1, -2)


def _svd(x: Any, full_matrices: bool, name: str) -> Any:
    try:
        return np.linalg.svd(x, full_matrices)
    except np.linalg.LinAlgError:
        raise_for(_bad(x, x.shape[-1] + 1), name, _NOT_FINITE)
        raise


def pinv(out: Any, x: Any, atol: Any, rtol: Any, *, hermitian: bool) -> None:
    """The Moore-Penrose inverse; singular values up to ``max(atol, rtol * the greatest)`` count
    as zero."""
    if hermitian:
        signed, u = _eigh(x, "L", "linalg.eigh")
        s, vh = np.abs(signed), np.conj(np.swapaxes(u, -1, -2))
    else:
        u, s, vh = _thin_svd(x)
        signed = s
    if not s.shape[-1]:
        out[...] = 0
        return
    limit = np.maximum(atol[..., None], rtol[..., None] * s.max(-1, keepdims=True))
    with np.errstate(divide="ignore"):
        turned = np.where(s > limit, 1 / signed, 0).astype(s.dtype)
    v, uh = np.conj(np.swapaxes(vh, -1, -2)), np.conj(np.swapaxes(u, -1, -2))
    out[...] = (v * turned[..., None, :]) @ uh


def _bad(x: Any, number: int) -> Any:
    """``number`` for the matrices that hold what is not finite, 0 for the others."""
    return np.where(np.isfinite(x).all((-1, -2)), 0, number)
