"""What a legal graph is: every value made once and before its use, with the aval its op derives.

A graph that is none is a fault of a pass: an AssertionError shows the lines around the place.
"""

from __future__ import annotations

from collections.abc import Iterable

from .ir import Graph, Node, Value


def check_graph(graph: Graph, given: Iterable[Value] = ()) -> None:
    """Check the graph against the ops' own shape rules.

    ``given``: values that a graph has besides its inputs, such as memory of an earlier graph.

    Raises:
        AssertionError: a value is used before it is made or made twice, or an aval is not what its
            op derives.
    """
    known: set[int] = set()
    for value in [*graph.inputs, *[v for v, _ in graph.captured]]:
        if value.number in known:
            raise AssertionError(f"{value} is an input twice")
        known.add(value.number)
    known.update(value.number for value in given)
    for place, node in enumerate(graph.nodes):
        for used in node.inputs:
            if used is not None and used.number not in known:
                _fail(graph, place, f"{used} is used before it is made")
        _check_avals(graph, place, node)
        for value in node.outputs:
            if value.number in known:
                _fail(graph, place, f"{value} is made twice")
            known.add(value.number)
    for value in graph.results():
        if value.number not in known:
            raise AssertionError(f"{value} is a result but is never made")


def _check_avals(graph: Graph, place: int, node: Node) -> None:
    avals = [None if v is None else v.aval for v in node.inputs]
    try:
        derived = node.op.aval(*avals, **node.params)
    except Exception as error:
        _fail(graph, place, f"its shape rule refuses: {error}")
    expected = derived if isinstance(derived, tuple) else (derived,)
    found = tuple(v.aval for v in node.outputs)
    if len(expected) != len(found) or any(
        a is not b for a, b in zip(expected, found, strict=True)
    ):
        _fail(graph, place, f"avals are {found}, derived are {expected}")


def _fail(graph: Graph, place: int, reason: str) -> None:
    lines = []
    for i in range(max(place - 2, 0), min(place + 3, len(graph.nodes))):
        lines.append(f"{'->' if i == place else '  '} {graph.nodes[i]!r}")
    raise AssertionError(f"node {place}: {reason}\n" + "\n".join(lines))


def users(graph: Graph) -> dict[int, list[Node]]:
    """The nodes that use each value, by its number."""
    found: dict[int, list[Node]] = {}
    for node in graph.nodes:
        for value in node.inputs:
            if value is not None:
                found.setdefault(value.number, []).append(node)
    return found
