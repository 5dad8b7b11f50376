"""The half-Cauchy distribution."""

from __future__ import annotations

import math
from typing import Any

import mindtorch.torch as torch

from ._folded import Folded
from .cauchy import Cauchy

__all__ = ["HalfCauchy"]


class HalfCauchy(Folded):
    """abs(x) for Cauchy x around 0.

    Args:
        scale: of x.
    """

    def __init__(self, scale: Any, validate_args: Any = None) -> None:
        super().__init__(Cauchy(0, scale, validate_args=False), validate_args)

    def log_prob(self, value: Any) -> Any:
        checked = torch.as_tensor(self._checked(value), dtype=self.base_dist.scale.dtype)
        return super().log_prob(checked)

    @property
    def mean(self) -> Any:
        return torch.full(self._extended_shape(), math.inf, dtype=self.scale.dtype)

    @property
    def variance(self) -> Any:
        return self.base_dist.variance
