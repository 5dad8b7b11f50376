"""Guards: what a compiled call took for granted, checked before it is run again.

A guard reads one thing (a global, an attribute, a closure's cell) and compares it with what it was
while the call was traced: plain numbers and strings by value, arrays by their elements, other
objects by identity and by what is in them. Modules are noted with everything that is set on them;
they are checked only when something was set on any module. :mod:`.recorder` finds what to guard.
"""

from __future__ import annotations

import collections
import operator
import types
from collections.abc import Callable
from typing import Any

import numpy as np

from ...tensor import Tensor, fields_of
from . import module_changes

SIMPLE = (int, float, bool, str, bytes, complex, type(None))
CONTAINERS = (list, tuple, dict, set, collections.deque, bytearray)
LONG = 1024  # longer containers, larger arrays and more values than this are not watched


def snapshot(value: Any) -> tuple[Any, ...]:
    """What to compare ``value`` with later; empty when there is too much of it."""
    if isinstance(value, np.ndarray):
        if value.size > LONG or value.dtype.hasobject:
            return ()
        return (value.dtype.str, value.shape, value.tobytes())
    if not isinstance(value, (*CONTAINERS, types.MappingProxyType)):
        return (value,)
    if len(value) > LONG:
        return ()
    if isinstance(value, tuple) and all(isinstance(each, SIMPLE) for each in value):
        return (value,)  # which never changes
    if isinstance(value, (dict, types.MappingProxyType)):
        return (value, len(value), *value.keys(), *value.values())
    return (value, frozenset(value)) if isinstance(value, set) else (value, len(value), *value)


def _equal(a: Any, b: Any) -> bool:
    if a is b:
        return True
    if isinstance(a, Tensor) and isinstance(b, Tensor):
        one = fields_of(a).get("_registered_for")
        return one is not None and one is fields_of(b).get("_registered_for")
    if type(a) is not type(b) or not isinstance(a, (*SIMPLE, frozenset, tuple)):
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


def itself(value: Any) -> Any:
    """Reads a member of a container, which is compared with the container."""
    return value


class Guard:
    """One thing that was read: ``get(key)`` gave what ``before`` shows.

    Attributes:
        name: as it is shown to users.
        computed: whether what is read is made anew each time, so that it has no identity.
    """

    __slots__ = ("before", "computed", "get", "key", "name", "single")

    def __init__(
        self, name: str, get: Callable[[Any], Any], key: Any, before: tuple[Any, ...],
        computed: bool = False,
    ) -> None:  # fmt: skip
        self.name = name
        self.get = get
        self.key = key
        self.before = before
        self.computed = computed
        self.single = len(before) == 1 and isinstance(before[0], (*SIMPLE, Tensor))

    def holds(self) -> bool:
        try:
            now = self.get(self.key)
            if self.single and now is self.before[0]:
                return True
            return bool(self.before) and _unchanged(self.before, snapshot(now))
        except (KeyError, ValueError, AttributeError):
            return False


def attributes(module: Any) -> tuple[Any, ...]:
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


def _reading(
    get: Callable[[Any], Any], key: Any, value: Any, number: str, known: dict[str, Any]
) -> str:  # fmt: skip
    """``get(key)`` as an expression, without a call where an item or an attribute is read."""
    owner = getattr(get, "__self__", None)
    if type(owner) is dict and get == owner.get and value is not None:  # None also where none is
        known[f"o{number}"], known[f"k{number}"] = owner, key
        return f"o{number}[k{number}]"
    known[f"o{number}"] = key
    if type(get) is operator.attrgetter:
        name = get.__reduce__()[1][0]
        if name.isidentifier():
            return f"o{number}.{name}"
    known[f"get{number}"] = get
    return f"get{number}(o{number})"


class GuardSet:
    """Everything that must be as it was while a call was traced.

    Attributes:
        guards: by what they read.
        modules: by their ids, each with :func:`attributes` of it.
        module_items: what is in the modules' dictionaries, which programs also write to directly.
        bare_functions: the dictionaries of functions that had no attributes.
        hooks: those on all modules.
    """

    def __init__(self) -> None:
        self.guards: dict[Any, Guard] = {}
        self.modules: dict[int, tuple[Any, tuple[Any, ...]]] = {}
        self.module_items: list[Guard] = []
        self.bare_functions: list[dict[str, Any]] = []
        self.hooks = module_changes.hooks_on_all()
        # the dictionaries of classes, and how many names they had
        self._scopes: dict[int, Any] = {}
        self._sizes: list[int] = []
        self._checked = -1
        self._identities: list[tuple[Callable[[Any], Any], Any, Any, Guard]] = []
        self._others: list[Guard] = []

    def add_class(self, kind: type) -> None:
        """Note how many names a class has."""
        if id(kind) not in self._scopes:
            self._scopes[id(kind)] = kind.__dict__
            self._sizes.append(len(kind.__dict__))

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
        return "an attribute of a function" if any(self.bare_functions) else ""

    def write_tests(self, tests: list[str], known: dict[str, Any]) -> None:
        """Add what :meth:`broken_value` looks at to the expressions of a generated test, and what
        these name to ``known``. A test that raises, or fails, leaves the answer to that method."""
        self._sort()
        for i, (get, key, value, _) in enumerate(self._identities):
            known[f"v{i}"] = value
            tests.append(f"{_reading(get, key, value, str(i), known)} is v{i}")
        if self._others:
            known["others"] = [guard.holds for guard in self._others]
            tests.append("all([holds() for holds in others])")
        for i, (scope, size) in enumerate(zip(self._scopes.values(), self._sizes, strict=True)):
            known[f"scope{i}"] = scope
            tests.append(f"len(scope{i}) == {size}")
        if self.bare_functions:
            known["bare"] = self.bare_functions
            tests.append("not any(bare)")

    def _sort(self) -> None:
        """Tell guards that compare identities, which is quick, from the others."""
        self._checked = len(self.guards)
        self._identities, self._others = [], []
        for guard in (*self.guards.values(), *self.module_items):
            if len(guard.before) != 1 or guard.computed:
                self._others.append(guard)
            elif guard.get is not itself:
                self._identities.append((guard.get, guard.key, guard.before[0], guard))

    def broken_module(self) -> str:
        if module_changes.hooks_on_all() != self.hooks:
            return "a hook on all modules"
        for module, before in self.modules.values():
            now = attributes(module)
            if len(now) != len(before) or not all(map(_equal, before, now)):
                return f"a {type(module).__name__}"
        return ""
