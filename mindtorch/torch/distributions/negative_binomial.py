"""The negative binomial distribution."""

from __future__ import annotations

from typing import Any

import mindtorch.torch as torch
from mindtorch.torch.nn import functional as F  # noqa: N812

from . import constraints
from ._by_probability import ByProbability
from .distribution import Distribution
from .gamma import Gamma
from .utils import lazy_property

__all__ = ["NegativeBinomial"]


class NegativeBinomial(ByProbability, Distribution):
    """How many trials succeed, each with probability p, before ``total_count`` fail.

    Args:
        total_count: a number or tensor, not necessarily an integer.
        probs, logits: p, or log(p / (1 - p)).
    """

    arg_constraints = {
        "total_count": constraints.greater_than_eq(0),
        "probs": constraints.half_open_interval(0.0, 1.0), "logits": constraints.real,
    }  # fmt: skip
    support = constraints.nonnegative_integer

    def __init__(
        self, total_count: Any, probs: Any = None, logits: Any = None, validate_args: Any = None
    ) -> None:
        (count,) = self._take(probs, logits, total_count)
        self.total_count = count.type_as(self._param)
        super().__init__(self._param.shape, validate_args=validate_args)

    @property
    def mean(self) -> Any:
        return self.total_count * self.logits.exp()

    @property
    def mode(self) -> Any:
        return ((self.total_count - 1) * self.logits.exp()).floor().clamp(min=0.0)

    @property
    def variance(self) -> Any:
        return self.mean / (-self.logits).sigmoid()

    @lazy_property
    def _gamma(self) -> Any:
        return Gamma(self.total_count, (-self.logits).exp(), validate_args=False)

    def sample(self, sample_shape: Any = ()) -> Any:
        with torch.no_grad():
            return torch.poisson(self._gamma.sample(sample_shape))

    def log_prob(self, value: Any) -> Any:
        value, n = self._checked(value), self.total_count
        weight = n * F.logsigmoid(-self.logits) + value * F.logsigmoid(self.logits)
        norm = (1.0 + value).lgamma() + n.lgamma() - (n + value).lgamma()
        return weight - norm.masked_fill(n + value == 0.0, 0.0)
