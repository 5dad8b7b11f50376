"""What is exchanged while a function is traced, and put back afterwards.

Functions of torch do not ask their arguments what they are, for speed. A trace puts a function in
the place of each, in torch's namespaces and on Tensor, that makes a node where an argument is a
proxy and calls the function otherwise.
"""

from __future__ import annotations

import functools
import types
from collections.abc import Callable, Iterable
from typing import Any

import mindtorch.torch as torch
from mindtorch.torch._api.publish import METHODS
from mindtorch.torch._tensor.tensor import PARTS, Tensor

from .proxy import Proxy, proxies_in

__all__ = ["Patcher", "patch_torch", "recorded"]

_SPACES = ("nn.functional", "linalg", "fft", "special")
# They look at what a value is, or change settings; a proxy is an ordinary object to them.
_LEFT = {"is_tensor", "is_storage", "typename", "compile", "manual_seed", "set_default_device",
         "set_default_dtype", "set_grad_enabled", "get_default_dtype"}  # fmt: skip
_DUNDERS = {
    "__add__": "add", "__radd__": "add", "__sub__": "sub", "__mul__": "mul", "__rmul__": "mul",
    "__truediv__": "div", "__floordiv__": "floor_divide", "__mod__": "remainder",
    "__pow__": "pow", "__matmul__": "matmul", "__eq__": "eq", "__ne__": "ne", "__lt__": "lt",
    "__le__": "le", "__gt__": "gt", "__ge__": "ge", "__iadd__": "add_", "__isub__": "sub_",
    "__imul__": "mul_", "__itruediv__": "div_", "__getitem__": "__getitem__",
    "__setitem__": "__setitem__", "__and__": "bitwise_and", "__or__": "bitwise_or",
    "__xor__": "bitwise_xor",
}  # fmt: skip


class Patcher:
    """Exchanges entries of dicts and attributes; leaving the block puts them back."""

    def __init__(self) -> None:
        self._undo: list[Callable[[], Any]] = []

    def __enter__(self) -> Patcher:
        return self

    def __exit__(self, *exception: object) -> None:
        while self._undo:
            self._undo.pop()()

    def entry(self, table: dict[str, Any], name: str, value: Any) -> None:
        """Exchange an entry of a dict."""
        before = table[name]
        self._undo.append(lambda: table.__setitem__(name, before))
        table[name] = value

    def attribute(self, owner: Any, name: str, value: Any) -> None:
        """Exchange an attribute of an object's own."""
        if name in vars(owner):
            before = vars(owner)[name]
            self._undo.append(lambda: setattr(owner, name, before))
        else:
            self._undo.append(lambda: delattr(owner, name))
        setattr(owner, name, value)


def recorded(function: Callable[..., Any], kind: str, target: Any) -> Callable[..., Any]:
    """``function``, or a node of that kind and target where an argument is a proxy."""

    @functools.wraps(function, updated=())
    def entry(*args: Any, **kwargs: Any) -> Any:
        proxy = next(proxies_in((args, kwargs)), None)
        if proxy is None:
            return function(*args, **kwargs)
        return proxy.tracer.create_proxy(kind, target, args, kwargs)

    entry.__fx_recorded__ = True  # type: ignore[attr-defined]
    return entry


def _swapped(name: str) -> Callable[..., Any]:
    """A reflected operator of Tensor: lets the proxy on the other side answer."""
    original = getattr(Tensor, name)

    def method(self: Tensor, other: Any) -> Any:
        return NotImplemented if isinstance(other, Proxy) else original(self, other)

    return method


def patch_torch(patcher: Patcher, tables: Iterable[dict[str, Any]]) -> None:
    """Let torch's functions record proxies.

    Args:
        tables: globals of the code that is traced, which may have taken functions from torch.
    """
    entries: dict[int, Any] = {}
    for lazy in torch._LAZY_NAMES:
        getattr(torch, lazy)
    spaces = [torch, *(functools.reduce(getattr, s.split("."), torch) for s in _SPACES)]
    for space in spaces:
        for name, value in list(vars(space).items()):
            plain = not isinstance(value, (type, types.ModuleType)) and callable(value)
            if not plain or name.startswith("__") or name in _LEFT:
                continue
            entry = entries.get(id(value))
            if entry is None:
                entry = entries[id(value)] = recorded(value, "call_function", value)
            patcher.entry(vars(space), name, entry)
    for table in tables:
        for name, value in list(table.items()):
            if id(value) in entries:
                patcher.entry(table, name, entries[id(value)])
    own = {
        name
        for part in PARTS
        for name, value in vars(part).items()
        if isinstance(value, types.FunctionType)
    }
    for name in sorted(own | set(METHODS)):
        method = getattr(Tensor, name, None)
        if callable(method) and not name.startswith("_"):
            patcher.attribute(Tensor, name, recorded(method, "call_method", name))
    for name, target in _DUNDERS.items():
        original = getattr(Tensor, name)
        patcher.attribute(Tensor, name, recorded(original, "call_method", target))
    for name in ("__rsub__", "__rtruediv__", "__rpow__", "__rmatmul__"):
        if hasattr(Tensor, name):
            patcher.attribute(Tensor, name, _swapped(name))
