"""The binomial distribution."""

from __future__ import annotations

from typing import Any

import mindtorch.torch as torch
from mindtorch.torch.nn import functional as F  # noqa: N812

from . import constraints
from ._by_probability import ByProbability
from ._sampling import binomial
from .distribution import Distribution

__all__ = ["Binomial"]


class Binomial(ByProbability, Distribution):
    """How many of ``total_count`` trials succeed, each with probability p.

    Args:
        total_count: a number or tensor.
        probs, logits: p, or log(p / (1 - p)).
    """

    arg_constraints = {
        "total_count": constraints.nonnegative_integer, "probs": constraints.unit_interval,
        "logits": constraints.real,
    }  # fmt: skip
    has_enumerate_support = True

    def __init__(
        self, total_count: Any = 1, probs: Any = None, logits: Any = None,
        validate_args: Any = None,
    ) -> None:  # fmt: skip
        (count,) = self._take(probs, logits, total_count)
        self.total_count = count.type_as(self._param)
        super().__init__(self._param.shape, validate_args=validate_args)

    @constraints.dependent_property(is_discrete=True, event_dim=0)
    def support(self) -> Any:
        return constraints.integer_interval(0, self.total_count)

    @property
    def mean(self) -> Any:
        return self.total_count * self.probs

    @property
    def mode(self) -> Any:
        return ((self.total_count + 1) * self.probs).floor().minimum(self.total_count)

    @property
    def variance(self) -> Any:
        return self.total_count * self.probs * (1 - self.probs)

    def sample(self, sample_shape: Any = ()) -> Any:
        shape = self._extended_shape(sample_shape)
        return binomial(self.total_count.expand(shape), self.probs.expand(shape))

    def log_prob(self, value: Any) -> Any:
        value, n = self._checked(value), self.total_count
        # log C(n, k) + k logit - n log(1 + exp(logit))
        choices = (n + 1).lgamma() - (value + 1).lgamma() - (n - value + 1).lgamma()
        return choices + value * self.logits - n * F.softplus(self.logits)

    def _common_count(self, what: str) -> int:
        count = int(self.total_count.max())
        if int(self.total_count.min()) != count:
            raise NotImplementedError(f"Inhomogeneous total count not supported by `{what}`.")
        return count

    def entropy(self) -> Any:
        self._common_count("entropy")
        log_prob = self.log_prob(self.enumerate_support(False))
        return -(log_prob.exp() * log_prob).sum(0)

    def enumerate_support(self, expand: bool = True) -> Any:
        count = self._common_count("enumerate_support")
        values = torch.arange(1 + count, dtype=self._param.dtype)
        values = values.view((-1, *[1] * len(self._batch_shape)))
        return values.expand((-1, *self._batch_shape)) if expand else values
