"""The Laplace distribution."""

from __future__ import annotations

from typing import Any

import mindtorch.torch as torch

from . import constraints
from .distribution import Distribution
from .utils import broadcast_all

__all__ = ["Laplace"]


class Laplace(Distribution):
    """exp(-abs(x - loc) / scale) / (2 scale).

    Args:
        loc, scale: numbers or tensors.
    """

    arg_constraints = {"loc": constraints.real, "scale": constraints.positive}
    support = constraints.real
    has_rsample = True

    def __init__(self, loc: Any, scale: Any, validate_args: Any = None) -> None:
        self.loc, self.scale = broadcast_all(loc, scale)
        super().__init__(self.loc.shape, validate_args=validate_args)

    @property
    def mean(self) -> Any:
        return self.loc

    @property
    def mode(self) -> Any:
        return self.loc

    @property
    def variance(self) -> Any:
        return 2 * self.scale.pow(2)

    @property
    def stddev(self) -> Any:
        return 2**0.5 * self.scale

    def rsample(self, sample_shape: Any = ()) -> Any:
        drawn = torch.empty(self._extended_shape(sample_shape), dtype=self.loc.dtype)
        drawn.uniform_(torch.finfo(self.loc.dtype).eps - 1, 1)
        return self.loc - self.scale * drawn.sign() * (-drawn.abs()).log1p()

    def log_prob(self, value: Any) -> Any:
        distance = (self._checked(value) - self.loc).abs() / self.scale
        return -(2 * self.scale).log() - distance

    def cdf(self, value: Any) -> Any:
        distance = self._checked(value) - self.loc
        return 0.5 - 0.5 * distance.sign() * (-distance.abs() / self.scale).expm1()

    def icdf(self, value: Any) -> Any:
        side = value - 0.5
        return self.loc - self.scale * side.sign() * (-2 * side.abs()).log1p()

    def entropy(self) -> Any:
        return 1 + (2 * self.scale).log()
