"""Compiled calls of modules whose hooks stay between the compiled parts.

Hooks that gather parameters before forward and again in backward, as those of ``fully_shard``, are
calls of the host. A compiled call that ends before its backward pass begins cannot hold them. So
the forward of each innermost module that has such hooks is compiled by itself, what is around it
runs op by op, and all hooks run when eager ones do.
"""

from __future__ import annotations

import threading
import weakref
from collections.abc import Callable
from typing import Any

from mindtorch.engine.dispatch import graph_under_way

__all__ = ["call_compiled", "divide", "forward_of"]

_divided: weakref.WeakSet[Any] = weakref.WeakSet()
# by module, whether it or a module within is divided, and how many were when that was found out
_known: weakref.WeakKeyDictionary[Any, tuple[int, bool]] = weakref.WeakKeyDictionary()
_parts: weakref.WeakKeyDictionary[Any, CompiledParts] = weakref.WeakKeyDictionary()


class _Active(threading.local):
    parts: CompiledParts | None = None


_active = _Active()


def divide(module: Any) -> None:
    """Note that ``module`` has hooks that stay outside of compiled parts."""
    _divided.add(module)


def _is_divided(module: Any) -> bool:
    known = _known.get(module)
    if known is None or known[0] != len(_divided):
        known = len(_divided), any(each in _divided for each in module.modules())
        _known[module] = known
    return known[1]


def _parts_of(call: Any, module: Any) -> CompiledParts | None:
    """How the calls of a module run that ``call`` would compile as a whole; None where it does:
    the module has no such hooks, or is called by what is captured itself."""
    if not _divided or not hasattr(call, "alike") or not _is_divided(module):
        return None
    if graph_under_way() is not None:
        return None
    if call not in _parts:
        _parts[call] = CompiledParts(call)
    return _parts[call]


def call_compiled(
    call: Any, module: Any, uncompiled: Callable[..., Any], args: Any, kwargs: Any
) -> Any:
    """What ``call`` makes of ``uncompiled``, a call of ``module``: as a whole, or by its parts."""
    parts = _parts_of(call, module)
    if parts is not None:
        return parts.call(uncompiled, *args, **kwargs)
    return call(*args, **kwargs)


def forward_of(module: Any) -> Any:
    """What runs between a module's hooks."""
    parts = _active.parts
    return module.forward if parts is None else parts.forward_of(module)


class CompiledParts:
    """The compiled forwards of the modules within one that is called.

    Args:
        whole: the compiled call whose options they have.
    """

    def __init__(self, whole: Any) -> None:
        self._whole = weakref.proxy(whole)  # which holds these parts
        self._forwards: weakref.WeakKeyDictionary[Any, Any] = weakref.WeakKeyDictionary()

    def call(self, function: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
        """``function(*args, **kwargs)``, in which forwards run compiled."""
        before, _active.parts = _active.parts, self
        try:
            return function(*args, **kwargs)
        finally:
            _active.parts = before

    def forward_of(self, module: Any) -> Callable[..., Any]:
        """The forward of a module with hooks: compiled, where it has those that stay outside and
        no module within has any."""
        if module not in _divided or any(_is_divided(each) for each in module.children()):
            forward: Callable[..., Any] = module.forward
            return forward
        found: Callable[..., Any] | None = self._forwards.get(module)
        if found is None:
            here: Any = weakref.proxy(module)

            def forward_of_part(*args: Any, **kwargs: Any) -> Any:
                return here.forward(*args, **kwargs)

            found = self._forwards[module] = self._whole.alike(forward_of_part)
        return found
