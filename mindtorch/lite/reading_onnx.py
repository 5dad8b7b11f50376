"""ONNX files as Lite graphs."""

from __future__ import annotations

import os

import numpy as np
import onnx

from mindtorch.onnx import ONNXError, load

from .errors import ConvertError
from .graph import LiteGraph
from .importing import Shapes, chosen_shape, from_model

__all__ = ["graph_of_file"]


def graph_of_file(
    path: str | os.PathLike[str], shapes: Shapes, key: bytes | None = None, mode: str = ""
) -> LiteGraph:  # fmt: skip
    """The graph of an ONNX file.

    Raises:
        ConvertError: it cannot be read, or its inputs have other shapes.
    """
    if key is not None:
        raise ConvertError("decryptKey: ONNX files are not encrypted")
    try:
        module = load(os.fspath(path))
        described = {each.name: each.type for each in onnx.load(os.fspath(path)).graph.input}
    except ONNXError as error:
        raise ConvertError(str(error)) from error
    names, examples = list(module.input_names), []
    try:
        for name in names:
            tensor = described[name].tensor_type
            dims = [each.dim_value or each.dim_param for each in tensor.shape.dim]
            dtype = onnx.helper.tensor_dtype_to_np_dtype(tensor.elem_type)
            examples.append(np.zeros(chosen_shape(name, dims, shapes, names), dtype))
        return from_model(module, examples, names=names, output_names=module.output_names)
    except ConvertError:
        raise
    except Exception as error:  # a damaged file asks operators for what they do not do
        raise ConvertError(f"the model cannot be run: {error}") from error
