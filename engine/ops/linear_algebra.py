"""Products of matrices, and what is solved or factored; matrices are the last two axes."""

from __future__ import annotations

import math
from typing import Any

from ..aval import Aval, Shape, aval, broadcast_two
from ..core import Op
from ..dtypes import c_name, scalar_type_name
from ..tensor import Tensor, constant
from .complex import conj
from .elementwise import add, divide, equal, multiply, negative, subtract, where
from .indexing import diag_embed, tril, triu
from .movement import diagonal, reshape, transpose, unsqueeze
from .reduction import sum_

# --- products --------------------------------------------------------------------------------


def _matmul_aval(x: Aval, y: Aval) -> Aval:
    check_same_type(x, y)
    if x.shape[-1] != y.shape[-2]:
        if x.ndim == 2 and y.ndim == 2:
            raise RuntimeError(
                f"mat1 and mat2 shapes cannot be multiplied ({x.shape[0]}x{x.shape[1]} and "
                f"{y.shape[0]}x{y.shape[1]})"
            )
        count = math.prod(broadcast_two(x.shape[:-2], y.shape[:-2]))
        raise RuntimeError(
            "Expected size for first two dimensions of batch2 tensor to be: "
            f"[{count}, {x.shape[-1]}] but got: [{count}, {y.shape[-2]}]."
        )
    batch = broadcast_two(x.shape[:-2], y.shape[:-2])
    return aval((*batch, x.shape[-2], y.shape[-1]), x.dtype, None, x.device)


def check_same_type(x: Aval, y: Aval) -> None:
    if x.dtype is not y.dtype:
        raise RuntimeError(
            "expected m1 and m2 to have the same dtype, but got: "
            f"{c_name(x.dtype)} != {c_name(y.dtype)}"
        )


def swapped(x: Any) -> Any:
    """The transpose of matrices: a view."""
    return transpose(x, -2, -1)


def adjoint(x: Any) -> Any:
    """The conjugate transpose of matrices."""
    return conj(swapped(x))


def _rows(x: Any) -> Any:
    """All rows of all matrices in one matrix."""
    return reshape(x, (x.aval.size // max(x.aval.shape[-1], 1), x.aval.shape[-1]))


def _matmul_left(g: Any, y: Any) -> Any:
    return matmul(g, adjoint(y))


def _matmul_right(g: Any, x: Any, avals: Any) -> Any:
    if avals[1].ndim == 2 and x.aval.ndim > 2:
        return matmul(adjoint(_rows(x)), _rows(g))
    return matmul(adjoint(x), g)


# the product of (batches of) matrices
matmul = Op(
    "matmul", _matmul_aval, "matmul.matmul", vjp=(_matmul_left, _matmul_right),
    grad_name="MmBackward0",
)  # fmt: skip


def _linear_aval(x: Aval, weight: Aval, bias: Aval | None) -> Aval:
    if weight.ndim != 2:
        raise RuntimeError(f"t() expects a tensor with <= 2 dimensions, but self is {weight.ndim}D")
    if x.dtype is not weight.dtype:
        if bias is None:
            check_same_type(x, weight)
        raise RuntimeError(
            f"mat1 and mat2 must have the same dtype, but got {scalar_type_name(x.dtype)} and "
            f"{scalar_type_name(weight.dtype)}"
        )
    if not x.ndim or x.shape[-1] != weight.shape[1]:
        if x.ndim == 1:
            raise RuntimeError(
                f"size mismatch, got input ({weight.shape[0]}), mat "
                f"({weight.shape[0]}x{weight.shape[1]}), vec ({x.shape[0]})"
            )
        rows = x.size // x.shape[-1] if x.ndim and x.shape[-1] else 0
        raise RuntimeError(
            f"mat1 and mat2 shapes cannot be multiplied ({rows}x{x.shape[-1] if x.ndim else 1} "
            f"and {weight.shape[1]}x{weight.shape[0]})"
        )
    if bias is not None and bias.shape != (weight.shape[0],):
        raise RuntimeError(
            f"The expanded size of the tensor ({weight.shape[0]}) must match the existing size "
            f"({bias.shape[-1] if bias.ndim else 1}) at non-singleton dimension {x.ndim - 1}.  "
            f"Target sizes: {[*x.shape[:-1], weight.shape[0]]}.  Tensor sizes: {list(bias.shape)}"
        )
    return aval((*x.shape[:-1], weight.shape[0]), x.dtype, None, x.device)


def _linear_input(g: Any, weight: Any) -> Any:
    product = matmul(_rows(g), conj(weight))
    return reshape(product, (*g.aval.shape[:-1], weight.aval.shape[1]))


def _linear_weight(g: Any, x: Any) -> Any:
    return matmul(swapped(_rows(g)), conj(_rows(x)))


def _linear_bias(g: Any) -> Any:
    rows = _rows(g)
    return sum_(rows, axis=(0,), keepdims=False)


# x @ weight^T + bias
linear = Op(
    "linear", _linear_aval, "matmul.linear", vjp=(_linear_input, _linear_weight, _linear_bias),
    grad_name="AddmmBackward0",
)  # fmt: skip

# --- inverses and systems --------------------------------------------------------------------


def check_square(name: str, x: Aval) -> None:
    """The last two axes are square; torch's error otherwise."""
    if x.ndim < 2:
        raise RuntimeError(
            f"{name}: The input tensor A must have at least 2 dimensions."
        )
    if x.shape[-1] != x.shape[-2]:
        raise RuntimeError(
            f"{name}: A must be batches of square matrices, but they are {x.shape[-2]} by "
            f"{x.shape[-1]} matrices"
        )
    check_real_or_complex(name, x)


def check_real_or_complex(name: str, x: Aval) -> None:
    if x.dtype.category < 2:
        raise RuntimeError(
            f"{name}: Expected a floating point or complex tensor as input. Got "
            f"{scalar_type_name(x.dtype)}"
        )


def _square_aval(name: str) -> Any:
    def rule(x: Aval) -> Aval:
        check_square(name, x)
        return aval(x.shape, x.dtype, None, x.device)

    return rule


def _inverse_vjp(g: Any, out: Any) -> Any:
    turned = adjoint(out)
    return negative(matmul(turned, matmul(g, turned)))


inverse = Op(
    "linalg_inv_ex", _square_aval("linalg.inv"), "linear_algebra.inverse", vjp=_inverse_vjp
)


def _scalars_aval(name: str) -> Any:
    def rule(x: Aval) -> Aval:
        check_square(name, x)
        return aval(x.shape[:-2], x.dtype, None, x.device)

    return rule


def _last_two(x: Any) -> Any:
    return unsqueeze(unsqueeze(x, axis=x.aval.ndim), axis=x.aval.ndim + 1)


def _det_vjp(g: Any, x: Any) -> Any:
    """g times the matrix of cofactors, transposed."""
    return multiply(_last_two(g), conj(cofactors(x)))


# the matrix of cofactors, also of singular matrices
cofactors = Op(
    "cofactors", _square_aval("linalg.det"), "linear_algebra.cofactors",
    vjp=lambda g, x: _cofactors_vjp(g, x),
)  # fmt: skip


def _cofactors_vjp(g: Any, x: Any) -> Any:
    """For C = det(x) x^-T: the derivative by the product rule; x must be invertible."""
    turned = swapped(inverse(x))
    own = multiply(_last_two(det(x)), turned)
    total = sum_(multiply(g, own), axis=(g.aval.ndim - 2, g.aval.ndim - 1), keepdims=True)
    return subtract(multiply(total, turned), matmul(own, matmul(swapped(g), turned)))


det = Op("linalg_det", _scalars_aval("linalg.det"), "linear_algebra.det", vjp=_det_vjp)


def _slogdet_aval(x: Aval) -> Any:
    check_square("linalg.slogdet", x)
    return (
        aval(x.shape[:-2], x.dtype, None, x.device),
        aval(x.shape[:-2], x.dtype.to_real(), None, x.device),
    )


def _slogdet_vjp(g: Any, x: Any) -> Any:
    return None if g[1] is None else multiply(_last_two(g[1]), adjoint(inverse(x)))


# (sign, log of the absolute value) of the determinant
slogdet = Op("linalg_slogdet", _slogdet_aval, "linear_algebra.slogdet", vjp=_slogdet_vjp)


def _solve_aval(x: Aval, y: Aval) -> Aval:
    check_square("linalg.solve", x)
    check_same_type(x, y)
    if x.shape[-1] != y.shape[-2]:
        raise RuntimeError(
            f"linalg.solve: Incompatible shapes of A and B for the equation AX = B "
            f"({x.shape[-2]}x{x.shape[-1]} and {y.shape[-2]}x{y.shape[-1]})"
        )
    batch = broadcast_two(x.shape[:-2], y.shape[:-2])
    return aval((*batch, *y.shape[-2:]), x.dtype, None, x.device)


def _solve_vjp(g: Any, x: Any, out: Any, needs: Any) -> Any:
    right = solve(adjoint(x), g)
    left = negative(matmul(right, adjoint(out))) if needs[0] else None
    return left, right


# the matrix X with x X = y; y is a matrix (or a batch of them)
solve = Op("linalg_solve_ex", _solve_aval, "linear_algebra.solve", vjp=_solve_vjp)


def _triangular_aval(x: Aval, y: Aval, *, upper: bool, unit: bool) -> Aval:
    return _solve_aval(x, y)


def _triangular_vjp(g: Any, x: Any, out: Any, needs: Any, upper: bool, unit: bool) -> Any:
    right = solve_triangular(adjoint(x), g, upper=not upper, unit=unit)
    left = None
    if needs[0]:
        full = negative(matmul(right, adjoint(out)))
        shift = 1 if unit else 0
        left = triu(full, diagonal=shift) if upper else tril(full, diagonal=-shift)
    return left, right


solve_triangular = Op(
    "linalg_solve_triangular", _triangular_aval, "linear_algebra.solve_triangular",
    vjp=_triangular_vjp,
)  # fmt: skip


def _lower_half(x: Any) -> Any:
    """The lower triangle with half of the diagonal."""
    low = tril(x, diagonal=0)
    middle = diag_embed(diagonal(x, offset=0, first=x.aval.ndim - 2, second=x.aval.ndim - 1),
                        offset=0, first=x.aval.ndim - 2, second=x.aval.ndim - 1)  # fmt: skip
    return subtract(low, multiply(middle, constant(0.5)))


def _cholesky_vjp(g: Any, out: Any) -> Any:
    inner = _lower_half(matmul(adjoint(out), g))
    symmetric = multiply(add(inner, adjoint(inner)), constant(0.5))
    turned = adjoint(out)
    left = solve_triangular(turned, symmetric, upper=True, unit=False)
    return adjoint(solve_triangular(turned, adjoint(left), upper=True, unit=False))


# the lower triangular factor
cholesky = Op(
    "linalg_cholesky_ex", _square_aval("linalg.cholesky"), "linear_algebra.cholesky",
    vjp=_cholesky_vjp,
)  # fmt: skip

# --- factors ---------------------------------------------------------------------------------


def _matrix(x: Aval, *tail: int) -> Aval:
    return aval((*x.shape[:-2], *tail), x.dtype, None, x.device)


def _qr_aval(x: Aval, *, complete: bool) -> Any:
    check_real_or_complex("linalg.qr", x)
    m, n = x.shape[-2:]
    k = m if complete else min(m, n)
    return _matrix(x, m, k), _matrix(x, k, n)


def _qr_vjp(g: Any, out: Any, complete: bool) -> Any:
    q, r = out
    m, n = q.aval.shape[-2], r.aval.shape[-1]
    if (complete and m != n) or m < n:
        raise RuntimeError(
            "linalg.qr: the derivative is only defined for square or tall matrices in reduced mode"
        )
    inner = None
    if g[1] is not None:
        inner = matmul(g[1], adjoint(r))
    if g[0] is not None:
        second = matmul(adjoint(q), g[0])
        inner = negative(second) if inner is None else subtract(inner, second)
    upper = triu(inner, diagonal=0)
    strict = triu(inner, diagonal=1)
    symmetric = add(upper, adjoint(strict))
    total = matmul(q, symmetric)
    if g[0] is not None:
        total = add(g[0], total)
    return adjoint(solve_triangular(r, adjoint(total), upper=True, unit=False))


qr = Op("linalg_qr", _qr_aval, "linear_algebra.qr", vjp=_qr_vjp)


def _eigh_aval(x: Aval, *, lower: bool) -> Any:
    check_square("linalg.eigh", x)
    values = aval(x.shape[:-1], x.dtype.to_real(), None, x.device)
    return values, aval(x.shape, x.dtype, None, x.device)


def _differences(values: Any) -> Any:
    """1 / (values[j] - values[i]), 0 on the diagonal and where both are equal."""
    n = values.aval.ndim
    gaps = subtract(unsqueeze(values, axis=n - 1), unsqueeze(values, axis=n))
    same = equal(gaps, constant(0))
    return where(same, constant(0), divide(constant(1), where(same, constant(1), gaps)))


def _on_diagonal(x: Any) -> Any:
    n = x.aval.ndim
    return diag_embed(x, offset=0, first=n - 1, second=n)


def _eigh_vjp(g: Any, out: Any, lower: bool) -> Any:
    values, vectors = out
    inner = None if g[0] is None else _on_diagonal(g[0])
    if g[1] is not None:
        turned = multiply(matmul(adjoint(vectors), g[1]), _differences(values))
        inner = turned if inner is None else add(inner, turned)
    return matmul(vectors, matmul(inner, adjoint(vectors)))


# (eigenvalues, eigenvectors) of Hermitian matrices, of which one triangle is read
eigh = Op("linalg_eigh", _eigh_aval, "linear_algebra.eigh", vjp=_eigh_vjp)


def _svd_aval(x: Aval, *, full_matrices: bool) -> Any:
    check_real_or_complex("linalg.svd", x)
    m, n = x.shape[-2:]
    k = min(m, n)
    values = aval((*x.shape[:-2], k), x.dtype.to_real(), None, x.device)
    return (
        _matrix(x, m, m if full_matrices else k),
        values,
        _matrix(x, n if full_matrices else k, n),
    )


def _svd_vjp(g: Any, out: Any, full_matrices: bool) -> Any:
    """Townsend's formula for real matrices with distinct singular values."""
    u, s, vh = out
    gu, gs, gvh = g
    k = s.aval.shape[-1]
    if full_matrices and (gu is not None or gvh is not None) and (
        u.aval.shape[-1] != k or vh.aval.shape[-2] != k
    ):
        raise RuntimeError("svd_backward: The singular vectors' gradients need full_matrices=False")
    if full_matrices:
        u, vh = _narrow(u, -1, k), _narrow(vh, -2, k)
    inner = None if gs is None else _on_diagonal(gs)
    gaps = _differences(multiply(s, s))
    row, column = unsqueeze(s, axis=s.aval.ndim - 1), unsqueeze(s, axis=s.aval.ndim)
    total = None
    if gu is not None:
        skew = matmul(swapped(u), gu)
        part = multiply(multiply(subtract(skew, swapped(skew)), gaps), row)
        inner = part if inner is None else add(inner, part)
        rest = subtract(gu, matmul(u, skew))
        total = matmul(divide(rest, row), vh)
    if gvh is not None:
        skew = matmul(vh, swapped(gvh))
        part = multiply(column, multiply(subtract(skew, swapped(skew)), gaps))
        inner = part if inner is None else add(inner, part)
        rest = subtract(gvh, matmul(swapped(skew), vh))
        outside = matmul(u, divide(rest, column))
        total = outside if total is None else add(total, outside)
    core = None if inner is None else matmul(u, matmul(inner, vh))
    if core is None:
        return total
    return core if total is None else add(core, total)


def _narrow(x: Tensor, axis: int, length: int) -> Any:
    from .movement import slice_

    return slice_(x, axis=axis % x.aval.ndim, start=0, length=length, step=1)


# (U, singular values, V^H)
svd = Op("linalg_svd", _svd_aval, "linear_algebra.svd", vjp=_svd_vjp)


def _eig_aval(x: Aval) -> Any:
    check_square("linalg.eig", x)
    kind = x.dtype.to_complex()
    return aval(x.shape[:-1], kind, None, x.device), aval(x.shape, kind, None, x.device)


# (eigenvalues, eigenvectors) of any square matrices; no derivative yet
eig = Op("linalg_eig", _eig_aval, "linear_algebra.eig")


def _lstsq_aval(x: Aval, y: Aval) -> Aval:
    check_real_or_complex("linalg.lstsq", x)
    batch: Shape = broadcast_two(x.shape[:-2], y.shape[:-2])
    return aval((*batch, x.shape[-1], y.shape[-1]), x.dtype, None, x.device)


def _pinv_aval(x: Aval, *, rtol: float | None, hermitian: bool) -> Aval:
    check_real_or_complex("linalg.pinv", x)
    return _matrix(x, x.shape[-1], x.shape[-2])


def _pinv_vjp(g: Any, x: Any, out: Any, rtol: Any, hermitian: bool) -> Any:
    """Golub and Pereyra's formula, transposed."""
    turned, gh = adjoint(out), adjoint(g)
    first = negative(matmul(turned, matmul(g, turned)))
    square = matmul(turned, out)
    second = subtract(gh, matmul(x, matmul(out, gh)))
    third = subtract(
        gh, matmul(gh, matmul(out, x))
    )
    result = add(first, matmul(second, matmul(out, turned)))
    return add(result, matmul(square, third))


pinv = Op("linalg_pinv", _pinv_aval, "linear_algebra.pinv", vjp=(_pinv_vjp,))
# the least squares solution of x X = y
lstsq = Op("linalg_lstsq", _lstsq_aval, "linear_algebra.lstsq",
           vjp=lambda g, x, y, out, needs: _lstsq_vjp(g, x, y, needs))  # fmt: skip


def _lstsq_vjp(g: Any, x: Any, y: Any, needs: Any) -> Any:
    inverse_ = pinv(x, rtol=None, hermitian=False)
    to_right = matmul(adjoint(inverse_), g)
    to_left = None
    if needs[0]:
        to_left = _pinv_vjp(matmul(g, adjoint(y)), x, inverse_, None, False)
    return to_left, to_right
