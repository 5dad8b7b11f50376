"""Dropout."""

from __future__ import annotations

from typing import Any

from .. import functional as F  # noqa: N812
from .module import Module

__all__ = ["AlphaDropout", "Dropout", "Dropout1d", "Dropout2d", "Dropout3d", "FeatureAlphaDropout"]


class _DropoutNd(Module):
    __constants__ = ["p", "inplace"]
    _function = ""

    def __init__(self, p: float = 0.5, inplace: bool = False) -> None:
        super().__init__()
        if p < 0 or p > 1:
            raise ValueError(f"dropout probability has to be between 0 and 1, but got {p}")
        self.p = p
        self.inplace = inplace

    def forward(self, input: Any) -> Any:  # noqa: A002
        """Dropped out in training, the input itself in evaluation."""
        return getattr(F, self._function)(input, self.p, self.training, self.inplace)

    def extra_repr(self) -> str:
        """The arguments."""
        return f"p={self.p}, inplace={self.inplace}"


class Dropout(_DropoutNd):
    """Each element 0 with probability ``p``, else divided by ``1 - p``."""

    _function = "dropout"


class Dropout1d(_DropoutNd):
    """:class:`Dropout` of whole channels of (N, C, L)."""

    _function = "dropout1d"


class Dropout2d(_DropoutNd):
    """:class:`Dropout` of whole channels of (N, C, H, W)."""

    _function = "dropout2d"


class Dropout3d(_DropoutNd):
    """:class:`Dropout` of whole channels of (N, C, D, H, W)."""

    _function = "dropout3d"


class AlphaDropout(_DropoutNd):
    """Dropout that keeps the mean and variance that SELU gives."""

    _function = "alpha_dropout"


class FeatureAlphaDropout(_DropoutNd):
    """:class:`AlphaDropout` of whole channels."""

    _function = "feature_alpha_dropout"
