"""The structure of a call's arguments and results, as a key and without the tensors in them."""

from __future__ import annotations

import dataclasses
import enum
from collections.abc import Iterator
from typing import Any

import numpy as np

from ...autograd import tape
from ...symbolic_sizes import KINDS
from ...tensor import Tensor
from ..guards.opaque_state import is_of_user, state_in_c

_NUMBERS = (float, complex, np.inexact)


class Flattened:
    """Nested arguments: a hashable description, and the tensors taken out of it.

    Attributes:
        leaves: the tensors, each once.
        objects: what is equal to itself only.
        containers: lists, dicts and dataclasses, which somebody may change.
    """

    def __init__(self) -> None:
        self.leaves: list[Tensor] = []
        self.places: dict[int, int] = {}
        self.objects: list[Any] = []
        self.containers: list[Any] = []

    def describe(self, value: Any) -> Any:
        """What ``value`` is but for the elements of its tensors.

        Raises:
            TypeError: it cannot be told from others by that.
        """
        if type(value) in KINDS:
            value = value.fixed()
        if isinstance(value, Tensor):
            if type(value).flat is not Tensor.flat:
                raise TypeError(f"a {type(value).__name__} consists of several tensors")
            place = self.places.get(id(value))
            if place is None:
                place = self.places[id(value)] = len(self.leaves)
                self.leaves.append(value)
                return ("tensor", value.aval, tape.requires_grad(value), tape.is_leaf(value))
            return ("again", place)
        if isinstance(value, tuple):
            return (type(value), tuple([self.describe(v) for v in value]))
        if type(value) is list:
            self.containers.append(value)
            return (list, tuple([self.describe(v) for v in value]))
        if type(value) is dict:
            self.containers.append(value)
            return (dict, tuple([(k, self.describe(v)) for k, v in value.items()]))
        names = _fields(value)
        if names is not None:
            self.containers.append(value)
            fields = tuple([(n, self.describe(getattr(value, n))) for n in names])
            return ("dataclass", type(value), fields)
        if isinstance(value, _NUMBERS) and (value == 0 or value != value):
            return ("exact", _Exact(value))
        kind = type(value)
        if value is not None and not _is_choice(value) and (
            hasattr(value, "__dict__") or callable(value) or is_of_user(kind)
        ):
            self.objects.append(value)
            return ("object", _Same(value))
        if hasattr(kind, "__next__") or hasattr(kind, "__await__"):
            raise TypeError("an iterator gives other values at each call")
        if state_in_c(kind):  # type: ignore[arg-type]
            raise TypeError(f"a {kind.__name__} cannot be watched")
        hash(value)
        return ("value", type(value), value)


# no arguments
NOTHING = (Flattened(), Flattened().describe(((), {})))


class _Same:
    """An object as a key: equal to itself only."""

    __slots__ = ("value",)

    def __init__(self, value: Any) -> None:
        self.value = value

    def __hash__(self) -> int:
        return id(self.value)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Same) and other.value is self.value


class _Exact:
    """A number as a key that tells 0.0 from -0.0, and knows NaN again."""

    __slots__ = ("value",)

    def __init__(self, value: Any) -> None:
        self.value = value

    def __hash__(self) -> int:
        return hash(repr(self.value))

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Exact) and repr(self.value) == repr(other.value)


def _is_choice(value: Any) -> bool:
    """Whether a value is an enumeration's member that holds nothing that changes."""
    return isinstance(value, enum.Enum) and all(
        each is None or isinstance(each, (int, float, str, tuple, type))
        for each in value.__dict__.values()
    )


def _fields(value: Any) -> list[str] | None:
    """The names of a dataclass's fields, where an object has no other attributes."""
    if not dataclasses.is_dataclass(value) or isinstance(value, type):
        return None
    names = [f.name for f in dataclasses.fields(value)]
    return None if set(getattr(value, "__dict__", ())) - set(names) else names


def rebuild(description: Any, leaves: Iterator[Any], met: list[Any]) -> Any:
    """What :meth:`Flattened.describe` was given, with other tensors; ``met`` collects them."""
    kind = description[0]
    if kind == "tensor":
        met.append(next(leaves))
        return met[-1]
    if kind == "again":
        return met[description[1]]
    if kind == "value":
        return description[2]
    if kind in ("object", "exact"):
        return description[1].value
    if kind is dict:
        return {k: rebuild(v, leaves, met) for k, v in description[1]}
    if kind == "dataclass":
        fields = {n: rebuild(v, leaves, met) for n, v in description[2]}
        made = object.__new__(description[1])
        for name, value in fields.items():
            object.__setattr__(made, name, value)
        return made
    parts = [rebuild(v, leaves, met) for v in description[1]]
    return kind(*parts) if hasattr(kind, "_fields") else kind(parts)
