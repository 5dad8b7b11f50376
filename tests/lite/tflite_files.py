"""Small TFLite files, written by the schema's own functions."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import flatbuffers
import numpy as np
import tflite

_TYPES = {
    "float32": tflite.TensorType.FLOAT32, "int8": tflite.TensorType.INT8,
    "uint8": tflite.TensorType.UINT8, "int32": tflite.TensorType.INT32,
}  # fmt: skip


class TFLiteFile:
    """A model that is put together; tensors and operators are named by numbers."""

    def __init__(self) -> None:
        self.builder = flatbuffers.Builder(1024)
        self.buffers: list[bytes] = [b""]
        self.tensors: list[Any] = []
        self.operators: list[Any] = []
        self.codes: list[int] = []

    def _vector(self, start: Any, items: Any, add: str) -> Any:
        start(self.builder, len(items))
        for item in reversed(items):
            getattr(self.builder, add)(item)
        return self.builder.EndVector()

    def _offsets(self, start: Any, items: Any) -> Any:
        return self._vector(start, items, "PrependUOffsetTRelative")

    def tensor(
        self, shape: Any, dtype: str = "float32", data: Any = None, scales: Any = (),
        zeros: Any = (), axis: int = 0, name: str = "",
    ) -> int:  # fmt: skip
        """A value; a constant if it has data."""
        number, at = 0, len(self.tensors)
        if data is not None:
            self.buffers.append(np.ascontiguousarray(data, dtype).tobytes())
            number = len(self.buffers) - 1
        self.tensors.append(
            (tuple(shape), _TYPES[dtype], number, list(scales), list(zeros), axis, name or f"t{at}")
        )
        return at

    def constant(self, array: Any, **others: Any) -> int:
        array = np.asarray(array)
        return self.tensor(array.shape, array.dtype.name, array, **others)

    def operator(
        self, name: str, inputs: Any, outputs: Any, options: str = "", **values: Any
    ) -> None:
        """A node; ``options`` is the table's name, ``values`` what it holds."""
        code = getattr(tflite.BuiltinOperator, name)
        if code not in self.codes:
            self.codes.append(code)
        table, kind = None, 0
        if options:
            vectors = {
                key: self._vector(
                    getattr(tflite, f"{options}Start{key}Vector"), value, "PrependInt32"
                )
                for key, value in values.items() if isinstance(value, list)
            }  # fmt: skip
            getattr(tflite, f"{options}Start")(self.builder)
            for key, value in values.items():
                getattr(tflite, f"{options}Add{key}")(self.builder, vectors.get(key, value))
            table = getattr(tflite, f"{options}End")(self.builder)
            kind = getattr(tflite.BuiltinOptions, options)
        self.operators.append((self.codes.index(code), list(inputs), list(outputs), kind, table))

    def _tensor(self, stored: Any) -> Any:
        builder = self.builder
        shape, dtype, buffer, scales, zeros, axis, name = stored
        text = builder.CreateString(name)
        lengths = self._vector(tflite.TensorStartShapeVector, shape, "PrependInt32")
        quantization = None
        if scales:
            s = self._vector(tflite.QuantizationParametersStartScaleVector, scales,
                             "PrependFloat32")  # fmt: skip
            z = self._vector(tflite.QuantizationParametersStartZeroPointVector, zeros,
                             "PrependInt64")  # fmt: skip
            tflite.QuantizationParametersStart(builder)
            tflite.QuantizationParametersAddScale(builder, s)
            tflite.QuantizationParametersAddZeroPoint(builder, z)
            tflite.QuantizationParametersAddQuantizedDimension(builder, axis)
            quantization = tflite.QuantizationParametersEnd(builder)
        tflite.TensorStart(builder)
        tflite.TensorAddShape(builder, lengths)
        tflite.TensorAddType(builder, dtype)
        tflite.TensorAddBuffer(builder, buffer)
        tflite.TensorAddName(builder, text)
        if quantization is not None:
            tflite.TensorAddQuantization(builder, quantization)
        return tflite.TensorEnd(builder)

    def _operator(self, stored: Any) -> Any:
        builder = self.builder
        code, inputs, outputs, kind, table = stored
        given = self._vector(tflite.OperatorStartInputsVector, inputs, "PrependInt32")
        made = self._vector(tflite.OperatorStartOutputsVector, outputs, "PrependInt32")
        tflite.OperatorStart(builder)
        tflite.OperatorAddOpcodeIndex(builder, code)
        tflite.OperatorAddInputs(builder, given)
        tflite.OperatorAddOutputs(builder, made)
        if table is not None:
            tflite.OperatorAddBuiltinOptionsType(builder, kind)
            tflite.OperatorAddBuiltinOptions(builder, table)
        return tflite.OperatorEnd(builder)

    def _buffer(self, content: bytes) -> Any:
        builder, data = self.builder, None
        if content:
            builder.StartVector(1, len(content), 16)
            builder.head -= len(content)
            builder.Bytes[builder.head : builder.head + len(content)] = content
            data = builder.EndVector()
        tflite.BufferStart(builder)
        if data is not None:
            tflite.BufferAddData(builder, data)
        return tflite.BufferEnd(builder)

    def _code(self, code: int) -> Any:
        tflite.OperatorCodeStart(self.builder)
        tflite.OperatorCodeAddDeprecatedBuiltinCode(self.builder, min(code, 127))
        tflite.OperatorCodeAddBuiltinCode(self.builder, code)
        tflite.OperatorCodeAddVersion(self.builder, 1)
        return tflite.OperatorCodeEnd(self.builder)

    def save(self, path: Path, inputs: Any, outputs: Any) -> Path:
        """Write the file."""
        builder = self.builder
        tensors = self._offsets(
            tflite.SubGraphStartTensorsVector, [self._tensor(t) for t in self.tensors]
        )
        operators = self._offsets(
            tflite.SubGraphStartOperatorsVector, [self._operator(o) for o in self.operators]
        )
        given = self._vector(tflite.SubGraphStartInputsVector, inputs, "PrependInt32")
        made = self._vector(tflite.SubGraphStartOutputsVector, outputs, "PrependInt32")
        tflite.SubGraphStart(builder)
        tflite.SubGraphAddTensors(builder, tensors)
        tflite.SubGraphAddInputs(builder, given)
        tflite.SubGraphAddOutputs(builder, made)
        tflite.SubGraphAddOperators(builder, operators)
        graph = tflite.SubGraphEnd(builder)
        graphs = self._offsets(tflite.ModelStartSubgraphsVector, [graph])
        codes = self._offsets(
            tflite.ModelStartOperatorCodesVector, [self._code(c) for c in self.codes]
        )
        buffers = self._offsets(
            tflite.ModelStartBuffersVector, [self._buffer(b) for b in self.buffers]
        )
        tflite.ModelStart(builder)
        tflite.ModelAddVersion(builder, 3)
        tflite.ModelAddOperatorCodes(builder, codes)
        tflite.ModelAddSubgraphs(builder, graphs)
        tflite.ModelAddBuffers(builder, buffers)
        builder.Finish(tflite.ModelEnd(builder), b"TFL3")
        path.write_bytes(bytes(builder.Output()))
        return path
