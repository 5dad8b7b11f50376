"""The import switch: which library answers to the name `torch`.

`torch_disable()` lets `import torch` and `import torch.x` give `mindtorch.torch` and
`mindtorch.torch.x`, the very same module objects; `torch_enable()` gives real PyTorch back. Both
push the side that was active, `torch_pop()` returns to it:

    torch_enable()
    import torch  # real PyTorch, whatever was active before
    torch_pop()

The names follow the original package and speak of *real* torch being disabled or enabled.

A package that is built on torch (torchvision, torchaudio) is imported once per side: its modules
are set aside with torch's own when the side changes, and put back when the side returns. Names
that a module has already bound stay what they are. The switch is of the whole process; a thread
that imports torch while another thread switches may get either side.

The environment variable `MINDTORCH_ENABLE=0` switches the switch off: real torch on both sides.
With `MINDTORCH_ENABLE=1` Python itself imports `mindtorch.tools.mstorch_enable` when it starts
(`mindtorch_enable.pth`, which an installation has beside the package).
"""

import importlib
import importlib.util
import os
import sys
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from importlib.machinery import ModuleSpec
from types import ModuleType
from typing import TYPE_CHECKING

from ._module_names import module_names

if TYPE_CHECKING:
    from importlib.abc import Loader, MetaPathFinder
    from importlib.metadata import Distribution, DistributionFinder
else:
    Loader = MetaPathFinder = object  # importlib.abc is slow to import, and adds nothing here

__all__ = [
    "PACKAGES",
    "active_side",
    "exchange_names_of_real_torch",
    "real_torch",
    "torch_as_mindtorch",
    "torch_disable",
    "torch_enable",
    "torch_pop",
]

REAL = "torch"
OURS = "mindtorch"

# Packages whose modules hold on to the torch they were imported with: one copy per side. Others
# can be added, e.g. `PACKAGES.add("timm")`, before they are imported.
PACKAGES = {"torch", "torchgen", "functorch", "torchvision", "torchaudio", "torchtext"}

# What stands for a package while our side is active; MindSpore's where the real ones are missing.
_ALIASES = {"torch": "mindtorch.torch", "functorch": "mindtorch.torch._compat.functorch"}
_FALLBACKS = {
    "mindspore": "mindtorch.mindspore", "mindspore_lite": "mindtorch.lite",
    "mindspore_serving": "mindtorch.serving", "mindinsight": "mindtorch.tools.mindinsight",
}  # fmt: skip

_lock = threading.RLock()
_active = REAL
_stack: list[str] = []
_set_aside: dict[str, dict[str, ModuleType]] = {REAL: {}, OURS: {}}


class _AliasLoader(Loader):
    """Answers an import with a module that is known under another name."""

    def __init__(self, target: str) -> None:
        self.target = target
        self.spec: ModuleSpec | None = None

    def create_module(self, spec: ModuleSpec) -> ModuleType:
        module = importlib.import_module(self.target)
        self.spec = module.__spec__
        return module

    def exec_module(self, module: ModuleType) -> None:
        # The import system has written the alias's spec into the module: the module keeps its own.
        alias = module.__spec__.name if module.__spec__ is not None else self.target
        module.__spec__ = self.spec
        if hasattr(module, "__path__"):
            _name_shadowed(self.target, alias)


def _name_shadowed(package: str, alias: str) -> None:
    """Name the modules below a package that a function of the same name hides, as
    torch.autograd.gradcheck: an import that finds them loaded leaves the function in its place."""
    for name, module in list(sys.modules.items()):
        if name.startswith(f"{package}."):
            parent, _, last = name.rpartition(".")
            if vars(sys.modules[parent]).get(last, module) is not module:
                sys.modules.setdefault(alias + name.removeprefix(package), module)


def _exists(name: str) -> bool:
    """Whether a module of this name is loaded or can be found."""
    if name in sys.modules:
        return sys.modules[name] is not None
    try:
        return importlib.util.find_spec(name) is not None
    except ModuleNotFoundError as error:
        if f"{name}.".startswith(f"{error.name}."):
            return False
        raise


class _AliasFinder(MetaPathFinder):
    """Finds `torch.x` where `mindtorch.torch.x` is. A finder of its own for each table of names."""

    def __init__(self, aliases: dict[str, str], tells: bool) -> None:
        self.aliases = aliases
        self.tells = tells

    def find_spec(
        self,
        fullname: str,
        path: Sequence[str] | None,
        target: ModuleType | None = None,
    ) -> ModuleSpec | None:
        first, _, rest = fullname.partition(".")
        if first not in self.aliases:
            return None
        name = f"{self.aliases[first]}.{rest}" if rest else self.aliases[first]
        if _exists(name):
            return ModuleSpec(fullname, _AliasLoader(name), origin=name)
        if not self.tells:
            return None
        print(f"Fail to import  {name}")
        if rest:
            errors = importlib.import_module("mindtorch.torch._compat.missing_names")
            errors.refuse_import(fullname)
            return None  # no other finder can find it: the import system raises
        raise ModuleNotFoundError(f"No module named {fullname!r}", name=fullname)


class _TorchFinder(_AliasFinder):
    """The finder of torch's names, which also answers for torch's version."""

    def find_distributions(
        self, context: "DistributionFinder.Context | None" = None
    ) -> "Iterator[Distribution]":
        if context is None or context.name is None or context.name.lower() == "torch":
            from ._torch_distribution import TorchDistribution

            yield TorchDistribution()


class _InsideFinder(_AliasFinder):
    """Finds `mindspore.x` once `mindspore` is the facade: before Python's own finder, which would
    load the files below the facade a second time, under that name."""

    def find_spec(
        self,
        fullname: str,
        path: Sequence[str] | None,
        target: ModuleType | None = None,
    ) -> ModuleSpec | None:
        first, _, rest = fullname.partition(".")
        package = sys.modules.get(first)
        if not rest or first not in self.aliases or package is None:
            return None
        if package.__name__ != self.aliases[first]:
            return None
        return super().find_spec(fullname, path, target)


_torch_finder = _TorchFinder(_ALIASES, tells=True)
_fallback_finder = _AliasFinder(_FALLBACKS, tells=False)
_inside_finder = _InsideFinder(_FALLBACKS, tells=False)


def active_side() -> str:
    """'torch' where `import torch` gives real PyTorch, 'mindtorch' where it gives ours."""
    return _active


def _is_per_side(name: str) -> bool:
    first = name.partition(".")[0]
    if first in PACKAGES:
        return True
    # `mindspore` is the facade only as long as our side is active; a real one stays where it is.
    module = sys.modules.get(name)
    return first in _FALLBACKS and getattr(module, "__name__", "").startswith("mindtorch.")


def _switch(side: str) -> None:
    """Make `side` the active one: exchange the loaded modules, then the finders."""
    global _active
    if side == OURS and os.environ.get("MINDTORCH_ENABLE") == "0":
        side = REAL
    if side == _active:
        return
    leaving = {name: sys.modules[name] for name in list(sys.modules) if _is_per_side(name)}
    for name in leaving:
        del sys.modules[name]
    _set_aside[_active] = leaving
    sys.modules.update(_set_aside[side])
    _set_aside[side] = {}
    if side == OURS:
        sys.meta_path[:0] = [_torch_finder, _inside_finder, module_names]
        sys.meta_path.append(_fallback_finder)
        module_names.show()
    else:
        for finder in (_torch_finder, _inside_finder, module_names, _fallback_finder):
            sys.meta_path.remove(finder)
        module_names.hide()
    _active = side


def torch_disable() -> None:
    """From here on `import torch` gives mindtorch.torch. Pushes the side that was active."""
    with _lock:
        _stack.append(_active)
        _switch(OURS)


def exchange_names_of_real_torch() -> None:
    """Let the module that imports the switch, and took names from real torch before, have ours."""
    real = _set_aside[REAL]
    if _active == OURS and "torch" in real:
        from ._late_switch import exchange_earlier_names

        exchange_earlier_names(real, PACKAGES)


def torch_enable() -> None:
    """From here on `import torch` gives real PyTorch. Pushes the side that was active."""
    with _lock:
        _stack.append(_active)
        _switch(REAL)


def torch_pop() -> None:
    """Undo the last `torch_disable` or `torch_enable`; with none left, real PyTorch."""
    with _lock:
        _switch(_stack.pop() if _stack else REAL)


@contextmanager
def torch_as_mindtorch() -> Iterator[None]:
    """`torch_disable()` for the length of a block."""
    torch_disable()
    try:
        yield
    finally:
        torch_pop()


@contextmanager
def real_torch() -> Iterator[None]:
    """`torch_enable()` for the length of a block."""
    torch_enable()
    try:
        yield
    finally:
        torch_pop()
