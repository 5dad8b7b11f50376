"""Distributions that are given by probabilities or by their logits."""

from __future__ import annotations

from typing import Any

from .utils import broadcast_all, lazy_property, logits_to_probs, probs_to_logits

__all__ = ["ByProbability", "check_one_of"]


def check_one_of(probs: Any, logits: Any) -> None:
    """torch's error unless exactly one is given."""
    if (probs is None) == (logits is None):
        raise ValueError("Either `probs` or `logits` must be specified, but not both.")


class ByProbability:
    """Mixed in: keeps what is given and computes the other when it is read."""

    _is_binary = True
    _param: Any

    def _take(self: Any, probs: Any, logits: Any, *more: Any) -> tuple[Any, ...]:
        """Keep the given one, broadcast against ``more``; those, broadcast."""
        check_one_of(probs, logits)
        name = "logits" if probs is None else "probs"
        value, *others = broadcast_all(logits if probs is None else probs, *more)
        setattr(self, name, value)
        self._param = value
        return tuple(others)

    @lazy_property
    def logits(self: Any) -> Any:
        """log(p / (1 - p)), or log(p) where there are several classes."""
        return probs_to_logits(self.probs, is_binary=self._is_binary)

    @lazy_property
    def probs(self: Any) -> Any:
        """The probabilities."""
        return logits_to_probs(self.logits, is_binary=self._is_binary)

    @property
    def param_shape(self: Any) -> Any:
        """The shape of what was given."""
        return self._param.shape

    def _new(self: Any, *args: Any, **kwargs: Any) -> Any:
        return self._param.new(*args, **kwargs)
