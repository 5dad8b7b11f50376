"""Distributions of correlation matrices, by their Cholesky factors."""

from __future__ import annotations

import math
from typing import Any

import mindtorch.torch as torch

from . import constraints
from .beta import Beta
from .distribution import Distribution
from .utils import broadcast_all

__all__ = ["LKJCholesky"]


class LKJCholesky(Distribution):
    """Cholesky factors L of correlation matrices, with density ~ det(L Lᵀ)^(concentration - 1).

    Args:
        dim: the number of rows, 2 or more.
        concentration: a number or tensor; the larger, the nearer to no correlation.
    """

    arg_constraints = {"concentration": constraints.positive}
    support = constraints.corr_cholesky

    def __init__(
        self, dim: int, concentration: Any = 1.0, validate_args: Any = None
    ) -> None:
        if dim < 2:
            raise ValueError(
                f"Expected dim to be an integer greater than or equal to 2. Found dim={dim}."
            )
        self.dim = dim
        (self.concentration,) = broadcast_all(concentration)
        row = torch.arange(dim - 1, dtype=self.concentration.dtype)
        row = torch.cat([row.new_zeros((1,)), row])
        marginal = self.concentration + 0.5 * (dim - 2)
        self._beta = Beta(row + 0.5, marginal.unsqueeze(-1) - 0.5 * row)
        super().__init__(self.concentration.size(), (dim, dim), validate_args)

    def sample(self, sample_shape: Any = ()) -> Any:
        """Rows drawn one by one: a squared length, and a direction on the sphere."""
        with torch.no_grad():
            squared = self._beta.sample(sample_shape).unsqueeze(-1)
            shape = self._extended_shape(sample_shape)
            direction = torch.randn(shape, dtype=squared.dtype).tril(-1)
            direction = direction / direction.norm(dim=-1, keepdim=True)
            direction[..., 0, :] = 0.0
            rows = squared.sqrt() * direction
            rest = (1 - (rows**2).sum(-1)).clamp(min=torch.finfo(rows.dtype).tiny)
            return rows + rest.sqrt().diag_embed()

    def log_prob(self, value: Any) -> Any:
        diagonal = self._checked(value).diagonal(dim1=-1, dim2=-2)[..., 1:]
        order = torch.arange(2, self.dim + 1)
        powers = 2 * (self.concentration - 1).unsqueeze(-1) + self.dim - order
        rest = self.dim - 1
        alpha = self.concentration + 0.5 * rest
        norm = (
            0.5 * rest * math.log(math.pi) + torch.mvlgamma(alpha - 0.5, rest)
            - alpha.lgamma() * rest
        )  # fmt: skip
        return (powers * diagonal.log()).sum(-1) - norm
