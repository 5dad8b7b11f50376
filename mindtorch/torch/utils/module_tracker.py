"""Which modules are being called, forward or backward."""

from __future__ import annotations

import weakref
from typing import Any

from mindtorch.engine.autograd import backward
from mindtorch.engine.tensor import Tensor as EngineTensor
from mindtorch.torch.nn.modules.module import (
    register_module_forward_hook,
    register_module_forward_pre_hook,
)

from ._pytree import tree_leaves

__all__ = ["ModuleTracker"]


def _tracked(values: Any) -> list[Any]:
    return [x for x in tree_leaves(values) if isinstance(x, EngineTensor) and x.requires_grad]


class ModuleTracker:
    """In a ``with`` block ``parents`` has the paths of the modules that are being called.

    A path is the class of the outermost module and the attributes on the way, as
    "Net.block.linear"; "Global" is always there. In the backward pass a module is one of them from
    the gradient of its results to that of its arguments.

    Attributes:
        parents: the paths.
    """

    def __init__(self) -> None:
        self.parents: set[str] = {"Global"}
        self._names: weakref.WeakKeyDictionary[Any, str] = weakref.WeakKeyDictionary()
        self._handles: list[Any] = []

    @property
    def is_bw(self) -> bool:
        """Whether a backward pass is running."""
        return bool(backward.running())

    def __enter__(self) -> ModuleTracker:
        self._handles = [
            register_module_forward_pre_hook(self._before),
            register_module_forward_hook(self._after),
        ]
        return self

    def __exit__(self, *exception: object) -> None:
        for handle in self._handles:
            handle.remove()

    def _name(self, module: Any) -> str:
        if module not in self._names:
            root = type(module).__name__
            for path, child in module.named_modules():
                self._names[child] = f"{root}.{path}" if path else root
        return self._names[module]

    def _before(self, module: Any, arguments: Any) -> None:
        name = self._name(module)
        self.parents.add(name)
        waited = _tracked(arguments)
        count = len(waited)

        def arrived(gradient: Any) -> None:
            nonlocal count
            count -= 1
            if not count:
                self.parents.discard(name)

        for x in waited:
            x.register_hook(arrived)

    def _after(self, module: Any, arguments: Any, results: Any) -> None:
        name = self._name(module)
        self.parents.discard(name)

        def arrived(gradient: Any) -> None:
            if name not in self.parents:
                self.parents.add(name)
                backward.running()[-1].callbacks.append(lambda: self.parents.discard(name))

        for x in _tracked(results):
            x.register_hook(arrived)
