"""Requests and answers of MindSpore's gRPC service."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from google.protobuf.message import DecodeError

from mindtorch.serving.columns import ITEM_SIZES, TEXT_TYPES, Block, Column, checked_block, join
from mindtorch.serving.errors import INVALID, TOO_LARGE, ServingError
from mindtorch.serving.proto.ms_service_pb2 import (
    NUMBERS,
    NUMPY_NAMES,
    Instance,
    PredictReply,
    PredictRequest,
)

from . import wire
from .requests import Answer
from .service import MAX_INSTANCES

__all__ = ["Predict", "columns_of_instances", "error_reply", "predict_of", "reply_of"]

_INSTANCES = PredictRequest.DESCRIPTOR.fields_by_name["instances"].number
_REPLIED = PredictReply.DESCRIPTOR.fields_by_name["instances"].number


@dataclass(frozen=True)
class Predict:
    """A request.

    Attributes:
        spec: its `servable_spec`.
        rows: how many instances it has.
        columns: gives their inputs, by name; raises ServingError where they are wrong.
    """

    spec: Any
    rows: int
    columns: Callable[[], dict[str, Column]]


def predict_of(data: bytes) -> Predict:
    """The request in a `PredictRequest`.

    Args:
        data: its bytes.

    Raises:
        DecodeError: they are none.
    """
    found = _alike(data) if len(data) >= wire.LEAST else None
    if found is not None:
        return found
    request = PredictRequest.FromString(data)
    instances = request.instances
    return Predict(request.servable_spec, len(instances), lambda: columns_of_instances(instances))


def _alike(data: bytes) -> Predict | None:
    """A request whose instances differ in the tensors' elements only, as clients write it."""
    try:
        first = (place for number, *place in wire.fields(data, 0, len(data))
                 if number == _INSTANCES)  # fmt: skip
        tag, at, after = next(first)
        request = PredictRequest.FromString(data[:tag])
        instance = Instance.FromString(data[at:after])
        names, spans = _tensor_data(data, (at, after))
    except (*wire.MALFORMED, StopIteration, DecodeError):
        return None
    if sorted(names) != sorted(instance.items) or request.instances:
        return None
    alike = wire.Rows(data[tag:after], [(begin - tag, end - tag) for begin, end in spans])
    found = alike.read(data, tag)
    if found is None or len(found[0]) > MAX_INSTANCES:
        return None
    contents = dict(zip(names, found, strict=True))
    try:
        forms = {name: _block(tensor, name) for name, tensor in instance.items.items()}
    except ServingError:
        return None
    if any(block.dtype in TEXT_TYPES for block in forms.values()):
        return None
    rows = len(found[0])
    columns = {name: [Block(block.dtype, block.shape, rows, _bytes(contents[name]))]
               for name, block in forms.items()}  # fmt: skip
    return Predict(request.servable_spec, rows, lambda: columns)


def _tensor_data(data: Any, span: tuple[int, int]) -> tuple[list[str], list[tuple[int, int]]]:
    """The inputs' names in an instance, and where their elements lie.

    Raises:
        ValueError, IndexError, KeyError: it has another form.
    """
    names, spans = [], []
    for item in wire.bytes_field(data, span, [1]):
        ((first, last),) = wire.bytes_field(data, item, [1])
        (elements,) = wire.bytes_field(data, item, [2, 3])
        names.append(bytes(data[first:last]).decode())
        spans.append(elements)
    return names, spans


def _bytes(rows: np.ndarray[Any, Any]) -> memoryview:
    return np.ascontiguousarray(rows).reshape(-1).data


def columns_of_instances(instances: Any) -> dict[str, Column]:
    """The inputs of a request, by name.

    Args:
        instances: its `instances`.

    Raises:
        ServingError: they do not have the same inputs, or a tensor is wrong.
    """
    if len(instances) > MAX_INSTANCES:
        raise ServingError(TOO_LARGE, f"{len(instances)} instances, {MAX_INSTANCES} are allowed")
    if not instances:
        raise ServingError(INVALID, "Instances count of request cannot be 0")
    rows = [instance.items for instance in instances]
    names = list(rows[0])
    for number, items in enumerate(rows):
        if len(items) != len(names) or any(name not in items for name in names):
            raise ServingError(
                INVALID,
                f"instance {number} has the inputs {sorted(items)}, the first one {sorted(names)}",
            )
    return {name: _column([items[name] for items in rows], name) for name in names}


def _column(tensors: list[Any], name: str) -> Column:
    """The tensors one after another. Most are numbers of one form, which are looked at once."""
    first = _block(tensors[0], name)
    if first.dtype not in TEXT_TYPES and len(tensors) > 1:
        number, dims, size = tensors[0].dtype, tensors[0].shape.dims, len(first.data)
        data = [tensor.data for tensor in tensors
                if tensor.dtype == number and tensor.shape.dims == dims]  # fmt: skip
        if len(data) == len(tensors) and size and all(len(each) == size for each in data):
            return [Block(first.dtype, first.shape, len(data), b"".join(data))]
    return join([[first], *([_block(tensor, name)] for tensor in tensors[1:])])


def _block(tensor: Any, name: str) -> Block:
    """The one row that a tensor is."""
    number = tensor.dtype
    dtype = NUMPY_NAMES[number] if 0 < number < len(NUMPY_NAMES) else ""
    if not dtype:
        raise ServingError(INVALID, f"input {name}: unknown type {number}")
    if tensor.HasField("shm_data"):
        raise ServingError(INVALID, f"input {name}: shared memory is not read; send its data")
    shape = tuple(tensor.shape.dims)
    if dtype in TEXT_TYPES:
        if len(tensor.bytes_val) != 1 or shape not in ((), (1,)):
            raise ServingError(
                INVALID, f"input {name}: bytes or string type shape batch size can only be 1"
            )
        text = tensor.bytes_val[0]
        if dtype == "str":
            try:
                text.decode()
            except UnicodeDecodeError:
                raise ServingError(INVALID, f"input {name}: the text is not UTF-8") from None
        return Block(dtype, (), 1, text, [len(text)])
    return checked_block(dtype, shape, 1, tensor.data, f"input {name}")


def reply_of(spec: Any, answer: Answer) -> bytes:
    """The reply to a request, as bytes.

    Args:
        spec: the `servable_spec` that was asked for.
        answer: what it gets.
    """
    reply = PredictReply()
    reply.servable_spec.CopyFrom(spec)
    reply.servable_spec.version_number = answer.version
    if answer.rows > 1 and (alike := _instances(answer)) is not None:
        return b"".join([reply.SerializeToString(), alike])
    instances = [reply.instances.add() for _ in range(answer.rows)]
    good = [instance for row, instance in enumerate(instances) if row not in answer.errors]
    for name in answer.outputs if answer.columns else ():
        for instance, (dtype, shape, data) in zip(good, _rows(answer.columns[name]), strict=True):
            _set(instance.items[name], dtype, shape, data)
    if answer.errors:
        for row in range(answer.rows):
            message = reply.error_msg.add()
            error = answer.errors.get(row)
            if error is not None:
                message.error_code, message.error_msg = error.kind.code, str(error).encode()
    whole: bytes = reply.SerializeToString()
    return whole


def _instances(answer: Answer) -> bytes | None:
    """The instances of a reply whose outputs are numbers, each of one form in all instances."""
    columns = [answer.columns[name] for name in answer.outputs]
    forms = [column[0].dtype for column in columns if len(column) == 1]
    if answer.errors or not columns or len(forms) < len(columns) or {*forms} & {*TEXT_TYPES}:
        return None
    first = PredictReply()
    items = first.instances.add().items
    contents = {}
    for name, (block,) in zip(answer.outputs, columns, strict=True):
        contents[name] = np.frombuffer(block.data, np.uint8).reshape(block.rows, -1)
        _set(items[name], block.dtype, block.shape, contents[name][0].tobytes())
    data = first.SerializeToString()
    ((at, after),) = wire.bytes_field(data, (0, len(data)), [_REPLIED])
    names, spans = _tensor_data(data, (at, after))
    return wire.Rows(data, spans).write([contents[name] for name in names])


def _set(tensor: Any, dtype: str, shape: Sequence[int], data: bytes) -> None:
    tensor.dtype = NUMBERS[dtype]
    tensor.shape.dims.extend(shape)
    if dtype in TEXT_TYPES:
        tensor.bytes_val.append(data)
    else:
        tensor.data = data


def _rows(column: Column) -> Iterable[tuple[str, tuple[int, ...], bytes]]:
    """Type, shape and bytes of each row."""
    for block in column:
        data, start = memoryview(block.data), 0
        texts = block.dtype in TEXT_TYPES
        size = 0 if texts else len(data) // block.rows if block.rows else 0
        shape = (1,) if texts else block.shape
        for row in range(block.rows):
            end = start + (block.lengths[row] if texts else size)
            yield block.dtype, shape, bytes(data[start:end])
            start = end


def error_reply(spec: Any, error: ServingError) -> bytes:
    """The reply to a request that cannot be answered as a whole, as bytes.

    Args:
        spec: the `servable_spec` that was asked for.
        error: why.
    """
    reply = PredictReply()
    reply.servable_spec.CopyFrom(spec)
    message = reply.error_msg.add()
    message.error_code, message.error_msg = error.kind.code, str(error).encode()
    data: bytes = reply.SerializeToString()
    return data


assert set(ITEM_SIZES) | set(TEXT_TYPES) == set(NUMBERS)
