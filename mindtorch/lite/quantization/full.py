"""8 bits for weights and activations."""

from __future__ import annotations

import copy
from collections.abc import Sequence
from typing import Any

import numpy as np

from mindtorch.engine.ops.quantization import ROW
from mindtorch.engine.tensor import from_array

from ..config import Config
from ..execution import engine_op
from ..graph import LiteGraph, LiteNode
from .calibration import observed, ranges
from .weights import candidates, difference, rounded

__all__ = ["quantize_fully"]


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
) -> list[dict[str, Any]]:
    """Replace products and convolutions by those of 8 bits; for each what it cost.

    Args:
        examples: for each the arrays of all inputs.
    """
    nodes = [node for node in candidates(graph, config) if _suits(graph, node)]
    if not nodes:
        return []
    before = copy.deepcopy(graph)
    places = list(dict.fromkeys(node.inputs[0] or 0 for node in nodes))
    known = ranges(graph, places, examples)
    lines = []
    for node in nodes:
        about = known[node.inputs[0] or 0]
        lines.append(_replace(graph, node, about, config))
    results = [node.outputs[0] for node in nodes]
    _compare(lines, results, before, graph, examples)
    return lines


def _replace(graph: LiteGraph, node: LiteNode, about: Any, config: Config) -> dict[str, Any]:
    low, high = about.limits(config.activation_quant_method)
    scale = float(np.float32((high - low) / 255 or 1.0))
    zero = int(np.clip(np.rint(-low / scale), 0, 255))
    x, weight_place, bias_place = node.inputs
    tensor = graph.tensors[weight_place or 0]
    weight = tensor.data
    assert weight is not None
    numbers, scales = rounded(weight, 8, config.per_channel)
    channels = weight.shape[0]
    scales = np.broadcast_to(scales.astype(np.float32), (channels,))
    shown = numbers * scales.reshape(-1, *[1] * (weight.ndim - 1))
    bias = np.zeros(channels, np.float32)
    if bias_place is not None:
        bias = np.array(graph.tensors[bias_place].data, np.float32)
    if config.bias_correction:
        bias += _lost_mean(node, about.mean, (weight - shown).astype(np.float32))
    rows = np.moveaxis(numbers, 1, -1) if node.op == "convolution" else numbers
    rows = rows.reshape(channels, -1)
    whole = ROW if node.params.get("groups", 1) == 1 else 1
    held = np.zeros((channels, -(-rows.shape[1] // whole) * whole), np.int8)
    held[:, : rows.shape[1]] = rows
    offsets = (-zero * rows.sum(axis=1, dtype=np.int64)).astype(np.int32)
    params: dict[str, Any] = {"scale": scale, "zero": zero}
    if node.op == "convolution":
        params |= {name: node.params[name] for name in ("stride", "padding", "dilation")}
        params |= {"window": weight.shape[2:], "groups": node.params["groups"]}
    node.inputs = (
        x, graph.constant(tensor.name, held), graph.constant(f"{tensor.name}:scales", scales),
        graph.constant(f"{tensor.name}:offsets", offsets),
        graph.constant(f"{tensor.name}:bias", bias),
    )  # fmt: skip
    line = {
        "node": node.name, "op": node.op, "weight": tensor.name, "bits": 8,
        "activation_low": low, "activation_high": high,
        **difference(weight, shown, "weight"),
    }  # fmt: skip
    node.op, node.params = f"quantized_{node.op}", params
    return line


def _lost_mean(node: LiteNode, mean: np.ndarray, lost: np.ndarray) -> np.ndarray:
    """What the mean of each channel loses by the rounding of the weight."""
    made = engine_op(node.op)(from_array(mean), from_array(lost), None, **node.params).array()
    if node.op == "linear":
        return np.asarray(made.reshape(-1, made.shape[-1]).mean(axis=0))
    return np.asarray(made.mean(axis=(0, 2, 3)))


def _compare(
    lines: list[dict[str, Any]], places: Sequence[int], before: LiteGraph, after: LiteGraph,
    examples: Sequence[Sequence[np.ndarray]],
) -> None:  # fmt: skip
    """Enter how the layers' results differ, over all examples."""
    exact: list[list[np.ndarray]] = [[] for _ in places]
    found: list[list[np.ndarray]] = [[] for _ in places]
    for graph, kept in ((before, exact), (after, found)):
        for arrays in observed(graph, places, examples):
            for each, array in zip(kept, arrays, strict=True):
                each.append(array)
    for line, a, b in zip(lines, exact, found, strict=True):
        line |= difference(np.concatenate(a), np.concatenate(b), "result")
