"""Gradients that a compiled call computes in the memory of those of the call before.

``p.grad`` is another tensor after each backward pass. Where nobody but the leaf holds the last
one, no view of it and no array over its memory, nobody can tell whether the next one is new.
"""

from __future__ import annotations

from sys import getrefcount
from typing import Any

from ..tensor import Storage, Tensor, fields_of, make


def _held_once() -> int:
    thing = object()
    return getrefcount(thing)


HELD_ONCE = _held_once()  # what getrefcount says of an object that only one variable holds


class Again:
    """One output of a segment that is nothing but a leaf's gradient.

    Attributes:
        leaf: where the leaf is found; ``fixed`` is itself, where it is the same at each call.
        tensor: its gradient, None before the first run.
    """

    __slots__ = ("described", "fixed", "kind", "leaf", "tensor")

    def __init__(self, leaf: Any, described: Any, kind: type) -> None:
        self.leaf = leaf
        self.fixed: Any = leaf.tensor(()) if leaf.kind == "captured" else None
        self.described = described
        self.kind = kind
        self.tensor: Tensor | None = None

    def free(self, flat: Any, held: int, arguments: Any) -> bool:
        """Whether nobody but the leaf holds the gradient, and its memory is held ``held`` times
        besides."""
        tensor: Any = self.tensor
        if tensor is None or tensor.flat is not flat or tensor.aval is not self.described:
            return False
        leaf = self.fixed
        if leaf is None:
            leaf = self.leaf.tensor(arguments)
        if getrefcount(tensor) > HELD_ONCE + 1 + (leaf._grad is tensor):
            return False
        fields = fields_of(tensor)
        if tensor._node is not None or (fields and not _only_a_storage(fields)):
            return False
        fields.clear()
        return getrefcount(flat) <= HELD_ONCE + 1 + held

    def give(self, flat: Any, arguments: Any) -> None:
        """Make ``flat``, which the program has just filled, the leaf's gradient."""
        tensor = self.tensor
        if tensor is None or tensor.flat is not flat:
            tensor = self.tensor = make(flat, self.described)
            if type(tensor) is not self.kind:
                tensor.__class__ = self.kind
        leaf = self.fixed
        if leaf is None:
            leaf = self.leaf.tensor(arguments)
        if leaf._grad is not tensor:
            leaf._grad = tensor


def _only_a_storage(fields: dict[str, Any]) -> bool:
    """Whether a tensor's only field is a storage that no view shares."""
    storage = fields.get("_storage")
    return len(fields) == 1 and type(storage) is Storage and getrefcount(storage) <= HELD_ONCE + 1
