"""Exponential families."""

from __future__ import annotations

from typing import Any

import mindtorch.torch as torch

from .distribution import Distribution

__all__ = ["ExponentialFamily"]


class ExponentialFamily(Distribution):
    """Densities exp(t(x) θ - A(θ) + k(x)).

    Subclasses define θ (``_natural_params``), A (``_log_normalizer``) and the expectation of k
    (``_mean_carrier_measure``).

    Args:
        batch_shape, event_shape: as of :class:`Distribution`.
    """

    @property
    def _natural_params(self) -> tuple[Any, ...]:
        raise NotImplementedError

    def _log_normalizer(self, *natural_params: Any) -> Any:
        raise NotImplementedError

    @property
    def _mean_carrier_measure(self) -> Any:
        raise NotImplementedError

    def entropy(self) -> Any:
        """A(θ) - θ A'(θ) - E k."""
        natural = [p.detach().requires_grad_() for p in self._natural_params]
        normalizer = self._log_normalizer(*natural)
        slopes = torch.autograd.grad(normalizer.sum(), natural, create_graph=True)
        result = normalizer - self._mean_carrier_measure
        for p, slope in zip(natural, slopes, strict=True):
            result = result - (p * slope).reshape((*self._batch_shape, -1)).sum(-1)
        return result
