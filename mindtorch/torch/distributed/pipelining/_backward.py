"""Gradients of a stage: all at once, or those of its inputs first and those of weights later."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

import mindtorch.torch as torch
from mindtorch.engine.tensor import Tensor as EngineTensor

from ...autograd.graph import GradientEdge, get_gradient_edge

Gradients = tuple[Any, ...]


def _tracked(outputs: Any, gradients: Any) -> tuple[list[Any], list[Any] | None]:
    """The outputs that lead to something trained, and their gradients; a loss has none."""
    if gradients is None:
        outputs = (outputs,) if isinstance(outputs, EngineTensor) else outputs
        return [each for each in outputs if each.requires_grad], None
    pairs = [
        (output, gradient)
        for output, gradient in zip(outputs, gradients, strict=True)
        if isinstance(output, EngineTensor) and output.requires_grad and gradient is not None
    ]
    return [output for output, _ in pairs], [gradient for _, gradient in pairs]


def all_gradients(outputs: Any, gradients: Any, inputs: Iterable[Any]) -> Gradients:
    """Run backward of ``outputs``; the gradients of ``inputs``, None where there is none.

    Args:
        outputs: a loss, or tensors.
        gradients: those of ``outputs``, None for a loss.
        inputs: values that the stage was called with.
    """
    tensors, given = _tracked(outputs, gradients)
    if tensors:
        torch.autograd.backward(tensors, given)
    return tuple(
        each.grad if isinstance(each, EngineTensor) and each.requires_grad else None
        for each in inputs
    )


class WeightGradients:
    """The gradients of weights that :func:`input_gradients` has left.

    Args:
        starts: at each node where the ways to weights and to inputs part: the gradients of its
            results, and the weights behind it.
    """

    def __init__(self, starts: list[tuple[Any, list[Any], list[Any]]]) -> None:
        self._starts = starts

    def run(self) -> None:
        """Add them to the weights' ``grad``."""
        for node, gradients, weights in self._starts:
            edges = [GradientEdge(node, at) for at, g in enumerate(gradients) if g is not None]
            given = [g for g in gradients if g is not None]
            found = torch.autograd.grad(edges, weights, given, allow_unused=True)
            for weight, gradient in zip(weights, found, strict=True):
                if gradient is not None:
                    if weight.grad is None:
                        weight.grad = gradient
                    else:
                        weight.grad.add_(gradient)
        self._starts = []


def input_gradients(
    outputs: Any, gradients: Any, inputs: list[Any]
) -> tuple[Gradients, WeightGradients]:
    """The gradients of ``inputs``, and what computes those of weights later.

    One walk goes from the outputs to the inputs and keeps the gradients of nodes from which a way
    leads off to weights; the later walks go from there to the weights alone. Where two ways lead
    to the same weight, its gradient would need both, so that all gradients are computed now.

    Args:
        outputs, gradients, inputs: as for :func:`all_gradients`.
    """
    tensors, given = _tracked(outputs, gradients)
    wanted = [x for x in inputs if isinstance(x, EngineTensor) and x.requires_grad]
    if not tensors or not wanted:
        return all_gradients(outputs, gradients, inputs), WeightGradients([])
    roots = [get_gradient_edge(tensor).node for tensor in tensors]
    branches = _branches(roots, [get_gradient_edge(tensor).node for tensor in wanted])
    if branches is None:
        return all_gradients(outputs, gradients, inputs), WeightGradients([])
    starts: list[tuple[Any, list[Any], list[Any]]] = []
    handles = []
    for node, weights in branches:
        kept: list[Any] = []
        starts.append((node, kept, weights))
        handles.append(node.register_prehook(_keeping(kept)))
    try:
        found = torch.autograd.grad(tensors, wanted, given, retain_graph=True, allow_unused=True)
    finally:
        for handle in handles:
            handle.remove()
    by_input = {id(x): gradient for x, gradient in zip(wanted, found, strict=True)}
    # a node that the walk passed over, because no gradient comes through it, has kept nothing
    return (
        tuple(by_input.get(id(x)) for x in inputs),
        WeightGradients([start for start in starts if start[1]]),
    )


def _keeping(kept: list[Any]) -> Any:
    def hook(gradients: Any) -> None:
        kept[:] = gradients

    return hook


def _branches(roots: list[Any], ends: list[Any]) -> list[tuple[Any, list[Any]]] | None:
    """The nodes on ways to ``ends`` that have a child off these ways, and the weights behind it.

    None where a weight is behind two of them, or is reached past all of them.
    """
    order = list(_after_children(roots))
    stops = {id(node) for node in ends}
    to_end = set(stops)
    for node in order:
        if any(id(child) in to_end for child in _children(node)):
            to_end.add(id(node))
    if any(id(root) not in to_end for root in roots):
        return None
    found: list[tuple[Any, list[Any]]] = []
    seen: set[int] = set()
    for node in order:
        if id(node) not in to_end or id(node) in stops:
            continue
        off = [child for child in _children(node) if id(child) not in to_end]
        weights = [n.variable for n in _after_children(off) if hasattr(n, "variable")]
        if any(id(weight) in seen for weight in weights):
            return None
        seen.update(map(id, weights))
        if weights:
            found.append((node, weights))
    return found


def _children(node: Any) -> list[Any]:
    return [child for child, _ in node.next_functions if child is not None]


def _after_children(roots: list[Any]) -> Iterator[Any]:
    """All nodes below, each once and after its children."""
    seen: set[int] = set()
    todo = [(root, False) for root in roots]
    while todo:
        node, ready = todo.pop()
        if ready:
            yield node
        elif id(node) not in seen:
            seen.add(id(node))
            todo.append((node, True))
            todo.extend((child, False) for child in _children(node))
