"""Views on the tape: how they enter it, and those that one function made."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

from ..tensor import Tensor, captures, capturing
from .nodes import Node, ViewHistory


def several_views(
    views: Sequence[Tensor], name: str, op: Any, params: dict[str, Any]
) -> None:
    """Make views of one function the results of one node, whose rule sees all their gradients, and
    note that writes to them are refused.

    Args:
        name: torch's, of the node.
        op: what the node applies to the tensor that they are views of, with ``params``.
    """
    capture = capturing() if captures else None
    if capture is not None:
        capture.note_views(views, name, op, params)
    histories: list[Any] = [view._node for view in views]
    shared = bool(histories) and getattr(histories[0], "node", None) is not None and all(
        type(h) is ViewHistory and h.node is not None for h in histories
    )
    if shared:
        plan = op.plan_for((histories[0].parent,), params)
        node = Node(op, plan, params, histories[0].node.edges)
        for index, (view, history) in enumerate(zip(views, histories, strict=True)):
            history.node = node
            view._output_index = index
    for index, history in enumerate(histories):
        if history.__class__ is ViewHistory:
            history.one_of = f"Output {index} of {name}"


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
