"""torch.jit: the marks that TorchScript reads, for code that is run as Python.

There is no TorchScript here. A scripted function means the same as the Python function, so `script`
and `trace` give back what they were given and say once that nothing was compiled; `torch.compile`
compiles. What only TorchScript has (saving and loading programs, freezing them) raises.
"""

from __future__ import annotations

import functools
import typing
import warnings
from collections.abc import Callable
from typing import Any, Final, NamedTuple, TypeVar

from mindtorch.torch._absent import absent_class, absent_function

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
    return obj


def trace(func: T, example_inputs: Any = None, *args: Any, **kwargs: Any) -> T:
    """Run `func` on the example inputs, as torch does to record it, and give it back.

    Branches stay Python's: unlike a recording it may take another one next time.
    """
    _warn_once("trace")
    if example_inputs is not None:
        given = example_inputs if _isinstance(example_inputs, tuple) else (example_inputs,)
        typing.cast(Callable[..., Any], func)(*given)
    return func


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
ScriptModule = absent_class("torch.jit", "ScriptModule", _WHY)
RecursiveScriptModule = absent_class("torch.jit", "RecursiveScriptModule", _WHY)
CompilationUnit = absent_class("torch.jit", "CompilationUnit", _WHY)
save = absent_function("torch.jit", "save", _WHY)
load = absent_function("torch.jit", "load", _WHY)
freeze = absent_function("torch.jit", "freeze", _WHY)
trace_module = absent_function("torch.jit", "trace_module", _WHY)
optimize_for_inference = absent_function("torch.jit", "optimize_for_inference", _WHY)
