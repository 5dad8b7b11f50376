"""Inverses, systems and factors of matrices by LAPACK, through numpy and scipy."""

from __future__ import annotations

from typing import Any

import numpy as np


def _raise_singular(name: str) -> None:
    raise np.linalg.LinAlgError(
        f"{name}: The diagonal element 1 is zero, the inversion could not be completed because "
        "the input matrix is singular."
    )


def inverse(out: Any, x: Any) -> None:
    """``out @ x = 1``."""
    try:
        out[...] = np.linalg.inv(x)
    except np.linalg.LinAlgError:
        _raise_singular("linalg.inv")


def det(out: Any, x: Any) -> None:
    """The determinant."""
    out[...] = np.linalg.det(x)


def slogdet(outs: Any, x: Any) -> None:
    """Sign and logarithm of the absolute value of the determinant."""
    outs[0][...], outs[1][...] = np.linalg.slogdet(x)


def cofactors(out: Any, x: Any) -> None:
    """The derivative of the determinant, by the singular values, so that none is divided by."""
    u, s, vh = np.linalg.svd(x)
    n = s.shape[-1]
    others = np.empty_like(s)
    for i in range(n):
        others[..., i] = np.prod(np.delete(s, i, -1), -1)
    sign = np.linalg.det(u) * np.linalg.det(vh)
    factors = (np.conj(u) * others[..., None, :]) @ np.conj(vh)
    out[...] = factors * sign[..., None, None]


def solve(out: Any, x: Any, y: Any) -> None:
    """``x @ out = y``."""
    try:
        out[...] = np.linalg.solve(x, y)
    except np.linalg.LinAlgError:
        raise np.linalg.LinAlgError(
            "torch.linalg.solve: The solver failed because the input matrix is singular."
        ) from None


def solve_triangular(out: Any, x: Any, y: Any, *, upper: bool, unit: bool) -> None:
    """``x @ out = y`` for triangular ``x``, the other triangle not read."""
    from scipy.linalg import solve_triangular as solve_one

    batch = out.shape[:-2]
    x = np.broadcast_to(x, (*batch, *x.shape[-2:]))
    y = np.broadcast_to(y, (*batch, *y.shape[-2:]))
    for place in np.ndindex(*batch):
        out[place] = solve_one(x[place], y[place], lower=not upper, unit_diagonal=unit,
                               check_finite=False)  # fmt: skip


def cholesky(out: Any, x: Any) -> None:
    """``out @ out^H = x``, ``out`` lower triangular."""
    try:
        out[...] = np.linalg.cholesky(x)
    except np.linalg.LinAlgError:
        raise np.linalg.LinAlgError(
            "linalg.cholesky: The factorization could not be completed because the input is not "
            f"positive-definite (the leading minor of order {_bad_minor(x)} is not "
            "positive-definite)."
        ) from None


def _bad_minor(x: Any) -> int:
    from scipy.linalg.lapack import dpotrf

    if x.ndim > 2:
        for each in x.reshape(-1, *x.shape[-2:]):
            info = dpotrf(each.real, lower=True)[1]
            if info > 0:
                return int(info)
    return int(dpotrf(np.asarray(x.real, np.float64), lower=True)[1])


def qr(outs: Any, x: Any, *, complete: bool) -> None:
    """``x = q @ r``."""
    outs[0][...], outs[1][...] = np.linalg.qr(x, "complete" if complete else "reduced")


def eigh(outs: Any, x: Any, *, lower: bool) -> None:
    """Eigenvalues in ascending order, and eigenvectors, of Hermitian matrices."""
    outs[0][...], outs[1][...] = np.linalg.eigh(x, "L" if lower else "U")


def eig(outs: Any, x: Any) -> None:
    """Eigenvalues and eigenvectors."""
    outs[0][...], outs[1][...] = np.linalg.eig(x)


def svd(outs: Any, x: Any, *, full_matrices: bool) -> None:
    """``x = u @ diag(s) @ vh``, singular values in descending order."""
    outs[0][...], outs[1][...], outs[2][...] = np.linalg.svd(x, full_matrices)


def pinv(out: Any, x: Any, *, rtol: Any, hermitian: bool) -> None:
    """The Moore-Penrose inverse; singular values under ``rtol`` of the greatest count as zero."""
    if rtol is None:
        rtol = max(x.shape[-2:]) * np.finfo(x.dtype).eps
    out[...] = np.linalg.pinv(x, rtol, hermitian)


def lstsq(out: Any, x: Any, y: Any) -> None:
    """The ``out`` of least norm that makes ``x @ out - y`` least."""
    batch = out.shape[:-2]
    x = np.broadcast_to(x, (*batch, *x.shape[-2:]))
    y = np.broadcast_to(y, (*batch, *y.shape[-2:]))
    for place in np.ndindex(*batch):
        out[place] = np.linalg.lstsq(x[place], y[place], rcond=None)[0]
