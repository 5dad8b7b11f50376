"""Small helpers that migrated scripts import."""

from __future__ import annotations

import importlib
from types import ModuleType

__all__ = ["try_import"]


def try_import(module_name: str) -> ModuleType:
    """The module of this name.

    Raises:
        ImportError: it is not installed; says what to install.
    """
    try:
        return importlib.import_module(module_name)
    except ImportError as error:
        package = module_name.partition(".")[0]
        raise ImportError(
            f"importing {module_name!r} failed; it may need a package: pip install {package}"
        ) from error
