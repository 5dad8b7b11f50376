"""Requests and answers of MindSpore Serving's REST service."""

from __future__ import annotations

import base64
import binascii
from typing import Any

import numpy as np
import orjson

from mindtorch.serving.columns import (
    ITEM_SIZES,
    MAX_INSTANCES,
    Block,
    Column,
    checked_block,
    join,
    rows_of,
)
from mindtorch.serving.errors import INVALID, TOO_LARGE, ServingError

from .requests import Answer

__all__ = ["answer_json", "columns_of_body", "error_json", "parse"]

# what "type" may say beside numpy's names
_TYPES = {"int": "int32", "fp16": "float16", "fp32": "float32", "fp64": "float64",
          **{name: name for name in (*ITEM_SIZES, "str", "bytes")}}  # fmt: skip


def parse(body: bytes) -> Any:
    """A JSON text.

    Args:
        body: the text.

    Raises:
        ServingError: it is none.
    """
    try:
        return orjson.loads(body)
    except orjson.JSONDecodeError as error:
        raise ServingError(INVALID, f"the body is no JSON: {error}") from None


def columns_of_body(body: Any) -> tuple[dict[str, Column], int]:
    """The inputs of a request by name, and the number of its instances.

    Args:
        body: `{"instances": ...}`, one object or a list of them.

    Raises:
        ServingError: it is something else, or a value is wrong.
    """
    if not isinstance(body, dict) or "instances" not in body:
        raise ServingError(INVALID, "instances request json should have instances key word")
    instances = body["instances"]
    instances = instances if isinstance(instances, list) else [instances]
    if len(instances) > MAX_INSTANCES:
        raise ServingError(TOO_LARGE, f"{len(instances)} instances, {MAX_INSTANCES} are allowed")
    if not instances:
        raise ServingError(INVALID, "instances value is array type, but no value")
    names: Any = None
    for number, instance in enumerate(instances):
        if not isinstance(instance, dict):
            raise ServingError(INVALID, f"instance {number} is not object type")
        names = names or instance.keys()
        if instance.keys() != names:
            raise ServingError(
                INVALID,
                f"instance {number} has the inputs {sorted(instance)}, the first one "
                f"{sorted(names)}",
            )
    columns = {
        name: join([_block(instance[name], f"input {name}")] for instance in instances)
        for name in names
    }
    return columns, len(instances)


def _block(value: Any, name: str) -> Block:
    if isinstance(value, str):
        data = value.encode()
        return Block("str", (), 1, data, [len(data)])
    if isinstance(value, dict):
        return _block_of_bytes(value, name)
    if not isinstance(value, bool | int | float | list):
        raise ServingError(INVALID, f"{name}: a number, a text, a list or an object is expected")
    array = array_of_numbers(value, name)
    if array.dtype == np.int64 and (array.size == 0 or _fits(array)):
        array = array.astype(np.int32)
    elif array.dtype == np.float64:
        array = array.astype(np.float32)
    return Block(array.dtype.name, array.shape, 1, array.tobytes())


def _fits(array: np.ndarray[Any, Any]) -> bool:
    return bool(array.min() >= -(2**31) and array.max() < 2**31)


def array_of_numbers(value: Any, name: str) -> np.ndarray[Any, Any]:
    """The array of nested lists.

    Args:
        value: the lists, or a number.
        name: what errors call it.

    Raises:
        ServingError: rows have unequal lengths, or something is no number.
    """
    try:
        array = np.array(value)
    except (ValueError, OverflowError, RecursionError) as error:
        raise ServingError(INVALID, f"{name}: {error}") from None
    if array.size and array.dtype.kind not in "biuf":
        raise ServingError(INVALID, f"{name}: lists hold numbers, all true or false, or none")
    return array


def _block_of_bytes(value: dict[str, Any], name: str) -> Block:
    """`{"b64": ..., "type": ..., "shape": ...}`; without a type, bytes."""
    if not isinstance(value.get("b64"), str) or value.keys() - {"b64", "type", "shape"}:
        raise ServingError(INVALID, f'{name}: an object has "b64", and may have "type" and "shape"')
    try:
        data = base64.b64decode(value["b64"], validate=True)
    except (binascii.Error, ValueError) as error:
        raise ServingError(INVALID, f"{name}: decode base64 failed: {error}") from None
    kind, shape = value.get("type", "bytes"), value.get("shape", [])
    if not isinstance(kind, str) or kind not in _TYPES:
        raise ServingError(INVALID, f"{name}: unknown type {kind!r}")
    if not isinstance(shape, list) or not all(type(size) is int for size in shape):
        raise ServingError(INVALID, f"{name}: the shape is a list of whole numbers")
    dtype = _TYPES[kind]
    if dtype == "str":
        try:
            data.decode()
        except UnicodeDecodeError:
            raise ServingError(INVALID, f"{name}: the text is not UTF-8") from None
    if dtype in ("str", "bytes"):
        return Block(dtype, (), 1, data, [len(data)])
    return checked_block(dtype, shape, 1, data, name)


def answer_json(answer: Answer) -> tuple[int, bytes]:
    """HTTP's status and the body of an answer. A row that failed has `{"error_msg": ...}`, and its
    status is that of the answer.

    Args:
        answer: the answer.
    """
    good = answer.rows - len(answer.errors)
    columns = [(name, _values(answer.columns[name])) for name in answer.outputs] if good else []
    rows = iter(range(good))
    instances: list[Any] = []
    for row in range(answer.rows):
        if row in answer.errors:
            instances.append({"error_msg": str(answer.errors[row])})
        else:
            at = next(rows)
            instances.append({name: values[at] for name, values in columns})
    status = max((error.kind.http for error in answer.errors.values()), default=200)
    body = orjson.dumps({"instances": instances}, option=orjson.OPT_SERIALIZE_NUMPY)
    return status, body


def _values(column: Column) -> Any:
    rows = rows_of(column)
    if isinstance(rows, np.ndarray):
        rows = rows.astype(np.float32) if rows.dtype == np.float16 else rows
        return rows if rows.ndim > 1 else rows.tolist()
    return [{"b64": base64.b64encode(row).decode()} if isinstance(row, bytes)
            else row.astype(np.float32) if isinstance(row, np.ndarray) and row.dtype == np.float16
            else row.tolist() if isinstance(row, np.ndarray) and row.ndim == 0 else row
            for row in rows]  # fmt: skip


def error_json(error: ServingError) -> tuple[int, bytes]:
    """HTTP's status and the body for a request that cannot be answered.

    Args:
        error: why.
    """
    return error.kind.http, orjson.dumps({"error_msg": str(error)})
