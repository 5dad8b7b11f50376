"""What a TFLite file says, by the ``tflite`` package's schema, as plain objects."""

from __future__ import annotations

import os
import struct
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import tflite

from ..errors import ConvertError

__all__ = ["Operator", "TFLiteModel", "TFLiteTensor", "read_model"]

_TYPES = {
    tflite.TensorType.FLOAT32: np.float32, tflite.TensorType.FLOAT16: np.float16,
    tflite.TensorType.INT8: np.int8, tflite.TensorType.UINT8: np.uint8,
    tflite.TensorType.INT16: np.int16, tflite.TensorType.INT32: np.int32,
    tflite.TensorType.INT64: np.int64, tflite.TensorType.BOOL: np.bool_,
}  # fmt: skip
_IDENTIFIER = b"TFL3"


def _names(enumeration: Any) -> dict[int, str]:
    return {v: k for k, v in vars(enumeration).items() if isinstance(v, int)}


_OPERATORS, _OPTIONS = _names(tflite.BuiltinOperator), _names(tflite.BuiltinOptions)


@dataclass
class TFLiteTensor:
    """A value of the model.

    Attributes:
        data: of a constant; None for others.
        scales, zeros: of quantised numbers, ``scale * (number - zero)``; empty for others.
        axis: along which scales lie, where there are several.
    """

    name: str
    shape: tuple[int, ...]
    dtype: np.dtype[Any]
    data: np.ndarray | None = None
    scales: np.ndarray = field(default_factory=lambda: np.zeros(0, np.float32))
    zeros: np.ndarray = field(default_factory=lambda: np.zeros(0, np.int64))
    axis: int = 0

    @property
    def levels(self) -> tuple[float, int] | None:
        """The scale and zero point of numbers of 8 bits that have one of each."""
        if self.scales.size != 1 or self.dtype not in (np.int8, np.uint8):
            return None
        return float(self.scales[0]), int(self.zeros[0])

    def real(self) -> np.ndarray:
        """A constant's numbers, as floats where they are quantised or of 16 bits."""
        assert self.data is not None
        if self.data.dtype == np.float16:
            return self.data.astype(np.float32)
        if not self.scales.size:
            return self.data
        shape = [1] * self.data.ndim
        if self.scales.size > 1:
            shape[self.axis] = -1
        zeros, scales = self.zeros.reshape(shape), self.scales.reshape(shape)
        return ((self.data.astype(np.float64) - zeros) * scales).astype(np.float32)


@dataclass
class Operator:
    """A node: its name in the schema, the places of its tensors (-1: absent), and its options."""

    name: str
    inputs: list[int]
    outputs: list[int]
    options: Any


@dataclass
class TFLiteModel:
    """The main subgraph of a file."""

    tensors: list[TFLiteTensor]
    operators: list[Operator]
    inputs: list[int]
    outputs: list[int]


def read_model(path: str | os.PathLike[str]) -> TFLiteModel:
    """The model of a file.

    Raises:
        ConvertError: it is none, is damaged, or has what is not read here.
    """
    with open(path, "rb") as file:
        content = file.read()
    if content[4:8] != _IDENTIFIER:
        raise ConvertError(f"{os.fspath(path)} is no TFLite file: it does not say {_IDENTIFIER!r}")
    try:
        return _model(tflite.Model.GetRootAsModel(content, 0))
    except (struct.error, IndexError, ValueError, TypeError, AttributeError, OverflowError,
            MemoryError) as error:  # fmt: skip
        raise ConvertError(f"{os.fspath(path)}: the file is damaged: {error}") from error


def _model(stored: Any) -> TFLiteModel:
    if stored.SubgraphsLength() != 1:
        raise ConvertError(f"the file has {stored.SubgraphsLength()} subgraphs: only one is read")
    graph = stored.Subgraphs(0)
    tensors = [
        _tensor(graph.Tensors(i), stored) for i in range(graph.TensorsLength())
    ]
    made = TFLiteModel(
        tensors, [_operator(graph.Operators(i), stored) for i in range(graph.OperatorsLength())],
        _places(graph, "Inputs"), _places(graph, "Outputs"),
    )  # fmt: skip
    for operator in made.operators:
        for place in (*operator.inputs, *operator.outputs):
            if not -1 <= place < len(tensors):
                raise ValueError(f"{operator.name} names tensor {place}")
    if any(not 0 <= place < len(tensors) for place in (*made.inputs, *made.outputs)):
        raise ValueError("an input or output is no tensor")
    return made


def _places(of: Any, name: str) -> list[int]:
    count = getattr(of, f"{name}Length")()
    return [int(getattr(of, name)(i)) for i in range(count)]


def _tensor(stored: Any, model: Any) -> TFLiteTensor:
    if stored.Type() not in _TYPES:
        raise ConvertError(f"tensors of type {stored.Type()} are not read")
    name = (stored.Name() or b"").decode()
    shape = tuple(int(stored.Shape(i)) for i in range(stored.ShapeLength()))
    made = TFLiteTensor(name, shape, np.dtype(_TYPES[stored.Type()]))
    buffer = model.Buffers(stored.Buffer())
    if buffer is not None and buffer.DataLength():
        content = np.frombuffer(buffer.DataAsNumpy().tobytes(), made.dtype)
        made.data = content.reshape(shape)
    quantization = stored.Quantization()
    if quantization is not None and quantization.ScaleLength():
        made.scales = np.array(quantization.ScaleAsNumpy(), np.float32)
        made.zeros = np.zeros(made.scales.size, np.int64)
        if quantization.ZeroPointLength():
            made.zeros = np.array(quantization.ZeroPointAsNumpy(), np.int64)
        made.axis = quantization.QuantizedDimension()
        several = made.scales.size > 1
        if made.zeros.size != made.scales.size or (several and made.axis >= len(shape)):
            raise ValueError(f"the quantization of {name!r} does not fit it")
        if several and made.scales.size != shape[made.axis]:
            raise ValueError(f"the quantization of {name!r} does not fit it")
    return made


def _operator(stored: Any, model: Any) -> Operator:
    code = model.OperatorCodes(stored.OpcodeIndex())
    number = max(code.BuiltinCode(), code.DeprecatedBuiltinCode())
    name = _OPERATORS.get(number, f"operator {number}")
    if name == "CUSTOM":
        raise ConvertError(f"the custom operator {code.CustomCode()!r} is not known")
    options = None
    kind = _OPTIONS.get(stored.BuiltinOptionsType(), "NONE")
    if kind != "NONE" and stored.BuiltinOptions() is not None:
        options = getattr(tflite, kind)()
        table = stored.BuiltinOptions()
        options.Init(table.Bytes, table.Pos)
    return Operator(name, _places(stored, "Inputs"), _places(stored, "Outputs"), options)
