"""The generalised Pareto distribution."""

from __future__ import annotations

from math import inf, nan
from typing import Any

import mindtorch.torch as torch

from . import constraints
from .distribution import Distribution
from .utils import broadcast_all

__all__ = ["GeneralizedPareto"]


class GeneralizedPareto(Distribution):
    """(1 + c z)^(-1 / c - 1) / scale, z = (x - loc) / scale; exp(-z) / scale where c is 0.

    Args:
        loc, scale, concentration: numbers or tensors; c is the concentration.
    """

    arg_constraints = {
        "loc": constraints.real, "scale": constraints.positive,
        "concentration": constraints.real,
    }  # fmt: skip
    has_rsample = True

    def __init__(
        self, loc: Any, scale: Any, concentration: Any, validate_args: Any = None
    ) -> None:
        self.loc, self.scale, self.concentration = broadcast_all(loc, scale, concentration)
        super().__init__(self.loc.shape, validate_args=validate_args)

    def _shape_parameter(self) -> tuple[Any, Any]:
        """(where c is 0, c with ones there)."""
        c = self.concentration
        zero = torch.isclose(c, torch.zeros_like(c))
        return zero, c.masked_fill(zero, 1)

    def _z(self, x: Any) -> Any:
        return (x - self.loc) / self.scale

    def rsample(self, sample_shape: Any = ()) -> Any:
        return self.icdf(torch.rand(self._extended_shape(sample_shape), dtype=self.loc.dtype))

    def log_prob(self, value: Any) -> Any:
        z = self._z(self._checked(value))
        zero, c = self._shape_parameter()
        power = 1 / c + torch.ones_like(z)
        tail = power.where(power == 0, power * (c * z).log1p())
        return -self.scale.log() - z.where(zero, tail)

    def log_survival_function(self, value: Any) -> Any:
        """log(1 - cdf)."""
        z = self._z(self._checked(value))
        zero, c = self._shape_parameter()
        return (-z).where(zero, -(c * z).log1p() / c)

    def log_cdf(self, value: Any) -> Any:
        """log(cdf)."""
        return (-self.log_survival_function(value).exp()).log1p()

    def cdf(self, value: Any) -> Any:
        return self.log_cdf(value).exp()

    def icdf(self, value: Any) -> Any:
        zero, c = self._shape_parameter()
        left = torch.log1p(-value)
        curved = self.loc + self.scale / c * (-c * left).expm1()
        return (self.loc - self.scale * left).where(zero, curved)

    def _where(self, valid: Any, result: Any) -> Any:
        return result.where(valid, torch.full_like(result, nan))

    @property
    def mean(self) -> Any:
        valid = self.concentration < 1
        c = self.concentration.masked_fill(~valid, 0.5)
        return self._where(valid, self.loc + self.scale / (1 - c))

    @property
    def variance(self) -> Any:
        valid = self.concentration < 0.5
        c = self.concentration.masked_fill(~valid, 0.25)
        return self._where(valid, self.scale**2 / ((1 - c) ** 2 * (1 - 2 * c)))

    def entropy(self) -> Any:
        return (self.scale.log() + self.concentration + 1).expand(self._batch_shape)

    @property
    def mode(self) -> Any:
        return self.loc

    @constraints.dependent_property(is_discrete=False, event_dim=0)
    def support(self) -> Any:
        end = self.loc - self.scale / self.concentration
        bounded = self.concentration < 0
        return constraints.interval(self.loc, end.where(bounded, torch.full_like(end, inf)))
