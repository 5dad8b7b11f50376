"""Modules of torch's that only say where a name lives: scripts import and pickles mention them."""

from __future__ import annotations

import sys
from importlib.machinery import ModuleSpec
from types import ModuleType

__all__ = ["alias_module"]


def alias_module(package: str, name: str, names: str) -> None:
    """Make `package.name`, a module that has some names of the package under its own.

    Args:
        package: the full name of the package, which has the names.
        name: of the module.
        names: between blanks.
    """
    full, parent = f"{package}.{name}", sys.modules[package]
    module = ModuleType(full, f"Names of {package.removeprefix('mindtorch.')}.")
    module.__spec__ = ModuleSpec(full, None, origin=__file__)
    for each in names.split():
        setattr(module, each, getattr(parent, each))
    sys.modules[full] = module
    setattr(parent, name, module)
