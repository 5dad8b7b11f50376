"""What torch.compile returns: a module or a function that is captured and runs as kernels."""

from __future__ import annotations

import functools
import warnings
import weakref
from collections.abc import Callable
from typing import Any

from mindtorch.engine.compile.guards import module_changes
from mindtorch.engine.compile.jit import Jitted, jit
from mindtorch.engine.dispatch import graph_under_way

from ..nn.modules._compiled_parts import call_compiled
from ..nn.modules.module import Module
from .exc import Unsupported
from .function_backends import BackendFunction

__all__ = ["OptimizedModule", "eager_function"]


_TWICE = (
    "Using `torch.compile(module)` when there are global hooks on modules (e.g., from "
    "`register_module_forward_hook`); this will cause the hooks to fire an extra time for the "
    "`OptimizedModule` created by `torch.compile(module)`. If this causes undesired behavior, "
    "please try using `module.compile()`, or use the per-module hooks instead"
)


class OptimizedModule(Module):
    """A module around another one: calls run it, attributes are read from it and set on it.

    Its parameters are those of ``_orig_mod``, so the keys of its ``state_dict`` begin with that
    name, as they do in torch.
    """

    _own = frozenset({"_orig_mod", "__class__"})

    def __init__(self, mod: Module) -> None:
        super().__init__()
        self._orig_mod = mod
        del self.__dict__["training"]  # it is read from the module

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        if any(module_changes.registries):
            warnings.warn(_TWICE, stacklevel=2)
        return super().__call__(*args, **kwargs)

    def forward(self, *args: Any, **kwargs: Any) -> Any:
        call = _compiled.get(self, self._orig_mod)
        return call_compiled(call, self._orig_mod, self._orig_mod, args, kwargs)

    def __getattr__(self, name: str) -> Any:
        if name == "_orig_mod":
            return self.__dict__["_modules"]["_orig_mod"]
        return getattr(self._orig_mod, name)

    def __setattr__(self, name: str, value: Any) -> None:
        ready = "_orig_mod" in self.__dict__.get("_modules", {})
        if not ready or name in self._own or name in self.__dict__:
            super().__setattr__(name, value)
        else:
            setattr(self._orig_mod, name, value)

    def __delattr__(self, name: str) -> None:
        if name in self._own or name in self.__dict__:
            super().__delattr__(name)
        else:
            delattr(self._orig_mod, name)

    def __len__(self) -> int:
        return len(self._orig_mod)

    def __bool__(self) -> bool:
        return True

    def __dir__(self) -> list[str]:
        return sorted({*super().__dir__(), *self._orig_mod.__dir__()})


# the compiled calls of modules: no part of their state
_compiled: weakref.WeakKeyDictionary[OptimizedModule, Jitted | BackendFunction] = (
    weakref.WeakKeyDictionary()
)


def compiled_module(
    module: Module, whole: bool, recorded: bool = False, limit: int | None = None,
    dynamic: bool | None = None,
) -> OptimizedModule:
    """``module`` with calls that are captured once and then run as kernels."""
    result = OptimizedModule(module)

    def call(*args: Any, **kwargs: Any) -> Any:
        return module(*args, **kwargs)

    _compiled[result] = jit(call, Unsupported if whole else None, recorded, limit, dynamic)
    return result


def compiled_function(
    function: Callable[..., Any], whole: bool, recorded: bool = False, limit: int | None = None,
    dynamic: bool | None = None,
) -> Callable[..., Any]:
    """``function``, captured once and then run as kernels."""
    compiled = jit(function, Unsupported if whole else None, recorded, limit, dynamic)
    compiled._torchdynamo_orig_callable = function  # type: ignore[attr-defined]
    return compiled


def compiled_by(
    model: Any, backend: Callable[..., Any], whole: bool, options: dict[str, Any] | None
) -> Any:
    """A module or function whose calls ``backend`` compiles."""
    if not isinstance(model, Module):
        return BackendFunction(model, backend, whole, None, options)
    result = OptimizedModule(model)

    def call(*args: Any, **kwargs: Any) -> Any:
        return model(*args, **kwargs)

    _compiled[result] = BackendFunction(call, backend, whole, model, options)
    return result


def eager_function(function: Callable[..., Any]) -> Callable[..., Any]:
    """A function that calls ``function``, and carries its name, signature and documentation."""

    @functools.wraps(function)
    def compiled(*args: Any, **kwargs: Any) -> Any:
        capture = graph_under_way()
        if capture is not None:
            capture.break_graph(f"{getattr(function, '__name__', function)}, which is disabled,")
        return function(*args, **kwargs)

    compiled._torchdynamo_orig_callable = function  # type: ignore[attr-defined]
    return compiled
