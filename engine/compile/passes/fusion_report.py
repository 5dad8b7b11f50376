"""Why kernels of a graph that feed one another are not one loop, in words."""

from __future__ import annotations

from typing import Any

from ...symbolic_sizes import fixed
from ..ir.ir import Graph, Node, Value
from . import fusion
from .fusion import MOST_ARRAYS, MOST_STEPS, SUMS, Fused, loop_layout, step_of


def fusion_report(graph: Graph) -> list[str]:
    """A line for each two nodes of which one makes what the other uses, and one is a loop over
    elements: ``exp (%4) -> matmul (%7): ...``."""
    makers: dict[int, tuple[Node, bool]] = {}
    lines: list[str] = []
    for node in graph.nodes:
        used = {v.number: v for v in node.inputs if v is not None}
        if node.op.view is not None:
            source = makers.get(next(iter(used))) if used else None
            if source is not None:
                makers.update({v.number: (source[0], True) for v in node.outputs})
            continue
        for number, value in used.items():
            maker, viewed = makers.get(number, (None, False))
            if maker is not None and (_elementwise(maker) or _elementwise(node)):
                reason = _reason(maker, node, viewed)
                lines.append(f"{_shown(maker)} -> {_shown(node)}: {value} {reason}")
        makers.update({v.number: (node, False) for v in node.outputs})
    return list(dict.fromkeys(lines))


def _shown(node: Node) -> str:
    return f"{node.op.name} ({', '.join(map(repr, node.outputs))})"


def _elementwise(node: Node) -> bool:
    return isinstance(node.op, Fused) or (
        len(node.outputs) == 1 and getattr(node.op, "scalar_step", None) is not None
        and all(v is not None for v in node.inputs) and step_of(node) is not None
    )  # fmt: skip


def _whole(node: Node) -> Any:
    """What is known of the elements that a loop runs over."""
    return node.params.get("whole", node.outputs[0].aval)


def _reason(maker: Node, user: Node, viewed: bool) -> str:
    one, other = _whole(maker), _whole(user)
    loops = [a for n, a in ((maker, one), (user, other)) if _elementwise(n)]
    if min(fixed(a.size) for a in loops) < fusion.SMALLEST:
        return f"belongs to fewer than {fusion.SMALLEST} elements: no loop is made for them alone"
    if not _elementwise(user):
        if user.op in SUMS:
            return "is summed over other axes than the last, short rows, or beside other axes' sums"
        return "is read from memory by what is no loop over elements"
    if not _elementwise(maker):
        return "is made by what is no loop over elements"
    if one.shape != other.shape:
        return f"has the shape {_shape(one)}, and the loop runs over {_shape(other)}"
    if viewed:
        return "is read as a view"
    if _made_by_sum(maker, user):
        return "is a sum, known when the whole row has been seen"
    return _of_loops(maker, user)


def _of_loops(maker: Node, user: Node) -> str:
    """The reason for two loops over one shape."""
    if not isinstance(maker.op, Fused) and loop_layout(maker) is None:
        return "has gaps in memory or is complex"
    if _whole(maker).strides != _whole(user).strides:
        return "lies in memory in another order"
    arrays = {v.number for n in (maker, user) for v in (*n.inputs, *n.outputs) if v is not None}
    if len(arrays) > MOST_ARRAYS:
        return f"would be in a loop of more than {MOST_ARRAYS} arrays"
    if sum(len(getattr(n.op, "steps", (0,))) for n in (maker, user)) > MOST_STEPS:
        return f"would be in a loop of more than {MOST_STEPS} steps"
    return "is needed by another kernel, too, whose result the second loop needs"


def _made_by_sum(maker: Node, user: Node) -> bool:
    if not isinstance(maker.op, Fused):
        return False
    sums: list[Value] = list(maker.outputs[len(maker.op.results) :])
    return any(v in sums for v in user.inputs)


def _shape(described: Any) -> str:
    return str(tuple(map(fixed, described.shape)))
