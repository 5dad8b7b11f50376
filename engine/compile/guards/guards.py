"""Guards: what a compiled call took for granted, checked before it is run again.

While a call is traced, a profile function sees the Python functions that run. Of those outside of
the library it notes the globals and closure cells they name, their defaults and attributes, and
the attributes of ``self``: plain numbers and strings by value, arrays by their elements, other
objects by identity and by what is in them. Modules are noted with everything that is set on them;
they are checked only when something was set on any module. Whatever cannot be watched, and calls
that may do something else each time (:mod:`.trace_rules`), make the call one that runs in lazy
mode.
"""

from __future__ import annotations

import collections
import enum
import functools
import sys
import types
import weakref
from collections.abc import Callable, Iterable
from typing import Any

import numpy as np

from ...dtypes import DType
from ...tensor import Tensor, own_attributes
from .opaque_state import (
    Emptied,
    dictionary_of,
    holder,
    imported,
    in_c,
    is_cached,
    state_in_c,
    unwatched,
)
from .sources import Attribute, Cell, Held, Item, Names, globals_of
from .trace_rules import (
    foreign_random_state,
    impure_builtin,
    impure_function,
    is_own,
    of_library,
    of_user,
    of_user_module,
    own_code,
    unseeded,
)

_SIMPLE = (int, float, bool, str, bytes, complex, type(None))
_LONG = 1024  # longer containers, larger arrays and more values than this are not watched
_DEEP = 5
_CONTAINERS = (list, tuple, dict, set, collections.deque, bytearray)
# types in C whose objects have no state that a call could read
_UNCHANGING = (
    frozenset, range, slice, np.generic, np.dtype, np.ufunc, property, staticmethod, classmethod,
    types.GenericAlias, type(NotImplemented), type(...),
)  # fmt: skip
# what libraries have in their modules and nobody replaces
_FIXED = (types.ModuleType, DType, float)
# classes of the standard library whose objects hold what users put into them
_HOLDERS = {"argparse", "types", "collections"}
# names of the library's functions through which a call reaches modules
_ENTRIES = frozenset({"forward", "__call__", "_call_with_hooks"})


class ModuleMutations:
    """Counts what is set on modules.

    Attributes:
        everywhere: registries of hooks that all modules call.
    """

    count = 0
    module_type: type = type(None)
    everywhere: tuple[Any, ...] = ()

    def hooks(self) -> tuple[int, ...]:
        """The ids of the hooks on all modules."""
        return tuple([key for registry in self.everywhere for key in registry])


changes = ModuleMutations()


def module_changed() -> None:
    """Note that something was set on a module, so that compiled calls look at theirs anew."""
    changes.count += 1


def _snapshot(value: Any) -> tuple[Any, ...]:
    """What to compare ``value`` with later; empty when there is too much of it."""
    if isinstance(value, np.ndarray):
        if value.size > _LONG or value.dtype.hasobject:
            return ()
        return (value.dtype.str, value.shape, value.tobytes())
    if not isinstance(value, (*_CONTAINERS, types.MappingProxyType)):
        return (value,)
    if len(value) > _LONG:
        return ()
    if isinstance(value, (dict, types.MappingProxyType)):
        return (value, len(value), *value.keys(), *value.values())
    return (value, frozenset(value)) if isinstance(value, set) else (value, len(value), *value)


def _equal(a: Any, b: Any) -> bool:
    if a is b:
        return True
    if type(a) is not type(b) or not isinstance(a, (*_SIMPLE, frozenset, tuple)):
        return False
    if isinstance(a, (float, complex)):
        return repr(a) == repr(b)  # 0.0 is not -0.0, and NaN is NaN
    if isinstance(a, tuple):  # of tensors, too, which have no one answer to ==
        return len(a) == len(b) and all(map(_equal, a, b))
    return bool(a == b)


def _unchanged(before: tuple[Any, ...], now: tuple[Any, ...]) -> bool:
    if len(before) != len(now):
        return False
    first, *rest = before
    whole = _equal(first, now[0]) or isinstance(first, tuple)
    return whole and all(map(_equal, rest, now[1:]))


class Guard:
    """One thing that was read: ``read()`` gave what ``before`` shows."""

    __slots__ = ("before", "name", "read", "single")

    def __init__(self, name: str, read: Callable[[], Any], before: tuple[Any, ...]) -> None:
        self.name = name
        self.read = read
        self.before = before
        self.single = len(before) == 1 and isinstance(before[0], (*_SIMPLE, Tensor))

    def holds(self) -> bool:
        try:
            now = self.read()
            if self.single and now is self.before[0]:
                return True
            return bool(self.before) and _unchanged(self.before, _snapshot(now))
        except (KeyError, ValueError, AttributeError):
            return False


class HostGuard(Guard):
    """What an optimizer, a schedule or a scaler says of itself."""

    __slots__ = ()

    def holds(self) -> bool:
        return bool(self.read() == self.before[0])


def _attributes(module: Any) -> tuple[Any, ...]:
    """What the computation of a module can depend on besides its tensors' elements."""
    found: list[Any] = [type(module)]
    for name, value in module.__dict__.items():
        if name in ("_parameters", "_buffers", "_modules"):
            found.extend(value.values())
        elif "hooks" in name:
            found.append(len(value) if hasattr(value, "__len__") else value)
        elif isinstance(value, (list, tuple)):
            found.extend(value)
        else:
            found.append(value)
    return tuple(found)


class GuardRecorder:
    """Notes what the functions of a call depend on, while it is traced.

    Args:
        functions: those that were made before the call.
    """

    def __init__(self, functions: list[types.FunctionType]) -> None:
        self.guards: dict[Any, Guard] = {}
        self.modules: dict[int, tuple[Any, tuple[Any, ...]]] = {}
        self.impure = ""
        self.everywhere = changes.hooks()
        self._random = foreign_random_state()
        self._known: set[int] = set()
        self._read_modules: set[tuple[int, int]] = set()
        self._names: set[str] = set()
        self._marked: list[tuple[Any, str]] = []
        self._holding: dict[int, Any] = {}
        self._unwatched: list[tuple[str, Any]] = []
        self._held_modules: list[types.ModuleType] = []
        self._functions = functions
        codes = [id(each.__code__) for each in functions]
        self._made = dict(zip(codes, functions, strict=True))
        self._times = collections.Counter(codes)
        self._checked = -1
        self._identities: list[tuple[Callable[[Any], Any], Any, Any, Guard]] = []
        self._others: list[Guard] = []
        # what is in the modules' dictionaries, which programs also write to directly
        self._held_by_modules: list[Guard] = []
        self._bare: list[dict[str, Any]] = []  # of functions without attributes
        # the dictionaries of classes, and how many names they had
        self._scopes: dict[int, Any] = {}
        self._sizes: list[int] = []
        self._kept: list[Any] = []  # so that the ids in the keys stay theirs

    def profile(self, frame: types.FrameType, event: str, argument: Any) -> None:
        code = frame.f_code
        if (id(code) in own_code or is_own(code, frame.f_globals)) and code.co_name not in _ENTRIES:
            return
        if event == "call":
            self._call(frame)
        elif event == "c_call" and not self.impure and of_user(frame):
            self.impure = impure_builtin(argument)

    def _call(self, frame: types.FrameType) -> None:
        code = frame.f_code
        if code.co_name in _ENTRIES and code.co_argcount:
            first = frame.f_locals.get(code.co_varnames[0])
            if isinstance(first, changes.module_type):
                self._module(first)
        if code.co_name == "_call_with_hooks":
            self.impure = self.impure or "a module has hooks"
        if not of_user(frame):
            self.impure = self.impure or impure_function(frame)
            return
        functions = self._defined(code)
        if id(code) not in self._known:
            self._known.add(id(code))
            self._kept.append(code)
            self._names.update(code.co_names, [c for c in code.co_consts if isinstance(c, str)])
            self._globals(code, frame.f_globals)
        elif len(functions) < 2:
            functions = []
        for function in functions:
            self._function(function, frame)
        if code.co_argcount:
            owner = frame.f_locals.get(code.co_varnames[0])
            kind = owner if isinstance(owner, type) else type(owner)
            if hasattr(kind, code.co_name):
                self._classes(kind)

    def _globals(self, code: types.CodeType, scope: dict[str, Any]) -> None:
        if unseeded(code):
            self.impure = self.impure or f"{unseeded(code)}() is called"
        for module in imported(code):
            self._imported(module, code)
        for name in globals_of(code):
            if name not in scope:  # of Python itself, until a module has one of this name
                self.guards.setdefault(
                    (id(scope), name), Guard(f"global {name}", Item(scope, name), (None,))
                )
            else:
                self._note((id(scope), name), f"global {name}", Item(scope, name), scope[name])
                if isinstance(scope[name], types.ModuleType):
                    self._imported(scope[name], code)

    def _classes(self, kind: type) -> None:
        """Note the attributes of a class and of those it is derived from."""
        if any(map(is_of_user, kind.__mro__[1:])):
            guard = Guard("the bases of a class", Attribute(kind, "__mro__"), (kind.__mro__,))
            self.guards[id(kind), "__mro__"] = guard
        for each in kind.__mro__:
            self.guard_attributes(each, _DEEP - 1)
            if id(each) not in self._scopes and not of_library(each.__module__):
                self._scopes[id(each)] = each.__dict__
                self._sizes.append(len(each.__dict__))

    def _imported(self, module: types.ModuleType, code: types.CodeType) -> None:
        """Note what code reads of a module: of those that are not the user's, data only."""
        if (id(module), id(code)) not in self._read_modules:
            self._read_modules.add((id(module), id(code)))
            for each in self._read(module, code.co_names):
                self._imported(each, code)

    def _read(self, module: Any, names: Iterable[str]) -> list[types.ModuleType]:
        """Note what is read of a module by these names; the modules among it."""
        scope, found = vars(module), []
        file = getattr(module, "__file__", None) or ("<frozen" if module.__spec__ else "")
        users = of_user_module(module.__name__, file)
        for name in names:
            if name not in scope or (id(scope), name) in self.guards:
                continue
            value = scope[name]
            if users or not (callable(value) or isinstance(value, _FIXED)):
                self._note((id(scope), name), f"global {name}", Item(scope, name), value)
            elif callable(value):  # somebody may put another one in its place
                guard = Guard(f"global {name}", Item(scope, name), (value,))
                self.guards[id(scope), name] = guard
            if isinstance(value, types.ModuleType):
                found.append(value)
        return found

    def guard_attributes(self, owner: Any, depth: int = 0) -> None:
        """Note the attributes of an object or of a class."""
        kind = owner if isinstance(owner, type) else type(owner)
        if owner is object or (of_library(kind.__module__) and isinstance(owner, type)):
            return
        fields = dictionary_of(owner)
        if fields is not None:
            place = id(fields if isinstance(fields, dict) else owner)
            for name, value in list(fields.items()):
                if name[:2] != "__" or name == "__call__":
                    self._note((place, name), f"attribute {name}", Item(fields, name), value, depth)
            if not isinstance(owner, type):
                read = Names(owner, fields)
                self._note((place, ""), "what is set on an object", read, None, _DEEP)
        for name in () if isinstance(owner, type) else _slots(kind):
            if hasattr(owner, name):
                self._attribute(owner, name, depth)
            else:
                read_slot = functools.partial(hasattr, owner, name)
                self.guards[id(owner), name] = Guard(f"attribute {name}", read_slot, (False,))

    def _defined(self, code: types.CodeType) -> list[types.FunctionType]:
        """The functions that were made from this code before the call."""
        times = self._times[id(code)]
        if times > 1:
            return [each for each in self._functions if each.__code__ is code]
        return [self._made[id(code)]] if times else []

    def _function(self, function: types.FunctionType, frame: types.FrameType) -> None:
        """Note what a function carries, if it is the one that runs in the frame."""
        code = function.__code__
        values = frame.f_locals
        for name, cell in zip(code.co_freevars, function.__closure__ or (), strict=False):
            try:
                value = cell.cell_contents
            except ValueError:
                continue
            if value is values.get(name, cell):
                self._note((id(cell), ""), f"variable {name}", Cell(cell), value)
                if isinstance(value, types.ModuleType):
                    self._imported(value, code)
        self._attribute(function, "__code__")
        if function.__defaults__ or function.__kwdefaults__:
            self._attribute(function, "__defaults__")
            self._attribute(function, "__kwdefaults__")
        self.inside(code.co_name, function, 0)

    def _attribute(self, owner: Any, name: str, depth: int = 0) -> None:
        read = Attribute(owner, name)
        self._note((id(owner), name), f"attribute {name}", read, read(), depth)

    def _note(
        self, key: Any, name: str, read: Callable[[], Any], value: Any, depth: int = 0
    ) -> None:
        if key in self.guards:
            return
        if isinstance(read, Names):
            value = read()
        before = _snapshot(value)
        self.guards[key] = Guard(name, read, before)
        self._kept.append(value)
        if not before or len(self.guards) > _LONG:
            self._refuse(f"there is too much in {name} to watch")
        self.inside(name, value, depth + 1)

    def _refuse(self, reason: str) -> None:
        self.impure = self.impure or reason

    def inside(self, name: str, value: Any, depth: int = 0) -> None:
        """Note what is in a container or an object."""
        kind = type(value)
        if isinstance(value, Tensor):
            self._marked += [(value, each) for each in own_attributes(value)]
        if self.impure:
            return
        if isinstance(value, enum.Enum):
            for each, held in value.__dict__.items():
                if each[0] != "_" or (each == "_value_" and not isinstance(held, _SIMPLE)):
                    self._attribute(value, each, depth)
            return
        if isinstance(value, (*_SIMPLE, Tensor, np.ndarray, *_UNCHANGING)):
            if is_of_user(kind) and not isinstance(value, Tensor):
                self._object(name, value, depth)
            return
        if unwatched(value):
            self._unwatched.append((name, value))
            return
        if hasattr(kind, "host_methods"):
            self._holding[id(value)] = value
        elif isinstance(value, changes.module_type):
            for module in value.modules():  # type: ignore[attr-defined]
                self._module(module)
        elif hasattr(kind, "__next__") and not isinstance(value, weakref.ProxyType):
            self._refuse(f"it reads the iterator of {name}")
        elif isinstance(value, types.ModuleType):
            self._held_modules.append(value)
            self._read(value, self._names)
        elif kind.__module__ in ("typing", "weakref"):
            return
        elif isinstance(value, type):
            if depth <= _DEEP:
                self.guard_attributes(value, _DEEP - 1)
            if is_of_user(kind):  # a metaclass
                self._classes(kind)
        elif isinstance(value, (*_CONTAINERS, types.MappingProxyType)):
            if not _only_simple(value):
                self._members(name, value, depth)
            if is_of_user(kind):
                self._object(name, value, depth)
        else:
            self._object(name, value, depth)

    def argument(self, value: Any) -> None:
        """Note what is in an argument that is known by its identity."""
        if isinstance(value, _CONTAINERS):
            self._note((id(value), None), "an argument", Held(value), value)
        else:
            self.inside("an argument", value)

    def _members(self, name: str, value: Any, depth: int) -> None:
        if depth > _DEEP:
            self._refuse(f"{name} is nested too deeply to watch")
        for member in value.values() if hasattr(value, "values") else value:
            if not isinstance(member, (*_SIMPLE, Tensor)):
                self._note((id(member), None), name, Held(member), member, depth)

    def _object(self, name: str, value: Any, depth: int) -> None:
        kind = type(value)
        if isinstance(value, functools.partial):
            self._members(name, (value.func, value.args, value.keywords), depth)
        elif holder(value) is not None:
            self._note((id(value), "held"), name, Held(holder(value)), holder(value), depth)
        elif is_cached(value):
            read = Emptied(value)
            self._note((id(value), "emptied"), f"the cache of {name}", read, read(), depth)
            self.inside(name, value.__wrapped__, depth)
        elif isinstance(value, types.MethodType):
            if value.__name__ not in getattr(type(value.__self__), "host_methods", ()):
                self._names.add(value.__name__)
            self.inside(name, value.__self__, depth)
        elif isinstance(value, types.FunctionType):
            if value.__dict__:
                self.guard_attributes(value, depth)
            else:
                self._bare.append(value.__dict__)
        elif state_in_c(kind) and not callable(value):  # type: ignore[arg-type]
            self._refuse(f"{name} is a {kind.__name__}, which cannot be watched")
        elif in_c(kind):
            return
        elif _is_watched(kind):  # type: ignore[arg-type]
            if depth > _DEEP:
                self._refuse(f"{name} is nested too deeply to watch")
            else:
                self.guard_attributes(value, depth)
                self._classes(kind)
        else:  # of the standard library: what user code names of it
            self._marked += [(value, each) for each in dictionary_of(value) or ()]

    def finish(self) -> None:
        """Look at what could not be known before the call had ended."""
        self._functions, self._made, self._times = [], {}, collections.Counter()
        if foreign_random_state() != self._random:
            self._refuse("random numbers of another library are drawn")
        for tensor, name in self._marked:
            if name in self._names:
                self._attribute(tensor, name)
        for module in self._held_modules:
            self._read(module, self._names)
        for name, value in self._unwatched:
            place, _, last = name.rpartition(" ")
            if place != "attribute" or last in self._names:
                self._refuse(f"{name} is {unwatched(value)}, which cannot be watched")
        looked_at: set[int] = set()
        while len(looked_at) < len(self._holding):  # one may hold others
            key, value = next(each for each in self._holding.items() if each[0] not in looked_at)
            looked_at.add(key)
            names = self._names - type(value).host_methods
            if any(name in names for name in (*dir(type(value)), *value.__dict__)):
                self.guard_attributes(value)
            else:
                read, name = value.host_guard, type(value).__name__
                self.guards[id(value), "held"] = HostGuard(name, read, (read(),))

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

    def finds(self, value: Any) -> bool:
        """Whether an object is one that the call found."""
        return any(value is each for each in self._kept)

    def _module(self, module: Any) -> None:
        if id(module) in self.modules:
            return
        self.modules[id(module)] = (module, _attributes(module))
        for each in module._modules.values():  # such as one that is never called itself
            if each is not None:
                self._module(each)
        for fields in (module._parameters, module._buffers, module._modules):
            self._held_by_modules += [
                Guard(f"a {type(module).__name__}", Item(fields, name), (value,))
                for name, value in fields.items()
            ]
        for each in (*module._parameters.values(), *module._buffers.values()):
            self.inside("", each)
        if not of_library(type(module).__module__):
            for name, value in module.__dict__.items():
                if name not in _OWN and not isinstance(value, (*_SIMPLE, Tensor, types.MethodType)):
                    self._note(
                        (id(module), name), f"attribute {name}", Item(module.__dict__, name), value
                    )
            self._classes(type(module))
        else:
            self._attribute(type(module), "forward")
            for name, value in module.__dict__.items():  # what users have set on it
                if (
                    name[0] != "_"
                    and name not in _OWN
                    and (isinstance(value, (list, dict, set)) or is_of_user(type(value)))
                ):
                    self._note(
                        (id(module), name), f"attribute {name}", Item(module.__dict__, name), value
                    )

    def broken(self) -> str:
        """The first thing that is not as it was when it was noted; "" when all is."""
        return self.broken_value() or self.broken_module()

    def broken_value(self) -> str:
        if self._checked != len(self.guards):
            self._sort()
        try:
            for get, key, value, guard in self._identities:
                if get(key) is not value and not guard.holds():
                    return guard.name
        except (ValueError, AttributeError):
            return "a variable that was deleted"
        for guard in self._others:
            if not guard.holds():
                return guard.name
        if list(map(len, self._scopes.values())) != self._sizes:
            return "what is set on a class"
        return "an attribute of a function" if any(self._bare) else ""

    def _sort(self) -> None:
        """Tell guards that compare identities, which is quick, from the others."""
        self._checked = len(self.guards)
        plain = [g for g in self.guards.values() if len(g.before) == 1 and hasattr(g.read, "get")]
        self._identities = [
            (*g.read.get(), g.before[0], g)  # type: ignore[attr-defined]
            for g in (*plain, *self._held_by_modules)
        ]
        chosen = set(map(id, plain))
        self._others = [
            g
            for g in self.guards.values()
            if id(g) not in chosen and (type(g.read) is not Held or len(g.before) != 1)
        ]

    def broken_module(self) -> str:
        if changes.hooks() != self.everywhere:
            return "a hook on all modules"
        for module, before in self.modules.values():
            now = _attributes(module)
            if len(now) != len(before) or not all(map(_equal, before, now)):
                return f"a {type(module).__name__}"
        return ""


# what every module has in its dictionary, watched with the module
_OWN = frozenset({
    "_parameters", "_buffers", "_modules", "_non_persistent_buffers_set", "training",
    "_backward_pre_hooks", "_backward_hooks", "_forward_hooks", "_forward_hooks_with_kwargs",
    "_forward_hooks_always_called", "_forward_pre_hooks", "_forward_pre_hooks_with_kwargs",
    "_state_dict_hooks", "_state_dict_pre_hooks", "_load_state_dict_pre_hooks",
    "_load_state_dict_post_hooks", "_is_full_backward_hook",
})  # fmt: skip


def _only_simple(value: Any) -> bool:
    members = value.values() if hasattr(value, "values") else value
    return all(isinstance(member, (*_SIMPLE, Tensor)) for member in members)


@functools.lru_cache(1024)
def _is_watched(kind: type) -> bool:
    """Whether objects of a class hold what users put there."""
    if of_library(kind.__module__):
        return not kind.__module__.startswith("mindtorch.engine")
    module = sys.modules.get(kind.__module__)
    return kind.__module__.split(".")[0] in _HOLDERS or (
        of_user_module(kind.__module__, getattr(module, "__file__", None) or "")
    )


def is_of_user(kind: type) -> bool:
    """Whether a class was written by a user, in Python."""
    return not (in_c(kind) or of_library(kind.__module__)) and _is_watched(kind)


@functools.lru_cache(1024)
def _slots(kind: type) -> tuple[str, ...]:
    """The names of ``__slots__`` of a class and of those it is derived from."""
    return tuple(
        name for each in kind.__mro__ for name, value in vars(each).items()
        if isinstance(value, types.MemberDescriptorType) and name[:2] != "__"
    )  # fmt: skip
