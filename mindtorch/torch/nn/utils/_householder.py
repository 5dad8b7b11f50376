"""Orthogonal matrices from Householder vectors, and back."""

from __future__ import annotations

from typing import Any

import numpy as np

import mindtorch.torch as torch


def reflectors(matrix: Any) -> tuple[Any, Any]:
    """LAPACK's geqrf: R in the upper triangle, Householder vectors below, and their factors.

    Args:
        matrix: (..., n, k), real or complex; without gradients.
    """
    array = matrix.detach().numpy()
    h, tau = np.linalg.qr(array, mode="raw")
    return torch.tensor(np.ascontiguousarray(np.swapaxes(h, -1, -2))), torch.tensor(tau)


def householder_product(vectors: Any, factors: Any) -> Any:
    """The first k columns of H_1 ... H_k, H_i = 1 - tau_i v_i v_i*.

    Args:
        vectors: (..., n, k); of v_i the part below the diagonal counts, with 1 on it.
        factors: (..., k).
    """
    n, k = vectors.shape[-2:]
    lower = vectors.tril(diagonal=-1) + torch.eye(n, k, dtype=vectors.dtype)
    result = torch.eye(n, k, dtype=vectors.dtype).expand(vectors.shape)
    for i in range(factors.shape[-1] - 1, -1, -1):
        v = lower[..., i : i + 1]
        result = result - factors[..., i : i + 1].unsqueeze(-1) * (v @ (v.mH @ result))
    return result


def orthonormal_columns(matrix: Any) -> Any:
    """Q of matrix = Q R with the signs that make the diagonal of R positive."""
    compact, factors = reflectors(matrix)
    q = householder_product(compact, factors)
    return q * compact.diagonal(dim1=-2, dim2=-1).sgn().unsqueeze(-2)
