"""The content of a data set as a key: what its rows are made of.

Code counts (of functions and of classes outside of installed libraries, with what they refer to),
arrays and numbers by value, files by path, size and time of change, libraries by version. What
cannot be seen through, such as an open file, raises; an object may say its content itself by a
method ``__cache_key__`` that returns a text.
"""

from __future__ import annotations

import enum
import functools
import os
import stat
import struct
import sys
import sysconfig
import threading
import types
from collections.abc import Iterable, Mapping
from pathlib import PurePath
from typing import Any

import numpy as np
import xxhash

__all__ = ["content_key", "random_names"]

_PLAIN = (type(None), bool, int, float, complex, type(Ellipsis), type(NotImplemented))
_LIBRARIES = tuple(
    os.path.realpath(sysconfig.get_path(name)) + os.sep
    for name in ("stdlib", "platstdlib", "purelib", "platlib")
)
_BUILTIN = (types.BuiltinFunctionType, types.MethodWrapperType, types.WrapperDescriptorType,
            types.MethodDescriptorType, types.ClassMethodDescriptorType,
            types.GetSetDescriptorType, types.MemberDescriptorType)  # fmt: skip


def content_key(*things: Any) -> str:
    """32 hexadecimal digits that are the same for things of the same content, in any process.

    Raises:
        TypeError: something cannot be seen through.
    """
    walk = _Walk()
    walk.feed(sys.version_info[:2])
    for thing in things:
        walk.feed(thing)
    return str(walk.hash.hexdigest())


def random_names(*things: Any) -> list[str]:
    """Names of the classes of transforms among things that draw at random, by their libraries'
    convention: `RandomCrop`, `UniformAugment`, ..."""
    walk = _Walk()
    for thing in things:
        walk.feed(thing)
    return sorted(walk.random)


def _is_library(module: str) -> bool:
    """Whether a module comes with Python, with an installed distribution, or with us."""
    if module.partition(".")[0] in ("mindtorch", "torch", "builtins"):
        return True
    found = sys.modules.get(module)
    path = getattr(found, "__file__", None)
    if found is None or module == "__main__":
        return False
    return path is None or os.path.realpath(path).startswith(_LIBRARIES)


class _Walk:
    """Feeds a hash.

    Attributes:
        random: names of classes that draw at random.
    """

    def __init__(self) -> None:
        self.hash = xxhash.xxh3_128()
        self.random: set[str] = set()
        self._seen: dict[int, int] = {}
        self._held: list[Any] = []  # so that no address is used twice

    def _tag(self, name: str, data: Any = b"") -> None:
        head = name.encode("utf-8", "surrogatepass")
        self.hash.update(struct.pack("<IQ", len(head), len(data)) + head)
        self.hash.update(data)

    def feed(self, thing: Any) -> None:
        """Any object."""
        kind = type(thing)
        if kind in _PLAIN:
            self._tag(f"{kind.__name__} {thing!r}")
        elif kind is str:
            self._text(thing)
        elif kind in (bytes, bytearray):
            self._tag(kind.__name__, bytes(thing))
        elif id(thing) in self._seen:
            self._tag(f"seen {self._seen[id(thing)]}")
        else:
            self._seen[id(thing)] = len(self._seen)
            self._held.append(thing)
            self._object(thing, kind)

    def _text(self, text: str) -> None:
        self._tag("str", text.encode("utf-8", "surrogatepass"))
        if 0 < len(text) < 4096 and "\0" not in text:
            try:
                facts = os.stat(text)
            except (OSError, ValueError):
                return
            if stat.S_ISREG(facts.st_mode):
                self._tag(f"file {facts.st_size} {facts.st_mtime_ns}")

    def _object(self, thing: Any, kind: type) -> None:
        own = getattr(kind, "__cache_key__", None)
        if own is not None:
            self._tag(f"own {kind.__module__}.{kind.__qualname__} {own(thing)}")
        elif isinstance(thing, np.ndarray):
            self._array(thing)
        elif isinstance(thing, (list, tuple)):
            self._items(kind, thing)
        elif isinstance(thing, (set, frozenset)):
            self._items(kind, sorted(content_key(each) for each in thing))
        elif isinstance(thing, Mapping) and kind in (dict, types.MappingProxyType):
            self._items(dict, [part for pair in thing.items() for part in pair])
        elif isinstance(thing, types.ModuleType):
            self._tag(f"module {thing.__name__} {getattr(thing, '__version__', '')}")
        elif isinstance(thing, types.FunctionType):
            self._function(thing)
        elif isinstance(thing, types.CodeType):
            self._code(thing)
        elif isinstance(thing, type):
            self._class(thing)
        else:
            self._instance(thing, kind)

    def _items(self, kind: type, items: Iterable[Any]) -> None:
        held = list(items)
        self._tag(f"{kind.__module__}.{kind.__qualname__} {len(held)}")
        for each in held:
            self.feed(each)

    def _array(self, array: Any) -> None:
        if array.dtype.hasobject:
            self._items(np.ndarray, [array.dtype.str, list(array.shape), *array.reshape(-1)])
            return
        flat = np.asarray(array, order="C").reshape(-1)
        name = f"array {array.dtype.str} {array.dtype.name} {array.shape}"
        self._tag(name, flat.view(np.uint8).data if flat.size else b"")

    def _tensor(self, tensor: Any) -> None:
        held = tensor.detach().cpu()
        self._tag(f"tensor {type(tensor).__module__} {held.dtype}")
        if str(held.dtype).endswith("bfloat16"):
            held = held.float()
        self._array(np.asarray(held.numpy()))

    def _code(self, code: types.CodeType) -> None:
        self._tag("code", code.co_code)
        self.feed([code.co_consts, code.co_names, code.co_varnames, code.co_freevars,
                   code.co_flags & _NOT_OF_THE_FUTURE])  # fmt: skip

    def _function(self, function: types.FunctionType) -> None:
        name = f"{function.__module__}.{function.__qualname__}"
        if _is_library(function.__module__ or ""):
            self._library(name, function.__module__)
            closed = function.__closure__ or ()
            self.feed([cell.cell_contents for cell in closed if _is_filled(cell)])
            return
        self._tag("function")
        self._code(function.__code__)
        self.feed([function.__defaults__, function.__kwdefaults__])
        for cell in function.__closure__ or ():
            self.feed(cell.cell_contents if _is_filled(cell) else None)
        for used in _names_of(function.__code__):
            if used in function.__globals__:
                self._tag(f"global {used}")
                self.feed(function.__globals__[used])

    def _library(self, name: str, module: str) -> None:
        root = sys.modules.get(module.partition(".")[0])
        path = getattr(sys.modules.get(module), "__file__", None)
        self._tag(f"library {name} {getattr(root, '__version__', '')}")
        if path:
            self._text(path)

    def _class(self, kind: type) -> None:
        name = f"{kind.__module__}.{kind.__qualname__}"
        if kind.__name__.startswith("Random") or kind.__name__ in _RANDOM:
            self.random.add(kind.__name__)
        if _is_library(kind.__module__):
            self._library(name, kind.__module__)
            return
        self._tag(f"class {kind.__qualname__}")
        self.feed(kind.__bases__)
        for attribute, value in sorted(vars(kind).items(), key=lambda pair: pair[0]):
            if attribute in _OF_NO_CONTENT:
                continue
            self._tag(f"attribute {attribute}")
            if isinstance(value, (staticmethod, classmethod)):
                self.feed(value.__func__)
            elif isinstance(value, property):
                self.feed([value.fget, value.fset, value.fdel])
            else:
                self.feed(value)

    def _instance(self, thing: Any, kind: type) -> None:
        root = kind.__module__.partition(".")[0]
        if root in ("torch", "mindtorch") and hasattr(thing, "requires_grad"):
            self._tensor(thing)
        elif isinstance(thing, types.MethodType):
            self.feed([thing.__func__, thing.__self__])
        elif isinstance(thing, _BUILTIN):
            self._tag(f"builtin {thing.__qualname__}")
            holder = getattr(thing, "__self__", None)
            if holder is not None and not isinstance(holder, types.ModuleType):
                self.feed(holder)
        elif isinstance(thing, np.ufunc):
            self._tag(f"ufunc {thing.__name__}")
        elif isinstance(thing, functools.partial):
            self.feed([thing.func, thing.args, thing.keywords])
        elif isinstance(thing, PurePath):
            self._text(os.fspath(thing))
        elif isinstance(thing, _LOCKS):
            self._tag("lock")
        elif isinstance(thing, enum.Enum):
            self._tag(f"enum {kind.__module__}.{kind.__qualname__}.{thing.name}")
        else:
            self.feed(kind)
            self._state(thing, kind)

    def _state(self, thing: Any, kind: type) -> None:
        """What makes an object: its attributes, or what pickle would keep."""
        wrapped = getattr(thing, "__wrapped__", None)
        if wrapped is not None:
            self.feed(wrapped)
        if _overrides(kind, "__getstate__"):
            self.feed(thing.__getstate__())
        elif _has_own_reduction(kind):
            try:
                parts: Any = thing.__reduce_ex__(4)
            except Exception as error:
                raise _opaque(kind, error) from None
            if isinstance(parts, str):
                self._tag(parts)
                return
            for part in parts:
                # the items of lists and dicts come as iterators
                self.feed(list(part) if hasattr(part, "__next__") else part)
        else:
            state = {name: getattr(thing, name) for name in _slots(kind) if hasattr(thing, name)}
            self.feed({**state, **getattr(thing, "__dict__", {})})


_RANDOM = ("AutoAugment", "AugMix", "TrivialAugmentWide", "UniformAugment", "ColorJitter",
           "ElasticTransform", "CutMix", "MixUp")  # fmt: skip
_OF_NO_CONTENT = frozenset(
    "__dict__ __weakref__ __module__ __doc__ __qualname__ __firstlineno__ __static_attributes__ "
    "__annotations__ __abstractmethods__ _abc_impl __parameters__ __orig_bases__ __slots__".split()
)


def _names_of(code: types.CodeType) -> list[str]:
    """Names that code looks up, that of functions within too."""
    names = dict.fromkeys(code.co_names)
    for constant in code.co_consts:
        if isinstance(constant, types.CodeType):
            names.update(dict.fromkeys(_names_of(constant)))
    return list(names)


def _is_filled(cell: Any) -> bool:
    try:
        cell.cell_contents  # noqa: B018
    except ValueError:
        return False
    return True


def _slots(kind: type) -> list[str]:
    found: list[str] = []
    for base in kind.__mro__:
        slots = vars(base).get("__slots__", ())
        found += [slots] if isinstance(slots, str) else slots
    return sorted(name for name in found if name not in ("__dict__", "__weakref__"))


def _overrides(kind: type, name: str) -> bool:
    return getattr(kind, name) is not getattr(object, name)


def _has_own_reduction(kind: type) -> bool:
    """Whether attributes are not all that an object of this class holds."""
    if _overrides(kind, "__reduce_ex__") or _overrides(kind, "__reduce__"):
        return True
    # a class written in C, or one that is derived from it, keeps what only it knows
    return any(
        not base.__flags__ & _HEAP_TYPE and base.__module__ not in ("typing", "abc")
        for base in kind.__mro__[:-1]
    )


_HEAP_TYPE = 1 << 9
_NOT_OF_THE_FUTURE = 0xFFFF  # what `from __future__ import` sets is above, and in the code itself
_LOCKS = (type(threading.Lock()), type(threading.RLock()))


def _opaque(kind: type, error: Exception) -> TypeError:
    return TypeError(
        f"the content of {kind.__module__}.{kind.__qualname__} cannot be seen ({error}), so cached "
        "rows could be of something else: give the class a method __cache_key__ that returns a "
        "text, or give the cache a key"
    )
