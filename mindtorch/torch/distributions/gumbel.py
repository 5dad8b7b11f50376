"""The Gumbel distribution."""

from __future__ import annotations

import math
from typing import Any

import mindtorch.torch as torch

from . import constraints
from .transformed_distribution import TransformedDistribution
from .transforms import AffineTransform, ExpTransform
from .uniform import Uniform
from .utils import broadcast_all, euler_constant

__all__ = ["Gumbel"]


class Gumbel(TransformedDistribution):
    """loc - scale log(-log(u)) for uniform u: the largest of many exponential variates.

    Args:
        loc, scale: numbers or tensors.
    """

    arg_constraints = {"loc": constraints.real, "scale": constraints.positive}
    support = constraints.real

    def __init__(self, loc: Any, scale: Any, validate_args: Any = None) -> None:
        self.loc, self.scale = broadcast_all(loc, scale)
        limits = torch.finfo(self.loc.dtype)
        base = Uniform(
            torch.full_like(self.loc, limits.tiny), torch.full_like(self.loc, 1 - limits.eps),
            validate_args=validate_args,
        )  # fmt: skip
        parts = [
            ExpTransform().inv, AffineTransform(0, -torch.ones_like(self.scale)),
            ExpTransform().inv, AffineTransform(self.loc, -self.scale),
        ]  # fmt: skip
        super().__init__(base, parts, validate_args=validate_args)

    def expand(self, batch_shape: Any, _instance: Any = None) -> Any:
        new = super().expand(batch_shape, _instance)
        new.transforms = [*self.transforms[:3], AffineTransform(new.loc, -new.scale)]
        return new

    def log_prob(self, value: Any) -> Any:
        z = (self.loc - self._checked(value)) / self.scale
        return z - z.exp() - self.scale.log()

    @property
    def mean(self) -> Any:
        return self.loc + self.scale * euler_constant

    @property
    def mode(self) -> Any:
        return self.loc

    @property
    def stddev(self) -> Any:
        return math.pi / math.sqrt(6) * self.scale

    @property
    def variance(self) -> Any:
        return self.stddev.pow(2)

    def entropy(self) -> Any:
        return self.scale.log() + (1 + euler_constant)
