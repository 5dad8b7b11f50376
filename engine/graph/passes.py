"""Passes: functions from graph to graph."""

from __future__ import annotations

from .ir import Graph


def dead_code(graph: Graph) -> int:
    """Drop nodes whose results nobody uses; how many were dropped.

    Before: ``%1 = exp(%0); %2 = neg(%0); return %2``. After: ``%2 = neg(%0); return %2``.
    """
    needed = {v.number for v in graph.results()}
    kept = []
    for node in reversed(graph.nodes):
        if any(v.number in needed for v in node.outputs):
            kept.append(node)
            needed.update(v.number for v in node.inputs if v is not None)
    dropped = len(graph.nodes) - len(kept)
    graph.nodes = kept[::-1]
    graph.captured = [(v, t) for v, t in graph.captured if v.number in needed]
    return dropped
