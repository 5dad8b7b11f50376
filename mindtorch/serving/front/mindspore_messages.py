"""Requests and answers of MindSpore's gRPC service."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from google.protobuf.message import DecodeError

from mindtorch.serving.columns import (
    ITEM_SIZES,
    MAX_INSTANCES,
    TEXT_TYPES,
    Block,
    Column,
    checked_block,
    join,
    row_size,
)
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


class _Alike:
    """Requests whose instances differ in the tensors' elements only.

    Args:
        head: the bytes before the instances.
        rows: the form of an instance.
        names: of the inputs, as their elements come in an instance.
        blocks: an input's type and shape, by name.
    """

    def __init__(
        self, head: bytes, rows: wire.Rows, names: list[str], blocks: dict[str, Block]
    ) -> None:
        self.head, self.spec = head, PredictRequest.FromString(head).servable_spec
        self.rows, self.names, self.blocks = rows, names, blocks

    def read(self, data: bytes) -> Predict | None:
        """The request, where it is of this form."""
        found = self.rows.read(data, len(self.head))
        if found is None or len(found[0]) > MAX_INSTANCES:
            return None
        count, contents = len(found[0]), dict(zip(self.names, found, strict=True))
        columns = {name: [Block(block.dtype, block.shape, count, contents[name])]
                   for name, block in self.blocks.items()}  # fmt: skip
        return Predict(self.spec, count, lambda: columns)


_known: dict[int, _Alike] = {}  # of requests that came before, by the bytes that they have


def _alike(data: bytes) -> Predict | None:
    """A request whose instances differ in the tensors' elements only, as clients write it."""
    known = _known.get(len(data))
    if known is not None and data.startswith(known.head):
        found = known.read(data)
        if found is not None:
            return found
    made = _form_of(data)
    found = None if made is None else made.read(data)
    if made is not None and found is not None and made.rows.first.size <= wire.MOST_KEPT:
        wire.keep(_known, len(data), made)
    return found


def _form_of(data: bytes) -> _Alike | None:
    """The form of a request's first instance, which the others may have, too."""
    try:
        first = (place for number, *place in wire.fields(data, 0, len(data))
                 if number == _INSTANCES)  # fmt: skip
        tag, at, after = next(first)
        request = PredictRequest.FromString(data[:tag])
        instance = Instance.FromString(data[at:after])
        names, spans = _tensor_data(data, (at, after))
        if sorted(names) != sorted(instance.items) or request.instances:
            return None
        blocks = {name: _block(tensor, name) for name, tensor in instance.items.items()}
    except (*wire.MALFORMED, StopIteration, DecodeError, ServingError):
        return None
    if any(block.dtype in TEXT_TYPES for block in blocks.values()):
        return None
    rows = wire.Rows(data[tag:after], [(begin - tag, end - tag) for begin, end in spans])
    return _Alike(data[:tag], rows, names, blocks)


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
    forms = [(column[0].dtype, column[0].shape) for column in columns if len(column) == 1]
    if answer.errors or not columns or len(forms) < len(columns):
        return None
    if any(dtype in TEXT_TYPES for dtype, _ in forms):
        return None
    key = answer.outputs, tuple(forms)
    if key not in _replied:
        wire.keep(_replied, key, _form_of_reply(answer.outputs, forms))
    names, rows = _replied[key]
    return rows.write([
        np.frombuffer(answer.columns[name][0].data, np.uint8).reshape(answer.rows, -1)
        for name in names
    ])  # fmt: skip


_replied: dict[Any, tuple[list[str], wire.Rows]] = {}  # the form of an instance, by its outputs'


def _form_of_reply(
    outputs: Sequence[str], forms: Sequence[tuple[str, tuple[int, ...]]]
) -> tuple[list[str], wire.Rows]:
    """The outputs' names as they come in an instance, and the form of such."""
    first = PredictReply()
    items = first.instances.add().items
    for name, (dtype, shape) in zip(outputs, forms, strict=True):
        _set(items[name], dtype, shape, bytes(row_size(dtype, shape)))
    data = first.SerializeToString()
    ((at, after),) = wire.bytes_field(data, (0, len(data)), [_REPLIED])
    names, spans = _tensor_data(data, (at, after))
    return names, wire.Rows(data, spans)


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
