"""Names that packages use to write the ONNX form of their operators: see torch.onnx."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

__all__ = ["parse_args"]


def parse_args(*arg_descriptors: str) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Say of a symbolic function what its arguments are; kept as `_arg_descriptors`."""

    def decorate(fn: Callable[..., Any]) -> Callable[..., Any]:
        fn.__dict__["_arg_descriptors"] = arg_descriptors
        return fn

    return decorate
