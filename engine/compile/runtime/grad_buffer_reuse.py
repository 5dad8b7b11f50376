"""Gradients that a compiled call computes in the memory of those of the call before.

``p.grad`` is another tensor after each backward pass. Where nobody but the leaf holds the last
one, no view of it and no array over its memory, nobody can tell whether the next one is new.
"""

from __future__ import annotations

from typing import Any

from ...reference_counts import holders
from ...tensor import Storage, change_class, fields_of, make


class GradBufferReuse:
    """One output of a partition that is nothing but a leaf's gradient.

    Attributes:
        leaf: where the leaf is found; ``fixed`` is itself, where it is the same at each call.
        stays: whether the leaf's gradient, over memory that was found free, is as a new one.
    """

    __slots__ = ("described", "fixed", "kind", "leaf", "stays")

    def __init__(self, leaf: Any, described: Any, kind: type) -> None:
        self.leaf = leaf
        self.fixed: Any = leaf.tensor(()) if leaf.kind == "captured" else None
        self.described = described
        self.kind = kind
        self.stays = False

    def may_reuse(self, flat: Any, known: int, arguments: Any) -> bool:
        """Whether ``flat`` has no holders but ``known`` ones and the leaf's gradient, which only
        the leaf refers to."""
        leaf = self.fixed
        if leaf is None:
            leaf = self.leaf.tensor(arguments)
        gradient = leaf._grad
        if gradient is None or gradient.flat is not flat or (
            holders(gradient) > 2  # the leaf, and the variable here
        ):
            return False
        known += 2  # the variable here, and the gradient
        storage = gradient._storage
        if storage is not None:
            if type(storage) is not Storage or holders(storage) > 2:
                return False
            known += 1
        if holders(flat) > known:
            return False
        self.stays = (
            gradient._node is None and not fields_of(gradient)
            and gradient.aval is self.described and type(gradient) is self.kind
        )  # fmt: skip
        return True

    def set_gradient(self, flat: Any, arguments: Any) -> None:
        """Make ``flat``, which the executable has just filled, the leaf's gradient."""
        leaf = self.fixed
        if leaf is None:
            leaf = self.leaf.tensor(arguments)
        if self.stays:
            self.stays = False
            held = leaf._grad
            if held is not None and held.flat is flat:
                return
        leaf._grad = tensor = make(flat, self.described)
        if type(tensor) is not self.kind:
            change_class(tensor, self.kind)
