"""``mindtorch.onnx.load``: a file of ONNX's as a module."""

from __future__ import annotations

import os
from typing import Any

import numpy as np
import onnx

from mindtorch import torch
from mindtorch.engine.tensor import Tensor
from mindtorch.torch import nn

from . import (  # noqa: F401  # they register what operators compute
    control,
    elementwise,
    features,
    host,
    images,
    networks,
    optimizers,
    recurrent,
    reductions,
    shapes,
)
from .errors import ONNXError
from .graph import Model
from .values import tensor

__all__ = ["ONNXModule", "load"]

_STATISTICS = ("BatchNormalization",)  # whose inputs from the fourth on are not trained


def load(file_or_model: Any) -> ONNXModule:
    """A module that computes what an ONNX model does.

    Args:
        file_or_model: a path, a file open for reading, bytes, or an `onnx.ModelProto`.

    Returns:
        ONNXModule: in evaluation. Its parameters are the model's initializers of floats, under the
        model's names; those without axes are constants, as scales and bounds are.

    Raises:
        FileNotFoundError: no such file.
        ONNXError: no ONNX model, or a damaged one.
        UnsupportedOperatorError: an operator is not known here.
    """
    folder = ""
    if isinstance(file_or_model, onnx.ModelProto):
        proto = file_or_model
    else:
        if isinstance(file_or_model, (str, os.PathLike)):
            folder = os.path.dirname(os.path.abspath(os.fspath(file_or_model)))
            with open(file_or_model, "rb") as file:
                content = file.read()
        elif isinstance(file_or_model, (bytes, bytearray)):
            content = bytes(file_or_model)
        elif hasattr(file_or_model, "read"):
            content = file_or_model.read()
        else:
            raise TypeError(
                f"load() takes a path, a file, bytes or a ModelProto, got {type(file_or_model)}"
            )
        proto = _parsed(content)
    try:
        return ONNXModule(Model(proto, folder))
    except (TypeError, ValueError, KeyError, OverflowError) as error:
        # protobuf leaves names that are no text as bytes, and numbers are what they are
        raise ONNXError(f"the model is damaged: {error}") from error


def _parsed(content: bytes) -> onnx.ModelProto:
    try:
        proto = onnx.load_model_from_string(content)
    except Exception as error:  # DecodeError, of protobuf
        raise ONNXError(f"this is no ONNX model, or it is damaged: {error}") from None
    if not proto.HasField("graph") or not proto.graph.output:
        raise ONNXError("the model has no graph")
    return proto


class ONNXModule(nn.Module):
    """A module that runs the graph of an ONNX model.

    It is called with tensors in the order of the model's inputs, or by their names, and gives its
    output, or a tuple of its outputs.

    Attributes:
        input_names, output_names: of the model.
        opset: the version of ONNX's operators.
    """

    def __init__(self, model: Model) -> None:
        super().__init__()
        self.__dict__["_graph"] = graph = model.graph
        self.input_names, self.output_names = list(graph.inputs), list(graph.outputs)
        self.opset = model.opset
        self.__dict__["_places"] = places = {}
        kept = {
            name for node in graph.nodes if node.op_type in _STATISTICS for name in node.inputs[3:5]
        }
        for name, array in graph.initializers.items():
            floats = array.dtype.kind == "f" or str(array.dtype) == "bfloat16"
            if floats and array.ndim:
                value = tensor(array)
                owner, last = self._owner(name)
                if name in kept:
                    owner.register_buffer(last, value)
                else:
                    owner.register_parameter(last, nn.Parameter(value))
                places[name] = owner, last
        self.__dict__["_constants"] = {
            name: array for name, array in graph.initializers.items() if name not in places
        }
        self.eval()

    def _owner(self, name: str) -> tuple[nn.Module, str]:
        """The module that holds an initializer, so that its path is the initializer's name."""
        *path, last = name.split(".")
        owner: nn.Module = self
        for part in path:
            inner = owner._modules.get(part)
            if inner is None:
                if not part or hasattr(owner, part):
                    return self, name.replace(".", "_")
                inner = nn.Module()
                owner.add_module(part, inner)
            owner = inner
        if not last or hasattr(owner, last):
            return self, self._free("_".join([*path, last]))
        return owner, last

    def _free(self, name: str) -> str:
        """``name``, or with lines behind it what is no attribute yet."""
        while not name or hasattr(self, name):
            name += "_"
        return name

    def forward(self, *args: Any, **kwargs: Any) -> Any:
        """The model's output, or a tuple of its outputs."""
        given = self._given(args, kwargs)
        self._graph.model.turns = 0
        weights = {name: getattr(owner, last) for name, (owner, last) in self._places.items()}
        made = self._graph.run({**self._constants, **weights, **given}, self.training)
        results = tuple(_result(each) for each in made)
        return results[0] if len(results) == 1 else results

    def _given(self, args: Any, kwargs: Any) -> dict[str, Any]:
        names = self.input_names
        if len(args) > len(names):
            raise TypeError(f"the model takes {len(names)} inputs {names}, got {len(args)}")
        given = dict(zip(names, args, strict=False))
        for name, value in kwargs.items():
            if name not in names or name in given:
                raise TypeError(f"the model has no further input {name!r}; it takes {names}")
            given[name] = value
        defaults = self._graph.initializers
        missing = [name for name in names if name not in given and name not in defaults]
        optional = set(self._graph.optional)
        if [name for name in missing if name not in optional]:
            raise TypeError(f"the model's inputs {missing} are missing")
        return {name: _value(value) for name, value in given.items()} | dict.fromkeys(missing)


def _value(value: Any) -> Any:
    """An argument as a value of the graph."""
    if isinstance(value, (list, tuple)):
        return [_value(each) for each in value]
    if isinstance(value, np.ndarray):
        return torch.from_numpy(value)
    if isinstance(value, Tensor) or value is None:
        return value
    return torch.as_tensor(value)


def _result(value: Any) -> Any:
    return [_result(each) for each in value] if isinstance(value, list) else tensor(value)
