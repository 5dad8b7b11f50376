"""How often values occur, and between which they lie: what decides the shape of a result, or that
it is refused, and so is no op."""

from __future__ import annotations

import functools
from typing import Any

from .kernel_modules import kernel_module

__all__ = ["loops"]


@functools.cache
def loops() -> Any:
    """:mod:`mindtorch.kernels.cpu.ordering.counting`."""
    return kernel_module("cpu", "ordering.counting")
