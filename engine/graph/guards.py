"""Guards: what a compiled call took for granted, checked before it is run again.

While a call is traced, a profile function sees the Python functions that run. Of those outside of
the library it notes the globals and closure cells they name and the attributes of ``self``: plain
numbers and strings by value, arrays by their elements, tensors by identity, containers and plain
objects by what is in them. Modules are noted with everything that is set on them; they are checked
only when something was set on any module.
"""

from __future__ import annotations

import dis
import enum
import functools
import gc
import os
import random
import sysconfig
import types
from collections.abc import Callable
from typing import Any

import numpy as np

from ..tensor import Tensor

_SIMPLE = (int, float, bool, str, bytes, complex, type(None))
_LONG = 1024  # longer containers, larger arrays and more values than this are not watched
_DEEP = 4
_LIBRARY = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
_STANDARD = sysconfig.get_paths()["stdlib"]
_SKIPPED = (
    "mindtorch", "numpy", "numba", "importlib", "contextlib", "functools", "typing",
    "hypothesis",  # its callback of the garbage collector reads the time
)  # fmt: skip


class Changes:
    """Counts what is set on modules."""

    count = 0
    module_type: type = type(None)


changes = Changes()


def _snapshot(value: Any) -> Any:
    """What to compare ``value`` with later; None when it is not watched."""
    if isinstance(value, (*_SIMPLE, Tensor)):
        return (value,)
    if isinstance(value, np.ndarray):
        return (value.dtype.str, value.shape, value.tobytes()) if value.size <= _LONG else ()
    if not isinstance(value, (list, tuple, dict, set)):
        return None
    if len(value) > _LONG:
        return ()
    if isinstance(value, dict):
        return (value, *value.keys(), *value.values())
    return (value, frozenset(value)) if isinstance(value, set) else (value, *value)


def _equal(a: Any, b: Any) -> bool:
    if a is b:
        return True
    if type(a) is not type(b):
        return False
    return isinstance(a, (*_SIMPLE, frozenset, tuple)) and (a == b or (a != a and b != b))


def _unchanged(before: tuple[Any, ...], now: Any) -> bool:
    if not now or len(before) != len(now):
        return False
    first, *rest = before
    whole = _equal(first, now[0]) or isinstance(first, tuple)
    return whole and all(map(_equal, rest, now[1:]))


class Guard:
    """One thing that was read: ``read()`` gave what ``before`` shows."""

    __slots__ = ("before", "name", "read", "single")

    def __init__(self, name: str, read: Callable[[], Any], before: Any) -> None:
        self.name = name
        self.read = read
        self.before = before
        self.single = len(before) == 1 and isinstance(before[0], (*_SIMPLE, Tensor))

    def holds(self) -> bool:
        try:
            now = self.read()
            if self.single and now is self.before[0]:
                return True
            return _unchanged(self.before, _snapshot(now))
        except (KeyError, ValueError, AttributeError):
            return False


def _attributes(module: Any) -> tuple[Any, ...]:
    """What the computation of a module can depend on besides its tensors' elements."""
    found: list[Any] = []
    for name, value in module.__dict__.items():
        if name in ("_parameters", "_buffers", "_modules"):
            found.extend(value.values())
        elif "hooks" in name:
            found.append(len(value) if hasattr(value, "__len__") else value)
        elif isinstance(value, _SIMPLE):
            found.append(value)
        elif isinstance(value, (list, tuple)):
            found.extend(value)
    return tuple(found)


class Watch:
    """Notes what the functions of a call depend on, while it is traced."""

    def __init__(self) -> None:
        self.guards: dict[Any, Guard] = {}
        self.modules: dict[int, tuple[Any, tuple[Any, ...]]] = {}
        self.impure = ""
        self._known: set[types.CodeType] = set()
        self._kept: list[Any] = []  # so that the ids in the keys stay theirs

    def profile(self, frame: types.FrameType, event: str, argument: Any) -> None:
        if event == "call":
            self._call(frame)
        elif event == "c_call" and not self.impure and _of_user(frame):
            self._builtin(argument)

    def _builtin(self, function: Any) -> None:
        owner = getattr(function, "__self__", None)
        module = getattr(function, "__module__", None)
        if function is print or function is input or function is open:
            self.impure = f"{function.__name__}() is called"
        elif isinstance(owner, (random.Random, np.random.Generator, np.random.RandomState)):
            self.impure = "random numbers of another library are drawn"
        elif function is next:
            self.impure = "it advances an iterator"
        elif module == "time":
            self.impure = "the time is read"

    def _call(self, frame: types.FrameType) -> None:
        code = frame.f_code
        if code.co_name in ("forward", "__call__") and code.co_argcount:
            first = frame.f_locals.get(code.co_varnames[0])
            if isinstance(first, changes.module_type):
                self._module(first)
        if code.co_name == "_call_with_hooks":
            self.impure = self.impure or "a module has hooks"
        if not _of_user(frame):
            return
        if code not in self._known:
            self._known.add(code)
            scope = frame.f_globals
            for name in _globals_of(code):
                if name in scope:
                    self._note((id(scope), name), f"global {name}", _Item(scope, name), scope[name])
                    if isinstance(scope[name], types.ModuleType):
                        self._imported(scope[name], code)
            if code.co_freevars:
                self._free(frame)
        if code.co_argcount and code.co_varnames[0] in ("self", "cls"):
            owner = frame.f_locals.get(code.co_varnames[0])
            if owner is not None and not isinstance(owner, changes.module_type):
                self.watch_object(owner)
                self.watch_object(type(owner))

    def _imported(self, module: types.ModuleType, code: types.CodeType) -> None:
        if not _of_user_module(module.__name__, getattr(module, "__file__", None) or "<frozen"):
            return
        scope = vars(module)
        for name in code.co_names:
            if name in scope:
                self._note((id(scope), name), f"global {name}", _Item(scope, name), scope[name])

    def watch_object(self, owner: Any, depth: int = 0) -> None:
        """Note the attributes of an object or of a class."""
        fields = getattr(owner, "__dict__", None)
        kind = owner if isinstance(owner, type) else type(owner)
        if fields is None or isinstance(owner, Tensor) or kind.__module__.split(".")[0] in _SKIPPED:
            return
        if isinstance(owner, (types.FunctionType, types.ModuleType, enum.Enum)):
            return
        for name, value in list(fields.items()):
            if name[:2] != "__":
                key = (id(fields if isinstance(fields, dict) else owner), name)
                self._note(key, f"attribute {name}", _Item(fields, name), value, depth)

    def _free(self, frame: types.FrameType) -> None:
        code = frame.f_code
        for function in gc.get_referrers(code):
            if not isinstance(function, types.FunctionType) or function.__code__ is not code:
                continue
            for name, cell in zip(code.co_freevars, function.__closure__ or (), strict=False):
                try:
                    value = cell.cell_contents
                except ValueError:
                    continue
                if value is frame.f_locals.get(name, cell):
                    self._note((id(cell), ""), f"variable {name}", _Cell(cell), value)

    def _note(
        self, key: Any, name: str, read: Callable[[], Any], value: Any, depth: int = 0
    ) -> None:
        if key in self.guards:
            return
        if hasattr(type(value), "__next__"):
            self.impure = self.impure or f"it reads the iterator of {name}"
        before = _snapshot(value)
        if before is not None:
            self.guards[key] = Guard(name, read, before)
            self._kept.append(value)
            if not before or len(self.guards) > _LONG:
                self.impure = self.impure or f"there is too much in {name} to watch"
        self._inside(name, value, depth + 1)

    def _inside(self, name: str, value: Any, depth: int) -> None:
        """Note what is in a container or an object."""
        if isinstance(value, (*_SIMPLE, Tensor, np.ndarray)) or self.impure:
            return
        if isinstance(value, changes.module_type):
            for module in value.modules():  # type: ignore[attr-defined]
                self._module(module)
        elif depth <= _DEEP and isinstance(value, (list, tuple, dict)):
            for member in value.values() if isinstance(value, dict) else value:
                if not isinstance(member, (*_SIMPLE, Tensor)):
                    self._note((id(member), None), name, _Held(member), member, depth)
        elif depth <= _DEEP and not callable(value):
            self.watch_object(value, depth)
        elif isinstance(value, type):
            self.watch_object(value, _DEEP)

    def reaches(self, tensors: list[Tensor]) -> str:
        """Through which guard the call finds one of these tensors by itself."""
        given = {id(x) for x in tensors}
        for guard in self.guards.values():
            if any(id(v) in given for v in guard.before):
                return guard.name
        for module, before in self.modules.values():
            if any(id(v) in given for v in before):
                return f"a {type(module).__name__}"
        return ""

    def _module(self, module: Any) -> None:
        if id(module) not in self.modules:
            self.modules[id(module)] = (module, _attributes(module))

    def broken(self) -> str:
        """The first thing that is not as it was when it was noted; "" when all is."""
        return self.broken_value() or self.broken_module()

    def broken_value(self) -> str:
        for guard in self.guards.values():
            if not guard.holds():
                return guard.name
        return ""

    def broken_module(self) -> str:
        for module, before in self.modules.values():
            now = _attributes(module)
            if len(now) != len(before) or not all(map(_equal, before, now)):
                return f"a {type(module).__name__}"
        return ""


class _Item:
    """Reads an item of a dictionary."""

    __slots__ = ("key", "scope")

    def __init__(self, scope: dict[str, Any], key: str) -> None:
        self.scope = scope
        self.key = key

    def __call__(self) -> Any:
        return self.scope[self.key]


class _Held:
    """Gives a member of a container."""

    __slots__ = ("value",)

    def __init__(self, value: Any) -> None:
        self.value = value

    def __call__(self) -> Any:
        return self.value


class _Cell:
    """Reads a closure's cell."""

    __slots__ = ("cell",)

    def __init__(self, cell: Any) -> None:
        self.cell = cell

    def __call__(self) -> Any:
        return self.cell.cell_contents


@functools.lru_cache(4096)
def _globals_of(code: types.CodeType) -> tuple[str, ...]:
    """The global names that a function reads."""
    read = ("LOAD_GLOBAL", "LOAD_NAME")
    return tuple({i.argval for i in dis.get_instructions(code) if i.opname in read})


def _of_user(frame: types.FrameType) -> bool:
    return _of_user_module(frame.f_globals.get("__name__", ""), frame.f_code.co_filename)


@functools.lru_cache(4096)
def _of_user_module(name: str, file: str) -> bool:
    if name.split(".")[0] in _SKIPPED:
        return False
    return not file.startswith("<frozen") and not (
        file.startswith(_STANDARD) and "site-packages" not in file
    ) and not file.startswith(_LIBRARY + os.sep + "engine")
