"""Distributions of the absolute value of what is symmetric around 0."""

from __future__ import annotations

import math
from typing import Any

import mindtorch.torch as torch

from . import constraints
from .transformed_distribution import TransformedDistribution, of_base
from .transforms import AbsTransform


class Folded(TransformedDistribution):
    """abs(x): twice the density of x where it is not negative."""

    arg_constraints = {"scale": constraints.positive}
    support = constraints.nonnegative
    has_rsample = True
    scale = of_base("scale")

    def __init__(self, base: Any, validate_args: Any = None) -> None:
        super().__init__(base, AbsTransform(), validate_args=validate_args)

    @property
    def mode(self) -> Any:
        return torch.zeros_like(self.scale)

    def log_prob(self, value: Any) -> Any:
        both = self.base_dist.log_prob(self._checked(value)) + math.log(2)
        return both.where(value >= 0, torch.full_like(both, -math.inf))

    def cdf(self, value: Any) -> Any:
        return 2 * self.base_dist.cdf(self._checked(value)) - 1

    def icdf(self, prob: Any) -> Any:
        return self.base_dist.icdf((prob + 1) / 2)

    def entropy(self) -> Any:
        return self.base_dist.entropy() - math.log(2)
