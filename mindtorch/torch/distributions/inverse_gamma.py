"""The inverse gamma distribution."""

from __future__ import annotations

from math import inf
from typing import Any

import mindtorch.torch as torch

from . import constraints
from .gamma import Gamma
from .transformed_distribution import TransformedDistribution, of_base
from .transforms import PowerTransform

__all__ = ["InverseGamma"]


class InverseGamma(TransformedDistribution):
    """1 / x for gamma x.

    Args:
        concentration, rate: of x.
    """

    arg_constraints = {"concentration": constraints.positive, "rate": constraints.positive}
    support = constraints.positive
    has_rsample = True

    def __init__(self, concentration: Any, rate: Any, validate_args: Any = None) -> None:
        base = Gamma(concentration, rate, validate_args=validate_args)
        power = PowerTransform(-base.rate.new_ones(()))
        super().__init__(base, power, validate_args=validate_args)

    concentration = of_base("concentration")
    rate = of_base("rate")

    @property
    def mean(self) -> Any:
        a = self.concentration
        result = self.rate / (a - 1)
        return result.where(a > 1, torch.full_like(result, inf))

    @property
    def mode(self) -> Any:
        return self.rate / (self.concentration + 1)

    @property
    def variance(self) -> Any:
        a = self.concentration
        result = self.rate.square() / ((a - 1).square() * (a - 2))
        return result.where(a > 2, torch.full_like(result, inf))

    def entropy(self) -> Any:
        a = self.concentration
        return a + self.rate.log() + a.lgamma() - (1 + a) * a.digamma()
