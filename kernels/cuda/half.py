"""16-bit floating-point arrays in kernels that compute in float32."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import ml_dtypes
import numpy as np

from . import arrays

_HALF = (np.dtype(np.float16), np.dtype(ml_dtypes.bfloat16))


def is_half(array: Any) -> bool:
    return isinstance(array, arrays.Array) and array.dtype in _HALF


def in_float32(function: Callable[..., None]) -> Callable[..., None]:
    """A kernel that, given 16-bit floating-point arrays, runs on float32 copies of them."""

    @functools.wraps(function)
    def wrapper(out: Any, *ins: Any, **params: Any) -> None:
        outs = out if isinstance(out, tuple) else (out,)
        if not any(is_half(x) for x in (*outs, *ins)):
            function(out, *ins, **params)
            return
        wide = tuple(arrays.empty(o.shape, np.float32) if is_half(o) else o for o in outs)
        given = [arrays.cast(x, np.float32) if is_half(x) else x for x in ins]
        function(wide if isinstance(out, tuple) else wide[0], *given, **params)
        for o, w in zip(outs, wide, strict=True):
            if o is not w:
                arrays.assign(o, w)

    return wrapper


def flat(array: Any) -> Any:
    """The elements in C order as a flat device array."""
    whole = arrays.dense(array)
    return whole.flat[: whole.size]


def optional(array: Any, dtype: Any) -> Any:
    """The elements of an array of ``dtype``; one zero for None."""
    if array is None:
        return arrays.zeros((1,), dtype).flat
    return flat(arrays.cast(array, dtype))
