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
    names = list(instances[0].items)
    for number, instance in enumerate(instances):
        if len(instance.items) != len(names) or any(n not in instance.items for n in names):
            raise ServingError(
                INVALID,
                f"instance {number} has the inputs {sorted(instance.items)}, the first one "
                f"{sorted(names)}",
            )
    return {
        name: join([_block(instance.items[name], name)] for instance in instances) for name in names
    }


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
