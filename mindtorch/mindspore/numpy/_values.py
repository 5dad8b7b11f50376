"""What numpy's functions take in MindSpore: tensors, numbers, nested lists; types by any name."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from mindtorch import torch
from mindtorch.engine import dtypes
from mindtorch.engine.dtypes import DType
from mindtorch.engine.tensor import Tensor as EngineTensor

from ..common.tensor import adopting

BOOL = dtypes.bool_
_NARROW = {np.dtype(np.int64): torch.int32, np.dtype(np.float64): torch.float32}


def public(function: Callable[..., Any]) -> Callable[..., Any]:
    """A function written with torch's tensors, for MindSpore's."""
    return adopting(function)


def type_of(dtype: Any) -> Any:
    """A type from MindSpore's, its name, or Python's; None stays None."""
    if dtype is None or isinstance(dtype, DType):
        return dtype
    if dtype is float:
        return torch.float32
    if dtype is int:
        return torch.int32
    found = getattr(torch, np.dtype(dtype).name, None)
    if not isinstance(found, DType):
        raise TypeError(f"only Tensor types are allowed for dtype, but got {dtype!r}")
    return found


def tensor_of(value: Any, dtype: Any = None) -> Any:
    """``value`` as a tensor; Python's whole numbers are int32, its fractions float32."""
    wanted = type_of(dtype)
    if isinstance(value, EngineTensor):
        return value if wanted is None else value.to(wanted)
    if isinstance(value, np.ndarray):
        made = torch.from_numpy(np.ascontiguousarray(value)).reshape(value.shape)
        return made if wanted is None else made.to(wanted)
    if isinstance(value, (list, tuple)) and any(isinstance(v, EngineTensor) for v in value):
        made = torch.stack([tensor_of(v) for v in value])
        return made if wanted is None else made.to(wanted)
    if not isinstance(value, (bool, int, float, complex, list, tuple, np.generic)):
        raise TypeError(
            "input data must be `int`, `float`, `bool`, `Tensor`, `list`, `tuple`, but got "
            f"{type(value)}"
        )
    array = np.array(value)
    if array.dtype == object:
        raise ValueError(f"rows of {value!r} have different lengths")
    return torch.tensor(array.tolist(), dtype=wanted or _NARROW.get(array.dtype)).reshape(
        array.shape
    )


def floating(value: Any) -> Any:
    """``value`` as a tensor; whole numbers and bools become float32."""
    tensor = tensor_of(value)
    whole = not (tensor.is_floating_point() or tensor.is_complex())
    return tensor.float() if whole else tensor


def axes_of(axis: Any) -> Any:
    return tuple(axis) if isinstance(axis, list) else axis
