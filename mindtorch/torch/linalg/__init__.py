"""torch.linalg: products, systems, inverses and norms of matrices; factors come from
``_linalg_factors``."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from mindtorch.engine import dtypes
from mindtorch.engine.autograd import tape
from mindtorch.engine.aval import broadcast_shapes, contiguous_strides
from mindtorch.engine.dtype_support import refuse_kinds
from mindtorch.engine.dtypes import scalar_type_name
from mindtorch.engine.ops import comparison as comparisons
from mindtorch.engine.ops import elementwise as el
from mindtorch.engine.ops import factorizations, movement, reduction, scan
from mindtorch.engine.ops import linear_algebra as ops
from mindtorch.engine.ops.base import normalize_axis
from mindtorch.engine.ops.complex import conj
from mindtorch.engine.tensor import Tensor as EngineTensor
from mindtorch.engine.tensor import constant, full_flat
from mindtorch.engine.transforms.autocast import FULL, LOWER
from mindtorch.engine.transforms.vmap import values_of_all
from mindtorch.kernels.support.errors import LinAlgError
from mindtorch.torch._api.public_names import own_names as _own_names
from mindtorch.torch._api.shared_docs import TEXTS as _TEXTS

from .. import return_types
from .._api.arguments import require_tensor
from .._api.meta_kernels import lacks_elements
from .._api.out_rules import (
    CASTABLE,
    EXACT,
    LINALG_CASTABLE,
    SCALAR_TYPE_OF_RESULT,
    TORCH_LINALG_CASTABLE,
    Out,
)
from .._api.publish import module_function
from ..functions.creation import eye
from ..functions.shape import diagonal as view
from ._factorizations import (
    cholesky,
    cholesky_ex,
    eig,
    eigh,
    eigvals,
    eigvalsh,
    householder_product,
    ldl_factor,
    ldl_factor_ex,
    ldl_solve,
    lu,
    lu_factor,
    lu_factor_ex,
    lu_solve,
    qr,
    svd,
    svdvals,
)

__all__ = [
    "LinAlgError", "cholesky", "cholesky_ex", "cond", "cross", "det", "diagonal", "eig", "eigh",
    "eigvals", "eigvalsh", "householder_product", "inv", "inv_ex", "ldl_factor", "ldl_factor_ex",
    "ldl_solve", "lstsq", "lu", "lu_factor", "lu_factor_ex", "lu_solve", "matmul", "matrix_exp",
    "matrix_norm", "matrix_power", "matrix_rank", "multi_dot", "norm", "pinv", "qr", "slogdet",
    "solve", "solve_ex", "solve_triangular", "svd", "svdvals", "tensorinv", "tensorsolve",
    "vander", "vecdot", "vector_norm",
]  # fmt: skip


@module_function(out=True)
def matmul(input: Any, other: Any) -> Any:  # noqa: A002
    """The product of matrices."""
    from ..functions.linear_algebra import matmul as product

    return product(input, other)


# --- inverses and systems --------------------------------------------------------------------


@module_function(out=Out(EXACT, shown="linalg_inv_ex"), cacheable=True, autocast=FULL)
def inv(A: Any) -> Any:  # noqa: N803
    """The inverse of square matrices; LinAlgError where one is singular."""
    ops.check_square("linalg.inv", A.aval)
    return ops.inverse(A)


@module_function(out=Out(EXACT), autocast=FULL)
def inv_ex(A: Any, *, check_errors: bool = False) -> Any:  # noqa: N803
    """The inverse, and for each matrix 0 or the place of the pivot that is zero."""
    ops.check_square("linalg.inv", A.aval)
    check = "linalg.inv_ex" if check_errors else ""
    return return_types.linalg_inv_ex(*ops.inverse_info(A, check=check))


@module_function(out=Out(EXACT, shown="_linalg_det"), cacheable=True)
def det(A: Any) -> Any:  # noqa: N803
    """The determinant."""
    return ops.det(A)


@module_function(out=Out(EXACT, shown="_linalg_slogdet"), cacheable=True)
def slogdet(A: Any) -> Any:  # noqa: N803
    """The determinant's sign and the logarithm of its size."""
    return return_types.linalg_slogdet(*ops.slogdet(A))


def _is_vector(a: Any, b: Any) -> bool:
    """Whether ``b`` holds vectors, not matrices."""
    x, y = a.aval, b.aval
    return y.ndim == 1 or (x.ndim - 1 == y.ndim and y.shape == x.shape[:-1])


def _solved(A: Any, B: Any, left: bool, check: str) -> Any:  # noqa: N803
    ops.check_same_scalar("linalg.solve", A.aval, B.aval)
    if not _is_vector(A, B):
        _check_systems("linalg.solve", A, B, left)
    ops.check_square("linalg.solve", A.aval)
    if _is_vector(A, B):
        if not left:
            raise RuntimeError(
                "linalg.solve: Vector broadcasting of the left hand side is not supported for "
                "left=False. In this case linalg.solve is equivalent to B / A.squeeze(-1)"
            )
        column = movement.unsqueeze(B, axis=B.aval.ndim)
        result, info = ops.solve_info(A, column, check=check)
        flat = movement.squeeze(result, axes=(result.aval.ndim - 1,))
        return ops.by_columns(flat) if flat.aval.ndim > 1 else flat, info
    if left:
        return ops.solve_info(A, B, check=check)
    result, info = ops.solve_info(ops.swapped(A), ops.swapped(B), check=check)
    return ops.swapped(result), info


def _check_systems(name: str, A: Any, B: Any, left: bool) -> None:  # noqa: N803
    a, b = A.aval, B.aval
    for letter, x in (("A", a), ("B", b)):
        if x.ndim < 2:
            raise RuntimeError(
                f"{name}: The input tensor {letter} must have at least 2 dimensions."
            )
    ops.check_square(name, a)
    if (b.shape[-2] if left else b.shape[-1]) != a.shape[-1]:
        equation = "AX = B" if left else "XA = B"
        raise RuntimeError(
            f"{name}: Incompatible shapes of A and B for the equation {equation} "
            f"({a.shape[-2]}x{a.shape[-1]} and {b.shape[-2]}x{b.shape[-1]})"
        )


@module_function(out=Out(EXACT, shown="_linalg_solve_ex"), cacheable=True, autocast=FULL)
def solve(A: Any, B: Any, *, left: bool = True) -> Any:  # noqa: N803
    """``X`` with ``A X = B`` (``X A = B`` for ``left=False``); ``B`` may be a vector."""
    return _solved(A, B, left, "torch.linalg.solve")[0]


@module_function(out=Out(EXACT, shown="_linalg_solve_ex"))
def solve_ex(A: Any, B: Any, *, left: bool = True, check_errors: bool = False) -> Any:  # noqa: N803
    """:func:`solve`, and for each matrix 0 or the place of the pivot that is zero."""
    check = "torch.linalg.solve_ex" if check_errors else ""
    return return_types.linalg_solve_ex(*_solved(A, B, left, check))


@module_function(out=Out(SCALAR_TYPE_OF_RESULT), cacheable=True)
def solve_triangular(
    A: Any, B: Any, *, upper: bool, left: bool = True, unitriangular: bool = False  # noqa: N803
) -> Any:
    """``X`` with ``A X = B`` (or ``X A = B``) for triangular ``A``.

    Args:
        unitriangular: the diagonal is taken to be ones, and not read.
    """
    ops.check_same_scalar("linalg.solve_triangular", A.aval, B.aval)
    _check_systems("linalg.solve_triangular", A, B, left)
    if left:
        return ops.solve_triangular(A, B, upper=upper, unit=unitriangular)
    flipped = ops.solve_triangular(
        ops.swapped(A), ops.swapped(B), upper=not upper, unit=unitriangular
    )
    return ops.by_columns(ops.swapped(flipped))


def _limits(A: Any, atol: Any, rtol: Any) -> tuple[Any, Any]:  # noqa: N803
    """(atol, rtol) as tensors; without ``rtol`` it is epsilon times the longer side, unless there
    is a positive ``atol``."""
    usual_atol, usual_rtol = ops.pinv_limits(A)
    real = usual_rtol.aval.dtype

    def tensor(value: Any) -> Any:
        if isinstance(value, EngineTensor):
            if value.aval.dtype.is_complex:
                raise RuntimeError(
                    "torch.linalg.matrix_rank: atol and rtol must not be complex tensors"
                )
            return movement.cast(value, dtype=real)
        return full_flat((), real, float(value))

    if atol is None:
        return usual_atol, usual_rtol if rtol is None else tensor(rtol)
    atol = tensor(atol)
    if rtol is None:
        is_given = comparisons.greater(atol, constant(0))
        return atol, comparisons.where(is_given, usual_atol, usual_rtol)
    return atol, tensor(rtol)


@module_function(out=Out(cast=LINALG_CASTABLE), cacheable=True)
def pinv(A: Any, rcond: Any = None, *, atol: Any = None, rtol: Any = None,  # noqa: N803
         hermitian: bool = False) -> Any:  # fmt: skip
    """The Moore-Penrose inverse; singular values up to ``max(atol, rtol * the greatest)`` count
    as zero.

    Args:
        rcond: the older name of ``rtol``.
    """
    if A.aval.ndim < 2 or A.aval.dtype.category < dtypes.FLOAT:
        kind = scalar_type_name(A.aval.dtype)
        raise RuntimeError(
            f"linalg.pinv({kind}{{{list(A.aval.shape)}}}): expected a tensor with 2 or more "
            "dimensions of float, double, cfloat or cdouble types"
        )
    factorizations.check_matrix("linalg.pinv", A.aval)
    if rcond is not None:
        limits = (ops.pinv_limits(A)[0], _limits(A, None, rcond)[1])
    else:
        limits = _limits(A, atol, rtol)
    if hermitian:
        ops.check_square("linalg.pinv", A.aval)
    batch = broadcast_shapes(*(x.aval.shape for x in limits), A.aval.shape[:-2])
    if A.aval.size and batch != A.aval.shape[:-2]:
        A = A.expand(*batch, *A.aval.shape[-2:])  # noqa: N806
    return ops.pinv(A, *limits, hermitian=bool(hermitian))


@module_function(out=Out(cast=TORCH_LINALG_CASTABLE), autocast=FULL)
def matrix_rank(
    A: Any, tol: Any = None, hermitian: bool = False, *, atol: Any = None, rtol: Any = None  # noqa: N803
) -> Any:
    """How many singular values exceed ``max(atol, rtol * the greatest)``."""
    factorizations.check_matrix("torch.linalg.matrix_rank", A.aval)
    A = A.detach()  # noqa: N806
    if tol is not None:
        atol, rtol = _limits(A, tol, 0.0)
    else:
        atol, rtol = _limits(A, atol, rtol)
    values = el.absolute(eigvalsh(A)) if hermitian else svdvals(A)
    last = values.aval.ndim - 1
    if not values.aval.shape[-1]:
        return full_flat(values.aval.shape[:-1], dtypes.int64, 0)
    greatest = reduction.amax(values, axis=(last,), keepdims=False)
    limit = el.maximum(atol, el.multiply(rtol, greatest))
    found = comparisons.greater(values, movement.unsqueeze(limit, axis=limit.aval.ndim))
    return reduction.sum_(found, axis=(found.aval.ndim - 1,), keepdims=False)


_DRIVERS = ("gels", "gelsy", "gelsd", "gelss")


def _check_lstsq(A: Any, B: Any, driver: str) -> None:  # noqa: N803
    a, b = A.aval, B.aval
    if a.ndim < 2:
        raise RuntimeError("torch.linalg.lstsq: input must have at least 2 dimensions.")
    if not b.ndim:
        raise RuntimeError("torch.linalg.lstsq: other must have at least 1 dimension.")
    if a.dtype is not b.dtype:
        raise RuntimeError(
            "torch.linalg.lstsq: Expected input and other to have the same dtype, but got input's "
            f"dtype {scalar_type_name(a.dtype)} and other's dtype {scalar_type_name(b.dtype)}"
        )
    if not 0 <= a.ndim - b.ndim <= 1:
        raise RuntimeError(
            "torch.linalg.lstsq: input.dim() must be greater or equal to other.dim() and "
            "(input.dim() - other.dim()) <= 1"
        )
    if driver not in _DRIVERS:
        raise RuntimeError(
            "torch.linalg.lstsq: parameter `driver` should be one of (gels, gelsy, gelsd, gelss)"
        )
    if _is_vector(A, B):
        if a.shape[-2] != b.shape[-1]:
            raise RuntimeError(
                "torch.linalg.lstsq: input.size(-2) should match other.size(-1)"
            )
    elif a.shape[-2] != b.shape[-2]:
        raise RuntimeError("torch.linalg.lstsq: input.size(-2) should match other.size(-2)")
    ops.check_precision("torch.linalg.lstsq", a)


@module_function(
    out=Out(
        cast=(
            "torch.linalg.{name}: Expected solution to be safely castable from {result} "
            "dtype, but got solution with dtype {out}"
        ),
    ),
    autocast=FULL,
)
def lstsq(A: Any, B: Any, rcond: float | None = None, *, driver: str | None = None) -> Any:  # noqa: N803
    """The least squares solution of ``A X = B``, with residuals, rank, singular values.

    ``driver`` names LAPACK's method: gelsy (the default), gels, gelsd or gelss. Residuals are
    given where all matrices are tall and of full rank, singular values by gelsd and gelss.

    Args:
        rcond: singular values below it, times the largest, count as 0.
    """
    driver = "gelsy" if driver is None else driver
    _check_lstsq(A, B, driver)
    vectors = _is_vector(A, B)
    right = movement.unsqueeze(B, axis=B.aval.ndim) if vectors else B
    m, n = A.aval.shape[-2:]
    if rcond is None:
        rcond = float(np.finfo(A.aval.dtype.np).eps) * max(m, n)
    own, batch = A.aval.shape[:-2], broadcast_shapes(A.aval.shape[:-2], right.aval.shape[:-2])
    if batch != own or batch != right.aval.shape[:-2]:
        A, right = (x.expand(*batch, *x.aval.shape[-2:]) for x in (A, right))  # noqa: N806
    solution, rank, values = ops.lstsq(A, right, rcond=float(rcond), driver=driver)
    if batch != own:  # rank and singular values are those of the matrices as they were given
        first = tuple(slice(1 if n == 1 else None) for n in own)
        rank, values = (x[(0,) * (len(batch) - len(own))][first] for x in (rank, values))
    values = values.detach()
    # as in torch, residuals that are not given require grad where the solution does
    nothing = movement.reshape(solution, (solution.aval.size,))[:0]
    residuals = el.absolute(nothing) if A.aval.dtype.is_complex else nothing
    if m > n and driver != "gelsy" and (driver == "gels" or (values_of_all(rank) == n).all()):
        error = el.subtract(ops.matmul(A, solution), right)
        residuals = reduction.sum_(el.square(el.absolute(error)), axis=(error.aval.ndim - 2,),
                                   keepdims=False)  # fmt: skip
    if vectors:
        solution = movement.squeeze(solution, axes=(solution.aval.ndim - 1,))
    empty = full_flat((0,), dtypes.int64, 0)
    return return_types.linalg_lstsq(
        solution, residuals, empty if driver == "gels" else rank,  # type: ignore[arg-type]
        values if values.aval.shape[-1] else full_flat(  # type: ignore[arg-type]
            (0,), A.aval.dtype.to_real(), 0
        ),
    )  # fmt: skip


@module_function(out=Out(cast=CASTABLE, recorded=True), autocast=FULL)
def tensorinv(A: Any, ind: int = 2) -> Any:  # noqa: N803
    """The inverse of the linear map from the last axes to the first ``ind`` axes."""
    if ind <= 0:
        raise RuntimeError("Expected a strictly positive integer for 'ind'")
    first, last = A.aval.shape[:ind], A.aval.shape[ind:]
    m, n = math.prod(first), math.prod(last)
    if m != n:
        raise RuntimeError(
            f"Expected self to satisfy the requirement prod(self.shape[ind:]) == "
            f"prod(self.shape[:ind]), but got {n} != {m}"
        )
    return movement.reshape(inv(movement.reshape(A, (m, n))), (*last, *first))


@module_function(out=Out(cast=CASTABLE, recorded=True), autocast=FULL)
def tensorsolve(A: Any, B: Any, dims: Any = None) -> Any:  # noqa: N803
    """``X`` with ``tensordot(A, X, X.ndim) = B``, the axes ``dims`` of ``A`` moved to its end."""
    if dims is not None:
        moved = [normalize_axis(d, A.aval.ndim) for d in dims]
        rest = [i for i in range(A.aval.ndim) if i not in moved]
        A = movement.permute(A, axes=(*rest, *moved))  # noqa: N806
    shape = A.aval.shape[B.aval.ndim :]
    m, n = math.prod(shape), B.aval.size
    if m != n:
        raise RuntimeError(
            "Expected self to satisfy the requirement prod(self.shape[other.ndim:]) == "
            f"prod(self.shape[:other.ndim]), but got {m} != "
            f"{math.prod(A.aval.shape[: B.aval.ndim])}"
        )
    solution = solve(movement.reshape(A, (n, m)), movement.reshape(B, (n,)))
    return movement.reshape(solution, shape)


# --- powers and products ---------------------------------------------------------------------


def _identity(A: Any) -> Any:  # noqa: N803
    return movement.expand(eye(A.aval.shape[-1], dtype=A.aval.dtype), shape=A.aval.shape)


@module_function(out=Out(cast=CASTABLE, recorded=True))
def matrix_power(A: Any, n: int) -> Any:  # noqa: N803
    """``A`` multiplied by itself ``n`` times; its inverse for negative ``n``."""
    ops.check_square("linalg.matrix_power", A.aval, None)
    if n < 0:
        return inv(A) if n == -1 else matrix_power(inv(A), -n)
    if n == 0:
        return el.add(_identity(A), el.multiply(A, constant(0))) if A.requires_grad else (
            movement.clone(_identity(A))
        )
    if n == 1:
        return movement.clone(A, strides=contiguous_strides(A.aval.shape))
    result = None
    power = A
    while n:
        if n & 1:
            result = power if result is None else ops.matmul(result, power)
        n >>= 1
        if n:
            power = ops.matmul(power, power)
    return result


@module_function()
def matrix_exp(A: Any) -> Any:  # noqa: N803
    """The exponential, by scaling and squaring of a Taylor polynomial of degree 18.

    Up to a norm of 3 (1.09 in double precision) the polynomial's error is less than rounding
    (Bader, Blanes and Casas, 2019).
    """
    require_tensor(A, "linalg_matrix_exp", "input", 1)
    ops.check_square("linalg.matrix_exp", A.aval, None)
    ops.check_real_or_complex("linalg.matrix_exp", A.aval)
    if lacks_elements(A):
        return tape.named(el.multiply(A, constant(1)).contiguous(), "LinalgMatrixExpBackward0")
    if not A.aval.size:
        return tape.named(movement.clone(A), "LinalgMatrixExpBackward0")
    if A.aval.dtype in (dtypes.float16, dtypes.bfloat16):
        wide = movement.cast(A, dtype=dtypes.float32)
        found = movement.cast(matrix_exp(wide), dtype=A.aval.dtype)
        return tape.named(found, "LinalgMatrixExpBackward0")
    size = float(np.abs(values_of_all(A.detach())).sum(-1).max())
    reach = 1.09 if A.aval.dtype.to_real().itemsize == 8 else 3.0
    usual = size > 0 and math.isfinite(size)
    squarings = max(0, math.ceil(math.log2(size / reach))) if usual else 0
    x = el.divide(A, constant(float(2**squarings)))
    identity = _identity(A)
    result = identity
    for k in range(18, 0, -1):
        result = el.add(identity, el.divide(ops.matmul(x, result), constant(float(k))))
    for _ in range(squarings):
        result = ops.matmul(result, result)
    return tape.named(result, "LinalgMatrixExpBackward0")


def _check_multi_dot(tensors: Any) -> None:
    if len(tensors) < 2:
        raise RuntimeError(
            f"multi_dot(): expected at least 2 tensors but got {len(tensors)}"
        )
    last = len(tensors) - 1
    for i, t in enumerate(tensors):
        if i in (0, last) and t.aval.ndim not in (1, 2):
            where = "first" if i == 0 else "last"
            raise RuntimeError(
                f"multi_dot(): the {where} tensor must be 1D or 2D but got {t.aval.ndim}D"
            )
        if 0 < i < last and t.aval.ndim != 2:
            raise RuntimeError(
                f"multi_dot(): tensor {i} must be 2D but got {t.aval.ndim}D"
            )
        if t.aval.dtype is not tensors[0].aval.dtype:
            raise RuntimeError(
                "multi_dot(): all tensors must have be the same dtype but tensor 0 is "
                f"{scalar_type_name(tensors[0].aval.dtype)} and tensor {i} "
                f"{scalar_type_name(t.aval.dtype)}"
            )
    for i in range(last):
        a = tensors[i].aval.shape[-1]
        b = tensors[i + 1].aval.shape[0]
        if a != b:
            left = [1, *tensors[i].aval.shape][-2:]
            right = [*tensors[i + 1].aval.shape, 1][:2]
            raise RuntimeError(
                f"multi_dot(): tensors {i} and {i + 1} with shapes {left} and {right} cannot be "
                "multiplied"
            )


@module_function(
    out=Out(
        "multi_dot(): expected out tensor to have dtype {c_result} but got {c_out}",
        shown="mm",
    ),
    cacheable=True, autocast_cuda=LOWER,
)  # fmt: skip
def multi_dot(tensors: Any) -> Any:
    """The product of several matrices (the ends may be vectors) in the cheapest order."""
    from ..functions.linear_algebra import matmul as product

    _check_multi_dot(tensors)
    sizes = [1 if tensors[0].aval.ndim == 1 else tensors[0].aval.shape[0]]
    sizes += [1 if i and t.aval.ndim == 1 else t.aval.shape[-1] for i, t in enumerate(tensors)]
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


@module_function(out=Out(EXACT), cacheable=True)
def cross(input: Any, other: Any, *, dim: int = -1) -> Any:  # noqa: A002
    """The vector product along an axis of length 3."""
    if input.aval.ndim != other.aval.ndim:
        raise RuntimeError(
            "linalg.cross: inputs must have the same number of dimensions."
        )
    axis = normalize_axis(dim, input.aval.ndim)
    if input.aval.shape[axis] != 3 or other.aval.shape[axis] != 3:
        raise RuntimeError(
            f"linalg.cross: inputs dimension {dim} must have length 3. Got "
            f"{input.aval.shape[axis]} and {other.aval.shape[axis]}"
        )

    refuse_kinds("cross", input.aval, "bool")

    def turned(x: Any, first: int) -> Any:
        return movement.roll(movement.contiguous(x), shifts=(-first,), axes=(axis,))

    found = el.subtract(
        el.multiply(turned(input, 1), turned(other, 2)),
        el.multiply(turned(input, 2), turned(other, 1)),
    )
    return tape.named(found, "LinalgCrossBackward0")


@module_function(
    out=Out("linalg.vecdot: Expected out of dtype{result} but found {out}", shown="vdot"),
    cacheable=True, autocast=LOWER, autocast_cuda=LOWER,
)  # fmt: skip
def vecdot(x: Any, y: Any, *, dim: int = -1) -> Any:
    """The sum of products along an axis, the first factor conjugated.

    Args:
        x, y: tensors whose shapes are broadcast.
    """
    ops.check_real_or_complex("linalg.vecdot", x.aval)
    if x.aval.dtype is not y.aval.dtype:
        kinds = [scalar_type_name(each.aval.dtype) for each in (x, y)]
        raise RuntimeError(
            "linalg.vecdot: Expected x and y to have the same dtype, but found x of type "
            f"{kinds[0]} and y of type {kinds[1]} instead"
        )
    product = el.multiply(conj(x), y)
    axis = normalize_axis(dim, product.aval.ndim)
    return reduction.sum_(product, axis=(axis,), keepdims=False)


@module_function(cacheable=True)
def diagonal(A: Any, *, offset: int = 0, dim1: int = -2, dim2: int = -1) -> Any:  # noqa: N803
    """A view of a diagonal."""
    require_tensor(A, "linalg_diagonal", "A", 1)
    return view(A, offset, dim1, dim2)


def vander(x: Any, N: int | None = None) -> Any:  # noqa: N803
    """The powers 0, 1, ..., N - 1 of each element along a last axis.

    Args:
        x: a vector, or a batch of them.
    """
    require_tensor(x, "linalg_vander", "x", 1)
    if x.aval.dtype in (dtypes.bool_, dtypes.float16, dtypes.bfloat16):
        raise RuntimeError(
            "linalg.vander supports floating point, complex, and integer tensors, but got "
            f"{scalar_type_name(x.aval.dtype)}"
        )
    if not x.aval.ndim:
        x = movement.reshape(x, (1,))
    count = x.aval.shape[-1] if N is None else N
    if count <= 1:
        raise RuntimeError("N must be greater than 1.")
    return scan.powers(x, count)


from ._norms import cond, matrix_norm, norm, vector_norm  # noqa: E402

_TEXTS.add_to(globals().values())

_own_names(globals())
