"""Modules of kernels by their names: they bring numba, and so are loaded when they are needed."""

from __future__ import annotations

import importlib
from typing import Any

__all__ = ["kernel_module"]


def kernel_module(device: str, name: str) -> Any:
    """A module of ``mindtorch.kernels.cpu`` or ``mindtorch.kernels.cuda``.

    Raises:
        ModuleNotFoundError: there is none of that name.
    """
    return importlib.import_module(f"mindtorch.kernels.{device}.{name}")
