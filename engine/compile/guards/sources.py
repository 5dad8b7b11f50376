"""How a guard reads again what a call has read: an item, an attribute, a closure's cell."""

from __future__ import annotations

import dis
import operator
import types
from collections.abc import Callable
from typing import Any


class Names:
    """Reads an object's class, and which names its dictionary has."""

    __slots__ = ("fields", "owner")

    def __init__(self, owner: Any, fields: Any) -> None:
        self.owner = owner
        self.fields = fields

    def __call__(self) -> Any:
        return frozenset((type(self.owner), *self.fields))


class Attribute:
    """Reads an attribute."""

    __slots__ = ("name", "owner")

    def __init__(self, owner: Any, name: str) -> None:
        self.owner = owner
        self.name = name

    def get(self) -> tuple[Callable[[Any], Any], Any]:
        return operator.attrgetter(self.name), self.owner

    def __call__(self) -> Any:
        return getattr(self.owner, self.name)


class Item:
    """Reads an item of a dictionary."""

    __slots__ = ("key", "scope")

    def __init__(self, scope: Any, key: str) -> None:
        self.scope = scope
        self.key = key

    def get(self) -> tuple[Callable[[Any], Any], Any]:
        return self.scope.get, self.key

    def __call__(self) -> Any:
        return self.scope[self.key]


class Held:
    """Gives a member of a container."""

    __slots__ = ("value",)

    def __init__(self, value: Any) -> None:
        self.value = value

    def __call__(self) -> Any:
        return self.value


class Cell:
    """Reads a closure's cell."""

    __slots__ = ("cell",)

    def __init__(self, cell: Any) -> None:
        self.cell = cell

    def get(self) -> tuple[Callable[[Any], Any], Any]:
        return operator.attrgetter("cell_contents"), self.cell

    def __call__(self) -> Any:
        return self.cell.cell_contents


def globals_of(code: types.CodeType) -> tuple[str, ...]:
    """The global names that a function reads."""
    read = ("LOAD_GLOBAL", "LOAD_NAME")
    return tuple({i.argval for i in dis.get_instructions(code) if i.opname in read})
