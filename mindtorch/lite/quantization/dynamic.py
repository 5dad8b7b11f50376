"""8 bits for weights, and for activations when they are there."""

from __future__ import annotations

from typing import Any

import numpy as np

from mindtorch.engine.ops.quantization import ROW

from ..config import Config
from ..graph import LiteGraph, LiteNode
from .full import bias_of, byte_rows
from .weights import candidates, difference, replace_weight, rounded

__all__ = ["quantize_dynamically"]


def quantize_dynamically(graph: LiteGraph, config: Config) -> list[tuple[LiteNode, dict[str, Any]]]:
    """Replace products by those of 8 bits whose activations are rounded as they come, and keep
    tables of embeddings in 8 bits; for each what it cost."""
    made = []
    for node in candidates(graph, config):
        weight = graph.tensors[node.inputs[1] or 0].data
        assert weight is not None
        whole = graph.tensors[node.inputs[0] or 0].dtype == "float32"
        if node.op == "linear" and whole and weight.shape[1] < (1 << 16) - ROW:
            made.append((node, _replace(graph, node, weight, config.quant_strategy == "ACWL")))
    for node in graph.nodes:
        place = node.inputs[0] if node.op == "embedding" else None
        table = None if place is None else graph.tensors[place]
        if table is None or table.data is None or table.data.dtype != np.float32:
            continue
        if node.name not in config.skip_quant_node and table.quantization is None:
            made.append((node, replace_weight(graph, node, place or 0, 8, True, False)))
    return made


def _replace(graph: LiteGraph, node: LiteNode, weight: np.ndarray, per_row: bool) -> dict[str, Any]:
    """Activations have a scale for each row and the weight one, or the other way around."""
    numbers, scales = rounded(weight, 8, per_channel=not per_row)
    name = graph.tensors[node.inputs[1] or 0].name
    node.inputs = (
        node.inputs[0],
        *byte_rows(graph, node, numbers, scales, 1, bias_of(graph, node)),
    )
    line = {
        "node": node.name, "op": node.op, "weight": name, "bits": 8,
        **difference(weight, numbers * scales.reshape(-1, 1), "weight"),
    }  # fmt: skip
    node.op, node.params = "dynamic_quantized_linear", {"per_row": per_row}
    return line
