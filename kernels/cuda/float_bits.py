"""16-bit floating-point numbers and comparisons with NaN, as device functions."""

from __future__ import annotations

from typing import Any

import numpy as np

from .launch import SIMULATED, device

if SIMULATED:

    def load_half(x: Any) -> Any:
        return np.float32(x)

    def store_half(x: Any) -> Any:
        return np.float16(x)

    def load_bfloat16(x: Any) -> Any:
        return (np.uint32(x) << np.uint32(16)).view(np.float32)

    def _word(x: Any) -> Any:
        return np.float32(x).view(np.uint32)

    def double_bits(x: Any) -> Any:
        return np.float64(x).view(np.int64)
else:
    from numba.cuda import libdevice

    @device
    def load_half(x: Any) -> Any:
        return np.float32(x)

    @device
    def store_half(x: Any) -> Any:
        return np.float16(x)

    @device
    def load_bfloat16(x: Any) -> Any:
        return libdevice.int_as_float(np.int32(np.uint32(x) << np.uint32(16)))

    @device
    def _word(x: Any) -> Any:
        return np.uint32(libdevice.float_as_int(x))

    @device
    def double_bits(x: Any) -> Any:
        return libdevice.double_as_longlong(np.float64(x))


@device
def store_bfloat16(x: Any) -> Any:
    """The nearest bfloat16, ties to even; NaN stays NaN."""
    if x != x:
        return np.uint16(0x7FC0)
    word = _word(x)
    bias = np.uint32(0x7FFF) + ((word >> np.uint32(16)) & np.uint32(1))
    return np.uint16((np.uint64(word) + np.uint64(bias)) >> np.uint64(16))


@device
def greater(x: Any, a: Any) -> Any:
    """The larger; NaN if either is."""
    return x if (x > a) or (x != x) else a


@device
def lesser(x: Any, a: Any) -> Any:
    """The smaller; NaN if either is."""
    return x if (x < a) or (x != x) else a


NAMESPACE = {
    "load_half": load_half, "store_half": store_half, "load_bfloat16": load_bfloat16,
    "store_bfloat16": store_bfloat16, "greater": greater, "lesser": lesser, "np": np,
}  # fmt: skip
