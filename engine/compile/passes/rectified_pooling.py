"""Rectified pooling: a ReLU before max pooling is computed in its pass, and behind it going back.

Before: ``%1 = relu(%0); %2, %3 = max_pool(%1)`` and, for the gradient ``%4`` of ``%2``,
``%5 = max_pool_gradient(%4, %3); %6 = threshold_gradient(%5, %1, 0)``. After:
``%2, %3 = relu+max_pool(%0)``, where windows are 2 by 2 and do not overlap, and
``%5 = threshold_gradient(%4, %2, 0); %6 = max_pool_gradient(%5, %3)``. What a window has taken is
the element that the threshold is compared with, so every bit stays.
"""

from __future__ import annotations

from typing import Any

from ...devices.device import cpu
from ...ops.activations import relu, threshold_gradient
from ...ops.pooling import max_pool, max_pool_gradient
from ..ir.ir import Graph, Node
from .kernel_substitution import SubstitutedOp

_RECTIFIED = SubstitutedOp(max_pool, "pooling.rectified_max_pool", relu)


def rectify_pooling(graph: Graph) -> int:
    """How many nodes of max pooling are rewritten, or have gradients that are."""
    users: dict[int, list[Node]] = {v.number: [] for n in graph.nodes for v in n.outputs}
    for node in graph.nodes:
        for value in node.inputs:
            if value is not None and value.number in users:
                users[value.number].append(node)
    kept = {v.number for v in graph.results()}
    rectified = {n.outputs[0].number: n for n in graph.nodes if n.op is relu}
    count = 0
    for node in list(graph.nodes):
        source = node.inputs[0] if node.op is max_pool else None
        if source is None or source.number not in rectified or source.aval.device is not cpu:
            continue
        others = {id(n): n for n in users[source.number] if n is not node}
        changed = False
        for spread in users[node.outputs[1].number]:
            masked = _mask_of(spread, source, users, kept)
            if masked is not None and _exchanged(graph, node, spread, masked):
                others.pop(id(masked), None)
                changed = True
        own: Any = rectified[source.number].inputs[0]
        alone = not others and source.number not in kept and own.aval is source.aval
        plain = all(type(n) is int for n in source.aval.shape)  # sizes stand for no others
        if alone and plain and _RECTIFIED.suits(node.plan(), node.params) is not None:
            node.op, node.inputs = _RECTIFIED, (own,)
            changed = True
        count += changed
    return count


def _mask_of(spread: Node, source: Any, users: Any, kept: set[int]) -> Node | None:
    """What masks a gradient by the ReLU's result, where nothing else has that gradient."""
    made = spread.outputs[0]
    if spread.op is not max_pool_gradient or made.number in kept or len(users[made.number]) != 1:
        return None
    masked: Node = users[made.number][0]
    if masked.op is not threshold_gradient or masked.inputs[:2] != (made, source):
        return None
    return masked if masked.outputs[0].aval is made.aval else None


def _exchanged(graph: Graph, node: Node, spread: Node, masked: Node) -> bool:
    """Mask the gradient of pooling's result, and spread it then."""
    gradient: Any
    limit: Any
    (gradient, places), limit, result = spread.inputs, masked.inputs[2], node.outputs[0]
    if threshold_gradient.aval(gradient.aval, result.aval, limit.aval) is not gradient.aval:
        return False
    small = graph.value(gradient.aval)
    first = Node(
        threshold_gradient, (gradient, result, limit), masked.params, (small,), masked.line
    )
    graph.nodes.remove(spread)
    graph.nodes.insert(graph.nodes.index(masked), first)
    masked.op, masked.inputs, masked.params = spread.op, (small, places), spread.params
    return True
