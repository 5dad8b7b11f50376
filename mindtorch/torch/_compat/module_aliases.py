"""Modules of torch's that only say where a name lives: scripts import and pickles mention them."""

from __future__ import annotations

import sys
from importlib.machinery import ModuleSpec
from types import ModuleType

from mindtorch._module_names import module_names

__all__ = ["alias_module"]


def alias_module(package: str, name: str, names: str) -> None:
    """Make `package.name`, a module that has some names of the package under its own.

    The classes and functions say that they are of this module.

    Args:
        package: the full name of the package, which has the names.
        name: of the module.
        names: between blanks.
    """
    full, parent = f"{package}.{name}", sys.modules[package]
    module = ModuleType(full, f"Names of {package.removeprefix('mindtorch.')}.")
    module.__spec__ = ModuleSpec(full, None, origin=__file__)
    for each in names.split():
        value = getattr(parent, each)
        setattr(module, each, value)
        home = getattr(value, "__module__", "")
        if home.startswith(package) and home != full:
            module.__file__ = sys.modules[home].__file__  # where inspect looks for the source
            value.__module__ = full
    sys.modules[full] = module
    setattr(parent, name, module)
    module_names.loaded(module)
