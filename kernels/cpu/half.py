"""16-bit floating-point arrays of the host in kernels that compute in float32."""

from __future__ import annotations

from typing import Any

import numpy as np

from mindtorch.kernels.half import through_float32
from mindtorch.kernels.typed_scalar import SHORT_FLOATS

from .copies import ordered


def is_half(array: Any) -> bool:
    return isinstance(array, np.ndarray) and array.dtype in SHORT_FLOATS


def _narrow(out: Any, wide: Any) -> None:
    out[...] = wide.astype(out.dtype)


in_float32 = through_float32(is_half, np.empty, lambda x: x.astype(np.float32), _narrow)


def flat(array: Any) -> Any:
    """The elements in C order as a 1-d array."""
    return ordered(array).reshape(-1)


def optional(array: Any, dtype: Any) -> Any:
    """An array's elements in one row, as ``dtype``; an empty array for None."""
    if array is None:
        return np.empty(0, dtype)
    return ordered(array, dtype).reshape(-1)
