"""The geometric distribution."""

from __future__ import annotations

from typing import Any

import mindtorch.torch as torch
from mindtorch.torch.nn import functional as F  # noqa: N812

from . import constraints
from ._by_probability import ByProbability
from .distribution import Distribution
from .utils import broadcast_all

__all__ = ["Geometric"]


class Geometric(ByProbability, Distribution):
    """(1 - p)^k p: how many trials fail before the first success.

    Args:
        probs, logits: p, or log(p / (1 - p)).
    """

    arg_constraints = {"probs": constraints.unit_interval, "logits": constraints.real}
    support = constraints.nonnegative_integer

    def __init__(self, probs: Any = None, logits: Any = None, validate_args: Any = None) -> None:
        self._take(probs, logits)
        super().__init__(self._param.shape, validate_args=validate_args)
        if self._validate_args and probs is not None:
            value = self.probs
            if not bool((value > 0).all()):
                raise ValueError(
                    f"Expected parameter probs ({type(value).__name__} of shape "
                    f"{tuple(value.shape)}) of distribution {self!r} to be positive but found "
                    f"invalid values:\n{value.detach()[~(value > 0)]}"
                )

    @property
    def mean(self) -> Any:
        return 1.0 / self.probs - 1.0

    @property
    def mode(self) -> Any:
        return torch.zeros_like(self.probs)

    @property
    def variance(self) -> Any:
        return (1.0 / self.probs - 1.0) / self.probs

    def sample(self, sample_shape: Any = ()) -> Any:
        probs = self.probs.detach()
        drawn = torch.empty(self._extended_shape(sample_shape), dtype=probs.dtype)
        drawn.uniform_(torch.finfo(probs.dtype).tiny, 1)
        return (drawn.log() / (-probs).log1p()).floor()

    def log_prob(self, value: Any) -> Any:
        value, probs = broadcast_all(self._checked(value), self.probs)
        certain = (probs == 1) & (value == 0)
        return value * (-probs.masked_fill(certain, 0)).log1p() + self.probs.log()

    def entropy(self) -> Any:
        return (
            F.binary_cross_entropy_with_logits(self.logits, self.probs, reduction="none")
            / self.probs
        )
