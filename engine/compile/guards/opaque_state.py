"""Values whose state other objects hold: what of them a compiled call has to watch."""

from __future__ import annotations

import dis
import functools
import sys
import types
import weakref
from collections.abc import Callable
from typing import Any

from .trace_rules import of_library, of_user_module

_VIEWS: tuple[type, ...] = (
    type({}.keys()), type({}.values()), type({}.items()), memoryview,
)  # fmt: skip
_METHODS = (types.BuiltinMethodType, types.MethodWrapperType)
_WEAK = (
    weakref.ReferenceType, weakref.ProxyType, weakref.CallableProxyType,
    weakref.WeakKeyDictionary, weakref.WeakValueDictionary, weakref.WeakSet,
)  # fmt: skip
# classes of the standard library whose objects hold what users put into them
_HOLDERS = {"argparse", "types", "collections"}
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


def cache_was_cleared(function: Any) -> Callable[[None], bool]:
    """What reads whether a function's cache was cleared since: it has missed fewer times than
    before."""
    most, cleared = 0, False

    def read(_: None) -> bool:
        nonlocal most, cleared
        misses = function.cache_info().misses
        cleared = cleared or misses < most
        most = misses
        return cleared

    return read


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


def globals_of(code: types.CodeType) -> tuple[str, ...]:
    """The global names that a function reads."""
    read = ("LOAD_GLOBAL", "LOAD_NAME")
    return tuple({i.argval for i in dis.get_instructions(code) if i.opname in read})


def class_and_names(fields: Any, owner: Any) -> frozenset[Any]:
    """An object's class, and which names its dictionary has."""
    return frozenset((type(owner), *fields))


@functools.lru_cache(1024)
def is_watched(kind: type) -> bool:
    """Whether objects of a class hold what users put there."""
    if of_library(kind.__module__):
        return not kind.__module__.startswith("mindtorch.engine")
    module = sys.modules.get(kind.__module__)
    return kind.__module__.split(".")[0] in _HOLDERS or (
        of_user_module(kind.__module__, getattr(module, "__file__", None) or "")
    )


def is_of_user(kind: type) -> bool:
    """Whether a class was written by a user, in Python."""
    return not (in_c(kind) or of_library(kind.__module__)) and is_watched(kind)
