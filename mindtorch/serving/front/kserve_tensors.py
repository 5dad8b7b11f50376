"""Tensors of KServe's protocol, version 2: as messages, as JSON, as bytes behind JSON.

The first axis of every tensor counts the instances.
"""

from __future__ import annotations

import functools
import math
import struct
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import orjson

from mindtorch.serving.columns import (
    ITEM_SIZES,
    MAX_INSTANCES,
    TEXT_TYPES,
    Block,
    Buffer,
    Column,
    checked_block,
    join,
    rows_of,
)
from mindtorch.serving.errors import FAILED, INVALID, TOO_LARGE, ServingError
from mindtorch.serving.proto.kserve import MESSAGES

from . import wire
from .mindspore_json import array_of_numbers
from .requests import Answer

__all__ = [
    "DATATYPES",
    "Infer",
    "columns_of_json",
    "columns_of_message",
    "infer_of",
    "method_of",
    "response_bytes",
    "response_json",
]

DATATYPES = {"bool": "BOOL", "float16": "FP16", "float32": "FP32", "float64": "FP64",
             "str": "BYTES", "bytes": "BYTES",
             **{name: name.upper() for name in ITEM_SIZES if "int" in name}}  # fmt: skip
_NUMPY = {wire: name for name, wire in DATATYPES.items()}  # BYTES: bytes
_REQUEST = MESSAGES["ModelInferRequest"]
_RESPONSE = MESSAGES["ModelInferResponse"]
_RAW = _REQUEST.DESCRIPTOR.fields_by_name["raw_input_contents"].number
_RAW_OUTPUT = _RESPONSE.DESCRIPTOR.fields_by_name["raw_output_contents"].number
_LENGTH = struct.Struct("<I")
_CONTENTS = {
    "bool": "bool_contents", "int8": "int_contents", "int16": "int_contents",
    "int32": "int_contents", "int64": "int64_contents", "uint8": "uint_contents",
    "uint16": "uint_contents", "uint32": "uint_contents", "uint64": "uint64_contents",
    "float32": "fp32_contents", "float64": "fp64_contents", "bytes": "bytes_contents",
}  # fmt: skip


def _form(name: str, datatype: Any, shape: Sequence[Any]) -> tuple[str, int, tuple[int, ...]]:
    """numpy's name of the type, the rows, and the shape of a row."""
    if not isinstance(datatype, str) or datatype not in _NUMPY:
        raise ServingError(INVALID, f"input {name}: unknown datatype {datatype!r}")
    if not shape or any(type(size) is not int or size < 0 for size in shape):
        raise ServingError(
            INVALID, f"input {name}: the shape {list(shape)} needs the instances as its first axis"
        )
    if shape[0] > MAX_INSTANCES:
        raise ServingError(TOO_LARGE, f"{shape[0]} instances, {MAX_INSTANCES} are allowed")
    return _NUMPY[datatype], shape[0], tuple(shape[1:])


def _of_raw(name: str, dtype: str, rows: int, shape: tuple[int, ...], data: Any) -> Column:
    if dtype not in TEXT_TYPES:
        return [checked_block(dtype, shape, rows, data, f"input {name}")]
    texts, start = [], 0
    while start < len(data):
        if start + 4 > len(data):
            raise ServingError(INVALID, f"input {name}: its bytes end within a length")
        (length,) = _LENGTH.unpack_from(data, start)
        start += 4
        if start + length > len(data):
            raise ServingError(INVALID, f"input {name}: its bytes end within a text")
        texts.append(bytes(data[start : start + length]))
        start += length
    return _of_texts(name, rows, shape, texts)


def _of_texts(name: str, rows: int, shape: tuple[int, ...], texts: list[bytes]) -> Column:
    if math.prod(shape) != 1 or len(texts) != rows:
        raise ServingError(
            INVALID, f"input {name}: {len(texts)} texts for {rows} instances; each has one"
        )
    return [Block("bytes", (), rows, b"".join(texts), [len(text) for text in texts])]


def _of_list(name: str, dtype: str, rows: int, shape: tuple[int, ...], data: Any) -> Column:
    if dtype in TEXT_TYPES:
        texts = _flat_texts(data, name)
        return _of_texts(name, rows, shape, texts)
    array = array_of_numbers(data, f"input {name}")
    if array.size and not np.can_cast(array.dtype, dtype, "same_kind"):
        if array.dtype.kind not in "iu" or np.dtype(dtype).kind not in "iu":
            raise ServingError(INVALID, f"input {name}: its data is not of type {dtype}")
    if array.size and np.dtype(dtype).kind in "iu":
        limits = np.iinfo(dtype)
        if int(array.min()) < limits.min or int(array.max()) > limits.max:
            raise ServingError(INVALID, f"input {name}: a value does not fit into {dtype}")
    if array.size != rows * math.prod(shape):
        raise ServingError(
            INVALID, f"input {name}: {array.size} values for the shape {[rows, *shape]}"
        )
    data = array.astype(dtype).tobytes()
    return [checked_block(dtype, shape, rows, data, f"input {name}")]


def _flat_texts(data: Any, name: str) -> list[bytes]:
    texts = []
    for each in data:
        inner = each[0] if isinstance(each, list) and len(each) == 1 else each
        if not isinstance(inner, str):
            raise ServingError(INVALID, f"input {name}: the data of BYTES are texts")
        texts.append(inner.encode())
    return texts


def _one_count(columns: dict[str, Column], counts: Mapping[str, int]) -> int:
    if not columns:
        raise ServingError(INVALID, "the request has no inputs")
    if len(set(counts.values())) != 1:
        raise ServingError(INVALID, f"inputs have unequal numbers of instances: {dict(counts)}")
    return next(iter(counts.values()))


# -- gRPC


class Infer:
    """A `ModelInferRequest`.

    Args:
        message: the message, perhaps without its raw contents.
        raw: these.

    Attributes:
        forms: type, rows and shape of a row of each input, by name, once they are known; of
            numbers, one for each of the raw contents.
    """

    def __init__(self, message: Any, raw: Sequence[bytes | memoryview]) -> None:
        self.message = message
        self.raw = raw
        self.forms: dict[str, tuple[str, int, tuple[int, ...]]] = {}

    @property
    def model_name(self) -> str:
        name: str = self.message.model_name
        return name

    def columns(self) -> tuple[dict[str, Column], int]:
        """The inputs by name, and the number of instances.

        Raises:
            ServingError: something in them is wrong.
        """
        if not self.forms:
            columns, rows = columns_of_message(self.message, self.raw)
            blocks = {name: column[0] for name, column in columns.items()}
            if self.raw and not any(block.dtype in TEXT_TYPES for block in blocks.values()):
                self.forms.update({n: (b.dtype, b.rows, b.shape) for n, b in blocks.items()})
            return columns, rows
        columns = {
            name: [Block(dtype, shape, rows, data)]
            for (name, (dtype, rows, shape)), data in zip(self.forms.items(), self.raw, strict=True)
        }
        return columns, next(iter(self.forms.values()))[1]


_known = wire.Known()


def infer_of(data: bytes) -> Infer:
    """The request in a `ModelInferRequest`, whose raw contents are not copied.

    Args:
        data: its bytes.

    Raises:
        DecodeError: they are none.
    """
    if len(data) < wire.LEAST:
        message = _REQUEST.FromString(data)
        return Infer(message, message.raw_input_contents)
    known = _known.find(data)
    if known is None:
        parts = wire.without_field(data, _RAW)
        if parts is None:
            message = _REQUEST.FromString(data)
            return Infer(message, message.raw_input_contents)
        forms: dict[str, tuple[str, int, tuple[int, ...]]] = {}
        known = _REQUEST.FromString(parts[0]), parts[1], forms
        _known.keep(data, parts[1], known)
    view = memoryview(data)
    made = Infer(known[0], [view[at:after] for at, after in known[1]])
    made.forms = known[2]  # which the first of these requests fills
    return made


def columns_of_message(
    request: Any, raw: Sequence[bytes | memoryview]
) -> tuple[dict[str, Column], int]:
    """The inputs of a `ModelInferRequest` by name, and the number of instances.

    Args:
        request: the message.
        raw: its raw contents.

    Raises:
        ServingError: something in it is wrong.
    """
    if raw and len(raw) != len(request.inputs):
        raise ServingError(INVALID, f"{len(raw)} raw contents for {len(request.inputs)} inputs")
    columns: dict[str, Column] = {}
    counts = {}
    for number, tensor in enumerate(request.inputs):
        name = tensor.name
        if name in columns:
            raise ServingError(INVALID, f"input {name} is given twice")
        dtype, rows, shape = _form(name, tensor.datatype, list(tensor.shape))
        if raw:
            columns[name] = _of_raw(name, dtype, rows, shape, raw[number])
        elif dtype == "float16":
            raise ServingError(INVALID, f"input {name}: FP16 needs raw contents")
        else:
            contents = getattr(tensor.contents, _CONTENTS[dtype])
            given = list(contents)
            columns[name] = (_of_texts(name, rows, shape, given) if dtype in TEXT_TYPES
                             else _of_list(name, dtype, rows, shape, given))  # fmt: skip
        counts[name] = rows
    return columns, _one_count(columns, counts)


def method_of(parameters: Mapping[str, Any]) -> str:
    """The method that a request names in its parameter `method_name`; else nothing.

    Args:
        parameters: the request's parameters, texts or messages.
    """
    value: Any = parameters["method_name"] if "method_name" in parameters else ""  # noqa: SIM401
    value = getattr(value, "string_param", value)
    return value if isinstance(value, str) else ""


def _outputs(answer: Answer, wanted: Sequence[str]) -> list[tuple[str, Block]]:
    """The outputs that are asked for, each as one block."""
    if answer.errors:
        raise next(iter(answer.errors.values()))
    unknown = [name for name in wanted if name not in answer.columns]
    if unknown:
        raise ServingError(INVALID, f"there is no output {unknown[0]}")
    found = []
    for name in wanted or answer.outputs:
        column = join([answer.columns[name]])
        if len(column) != 1:
            text = f"output {name}: its instances have unequal types or shapes"
            raise ServingError(FAILED, text)
        found.append((name, column[0]))
    return found


def _raw(block: Block) -> Buffer:
    if block.dtype not in TEXT_TYPES:
        return block.data
    parts: list[bytes | memoryview] = []
    start, data = 0, memoryview(block.data)
    for length in block.lengths:
        parts += [_LENGTH.pack(length), data[start : start + length]]
        start += length
    return b"".join(parts)


def response_bytes(request: Any, answer: Answer) -> bytes:
    """The `ModelInferResponse` to a request, as bytes.

    Args:
        request: the message.
        answer: what it gets.

    Raises:
        ServingError: a row failed, or an output cannot be told.
    """
    outputs = _outputs(answer, [output.name for output in request.outputs])
    head = _head(
        request.model_name, answer.version, request.id,
        tuple([(name, block.dtype, block.rows, block.shape) for name, block in outputs]),
    )  # fmt: skip
    parts: list[Buffer] = [head]
    for _, block in outputs:
        raw = _raw(block)
        parts += [wire.length_delimited(_RAW_OUTPUT, len(raw)), raw]
    return b"".join(parts)


@functools.lru_cache(wire.KEPT)
def _head(model: str, version: int, number: str, forms: Any) -> bytes:
    """A `ModelInferResponse` without its raw contents."""
    response = _RESPONSE(model_name=model, model_version=str(version), id=number)
    for name, dtype, rows, shape in forms:
        response.outputs.add(name=name, datatype=DATATYPES[dtype], shape=[rows, *shape])
    data: bytes = response.SerializeToString()
    return data


# -- REST


def columns_of_json(body: Any, binary: memoryview) -> tuple[dict[str, Column], int]:
    """The inputs of a request in JSON by name, and the number of instances.

    Args:
        body: the object.
        binary: what comes behind it: the data of inputs with `binary_data_size`.

    Raises:
        ServingError: something in it is wrong.
    """
    if not isinstance(body, dict) or not isinstance(body.get("inputs"), list):
        raise ServingError(INVALID, 'the request has no list "inputs"')
    columns: dict[str, Column] = {}
    counts = {}
    start = 0
    for tensor in body["inputs"]:
        if not isinstance(tensor, dict) or not isinstance(tensor.get("name"), str):
            raise ServingError(INVALID, "an input is an object with a name")
        name, shape = tensor["name"], tensor.get("shape")
        if name in columns or not isinstance(shape, list):
            raise ServingError(INVALID, f"input {name} is given twice, or has no shape")
        dtype, rows, shape = _form(name, tensor.get("datatype"), shape)
        size = _parameters(tensor).get("binary_data_size")
        if size is not None:
            if type(size) is not int or not 0 <= size <= len(binary) - start:
                raise ServingError(INVALID, f"input {name}: binary_data_size does not fit")
            columns[name] = _of_raw(name, dtype, rows, shape, binary[start : start + size])
            start += size
        elif isinstance(tensor.get("data"), list):
            columns[name] = _of_list(name, dtype, rows, shape, tensor["data"])
        else:
            raise ServingError(INVALID, f"input {name} has no data")
        counts[name] = rows
    if start != len(binary):
        text = f"{len(binary) - start} bytes behind the request are of no input"
        raise ServingError(INVALID, text)
    return columns, _one_count(columns, counts)


def _parameters(owner: Any) -> dict[str, Any]:
    found = owner.get("parameters", {})
    if not isinstance(found, dict):
        raise ServingError(INVALID, "parameters are an object")
    return found


def response_json(body: Any, name: str, answer: Answer) -> tuple[bytes, bytes]:
    """The answer in JSON, and the bytes behind it.

    Args:
        body: the request.
        name: the servable.
        answer: what it gets.

    Raises:
        ServingError: a row failed, or an output cannot be told.
    """
    asked = body.get("outputs") or []
    if not isinstance(asked, list) or not all(
        isinstance(each, dict) and isinstance(each.get("name"), str) for each in asked
    ):
        raise ServingError(INVALID, "outputs are objects with names")
    all_binary = _parameters(body).get("binary_data_output") is True
    binary = {each["name"]: _parameters(each).get("binary_data", all_binary) for each in asked}
    outputs, behind = [], []
    for output, block in _outputs(answer, list(binary)):
        told: dict[str, Any] = {"name": output, "datatype": DATATYPES[block.dtype],
                                "shape": [block.rows, *block.shape]}  # fmt: skip
        if binary.get(output, all_binary):
            behind.append(_raw(block))
            told["parameters"] = {"binary_data_size": len(behind[-1])}
        else:
            told["data"] = _json_data(output, block)
        outputs.append(told)
    response = {"model_name": name, "model_version": str(answer.version), "outputs": outputs}
    if isinstance(body.get("id"), str):
        response["id"] = body["id"]
    return orjson.dumps(response, option=orjson.OPT_SERIALIZE_NUMPY), b"".join(behind)


def _json_data(name: str, block: Block) -> Any:
    rows = rows_of([block])
    if isinstance(rows, np.ndarray):
        flat = rows.reshape(-1)
        return flat.astype(np.float32) if flat.dtype == np.float16 else flat
    try:
        return [row if isinstance(row, str) else row.decode() for row in rows]
    except UnicodeDecodeError:
        raise ServingError(FAILED, f"output {name} is no text; ask for binary_data") from None
