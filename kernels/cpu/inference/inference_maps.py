"""Steps that apply a scalar function to every number, each a kernel of its own."""

from __future__ import annotations

import functools
from typing import Any

import numpy as np
from numba import carray

from mindtorch.kernels.codegen.jit import entry_point, kernel
from mindtorch.kernels.codegen.typed_scalar import for_type

from ..elementwise import typed_scalar
from ..multi_tensor_update import pointer32
from .inference_loops import pointer8, rounded

__all__ = ["mapping"]

_FLOAT = np.dtype(np.float32)
_TOGETHER = 256


@functools.cache
def _mapping(function: str) -> Any:
    scalar = typed_scalar(for_type(function, _FLOAT), _FLOAT)

    @kernel(noalias=True)
    def line(out: Any, x: Any) -> None:
        for i in range(out.size):
            out[i] = scalar(x[i])

    @kernel
    def apply(row: Any, numbers: Any, bases: Any, part: int, parts: int) -> None:
        """Elements of the ``part``-th of ``parts`` equal parts, as floats and as bytes."""
        first, last = row[1] * part // parts, row[1] * (part + 1) // parts
        x = bases[row[2]] + row[3]
        out = bases[row[17]] + row[18] if row[17] >= 0 else 0
        as_bytes = bases[row[20]] + row[21] if row[20] >= 0 else 0
        held = np.empty(_TOGETHER, np.float32)
        for at in range(first, last, _TOGETHER):
            count = min(_TOGETHER, last - at)
            target = carray(pointer32(out + at * 4), count) if out else held[:count]
            line(target, carray(pointer32(x + at * 4), count))
            if as_bytes:
                made = carray(pointer8(as_bytes + at), count)
                for i in range(count):
                    made[i] = rounded(target[i], numbers[2], numbers[3])

    return apply


@functools.cache
def mapping(function: str) -> Any:
    """The compiled ``apply(row, numbers, bases, part, parts)`` of a scalar function's name."""
    signature = "void(int64[::1], float32[::1], int64[::1], int64, int64)"
    return entry_point(_mapping(function), signature)
