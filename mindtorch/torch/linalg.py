"""torch.linalg: products, norms, systems and factors of matrices."""

from __future__ import annotations

import functools
import math
import operator
from collections.abc import Callable
from typing import Any

import numpy as np

from mindtorch.engine import dtypes
from mindtorch.engine.ops import elementwise as el
from mindtorch.engine.ops import linear_algebra as ops
from mindtorch.engine.ops import movement, reduction
from mindtorch.engine.ops.families import normalize_axis
from mindtorch.engine.tensor import constant, from_array, full_flat
from mindtorch.engine.vmap import values_of_all

from . import return_types
from ._autocast import LINALG as _AUTOCAST_POLICIES
from ._autocast import cast_whole as _cast_whole

__all__ = [
    "LinAlgError", "cholesky", "cholesky_ex", "cond", "cross", "det", "diagonal", "eig", "eigh",
    "eigvals", "eigvalsh", "inv", "inv_ex", "lstsq", "matmul", "matrix_exp", "matrix_norm",
    "matrix_power", "matrix_rank", "multi_dot", "norm", "pinv", "qr", "slogdet", "solve",
    "solve_triangular", "svd", "svdvals", "vander", "vecdot", "vector_norm",
]  # fmt: skip


class LinAlgError(RuntimeError):
    """A matrix is singular, or a factorization did not succeed."""


LinAlgError.__module__ = "torch._C"
LinAlgError.__qualname__ = LinAlgError.__name__ = "_LinAlgError"


def _translated(body: Callable[..., Any]) -> Callable[..., Any]:
    """numpy's LinAlgError as torch's; ``out=`` as everywhere."""

    @functools.wraps(body)
    def wrapper(*args: Any, out: Any = None, **kwargs: Any) -> Any:
        try:
            result = body(*args, **kwargs)
        except np.linalg.LinAlgError as error:
            raise LinAlgError(str(error)) from None
        if out is None:
            return result
        from ._registry import store_out

        return store_out(result, out, body.__name__)

    return wrapper


@_translated
def matmul(input: Any, other: Any) -> Any:  # noqa: A002
    """The product of matrices."""
    from .functions.linear_algebra import matmul as product

    return product(input, other)


@_translated
def inv(A: Any) -> Any:  # noqa: N803
    """The inverse."""
    return ops.inverse(A)


@_translated
def det(A: Any) -> Any:  # noqa: N803
    """The determinant."""
    return ops.det(A)


@_translated
def slogdet(A: Any) -> Any:  # noqa: N803
    """The determinant's sign and the logarithm of its size."""
    return return_types.linalg_slogdet(*ops.slogdet(A))


@_translated
def solve(A: Any, B: Any, *, left: bool = True) -> Any:  # noqa: N803
    """``X`` with ``A X = B`` (``X A = B`` for ``left=False``); ``B`` may be a vector."""
    if B.aval.ndim == 1 or (B.aval.shape == A.aval.shape[:-1] and B.aval.ndim == A.aval.ndim - 1):
        column = movement.unsqueeze(B, axis=B.aval.ndim)
        return movement.squeeze(ops.solve(A, column), axes=(B.aval.ndim,))
    if left:
        return ops.solve(A, B)
    return ops.swapped(ops.solve(ops.swapped(A), ops.swapped(B)))


@_translated
def solve_triangular(
    A: Any, B: Any, *, upper: bool, left: bool = True, unitriangular: bool = False  # noqa: N803
) -> Any:
    """``X`` with ``A X = B`` (or ``X A = B``) for triangular ``A``."""
    if left:
        return ops.solve_triangular(A, B, upper=upper, unit=unitriangular)
    flipped = ops.solve_triangular(
        ops.swapped(A), ops.swapped(B), upper=not upper, unit=unitriangular
    )
    return ops.swapped(flipped)


@_translated
def cholesky(A: Any, *, upper: bool = False) -> Any:  # noqa: N803
    """The triangular ``L`` with ``L L^H = A`` (``U^H U`` for ``upper``)."""
    low = ops.cholesky(A)
    return ops.adjoint(low) if upper else low


def cholesky_ex(A: Any, *, upper: bool = False, check_errors: bool = False) -> Any:  # noqa: N803
    """The Cholesky factor, and 0 or the order of the first minor that is not positive."""
    low = cholesky(A, upper=upper)
    return return_types.linalg_cholesky_ex(low, full_flat(A.aval.shape[:-2], dtypes.int32, 0))


def inv_ex(A: Any, *, check_errors: bool = False) -> Any:  # noqa: N803
    """The inverse, and 0s."""
    return return_types.linalg_inv_ex(inv(A), full_flat(A.aval.shape[:-2], dtypes.int32, 0))


@_translated
def qr(A: Any, mode: str = "reduced") -> Any:  # noqa: N803
    """``Q`` with orthonormal columns and upper triangular ``R``, ``Q R = A``."""
    if mode not in ("reduced", "complete", "r"):
        raise RuntimeError(
            f"qr received unrecognized mode '{mode}' but expected one of 'reduced' (default), "
            "'r', or 'complete'"
        )
    q, r = ops.qr(A, complete=mode == "complete")
    if mode == "r":
        q = full_flat((0,), A.aval.dtype, 0)
    return return_types.linalg_qr(q, r)


@_translated
def svd(A: Any, full_matrices: bool = True, *, driver: str | None = None) -> Any:  # noqa: N803
    """``U``, singular values, ``V^H``."""
    return return_types.linalg_svd(*ops.svd(A, full_matrices=bool(full_matrices)))


@_translated
def svdvals(A: Any, *, driver: str | None = None) -> Any:  # noqa: N803
    """The singular values."""
    return ops.svd(A, full_matrices=False)[1]


@_translated
def eigh(A: Any, UPLO: str = "L") -> Any:  # noqa: N803
    """Eigenvalues (ascending) and eigenvectors of Hermitian matrices."""
    return return_types.linalg_eigh(*ops.eigh(A, lower=UPLO.upper() == "L"))


@_translated
def eigvalsh(A: Any, UPLO: str = "L") -> Any:  # noqa: N803
    """The eigenvalues of Hermitian matrices."""
    return ops.eigh(A, lower=UPLO.upper() == "L")[0]


@_translated
def eig(A: Any) -> Any:  # noqa: N803
    """Eigenvalues and eigenvectors."""
    return return_types.linalg_eig(*ops.eig(A))


@_translated
def eigvals(A: Any) -> Any:  # noqa: N803
    """The eigenvalues."""
    return ops.eig(A)[0]


@_translated
def pinv(A: Any, rcond: Any = None, *, atol: Any = None, rtol: Any = None,  # noqa: N803
         hermitian: bool = False) -> Any:  # fmt: skip
    """The Moore-Penrose inverse."""
    limit = rtol if rtol is not None else rcond
    if atol is not None:
        raise NotImplementedError("linalg.pinv: atol is not supported")
    return ops.pinv(A, rtol=None if limit is None else float(limit), hermitian=hermitian)


@_translated
def lstsq(A: Any, B: Any, rcond: float | None = None, *, driver: str | None = None) -> Any:  # noqa: N803
    """The least squares solution of ``A X = B``, with residuals, rank, singular values."""
    solution = ops.lstsq(A, B)
    empty = full_flat((0,), A.aval.dtype, 0)
    residuals = empty
    m, n = A.aval.shape[-2:]
    rank = matrix_rank(A)
    if m > n and (values_of_all(rank) == n).all():
        error = el.subtract(ops.matmul(A, solution), B)
        residuals = reduction.sum_(el.square(el.absolute(error)), axis=(error.aval.ndim - 2,),
                                   keepdims=False)  # fmt: skip
    return return_types.linalg_lstsq(solution, residuals, rank, empty)


@_translated
def matrix_rank(A: Any, *, atol: Any = None, rtol: Any = None, hermitian: bool = False) -> Any:  # noqa: N803
    """How many singular values exceed ``max(atol, rtol * the greatest)``."""
    values = svdvals(A).detach()
    last = (values.aval.ndim - 1,)
    if not values.aval.shape[-1]:
        return reduction.sum_(el.greater(values, constant(0)), axis=last, keepdims=False)
    if rtol is None:
        eps = float(np.finfo(A.aval.dtype.np).eps)
        rtol = 0.0 if atol is not None else eps * max(A.aval.shape[-2:])
    greatest = reduction.amax(values, axis=last, keepdims=True)
    limit = el.maximum(el.multiply(greatest, constant(rtol)), constant(atol or 0.0))
    return reduction.sum_(el.greater(values, limit), axis=last, keepdims=False)


def matrix_power(A: Any, n: int) -> Any:  # noqa: N803
    """``A`` multiplied by itself ``n`` times; its inverse for negative ``n``."""
    if n < 0:
        return matrix_power(inv(A), -n)
    result = None
    power = A
    while n:
        if n & 1:
            result = power if result is None else ops.matmul(result, power)
        n >>= 1
        if n:
            power = ops.matmul(power, power)
    if result is not None:
        return result
    from .functions.creation import eye

    return movement.expand(eye(A.aval.shape[-1], dtype=A.aval.dtype), shape=A.aval.shape)


def matrix_exp(A: Any) -> Any:  # noqa: N803
    """The exponential, by scaling and squaring of a Taylor polynomial of degree 18."""
    from .functions.creation import eye

    ops.check_square("linalg.matrix_exp", A.aval)
    if not A.aval.size:
        return movement.clone(A)
    size = float(np.abs(A.detach().array()).sum(-1).max())
    squarings = max(0, math.ceil(math.log2(size)) + 1) if size > 0 and math.isfinite(size) else 0
    x = el.divide(A, constant(float(2**squarings)))
    identity = eye(A.aval.shape[-1], dtype=A.aval.dtype)
    result = identity
    for k in range(18, 0, -1):
        result = el.add(identity, el.divide(ops.matmul(x, movement.expand(
            result, shape=A.aval.shape)), constant(float(k))))  # fmt: skip
    for _ in range(squarings):
        result = ops.matmul(result, result)
    return result


def multi_dot(tensors: Any) -> Any:
    """The product of several matrices (the ends may be vectors) in the cheapest order."""
    from .functions.linear_algebra import matmul as product

    if len(tensors) < 2:
        raise RuntimeError(
            f"multi_dot(): expected at least 2 tensors but got {len(tensors)}"
        )
    sizes = [t.aval.shape[0] if t.aval.ndim == 2 else 1 for t in tensors[:1]]
    sizes += [t.aval.shape[-1] if t.aval.ndim == 2 or i == 0 else 1
              for i, t in enumerate(tensors)]  # fmt: skip
    n = len(tensors)
    cost = [[0.0] * n for _ in range(n)]
    split = [[0] * n for _ in range(n)]
    for width in range(1, n):
        for i in range(n - width):
            j = i + width
            cost[i][j] = math.inf
            for k in range(i, j):
                total = cost[i][k] + cost[k + 1][j] + sizes[i] * sizes[k + 1] * sizes[j + 1]
                if total < cost[i][j]:
                    cost[i][j], split[i][j] = total, k

    def build(i: int, j: int) -> Any:
        if i == j:
            return tensors[i]
        return product(build(i, split[i][j]), build(split[i][j] + 1, j))

    return build(0, n - 1)


@_translated
def vector_norm(
    x: Any, ord: Any = 2, dim: Any = None, keepdim: bool = False, *, dtype: Any = None  # noqa: A002
) -> Any:
    """The vector norm of order ``ord``."""
    from .functions.reduction import vector_norm as compute

    return compute(x, ord, dim, keepdim, dtype=dtype)


@_translated
def matrix_norm(
    A: Any,  # noqa: N803
    ord: Any = "fro",  # noqa: A002
    dim: Any = (-2, -1),
    keepdim: bool = False,
    *,
    dtype: Any = None,
) -> Any:
    """The norm of matrices: "fro", "nuc", 1, -1, 2, -2, inf or -inf."""
    from .functions.reduction import _typed
    from .functions.reduction import vector_norm as vector

    A = _typed(A, dtype)  # noqa: N806
    first, second = (normalize_axis(operator.index(d), A.aval.ndim) for d in dim)
    if ord == "fro":
        return vector(A, 2, (first, second), keepdim)
    if ord in (1, -1, math.inf, -math.inf):
        folded, kept = (first, second) if abs(ord) == 1 else (second, first)
        sums = vector(A, 1, folded, True)
        pick = reduction.amax if ord > 0 else reduction.amin
        result = pick(sums, axis=(kept,), keepdims=True)
    elif ord in (2, -2, "nuc"):
        rest = [i for i in range(A.aval.ndim) if i not in (first, second)]
        values = ops.svd(movement.permute(A, axes=(*rest, first, second)), full_matrices=False)[1]
        last = (values.aval.ndim - 1,)
        fold = {2: reduction.amax, -2: reduction.amin, "nuc": reduction.sum_}[ord]
        folded_values = fold(values, axis=last, keepdims=False)
        shape = tuple(1 if i in (first, second) else n for i, n in enumerate(A.aval.shape))
        result = movement.reshape(folded_values, shape)
    else:
        raise ValueError(f"Order {ord} not supported.")
    return result if keepdim else movement.squeeze(result, axes=(first, second))


@_translated
def norm(
    A: Any,  # noqa: N803
    ord: Any = None,  # noqa: A002
    dim: Any = None,
    keepdim: bool = False,
    *,
    dtype: Any = None,
) -> Any:
    """A vector norm, or a matrix norm where two axes are meant and ``ord`` is given."""
    if ord is not None and (
        (isinstance(dim, (tuple, list)) and len(dim) == 2) or (dim is None and A.aval.ndim == 2)
    ):
        return matrix_norm(A, ord, (-2, -1) if dim is None else dim, keepdim, dtype=dtype)
    if isinstance(ord, str):
        raise RuntimeError(
            f"linalg.norm: If dim is not specified but ord is, the input must be 1D or 2D. Got "
            f"{A.aval.ndim}D."
        )
    return vector_norm(A, 2 if ord is None else ord, dim, keepdim, dtype=dtype)


@_translated
def cond(A: Any, p: Any = None) -> Any:  # noqa: N803
    """The condition number for the norm ``p``."""
    if p is None or p in (2, -2):
        values = ops.svd(A, full_matrices=False)[1]
        n = values.aval.ndim - 1
        top = movement.select(values, axis=n, index=0)
        low = movement.select(values, axis=n, index=values.aval.shape[-1] - 1)
        return el.divide(low, top) if p == -2 else el.divide(top, low)
    return el.multiply(matrix_norm(A, p), matrix_norm(inv(A), p))


@_translated
def cross(input: Any, other: Any, *, dim: int = -1) -> Any:  # noqa: A002
    """The vector product along an axis of length 3."""
    axis = normalize_axis(dim, input.aval.ndim)
    if input.aval.ndim != other.aval.ndim:
        raise RuntimeError(
            "linalg.cross: inputs must have the same number of dimensions."
        )
    if input.aval.shape[axis] != 3 or other.aval.shape[axis] != 3:
        raise RuntimeError(
            f"linalg.cross: inputs dimension {dim} must have length 3. Got "
            f"{input.aval.shape[axis]} and {other.aval.shape[axis]}"
        )

    def turned(x: Any, first: int) -> Any:
        parts = [movement.slice_(x, axis=axis, start=(first + i) % 3, length=1, step=1)
                 for i in range(3)]  # fmt: skip
        return movement.cat(*parts, axis=axis)

    return el.subtract(
        el.multiply(turned(input, 1), turned(other, 2)),
        el.multiply(turned(input, 2), turned(other, 1)),
    )


@_translated
def vecdot(x: Any, y: Any, *, dim: int = -1) -> Any:
    """The sum of products along an axis, the first factor conjugated."""
    from mindtorch.engine.ops.complex import conj

    product = el.multiply(conj(x), y)
    axis = normalize_axis(dim, product.aval.ndim)
    return reduction.sum_(product, axis=(axis,), keepdims=False)


def diagonal(A: Any, *, offset: int = 0, dim1: int = -2, dim2: int = -1) -> Any:  # noqa: N803
    """A view of a diagonal."""
    ndim = A.aval.ndim
    first, second = normalize_axis(dim1, ndim), normalize_axis(dim2, ndim)
    return movement.diagonal(A, offset=offset, first=first, second=second)


def vander(x: Any, N: int | None = None) -> Any:  # noqa: N803
    """The powers 0, 1, ..., N - 1 of each element along a last axis."""
    count = x.aval.shape[-1] if N is None else N
    powers = from_array(np.arange(count, dtype=np.int64))
    return el.power(movement.unsqueeze(x, axis=x.aval.ndim), powers)


_cast_whole(globals(), _AUTOCAST_POLICIES)
