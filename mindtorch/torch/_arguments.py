"""Arguments as torch takes them, made into what the engine takes."""

from __future__ import annotations

import operator
from typing import Any

from mindtorch.engine import dtypes
from mindtorch.engine.device import Device, cpu
from mindtorch.engine.dtypes import DType
from mindtorch.engine.ops.families import normalize_axes, normalize_axis
from mindtorch.engine.tensor import Tensor as EngineTensor

__all__ = [
    "as_device", "as_dtype", "as_int", "as_shape", "infer_shape", "normalize_axes",
    "normalize_axis", "require_tensor",
]  # fmt: skip


def as_int(value: Any) -> int:
    """A Python int from an int, a numpy int or a 0-d integer tensor."""
    return operator.index(value)


def as_shape(sizes: Any, function: str = "size") -> tuple[int, ...]:
    """The shape meant by ``f(2, 3)``, ``f((2, 3))`` or ``f([2, 3])``; ``sizes`` is f's
    ``*args``."""
    if len(sizes) == 1 and not isinstance(sizes[0], int):
        only = sizes[0]
        if isinstance(only, (tuple, list)):
            sizes = only
        elif hasattr(only, "__iter__") and not isinstance(only, EngineTensor):
            sizes = tuple(only)
    try:
        return tuple([operator.index(n) for n in sizes])
    except TypeError:
        wrong = next((n for n in sizes if not hasattr(n, "__index__")), sizes)
        raise TypeError(
            f"{function}(): argument 'size' must be tuple of ints, but found element of type "
            f"{type(wrong).__name__}"
        ) from None


def infer_shape(shape: tuple[int, ...], size: int) -> tuple[int, ...]:
    """``shape`` with its -1 replaced so that it holds ``size`` elements."""
    known = 1
    unknown = -1
    for i, n in enumerate(shape):
        if n == -1:
            if unknown >= 0:
                raise RuntimeError("only one dimension can be inferred")
            unknown = i
        elif n < 0:
            raise RuntimeError(
                f"invalid shape dimension {n} at index {i} of shape {list(shape)}"
            )
        else:
            known *= n
    if unknown >= 0 and known > 0 and size % known == 0:
        return (*shape[:unknown], size // known, *shape[unknown + 1 :])
    if unknown >= 0 and known == 0 and size == 0:
        raise RuntimeError(
            f"cannot reshape tensor of 0 elements into shape {list(shape)} because the "
            "unspecified dimension size -1 can be any value and is ambiguous"
        )
    if unknown >= 0 or known != size:
        raise RuntimeError(f"shape '{list(shape)}' is invalid for input of size {size}")
    return shape


def as_device(device: Any) -> Device:
    """A device from None, a string, an index or a device."""
    if device is None:
        from ._defaults import default_device

        return default_device()
    found = device if isinstance(device, Device) else Device(device)
    if found.type == "cpu":
        return cpu
    if found.type == "cuda":
        from .cuda import require_cuda

        require_cuda()
    return found


def as_dtype(dtype: Any) -> DType:
    """An element type; Python's float, int and bool stand for torch's."""
    if isinstance(dtype, DType):
        return dtype
    if dtype in (float, int, bool, complex):
        return {
            float: dtypes.float64,
            int: dtypes.int64,
            bool: dtypes.bool_,
            complex: dtypes.complex128,
        }[dtype]
    raise TypeError(f"dtype must be torch.dtype, not {type(dtype).__name__}")


def require_tensor(value: Any, function: str, argument: str, position: int) -> None:
    if not isinstance(value, EngineTensor):
        raise TypeError(
            f"{function}(): argument '{argument}' (position {position}) must be Tensor, not "
            f"{type(value).__name__}"
        )
