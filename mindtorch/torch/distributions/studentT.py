"""Student's t distribution."""

from __future__ import annotations

import math
from math import inf, nan
from typing import Any

from . import constraints
from .chi2 import Chi2
from .distribution import Distribution
from .utils import broadcast_all, standard_normal

__all__ = ["StudentT"]


class StudentT(Distribution):
    """loc + scale x sqrt(df / z) for normal x and chi-squared z.

    Args:
        df, loc, scale: degrees of freedom, location and scale; numbers or tensors.
    """

    arg_constraints = {
        "df": constraints.positive, "loc": constraints.real, "scale": constraints.positive,
    }  # fmt: skip
    support = constraints.real
    has_rsample = True

    def __init__(
        self, df: Any, loc: Any = 0.0, scale: Any = 1.0, validate_args: Any = None
    ) -> None:
        self.df, self.loc, self.scale = broadcast_all(df, loc, scale)
        self._chi2 = Chi2(self.df)
        super().__init__(self.df.size(), validate_args=validate_args)

    @property
    def mean(self) -> Any:
        return self.loc.masked_fill(self.df <= 1, nan)

    @property
    def mode(self) -> Any:
        return self.loc

    @property
    def variance(self) -> Any:
        result = self.scale.pow(2) * self.df / (self.df - 2)
        return result.masked_fill(self.df <= 2, inf).masked_fill(self.df <= 1, nan)

    def rsample(self, sample_shape: Any = ()) -> Any:
        shape = self._extended_shape(sample_shape)
        x = standard_normal(shape, self.df.dtype, self.df.device)
        z = self._chi2.rsample(sample_shape)
        return self.loc + self.scale * (x * (z / self.df).rsqrt())

    def log_prob(self, value: Any) -> Any:
        y = (self._checked(value) - self.loc) / self.scale
        norm = (
            self.scale.log() + 0.5 * self.df.log() + 0.5 * math.log(math.pi)
            + (0.5 * self.df).lgamma() - (0.5 * (self.df + 1.0)).lgamma()
        )  # fmt: skip
        return -0.5 * (self.df + 1.0) * (y**2.0 / self.df).log1p() - norm

    def entropy(self) -> Any:
        half, more = 0.5 * self.df, 0.5 * (self.df + 1)
        beta = half.lgamma() + 0.5 * math.log(math.pi) - more.lgamma()
        slope = more * (more.digamma() - half.digamma())
        return self.scale.log() + slope + 0.5 * self.df.log() + beta
