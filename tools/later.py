"""Modules that load the engine or numba, imported when they are first asked for something."""

import importlib
from typing import Any

__all__ = ["later"]


def later(module: str, name: str) -> Any:
    """`name` of a module of the tools, which is imported now.

    Args:
        module: its name below `mindtorch.tools`.
        name: of what it defines.
    """
    return getattr(importlib.import_module(f"{__package__}.{module}"), name)
