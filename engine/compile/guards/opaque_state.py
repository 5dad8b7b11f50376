"""Values whose state other objects hold: what of them a compiled call has to watch."""

from __future__ import annotations

import dis
import functools
import sys
import types
import weakref
from typing import Any

_VIEWS: tuple[type, ...] = (
    type({}.keys()), type({}.values()), type({}.items()), memoryview,
)  # fmt: skip
_METHODS = (types.BuiltinMethodType, types.MethodWrapperType)
_WEAK = (
    weakref.ReferenceType, weakref.ProxyType, weakref.CallableProxyType,
    weakref.WeakKeyDictionary, weakref.WeakValueDictionary, weakref.WeakSet,
)  # fmt: skip
# flags of classes: made while the program runs, and one that can never be changed
_HEAP, _IMMUTABLE = 1 << 9, 1 << 8
# modules of classes in C whose objects have no state that changes, and such classes elsewhere
_PLAIN_C = {"builtins", "numpy", "datetime"}
_PLAIN_CLASSES = {"Pattern", "Struct", "Decimal", "_abc_data", "lock", "RLock"}
_CACHED = type(functools.lru_cache(len))


def holder(value: Any) -> Any:
    """The object whose state a method in C reads (``config.get``); None for other values."""
    owner = getattr(value, "__self__", None) if isinstance(value, _METHODS) else None
    return None if isinstance(owner, (types.ModuleType, type)) else owner


def unwatched(value: Any) -> str:
    """Why a value cannot be watched; "" where it can.

    A weak reference would have to be held fast, a view does not tell what it shows.
    """
    if isinstance(value, _WEAK):
        return "a weak reference"
    return f"a {type(value).__name__}" if isinstance(value, _VIEWS) else ""


def is_cached(value: Any) -> bool:
    """Whether a value is a function of ``functools.lru_cache``."""
    return isinstance(value, _CACHED)


class Emptied:
    """Reads whether a function's cache was emptied since: it has missed fewer times than before."""

    __slots__ = ("emptied", "function", "most")

    def __init__(self, function: Any) -> None:
        self.function = function
        self.most = 0
        self.emptied = False

    def __call__(self) -> bool:
        misses = self.function.cache_info().misses
        self.emptied = self.emptied or misses < self.most
        self.most = misses
        return self.emptied


def imported(code: types.CodeType) -> list[types.ModuleType]:
    """The modules that a function imports by itself, as far as they are loaded."""
    names = [each.argval for each in dis.get_instructions(code) if each.opname == "IMPORT_NAME"]
    return [sys.modules[name] for name in names if name in sys.modules]


def in_c(kind: type) -> bool:
    """Whether a class was written in C."""
    return kind.__flags__ & (_HEAP | _IMMUTABLE) != _HEAP


@functools.lru_cache(1024)
def state_in_c(kind: type) -> bool:
    """Whether objects of a class have state that only code in C sees."""
    return any(
        in_c(each) and each.__name__ not in _PLAIN_CLASSES and (
            each.__module__.split(".")[0] not in _PLAIN_C
            or each.__module__.startswith("numpy.random")
        )
        for each in kind.__mro__
    )  # fmt: skip


def dictionary_of(owner: Any) -> Any:
    """What is set on an object or a class, without asking code of users for it."""
    if isinstance(owner, type):
        return owner.__dict__
    try:
        return object.__getattribute__(owner, "__dict__")
    except AttributeError:
        return None
