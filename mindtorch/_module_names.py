"""Names of modules, classes and functions while `torch` means mindtorch.torch.

Programs look at `type(layer).__module__.startswith("torch.nn")`, compare a scheduler's `__module__`
with the `__name__` of a module, and print classes. While our side of the switch is active, public
modules and what they define therefore say `torch.nn`, not `mindtorch.torch.nn`; each gets its own
name back when real torch returns.
"""

import sys
from collections.abc import Sequence
from importlib.machinery import ModuleSpec, PathFinder, SourceFileLoader
from types import FunctionType, ModuleType
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from importlib.abc import MetaPathFinder
else:
    MetaPathFinder = object  # importlib.abc is slow to import, and adds nothing here

__all__ = ["is_ours", "is_public", "module_names"]

_PACKAGE = "mindtorch.torch"
# what real torch has not
_INNER = (f"{_PACKAGE}.functions", f"{_PACKAGE}.settings", "mindtorch.engine", "mindtorch.kernels")


def is_ours(module: str) -> bool:
    """Whether a module of this name is mindtorch's: by its own name, or by torch's for it."""
    return module.partition(".")[0] in ("mindtorch", "torch")


def is_public(module: str) -> bool:
    """Whether scripts may import a module by this name."""
    return "._" not in module and not module.startswith(_INNER)


def _has_torchs_name(module: str) -> bool:
    return f"{module}.".startswith(f"{_PACKAGE}.") and is_public(module)


class _Loader(SourceFileLoader):
    """Loads a module of ours, which then has torch's name."""

    names: "_ModuleNames"

    def exec_module(self, module: ModuleType) -> None:
        super().exec_module(module)
        self.names.loaded(module)


class _ModuleNames(MetaPathFinder):
    """Gives public modules torch's names, and finds those that are imported afterwards."""

    def __init__(self) -> None:
        self.shown = False
        self._named: dict[str, list[Any]] = {}  # by a module's own name: it, and what it defines

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        """The spec that Python's own finder has, with a loader that names the module."""
        if not _has_torchs_name(fullname):
            return None
        spec = PathFinder.find_spec(fullname, path, target)
        if spec is not None and type(spec.loader) is SourceFileLoader:
            spec.loader.__class__ = _Loader
            spec.loader.names = self  # type: ignore[attr-defined]
        return spec

    def show(self) -> None:
        """Let all that is loaded have torch's names."""
        self.shown = True
        for name, named in self._named.items():
            self._rename(named, name.removeprefix("mindtorch."))
        for name, module in list(sys.modules.items()):
            if name not in self._named and _has_torchs_name(name):
                self._show_module(module)

    def hide(self) -> None:
        """Give all their own names back."""
        self.shown = False
        for name, named in self._named.items():
            self._rename(named, name)

    def loaded(self, module: ModuleType) -> None:
        """A module was made: give it torch's name, if names are shown and it is a public one."""
        if self.shown and _has_torchs_name(module.__name__):
            self._show_module(module)

    def _show_module(self, module: ModuleType) -> None:
        """Let a module, and the classes and functions that it defines, have torch's name."""
        own = module.__name__
        name = own.removeprefix("mindtorch.")
        self._named[own] = [module, *_defined(vars(module).values(), own)]
        self._rename(self._named[own], name)
        sys.modules.setdefault(name, module)  # where inspect and pickle look for them

    @staticmethod
    def _rename(named: list[Any], name: str) -> None:
        named[0].__name__ = name
        for value in named[1:]:
            value.__module__ = name


module_names = _ModuleNames()


def _defined(values: Any, home: str) -> list[Any]:
    """The classes and functions among values that are of a module, and the classes in these.

    Private functions keep their names: pickles mention those that make things again.
    """
    found: list[Any] = []
    for value in values:
        if isinstance(value, type):
            if value.__dict__.get("__module__") == home:
                found.append(value)
                inner = f"{value.__qualname__}."
                found += _defined([each for each in vars(value).values()
                                   if isinstance(each, type)
                                   and each.__qualname__.startswith(inner)], home)
        elif (
            type(value) is FunctionType and value.__module__ == home and value.__name__[0] != "_"
        ):
            found.append(value)
    return found
