"""The base of distributions."""

from __future__ import annotations

import warnings
from typing import Any

import mindtorch.torch as torch

from . import constraints
from .utils import is_tensor, lazy_property

__all__ = ["Distribution"]


def _undefined(self: Any) -> Any:
    raise NotImplementedError


class Distribution:
    """A batch of probability distributions.

    Args:
        batch_shape: the shape of the batch.
        event_shape: the shape of one sample of one distribution.
        validate_args: check parameters, and values given to log_prob; None is the default of
            :meth:`set_default_validate_args`.

    Raises:
        ValueError: for parameters outside of their constraints.
    """

    has_rsample: Any = False
    has_enumerate_support: Any = False
    _validate_args: Any = __debug__
    # Tensors that are no part of the batch.
    _kept: tuple[str, ...] = ()
    _param: Any

    @staticmethod
    def set_default_validate_args(value: bool) -> None:
        """Whether new distributions check their parameters and values."""
        if value not in (True, False):
            raise ValueError
        Distribution._validate_args = value

    def __init__(
        self, batch_shape: Any = (), event_shape: Any = (), validate_args: Any = None
    ) -> None:
        self._batch_shape = torch.Size(batch_shape)
        self._event_shape = torch.Size(event_shape)
        if validate_args is not None:
            self._validate_args = validate_args
        if self._validate_args:
            self._check_parameters()
        super().__init__()

    def _check_parameters(self) -> None:
        try:
            given = self.arg_constraints
        except NotImplementedError:
            warnings.warn(
                f"{type(self)} does not define `arg_constraints`. Please set `arg_constraints = "
                "{}` or initialize the distribution with `validate_args=False` to turn off "
                "validation.",
                stacklevel=4,
            )
            return
        for name, constraint in given.items():
            if constraints.is_dependent(constraint):
                continue
            computed = isinstance(getattr(type(self), name, None), lazy_property)
            if computed and name not in self.__dict__:
                continue
            value = getattr(self, name)
            if not bool(constraint.check(value).all()):
                raise ValueError(
                    f"Expected parameter {name} ({type(value).__name__} of shape "
                    f"{tuple(value.shape)}) of distribution {self!r} to satisfy the constraint "
                    f"{constraint!r}, but found invalid values:\n{value}"
                )

    # --- shapes -------------------------------------------------------------------------------

    @property
    def batch_shape(self) -> Any:
        """The shape of the batch."""
        return self._batch_shape

    @property
    def event_shape(self) -> Any:
        """The shape of one sample of one distribution."""
        return self._event_shape

    def _extended_shape(self, sample_shape: Any = ()) -> Any:
        return torch.Size((*iter(sample_shape), *self._batch_shape, *self._event_shape))

    def expand(self, batch_shape: Any, _instance: Any = None) -> Any:
        """The same distributions, repeated to another batch shape, without a copy."""
        new = self._get_checked_instance(type(self), _instance)
        shape = torch.Size(batch_shape)
        before = tuple(self._batch_shape)
        for name, value in self.__dict__.items():
            if isinstance(value, Distribution):
                inner = value.batch_shape[len(before) :]
                value = value.expand((*shape, *inner))
            elif is_tensor(value) and name not in self._kept:
                value = self._expanded(value, before, shape)
            new.__dict__[name] = value
        if "_param" in new.__dict__:
            held = "probs" if self.__dict__.get("probs") is self._param else "logits"
            new._param = new.__dict__[held]
        Distribution.__init__(new, shape, self._event_shape, validate_args=False)
        new._validate_args = self._validate_args
        return new

    @staticmethod
    def _expanded(value: Any, before: tuple[int, ...], shape: Any) -> Any:
        if tuple(value.shape[: len(before)]) != before:
            return value
        inner = value.shape[len(before) :]
        return value.expand((*shape, *inner)) if inner else value.expand(shape)

    def _get_checked_instance(self, cls: Any, _instance: Any = None) -> Any:
        if _instance is None and type(self).__init__ is not cls.__init__:
            raise NotImplementedError(
                f"Subclass {type(self).__name__} of {cls.__name__} that defines a custom __init__ "
                "method must also define a custom .expand() method."
            )
        return self.__new__(type(self)) if _instance is None else _instance

    # --- what subclasses define ---------------------------------------------------------------

    # The constraint of each parameter by name, and the constraint of samples.
    arg_constraints: Any = property(_undefined)
    support: Any = property(_undefined)

    @property
    def mean(self) -> Any:
        """The expectation."""
        raise NotImplementedError

    @property
    def mode(self) -> Any:
        """The most probable value."""
        raise NotImplementedError(f"{type(self)} does not implement mode")

    @property
    def variance(self) -> Any:
        """The expectation of the squared distance from the mean."""
        raise NotImplementedError

    @property
    def stddev(self) -> Any:
        """The square root of the variance."""
        return self.variance.sqrt()

    def sample(self, sample_shape: Any = ()) -> Any:
        """Values drawn, of shape sample_shape + batch_shape + event_shape; no gradients."""
        with torch.no_grad():
            return self.rsample(sample_shape)

    def rsample(self, sample_shape: Any = ()) -> Any:
        """Values drawn that have gradients with respect to the parameters."""
        raise NotImplementedError

    def sample_n(self, n: int) -> Any:
        """``n`` samples; deprecated."""
        warnings.warn(
            "`sample_n(n)` will be deprecated. Use `sample((n,))` instead.", FutureWarning,
            stacklevel=2,
        )  # fmt: skip
        return self.sample((n,))

    def log_prob(self, value: Any) -> Any:
        """The logarithm of the density, or of the probability, at ``value``."""
        raise NotImplementedError

    def cdf(self, value: Any) -> Any:
        """The probability of samples up to ``value``."""
        raise NotImplementedError

    def icdf(self, value: Any) -> Any:
        """The inverse of :meth:`cdf`."""
        raise NotImplementedError

    def enumerate_support(self, expand: bool = True) -> Any:
        """All values of a discrete distribution, along a new first axis."""
        raise NotImplementedError

    def entropy(self) -> Any:
        """The expectation of -log_prob."""
        raise NotImplementedError

    def perplexity(self) -> Any:
        """exp(entropy)."""
        return self.entropy().exp()

    # --- checks -------------------------------------------------------------------------------

    def _checked(self, value: Any) -> Any:
        """``value``, checked where that is wanted."""
        if self._validate_args:
            self._validate_sample(value)
        return value

    def _validate_sample(self, value: Any) -> None:
        if not is_tensor(value):
            raise ValueError("The value argument to log_prob must be a Tensor")
        start = value.dim() - len(self._event_shape)
        if tuple(value.shape[start:]) != tuple(self._event_shape):
            raise ValueError(
                f"The right-most size of value must match event_shape: {value.size()} vs "
                f"{self._event_shape}."
            )
        expected = self._extended_shape()
        for i, j in zip(reversed(value.shape), reversed(expected), strict=False):
            if i != 1 and j != 1 and i != j:
                raise ValueError(
                    "Value is not broadcastable with batch_shape+event_shape: "
                    f"{value.size()} vs {expected}."
                )
        try:
            support = self.support
        except NotImplementedError:
            warnings.warn(
                f"{type(self)} does not define `support` to enable sample validation. Please "
                "initialize the distribution with `validate_args=False` to turn off validation.",
                stacklevel=4,
            )
            return
        if not bool(support.check(value).all()):
            raise ValueError(
                f"Expected value argument ({type(value).__name__} of shape "
                f"{tuple(value.shape)}) to be within the support ({support!r}) of the "
                f"distribution {self!r}, but found invalid values:\n{value}"
            )

    def __repr__(self) -> str:
        shown = []
        for name in self.arg_constraints:
            if name in self.__dict__:
                value = self.__dict__[name]
                shown.append(f"{name}: {value if value.numel() == 1 else value.size()}")
        return f"{type(self).__name__}({', '.join(shown)})"
