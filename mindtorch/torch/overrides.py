"""`__torch_function__`: classes that answer for torch's functions themselves.

A function written in Python may ask for it with `has_torch_function` and `handle_torch_function`.
The functions of mindtorch ask from the moment on when a program defines a class of tensors or a
`TorchFunctionMode`; until then they are called directly.
"""

from __future__ import annotations

import functools
import sys
from collections.abc import Callable, Iterable
from typing import Any

from mindtorch.torch._api.public_names import own_names as _own_names

from ._api.overridable import every_function, ignored, stand_ins
from ._api.torch_function import BaseTorchFunctionMode as BaseTorchFunctionMode
from ._api.torch_function import TorchFunctionMode as TorchFunctionMode
from ._api.torch_function import handler_of
from ._C import DisableTorchFunctionSubclass
from ._tensor.tensor import Tensor

__all__ = [
    "TorchFunctionMode", "get_ignored_functions", "get_overridable_functions",
    "get_testing_overrides", "handle_torch_function", "has_torch_function",
    "has_torch_function_unary", "has_torch_function_variadic", "is_tensor_like",
    "is_tensor_method_or_property", "resolve_name", "wrap_torch_function",
]  # fmt: skip


def _handler(value: Any) -> Any:
    """The class's own `__torch_function__`; None for our tensors and what has none."""
    kind = type(value)
    if issubclass(kind, Tensor):
        return handler_of(kind)
    return getattr(kind, "__torch_function__", None)


def has_torch_function(relevant_args: Iterable[Any]) -> bool:
    """Whether the class of one of these answers for functions itself."""
    if DisableTorchFunctionSubclass.depth:
        return False
    return any(_handler(each) is not None for each in relevant_args)


def has_torch_function_unary(obj: Any) -> bool:
    """`has_torch_function` of one object."""
    return has_torch_function((obj,))


def has_torch_function_variadic(*args: Any) -> bool:
    """`has_torch_function` of the arguments."""
    return has_torch_function(args)


def handle_torch_function(
    public_api: Callable[..., Any], relevant_args: Iterable[Any], *args: Any, **kwargs: Any
) -> Any:
    """What the classes of these say ``public_api(*args, **kwargs)`` is, subclasses first.

    Raises:
        TypeError: all of them answer NotImplemented.
    """
    asked: list[Any] = []
    for each in relevant_args:
        if _handler(each) is None or any(type(each) is type(other) for other in asked):
            continue
        places = (n for n, other in enumerate(asked) if issubclass(type(each), type(other)))
        asked.insert(next(places, len(asked)), each)
    types = tuple(type(each) for each in asked)
    for each in asked:
        result = type(each).__torch_function__(public_api, types, args, kwargs)
        if result is not NotImplemented:
            return result
    name = f"{public_api.__module__}.{public_api.__name__}"
    raise TypeError(
        f"no implementation found for '{name}' on types that implement __torch_function__: "
        f"{list(types)}"
    )


def get_overridable_functions() -> dict[Any, list[Any]]:
    """The functions that classes of tensors are asked for, by the module or class that has them.

    The getters of a tensor's properties stand under the properties.
    """
    return {holder: list(several) for holder, several in every_function().items()}


def get_ignored_functions() -> set[Any]:
    """The public functions that no class is asked for: none of their arguments is a tensor."""
    return set(ignored())


def get_testing_overrides() -> dict[Any, Callable[..., Any]]:
    """For each function of `get_overridable_functions` one of its signature that returns -1."""
    return dict(stand_ins())


def is_tensor_like(inp: Any) -> bool:
    """Whether it is a tensor, or its class has `__torch_function__`."""
    return isinstance(inp, Tensor) or hasattr(type(inp), "__torch_function__")


def is_tensor_method_or_property(func: Any) -> bool:
    """Whether `func` is a method of Tensor, or the getter of a property."""
    name = getattr(func, "__name__", None)
    return name == "__get__" or (name is not None and getattr(Tensor, name, None) is func)


def resolve_name(f: Any) -> str | None:
    """Where a function that `__torch_function__` is given stands, such as ``torch.Tensor.add``.

    Args:
        f: a function, a method, or the getter of a property; None for what is none of these.
    """
    if getattr(f, "__name__", "") == "__get__":
        found = _place_of(f.__self__, Tensor)
        return None if found is None else f"torch.Tensor.{found}.__get__"
    root = sys.modules[__package__]
    for place in ("", "Tensor", "nn.functional", "linalg", "fft", "special"):
        holder = functools.reduce(getattr, place.split("."), root) if place else root
        found = _place_of(f, holder)
        if found is not None:
            return ".".join(filter(None, ("torch", place, found)))
    return None


def _place_of(value: Any, holder: Any) -> str | None:
    """The attribute of a class or module that is ``value``."""
    if isinstance(holder, type):
        return next((n for n in dir(holder) if getattr(holder, n, None) is value), None)
    return next((n for n, each in vars(holder).items() if each is value), None)


def wrap_torch_function(dispatcher: Callable[..., Iterable[Any]]) -> Callable[..., Any]:
    """A decorator that lets classes of tensors answer for a function of one's own.

    Args:
        dispatcher: gives, of the function's arguments, those whose classes are asked.
    """

    def decorate(func: Callable[..., Any]) -> Callable[..., Any]:
        @functools.wraps(func)
        def call(*args: Any, **kwargs: Any) -> Any:
            asked = tuple(dispatcher(*args, **kwargs))
            if has_torch_function(asked):
                return handle_torch_function(call, asked, *args, **kwargs)
            return func(*args, **kwargs)

        return call

    return decorate

_own_names(globals(), "BaseTorchFunctionMode")
