"""Requests and answers of MindSpore's gRPC service."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from mindtorch.serving.columns import ITEM_SIZES, TEXT_TYPES, Block, Column, checked_block, join
from mindtorch.serving.errors import INVALID, TOO_LARGE, ServingError
from mindtorch.serving.proto.ms_service_pb2 import NUMBERS, NUMPY_NAMES, PredictReply

from .requests import Answer
from .service import MAX_INSTANCES

__all__ = ["columns_of_instances", "error_reply", "reply_of"]


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


def reply_of(spec: Any, answer: Answer) -> Any:
    """The reply to a request.

    Args:
        spec: the `servable_spec` that was asked for.
        answer: what it gets.
    """
    reply = PredictReply()
    reply.servable_spec.CopyFrom(spec)
    reply.servable_spec.version_number = answer.version
    instances = [reply.instances.add() for _ in range(answer.rows)]
    good = [instance for row, instance in enumerate(instances) if row not in answer.errors]
    for name in answer.outputs if answer.columns else ():
        for instance, (dtype, shape, data) in zip(good, _rows(answer.columns[name]), strict=True):
            tensor = instance.items[name]
            tensor.dtype = NUMBERS[dtype]
            tensor.shape.dims.extend(shape)
            if dtype in TEXT_TYPES:
                tensor.bytes_val.append(data)
            else:
                tensor.data = data
    if answer.errors:
        for row in range(answer.rows):
            message = reply.error_msg.add()
            error = answer.errors.get(row)
            if error is not None:
                message.error_code, message.error_msg = error.kind.code, str(error).encode()
    return reply


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


def error_reply(spec: Any, error: ServingError) -> Any:
    """The reply to a request that cannot be answered as a whole.

    Args:
        spec: the `servable_spec` that was asked for.
        error: why.
    """
    reply = PredictReply()
    reply.servable_spec.CopyFrom(spec)
    message = reply.error_msg.add()
    message.error_code, message.error_msg = error.kind.code, str(error).encode()
    return reply


assert set(ITEM_SIZES) | set(TEXT_TYPES) == set(NUMBERS)
