"""ONNX files; they need the extra export."""

from __future__ import annotations

from pathlib import Path

import onnx

from mindtorch.onnx import load
from mindtorch.serving.columns import ITEM_SIZES
from mindtorch.serving.server.register.model import Declaration

from .model_inputs import Read, without_batch

__all__ = ["read"]


def read(declaration: Declaration, file: Path, key: bytes | None, mode: str) -> Read:
    module = load(file)
    graph = onnx.load(file, load_external_data=False).graph
    tensors = {each.name: each.type.tensor_type for each in graph.input}
    given = []
    for name in module.input_names:
        tensor = tensors[name]
        dtype = onnx.helper.tensor_dtype_to_np_dtype(tensor.elem_type).name
        shape = [each.dim_value or -1 for each in tensor.shape.dim]
        given.append((name, dtype if dtype in ITEM_SIZES else None, shape))
    inputs, batch = without_batch(declaration, given)
    return module, inputs, list(module.output_names), batch
