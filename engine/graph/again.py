"""Gradients that a compiled call computes in the memory of those of the call before.

``p.grad`` is another tensor after each backward pass. Where nobody but the leaf holds the last
one, no view of it and no array over its memory, nobody can tell whether the next one is new.
"""

from __future__ import annotations

from sys import getrefcount
from typing import Any

from ..tensor import Storage, make


def _held_once() -> int:
    thing = object()
    return getrefcount(thing)


HELD_ONCE = _held_once()  # what getrefcount says of an object that only one variable holds


class Again:
    """One output of a segment that is nothing but a leaf's gradient.

    Attributes:
        leaf: where the leaf is found; ``fixed`` is itself, where it is the same at each call.
    """

    __slots__ = ("described", "fixed", "kind", "leaf")

    def __init__(self, leaf: Any, described: Any, kind: type) -> None:
        self.leaf = leaf
        self.fixed: Any = leaf.tensor(()) if leaf.kind == "captured" else None
        self.described = described
        self.kind = kind

    def free(self, flat: Any, held: int, arguments: Any) -> bool:
        """Whether nobody holds ``flat`` but who does so ``held`` times, and the leaf's gradient,
        which only the leaf holds."""
        leaf = self.fixed
        if leaf is None:
            leaf = self.leaf.tensor(arguments)
        gradient = leaf._grad
        if gradient is None or gradient.flat is not flat or (
            getrefcount(gradient) > HELD_ONCE + 1
        ):
            return False
        held += 2  # the caller's variable, and the gradient
        storage = gradient._storage
        if storage is not None:
            if type(storage) is not Storage or getrefcount(storage) > HELD_ONCE + 1:
                return False
            held += 1
        return getrefcount(flat) <= HELD_ONCE + held

    def give(self, flat: Any, arguments: Any) -> None:
        """Make ``flat``, which the program has just filled, the leaf's gradient."""
        leaf = self.fixed
        if leaf is None:
            leaf = self.leaf.tensor(arguments)
        leaf._grad = tensor = make(flat, self.described)
        if type(tensor) is not self.kind:
            tensor.__class__ = self.kind
