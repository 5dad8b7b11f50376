"""The Dirichlet distribution."""

from __future__ import annotations

from typing import Any

import mindtorch.torch as torch
from mindtorch.torch.nn import functional as F  # noqa: N812

from . import constraints
from ._sampling import dirichlet
from .exp_family import ExponentialFamily

__all__ = ["Dirichlet"]


class Dirichlet(ExponentialFamily):
    """Π x_i^(a_i - 1) / B(a) over vectors of positive shares.

    Args:
        concentration: a, along the last axis.
    """

    arg_constraints = {
        "concentration": constraints.independent(constraints.positive, 1),
    }  # fmt: skip
    support = constraints.simplex
    has_rsample = True

    def __init__(self, concentration: Any, validate_args: Any = None) -> None:
        if concentration.dim() < 1:
            raise ValueError("`concentration` parameter must be at least one-dimensional.")
        self.concentration = concentration
        shape = concentration.shape
        super().__init__(shape[:-1], shape[-1:], validate_args=validate_args)

    def rsample(self, sample_shape: Any = ()) -> Any:
        return dirichlet(self.concentration.expand(self._extended_shape(sample_shape)))

    def log_prob(self, value: Any) -> Any:
        a = self.concentration
        norm = a.sum(-1).lgamma() - a.lgamma().sum(-1)
        return torch.xlogy(a - 1.0, self._checked(value)).sum(-1) + norm

    @property
    def mean(self) -> Any:
        return self.concentration / self.concentration.sum(-1, True)

    @property
    def mode(self) -> Any:
        above = (self.concentration - 1).clamp(min=0.0)
        mode = above / above.sum(-1, True)
        corner = (self.concentration < 1).all(dim=-1)
        largest = F.one_hot(mode.argmax(dim=-1), above.shape[-1]).to(mode.dtype)
        return torch.where(corner.unsqueeze(-1), largest, mode)

    @property
    def variance(self) -> Any:
        total = self.concentration.sum(-1, True)
        return self.concentration * (total - self.concentration) / (total.pow(2) * (total + 1))

    def entropy(self) -> Any:
        a = self.concentration
        total, k = a.sum(-1), a.size(-1)
        return (
            a.lgamma().sum(-1) - total.lgamma() - (k - total) * total.digamma()
            - ((a - 1.0) * a.digamma()).sum(-1)
        )  # fmt: skip

    @property
    def _natural_params(self) -> tuple[Any, ...]:
        return (self.concentration,)

    def _log_normalizer(self, x: Any) -> Any:
        return x.lgamma().sum(-1) - x.sum(-1).lgamma()
