"""The tape: applications of ops are recorded as nodes, which their results refer to."""

from __future__ import annotations

from typing import Any

from ..switches import switches
from ..tensor import Tensor, capturing, make, version_of
from .hooks import add_hook, has_hooks, tensor_type_name
from .nodes import (
    RELEASED,
    TWICE,
    AccumulateGrad,
    LeafReference,
    Node,
    ViewHistory,
    anomaly,
    modified,
    multiple_views,
    node_of,
    sequence,
    shown,
    view_of_function,
)
from .record_code import recorder
from .rules import bind_rules, what_to_keep
from .saved_tensors import hooks_of_thread, kept, order_of, saved_tensor_hooks
from .views import enter_view, record_view, several_views

__all__ = [
    "RELEASED", "TWICE", "AccumulateGrad", "LeafReference", "Node", "ViewHistory", "add_hook",
    "anomaly", "bind_rules", "derives", "detached", "enter_view", "has_hooks", "is_leaf",
    "modified", "multiple_views", "named", "node_of", "note_leaf", "record",
    "record_view", "requires_grad", "sequence", "several_views", "shown", "tensor_type_name",
    "view_of_function", "what_to_keep",
]  # fmt: skip


_new = object.__new__


def named(result: Any, name: str) -> Any:
    """``result``, whose node has the name of the one op that computes it in torch."""
    node = getattr(result, "_node", None)
    if type(node) is ViewHistory:
        node = node.node
    if type(node) is Node:
        node.label = name
    capture = capturing()
    if capture is not None:
        capture.note_named(result, name)
    return result


def derives(node: Any) -> bool:
    """Whether a tensor with this place on the tape is tracked."""
    return node.__class__ is not ViewHistory or node.derive() is not None


def records_writes(node: Any) -> bool:
    """Whether a write to a tensor with this place on the tape is recorded, or refused."""
    return node.__class__ is not ViewHistory or node.base._node is not None


def requires_grad(tensor: Tensor) -> bool:
    node = tensor._node
    if type(node) is ViewHistory and node.one_of is not None:
        return requires_grad(node.parent)  # without an error for a base that was written to
    return node is not None and node_of(tensor) is not None


def is_leaf(tensor: Tensor) -> bool:
    node = node_of(tensor)
    return node is None or type(node) is AccumulateGrad


def record(op: Any, plan: Any, inputs: Any, params: Any, results: Any) -> Node | None:
    """Make the node of an application and give it to the results.

    Code is generated that does so from then on, where the same inputs of the plan are tracked.
    """
    edges: list[Any] = []
    mask = 0
    for x in inputs:
        mask += mask
        source = None if x is None else x._node
        if source is not None and source.__class__ is ViewHistory:
            source = source.derive()
        if source is None:
            edges.append(None)
        else:
            edges.append((source, x._output_index))
            mask += 1
    if not mask or not plan.tracks:
        return None
    keep = plan.keep.get(mask)
    if keep is None:
        keep = plan.keep[mask] = what_to_keep(op, edges, len(results))
    if plan.record is record and len(results) == len(plan.avals) and switches.call_cache:
        plan.record = recorder(plan, inputs, edges, keep, record) or plan.record
    node = _new(Node)  # as Node() is, without the call of its __init__
    node.op = op
    node.plan = plan
    node.params = params
    node.edges = edges
    node.kept = keep
    node.hooks = None
    node.saved = ()
    node.sequence = next(sequence)
    if anomaly.enabled:
        anomaly.note_node(node)
    if keep:
        saved: list[Any] = []
        for kind, index in keep:
            saved.append(inputs[index] if kind == "in" else detached(results[index]))
        if saved_tensor_hooks and hooks_of_thread():
            _pack(node, saved)
        else:
            versions = []
            for tensor in saved:
                storage = None if tensor is None else tensor._storage
                versions.append(0 if storage is None else storage.kept_version)
            node.versions = tuple(versions)
        node.saved = saved
    if len(results) == 1:
        result = results[0]
        if result._node.__class__ is not ViewHistory:
            result._node = node
        return node
    for index, result in enumerate(results):
        if plan.differentiable[index]:
            result._node = node
            result._output_index = index
    return node


def _pack(node: Node, saved: list[Any]) -> None:
    """Replace what ``node`` saves, in place, by what this thread's hooks make of it."""
    node.saved = saved
    for (kind, index), tensor in zip(node.kept, saved, strict=True):
        if kind == "out":
            tensor._node, tensor._output_index = node, index
    places = [(None, 0) if t is None else node.place_of_saved(at) for at, t in enumerate(saved)]
    saved[:] = kept(saved, places, order_of(node))
    node.versions = tuple([
        version_of(t) if isinstance(t, Tensor) else -1 for t in saved
    ])


def detached(tensor: Tensor) -> Tensor:
    """Another tensor over the same memory, without history."""
    return make(tensor.flat, tensor.aval, tensor._storage or tensor._shared, tensor._offset)


def note_leaf(leaf: Tensor, read: bool) -> None:
    """Tell the capture under way, if any, that ``leaf.grad`` is read, or replaced."""
    capture = capturing()
    if capture is not None:
        capture.note_leaf(leaf, read)
