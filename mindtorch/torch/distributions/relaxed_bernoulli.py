"""Bernoulli distributions relaxed to the interval between 0 and 1."""

from __future__ import annotations

from typing import Any

import mindtorch.torch as torch

from . import constraints
from ._by_probability import ByProbability
from .distribution import Distribution
from .transformed_distribution import TransformedDistribution, of_base
from .transforms import SigmoidTransform
from .utils import broadcast_all, clamp_probs

__all__ = ["LogitRelaxedBernoulli", "RelaxedBernoulli"]


class LogitRelaxedBernoulli(ByProbability, Distribution):
    """(logit(p) + logit(u)) / temperature for uniform u.

    Args:
        temperature: a tensor.
        probs, logits: p, or log(p / (1 - p)).
    """

    arg_constraints = {"probs": constraints.unit_interval, "logits": constraints.real}
    support = constraints.real
    _kept = ("temperature",)

    def __init__(
        self, temperature: Any, probs: Any = None, logits: Any = None, validate_args: Any = None
    ) -> None:
        self.temperature = temperature
        self._take(probs, logits)
        super().__init__(self._param.shape, validate_args=validate_args)

    def rsample(self, sample_shape: Any = ()) -> Any:
        shape = self._extended_shape(sample_shape)
        p = clamp_probs(self.probs.expand(shape))
        u = clamp_probs(torch.rand(shape, dtype=p.dtype))
        return (u.log() - (-u).log1p() + p.log() - (-p).log1p()) / self.temperature

    def log_prob(self, value: Any) -> Any:
        value = self._checked(value)
        logits, value = broadcast_all(self.logits, value)
        distance = logits - value.mul(self.temperature)
        return self.temperature.log() + distance - 2 * distance.exp().log1p()


class RelaxedBernoulli(TransformedDistribution):
    """The sigmoid of :class:`LogitRelaxedBernoulli`; the nearer to 0 the temperature, the
    nearer to 0 or 1."""

    arg_constraints = {"probs": constraints.unit_interval, "logits": constraints.real}
    support = constraints.unit_interval
    has_rsample = True

    def __init__(
        self, temperature: Any, probs: Any = None, logits: Any = None, validate_args: Any = None
    ) -> None:
        base = LogitRelaxedBernoulli(temperature, probs, logits)
        super().__init__(base, SigmoidTransform(), validate_args=validate_args)

    temperature = of_base("temperature")
    logits = of_base("logits")
    probs = of_base("probs")
