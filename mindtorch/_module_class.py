"""Modules whose attributes are checked or computed: modules of a class of their own."""

from __future__ import annotations

import sys
from types import ModuleType

__all__ = ["set_module_class"]


def set_module_class(name: str, kind: type[ModuleType]) -> None:
    """Make a module an object of a class of modules, as Python's reference has it.

    Args:
        name: under which the module is imported.
    """
    sys.modules[name].__class__ = kind
