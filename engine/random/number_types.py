"""What a sampler has to know of number types: their digits, bounds and names in torch's errors."""

from __future__ import annotations

import functools
from typing import Any

import numpy as np

Array = np.ndarray[Any, Any]

DIGITS = {"float64": 53, "float32": 24, "float16": 11, "bfloat16": 8}


@functools.cache
def type_name(dtype: np.dtype[Any]) -> str:
    """numpy works a type's name out anew each time it is asked."""
    return dtype.name


def rounded(values: Array, dtype: Any) -> Array:
    """float64 to ``dtype``; to a half type through float32, as torch's casts go."""
    if dtype.name in ("float16", "bfloat16"):
        values = values.astype(np.float32)
    return values.astype(dtype)


def smallest(dtype: Any) -> float:
    if dtype.name == "bfloat16":
        return 2.0**-126
    return float(np.finfo(dtype).tiny)


@functools.cache
def largest(dtype: Any) -> int:
    if dtype.name in DIGITS:
        return int(2 ** DIGITS[dtype.name])
    if dtype == np.bool_:
        return 1
    return int(np.iinfo(dtype).max)


def c_name(kind: str) -> str:
    return {
        "int8": "signed char", "uint8": "unsigned char", "int16": "short int", "int32": "int",
        "int64": "long", "uint16": "unsigned short", "uint32": "unsigned int",
    }.get(kind, kind)  # fmt: skip


def representable(dtype: Any, low: int, high: int) -> tuple[int, int]:
    """Bounds moved inward to values of a float type, where they lie beyond its digits."""
    digits = DIGITS[type_name(dtype)]

    def cast(value: int) -> int:
        return int(float(dtype.type(np.float32(value) if digits < 24 else value)))

    next_low = cast(low + 1)
    if next_low < low:
        low = next_low + (1 << max(abs(low + 1).bit_length() - digits, 0))
    last = cast(high - 1)
    if last >= high:
        high = last - (1 << max(abs(high - 1).bit_length() - digits, 0))
    return low, high
