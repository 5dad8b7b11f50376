"""8 bits for weights and activations."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from mindtorch.engine.ops.quantization import ROW
from mindtorch.engine.tensor import from_array

from ..config import Config
from ..execution import engine_op
from ..graph import LiteGraph, LiteNode
from .calibration import ranges
from .weights import candidates, difference, rounded

__all__ = ["bias_of", "byte_rows", "corrected_biases", "quantize_fully"]


def _suits(graph: LiteGraph, node: LiteNode) -> bool:
    """Whether there is a kernel: products, and convolutions over two axes of one group, or of one
    for each channel."""
    if graph.tensors[node.inputs[0] or 0].dtype != "float32":
        return False
    weight = graph.tensors[node.inputs[1] or 0].data
    if weight is None or weight[0].size >= (1 << 16) - ROW:
        return False
    if node.op == "linear":
        return True
    groups = node.params["groups"]
    each = groups == weight.shape[0] == graph.tensors[node.inputs[0] or 0].shape[1]
    return weight.ndim == 4 and (groups == 1 or each)


def quantize_fully(
    graph: LiteGraph, config: Config, examples: Sequence[Sequence[np.ndarray]]
) -> list[tuple[LiteNode, dict[str, Any]]]:
    """Replace products and convolutions by those of 8 bits; for each what it cost.

    Args:
        examples: for each the arrays of all inputs.
    """
    nodes = [node for node in candidates(graph, config) if _suits(graph, node)]
    known = ranges(graph, list(dict.fromkeys(node.inputs[0] or 0 for node in nodes)), examples)
    return [(node, _replace(graph, node, known[node.inputs[0] or 0], config)) for node in nodes]


def byte_rows(
    graph: LiteGraph, node: LiteNode, numbers: np.ndarray, scales: np.ndarray, zero: int,
    bias: np.ndarray,
) -> tuple[int, ...]:  # fmt: skip
    """The constants of a product of 8 bits, in place of the node's weight and bias.

    Args:
        numbers: of the weight.
        zero: the zero point of the activations.
    """
    channels, name = numbers.shape[0], graph.tensors[node.inputs[1] or 0].name
    rows = np.moveaxis(numbers, 1, -1) if node.op == "convolution" else numbers
    rows = rows.reshape(channels, -1)
    whole = ROW if node.params.get("groups", 1) == 1 else 1
    held = np.zeros((channels, -(-rows.shape[1] // whole) * whole), np.int8)
    held[:, : rows.shape[1]] = rows
    offsets = (-zero * rows.sum(axis=1, dtype=np.int64)).astype(np.int32)
    each = np.ascontiguousarray(np.broadcast_to(scales.astype(np.float32), (channels,)))
    return (
        graph.constant(name, held), graph.constant(f"{name}:scales", each),
        graph.constant(f"{name}:offsets", offsets), graph.constant(f"{name}:bias", bias),
    )  # fmt: skip


def bias_of(graph: LiteGraph, node: LiteNode) -> np.ndarray:
    """A copy of the bias, zeros where there is none."""
    _, weight, bias = node.inputs
    if bias is None:
        return np.zeros(graph.tensors[weight or 0].shape[0], np.float32)
    return np.array(graph.tensors[bias].data, np.float32)


def _replace(graph: LiteGraph, node: LiteNode, about: Any, config: Config) -> dict[str, Any]:
    low, high = about.limits(config.activation_quant_method)
    scale = float(np.float32((high - low) / 255 or 1.0))
    zero = int(np.clip(np.rint(-low / scale), 0, 255))
    tensor = graph.tensors[node.inputs[1] or 0]
    weight = tensor.data
    assert weight is not None
    numbers, scales = rounded(weight, 8, config.per_channel)
    shown = numbers * scales.astype(np.float32).reshape(-1, *[1] * (weight.ndim - 1))
    bias = bias_of(graph, node)
    if config.bias_correction:
        bias += lost_mean(node, about.mean, (weight - shown).astype(np.float32))
    params: dict[str, Any] = {"scale": scale, "zero": zero}
    if node.op == "convolution":
        params |= {name: node.params[name] for name in ("stride", "padding", "dilation")}
        params |= {"window": weight.shape[2:], "groups": node.params["groups"]}
    node.inputs = (node.inputs[0], *byte_rows(graph, node, numbers, scales, zero, bias))
    line = {
        "node": node.name, "op": node.op, "weight": tensor.name, "bits": 8,
        "activation_low": low, "activation_high": high,
        **difference(weight, shown, "weight"),
    }  # fmt: skip
    node.op, node.params = f"quantized_{node.op}", params
    return line


def corrected_biases(graph: LiteGraph, examples: Sequence[Sequence[np.ndarray]]) -> None:
    """Add to the biases what the means of examples lose once weights have 8 bits."""
    nodes = [n for n in candidates(graph, Config(min_quant_weight_channel=0)) if not n.then]
    known = ranges(graph, list(dict.fromkeys(node.inputs[0] or 0 for node in nodes)), examples)
    for node in nodes:
        tensor = graph.tensors[node.inputs[1] or 0]
        weight = tensor.data
        assert weight is not None
        numbers, scales = rounded(weight, 8, True)
        shown = numbers * scales.astype(np.float32).reshape(-1, *[1] * (weight.ndim - 1))
        lost = lost_mean(node, known[node.inputs[0] or 0].mean, (weight - shown).astype(np.float32))
        bias = graph.constant(f"{tensor.name}:bias", bias_of(graph, node) + lost)
        node.inputs = (*node.inputs[:2], bias)


def lost_mean(node: LiteNode, mean: np.ndarray, lost: np.ndarray) -> np.ndarray:
    """What the mean of each channel loses by the rounding of the weight."""
    made = engine_op(node.op)(from_array(mean), from_array(lost), None, **node.params).array()
    if node.op == "linear":
        return np.asarray(made.reshape(-1, made.shape[-1]).mean(axis=0))
    return np.asarray(made.mean(axis=(0, 2, 3)))
