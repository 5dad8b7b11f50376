"""Mixtures of distributions of one family."""

from __future__ import annotations

from typing import Any

import mindtorch.torch as torch

from . import constraints
from .categorical import Categorical
from .distribution import Distribution

__all__ = ["MixtureSameFamily"]


class MixtureSameFamily(Distribution):
    """A component drawn by a categorical distribution, then a sample of it.

    Args:
        mixture_distribution: a :class:`Categorical` over components.
        component_distribution: its last batch axis is the components.
    """

    arg_constraints: Any = {}
    has_rsample = False

    def __init__(
        self, mixture_distribution: Any, component_distribution: Any, validate_args: Any = None
    ) -> None:
        self._mixture_distribution = mixture_distribution
        self._component_distribution = component_distribution
        if not isinstance(mixture_distribution, Categorical):
            raise ValueError(
                " The Mixture distribution needs to be an  instance of "
                "torch.distributions.Categorical"
            )
        if not isinstance(component_distribution, Distribution):
            raise ValueError(
                "The Component distribution needs to be an instance of "
                "torch.distributions.Distribution"
            )
        batch = component_distribution.batch_shape[:-1]
        own = mixture_distribution.batch_shape
        for one, other in zip(reversed(own), reversed(batch), strict=False):
            if one != 1 and other != 1 and one != other:
                raise ValueError(
                    f"`mixture_distribution.batch_shape` ({own}) is not compatible with "
                    f"`component_distribution.batch_shape`({batch})"
                )
        count = mixture_distribution.logits.shape[-1]
        held = component_distribution.batch_shape[-1]
        if count != held:
            raise ValueError(
                f"`mixture_distribution component` ({count}) does not equal "
                f"`component_distribution.batch_shape[-1]` ({held})"
            )
        self._num_component = count
        event = component_distribution.event_shape
        self._event_ndims = len(event)
        super().__init__(batch, event, validate_args=validate_args)

    @constraints.dependent_property
    def support(self) -> Any:
        return constraints.MixtureSameFamilyConstraint(self._component_distribution.support)

    @property
    def mixture_distribution(self) -> Any:
        """The distribution over components."""
        return self._mixture_distribution

    @property
    def component_distribution(self) -> Any:
        """The components."""
        return self._component_distribution

    def _weighed(self, values: Any) -> Any:
        """The mean of the components' ``values``, weighed by their probabilities."""
        probs = self._mixture_distribution.probs
        probs = probs.reshape((*probs.shape, *[1] * self._event_ndims))
        return (probs * values).sum(-1 - self._event_ndims)

    def _with_components(self, x: Any) -> Any:
        return x.unsqueeze(-1 - self._event_ndims)

    @property
    def mean(self) -> Any:
        return self._weighed(self._component_distribution.mean)

    @property
    def variance(self) -> Any:
        components = self._component_distribution
        distance = components.mean - self._with_components(self.mean)
        return self._weighed(components.variance) + self._weighed(distance.pow(2.0))

    def cdf(self, x: Any) -> Any:
        own = self._component_distribution.cdf(self._with_components(x))
        return (own * self._mixture_distribution.probs).sum(-1)

    def log_prob(self, x: Any) -> Any:
        own = self._component_distribution.log_prob(self._with_components(self._checked(x)))
        weights = self._mixture_distribution.logits.log_softmax(-1)
        return (own + weights).logsumexp(-1)

    def sample(self, sample_shape: Any = ()) -> Any:
        with torch.no_grad():
            axis = len(sample_shape) + len(self.batch_shape)
            chosen = self._mixture_distribution.sample(sample_shape)
            values = self._component_distribution.sample(sample_shape)
            chosen = chosen.reshape((*chosen.shape, *[1] * (self._event_ndims + 1)))
            shape = (*values.shape[:axis], 1, *self.event_shape)
            return values.gather(axis, chosen.expand(shape)).squeeze(axis)

    def __repr__(self) -> str:
        return (
            f"MixtureSameFamily(\n  {self._mixture_distribution},\n  "
            f"{self._component_distribution})"
        )
