"""16-bit floating-point arrays in kernels that compute in float32."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import ml_dtypes
import numpy as np

_HALF = (np.dtype(np.float16), np.dtype(ml_dtypes.bfloat16))


def is_half(array: Any) -> bool:
    return isinstance(array, np.ndarray) and array.dtype in _HALF


def in_float32(function: Callable[..., None]) -> Callable[..., None]:
    """A kernel that, given 16-bit floating-point arrays, runs on float32 copies of them."""

    @functools.wraps(function)
    def wrapper(out: Any, *ins: Any, **params: Any) -> None:
        outs = out if isinstance(out, tuple) else (out,)
        if not any(is_half(x) for x in (*outs, *ins)):
            function(out, *ins, **params)
            return
        wide = tuple(np.empty(o.shape, np.float32) if is_half(o) else o for o in outs)
        given = [x.astype(np.float32) if is_half(x) else x for x in ins]
        function(wide if isinstance(out, tuple) else wide[0], *given, **params)
        for o, w in zip(outs, wide, strict=True):
            if o is not w:
                o[...] = w.astype(o.dtype)

    return wrapper


def flat(array: Any) -> Any:
    """The elements in C order as a 1-d array."""
    return np.ascontiguousarray(array).reshape(-1)
