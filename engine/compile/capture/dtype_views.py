"""Traced memory read and written as another type: complex numbers as pairs of real ones, and back.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ...ops.complex import (
    view_as_complex,
    view_as_complex_copy,
    view_as_real,
    view_as_real_copy,
)
from ...ops.movement import as_strided, view_update
from ...tensor import Tensor
from ..ir.ir import Value
from .traced_storage import TracedStorage
from .tracing_error import TracingError

VIEWS = (view_as_real, view_as_complex)
Emit = Callable[[Any, Any, dict[str, Any]], tuple[Value, ...]]


def read(emit: Emit, record: Any, dtype: Any) -> TracedStorage:
    """What a storage holds, as elements of ``dtype`` in a row."""
    base = record.base_aval
    if base.dtype.is_complex and dtype is base.dtype.to_real():
        flat = emit(as_strided, (record.value,), _row(base.extent))
        value = emit(view_as_real_copy, flat, {})[0]
        return TracedStorage(value, value.aval, None, 2 * record.base_offset)
    if not dtype.is_complex or dtype.to_real() is not base.dtype:
        raise TracingError(f"memory of {base.dtype.name} is read as {dtype.name}")
    pairs = emit(as_strided, (record.value,), _pairs(record))
    begin = (record.base_offset + record.base_offset % 2) // 2
    value = emit(view_as_complex_copy, pairs, {})[0]
    return TracedStorage(value, value.aval, None, begin)


def written(emit: Emit, record: Any, value: Value) -> Value:
    """The storage's value once ``value``, laid out as by :func:`read`, is written to it."""
    place = _row(record.base_aval.extent) if record.base_aval.dtype.is_complex else _pairs(record)
    back = view_as_complex_copy if record.base_aval.dtype.is_complex else view_as_real_copy
    chain = ((as_strided, tuple(sorted(place.items()))),)
    made = emit(back, (value,), {})[0]
    return emit(view_update, (record.value, made), {"chain": chain})[0]


def _row(count: int) -> dict[str, Any]:
    return {"shape": (count,), "strides": (1,), "offset": 0}


def _pairs(record: Any) -> dict[str, Any]:
    """Where real numbers lie that memory holds as parts of complex ones."""
    odd = record.base_offset % 2
    count = (record.base_aval.extent - odd) // 2
    return {"shape": (count, 2), "strides": (2, 1), "offset": odd}


def is_retyped(tensor: Tensor) -> bool:
    """Whether a tensor reads its memory as another type than it was made with."""
    buffer = tensor._shared.memory.buffer
    made = buffer.aval.dtype.np if type(buffer) is Value else buffer.dtype
    return bool(made != tensor.aval.dtype.np)
