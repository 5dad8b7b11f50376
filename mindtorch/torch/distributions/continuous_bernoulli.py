"""The continuous Bernoulli distribution."""

from __future__ import annotations

import math
from typing import Any

import mindtorch.torch as torch
from mindtorch.torch.nn import functional as F  # noqa: N812

from . import constraints
from ._by_probability import ByProbability
from .exp_family import ExponentialFamily
from .utils import broadcast_all, clamp_probs, lazy_property, logits_to_probs

__all__ = ["ContinuousBernoulli"]


class ContinuousBernoulli(ByProbability, ExponentialFamily):
    """C(p) p^x (1 - p)^(1 - x) for x between 0 and 1.

    Args:
        probs, logits: p, or log(p / (1 - p)); p is not the mean.
        lims: between these values of p, Taylor series around 1 / 2 stand for the formulas.
    """

    arg_constraints = {"probs": constraints.unit_interval, "logits": constraints.real}
    support = constraints.unit_interval
    _mean_carrier_measure = 0
    has_rsample = True

    def __init__(
        self, probs: Any = None, logits: Any = None, lims: tuple[float, float] = (0.499, 0.501),
        validate_args: Any = None,
    ) -> None:  # fmt: skip
        self._take(probs, logits)
        if probs is not None:
            if validate_args is not None:
                if not bool(constraints.unit_interval.check(self.probs).all()):
                    raise ValueError("The parameter probs has invalid values")
            self.probs = self._param = clamp_probs(self.probs)
        self._lims = lims
        super().__init__(self._param.shape, validate_args=validate_args)

    @lazy_property
    def probs(self) -> Any:
        """p."""
        return clamp_probs(logits_to_probs(self.logits, is_binary=True))

    def _is_far(self) -> Any:
        """Where p is far enough from 1 / 2 for the formulas."""
        return (self.probs <= self._lims[0]) | (self.probs > self._lims[1])

    def _cut_probs(self) -> Any:
        return self.probs.where(self._is_far(), torch.full_like(self.probs, self._lims[0]))

    def _cont_bern_log_norm(self) -> Any:
        """log C(p) = log(2 atanh(1 - 2 p) / (1 - 2 p))."""
        p = self._cut_probs()
        formula = ((-p).log1p() - p.log()).abs().log() - (1.0 - 2.0 * p).abs().log()
        x = (self.probs - 0.5).pow(2)
        series = math.log(2.0) + (4.0 / 3.0 + 104.0 / 45.0 * x) * x
        return formula.where(self._is_far(), series)

    @property
    def mean(self) -> Any:
        p = self._cut_probs()
        formula = p / (2.0 * p - 1.0) + 1.0 / ((-p).log1p() - p.log())
        x = self.probs - 0.5
        series = 0.5 + (1.0 / 3.0 + 16.0 / 45.0 * x.pow(2)) * x
        return formula.where(self._is_far(), series)

    @property
    def stddev(self) -> Any:
        return self.variance.sqrt()

    @property
    def variance(self) -> Any:
        p = self._cut_probs()
        formula = p * (p - 1.0) / (1.0 - 2.0 * p).pow(2) + ((-p).log1p() - p.log()).pow(-2)
        x = (self.probs - 0.5).pow(2)
        series = 1.0 / 12.0 - (1.0 / 15.0 - 128.0 / 945.0 * x) * x
        return formula.where(self._is_far(), series)

    def sample(self, sample_shape: Any = ()) -> Any:
        with torch.no_grad():
            return self.rsample(sample_shape)

    def rsample(self, sample_shape: Any = ()) -> Any:
        return self.icdf(torch.rand(self._extended_shape(sample_shape), dtype=self.probs.dtype))

    def log_prob(self, value: Any) -> Any:
        value = self._checked(value)
        logits, value = broadcast_all(self.logits, value)
        own = F.binary_cross_entropy_with_logits(logits, value, reduction="none")
        return self._cont_bern_log_norm() - own

    def cdf(self, value: Any) -> Any:
        value, p = self._checked(value), self._cut_probs()
        formula = (p.pow(value) * (1.0 - p).pow(1.0 - value) + p - 1.0) / (2.0 * p - 1.0)
        inner = formula.where(self._is_far(), value)
        return inner.masked_fill(value <= 0.0, 0.0).masked_fill(value >= 1.0, 1.0)

    def icdf(self, value: Any) -> Any:
        p = self._cut_probs()
        left = (-p).log1p()
        formula = ((-p + value * (2.0 * p - 1.0)).log1p() - left) / (p.log() - left)
        return formula.where(self._is_far(), value)

    def entropy(self) -> Any:
        none, one = (-self.probs).log1p(), self.probs.log()
        return self.mean * (none - one) - self._cont_bern_log_norm() - none

    @property
    def _natural_params(self) -> tuple[Any, ...]:
        return (self.logits,)

    def _log_normalizer(self, x: Any) -> Any:
        """log((exp(x) - 1) / x)."""
        far = (x <= self._lims[0] - 0.5) | (x > self._lims[1] - 0.5)
        cut = x.where(far, torch.full_like(x, self._lims[0] - 0.5))
        series = 0.5 * x + x.pow(2) / 24.0 - x.pow(4) / 2880.0
        return (cut.expm1().abs().log() - cut.abs().log()).where(far, series)
