"""Arguments as torch takes them, made into what the engine takes."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from mindtorch.engine import dtypes
from mindtorch.engine.devices import cuda
from mindtorch.engine.devices.device import Device, cpu
from mindtorch.engine.dispatch import state
from mindtorch.engine.dtypes import DType
from mindtorch.engine.ops.base import normalize_axes, normalize_axis
from mindtorch.engine.symbolic_sizes import Count, as_index
from mindtorch.engine.tensor import Tensor as EngineTensor

from .cuda_devices import current_index, require_cuda
from .invalid_arguments import type_name
from .other_devices import missing_device
from .signatures import is_number

__all__ = [
    "as_device", "as_dtype", "as_int", "as_shape", "check_form", "check_value", "infer_shape",
    "normalize_axes", "normalize_axis", "number_of", "refuse_other_device", "require_power",
    "require_tensor", "require_tensors",
]  # fmt: skip


def as_int(value: Any) -> int:
    """A Python int from an int, a numpy int or a 0-d integer tensor."""
    return as_index(value)


def number_of(value: Any) -> Any:
    """A number, of a tensor that may stand for one its element.

    Raises:
        TypeError: the tensor has axes or requires gradients; callers' wrappers have torch's text.
    """
    if isinstance(value, EngineTensor):
        if not is_number(value):
            raise TypeError("must be Number, not Tensor")
        return value.item()
    return value


def as_shape(sizes: Any, function: str = "size", argument: str = "size") -> tuple[int, ...]:
    """The shape meant by ``f(2, 3)``, ``f((2, 3))`` or ``f([2, 3])``; ``sizes`` is f's
    ``*args``."""
    if not sizes:
        raise TypeError(f'{function}() missing 1 required positional arguments: "{argument}"')
    alone = len(sizes) == 1 and not isinstance(sizes[0], int)
    if alone:
        only = sizes[0]
        if isinstance(only, (tuple, list)):
            sizes, alone = only, False
        elif hasattr(only, "__iter__") and not isinstance(only, (EngineTensor, str, dict)):
            sizes, alone = tuple(only), False
    if sizes and sizes[0].__class__ is bool:
        raise TypeError(_wrong_size(sizes, len(sizes) == 1, f"{function}(): argument '{argument}'"))
    try:
        return tuple([as_index(n) for n in sizes])
    except TypeError:
        raise TypeError(_wrong_size(sizes, alone, f"{function}(): argument '{argument}'")) from None


def check_sizes(shape: Sequence[int]) -> None:
    """torch's error for a shape with a negative size."""
    for n in shape:
        if n < 0:
            raise RuntimeError(
                f"Trying to create tensor with negative dimension {n}: {list(shape)}"
            )


def _is_index(value: Any) -> bool:
    try:
        as_index(value)
    except TypeError:
        return False
    return True


def _wrong_size(sizes: Any, alone: bool, start: str) -> str:
    """torch's text about the first of ``sizes`` that is no int; ``alone``: it is all there is."""
    strange = ((i, n) for i, n in enumerate(sizes) if not _is_index(n))
    place, wrong = next(strange, (0, sizes[0]))
    kind = type_name(wrong)
    if alone:
        return f"{start} (position 1) must be tuple of ints, not {kind}"
    if place:
        return (
            f"{start} failed to unpack the object at pos {place + 1} with error \"type must be "
            f'tuple of ints,but got {kind}"'
        )
    return (
        f"{start} (position 1) must be tuple of ints, but found element of type {kind} at pos 0"
    )


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


def as_device(device: Any, copying: bool = False) -> Device:
    """A device from None, a string, an index or a device.

    Args:
        copying: data is to be copied there, of which torch says other errors.
    """
    if device is None:
        if state.device is cpu:
            return cpu
        device = state.device
    if type(device) is int and device < 0:
        raise RuntimeError("Device index must not be negative")
    if type(device) is int and not cuda.device_count():
        raise RuntimeError("Cannot access accelerator device when none is available.")
    found = device if isinstance(device, Device) else Device(device)
    if found.type == "cpu":
        return cpu
    if found.type == "cuda":
        require_cuda(found.index)
        if found.index is None:
            return Device("cuda", current_index())
    elif found.type != "meta":
        raise missing_device(found.type, copying)
    return found


def refuse_other_device(device: Any, own: str = "cpu") -> None:
    """torch's error of constructors that make tensors of the device ``own`` alone."""
    given = own if device is None else Device(device).type
    if given != own:
        raise RuntimeError(
            f"legacy constructor expects device type: {own} but device type: {given} was passed"
        )


def as_dtype(dtype: Any, function: str = "") -> DType:
    """An element type; Python's float, int and bool stand for torch's.

    Raises:
        TypeError: for anything else, with the name of the ``function`` whose argument it is.
    """
    if isinstance(dtype, DType):
        return dtype
    if dtype in (float, int, bool, complex):
        return {
            float: dtypes.float64,
            int: dtypes.int64,
            bool: dtypes.bool_,
            complex: dtypes.complex128,
        }[dtype]
    named = f"{function}(): argument 'dtype'" if function else "dtype"
    raise TypeError(f"{named} must be torch.dtype, not {type_name(dtype)}")


def require_tensor(value: Any, function: str, argument: str, position: int) -> None:
    if not isinstance(value, EngineTensor):
        raise TypeError(
            f"{function}(): argument '{argument}' (position {position}) must be Tensor, not "
            f"{type_name(value)}"
        )


def require_tensors(values: Any, place: int = 0) -> None:
    """torch's error where an element of a list of tensors is none; ``place``: the argument's."""
    for i, x in enumerate(values):
        if not isinstance(x, EngineTensor):
            raise TypeError(
                f"expected Tensor as element {i} in argument {place}, but got {type_name(x)}"
            )


_SIMPLE: set[Any] = {int, float}


def check_value(value: Any, dtype: DType, filling: bool = True) -> None:
    """torch's errors for a number that an element type cannot hold.

    Args:
        filling: as a write of one number has it: what is too large for the 16-bit types becomes
            infinite.

    Raises:
        OverflowError: an int has more than 64 bits.
        RuntimeError: the number is beyond the type's range, or is complex and the type is not.
    """
    if type(value) in _SIMPLE and 0 <= value <= 127:  # which all types hold
        return
    if isinstance(value, (int, np.integer)) and not -(2**63) <= value < 2**64:
        raise OverflowError("int too big to convert")
    if dtype.category == dtypes.BOOL or isinstance(value, (bool, np.bool_)):
        return
    name = _VALUE_NAMES.get(dtype.name) or dtypes.c_name(dtype)
    if isinstance(value, (complex, np.complexfloating)) and not dtype.is_complex:
        fits = not value.imag
        name = "double" if filling and dtype.name in ("float16", "bfloat16") else name
        value = value.real
    else:
        fits = True
    if dtype.category == dtypes.INTEGER:
        limits = np.iinfo(dtype.np)
        # negative whole numbers wrap around
        low = int(limits.min) or (0 if isinstance(value, float) else -int(limits.max))
        fits = fits and (type(value) is Count or math.isfinite(value))
        fits = fits and low <= value <= int(limits.max)
    elif dtype.itemsize > 2 or not filling:
        limit = _LARGEST.get(dtype.name, math.inf)
        parts = (value.real, value.imag) if isinstance(value, complex) else (value,)
        fits = fits and all(not math.isfinite(part) or abs(part) <= limit for part in parts)
    if not fits:
        raise RuntimeError(f"value cannot be converted to type {name} without overflow")


_LARGEST = {
    "float16": 65504.0, "bfloat16": 3.3895313892515355e38, "float32": 3.4028234663852886e38,
    "complex64": 3.4028234663852886e38,
}  # fmt: skip
_VALUE_NAMES = {
    "uint8": "uint8_t", "int8": "int8_t", "int16": "int16_t", "int32": "int", "int64": "int64_t",
    "uint16": "uint16_t", "uint32": "uint32_t", "uint64": "uint64_t",
}  # fmt: skip


def check_form(name: str, fits: bool, given: tuple[Any, ...], *forms: str) -> None:
    """torch's TypeError, which lists the signatures, where arguments fit none of them."""
    if not fits:
        kinds = ", ".join(map(type_name, given))
        lines = "".join(f" * ({form})\n" for form in forms)
        raise TypeError(
            f"{name}() received an invalid combination of arguments - got ({kinds}), but expected "
            f"one of:\n{lines}"
        )


def require_power(base: Any, exponent: int) -> None:
    """torch's error for an int raised to a negative int."""
    if base.aval.dtype.category < dtypes.FLOAT:
        raise RuntimeError("Integers to negative integer powers are not allowed.")
