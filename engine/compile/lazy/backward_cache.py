"""Backward passes that were seen before: the tape is compared, its rules need not run."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ...autograd import tape
from ...tensor import Tensor, version_of
from ...transforms import autocast
from ..ir.ir import DRAW, Value, waits


class Walk:
    """The part of the tape below some roots.

    Attributes:
        nodes: in the order in which they were met; leaves: the tensors at its ends.
        shape: what tells two walks apart, given that the same ops led to both.
        plain: whether nothing can happen in a pass but the nodes' rules.
    """

    __slots__ = ("leaves", "nodes", "plain", "shape")

    def __init__(self, roots: list[Any], started: int, began: int) -> None:
        self.nodes: list[Any] = []
        self.leaves: list[Tensor] = []
        self.shape: list[Any] = [autocast.state.key()]
        for _, index, gradient in roots:
            number = gradient.flat.number if type(gradient.flat) is Value else None
            self.shape += (index, gradient.aval, number)
        self.plain = self._walk([node for node, _, _ in roots], started, began)

    def _walk(self, stack: list[Any], started: int, began: int) -> bool:
        shape, nodes = self.shape, self.nodes
        places: dict[int, int] = {}
        while stack:
            node = stack.pop()
            place = places.get(id(node))
            if place is not None:
                shape.append(place)
                continue
            places[id(node)] = len(places)
            if node.hooks is not None and any(node.hooks.values()):
                return False
            if type(node) is tape.Node:
                if node.sequence < started or node.saved is tape.RELEASED:
                    return False
                shape.append(node.plan)
                shape.append(_numbers(node) if node.sequence < began else None)
                nodes.append(node)
                for edge in node.edges:
                    if edge is None:
                        shape.append(None)
                    else:
                        shape.append(edge[1])
                        stack.append(edge[0])
            elif type(node) is not tape.AccumulateGrad or not self._leaf(node):
                return False
        return True

    def kept(self) -> dict[Any, tuple[int, int]]:
        """Where tensors are saved whose data is there: (node, place), by memory and layout."""
        found: dict[Any, tuple[int, int]] = {}
        for i, node in enumerate(self.nodes):
            for k, x in enumerate(node.saved):
                if isinstance(x, Tensor) and type(x.flat) is not Value:
                    found[_memory(x)] = (i, k)
        return found

    def saved(self, place: tuple[int, int]) -> Tensor | None:
        """The tensor that is saved there; None where it was written to."""
        node = self.nodes[place[0]]
        tensor = node.saved[place[1]]
        version = node.versions[place[1]]
        if type(tensor.flat) is Value or (version >= 0 and version_of(tensor) != version):
            return None
        return tensor

    def _leaf(self, node: tape.AccumulateGrad) -> bool:
        leaf = node.variable
        if leaf is None or leaf._grad is not None:
            return False
        self.leaves.append(leaf)
        self.shape.append(leaf.aval)
        return True


class Seen:
    """A pass that was run.

    Attributes:
        end, count: the entry that it led to, and the number of the next value there.
        results: the gradients of the walk's leaves.
        given: tensors that it found: numbers, places among the roots' gradients, or places of
            saved tensors with their avals.
    """

    def __init__(self, walk: Walk, end: Any, count: int, results: Any, given: Any) -> None:
        self.shape = walk.shape
        self.end = end
        self.count = count
        self.results = results
        self.given = given


def seen(
    walk: Walk, start: Any, end: Any, count: int, given: list[Tensor], roots: list[Any],
    kept: dict[Any, tuple[int, int]],
) -> Seen | None:  # fmt: skip
    """The cache entry of a backward pass; None if it cannot be cached."""
    changing = {e.value.number for e in start.path() if e.number is Ellipsis}
    entry = end
    while entry is not start:
        if entry is None or entry.op is DRAW or (
            entry.op is not None and entry.op.name == "view_update"
        ):
            return None
        if any(v is not None and v.number in changing for v in entry.inputs):
            return None  # the number may be another one of the pass, which was the same this time
        entry = entry.parent
    results = []
    for leaf in walk.leaves:
        made: Any = leaf._grad
        if made is not None and not (
            waits(made) and made._storage is None and made._node is None
        ):
            return None
        results.append(None if made is None else made.flat)
    gradients = [g for _, _, g in roots]
    found: list[Any] = []
    for tensor in given:
        place = next((i for i, g in enumerate(gradients) if g is tensor), None)
        if place is not None:
            found.append(place)
        elif tensor.aval.weak:
            found.append(tensor)
        elif _memory(tensor) in kept:
            found.append((kept[_memory(tensor)], tensor.aval))
        else:
            return None
    return Seen(walk, end, count, results, found)


def met_again(known: Seen, walk: Walk, roots: list[Any]) -> list[Tensor] | None:
    """The tensors that the pass finds; None if it must run."""
    found: list[Tensor] = []
    for each in known.given:
        tensor: Any = each
        if type(each) is int:
            tensor = roots[each][2]
        elif type(each) is tuple:
            tensor = walk.saved(each[0])
            if tensor is None or tensor.aval is not each[1]:
                return None
        found.append(tensor)
    return found


def repeat(known: Seen, walk: Walk, make: Callable[[Value], Tensor], retain: bool) -> None:
    """Give the leaves their gradients."""
    for leaf, value in zip(walk.leaves, known.results, strict=True):
        if value is not None:
            leaf._grad = make(value)
    if not retain:
        for node in walk.nodes:
            node.release()


def _numbers(node: Any) -> tuple[str, ...]:
    """The numbers that a node keeps, as texts: -0.0 is not 0.0, and NaN is NaN."""
    saved = (x for x in node.saved if isinstance(x, Tensor) and x.aval.weak)
    return tuple([repr(x.flat) for x in saved])


def _memory(tensor: Tensor) -> Any:
    return id(tensor._shared.memory), tensor.aval, tensor._offset
