"""torch.jit: the marks that TorchScript reads, for code that is run as Python.

There is no TorchScript here. A scripted function means the same as the Python function, so `script`
and `trace` give back what they were given and say once that nothing was compiled; `torch.compile`
compiles. `save` and `load` keep the Python object; files of TorchScript and its classes raise.
"""

from __future__ import annotations

import functools
import typing
import warnings
from collections.abc import Callable
from typing import Any, Final, NamedTuple, TypeVar

from mindtorch.torch._absent import absent_class
from mindtorch.torch.nn import Module

from ._archives import load, save, with_save
from .annotations import BroadcastingList1, BroadcastingList2, BroadcastingList3

__all__ = [
    "Attribute",
    "BroadcastingList1",
    "BroadcastingList2",
    "BroadcastingList3",
    "CompilationUnit",
    "Final",
    "Future",
    "ScriptFunction",
    "ScriptModule",
    "TracerWarning",
    "annotate",
    "export",
    "fork",
    "freeze",
    "ignore",
    "interface",
    "is_scripting",
    "is_tracing",
    "isinstance",
    "load",
    "optimize_for_inference",
    "save",
    "script",
    "script_if_tracing",
    "script_method",
    "trace",
    "trace_module",
    "unused",
    "wait",
]

F = TypeVar("F", bound=Callable[..., Any])
T = TypeVar("T")

_WHY = "there is no TorchScript; torch.compile compiles, torch.save keeps a state_dict"
_isinstance = isinstance


class Attribute(NamedTuple):
    """A value with the type that a script gives it."""

    value: Any
    type: Any


def is_scripting() -> bool:
    """False: Python code is never turned into TorchScript here."""
    return False


def is_tracing() -> bool:
    """False: `trace` runs the function, and records nothing."""
    return False


@functools.cache
def _warn_once(name: str) -> None:
    warnings.warn(
        f"torch.jit.{name} compiles nothing in mindtorch: the Python code itself is run. "
        "torch.compile compiles.",
        stacklevel=3,
    )


def script(
    obj: T,
    optimize: None = None,
    _frames_up: int = 0,
    _rcb: Any = None,
    example_inputs: Any = None,
) -> T:
    """Give back `obj`, a function, class or module: run as Python it means the same."""
    _warn_once("script")
    return typing.cast(T, with_save(obj))


def trace(func: T, example_inputs: Any = None, *args: Any, **kwargs: Any) -> T:
    """Run `func` on the example inputs, as torch does to record it, and give it back.

    Branches stay Python's: unlike a recording it may take another one next time.
    """
    _warn_once("trace")
    if example_inputs is not None:
        given = example_inputs if _isinstance(example_inputs, tuple) else (example_inputs,)
        typing.cast(Callable[..., Any], func)(*given)
    return typing.cast(T, with_save(func))


def trace_module(mod: Any, inputs: dict[str, Any], *args: Any, **kwargs: Any) -> Any:
    """Run the methods that `inputs` names, each on its inputs, and give the module back."""
    _warn_once("trace_module")
    for name, each in inputs.items():
        given = each if _isinstance(each, tuple) else (each,)
        (mod if name == "forward" else getattr(mod, name))(*given)
    return with_save(mod)


def freeze(mod: Any, preserved_attrs: Any = None, optimize_numerics: bool = True) -> Any:
    """The module, which must be in eval mode: there is no program whose parameters to inline.

    Raises:
        RuntimeError: the module is in train mode.
    """
    if mod.training:
        raise RuntimeError(
            "Freezing is currently only implemented for modules in eval mode. Please call .eval() "
            "on your module before freezing."
        )
    _warn_once("freeze")
    return mod


def optimize_for_inference(mod: Any, other_methods: Any = None) -> Any:
    """The module in eval mode."""
    _warn_once("optimize_for_inference")
    return mod.eval()


def script_method(fn: F) -> F:
    """Mark a method of a script. As Python it is called as it is."""
    return fn


class TracerWarning(Warning):
    """What torch's tracer warns with; `trace` records nothing here and never warns so."""


def script_if_tracing(fn: F) -> F:
    """`fn`: tracing never happens, so it is never scripted."""
    return fn


_script_if_tracing = script_if_tracing


def unused(fn: F) -> F:
    """Mark a method that scripts may not call. As Python it may be called."""
    return fn


def export(fn: F) -> F:
    """Mark a method that a script keeps though nothing calls it."""
    return fn


def interface(obj: T) -> T:
    """Mark a class whose methods only say what another class must have."""
    return obj


def ignore(drop: Any = False, **kwargs: Any) -> Any:
    """Mark a method that scripts leave to Python. Used bare or with an argument."""
    return drop if callable(drop) else lambda fn: fn


def _overload(func: F) -> F:
    """Mark one of several signatures of the function that follows."""
    return func


_overload_method = _overload


def annotate(the_type: Any, the_value: T) -> T:
    """`the_value`, of which a script would know that it is of `the_type`."""
    return the_value


def isinstance(obj: Any, target_type: Any) -> bool:
    """Whether `obj` is of a type, also of a container's with its items: `List[Tensor]`."""
    if _isinstance(target_type, tuple):
        return any(isinstance(obj, each) for each in target_type)
    origin, args = typing.get_origin(target_type), typing.get_args(target_type)
    if origin is None:
        return _isinstance(obj, target_type)
    if origin is typing.Union:
        return any(isinstance(obj, each) for each in args)
    if not _isinstance(obj, origin):
        return False
    if origin is tuple:
        pairs = zip(obj, args, strict=False)
        return len(obj) == len(args) and all(isinstance(item, each) for item, each in pairs)
    if origin is dict:
        return all(isinstance(k, args[0]) and isinstance(v, args[1]) for k, v in obj.items())
    return all(isinstance(item, args[0]) for item in obj)


class Future:
    """The result of `fork`, which is there at once."""

    def __init__(self, value: Any) -> None:
        self._value = value

    def wait(self) -> Any:
        return self._value

    value = wait

    def done(self) -> bool:
        return True


def fork(func: Callable[..., Any], *args: Any, **kwargs: Any) -> Future:
    """Call `func` now: outside TorchScript torch does the same."""
    return Future(func(*args, **kwargs))


def wait(future: Future) -> Any:
    """The value of a `fork`."""
    return future.wait()


ScriptFunction = absent_class("torch.jit", "ScriptFunction", _WHY)

class ScriptModule(Module):
    """The base of modules whose methods are marked as scripts; they run as Python."""

    def save(self, f: Any, _extra_files: dict[str, Any] | None = None) -> None:
        """Write the module as :func:`save` does."""
        save(self, f, _extra_files)


RecursiveScriptModule = absent_class("torch.jit", "RecursiveScriptModule", _WHY)
CompilationUnit = absent_class("torch.jit", "CompilationUnit", _WHY)
