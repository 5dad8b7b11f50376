"""Gradients of views, whose nodes are the engine's, in torch's steps."""

from __future__ import annotations

from typing import Any

from mindtorch.engine.op import OPS

from .formulas import sum_to
from .lowerings import call

__all__ = ["view_gradients"]


def _transposed(g: Any, node: Any) -> Any:
    axes = node.params["axes"]
    first, second = [i for i, axis in enumerate(axes) if i != axis] or (0, 0)
    return call("transpose.int", g, first, second)


def _unsqueezed(g: Any, node: Any) -> Any:
    shape = node.plan.in_avals[0].shape
    for axis in sorted(node.params["axes"]):
        if shape[axis] == 1:
            g = call("unsqueeze", g, axis)
    return g


# gradients of views that the engine makes in other steps, by the name of the node
_VIEW_RULES: dict[str, Any] = {
    "TBackward0": lambda g, node: call("t", g),
    "TransposeBackward0": _transposed,
    "SelectBackward0": lambda g, node: call(
        "select_backward", g, list(node.plan.in_avals[0].shape), node.params["axis"],
        node.params["index"],
    ),
    "ExpandBackward0": lambda g, node: sum_to(g, node.plan.in_avals[0].shape),
    "SqueezeBackward0": _unsqueezed, "SqueezeBackward1": _unsqueezed,
}  # fmt: skip


def _zeros(shape: Any, like: Any) -> Any:
    return call(
        "zeros", list(shape), dtype=like.aval.dtype, layout=like.layout, device=like.device
    )


def _split_gradient(node: Any, gradients: Any) -> Any:
    like = next(g for g in gradients if g is not None)
    parts = [
        _zeros(a.shape, like) if g is None else g
        for g, a in zip(gradients, node.plan.avals, strict=True)
    ]
    return call("cat", parts, node.params["axis"])


def _unbind_gradient(node: Any, gradients: Any) -> Any:
    like = next(g for g in gradients if g is not None)
    parts = [
        call("expand", _zeros((), like), list(a.shape)) if g is None else g
        for g, a in zip(gradients, node.plan.avals, strict=True)
    ]
    return call("stack", parts, node.params["axis"])


def view_gradients(node: Any, gradients: Any) -> list[Any] | None:
    """The gradient of a view's source; None: the engine's own rule is torch's."""
    if node.op is OPS["split"]:
        return [_split_gradient(node, gradients)]
    if node.op is OPS["unbind"]:
        return [_unbind_gradient(node, gradients)]
    rule = _VIEW_RULES.get(getattr(node, "label", ""))
    if rule is None or node.op.view is None:
        return None
    return [rule(gradients[0], node)]
