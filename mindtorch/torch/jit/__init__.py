"""torch.jit: `script` and `trace` compile as `torch.compile` does, from the Python code.

A scripted or traced function means the same as the Python function: its calls are captured and run
as kernels, and code that cannot be captured runs in lazy mode. Modules are compiled in place, and
`save` keeps the Python object. `load` also reads the archives of TorchScript that real torch
writes, and runs their code op by op (docs/design/032-torchscript-archives.md).
"""

from __future__ import annotations

import typing
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, Final, NamedTuple, TypeVar

from mindtorch.engine.settings import policy
from mindtorch.torch._api.public_names import own_names as _own_names
from mindtorch.torch._compat.unsupported_names import absent_class, absent_function
from mindtorch.torch.nn import Module
from mindtorch.torch.nn.modules.module import _typename
from mindtorch.torch.nn.parameter import is_lazy

from ._archives import load
from ._compiled import ScriptFunction, compiled
from ._fusion_settings import (
    enable_onednn_fusion,
    onednn_fusion_enabled,
    set_fusion_strategy,
    strict_fusion,
)
from ._saving import save
from ._script_module import ScriptModule
from ._torchscript.errors import Error
from ._torchscript.script_modules import RecursiveScriptModule as RecursiveScriptModule
from .annotations import BroadcastingList1, BroadcastingList2, BroadcastingList3

__all__ = [
    "Attribute",
    "BroadcastingList1",
    "BroadcastingList2",
    "BroadcastingList3",
    "CompilationUnit",
    "Error",
    "Final",
    "Future",
    "ScriptFunction",
    "ScriptModule",
    "TracerWarning",
    "annotate",
    "enable_onednn_fusion",
    "export",
    "fork",
    "freeze",
    "ignore",
    "interface",
    "is_scripting",
    "is_tracing",
    "isinstance",
    "load",
    "onednn_fusion_enabled",
    "optimize_for_inference",
    "optimized_execution",
    "save",
    "script",
    "script_if_tracing",
    "script_method",
    "set_fusion_strategy",
    "strict_fusion",
    "trace",
    "trace_module",
    "unused",
    "wait",
]

F = TypeVar("F", bound=Callable[..., Any])
T = TypeVar("T")

_WHY = "no TorchScript is made here; script and torch.compile compile Python code"
_isinstance = isinstance


class Attribute(NamedTuple):
    """A value with the type that a script gives it."""

    value: Any
    type: Any


def is_scripting() -> bool:
    """False: Python code is never turned into TorchScript here."""
    return False


def is_tracing() -> bool:
    """False: branches of a traced function stay Python's."""
    return False


def script(
    obj: Any,
    optimize: None = None,
    _frames_up: int = 0,
    _rcb: Any = None,
    example_inputs: Any = None,
) -> Any:
    """Compile `obj`: a module in place, a function as a :class:`ScriptFunction`.

    Classes and whatever else is given come back as they are: Python runs them. Example inputs only
    tell TorchScript the types of arguments, which Python needs not know.

    Args:
        optimize, example_inputs: of no effect.

    Raises:
        RuntimeError: a module that is still without the shape of a parameter or buffer.
        TypeError: a number, a string or None.
    """
    if obj is None or _isinstance(obj, (bool, int, float, complex, str, bytes)):
        raise TypeError(f"{type(obj)} is a built-in class")
    if _isinstance(obj, Module):
        _refuse_lazy(obj)
    return compiled(obj)


def _refuse_lazy(whole: Any) -> None:
    for module in whole.modules():
        for kind, held in (("parameters", module._parameters), ("buffers", module._buffers)):
            for name, value in held.items():
                if is_lazy(value):
                    raise RuntimeError(
                        f"'{_typename(module)}' has uninitialized {kind} {name}. Did you forget to "
                        "run a forward pass?"
                    )


def _run(call: Callable[..., Any], given: Any) -> None:
    """Call on example inputs: a tuple of arguments, or the one argument."""
    call(*(given if _isinstance(given, tuple) else (given,)))


def trace(
    func: Any,
    example_inputs: Any = None,
    optimize: None = None,
    check_trace: bool = True,
    check_inputs: Any = None,
    check_tolerance: float = 1e-5,
    strict: bool = True,
    _force_outplace: bool = False,
    _module_class: Any = None,
    _compilation_unit: Any = None,
    example_kwarg_inputs: dict[str, Any] | None = None,
    _store_inputs: bool = True,
) -> Any:
    """Compile `func`, and run it on the example inputs.

    Branches stay Python's: unlike a recording it may take another one next time, so there is
    nothing that `check_trace`, `check_tolerance` or `strict` could find wrong. `check_inputs` are
    run as well.

    Args:
        func: a module, compiled in place, or a function.
        example_inputs: a tensor or a tuple of arguments.
        example_kwarg_inputs: arguments by name, instead.
        optimize: of no effect.

    Raises:
        RuntimeError: there are no example inputs, or those of both kinds.
    """
    if (example_inputs is None) == (example_kwarg_inputs is None):
        raise RuntimeError("example_kwarg_inputs or example_inputs should be given, but not both")
    made = compiled(func)
    if example_inputs is not None:
        _run(made, example_inputs)
    for each in check_inputs or ():
        _run(made, each)
    if example_kwarg_inputs is not None:
        made(**example_kwarg_inputs)
    return made


def trace_module(
    mod: Any,
    inputs: dict[str, Any],
    optimize: None = None,
    check_trace: bool = True,
    check_inputs: Any = None,
    check_tolerance: float = 1e-5,
    strict: bool = True,
    _force_outplace: bool = False,
    _module_class: Any = None,
    _compilation_unit: Any = None,
    example_inputs_is_kwarg: bool = False,
    _store_inputs: bool = True,
) -> Any:
    """Compile a module in place, and run the methods that `inputs` names on their inputs; see
    :func:`trace`. Methods other than `forward` run as Python.

    Args:
        mod: the module.
        optimize, check_trace, check_inputs, check_tolerance, strict, example_inputs_is_kwarg: as of
            :func:`trace`.
    """
    made = compiled(mod)
    for named in (inputs, *(check_inputs or ())):
        for name, each in named.items():
            call = made if name == "forward" else getattr(made, name)
            if example_inputs_is_kwarg:
                call(**each)
            else:
                _run(call, each)
    return made


def _require_script(mod: Any, what: str) -> None:
    if not _isinstance(mod, ScriptModule):
        raise RuntimeError(
            f"{what} expects a ScriptModule as input. Please use torch.jit.script or "
            "torch.jit.trace to script your 'nn.Module'."
        )


def freeze(mod: Any, preserved_attrs: Any = None, optimize_numerics: bool = True) -> Any:
    """The module, compiled; parameters stay tensors that calls read.

    Args:
        mod: a module in evaluation mode.
        preserved_attrs, optimize_numerics: of no effect.

    Raises:
        RuntimeError: the module was not scripted, or is in train mode.
    """
    _require_script(mod, "Freezing")
    if mod.training:
        raise RuntimeError(
            "Freezing is currently only implemented for modules in eval mode. Please call .eval() "
            "on your module before freezing."
        )
    return compiled(mod)


def optimize_for_inference(mod: Any, other_methods: Any = None) -> Any:
    """The module in eval mode, compiled.

    Args:
        mod: a scripted module.
        other_methods: of no effect.

    Raises:
        RuntimeError: the module was not scripted.
    """
    _require_script(mod, "optimize_for_inference")
    return compiled(mod.eval())


def script_method(fn: F) -> F:
    """Mark a method of a script. As Python it is called as it is.

    Args:
        fn: the method.
    """
    return fn


class TracerWarning(Warning):
    """What torch's tracer warns with; branches are not frozen here, so it has no cause."""


def script_if_tracing(fn: F) -> F:
    """`fn`: what calls it is compiled with it."""
    return fn


_script_if_tracing = script_if_tracing


def unused(fn: F) -> F:
    """Mark a method that scripts may not call. As Python it may be called.

    Args:
        fn: the method.
    """
    return fn


def export(fn: F) -> F:
    """Mark a method that a script keeps though nothing calls it.

    Args:
        fn: the method.
    """
    return fn


def interface(obj: T) -> T:
    """Mark a class whose methods only say what another class must have.

    Args:
        obj: the class.
    """
    return obj


def ignore(drop: Any = False, **kwargs: Any) -> Any:
    """Mark a method that scripts leave to Python. Used bare or with an argument.

    Args:
        drop: the method, where it is used bare.
    """
    return drop if callable(drop) else lambda fn: fn


def _overload(func: F) -> F:
    """Mark one of several signatures of the function that follows."""
    return func


_overload_method = _overload


def annotate(the_type: Any, the_value: T) -> T:
    """`the_value`, of which a script would know that it is of `the_type`."""
    return the_value


def isinstance(obj: Any, target_type: Any) -> bool:
    """Whether `obj` is of a type, also of a container's with its items: `List[Tensor]`.

    Args:
        target_type: a type, or a container's such as ``List[Tensor]``.
    """
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
    """The result of `fork`, which is there at once.

    Args:
        value: the result.
    """

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


@contextmanager
def optimized_execution(should_optimize: bool) -> Iterator[None]:
    """A block in which functions run compiled, or op by op where ``should_optimize`` is False."""
    before, policy.disabled = policy.disabled, not should_optimize
    try:
        yield
    finally:
        policy.disabled = before


def wait(future: Future) -> Any:
    """The value of a `fork`.

    Args:
        future: what :func:`fork` returned.
    """
    return future.wait()


CompilationUnit = absent_class("torch.jit", "CompilationUnit", _WHY)
_get_trace_graph = absent_function("torch.jit", "_get_trace_graph", _WHY)

_own_names(globals(), "RecursiveScriptModule")
