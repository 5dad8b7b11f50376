"""16-bit floating-point arrays of the device in kernels that compute in float32."""

from __future__ import annotations

from typing import Any

import numpy as np

from mindtorch.kernels.codegen.half_precision import through_float32
from mindtorch.kernels.codegen.typed_scalar import SHORT_FLOATS

from . import arrays


def is_half(array: Any) -> bool:
    return isinstance(array, arrays.Array) and array.dtype in SHORT_FLOATS


in_float32 = through_float32(
    is_half, lambda x: arrays.empty(x.shape, np.float32), lambda x: arrays.cast(x, np.float32),
    arrays.assign,
)


def flat(array: Any) -> Any:
    """The elements in C order as a flat device array."""
    whole = arrays.dense(array)
    return whole.flat[: whole.size]


def optional(array: Any, dtype: Any) -> Any:
    """The elements of an array of ``dtype``; one zero for None."""
    if array is None:
        return arrays.zeros((1,), dtype).flat
    return flat(arrays.cast(array, dtype))
