"""Functions of several steps that round half-precision numbers once, at their end."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from mindtorch.engine import dtypes
from mindtorch.engine.tensor import Tensor as EngineTensor

__all__ = ["in_float32"]

_HALF = (dtypes.float16, dtypes.bfloat16)


def _widened(value: Any) -> Any:
    half = isinstance(value, EngineTensor) and value.aval.dtype in _HALF
    return value.float() if half else value


def in_float32(body: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Any:
    """``body`` computed in float32 where all floating tensors are of one half type."""
    found = {
        x.aval.dtype
        for x in (*args, *kwargs.values())
        if isinstance(x, EngineTensor) and x.aval.dtype.category == dtypes.FLOAT
    }
    if len(found) != 1 or not found <= {*_HALF}:
        return body(*args, **kwargs)
    result = body(*map(_widened, args), **{k: _widened(v) for k, v in kwargs.items()})
    return result.to(found.pop())
