"""Tensor and its parts. The class itself is imported when it is first asked for: its parts need
modules that need others of these parts."""

from typing import Any


def __getattr__(name: str) -> Any:
    if name in ("Tensor", "TensorMeta"):
        from . import tensor

        return getattr(tensor, name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
