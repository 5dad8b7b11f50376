"""Paths to the leaves of a tree: the keys that lead there, one for each container passed."""

from __future__ import annotations

from collections import OrderedDict, defaultdict, deque, namedtuple
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

__all__ = ["GetAttrKey", "KeyPath", "MappingKey", "SequenceKey", "keystr"]


@dataclass(frozen=True)
class SequenceKey:
    """A place in a list or tuple."""

    idx: int

    def __str__(self) -> str:
        return f"[{self.idx!r}]"

    def get(self, sequence: Any) -> Any:
        return sequence[self.idx]


@dataclass(frozen=True)
class MappingKey:
    """A key of a mapping."""

    key: Any

    def __str__(self) -> str:
        return f"[{self.key!r}]"

    def get(self, mapping: Any) -> Any:
        return mapping[self.key]


@dataclass(frozen=True)
class GetAttrKey:
    """The name of an attribute, such as a field of a named tuple."""

    name: str

    def __str__(self) -> str:
        return f".{self.name}"

    def get(self, obj: Any) -> Any:
        return getattr(obj, self.name)


KeyPath = tuple[Any, ...]
WithKeys = Callable[[Any], tuple[list[tuple[Any, Any]], Any]]


def keystr(kp: KeyPath) -> str:
    """The path as Python writes it: `['a'][0].b`."""
    return "".join(str(key) for key in kp)


def _sequence_keys(tree: Any) -> list[tuple[Any, Any]]:
    return [(SequenceKey(n), each) for n, each in enumerate(tree)]


def _mapping_keys(tree: Any) -> list[tuple[Any, Any]]:
    return [(MappingKey(key), each) for key, each in tree.items()]


def _dict_flatten_with_keys(tree: dict[Any, Any]) -> tuple[list[tuple[Any, Any]], list[Any]]:
    """Pairs of key and value, and the keys."""
    return _mapping_keys(tree), list(tree)


# For each type that is known without registering: children with their keys, and the context.
WITH_KEYS: dict[Any, WithKeys] = {
    list: lambda tree: (_sequence_keys(tree), None),
    tuple: lambda tree: (_sequence_keys(tree), None),
    deque: lambda tree: (_sequence_keys(tree), tree.maxlen),
    dict: _dict_flatten_with_keys,
    OrderedDict: _dict_flatten_with_keys,
    defaultdict: lambda tree: (_mapping_keys(tree), (tree.default_factory, list(tree))),
    namedtuple: lambda tree: (
        [(GetAttrKey(name), getattr(tree, name)) for name in tree._fields],
        type(tree),
    ),
}
