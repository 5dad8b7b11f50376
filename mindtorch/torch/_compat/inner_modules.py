"""Modules of torch's that are no files of ours, and whose names a package of ours has.

torch.nn.parallel.comm is a file of PyTorch's; here its functions stand in torch.nn.parallel. Such
a module (`inner_modules.txt`) is found when it is imported, and has all names of its package. The
import of one that the table of gaps names says the reason.
"""

from __future__ import annotations

import functools
import importlib
import sys
from collections.abc import Sequence
from importlib.machinery import ModuleSpec
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from importlib.abc import Loader, MetaPathFinder
else:
    Loader = MetaPathFinder = object  # importlib.abc is slow to import, and adds nothing here

__all__ = ["find_inner_modules"]

_PREFIX = "mindtorch.torch."


@functools.cache
def _packages() -> dict[str, str]:
    """By the module's name, both without "torch.": the package that has its names."""
    text = (Path(__file__).parent / "inner_modules.txt").read_text()
    found: dict[str, str] = {}
    for line in text.splitlines():
        package, _, names = line.partition(":")
        found |= dict.fromkeys(names.split(), package)
    return found


class _Finder(MetaPathFinder):
    """Finds the modules of the table, where Python's own finders found no file."""

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        if not fullname.startswith(_PREFIX):
            return None
        if fullname.removeprefix(_PREFIX) in _packages():
            return ModuleSpec(fullname, _Loader(), is_package=True)
        _errors().refuse_import(fullname.removeprefix("mindtorch."))
        return None


class _Loader(Loader):
    """Makes such a module."""

    def create_module(self, spec: ModuleSpec) -> None:
        return None

    def exec_module(self, module: ModuleType) -> None:
        """Let the module have its package's names, when they are asked for."""
        inner = module.__name__.removeprefix(_PREFIX)
        package = importlib.import_module(_PREFIX + _packages()[inner])
        shown = f"torch.{inner}"
        module.__doc__ = f"Names of torch.{_packages()[inner]}."

        def found(name: str) -> Any:
            if name == "__all__":
                return [each for each in dir(package) if each[0] != "_"]
            if name[:2] != "__":
                try:
                    return getattr(package, name)
                except AttributeError:
                    pass
            raise _errors().missing(shown, name)

        module.__dict__["__getattr__"] = found
        module.__dict__["__dir__"] = lambda: dir(package)


def _errors() -> ModuleType:
    return importlib.import_module("mindtorch.torch._compat.missing_names")


def find_inner_modules() -> None:
    """Let Python find these modules from here on."""
    if not any(type(each) is _Finder for each in sys.meta_path):
        sys.meta_path.append(_Finder())
