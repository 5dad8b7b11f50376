"""What goes wrong in Lite."""

from __future__ import annotations

__all__ = ["ConvertError", "LiteFileError"]


class ConvertError(RuntimeError):
    """A model cannot be converted, or an option is not supported."""


class LiteFileError(RuntimeError):
    """A file is no Lite model, or is truncated, damaged or newer than what is known."""
