"""The normal distribution."""

from __future__ import annotations

import math
from typing import Any

import mindtorch.torch as torch

from . import constraints
from .exp_family import ExponentialFamily
from .utils import broadcast_all, standard_normal

__all__ = ["Normal"]


class Normal(ExponentialFamily):
    """exp(-(x - loc)² / (2 scale²)) / (scale sqrt(2 π)).

    Args:
        loc, scale: mean and standard deviation; numbers or tensors.
    """

    arg_constraints = {"loc": constraints.real, "scale": constraints.positive}
    support = constraints.real
    has_rsample = True
    _mean_carrier_measure = 0

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
    def stddev(self) -> Any:
        return self.scale

    @property
    def variance(self) -> Any:
        return self.scale.pow(2)

    def sample(self, sample_shape: Any = ()) -> Any:
        shape = self._extended_shape(sample_shape)
        with torch.no_grad():
            return torch.normal(self.loc.expand(shape), self.scale.expand(shape))

    def rsample(self, sample_shape: Any = ()) -> Any:
        shape = self._extended_shape(sample_shape)
        return self.loc + standard_normal(shape, self.loc.dtype, self.loc.device) * self.scale

    def log_prob(self, value: Any) -> Any:
        distance = (self._checked(value) - self.loc) ** 2 / (2 * self.scale**2)
        return -distance - self.scale.log() - 0.5 * math.log(2 * math.pi)

    def cdf(self, value: Any) -> Any:
        z = (self._checked(value) - self.loc) * self.scale.reciprocal() / math.sqrt(2)
        return 0.5 * (1 + torch.erf(z))

    def icdf(self, value: Any) -> Any:
        return self.loc + self.scale * torch.erfinv(2 * value - 1) * math.sqrt(2)

    def entropy(self) -> Any:
        return 0.5 + 0.5 * math.log(2 * math.pi) + self.scale.log()

    @property
    def _natural_params(self) -> tuple[Any, ...]:
        precision = self.scale.pow(-2)
        return self.loc * precision, -0.5 * precision

    def _log_normalizer(self, x: Any, y: Any) -> Any:
        return -0.25 * x.pow(2) / y + 0.5 * (-math.pi / y).log()
