"""Distributions of transformed variables."""

from __future__ import annotations

from typing import Any

import mindtorch.torch as torch

from . import constraints
from .distribution import Distribution
from .independent import Independent
from .transforms import ComposeTransform, Transform
from .utils import is_tensor, sum_rightmost

__all__ = ["TransformedDistribution"]


def of_base(name: str) -> property:
    """A property that is the base distribution's of this name."""
    return property(lambda self: getattr(self.base_dist, name), doc="Of the base distribution.")


class TransformedDistribution(Distribution):
    """The distribution of f_n(... f_1(x)), x being distributed as ``base_distribution``.

    Args:
        base_distribution: of x.
        transforms: f_1, ..., f_n.
    """

    arg_constraints: Any = {}

    def __init__(
        self, base_distribution: Any, transforms: Any, validate_args: Any = None
    ) -> None:
        self.transforms = _listed(transforms)
        whole = ComposeTransform(self.transforms)
        shape = torch.Size((*base_distribution.batch_shape, *base_distribution.event_shape))
        base_events = len(base_distribution.event_shape)
        needed = whole.domain.event_dim
        if len(shape) < needed:
            raise ValueError(
                f"base_distribution needs to have shape with size at least {needed}, but got "
                f"{shape}."
            )
        final = whole.forward_shape(shape)
        first = whole.inverse_shape(final)
        if tuple(first) != tuple(shape):
            base_distribution = base_distribution.expand(first[: len(first) - base_events])
        if needed > base_events:
            base_distribution = Independent(base_distribution, needed - base_events)
        self.base_dist = base_distribution
        made = whole.codomain.event_dim
        cut = len(final) - max(made, base_events + made - needed)
        super().__init__(final[:cut], final[cut:], validate_args=validate_args)

    def expand(self, batch_shape: Any, _instance: Any = None) -> Any:
        new = self._get_checked_instance(type(self), _instance)
        before = tuple(self._batch_shape)
        for name, value in self.__dict__.items():
            if is_tensor(value) and name not in self._kept:
                value = self._expanded(value, before, batch_shape)
            new.__dict__[name] = value
        shape: Any = torch.Size(batch_shape) + self.event_shape
        for t in reversed(self.transforms):
            shape = t.inverse_shape(shape)
        cut = len(shape) - len(self.base_dist.event_shape)
        new.base_dist = self.base_dist.expand(shape[:cut])
        Distribution.__init__(new, batch_shape, self._event_shape, validate_args=False)
        new._validate_args = self._validate_args
        return new

    @constraints.dependent_property(is_discrete=False)
    def support(self) -> Any:
        if not self.transforms:
            return self.base_dist.support
        result = self.transforms[-1].codomain
        more = len(self.event_shape) - result.event_dim
        return constraints.independent(result, more) if more > 0 else result

    @property
    def has_rsample(self) -> Any:
        return self.base_dist.has_rsample

    def _forward(self, x: Any) -> Any:
        for transform in self.transforms:
            x = transform(x)
        return x

    def sample(self, sample_shape: Any = ()) -> Any:
        with torch.no_grad():
            return self._forward(self.base_dist.sample(sample_shape))

    def rsample(self, sample_shape: Any = ()) -> Any:
        return self._forward(self.base_dist.rsample(sample_shape))

    def log_prob(self, value: Any) -> Any:
        """log_prob of x less log |det dy / dx| of each transform."""
        y = self._checked(value)
        events = len(self.event_shape)
        total: Any = 0.0
        for transform in reversed(self.transforms):
            x = transform.inv(y)
            events += transform.domain.event_dim - transform.codomain.event_dim
            change = transform.log_abs_det_jacobian(x, y)
            total = total - sum_rightmost(change, events - transform.domain.event_dim)
            y = x
        own = self.base_dist.log_prob(y)
        return total + sum_rightmost(own, events - len(self.base_dist.event_shape))

    def _turned(self, value: Any) -> Any:
        """1 - value where the transforms fall."""
        sign: Any = 1
        for transform in self.transforms:
            sign = sign * transform.sign
        if isinstance(sign, int) and sign == 1:
            return value
        return sign * (value - 0.5) + 0.5

    def cdf(self, value: Any) -> Any:
        for transform in reversed(self.transforms):
            value = transform.inv(value)
        if self._validate_args:
            self.base_dist._validate_sample(value)
        return self._turned(self.base_dist.cdf(value))

    def icdf(self, value: Any) -> Any:
        return self._forward(self.base_dist.icdf(self._turned(value)))


def _listed(transforms: Any) -> list[Any]:
    if isinstance(transforms, Transform):
        return [transforms]
    if not isinstance(transforms, list):
        raise ValueError(f"transforms must be a Transform or list, but was {transforms}")
    if not all(isinstance(t, Transform) for t in transforms):
        raise ValueError("transforms must be a Transform or a list of Transforms")
    return transforms
