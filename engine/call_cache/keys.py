"""What tells one call of a function from another: a key made of its arguments.

:func:`key_of` makes it of any arguments, in a loop that takes as long as a kernel on ten elements.
:func:`lookup_for` writes the same key out for calls of one form.
"""

from __future__ import annotations

from collections.abc import Callable
from operator import attrgetter
from typing import Any

from ..dispatch import bound
from ..dtypes import DType
from ..state import state
from ..tensor import Tensor, result_types
from .codegen import code_of

_PLAIN: set[type] = {int, bool, str, type(None), DType}
_aval_of = attrgetter("aval")
_MOST_LEAVES = 12  # arguments and elements of a call that has a form


def equal_is_same(kind: type) -> type:
    """Note that calls cannot tell equal values of this hashable class apart."""
    _PLAIN.add(kind)
    return kind


def _describe(value: Any, key: list[Any], given: list[Any]) -> None:
    """Add what an argument is to ``key``, and the tensors in it to ``given``.

    Raises:
        TypeError: calls with such an argument are not told apart by it.
    """
    kind = value.__class__
    if kind is list or (isinstance(value, tuple) and kind not in _PLAIN):
        tensor = result_types[0]
        key += kind, len(value)
        for each in value:
            if each.__class__ is int:
                key += each, int
            elif each.__class__ is tensor:
                key.append(each.aval)
                given.append(each)
            else:
                _describe(each, key, given)
        return
    if isinstance(value, Tensor):
        key.append(value.aval)
        given.append(value)
        return
    if kind is float and (not value or value != value):
        value = repr(value)  # zeros have signs, and nan is equal to nothing
    key.append(value)
    key.append(kind)


def key_of(first: Any, args: Any, kwargs: dict[str, Any]) -> tuple[Any, list[Any]]:
    """What tells calls apart, and the tensors among the arguments.

    Raises:
        TypeError: as :func:`_describe` does.
    """
    tensor = result_types[0]
    key: list[Any]
    if first.__class__ is tensor:
        if not args and not kwargs:
            return first.aval, [first]
        key, given = [first.aval], [first]
    elif first.__class__ in _PLAIN:
        key, given = [state.device, first, first.__class__], []
    elif first.__class__ is list and first and first[0].__class__ is tensor is first[-1].__class__:
        key, given = [state.device, list, len(first), *map(_aval_of, first)], first.copy()
    else:
        key, given = [state.device], []
        _describe(first, key, given)
    for value in args:
        kind = value.__class__
        if kind in _PLAIN:
            key += value, kind
        elif kind is tensor:
            key.append(value.aval)
            given.append(value)
        else:
            _describe(value, key, given)
    for name, value in kwargs.items():
        key.append(name)
        kind = value.__class__
        if kind in _PLAIN:
            key += value, kind
        else:
            _describe(value, key, given)
    return tuple(key), given


class _Form:
    """The code that makes the key of calls whose arguments have the same classes.

    Attributes:
        lines: that take the arguments apart.
        tests: one of them holds where a call has another form.
        key, tensors: the texts of the key's parts, and of the tensors.
        constants: what the texts call ``c<number>``.
        leaves: how many arguments and elements there are.
    """

    def __init__(self) -> None:
        self.lines: list[str] = []
        self.tests: list[str] = []
        self.key: list[str] = []
        self.tensors: list[str] = []
        self.constants: list[Any] = []
        self.leaves = 0

    def constant(self, value: Any) -> str:
        if value not in self.constants:
            self.constants.append(value)
        return f"c{self.constants.index(value)}"

    def refuse_others(self) -> None:
        """Write the tests down, before what only calls that pass them can do."""
        if self.tests:
            self.lines += [f"if {' or '.join(self.tests)}:", "    return NotImplemented"]
            self.tests.clear()

    def add(self, value: Any, name: str) -> bool:
        """Add an argument that the code calls ``name``; whether it can be."""
        kind = value.__class__
        self.leaves += 1
        self.tests.append(f"{name}.__class__ is not {self.constant(kind)}")
        if isinstance(value, Tensor):
            self.key.append(f"{name}.aval")
            self.tensors.append(name)
        elif kind in _PLAIN:
            self.key += name, self.constant(kind)
        elif kind is float:
            self.key += f"{name} if {name} and {name} == {name} else repr({name})", "float"
        elif (kind is list or kind is tuple) and len(value) <= _MOST_LEAVES:
            self.key += self.constant(kind), str(len(value))
            self.tests.append(f"len({name}) != {len(value)}")
            self.refuse_others()
            names = [f"{name}_{i}" for i in range(len(value))]
            if names:
                self.lines.append(f"{', '.join([*names, ''])} = {name}")
            return all(self.add(x, each) for x, each in zip(value, names, strict=True))
        else:
            return False
        return self.leaves <= _MOST_LEAVES


def lookup_for(
    name: str, writes: bool, first: Any, args: tuple[Any, ...], kwargs: dict[str, Any]
) -> Callable[..., Any] | None:
    """``lookup(mode, get, first, args, kwargs)`` for calls of the same form as the one given.

    It does what ``get(key)`` is, a call of ``(mode, *tensors)``, and returns NotImplemented where
    that is None or the call has another form. None where the form has too many parts, or some of a
    class that is not known.

    Args:
        name: of the function, for frames.
        writes: it writes to its first argument, which must not be one whose writes are recorded.
    """
    form = _Form()
    names = [f"a{i}" for i in range(len(args))], [f"k{i}" for i in range(len(kwargs))]
    if first.__class__ is not result_types[0]:
        form.key.append("state.device")
    form.tests.append(f"len(args) != {len(args)}" if args else "args")
    words = tuple(kwargs)
    form.tests.append(f"tuple(kwargs) != {words!r}" if kwargs else "kwargs")
    known = form.add(first, "first")
    form.refuse_others()
    if args:
        form.lines.append(f"{', '.join([*names[0], ''])} = args")
    if kwargs:
        form.lines.append(f"{', '.join([*names[1], ''])} = kwargs.values()")
    for value, each in zip(args, names[0], strict=True):
        known = known and form.add(value, each)
    for word, each in zip(words, names[1], strict=True):
        form.key.append(repr(word))
        known = known and form.add(kwargs[word], each)
    if not known:
        return None
    if writes:
        form.tests.append("mode and first._node is not None and records_writes(first._node)")
    form.refuse_others()
    key = form.key[0] if form.key == ["first.aval"] else f"({', '.join(form.key)})"
    lines = [
        *form.lines, f"known = get({key})", "if known is None:", "    return NotImplemented",
        f"return known({', '.join(['mode', *form.tensors])})",
    ]
    given = "mode", "get", "first", "args", "kwargs"
    return bound(code_of(name, given, len(form.constants), "\n".join(lines)), *form.constants)
