"""The factors of torch.linalg: Cholesky, LU, LDL, QR, eigenvalues, singular values."""

from __future__ import annotations

from typing import Any

from mindtorch.engine import dtypes
from mindtorch.engine.autograd import tape
from mindtorch.engine.dtype_support import refuse
from mindtorch.engine.dtypes import scalar_type_name
from mindtorch.engine.ops import factorizations as factors
from mindtorch.engine.ops import linear_algebra as ops
from mindtorch.engine.ops import movement
from mindtorch.engine.tensor import full_flat
from mindtorch.engine.transforms.autocast import FULL

from .. import return_types
from .._api.out_rules import EIGENVALUES_CASTABLE, EXACT, TORCH_LINALG_CASTABLE, Out
from .._api.publish import module_function


@module_function(out=Out(EXACT, shown="linalg_cholesky_ex"), autocast=FULL, cacheable=True)
def cholesky(A: Any, *, upper: bool = False) -> Any:  # noqa: N803
    """The triangular ``L`` with ``L L^H = A`` (``U^H U`` for ``upper``)."""
    return _cholesky(A, upper, "linalg.cholesky")[0]


@module_function(out=Out(EXACT), autocast=FULL)
def cholesky_ex(A: Any, *, upper: bool = False, check_errors: bool = False) -> Any:  # noqa: N803
    """The Cholesky factor, and 0 or the order of the first minor that is not positive."""
    check = "linalg.cholesky_ex" if check_errors else ""
    return return_types.linalg_cholesky_ex(*_cholesky(A, upper, check))


def _cholesky(A: Any, upper: bool, check: str) -> Any:  # noqa: N803
    ops.check_square("linalg.cholesky", A.aval)
    if not upper:
        return ops.cholesky_info(A, check=check)
    low, info = ops.cholesky_info(A, check=check, upper=True)
    return ops.by_columns(ops.adjoint(low)), info


# --- LU and LDL ------------------------------------------------------------------------------


_OF_LAPACK = (dtypes.float32, dtypes.float64, dtypes.complex64, dtypes.complex128)


def _factored(A: Any, pivot: bool, name: str, check: str) -> Any:  # noqa: N803
    if A.aval.ndim < 2:
        raise RuntimeError(
            f"{name}: Expected tensor with 2 or more dimensions. Got size: {list(A.aval.shape)} "
            "instead"
        )
    if A.aval.dtype not in _OF_LAPACK:
        refuse("lu_cpu", A.aval.dtype)
    if not pivot:
        raise RuntimeError("linalg.lu_factor: LU without pivoting is not implemented on the CPU")
    return factors.lu_factor(A, check=check)


@module_function(out=Out(EXACT, shown="linalg_lu_factor_ex"))
def lu_factor(A: Any, *, pivot: bool = True) -> Any:  # noqa: N803
    """``L`` and ``U`` in one matrix, and the exchanged rows, counted from 1."""
    packed, pivots, _ = _factored(A, pivot, "torch.lu_factor", "torch.linalg.lu_factor")
    return return_types.linalg_lu_factor(packed, pivots)


@module_function(out=Out(EXACT))
def lu_factor_ex(A: Any, *, pivot: bool = True, check_errors: bool = False) -> Any:  # noqa: N803
    """:func:`lu_factor`, and for each matrix 0 or the place of the first zero of U's diagonal."""
    check = "torch.linalg.lu_factor_ex" if check_errors else ""
    return return_types.linalg_lu_factor_ex(*_factored(A, pivot, "torch.lu_factor", check))


@module_function(out=Out(EXACT))
def lu(A: Any, *, pivot: bool = True) -> Any:  # noqa: N803
    """``P``, ``L`` and ``U`` with ``A = P L U``.

    Args:
        pivot: exchange rows.
    """
    packed, pivots, _ = _factored(A, pivot, "linalg.lu", "")
    permutation, *parts = unpacked(packed, pivots)
    low, up = (tape.named(each, "LinalgLuBackward0") for each in parts)
    return return_types.linalg_lu(permutation, low, up)


def unpacked(packed: Any, pivots: Any) -> tuple[Any, Any, Any]:
    """``P``, ``L`` and ``U`` from the factors in one matrix."""
    permutation = factors.permutation_matrix(pivots, packed.aval.shape[-2], packed)
    return (
        permutation, factors.identity_plus(packed, True), factors.identity_plus(packed, False)
    )  # fmt: skip


@module_function(out=Out(EXACT))
def lu_solve(
    LU: Any, pivots: Any, B: Any, *, left: bool = True, adjoint: bool = False  # noqa: N803
) -> Any:
    """``X`` with ``A X = B`` (``X A = B``, ``A^H X = B``, ``X A^H = B``) from A's factors.

    Args:
        LU: the factors in one matrix, as :func:`lu_factor` returns them.
        left: solve ``A X = B``, otherwise ``X A = B``.
        adjoint: with the adjoint of A.
    """
    ops.check_same_scalar("linalg.lu_solve", LU.aval, B.aval, "LU and B")
    if pivots.aval.dtype.name != "int32":
        raise RuntimeError(
            "linalg.lu_solve: pivots should be a Tensor of scalar type torch.int32. Got "
            f"{scalar_type_name(pivots.aval.dtype)}"
        )
    ops.check_square("torch.linalg.lu_solve", LU.aval)
    _check_right_side("linalg.lu_solve", LU, B, left)
    if LU.aval.shape[:-1] != pivots.aval.shape:
        raise RuntimeError(
            "linalg.lu_solve: Number of pivots per batch should be same as the dimension of the "
            "matrix"
        )
    if not left:
        flipped = lu_solve(LU, pivots, ops.adjoint(B), adjoint=not adjoint)
        return tape.named(ops.adjoint(flipped), "LinalgLuSolveBackward0")
    permutation = factors.permutation_matrix(pivots, LU.aval.shape[-2], LU, "lu_solve")
    if adjoint:
        half = ops.solve_triangular(ops.adjoint(LU), B, upper=False, unit=False)
        whole = ops.solve_triangular(ops.adjoint(LU), half, upper=True, unit=True)
        return tape.named(ops.by_columns(ops.matmul(permutation, whole)), "LinalgLuSolveBackward0")
    half = ops.matmul(ops.swapped(permutation), B)
    half = ops.solve_triangular(LU, half, upper=False, unit=True)
    found = ops.solve_triangular(LU, half, upper=True, unit=False)
    return tape.named(found, "LinalgLuSolveBackward0")


def _check_right_side(name: str, A: Any, B: Any, left: bool) -> None:  # noqa: N803
    if B.aval.ndim < 2:
        raise RuntimeError(f"{name}: The input tensor B must have at least 2 dimensions.")
    a, b = A.aval.shape, B.aval.shape
    if (b[-2] if left else b[-1]) != a[-1]:
        equation = "AX = B" if left else "XA = B"
        raise RuntimeError(
            f"{name}: Incompatible shapes of A and B for the equation {equation} "
            f"({a[-2]}x{a[-1]} and {b[-2]}x{b[-1]})"
        )


@module_function(out=Out(EXACT, shown="aten::linalg_ldl_factor_ex"))
def ldl_factor(A: Any, *, hermitian: bool = False) -> Any:  # noqa: N803
    """``L D L^T`` (``L D L^H``) as LAPACK packs it, and its pivots."""
    ops.check_square("torch.linalg.ldl_factor_ex", A.aval)
    packed, pivots, _ = factors.ldl_factor(
        A, hermitian=hermitian, check="torch.linalg.ldl_factor"
    )
    return return_types.linalg_ldl_factor(packed, pivots)


@module_function(out=Out(EXACT, shown="aten::linalg_ldl_factor_ex"))
def ldl_factor_ex(A: Any, *, hermitian: bool = False, check_errors: bool = False) -> Any:  # noqa: N803
    """:func:`ldl_factor`, and for each matrix 0 or the place of a zero in ``D``."""
    ops.check_square("torch.linalg.ldl_factor_ex", A.aval)
    check = "torch.linalg.ldl_factor_ex" if check_errors else ""
    return return_types.linalg_ldl_factor_ex(
        *factors.ldl_factor(A, hermitian=hermitian, check=check)
    )


@module_function(out=Out(EXACT, shown="aten::linalg_ldl_solve"))
def ldl_solve(LD: Any, pivots: Any, B: Any, *, hermitian: bool = False) -> Any:  # noqa: N803
    """``X`` with ``A X = B`` from the factors of :func:`ldl_factor`.

    Args:
        LD: the factor, as :func:`ldl_factor` returns it.
    """
    ops.check_square("torch.linalg.ldl_solve", LD.aval)
    _check_right_side("torch.linalg.ldl_solve", LD, B, True)
    if pivots.aval.shape != LD.aval.shape[:-1]:
        raise RuntimeError(
            "torch.linalg.ldl_solve: Expected LD.shape[:-1] and pivots.shape to be the same, but "
            f"got pivots with shape {list(pivots.aval.shape)} instead"
        )
    if pivots.aval.dtype.is_floating_point or pivots.aval.dtype.is_complex:
        raise RuntimeError(
            "torch.linalg.ldl_solve: Expected pivots to be integers. Got "
            f"{scalar_type_name(pivots.aval.dtype)}"
        )
    if LD.aval.dtype is not B.aval.dtype:
        raise RuntimeError(
            f"torch.linalg.ldl_solve: LD dtype {LD.aval.dtype} does not match b dtype "
            f"{B.aval.dtype}"
        )
    return factors.ldl_solve(LD.detach(), pivots, B, hermitian=hermitian)


# --- QR --------------------------------------------------------------------------------------


@module_function(out=Out(EXACT), autocast=FULL, cacheable=True)
def qr(A: Any, mode: str = "reduced") -> Any:  # noqa: N803
    """``Q`` with orthonormal columns and upper triangular ``R``, ``Q R = A``.

    Args:
        mode: "reduced", "complete" for a square Q, or "r" for R only.
    """
    if mode not in ("reduced", "complete", "r"):
        raise RuntimeError(
            f"qr received unrecognized mode '{mode}' but expected one of 'reduced' (default), "
            "'r', or 'complete'"
        )
    factors.check_matrix("linalg.qr", A.aval)
    return return_types.linalg_qr(*factors.qr(A, mode=mode))


@module_function(out=Out(cast=TORCH_LINALG_CASTABLE), autocast=FULL)
def householder_product(A: Any, tau: Any) -> Any:  # noqa: N803
    """The first columns of ``H[0] H[1] ...`` with ``H[i] = 1 - tau[i] v[i] v[i]^H``, where
    ``v[i]`` is column ``i`` of ``A`` below the diagonal, with 1 on it and 0 above."""
    a, t = A.aval, tau.aval
    if a.ndim < 2:
        raise RuntimeError(
            "torch.linalg.householder_product: input must have at least 2 dimensions."
        )
    if a.shape[-2] < a.shape[-1]:
        raise RuntimeError(
            "torch.linalg.householder_product: input.shape[-2] must be greater than or equal to "
            "input.shape[-1]"
        )
    if not t.ndim or a.shape[-1] < t.shape[-1]:
        raise RuntimeError(
            "torch.linalg.householder_product: input.shape[-1] must be greater than or equal to "
            "tau.shape[-1]"
        )
    if a.ndim - t.ndim != 1:
        raise RuntimeError(
            "torch.linalg.householder_product: Expected tau to have one dimension less than "
            f"input, but got tau.ndim equal to {t.ndim} and input.ndim is equal to {a.ndim}"
        )
    if a.shape[:-2] != t.shape[:-1]:
        raise RuntimeError(
            "torch.linalg.householder_product: Expected batch dimensions of tau to be equal to "
            f"input.shape[:-2], but got {list(t.shape[:-1])}"
        )
    if a.dtype is not t.dtype:
        raise RuntimeError(
            f"torch.linalg.householder_product: tau dtype {scalar_type_name(t.dtype)} does not "
            f"match input dtype {scalar_type_name(a.dtype)}"
        )
    ops.check_precision("linalg.householder_product", a)
    return factors.householder_product(A, tau)


# --- eigenvalues and singular values ---------------------------------------------------------


def _lower(UPLO: Any) -> bool:  # noqa: N803
    if not isinstance(UPLO, str) or UPLO[:1].upper() not in ("L", "U"):
        raise RuntimeError(f"Expected UPLO argument to be 'L' or 'U', but got {UPLO}")
    return UPLO[:1].upper() == "L"


@module_function(out=Out(EXACT, shown="_linalg_eigh"), autocast=FULL, cacheable=True)
def eigh(A: Any, UPLO: str = "L") -> Any:  # noqa: N803
    """Eigenvalues (ascending) and eigenvectors of Hermitian matrices."""
    return return_types.linalg_eigh(*factors.eigh(A, lower=_lower(UPLO), name="linalg.eigh"))


@module_function(out=Out(EXACT, shown="_linalg_eigh"), autocast=FULL)
def eigvalsh(A: Any, UPLO: str = "L") -> Any:  # noqa: N803
    """The eigenvalues of Hermitian matrices."""
    return factors.eigh(A, lower=_lower(UPLO), name="linalg.eigh")[0]


@module_function(out=Out(cast=EIGENVALUES_CASTABLE), autocast=FULL)
def eig(A: Any) -> Any:  # noqa: N803
    """Eigenvalues and eigenvectors (of norm 1) of square matrices, always complex."""
    return return_types.linalg_eig(*factors.eig(A))


@module_function(out=Out(cast=EIGENVALUES_CASTABLE), autocast=FULL)
def eigvals(A: Any) -> Any:  # noqa: N803
    """The eigenvalues."""
    return factors.eig(A)[0]


def _check_driver(driver: str | None) -> None:
    if driver is not None:
        raise RuntimeError(
            "torch.linalg.svd: keyword argument `driver=` is only supported on CUDA inputs with "
            "cuSOLVER backend."
        )


@module_function(out=Out(EXACT, shown="_linalg_svd"), autocast=FULL, checked=True, cacheable=True)
def svd(A: Any, full_matrices: bool = True, *, driver: str | None = None) -> Any:  # noqa: N803
    """``U``, singular values, ``V^H``.

    Args:
        full_matrices: square U and V.
        driver: which LAPACK routine; here there is one.
    """
    _check_driver(driver)
    factors.check_matrix("linalg.svd", A.aval)
    return return_types.linalg_svd(
        *factors.svd(A, full_matrices=bool(full_matrices), name="linalg.svd")
    )


@module_function(out=Out(EXACT, shown="_linalg_svd"), autocast=FULL)
def svdvals(A: Any, *, driver: str | None = None) -> Any:  # noqa: N803
    """The singular values.

    Args:
        driver: which LAPACK routine; here there is one.
    """
    _check_driver(driver)
    factors.check_matrix("linalg.svd", A.aval)
    return factors.svd_values(A)


def geqrf(input: Any) -> Any:  # noqa: A002
    """``R`` with the reflectors that make ``Q`` below its diagonal, and their factors."""
    return return_types.geqrf(*factors.geqrf(input))


def ormqr(
    input: Any, tau: Any, other: Any, left: bool = True, transpose: bool = False  # noqa: A002
) -> Any:
    """``Q other`` (``other Q``), or with the adjoint of the ``Q`` that :func:`geqrf` encodes."""
    _check_ormqr(input.aval, tau.aval, other.aval, left)
    ops.check_precision("ormqr", input.aval)
    m, n = input.aval.shape[-2:]
    square = movement.pad(input, full_flat((), input.aval.dtype, 0),
                          padding=(*((0, 0),) * (input.aval.ndim - 1), (0, m - n)))  # fmt: skip
    whole = factors.householder_product(square, tau)
    if transpose:
        whole = ops.adjoint(whole)
    product = ops.matmul(whole, other) if left else ops.matmul(other, whole)
    return ops.by_columns(product)


def _check_ormqr(a: Any, tau: Any, other: Any, left: bool) -> None:
    if a.ndim < 2:
        raise RuntimeError("torch.ormqr: input must have at least 2 dimensions.")
    if other.ndim < 2:
        raise RuntimeError("torch.ormqr: other must have at least 2 dimensions.")
    side = -2 if left else -1
    if other.shape[side] < tau.shape[-1]:
        raise RuntimeError(
            f"torch.ormqr: other.shape[{side}] must be greater than or equal to tau.shape[-1]"
        )
    if other.shape[side] != a.shape[-2]:
        raise RuntimeError(
            f"torch.ormqr: other.shape[{side}] must be equal to input.shape[-2]"
        )
    if tau.shape[-1] > a.shape[-1]:
        raise RuntimeError("torch.ormqr: tau.shape[-1] must be equal to min(other.shape[-2], "
                           "input.shape[-1])")  # fmt: skip
    if a.ndim - tau.ndim != 1:
        raise RuntimeError(
            "torch.ormqr: Expected tau to have one dimension less than input, but got tau.ndim "
            f"equal to {tau.ndim} and input.ndim is equal to {a.ndim}"
        )
    if a.ndim != other.ndim:
        raise RuntimeError(
            "torch.ormqr: Expected other to have the same number of dimensions as input, but got "
            f"other.ndim equal to {other.ndim} and input.ndim is equal to {a.ndim}"
        )
    for name, x, batch in (("tau", tau, tau.shape[:-1]), ("other", other, other.shape[:-2])):
        if batch != a.shape[:-2]:
            raise RuntimeError(
                f"torch.ormqr: Expected batch dimensions of {name} to be equal to "
                f"input.shape[:-2], but got {list(batch)}"
            )
        if x.dtype is not a.dtype:
            raise RuntimeError(
                f"torch.ormqr: Expected input and {name} to have the same dtype, but input has "
                f"dtype {scalar_type_name(a.dtype)} and {name} has dtype "
                f"{scalar_type_name(x.dtype)}"
            )
