"""Cached backward passes: where the tape is as before, its rules need not run."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ...autograd.backward import add_signature
from ...autograd.nodes import RELEASED, AccumulateGrad, Node
from ...ops.movement import view_update
from ...tensor import Tensor, version_of
from ...transforms import autocast
from ..ir.ir import DRAW, Value, waits

# what is visited: the key, the nodes in the order of the visit, and the tensors at its ends
Visit = tuple[list[Any], list[Any], list[Tensor]]


def visit(roots: list[Any], started: int, began: int) -> Visit | None:
    """The part of the tape that a backward pass will visit, with a key that tells two such parts
    apart, given that the same ops led to both; None where more can happen in it than nodes' rules.

    Args:
        started, began: the nodes that lazy mode has seen, and those of the ops that wait, have
            numbers from these on.
    """
    key: list[Any] = [autocast.state.key()]
    for _, index, gradient in roots:
        number = gradient.flat.number if type(gradient.flat) is Value else None
        key += (index, number)
        add_signature(key, (gradient,))
    nodes: list[Any] = []
    leaves: list[Tensor] = []
    places: dict[int, int] = {}
    stack = [node for node, _, _ in roots]
    while stack:
        node = stack.pop()
        place = places.get(id(node))
        if place is not None:
            key.append(place)
            continue
        places[id(node)] = len(places)
        if node.hooks is not None and any(node.hooks.values()):
            return None
        if type(node) is Node:
            if node.sequence < started or node.saved is RELEASED:
                return None
            key.append(node.plan)
            if node.sequence < began:  # else the ops that wait tell what it is
                add_signature(key, [x for x in node.saved if isinstance(x, Tensor)], node)
            nodes.append(node)
            for edge in node.edges:
                if edge is None:
                    key.append(None)
                else:
                    key.append(edge[1])
                    stack.append(edge[0])
        elif type(node) is not AccumulateGrad:
            return None
        else:
            leaf = node.variable
            if leaf is None or leaf._grad is not None:
                return None
            leaves.append(leaf)
            key.append(leaf.aval)
    return key, nodes, leaves


def kept_by(nodes: list[Any]) -> dict[Any, tuple[int, int]]:
    """Where nodes save tensors whose data is there: (node, index), by memory and layout."""
    found: dict[Any, tuple[int, int]] = {}
    for i, node in enumerate(nodes):
        for k, x in enumerate(node.saved):
            if isinstance(x, Tensor) and type(x.flat) is not Value:
                found[_memory(x)] = (i, k)
    return found


def _saved(nodes: list[Any], at: tuple[int, int]) -> Tensor | None:
    """The tensor that is saved there; None where it was written to."""
    node = nodes[at[0]]
    tensor: Tensor = node.saved[at[1]]
    version = node.versions[at[1]]
    if type(tensor.flat) is Value or (version >= 0 and version_of(tensor) != version):
        return None
    return tensor


class CachedBackward:
    """A backward pass that was run in lazy mode.

    Attributes:
        key: of the part of the tape, see :func:`visit`.
        end, count: the trace node that it led to, and the number of the next value there.
        results: the gradients of the leaves.
        given: the concrete tensors that it read: numbers, indices of the roots' gradients, or
            where nodes save them, with their avals.
    """

    def __init__(self, key: list[Any], end: Any, count: int, results: Any, given: Any) -> None:
        self.key = key
        self.end = end
        self.count = count
        self.results = results
        self.given = given


def cache_entry(
    visited: Visit, start: Any, end: Any, count: int, given: list[Tensor], roots: list[Any],
    kept: dict[Any, tuple[int, int]],
) -> CachedBackward | None:  # fmt: skip
    """The cache entry of a backward pass that has just run; None if it cannot be cached."""
    changing = {e.value.number for e in start.path() if e.number is Ellipsis}
    entry = end
    while entry is not start:
        if entry is None or entry.op is DRAW or entry.op is view_update:
            return None
        if any(v is not None and v.number in changing for v in entry.inputs):
            return None  # the number may be another one of the pass, which was the same this time
        entry = entry.parent
    results = []
    key, _, leaves = visited
    for leaf in leaves:
        made: Any = leaf._grad
        if made is not None and not (
            waits(made) and made._storage is None and made._node is None
        ):
            return None
        results.append(None if made is None else made.flat)
    gradients = [g for _, _, g in roots]
    found: list[Any] = []
    for tensor in given:
        index = next((i for i, g in enumerate(gradients) if g is tensor), None)
        if index is not None:
            found.append(index)
        elif tensor.aval.weak:
            found.append(tensor)
        elif _memory(tensor) in kept:
            found.append((kept[_memory(tensor)], tensor.aval))
        else:
            return None
    return CachedBackward(key, end, count, results, found)


def inputs_of(
    cached: CachedBackward, nodes: list[Any], roots: list[Any]
) -> list[Tensor] | None:
    """The concrete tensors that a cached pass reads this time; None if it must run."""
    found: list[Tensor] = []
    for each in cached.given:
        tensor: Any = each
        if type(each) is int:
            tensor = roots[each][2]
        elif type(each) is tuple:
            tensor = _saved(nodes, each[0])
            if tensor is None or tensor.aval is not each[1]:
                return None
        found.append(tensor)
    return found


def set_gradients(
    cached: CachedBackward, visited: Visit, make: Callable[[Value], Tensor], retain: bool
) -> None:
    """Give the leaves their gradients, as pending values."""
    _, nodes, leaves = visited
    for leaf, value in zip(leaves, cached.results, strict=True):
        if value is not None:
            leaf._grad = make(value)
    if not retain:
        for node in nodes:
            node.release()


def _memory(tensor: Tensor) -> Any:
    return id(tensor._shared.memory), tensor.aval, tensor._offset
