"""Modes that see every overload of ``torch.ops`` below autograd, and tensors that wrap others.

A mode has ``__torch_dispatch__(self, func, types, args=(), kwargs=None)``; ``func`` is an overload,
such as ``torch.ops.aten.add.Tensor``, and the method gives the result. Within it the mode is off.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from typing import Any

from mindtorch.engine.dispatch import state
from mindtorch.engine.tensor import Tensor as EngineTensor

from .._aten.dispatcher import Dispatcher, outside_modes
from .._aten.stage import entered, left
from .._tensor.tensor import Tensor

__all__ = [
    "BaseTorchDispatchMode", "TorchDispatchMode", "is_traceable_wrapper_subclass",
    "return_and_correct_aliasing", "transform_subclass",
]  # fmt: skip


class TorchDispatchMode:
    """In a ``with`` block every overload that is called goes to ``__torch_dispatch__``.

    Calls are seen below autograd: those of a backward pass, too. A mode may be entered again while
    it is active. Modes are a stack; within its own method a mode and those inside it are off, and
    the calls that it makes go to the next one outside.
    """

    def __init__(self, _dispatch_key: Any = None) -> None:
        if _dispatch_key is not None:
            raise NotImplementedError("TorchDispatchMode(_dispatch_key): there are no such keys")

    def __torch_dispatch__(
        self, func: Any, types: Any, args: Any = (), kwargs: Any = None
    ) -> Any:
        raise NotImplementedError

    def __enter__(self) -> Any:
        _entered(self).append(entered(self))
        return self

    def __exit__(self, *exception: object) -> None:
        left(_entered(self).pop())

    @classmethod
    def push(cls, *args: Any, **kwargs: Any) -> Any:
        """A new mode, to be entered."""
        return cls(*args, **kwargs)

    @classmethod
    def is_infra_mode(cls) -> bool:
        """False: none of torch's own."""
        return False


def _entered(mode: Any) -> list[Dispatcher]:
    """The interpreters of a mode, one for each time it was entered; a subclass may not have called
    ``__init__``."""
    made: list[Dispatcher] = mode.__dict__.setdefault("_dispatchers", [])
    return made


class BaseTorchDispatchMode(TorchDispatchMode):
    """A mode that changes nothing."""

    def __torch_dispatch__(
        self, func: Any, types: Any, args: Any = (), kwargs: Any = None
    ) -> Any:
        return func(*args, **(kwargs or {}))


def _get_current_dispatch_mode_stack() -> list[Any]:
    """The active modes, the innermost last."""
    return [
        each.mode for each in state.interpreters
        if isinstance(each, Dispatcher) and each.mode is not None
    ]  # fmt: skip


def _get_current_dispatch_mode() -> Any:
    """The innermost active mode; None where there is none."""
    stack = _get_current_dispatch_mode_stack()
    return stack[-1] if stack else None


def _disable_current_modes() -> Any:
    """A block in which no mode is active."""
    return outside_modes()


@contextlib.contextmanager
def _pop_mode_temporarily(k: Any = None) -> Iterator[Any]:
    """A block in which the innermost mode is not active."""
    before = state.interpreters
    last = next(
        (x for x in reversed(before) if isinstance(x, Dispatcher) and x.mode is not None), None
    )
    if last is None:
        raise AssertionError("no mode is active")
    state.update(interpreters=tuple(x for x in before if x is not last))
    try:
        yield last.mode
    finally:
        state.update(interpreters=before)


def is_traceable_wrapper_subclass(t: Any) -> bool:
    """Whether a tensor's class has ``__tensor_flatten__`` and ``__tensor_unflatten__``."""
    return isinstance(t, Tensor) and is_traceable_wrapper_subclass_type(type(t))


def is_traceable_wrapper_subclass_type(t: type) -> bool:
    """The same of a class."""
    return (
        issubclass(t, Tensor) and t is not Tensor
        and hasattr(t, "__tensor_flatten__") and hasattr(t, "__tensor_unflatten__")
    )  # fmt: skip


def transform_subclass(
    t: Any, callback: Callable[[str, Any], Any], outer_size: Any = None, outer_stride: Any = None
) -> Any:
    """The wrapper made anew of ``callback(name, tensor)`` for each tensor that it wraps."""
    outer_size = t.size() if outer_size is None else outer_size
    outer_stride = t.stride() if outer_stride is None else outer_stride
    names, context = t.__tensor_flatten__()
    inner = {name: callback(name, getattr(t, name)) for name in names}
    made = type(t).__tensor_unflatten__(inner, context, outer_size, outer_stride)
    if made.shape != tuple(outer_size):
        raise AssertionError(
            f"Expected return value from {type(t)}.__tensor_unflatten__() to have shape equal to "
            f"{tuple(outer_size)}, but got: {tuple(made.shape)}"
        )
    return made


def _same_place(value: Any, argument: Any) -> bool:
    """Whether a result's alias set is one of an argument."""
    return (
        argument.alias_info is not None
        and bool(value.alias_info.before_set & argument.alias_info.before_set)
    )


def return_and_correct_aliasing(func: Any, args: Any, kwargs: Any, out: Any) -> Any:
    """``out`` as what ``func(*args, **kwargs)`` gives by its schema: an argument that is written to
    is given back itself, and a view is one of its argument's memory.

    A class's ``__torch_dispatch__`` calls it with the wrappers that it was given and those that it
    made.
    """
    schema = func._schema
    values = [*args]
    for argument in schema.arguments[len(args) :]:
        values.append((kwargs or {}).get(argument.name, argument.default))

    def argument_of(returned: Any) -> Any:
        for argument, value in zip(schema.arguments, values, strict=False):
            if _same_place(returned, argument):
                return value
        return None

    results = list(out) if isinstance(out, (tuple, list)) else [out]
    for at, (returned, result) in enumerate(zip(schema.returns, results, strict=False)):
        if returned.alias_info is None or not isinstance(result, EngineTensor):
            continue
        source = argument_of(returned)
        if returned.alias_info.is_write:
            results[at] = source if source is not None else result
        elif isinstance(source, EngineTensor) and type(source) is type(result):
            if source is not result:
                result._storage = source._shared
    if not isinstance(out, (tuple, list)):
        return results[0]
    return type(out)(*results) if hasattr(out, "_fields") else type(out)(results)
