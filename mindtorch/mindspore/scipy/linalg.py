"""Decompositions and solutions, with gradients: torch's functions under SciPy's arguments.

``overwrite_*`` and ``check_finite`` allow SciPy to save memory and time; the values are the same.
"""

from __future__ import annotations

from typing import Any

from mindtorch import torch

from ..common.tensor import Tensor, adopt

__all__ = [
    "block_diag", "cho_factor", "cho_solve", "cholesky", "eigh", "inv", "lstsq", "lu", "lu_factor",
    "solve_triangular",
]  # fmt: skip

_la = torch.linalg


def _square(name: str, a: Any) -> Any:
    if a.ndim < 2 or a.shape[-1] != a.shape[-2]:
        raise ValueError(f"For {name}, a should be a square matrix, but got shape {a.shape}")
    return a


def block_diag(*arrs: Any) -> Tensor:
    """The matrices along the diagonal of one, zeros elsewhere."""
    given = [torch.atleast_2d(x) for x in arrs] or [torch.zeros(1, 0)]
    return adopt(torch.block_diag(*given))


def inv(a: Any, overwrite_a: bool = False, check_finite: bool = True) -> Tensor:
    """The inverse."""
    return adopt(_la.inv(_square("inv", a)))


def cholesky(
    a: Any, lower: bool = False, overwrite_a: bool = False, check_finite: bool = True
) -> Tensor:
    """The triangle whose square is ``a``: R^T R, or L L^T with ``lower``."""
    factor = _la.cholesky(_square("cholesky", a))
    return adopt(factor if lower else factor.mT)


def cho_factor(
    a: Any, lower: bool = False, overwrite_a: bool = False, check_finite: bool = True
) -> tuple[Tensor, bool]:
    """(:func:`cholesky`, ``lower``), which :func:`cho_solve` takes."""
    return cholesky(a, lower), lower


def cho_solve(
    c_and_lower: Any, b: Any, overwrite_b: bool = False, check_finite: bool = True
) -> Tensor:
    """x of a x = b.

    Args:
        c_and_lower: what :func:`cho_factor` gave for a.
        b: a vector or a matrix.
    """
    factor, lower = c_and_lower
    columns = b.unsqueeze(-1) if b.ndim == 1 else b
    solution = torch.cholesky_solve(columns, factor, upper=not lower)
    return adopt(solution.squeeze(-1) if b.ndim == 1 else solution)


def eigh(
    a: Any, b: Any = None, lower: bool = True, eigvals_only: bool = False,
    overwrite_a: bool = False, overwrite_b: bool = False, turbo: bool = True,
    eigvals: Any = None, type: int = 1, check_finite: bool = True,  # noqa: A002
) -> Any:  # fmt: skip
    """Eigenvalues, rising, and eigenvectors of a symmetric matrix.

    Args:
        lower: the triangle that is looked at.
        eigvals_only: without the vectors.

    Raises:
        NotImplementedError: ``b``, ``eigvals`` or another ``type``, as in MindSpore.
    """
    if b is not None or eigvals is not None or type != 1:
        raise NotImplementedError("For eigh, only b=None, eigvals=None and type=1 are supported")
    uplo = "L" if lower else "U"
    if eigvals_only:
        return adopt(_la.eigvalsh(_square("eigh", a), UPLO=uplo))
    return adopt(tuple(_la.eigh(_square("eigh", a), UPLO=uplo)))


def lu_factor(
    a: Any, overwrite_a: bool = False, check_finite: bool = True
) -> tuple[Tensor, Tensor]:
    """(L below and U above the diagonal, the row that each row was exchanged with)."""
    factor, places = _la.lu_factor(_square("lu_factor", a))
    return adopt(factor), adopt((places - 1).to(torch.int32))


def lu(
    a: Any, permute_l: bool = False, overwrite_a: bool = False, check_finite: bool = True
) -> Any:
    """(P, L, U) with P L U = a; with ``permute_l`` (P L, U)."""
    p, lower, upper = _la.lu(a)
    if permute_l:
        return adopt((p @ lower, upper))
    return adopt((p.to(torch.int32), lower, upper))


def solve_triangular(
    a: Any, b: Any, trans: Any = 0, lower: bool = False, unit_diagonal: bool = False,
    overwrite_b: bool = False, debug: Any = None, check_finite: bool = True,
) -> Tensor:  # fmt: skip
    """x of op(a) x = b for a triangle a.

    Args:
        trans: op: 0 or "N" for a, 1 or "T" for its transpose, 2 or "C" for its adjoint.
        unit_diagonal: take the diagonal as ones.
        debug: None, as in MindSpore.
    """
    if trans not in (0, 1, 2, "N", "T", "C"):
        raise ValueError(f"For solve_triangular, trans should be 0, 1, 2, N, T or C, got {trans!r}")
    if debug is not None:
        raise NotImplementedError("For solve_triangular, debug should be None")
    matrix, upper = a, not lower
    if trans not in (0, "N"):
        matrix, upper = (a.mT if trans in (1, "T") else a.mH), lower
    columns = b.unsqueeze(-1) if b.ndim < a.ndim else b
    x = _la.solve_triangular(matrix, columns, upper=upper, unitriangular=unit_diagonal)
    return adopt(x.squeeze(-1) if b.ndim < a.ndim else x)


def lstsq(A: Any, B: Any, rcond: Any = None, driver: Any = None) -> Any:  # noqa: N803
    """(solution, residuals, rank, singular values) of the least squares of A x = B.

    Args:
        rcond: singular values below this share of the largest count as zero.
        driver: "gelsy" when None; see ``torch.linalg.lstsq``.
    """
    columns = B.unsqueeze(-1) if B.ndim == 1 else B
    x, *rest = _la.lstsq(A, columns, rcond=rcond, driver=driver)
    return adopt((x.squeeze(-1) if B.ndim == 1 else x, *rest))
