"""Passes: functions from graph to graph."""

from __future__ import annotations

from typing import Any

from ...ops import movement
from ..capture.tracer import strong
from ..ir.ir import DRAW, Graph, Node, Value


def dead_code(graph: Graph) -> int:
    """Drop nodes whose results nobody uses; how many were dropped.

    Before: ``%1 = exp(%0); %2 = neg(%0); return %2``. After: ``%2 = neg(%0); return %2``.
    """
    needed = {v.number for v in graph.results()}
    kept = []
    for node in reversed(graph.nodes):
        if node.op is DRAW or any(v.number in needed for v in node.outputs):
            kept.append(node)
            needed.update(v.number for v in node.inputs if v is not None)
    dropped = len(graph.nodes) - len(kept)
    graph.nodes = kept[::-1]
    graph.captured = [(v, t) for v, t in graph.captured if v.number in needed]
    return dropped


def identities(graph: Graph) -> int:
    """Drop nodes that give what they were given; how many were dropped.

    Values never change, so a copy in the same layout is its source, and a write over a whole
    tensor is what was written. Before: ``%2 = clone(%1); %3 = neg(%2)``. After: ``%3 = neg(%1)``.
    """
    same: dict[int, Value] = {}
    kept = []
    for node in graph.nodes:
        node.inputs = tuple(
            None if v is None else same.get(v.number, v) for v in node.inputs
        )
        source = _identity(node)
        if source is None:
            kept.append(node)
        else:
            same[node.outputs[0].number] = source
    dropped = len(graph.nodes) - len(kept)
    graph.nodes = kept
    graph.outputs = [same.get(v.number, v) for v in graph.outputs]
    graph.writes = [(t, same.get(v.number, v)) for t, v in graph.writes]
    graph.gradients = [(t, same.get(v.number, v)) for t, v in graph.gradients]
    return dropped


def separate_results(graph: Graph) -> int:
    """Copy outputs that have no memory of their own; how many were copied.

    Before: ``%1 = view(%0); return %1, %1``. After: ``%1 = view(%0); %2 = clone(%1);
    %3 = clone(%1); return %2, %3``. A copy has no elements that overlap: where an output must keep
    such a layout, the graph is refused.
    """
    own = {v.number for n in graph.nodes if n.op.view is None for v in n.outputs}
    count = 0
    for place, value in enumerate(graph.outputs):
        if value.number in own:
            own.discard(value.number)
            continue
        copied = graph.value(movement.clone.aval(value.aval))
        if place in graph.laid_out and copied.aval is not strong(value.aval):
            graph.refused = f"{value.aval!r} is held in memory whose elements overlap"
            continue
        graph.nodes.append(Node(movement.clone, (value,), {}, (copied,)))
        graph.outputs[place] = copied
        count += 1
    return count


def _identity(node: Node) -> Value | None:
    made = node.outputs[0].aval
    if node.op is movement.view_update:
        base, value = node.inputs
        return value if _is_whole(base, node.params["chain"]) and value.aval is made else None  # type: ignore[union-attr]
    keeps = (movement.clone, movement.cast, movement.view, movement.expand, movement.as_strided)
    if node.op not in keeps or node.params.get("offset"):
        return None
    source = node.inputs[0]
    return source if source is not None and source.aval is made else None


def _is_whole(base: Any, chain: Any) -> bool:
    """Whether a chain of views leads to all of ``base``, in its own layout."""
    if len(chain) != 1 or chain[0][0].name != "as_strided":
        return False
    place = dict(chain[0][1])
    own = {"shape": base.aval.shape, "strides": base.aval.strides, "offset": 0}
    return place == own
