"""16-bit floating-point arrays of the host in kernels that compute in float32."""

from __future__ import annotations

import functools
from typing import Any

import numpy as np

from mindtorch.kernels.codegen.half_precision import through_float32
from mindtorch.kernels.codegen.typed_scalar import SHORT_FLOATS

from . import elementwise
from .strided_copy import ordered

__all__ = ["SHORT_FLOATS", "flat", "in_float32", "is_half", "narrow", "optional", "widened"]


def is_half(array: Any) -> bool:
    return isinstance(array, np.ndarray) and array.dtype in SHORT_FLOATS


_FEWEST = 1024  # elements that are worth a compiled loop


@functools.cache
def _cast(to: np.dtype[Any], kind: np.dtype[Any]) -> Any:
    """``run(out, x)`` on flat arrays of any length."""
    row = [elementwise.Operand((_FEWEST,), (1,), dtype) for dtype in (to, kind)]
    return elementwise.copy.plan((row[0],), (row[1],))


def narrow(out: Any, wide: Any) -> None:
    """``out[...] = wide``, rounded."""
    if out.size < _FEWEST or not (out.flags.c_contiguous and wide.flags.c_contiguous):
        out[...] = wide.astype(out.dtype)
    else:
        _cast(out.dtype, wide.dtype)(out.reshape(-1), wide.reshape(-1))


def widened(x: Any) -> Any:
    """16-bit numbers as float32, in C order."""
    if x.size < _FEWEST:
        return x.astype(np.float32)
    out = np.empty(x.shape, np.float32)
    _cast(out.dtype, x.dtype)(out.reshape(-1), flat(x))
    return out


def _like(x: Any) -> Any:
    return np.empty_like(x, np.float32)


in_float32 = through_float32(is_half, _like, widened, narrow)


def flat(array: Any) -> Any:
    """The elements in C order as a 1-d array."""
    return ordered(array).reshape(-1)


def optional(array: Any, dtype: Any) -> Any:
    """An array's elements in one row, as ``dtype``; an empty array for None."""
    if array is None:
        return np.empty(0, dtype)
    return ordered(array, dtype).reshape(-1)
