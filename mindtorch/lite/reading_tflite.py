"""TFLite files as Lite graphs."""

from __future__ import annotations

import os
from typing import Any

import numpy as np

from mindtorch.engine.ops.quantization import ROW

from .errors import ConvertError
from .graph import LiteGraph, LiteNode
from .importing import Shapes, chosen_shape, from_model
from .passes import drop_unused
from .tflite.model import TFLiteModel, read_model
from .tflite.module import TFLiteModule
from .tflite.operators import quantized_weight

__all__ = ["graph_of_file"]


def graph_of_file(
    path: str | os.PathLike[str], shapes: Shapes, key: bytes | None = None, mode: str = ""
) -> LiteGraph:  # fmt: skip
    """The graph of a TFLite file. Inputs and outputs are as the file has them: channels last.

    Raises:
        ConvertError: it cannot be read, has an operator that is not known, or its inputs have
            other shapes.
    """
    if key is not None:
        raise ConvertError("decryptKey: TFLite files are not encrypted")
    model = read_model(path)
    try:
        return _graph(model, shapes)
    except ConvertError:
        raise
    except Exception as error:  # a damaged file asks operators for what they do not do
        raise ConvertError(f"the operators of {os.fspath(path)} do not fit: {error}") from error


def _graph(model: TFLiteModel, shapes: Shapes) -> LiteGraph:
    module = TFLiteModule(model)
    tensors = [module.model.tensors[i] for i in module.model.inputs]
    names = [tensor.name or f"input_{i}" for i, tensor in enumerate(tensors)]
    examples = []
    for name, tensor in zip(names, tensors, strict=True):
        # a batch of 1 is what files say of any batch
        dims = (-1, *tensor.shape[1:]) if tensor.shape[:1] == (1,) else tensor.shape
        examples.append(np.zeros(chosen_shape(name, dims, shapes, names), tensor.dtype))
    outputs = [module.model.tensors[i].name for i in module.model.outputs]
    graph = from_model(module.eval(), examples, names=names, output_names=outputs)
    for node in graph.nodes:
        if node.op in ("convolution", "linear"):
            _quantize(graph, node, module)
    drop_unused(graph)
    return graph


def _quantize(graph: LiteGraph, node: LiteNode, module: Any) -> None:
    """Let a layer work on quantised numbers if the file's does."""
    weight = graph.tensors[node.inputs[1] or 0]
    operator = module.quantized.get(weight.name)
    if operator is None or weight.data is None:
        return
    x, stored = (module.model.tensors[i] for i in operator.inputs[:2])
    numbers = quantized_weight(module.model, operator)
    assert numbers is not None
    channels = numbers.shape[0]
    rows = numbers.reshape(channels, -1)  # channels of a filter lie last
    scale, zero = x.levels
    zero += 128 if x.dtype == np.int8 else 0
    whole = ROW if node.params.get("groups", 1) == 1 else 1
    held = np.zeros((channels, -(-rows.shape[1] // whole) * whole), np.int8)
    held[:, : rows.shape[1]] = rows
    scales = np.broadcast_to(stored.scales, (channels,)).astype(np.float32)
    offsets = (-zero * rows.sum(axis=1, dtype=np.int64)).astype(np.int32)
    bias = np.zeros(channels, np.float32)
    if node.inputs[2] is not None:
        bias = np.asarray(graph.tensors[node.inputs[2]].data, np.float32)
    name = weight.name
    params: dict[str, Any] = {"scale": scale, "zero": zero}
    if node.op == "convolution":
        params |= {k: node.params[k] for k in ("stride", "padding", "dilation", "groups")}
        params["window"] = tuple(weight.data.shape[2:])
    node.inputs = (
        node.inputs[0], graph.constant(name, held), graph.constant(f"{name}:scales", scales),
        graph.constant(f"{name}:offsets", offsets), graph.constant(f"{name}:bias", bias),
    )  # fmt: skip
    node.op, node.params = f"quantized_{node.op}", params
