"""MindSpore's names of the element types; the objects are the engine's."""

from __future__ import annotations

from typing import Any

import numpy as np

from mindtorch.engine import dtypes
from mindtorch.engine.dtypes import DType

__all__ = [
    "bfloat16", "bool_", "complex64", "complex128", "dtype_to_nptype", "dtype_to_pytype", "float16",
    "float32", "float64", "float_type", "int8", "int16", "int32", "int64", "int_type",
    "pytype_to_dtype", "uint8", "uint16", "uint32", "uint64",
]  # fmt: skip

bool_ = dtypes.bool_
int8, int16, int32, int64 = dtypes.int8, dtypes.int16, dtypes.int32, dtypes.int64
uint8, uint16, uint32, uint64 = dtypes.uint8, dtypes.uint16, dtypes.uint32, dtypes.uint64
float16, float32, float64 = dtypes.float16, dtypes.float32, dtypes.float64
bfloat16 = dtypes.bfloat16
complex64, complex128 = dtypes.complex64, dtypes.complex128

half, single, double = float16, float32, float64
byte, short, intc, long = int8, int16, int32, int64
ubyte, ushort, uintc, ulong = uint8, uint16, uint32, uint64
int_type, float_type = int64, float32

_TEXTS = {"bool": "Bool", "bfloat16": "BFloat16"}
_PYTHON = {bool: bool_, int: int64, float: float32, complex: complex128}


def text_of(dtype: DType) -> str:
    """MindSpore's word for a type, as messages and checkpoints have it: ``Float32``."""
    name = dtype.name
    found = _TEXTS.get(name)
    if found is None:
        found = "UInt" + name[4:] if name.startswith("uint") else name.capitalize()
    return found


def dtype_to_nptype(dtype: DType) -> Any:
    """The numpy type: ``dtype_to_nptype(float32) is numpy.float32``."""
    return dtype.np.type


def dtype_to_pytype(dtype: DType) -> type:
    """The type of Python's numbers that holds its elements."""
    return (bool, int, float, complex)[dtype.category]


def as_dtype(given: Any) -> DType:
    """The type that a type, a numpy type, a Python type or a name stands for."""
    if isinstance(given, DType):
        return given
    if given in _PYTHON:
        return _PYTHON[given]
    try:
        return dtypes.from_numpy(np.dtype(given))
    except (TypeError, KeyError):
        raise TypeError(f"{given!r} is not a type of tensors") from None


def pytype_to_dtype(kind: Any) -> DType:
    """The type for Python's ``float``, ``int``, ``bool`` or a numpy type.

    Args:
        kind: a type.
    """
    return as_dtype(kind)
