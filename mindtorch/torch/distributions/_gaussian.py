"""What normal distributions of vectors share."""

from __future__ import annotations

from typing import Any

import mindtorch.torch as torch

__all__ = ["matrix_vector", "scale_of", "scale_of_precision", "squared_distance", "sum_of_squares"]


def matrix_vector(matrix: Any, vector: Any) -> Any:
    """matrix @ vector for batches that broadcast."""
    return (matrix @ vector.unsqueeze(-1)).squeeze(-1)


def solve_lower(factor: Any, right: Any) -> Any:
    """factor⁻¹ right for a lower triangle, batches broadcast."""
    batch = torch.broadcast_shapes(factor.shape[:-2], right.shape[:-2])
    return torch.linalg.solve_triangular(
        factor.expand((*batch, *factor.shape[-2:])), right.expand((*batch, *right.shape[-2:])),
        upper=False,
    )  # fmt: skip


def squared_distance(factor: Any, vector: Any) -> Any:
    """vectorᵀ (factor factorᵀ)⁻¹ vector."""
    return solve_lower(factor, vector.unsqueeze(-1)).squeeze(-1).pow(2).sum(-1)


def sum_of_squares(matrix: Any) -> Any:
    """The trace of matrix matrixᵀ."""
    return matrix.pow(2).sum((-2, -1))


def log_diagonal(factor: Any) -> Any:
    """The sum of the logarithms of the diagonal."""
    return factor.diagonal(dim1=-2, dim2=-1).log().sum(-1)


def scale_of_precision(precision: Any) -> Any:
    """The lower triangle L with L Lᵀ precision = 1."""
    turned = torch.linalg.cholesky(precision.flip((-2, -1)))
    inverse = turned.flip((-2, -1)).mT
    return solve_lower(inverse, torch.eye(precision.shape[-1], dtype=precision.dtype))


def scale_of(name: str, matrix: Any) -> Any:
    """The lower triangle L of a "scale_tril", "covariance_matrix" or "precision_matrix"."""
    if name == "scale_tril":
        return matrix
    if name == "covariance_matrix":
        return torch.linalg.cholesky(matrix)
    return scale_of_precision(matrix)
