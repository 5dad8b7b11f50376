"""Views on the tape: how they enter it, and those that one function made."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

from ..tensor import Tensor, capturing
from .nodes import Node, ViewHistory


def mark_outputs(views: Sequence[Tensor], name: str) -> None:
    """Note that ``views`` are the results of one function, so that writes to them are refused."""
    capture = capturing()
    if capture is not None:
        capture.note_views()
    for index, view in enumerate(views):
        if type(view._node) is ViewHistory:
            view._node.one_of = f"Output {index} of {name}"


def share_node(views: Sequence[Tensor], op: Any, source: Tensor, params: Any) -> None:
    """Make views of one function the results of one node, whose rule sees all their gradients."""
    histories = [view._node for view in views]
    if not views or any(type(h) is not ViewHistory or h.node is None for h in histories):
        return
    edges = histories[0].node.edges  # type: ignore[union-attr]
    node = Node(op, op.plan_for((source,), params), params, edges)
    for index, (view, history) in enumerate(zip(views, histories, strict=True)):
        history.node = node  # type: ignore[union-attr]
        view._output_index = index


def record_view(
    op: Any, plan: Any, mode: int, inputs: Any, params: Any, result: Tensor
) -> None:
    """Give a view its history; it has one even when nothing is tracked yet."""
    history = result._node = object.__new__(ViewHistory)
    history.parent, history.op, history.plan, history.params = inputs[0], op, plan, params
    history.stamp = inputs[0]._storage.history
    enter_view(history, inputs[0]._node, mode)


def enter_view(history: ViewHistory, above: Any, mode: int) -> None:
    """Enter what a view of a tensor with the place ``above`` on the tape derives from."""
    op, source = history.op, history.parent
    if above.__class__ is ViewHistory:
        if above.one_of is not None:
            history.one_of = f"Output 0 of {re.sub('Backward0$', '', op.grad_name)}"
        above = above.derive()
    history.node = None
    if above is not None and history.plan.differentiable[0] and op.rules is not None:
        if mode:
            history.node = Node(op, history.plan, history.params, ((above, source._output_index),))
        else:
            history.in_grad_mode = False
