"""Batch norms in inference, multiplied into the convolutions and products before them."""

from __future__ import annotations

from collections import Counter
from typing import Any

import numpy as np

from mindtorch.engine.op_nodes import Node, NodeValue
from mindtorch.engine.ops import convolution, linear_algebra, normalization
from mindtorch.engine.tensor import Tensor, from_array

from .inference_graph import InferenceGraph

__all__ = ["fold_batch_norm", "scaled"]


def fold_batch_norm(graph: InferenceGraph) -> int:
    """Replace a convolution (or product) of constants and the batch norm after it,

        y = (w * x + b - mean) / sqrt(variance + eps) * gamma + beta

    by one convolution with w * s and (b - mean) * s + beta, where s = gamma / sqrt(variance + eps).
    Both are computed in float64 and rounded once.

    Returns:
        how many batch norms are gone.
    """
    uses = Counter(v.number for node in graph.nodes for v in node.inputs if v is not None)
    uses.update(v.number for v in graph.outputs)
    makers = {v.number: (i, node) for i, node in enumerate(graph.nodes) for v in node.outputs}
    replaced: dict[int, Node | None] = {}
    fresh = 1 + max(
        [*graph.constants, *makers, *[v.number for v in graph.inputs]], default=0
    )  # fmt: skip
    for i, node in enumerate(graph.nodes):
        if node.op is not normalization.batch_norm_inference or node.inputs[0] is None:
            continue
        place, before = makers.get(node.inputs[0].number, (0, None))
        if before is None or place in replaced or uses[node.inputs[0].number] != 1:
            continue
        folded = _folded(graph, before, node, fresh)
        if folded is not None:
            fresh += 2
            replaced[place], replaced[i] = None, folded
    graph.nodes = [
        each for i, node in enumerate(graph.nodes)
        if (each := replaced.get(i, node)) is not None
    ]  # fmt: skip
    return len(replaced) // 2


def scaled(kernel: Any, bias: Any, norm: Any, eps: float) -> tuple[Any, Any]:
    """The weight and the bias that stand for those and the batch norm after them.

    Args:
        kernel, bias: arrays of float64; the bias may be None.
        norm: mean, variance, gamma and beta; the last two may be None.
    """
    mean, variance, gamma, beta = norm
    scale = (1.0 if gamma is None else gamma) / np.sqrt(variance + eps)
    moved = ((0.0 if bias is None else bias) - mean) * scale + (0.0 if beta is None else beta)
    return kernel * scale.reshape(-1, *[1] * (kernel.ndim - 1)), moved


def _known(graph: InferenceGraph, value: Any) -> Any:
    """The elements of a constant in float64; None for what is none."""
    tensor = None if value is None else graph.constants.get(value.number)
    return None if tensor is None else tensor.array().astype(np.float64)


def _folded(graph: InferenceGraph, before: Node, norm: Node, fresh: int) -> Node | None:
    """The one node for the two, if everything in them but the input is constant."""
    if before.op not in (convolution.convolution, linear_algebra.linear):
        return None
    if before.op is linear_algebra.linear and norm.outputs[0].aval.ndim != 2:
        return None  # its channels are not those that the product makes
    x, weight, bias = before.inputs
    kernel = _known(graph, weight)
    mean, variance = (_known(graph, v) for v in norm.inputs[3:5])
    gamma, beta, old = (_known(graph, v) for v in (*norm.inputs[1:3], bias))
    for value, array in ((norm.inputs[1], gamma), (norm.inputs[2], beta), (bias, old)):
        if value is not None and array is None:
            return None
    if weight is None or kernel is None or mean is None or variance is None:
        return None
    kernel, moved = scaled(kernel, old, (mean, variance, gamma, beta), norm.params["eps"])
    made = []
    for number, array, like in ((fresh, kernel, weight), (fresh + 1, moved, bias)):
        tensor = from_array(np.ascontiguousarray(array, weight.aval.dtype.np))
        made.append(_constant(graph, number, tensor, like))
    return Node(before.op, (x, *made), before.params, norm.outputs, before.line)


def _constant(graph: InferenceGraph, number: int, tensor: Tensor, like: Any) -> NodeValue:
    """A new constant, named as the parameter that it stands for, where there was one."""
    graph.constants[number] = tensor
    name = None if like is None else graph.weights.get(like.number)
    if name:
        graph.weights[number] = name
    return NodeValue(number, tensor.aval)
