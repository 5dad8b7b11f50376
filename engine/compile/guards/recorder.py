"""What to guard: found by a profile function while a call is traced.

It sees the Python functions that run. Of those outside of the library it notes the globals and
closure cells they name, their defaults and attributes, and the attributes of ``self``. Whatever
cannot be watched, and calls that may do something else each time (:mod:`.trace_rules`), make the
call one that runs in lazy mode.
"""

from __future__ import annotations

import collections
import enum
import functools
import operator
import types
import weakref
from collections.abc import Callable, Iterable
from typing import Any

import numpy as np

from ...dtypes import DType
from ...tensor import Tensor, own_attributes
from . import module_changes
from .guards import CONTAINERS, LONG, SIMPLE, Guard, GuardSet, attributes, itself, snapshot
from .opaque_state import (
    cache_was_cleared,
    class_and_names,
    dictionary_of,
    globals_of,
    holder,
    imported,
    in_c,
    is_cached,
    is_of_user,
    is_watched,
    state_in_c,
    unwatched,
)
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

_DEEP = 5
# types in C whose objects have no state that a call could read
_UNCHANGING = (
    frozenset, range, slice, np.generic, np.dtype, np.ufunc, property, staticmethod, classmethod,
    types.GenericAlias, type(NotImplemented), type(...),
)  # fmt: skip
# what libraries have in their modules and nobody replaces
_FIXED = (types.ModuleType, DType, float)
# names of the library's functions through which a call reaches modules
_ENTRIES = frozenset({"forward", "__call__", "_call_with_hooks"})


# what every module has in its dictionary, watched with the module
_OWN = frozenset({
    "_parameters", "_buffers", "_modules", "_non_persistent_buffers_set", "training",
    "_backward_pre_hooks", "_backward_hooks", "_forward_hooks", "_forward_hooks_with_kwargs",
    "_forward_hooks_always_called", "_forward_pre_hooks", "_forward_pre_hooks_with_kwargs",
    "_state_dict_hooks", "_state_dict_pre_hooks", "_load_state_dict_pre_hooks",
    "_load_state_dict_post_hooks", "_is_full_backward_hook",
})  # fmt: skip


_cell_contents = operator.attrgetter("cell_contents")


class GuardRecorder:
    """Notes what the functions of a call depend on, while it is traced.

    Args:
        functions: those that were made before the call.

    Attributes:
        guards: what was noted.
        impure: why the call may do something else each time, "" where it does the same.
    """

    def __init__(self, functions: list[types.FunctionType]) -> None:
        self.guards = GuardSet()
        self.impure = ""
        self._random = foreign_random_state()
        self._functions = functions
        codes = [id(each.__code__) for each in functions]
        self._made = dict(zip(codes, functions, strict=True))
        self._times = collections.Counter(codes)
        self._known: set[int] = set()
        self._read_modules: set[tuple[int, int]] = set()
        self._names: set[str] = set()
        # for the end, when all names are known
        self._marked: list[tuple[Any, str]] = []
        self._holding: dict[int, Any] = {}
        self._unwatched: list[tuple[str, Any]] = []
        self._held_modules: list[types.ModuleType] = []
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
            if isinstance(first, module_changes.module_type):
                self._module(first)
        if code.co_name == "_call_with_hooks":
            self._hooks(frame.f_locals.get(code.co_varnames[0]))
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

    def _hooks(self, module: Any) -> None:
        """Refuse hooks of a module, but for those that know how to be traced; what they belong to
        says what a capture may rely on."""
        registries = map(module.__dict__.get, module_changes.HOOKS_OF_CALLS)
        found = [hook for registry in registries for hook in (registry or {}).values()]
        traced = all(getattr(hook, "in_captures", False) for hook in found)
        if not traced or any(module_changes.registries):
            self._refuse("a module has hooks")
            return
        for hook in found:
            self.inside("a hook of a module", getattr(hook, "__self__", None))

    def _globals(self, code: types.CodeType, scope: dict[str, Any]) -> None:
        if unseeded(code):
            self.impure = self.impure or f"{unseeded(code)}() is called"
        for module in imported(code):
            self._imported(module, code)
        for name in globals_of(code):
            if name not in scope:  # of Python itself, until a module has one of this name
                self.guards.guards.setdefault(
                    (id(scope), name), Guard(f"global {name}", scope.get, name, (None,))
                )
            else:
                self._note((id(scope), name), f"global {name}", scope.get, name, scope[name])
                if isinstance(scope[name], types.ModuleType):
                    self._imported(scope[name], code)

    def _classes(self, kind: type) -> None:
        """Note the attributes of a class and of those it is derived from."""
        if any(map(is_of_user, kind.__mro__[1:])):
            read = operator.attrgetter("__mro__")
            guard = Guard("the bases of a class", read, kind, (kind.__mro__,))
            self.guards.guards[id(kind), "__mro__"] = guard
        for each in kind.__mro__:
            self.guard_attributes(each, _DEEP - 1)
            if not of_library(each.__module__):
                self.guards.add_class(each)

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
            if name not in scope or (id(scope), name) in self.guards.guards:
                continue
            value = scope[name]
            if users or not (callable(value) or isinstance(value, _FIXED)):
                self._note((id(scope), name), f"global {name}", scope.get, name, value)
            elif callable(value):  # somebody may put another one in its place
                guard = Guard(f"global {name}", scope.get, name, (value,))
                self.guards.guards[id(scope), name] = guard
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
                    self._note((place, name), f"attribute {name}", fields.get, name, value, depth)
            if not isinstance(owner, type):
                read = functools.partial(class_and_names, fields)
                what = "what is set on an object"
                self._note((place, ""), what, read, owner, read(owner), _DEEP, computed=True)
        for name in () if isinstance(owner, type) else _slots(kind):
            if hasattr(owner, name):
                self._attribute(owner, name, depth)
            else:
                read_slot = functools.partial(hasattr, owner)
                guard = Guard(f"attribute {name}", read_slot, name, (False,))
                self.guards.guards[id(owner), name] = guard

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
                self._note((id(cell), ""), f"variable {name}", _cell_contents, cell, value)
                if isinstance(value, types.ModuleType):
                    self._imported(value, code)
        self._attribute(function, "__code__")
        if function.__defaults__ or function.__kwdefaults__:
            self._attribute(function, "__defaults__")
            self._attribute(function, "__kwdefaults__")
        self.inside(code.co_name, function, 0)

    def _attribute(self, owner: Any, name: str, depth: int = 0) -> None:
        read = operator.attrgetter(name)
        self._note((id(owner), name), f"attribute {name}", read, owner, read(owner), depth)

    def _note(
        self, place: Any, name: str, get: Callable[[Any], Any], key: Any, value: Any,
        depth: int = 0, computed: bool = False,
    ) -> None:  # fmt: skip
        """Guard ``value``, which ``get(key)`` reads; ``place``: tells it from others."""
        guards = self.guards.guards
        if place in guards:
            return
        before = snapshot(value)
        guards[place] = Guard(name, get, key, before, computed)
        self._kept.append(value)
        if not before or len(guards) > LONG:
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
                if each[0] != "_" or (each == "_value_" and not isinstance(held, SIMPLE)):
                    self._attribute(value, each, depth)
            return
        if isinstance(value, (*SIMPLE, Tensor, np.ndarray, *_UNCHANGING)):
            if is_of_user(kind) and not isinstance(value, Tensor):
                self._object(name, value, depth)
            return
        if unwatched(value):
            self._unwatched.append((name, value))
            return
        if hasattr(kind, "host_methods"):
            self._holding[id(value)] = value
        elif isinstance(value, module_changes.module_type):
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
        elif isinstance(value, (*CONTAINERS, types.MappingProxyType)):
            if not _only_simple(value):
                self._members(name, value, depth)
            if is_of_user(kind):
                self._object(name, value, depth)
        else:
            self._object(name, value, depth)

    def argument(self, value: Any) -> None:
        """Note what is in an argument that is known by its identity."""
        if isinstance(value, CONTAINERS):
            self._note((id(value), None), "an argument", itself, value, value)
        else:
            self.inside("an argument", value)

    def _members(self, name: str, value: Any, depth: int) -> None:
        if depth > _DEEP:
            self._refuse(f"{name} is nested too deeply to watch")
        for member in value.values() if hasattr(value, "values") else value:
            if not isinstance(member, (*SIMPLE, Tensor)):
                self._note((id(member), None), name, itself, member, member, depth)

    def _object(self, name: str, value: Any, depth: int) -> None:
        kind = type(value)
        if isinstance(value, functools.partial):
            self._members(name, (value.func, value.args, value.keywords), depth)
        elif holder(value) is not None:
            self._note((id(value), "held"), name, itself, holder(value), holder(value), depth)
        elif is_cached(value):
            read = cache_was_cleared(value)
            what = f"the cache of {name}"
            self._note((id(value), "cleared"), what, read, None, read(None), depth, computed=True)
            self.inside(name, value.__wrapped__, depth)
        elif isinstance(value, types.MethodType):
            if value.__name__ not in getattr(type(value.__self__), "host_methods", ()):
                self._names.add(value.__name__)
            self.inside(name, value.__self__, depth)
        elif isinstance(value, types.FunctionType):
            if value.__dict__:
                self.guard_attributes(value, depth)
            else:
                self.guards.bare_functions.append(value.__dict__)
        elif state_in_c(kind) and not callable(value):  # type: ignore[arg-type]
            self._refuse(f"{name} is a {kind.__name__}, which cannot be watched")
        elif in_c(kind):
            return
        elif is_watched(kind):  # type: ignore[arg-type]
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
            methods = type(value).host_methods  # None: user code reads nothing of it
            names = set() if methods is None else self._names - methods
            if any(name in names for name in (*dir(type(value)), *value.__dict__)):
                self.guard_attributes(value)
            else:
                read = functools.partial(_equals, value.host_guard(), value.host_guard)
                guard = Guard(type(value).__name__, read, None, (True,))
                self.guards.guards[id(value), "held"] = guard

    def finds(self, value: Any) -> bool:
        """Whether an object is one that the call found."""
        return any(value is each for each in self._kept)

    def _module(self, module: Any) -> None:
        if id(module) in self.guards.modules:
            return
        self.guards.modules[id(module)] = (module, attributes(module))
        for each in module._modules.values():  # such as one that is never called itself
            if each is not None:
                self._module(each)
        for fields in (module._parameters, module._buffers, module._modules):
            self.guards.module_items += [
                Guard(f"a {type(module).__name__}", fields.get, name, (value,))
                for name, value in fields.items()
            ]
        for each in (*module._parameters.values(), *module._buffers.values()):
            self.inside("", each)
        if not of_library(type(module).__module__):
            for name, value in module.__dict__.items():
                if name not in _OWN and not isinstance(value, (*SIMPLE, Tensor, types.MethodType)):
                    self._note_item(module, name, value)
            self._classes(type(module))
        else:
            self._attribute(type(module), "forward")
            for name, value in module.__dict__.items():  # what users have set on it
                if (
                    name[0] != "_"
                    and name not in _OWN
                    and (isinstance(value, (list, dict, set)) or is_of_user(type(value)))
                ):
                    self._note_item(module, name, value)

    def _note_item(self, module: Any, name: str, value: Any) -> None:
        self._note((id(module), name), f"attribute {name}", module.__dict__.get, name, value)


def _equals(before: Any, read: Callable[[], Any], _: None) -> bool:
    """Whether what an optimizer, a schedule or a scaler says of itself is what it said before."""
    return bool(read() == before)


def _only_simple(value: Any) -> bool:
    members = value.values() if hasattr(value, "values") else value
    return all(isinstance(member, (*SIMPLE, Tensor)) for member in members)


@functools.lru_cache(1024)
def _slots(kind: type) -> tuple[str, ...]:
    """The names of ``__slots__`` of a class and of those it is derived from."""
    return tuple(
        name for each in kind.__mro__ for name, value in vars(each).items()
        if isinstance(value, types.MemberDescriptorType) and name[:2] != "__"
    )  # fmt: skip
