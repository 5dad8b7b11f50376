"""Factors of matrices (the last two axes) and their derivatives."""

from __future__ import annotations

from typing import Any

import numpy as np

from .. import dtypes
from ..aval import Aval, aval, broadcast_two, dense_like
from ..dtypes import scalar_type_name
from ..op import Op
from ..result_strides import in_columns
from ..tensor import Tensor, constant, from_array
from .comparison import equal, where
from .complex import conj, imag, make_complex, real
from .elementwise import add, divide, multiply, negative, subtract
from .indexing import diag_embed, tril, triu
from .linear_algebra import (
    LAPACK_TYPES,
    adjoint,
    check_precision,
    check_square,
    info_aval,
    matmul,
    solve,
    solve_triangular,
)  # fmt: skip
from .movement import cast, cat, diagonal, slice_, unsqueeze
from .reduction import sum_


def _matrix(x: Aval, *tail: int) -> Aval:
    return aval((*x.shape[:-2], *tail), x.dtype, None, x.device)


def check_matrix(name: str, x: Aval) -> None:
    """There are at least two axes; torch's error otherwise."""
    if x.ndim < 2:
        raise RuntimeError(
            f"{name}: The input tensor A must have at least 2 dimensions."
        )
    check_precision(name, x)


def part(x: Any, axis: int, start: int, length: int) -> Any:
    """``length`` rows (axis -2) or columns (-1) from ``start`` on."""
    if not start and length == x.aval.shape[axis]:
        return x
    return slice_(x, axis=axis % x.aval.ndim, start=start, length=length, step=1)


def middle(x: Any) -> Any:
    """The main diagonals of matrices."""
    n = x.aval.ndim
    return diagonal(x, offset=0, first=n - 2, second=n - 1)


def on_diagonal(x: Any) -> Any:
    """Matrices with ``x`` on their diagonals."""
    n = x.aval.ndim
    return diag_embed(x, offset=0, first=n - 1, second=n)


def rows(x: Any) -> Any:
    """Vectors as matrices of one row."""
    return unsqueeze(x, axis=x.aval.ndim - 1)


def columns(x: Any) -> Any:
    """Vectors as matrices of one column."""
    return unsqueeze(x, axis=x.aval.ndim)


def _sum(x: Any, y: Any) -> Any:
    """Of two terms that may be missing."""
    if x is None:
        return y
    return x if y is None else add(x, y)


def _no_derivative(name: str) -> Any:
    """torch has none either, and says so in the backward pass."""
    raise RuntimeError(f"derivative for aten::{name} is not implemented")


# --- LU --------------------------------------------------------------------------------------


def _lu_aval(x: Aval, *, check: str) -> Any:
    check_matrix("linalg.lu_factor", x)
    pivots = aval((*x.shape[:-2], min(x.shape[-2:])), dtypes.int32, None, x.device)
    return _matrix(x, *x.shape[-2:]), pivots, info_aval(x)


def identity_plus(x: Any, low: bool) -> Any:
    """The strict lower triangle and 1s on the diagonal (``low``), or the upper triangle."""
    k = min(x.aval.shape[-2:])
    if not low:
        return triu(part(x, -2, 0, k), diagonal=0)
    strict = tril(part(x, -1, 0, k), diagonal=-1)
    return add(strict, from_array(
        np.eye(x.aval.shape[-2], k, dtype=x.aval.dtype.np), x.aval.device
    ))


def _lu_vjp(g: Any, out: Any) -> Any:
    """By d(LU) = dL U + L dU, of which the leading square blocks are triangular."""
    packed, pivots = out[0], out[1]
    m, n = packed.aval.shape[-2:]
    k = min(m, n)
    low, up = identity_plus(packed, True), identity_plus(packed, False)
    first_low, first_up = part(low, -2, 0, k), part(up, -1, 0, k)
    g_low, g_up = tril(part(g[0], -1, 0, k), diagonal=-1), triu(part(g[0], -2, 0, k), diagonal=0)
    left = matmul(adjoint(first_low), part(g_low, -2, 0, k))
    right = matmul(part(g_up, -1, 0, k), adjoint(first_up))
    if n > k:
        second = part(g_up, -1, k, n - k)
        left = subtract(left, matmul(second, adjoint(part(up, -1, k, n - k))))
    if m > k:
        below = part(g_low, -2, k, m - k)
        right = subtract(right, matmul(adjoint(part(low, -2, k, m - k)), below))
    inner = add(tril(left, diagonal=-1), triu(right, diagonal=0))
    turned = _divided(adjoint(inner), first_up)
    result = solve_triangular(adjoint(first_low), adjoint(turned), upper=True, unit=True)
    if n > k:
        beside = solve_triangular(adjoint(first_low), second, upper=True, unit=True)
        result = cat(result, beside, axis=result.aval.ndim - 1)
    if m > k:
        under = adjoint(_divided(adjoint(below), first_up))
        result = cat(result, under, axis=result.aval.ndim - 2)
    return matmul(permutation_matrix(pivots, m, packed), result)


def _divided(x: Any, up: Any) -> Any:
    """``U^-1 x`` for an upper triangular matrix."""
    return solve_triangular(up, x, upper=True, unit=False)


# (L below its unit diagonal and U in one matrix, exchanged rows counted from 1, info)
lu_factor = Op(
    "linalg_lu_factor_ex", _lu_aval, "matrix_factorizations.lu_factor", vjp=_lu_vjp,
    layout=in_columns,
)  # fmt: skip


def _permutation_aval(pivots: Aval, *, size: int, check: str) -> Aval:
    return aval((*pivots.shape[:-1], size), dtypes.int64, None, pivots.device)


# the order of rows that the exchanges ``pivots`` lead to
permutation = Op("lu_permutation", _permutation_aval, "matrix_factorizations.permutation")


def permutation_matrix(pivots: Any, size: int, like: Any, check: str = "lu_unpack") -> Any:
    """``P`` with ``A = P L U``: column ``i`` is 1 at row ``permutation[i]``."""
    order = permutation(pivots, size=size, check=check)
    places = from_array(np.arange(size, dtype=np.int64).reshape(size, 1), pivots.aval.device)
    return cast(equal(rows(order), places), dtype=like.aval.dtype)


# --- LDL -------------------------------------------------------------------------------------


def _ldl_aval(x: Aval, *, hermitian: bool, check: str) -> Any:
    check_square("torch.linalg.ldl_factor_ex", x)
    pivots = aval(x.shape[:-1], dtypes.int32, None, x.device)
    return _matrix(x, *x.shape[-2:]), pivots, info_aval(x)


# (packed factors, exchanged rows and kinds of blocks, info)
ldl_factor = Op(
    "linalg_ldl_factor_ex", _ldl_aval, "matrix_factorizations.ldl_factor",
    vjp=lambda g: _no_derivative("linalg_ldl_factor_ex"), layout=in_columns,
)  # fmt: skip


def _ldl_solve_aval(x: Aval, pivots: Aval, y: Aval, *, hermitian: bool) -> Aval:
    batch = broadcast_two(x.shape[:-2], y.shape[:-2])
    return aval((*batch, *y.shape[-2:]), y.dtype, None, x.device)


def _ldl_solve_vjp(g: Any, x: Any, pivots: Any, hermitian: bool) -> Any:
    if hermitian:
        return ldl_solve(x, pivots, g, hermitian=True)
    return conj(ldl_solve(x, pivots, conj(g), hermitian=False))


# the X with L D L^T X = y
ldl_solve = Op(
    "linalg_ldl_solve", _ldl_solve_aval, "matrix_factorizations.ldl_solve",
    vjp=(None, None, _ldl_solve_vjp), layout=in_columns,
)  # fmt: skip

# --- QR --------------------------------------------------------------------------------------


def _qr_aval(x: Aval, *, mode: str) -> Any:
    check_matrix("linalg.qr", x)
    m, n = x.shape[-2:]
    k = m if mode == "complete" else min(m, n)
    q = aval((0,), x.dtype, None, x.device) if mode == "r" else _matrix(x, m, k)
    return q, _matrix(x, k, n)


def _qr_vjp(g: Any, out: Any, mode: str) -> Any:
    if mode == "r":
        raise RuntimeError(
            "The derivative of linalg.qr depends on Q, which is not computed when mode='r'. "
            "Please use linalg.qr(A, mode='reduced') if you are going to differentiate through "
            "linalg.qr."
        )
    q, r = out
    g_q, g_r = g
    m, n = q.aval.shape[-2], r.aval.shape[-1]
    if mode == "complete" and m > n:
        raise RuntimeError(
            "The QR decomposition is not differentiable when mode='complete' and nrows > ncols"
        )
    beside = None
    if m < n:
        # A = [A1 | A2] with A1 = Q R1 and R2 = Q^H A2
        first, second = part(r, -1, 0, m), part(r, -1, m, n - m)
        if g_r is not None:
            g_second = part(g_r, -1, m, n - m)
            beside = matmul(q, g_second)
            g_q = _sum(g_q, matmul(matmul(q, second), adjoint(g_second)))
            g_r = part(g_r, -1, 0, m)
        r = first
    result = _tall_qr_vjp(g_q, g_r, q, r)
    if m < n:
        if beside is None:
            beside = multiply(matmul(q, second), constant(0))
        result = cat(result, beside, axis=result.aval.ndim - 1)
    return result


def _tall_qr_vjp(g_q: Any, g_r: Any, q: Any, r: Any) -> Any:
    inner: Any = None
    if g_r is not None:
        inner = matmul(g_r, adjoint(r))
    if g_q is not None:
        inner = _sum(inner, negative(matmul(adjoint(q), g_q)))
    strict = triu(inner, diagonal=1)
    own = on_diagonal(middle(inner))
    if inner.aval.dtype.is_complex:
        own = on_diagonal(_as_complex(real(middle(inner))))
    total = matmul(q, add(add(strict, adjoint(strict)), own))
    total = _sum(total, g_q)
    return adjoint(solve_triangular(r, adjoint(total), upper=True, unit=False))


def _as_complex(x: Any) -> Any:
    return make_complex(x, multiply(x, constant(0)))


# (Q, R)
qr = Op("linalg_qr", _qr_aval, "matrix_factorizations.qr", vjp=_qr_vjp, layout=in_columns)


def _geqrf_aval(x: Aval) -> Any:
    if x.ndim < 2:
        raise RuntimeError("torch.geqrf: input must have at least 2 dimensions.")
    check_precision("torch.geqrf", x)
    tau = aval((*x.shape[:-2], min(x.shape[-2:])), x.dtype, None, x.device)
    return _matrix(x, *x.shape[-2:]), tau


# (R with the reflectors below its diagonal, their factors)
geqrf = Op(
    "geqrf", _geqrf_aval, "matrix_factorizations.geqrf", vjp=lambda g: _no_derivative("geqrf"),
    layout=in_columns,
)  # fmt: skip


def _householder_aval(x: Aval, tau: Aval) -> Aval:
    return _matrix(x, *x.shape[-2:])


def reflectors(x: Any, count: int) -> list[Any]:
    """The vectors ``v[i]``: column ``i`` below the diagonal, with 1 on it and 0 above."""
    low = identity_plus(part(x, -1, 0, count), True)
    return [part(low, -1, i, 1) for i in range(count)]


def _householder_vjp(g: Any, x: Any, tau: Any, out: Any) -> Any:
    """Through R[i] = R[i + 1] - tau[i] v[i] (v[i]^H R[i + 1]), out = R[0], R[k] = 1."""
    k, n, axis = tau.aval.shape[-1], x.aval.shape[-1], x.aval.ndim - 1
    if not k:
        return multiply(g, constant(0)), multiply(tau, constant(0))
    vectors = reflectors(x, k)
    factors = [columns(part(tau, -1, i, 1)) for i in range(k)]
    state = identity_plus(multiply(x, constant(0)), True)
    states = [state]
    for v, t in zip(reversed(vectors), reversed(factors), strict=True):
        state = subtract(state, multiply(t, matmul(v, matmul(adjoint(v), state))))
        states.append(state)
    g_columns, g_factors = [], []
    for i, (v, t) in enumerate(zip(vectors, factors, strict=True)):
        after = states[k - 1 - i]
        row = matmul(adjoint(v), after)
        g_row_free = matmul(g, adjoint(row))
        g_factors.append(negative(matmul(adjoint(v), g_row_free)))
        g_row = negative(multiply(conj(t), matmul(adjoint(v), g)))
        g_v = subtract(matmul(after, adjoint(g_row)), multiply(conj(t), g_row_free))
        g_columns.append(tril(g_v, diagonal=-1 - i))
        g = add(g, matmul(v, g_row))
    if k < n:
        g_columns.append(multiply(part(x, -1, k, n - k), constant(0)))
    g_tau = cat(*g_factors, axis=axis)
    return cat(*g_columns, axis=axis), sum_(g_tau, axis=(axis - 1,), keepdims=False)


# the first columns of the product of the reflectors 1 - tau[i] v[i] v[i]^H
householder_product = Op(
    "linalg_householder_product", _householder_aval, "matrix_factorizations.householder_product",
    vjp=_householder_vjp, layout=in_columns,
)  # fmt: skip

# --- eigenvalues -----------------------------------------------------------------------------


def _eigh_aval(x: Aval, *, lower: bool, name: str) -> Any:
    check_square(name, x, None)
    if x.dtype.name not in LAPACK_TYPES:
        raise NotImplementedError(
            f"\"linalg_eigh_cpu\" not implemented for '{scalar_type_name(x.dtype)}'"
        )
    values = aval(x.shape[:-1], x.dtype.to_real(), None, x.device)
    return values, dense_like(x)


def _differences(values: Any) -> Any:
    """1 / (values[j] - values[i]), 0 on the diagonal and where both are equal."""
    gaps = subtract(rows(values), columns(values))
    same = equal(gaps, constant(0))
    return where(same, constant(0), divide(constant(1), where(same, constant(1), gaps)))


def _eigh_vjp(g: Any, out: Any) -> Any:
    values, vectors = out
    inner: Any = None if g[0] is None else on_diagonal(g[0])
    if g[1] is not None:
        turn = multiply(_skew(matmul(adjoint(vectors), g[1])), constant(0.5))
        inner = _sum(inner, multiply(turn, _differences(values)))
    if inner.aval.dtype is not vectors.aval.dtype:
        inner = _as_complex(inner)
    return matmul(vectors, matmul(inner, adjoint(vectors)))


# (eigenvalues, eigenvectors) of Hermitian matrices, of which one triangle is read
eigh = Op(
    "linalg_eigh", _eigh_aval, "matrix_factorizations.eigh", vjp=_eigh_vjp, layout=in_columns
)  # fmt: skip


def _eig_aval(x: Aval) -> Any:
    check_square("linalg.eig", x)
    kind = x.dtype.to_complex()
    return aval(x.shape[:-1], kind, None, x.device), aval(x.shape, kind, None, x.device)


def _eig_vjp(g: Any, out: Any, avals: Any) -> Any:
    """V^-H (diag(g) + (V^H gV - V^H V Re diag(V^H gV)) / conj(gaps)) V^H."""
    values, vectors = out
    turned = adjoint(vectors)
    inner: Any = None if g[0] is None else on_diagonal(g[0])
    if g[1] is not None:
        own = matmul(turned, g[1])
        norm_free = subtract(
            own, multiply(matmul(turned, vectors), rows(_as_complex(real(middle(own)))))
        )
        inner = _sum(inner, multiply(norm_free, conj(_differences(values))))
    result = solve(turned, matmul(inner, turned))
    return result if avals[0].dtype.is_complex else real(result)


# (eigenvalues, eigenvectors of norm 1) of any square matrices
eig = Op("linalg_eig", _eig_aval, "matrix_factorizations.eig", vjp=_eig_vjp, layout=in_columns)

# --- singular values -------------------------------------------------------------------------


def _svd_aval(x: Aval, *, full_matrices: bool, name: str) -> Any:
    check_matrix(name, x)
    m, n = x.shape[-2:]
    k = min(m, n)
    values = aval((*x.shape[:-2], k), x.dtype.to_real(), None, x.device)
    return (
        _matrix(x, m, m if full_matrices else k),
        values,
        _matrix(x, n if full_matrices else k, n),
    )


def _skew(x: Any) -> Any:
    return subtract(x, adjoint(x))


def _svd_vjp(g: Any, out: Any) -> Any:
    """Townsend's formula for distinct singular values; further columns of U and V are free."""
    u, s, vh = out
    k = s.aval.shape[-1]
    g_u = None if g[0] is None else part(g[0], -1, 0, k)
    g_vh = None if g[2] is None else part(g[2], -2, 0, k)
    u, vh = part(u, -1, 0, k), part(vh, -2, 0, k)
    inner: Any = None if g[1] is None else on_diagonal(g[1])
    row, column = rows(s), columns(s)
    gaps = _differences(multiply(s, s))
    outside, phase = None, None
    if g_u is not None:
        own = matmul(adjoint(u), g_u)
        inner = _sum(inner, multiply(multiply(_skew(own), gaps), row))
        phase = middle(own)
        if u.aval.shape[-2] > k:
            outside = matmul(divide(subtract(g_u, matmul(u, own)), row), vh)
    if g_vh is not None:
        own = matmul(vh, adjoint(g_vh))
        inner = _sum(inner, multiply(column, multiply(_skew(own), gaps)))
        phase = _sum(phase, negative(middle(own)))
        if vh.aval.shape[-1] > k:
            rest = subtract(g_vh, matmul(adjoint(own), vh))
            outside = _sum(outside, matmul(u, divide(rest, column)))
    if u.aval.dtype.is_complex and phase is not None:
        turn = imag(phase)
        turn = divide(turn, multiply(s, constant(2 if g_u is not None and g_vh is not None else 1)))
        inner = add(inner, on_diagonal(make_complex(multiply(turn, constant(0)), turn)))
    if inner.aval.dtype is not u.aval.dtype:
        inner = _as_complex(inner)
    return _sum(matmul(u, matmul(inner, vh)), outside)


# (U, singular values, V^H)
svd = Op("linalg_svd", _svd_aval, "matrix_factorizations.svd", vjp=_svd_vjp, layout=in_columns)


def svd_values(x: Tensor, name: str = "linalg.svd") -> Tensor:
    """The singular values."""
    values: Tensor = svd(x, full_matrices=False, name=name)[1]
    return values

