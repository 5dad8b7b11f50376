"""Modules without initial values of their own."""

from __future__ import annotations

import inspect
from typing import Any

import mindtorch.torch as torch

from ..modules.module import Module

__all__ = ["skip_init"]


def skip_init(module_cls: Any, *args: Any, **kwargs: Any) -> Any:
    """A module whose parameters hold unspecified values; draws no random numbers.

    Args:
        module_cls: a class of modules that takes ``device``; the rest are its arguments.

    Raises:
        RuntimeError: for another class.
    """
    if not issubclass(module_cls, Module):
        raise RuntimeError(f"Expected a Module; got {module_cls}")
    if "device" not in inspect.signature(module_cls).parameters:
        raise RuntimeError("Module must support a 'device' arg to skip initialization")
    state = torch.get_rng_state()
    try:
        return module_cls(*args, **kwargs)
    finally:
        torch.set_rng_state(state)
