"""What goes wrong while a model becomes a graph for inference."""

from __future__ import annotations

__all__ = ["ExportError", "ExportWarning", "UnsupportedOperatorError"]


class ExportWarning(UserWarning):
    """A model is written, though not quite as it was asked for."""


class ExportError(RuntimeError):
    """A model cannot be exported."""


class UnsupportedOperatorError(ExportError):
    """The model uses an op that has no counterpart in the format."""
