"""Values of ONNX graphs: tensors, numbers that are known beforehand, and conversions of both.

A number that is known (a constant, or what follows from a size) is an array of numpy's; where sizes
may change it is an array of objects, so that what hangs on them is written down, not computed.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Sequence
from typing import Any

import ml_dtypes
import numpy as np
import onnx

from mindtorch import torch
from mindtorch.engine.tensor import Tensor, from_array

from .errors import ONNXError, UnsupportedOperatorError

__all__ = [
    "array_of",
    "host",
    "host_numbers",
    "is_host",
    "number",
    "numbers",
    "settled",
    "shape_of",
    "tensor",
    "torch_type",
]  # fmt: skip



class Size:
    """A whole number that hangs on sizes, as an element of an array: numpy takes objects that know
    how to become arrays for such, so that it is held by one that does not."""

    __slots__ = ("value",)

    def __init__(self, value: Any) -> None:
        self.value = value

    def __repr__(self) -> str:
        return repr(self.value)

    def __neg__(self) -> Any:
        return Size(-self.value)

    def __bool__(self) -> bool:
        return bool(self.value != 0)

    __hash__ = None  # type: ignore[assignment]


def _plain(value: Any) -> Any:
    """What an element of an array stands for."""
    if isinstance(value, Size):
        return value.value
    return value.item() if isinstance(value, np.generic) else value


def _operators(name: str, function: Callable[[Any, Any], Any], compares: bool = False) -> None:
    def forward(self: Size, other: Any) -> Any:
        made = function(self.value, _plain(other))
        return bool(made) if compares else Size(made)

    def backward(self: Size, other: Any) -> Any:
        return Size(function(_plain(other), self.value))

    setattr(Size, f"__{name}__", forward)
    if not compares:
        setattr(Size, f"__r{name}__", backward)


for _name in ("add", "sub", "mul", "floordiv", "mod"):
    _operators(_name, getattr(operator, _name))
for _name in ("eq", "ne", "lt", "le", "gt", "ge"):
    _operators(_name, getattr(operator, _name), compares=True)

_SUPPORTED = {
    np.dtype(kind) for kind in (
        np.float32, np.float64, np.float16, ml_dtypes.bfloat16, np.int8, np.int16, np.int32,
        np.int64, np.uint8, np.uint16, np.uint32, np.uint64, np.bool_, np.complex64, np.complex128,
    )
}  # fmt: skip


def torch_type(number: int) -> Any:
    """torch's element type by ONNX's number of it."""
    try:
        kind = np.dtype(onnx.helper.tensor_dtype_to_np_dtype(number))
    except (KeyError, ValueError):
        raise ONNXError(f"the element type {number} is unknown") from None
    if kind not in _SUPPORTED:
        name = onnx.TensorProto.DataType.Name(number)
        raise UnsupportedOperatorError(f"tensors of {name} are not supported here")
    return from_array(np.zeros((), kind)).dtype


def array_of(proto: Any, folder: str) -> np.ndarray:
    """The elements of a tensor of the model.

    Raises:
        ONNXError: bytes are missing, or lie in a file outside of ``folder``.
        UnsupportedOperatorError: of a type that there is no tensor of.
    """
    try:
        array = onnx.numpy_helper.to_array(proto, base_dir=folder)
    except (ValueError, TypeError, OSError, RuntimeError, onnx.checker.ValidationError) as error:
        raise ONNXError(f"the tensor {proto.name!r} cannot be read: {error}") from None
    if array.dtype not in _SUPPORTED:
        name = onnx.TensorProto.DataType.Name(proto.data_type)
        raise UnsupportedOperatorError(f"tensors of {name} are not supported here ({proto.name!r})")
    return np.array(array)


def is_host(value: Any) -> bool:
    """Whether a value is known beforehand."""
    return isinstance(value, np.ndarray)


def settled(array: Any) -> np.ndarray:
    """An array of objects that are all plain whole numbers as one of int64."""
    array = np.asarray(array) if not isinstance(array, np.ndarray) else array
    if array.dtype != object:
        return array
    plain = [_plain(each) for each in array.reshape(-1)]
    if any(type(n) is not int for n in plain):
        return array
    return np.array(plain, np.int64).reshape(array.shape)


def host_numbers(values: Sequence[Any]) -> np.ndarray:
    """A row of whole numbers, of which some may hang on sizes."""
    if all(type(n) is int for n in values):
        return np.array(values, np.int64)
    made = np.empty(len(values), object)
    for i, n in enumerate(values):
        made[i] = n if type(n) is int else Size(n)
    return made


def tensor(value: Any) -> Any:
    """A value as a tensor."""
    if isinstance(value, Tensor) or not isinstance(value, np.ndarray):
        return value
    if value.dtype == object:
        parts = [torch.as_tensor(_plain(n), dtype=torch.int64) for n in value.reshape(-1)]
        return torch.stack(parts).reshape(value.shape) if parts else torch.zeros(value.shape)
    return torch.from_numpy(np.array(value, order="C"))


def host(value: Any) -> np.ndarray:
    """The elements of a value as an array."""
    return value if isinstance(value, np.ndarray) else np.asarray(value.detach().cpu().array())


def numbers(value: Any) -> list[Any]:
    """A row of whole numbers (or of fractions) as a list."""
    return [_plain(each) for each in host(value).reshape(-1).tolist()]


def number(value: Any) -> Any:
    """The only element of a value."""
    found = numbers(value)
    if len(found) != 1:
        raise ONNXError(f"a single number is wanted, got {len(found)}")
    return found[0]


def shape_of(value: Any) -> list[Any]:
    """The lengths of the axes of a value."""
    return list(value.shape)
