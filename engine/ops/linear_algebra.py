"""Products of matrices, and what is solved or factored; matrices are the last two axes."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from .. import dtype_support, dtypes
from ..aval import Aval, Shape, aval, broadcast_two, dense_like
from ..dtype_support import without
from ..dtypes import c_name, scalar_type_name
from ..op import Op
from ..result_strides import column_strides, in_columns
from ..stored_types import computes
from ..tensor import Tensor, constant, full_flat
from .comparison import equal, where
from .complex import conj, imag, make_complex
from .elementwise import add, divide, multiply, negative, subtract
from .indexing import tril, triu
from .movement import clone, reshape, transpose, unsqueeze
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


def by_columns(x: Any) -> Any:
    """Matrices whose columns lie in one piece, as in LAPACK's results; a copy where they do not."""
    strides = column_strides(x.aval.shape)
    return x if x.aval.strides == strides else clone(x, strides=strides)


def _rows(x: Any) -> Any:
    """All rows of all matrices in one matrix."""
    return reshape(x, (math.prod(x.aval.shape[:-1]), x.aval.shape[-1]))


def _matmul_left(g: Any, y: Any) -> Any:
    return matmul(g, adjoint(y))


def _matmul_right(g: Any, x: Any, avals: Any) -> Any:
    if avals[1].ndim == 2 and x.aval.ndim > 2:
        return matmul(adjoint(_rows(x)), _rows(g))
    return matmul(adjoint(x), g)


def _product_of_bool(x: Aval, y: Aval) -> None:
    """PyTorch's error for products of bool, which it has where there is nothing to add up."""
    if x.dtype is not dtypes.bool_ or not (x.size and y.size):
        return
    if x.ndim > 2 or y.ndim > 2:
        dtype_support.refuse("bmm", x.dtype)
    dtype_support.refuse("addmm_impl_cpu_" if y.shape[1] > 1 else "addmv_impl_cpu", x.dtype)


def _product_name(avals: Any, params: Any) -> str:
    return "BmmBackward0" if len(avals[0].shape) == 3 == len(avals[1].shape) else "MmBackward0"


def _product_by(x: Aval, y: Aval) -> tuple[str, list[Any]]:
    shapes = [list(x.shape), list(y.shape)]
    if x.ndim == 3 == y.ndim:
        return "bmm", shapes
    return "mm", [[math.prod(shape[:-1]), shape[-1]] for shape in shapes]


# the product of (batches of) matrices
matmul = Op(
    "matmul", _matmul_aval, "matmul.matmul", vjp=(_matmul_left, _matmul_right),
    grad_name=_product_name,
    compiled=("amx_products.matmul",),
    autocast="lower",
    autocast_cuda="lower",
    dtypes=_product_of_bool,
    inner=_product_by,
    leading=0,
)  # fmt: skip
matmul.saves_second_first = True


def _linear_aval(x: Aval, weight: Aval, bias: Aval | None) -> Aval:
    if weight.ndim != 2:
        raise RuntimeError(f"t() expects a tensor with <= 2 dimensions, but self is {weight.ndim}D")
    # torch's addmm checks types first, its matmul, which takes the others, shapes
    fused = bias is not None and (x.ndim <= 2 or x.contiguous)
    if x.dtype is not weight.dtype and fused:
        raise RuntimeError(
            f"mat1 and mat2 must have the same dtype, but got {scalar_type_name(x.dtype)} and "
            f"{scalar_type_name(weight.dtype)}"
        )
    if not x.ndim:
        raise RuntimeError(
            "both arguments to linear need to be at least 1D, but they are 0D and 2D"
        )
    if x.shape[-1] != weight.shape[1]:
        raise RuntimeError(
            f"mat1 and mat2 shapes cannot be multiplied ({math.prod(x.shape[:-1])}x{x.shape[-1]} "
            f"and {weight.shape[1]}x{weight.shape[0]})"
        )
    check_same_type(x, weight)
    if bias is not None and bias.dtype is not x.dtype:
        raise RuntimeError(
            f"self and mat2 must have the same dtype, but got {scalar_type_name(bias.dtype)} and "
            f"{scalar_type_name(weight.dtype)}"
        )
    if bias is not None and bias.shape != (weight.shape[0],):
        target = [*(x.shape[:-1] or (1,)), weight.shape[0]]
        raise RuntimeError(
            f"The expanded size of the tensor ({weight.shape[0]}) must match the existing size "
            f"({bias.shape[-1] if bias.ndim else 1}) at non-singleton dimension "
            f"{len(target) - 1}.  Target sizes: {target}.  Tensor sizes: {list(bias.shape)}"
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


def _linear_name(avals: Any, params: Any) -> str:
    if len(avals[0].shape) == 2:
        return "MmBackward0" if avals[2] is None else "AddmmBackward0"
    if avals[2] is None:
        return "SqueezeBackward4" if len(avals[0].shape) == 1 else "UnsafeViewBackward0"
    return "ViewBackward0"


def _linear_by(x: Aval, weight: Aval, bias: Aval | None) -> tuple[str, list[Any]]:
    shapes = [[math.prod(x.shape[:-1]), x.shape[-1]], list(weight.shape[::-1])]
    return ("mm", shapes) if bias is None else ("addmm", [list(bias.shape), *shapes])


# x @ weight^T + bias
linear = Op(
    "linear", _linear_aval, "matmul.linear", vjp=(_linear_input, _linear_weight, _linear_bias),
    grad_name=_linear_name,
    compiled=("amx_products.linear",),
    autocast="lower",
    autocast_cuda="lower",
    dtypes=without("bool", "addmm_impl_cpu_"),
    inner=_linear_by,
    leading=0,
)  # fmt: skip



def _distance_aval(x: Aval, y: Aval) -> Aval:
    batch = broadcast_two(x.shape[:-2], y.shape[:-2])
    return aval((*batch, x.shape[-2], y.shape[-2]), x.dtype, None, x.device)


def _distance_vjp(g: Any, x: Any, y: Any, out: Any) -> Any:
    """By products again; 0 where the distance is 0."""
    none = equal(out, constant(0))
    weight = where(none, constant(0), divide(g, where(none, constant(1), out)))

    def side(x: Any, weight: Any, y: Any) -> Any:
        total = sum_(weight, axis=(weight.aval.ndim - 1,), keepdims=True)
        return subtract(multiply(x, total), matmul(weight, y))

    return side(x, weight, y), side(y, swapped(weight), x)


# the Euclidean distances of all pairs of rows, by |x|^2 + |y|^2 - 2 x y
euclidean_distance = Op(
    "_euclidean_dist", _distance_aval, "linear_solvers.euclidean_distance", vjp=_distance_vjp,
    autocast_cuda="full",
    leading=0,
)

# --- inverses and systems --------------------------------------------------------------------


LAPACK_TYPES = ("float32", "float64", "complex64", "complex128")


def check_square(name: str, x: Aval, types: Any = LAPACK_TYPES) -> None:
    """The last two axes are square and the type is one of ``types``; torch's error otherwise."""
    if x.ndim < 2:
        raise RuntimeError(
            f"{name}: The input tensor A must have at least 2 dimensions."
        )
    if x.shape[-1] != x.shape[-2]:
        raise RuntimeError(
            f"{name}: A must be batches of square matrices, but they are {x.shape[-2]} by "
            f"{x.shape[-1]} matrices"
        )
    if types is not None:
        check_precision(name, x)


def check_real_or_complex(name: str, x: Aval) -> None:
    if x.dtype.category < 2:
        raise RuntimeError(
            f"{name}: Expected a floating point or complex tensor as input. Got "
            f"{scalar_type_name(x.dtype)}"
        )


def check_precision(name: str, x: Aval) -> None:
    """The type is one of LAPACK's four; torch's error otherwise."""
    if name in dtype_support.LAPACK:
        dtype_support.refuse_kinds(dtype_support.LAPACK[name], x, "bool whole short")
        return
    check_real_or_complex(name, x)
    if x.dtype.itemsize < (8 if x.dtype.is_complex else 4):
        if name in dtype_support.LAPACK_SHORT:
            dtype_support.refuse(dtype_support.LAPACK_SHORT[name], x.dtype)
        raise RuntimeError(
            f"{name}: Low precision dtypes not supported. Got {scalar_type_name(x.dtype)}"
        )


def info_aval(x: Aval) -> Aval:
    """LAPACK's number for each matrix: 0 where all went well."""
    return aval(x.shape[:-2], dtypes.int32, None, x.device)


def _inverse_aval(x: Aval, *, check: str) -> Any:
    check_square("linalg.inv", x)
    return dense_like(x), info_aval(x)


def _inverse_vjp(g: Any, out: Any) -> Any:
    turned = adjoint(out[0])
    return negative(matmul(turned, matmul(g[0], turned)))


# (inverse, info); raises in the name ``check`` where a matrix has none
inverse_info = Op(
    "linalg_inv_ex", _inverse_aval, "linear_solvers.inverse", vjp=_inverse_vjp, layout=in_columns
)


def inverse(x: Any, check: str = "linalg.inv") -> Any:
    """The inverse of matrices."""
    return inverse_info(x, check=check)[0]


def _square_aval(name: str) -> Any:
    def rule(x: Aval) -> Aval:
        check_square(name, x)
        return dense_like(x)

    return rule


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
    "cofactors", _square_aval("linalg.det"), "linear_solvers.cofactors",
    vjp=lambda g, x: _cofactors_vjp(g, x),
)  # fmt: skip


def _cofactors_vjp(g: Any, x: Any) -> Any:
    """For C = det(x) x^-T: the derivative by the product rule; x must be invertible."""
    turned = swapped(inverse(x))
    own = multiply(_last_two(det(x)), turned)
    total = sum_(multiply(g, own), axis=(g.aval.ndim - 2, g.aval.ndim - 1), keepdims=True)
    return subtract(multiply(total, turned), matmul(own, matmul(swapped(g), turned)))


det = Op("linalg_det", _scalars_aval("linalg.det"), "linear_solvers.det", vjp=_det_vjp)


def _slogdet_aval(x: Aval) -> Any:
    check_square("linalg.slogdet", x)
    return (
        aval(x.shape[:-2], x.dtype, None, x.device),
        aval(x.shape[:-2], x.dtype.to_real(), None, x.device),
    )


def _slogdet_vjp(g: Any, x: Any, out: Any) -> Any:
    """The sign of a complex determinant turns by the imaginary part of tr(x^-1 dx)."""
    if not x.aval.dtype.is_complex:
        if g[1] is None:
            return None
        return multiply(_last_two(g[1]), adjoint(inverse(x)))
    turn = None if g[0] is None else imag(multiply(g[0], conj(out[0])))
    size = multiply(turn, constant(0)) if g[1] is None else g[1]
    if turn is None:
        turn = multiply(size, constant(0))
    return multiply(_last_two(make_complex(size, turn)), adjoint(inverse(x)))


# (sign, log of the absolute value) of the determinant
slogdet = Op("linalg_slogdet", _slogdet_aval, "linear_solvers.slogdet", vjp=_slogdet_vjp)


def _systems_shape(name: str, x: Aval, y: Aval) -> Shape:
    check_square(name, x)
    check_same_scalar(name, x, y)
    if y.ndim < 2 or x.shape[-1] != y.shape[-2]:
        raise RuntimeError(
            f"{name}: Incompatible shapes of A and B for the equation AX = B"
            f" ({x.shape[-2]}x{x.shape[-1]} and {y.shape[-2]}x{y.shape[-1]})"
        )
    return (*broadcast_two(x.shape[:-2], y.shape[:-2]), *y.shape[-2:])


def check_same_scalar(name: str, x: Aval, y: Aval, words: str = "A and B") -> None:
    """Both have the same element type; torch's error otherwise."""
    if x.dtype is not y.dtype:
        raise RuntimeError(
            f"{name}: Expected {words} to have the same dtype, but found {words[0]} of type "
            f"{scalar_type_name(x.dtype)} and {words[-1]} of type {scalar_type_name(y.dtype)} "
            "instead"
        )


def _solve_aval(x: Aval, y: Aval, *, check: str) -> Any:
    shape = _systems_shape("linalg.solve", x, y)
    return aval(shape, x.dtype, None, x.device), info_aval(x)


def _solve_vjp(g: Any, x: Any, out: Any, needs: Any) -> Any:
    right = solve(adjoint(x), g[0])
    left = negative(matmul(right, adjoint(out[0]))) if needs[0] else None
    return left, right


# (X, info) with x X = y; y is a matrix (or a batch of them)
solve_info = Op(
    "linalg_solve_ex", _solve_aval, "linear_solvers.solve", vjp=_solve_vjp, layout=in_columns
)  # fmt: skip


def solve(x: Any, y: Any, check: str = "torch.linalg.solve") -> Any:
    """The matrices X with ``x X = y``."""
    return solve_info(x, y, check=check)[0]


def _triangular_aval(x: Aval, y: Aval, *, upper: bool, unit: bool) -> Aval:
    shape = _systems_shape("linalg.solve_triangular", x, y)
    return aval(shape, x.dtype, None, x.device)


def _triangular_vjp(g: Any, x: Any, out: Any, needs: Any, upper: bool, unit: bool) -> Any:
    right = solve_triangular(adjoint(x), g, upper=not upper, unit=unit)
    left = None
    if needs[0]:
        full = negative(matmul(right, adjoint(out)))
        shift = 1 if unit else 0
        left = triu(full, diagonal=shift) if upper else tril(full, diagonal=-shift)
    return left, right


solve_triangular = Op(
    "linalg_solve_triangular", _triangular_aval, "linear_solvers.solve_triangular",
    vjp=_triangular_vjp, layout=in_columns,
    leading=0,
)  # fmt: skip


def _cholesky_vjp(g: Any, out: Any) -> Any:
    turned = adjoint(out[0])
    inner = matmul(turned, g[0])
    whole = add(tril(inner, diagonal=0), adjoint(tril(inner, diagonal=-1)))
    symmetric = multiply(whole, constant(0.5))
    left = solve_triangular(turned, symmetric, upper=True, unit=False)
    return adjoint(solve_triangular(turned, adjoint(left), upper=True, unit=False))


def _cholesky_aval(x: Aval, *, check: str, upper: bool = False) -> Any:
    check_square("linalg.cholesky", x)
    return dense_like(x), info_aval(x)


# (the lower triangular factor, info); ``upper`` reads the conjugates of the upper triangle, and
# the gradient is torch's, that of the lower triangle
cholesky_info = Op(
    "linalg_cholesky_ex", _cholesky_aval, "linear_solvers.cholesky", vjp=_cholesky_vjp,
    layout=in_columns,
)


def cholesky(x: Any, check: str = "linalg.cholesky") -> Any:
    """The lower triangular factor of positive-definite matrices."""
    return cholesky_info(x, check=check)[0]



def _cholesky_solve_aval(y: Aval, low: Aval, *, upper: bool) -> Aval:
    return _triangular_aval(low, y, upper=False, unit=False)


def _cholesky_solve_vjp(g: Any, low: Any, out: Any, needs: Any, upper: bool) -> Any:
    """As a function of all elements of the factor, those of the other triangle included."""
    right = cholesky_solve(g, low, upper=upper)
    left = None
    if needs[1]:
        both = matmul(right, adjoint(out))
        both = negative(add(both, adjoint(both)))
        left = matmul(low, both) if upper else matmul(both, low)
    return right, left


# the X with L L^H X = y (U^H U X = y where ``upper``)
cholesky_solve = Op(
    "cholesky_solve", _cholesky_solve_aval, "linear_solvers.cholesky_solve",
    vjp=_cholesky_solve_vjp, layout=in_columns,
)  # fmt: skip

# --- least squares ---------------------------------------------------------------------------


def _lstsq_aval(x: Aval, y: Aval, *, rcond: float, driver: str) -> Any:
    columns = min(x.shape[-2:]) if driver in ("gelsd", "gelss") else 0
    return (
        aval((*x.shape[:-2], x.shape[-1], y.shape[-1]), x.dtype, None, x.device),
        aval(x.shape[:-2], dtypes.int64, None, x.device),
        aval((*x.shape[:-2], columns), x.dtype.to_real(), None, x.device),
    )


def pinv_limits(x: Tensor) -> tuple[Tensor, Tensor]:
    """torch's default for (atol, rtol): 0 and epsilon times the longer side."""
    real = x.aval.dtype.to_real()
    rtol = max(x.aval.shape[-2:]) * float(np.finfo(real.np).eps)
    return full_flat((), real, 0.0), full_flat((), real, rtol)


def _pinv_aval(x: Aval, atol: Aval, rtol: Aval, *, hermitian: bool) -> Aval:
    check_real_or_complex("linalg.pinv", x)
    return aval((*x.shape[:-2], x.shape[-1], x.shape[-2]), x.dtype, None, x.device)


def _pinv_vjp(g: Any, x: Any, out: Any) -> Any:
    """Golub and Pereyra's formula, transposed."""
    turned, gh = adjoint(out), adjoint(g)
    first = negative(matmul(turned, matmul(g, turned)))
    square = matmul(turned, out)
    second = subtract(gh, matmul(x, matmul(out, gh)))
    third = subtract(gh, matmul(gh, matmul(out, x)))
    result = add(first, matmul(second, matmul(out, turned)))
    return add(result, matmul(square, third))


# the Moore-Penrose inverse; singular values up to max(atol, rtol * the greatest) count as zero
pinv = Op("linalg_pinv", _pinv_aval, "matrix_factorizations.pinv", vjp=(_pinv_vjp, None, None))


def _lstsq_vjp(g: Any, x: Any, y: Any, needs: Any) -> Any:
    inverse_ = pinv(x, *pinv_limits(x), hermitian=False)
    to_right = matmul(adjoint(inverse_), g[0])
    to_left = None
    if needs[0]:
        to_left = _pinv_vjp(matmul(g[0], adjoint(y)), x, inverse_)
    return to_left, to_right


# (least squares solution of x X = y, rank, singular values)
lstsq = Op(
    "linalg_lstsq", _lstsq_aval, "linear_solvers.lstsq", vjp=_lstsq_vjp, layout=in_columns
)  # fmt: skip


# what element types that are stored alone have of these ops
computes("floats", matmul, linear)
