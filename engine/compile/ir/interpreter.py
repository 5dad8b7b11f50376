"""The plain interpreter: the definition of what a graph means."""

from __future__ import annotations

from typing import Any

from ...autograd.inplace import copy_data
from ...dispatch import state
from ...op_nodes import run_nodes
from ...ops.movement import clone
from ...state import grad_mode
from ...tensor import Tensor, alias, make
from .ir import Graph


def interpret(graph: Graph, *inputs: Tensor) -> list[Tensor]:
    """Run the graph's nodes one after another over the eager kernels.

    Captured tensors are read first and written last. Ops are recorded for autodiff as in eager
    execution, unless the graph holds a backward pass of its own.

    Raises:
        TypeError: the inputs are not those the graph was traced for.
    """
    given = tuple(x.aval for x in inputs)
    wanted = tuple(v.aval for v in graph.inputs)
    if given != wanted:
        raise TypeError(f"the graph takes {wanted}, not {given}")
    held: dict[int, Any] = {v.number: x for v, x in zip(graph.inputs, inputs, strict=True)}
    for value, tensor in graph.captured:
        held[value.number] = tensor if tensor.aval is value.aval else _whole(tensor, value)
    own = bool(graph.gradients or graph.writes)
    with grad_mode(state.grad_enabled and not own):
        run_nodes(graph.nodes, held, lambda node, given: node.op(*given, **node.params))
    outputs = [held[v.number] for v in graph.outputs]
    new = [(tensor, held[v.number]) for tensor, v in graph.writes]
    for tensor, result in new:
        _write(tensor, result)
    for leaf, value in graph.gradients:
        leaf._grad = alias(held[value.number])
    return outputs


def _whole(tensor: Tensor, value: Any) -> Tensor:
    """The flat tensor over the whole storage of a captured view."""
    return make(tensor._shared.buffer, value.aval, tensor._shared)


def _write(tensor: Tensor, result: Tensor) -> None:
    if result._storage is not None and result._storage.memory is tensor._shared.memory:
        result = clone.evaluate(0, (result,), {})
    target = tensor if tensor.aval.shape == result.aval.shape else _whole(
        tensor, result
    )
    copy_data(target, result)
    tensor._shared.version += 1
