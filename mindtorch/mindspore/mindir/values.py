"""Python's values and arrays from the messages of MindIR, and back."""

from __future__ import annotations

import math
import os
from collections.abc import Callable
from typing import Any

import ml_dtypes
import numpy as np

from .errors import MindIRError, UnsupportedPrimitiveError
from .schema import AttributeType as Kind
from .schema import DataType

__all__ = [
    "MONAD", "Beside", "array_of", "data_type", "name_tensor", "numpy_type", "put_value",
    "shape_of", "value_of",
]  # fmt: skip

_ELEMENTS = {
    DataType.FLOAT: np.float32, DataType.UINT8: np.uint8, DataType.INT8: np.int8,
    DataType.UINT16: np.uint16, DataType.INT16: np.int16, DataType.INT32: np.int32,
    DataType.INT64: np.int64, DataType.BOOL: np.bool_, DataType.FLOAT16: np.float16,
    DataType.DOUBLE: np.float64, DataType.UINT32: np.uint32, DataType.UINT64: np.uint64,
    DataType.COMPLEX64: np.complex64, DataType.COMPLEX128: np.complex128,
    DataType.BFLOAT16: ml_dtypes.bfloat16, DataType.FLOAT64: np.float64,
}  # fmt: skip
_NUMBERS = {
    np.dtype(kind): number for number, kind in _ELEMENTS.items() if number != DataType.FLOAT64
}
_WHOLE = (Kind.UINT8, Kind.INT8, Kind.UINT16, Kind.INT16, Kind.INT32, Kind.INT64, Kind.UINT32,
          Kind.UINT64)  # fmt: skip


class _Monad:
    """What orders calls with side effects in MindSpore's graphs; it has no content."""

    def __repr__(self) -> str:
        return "MONAD"


MONAD = _Monad()


def data_type(dtype: Any) -> int:
    """MindIR's number of an element type of numpy's."""
    found = _NUMBERS.get(np.dtype(dtype))
    if found is None:
        raise UnsupportedPrimitiveError(f"tensors of {np.dtype(dtype)} are not written to MindIR")
    return found


def numpy_type(number: int) -> np.dtype:
    """numpy's element type of MindIR's number."""
    found = _ELEMENTS.get(number)
    if found is None:
        raise MindIRError(f"the element type {number} of MindIR is not read")
    return np.dtype(found)


def shape_of(proto: Any) -> tuple[int, ...]:
    """The lengths of a tensor's axes."""
    return tuple(proto.dims)


class Beside:
    """Files with parameters beside a model, each read once.

    Args:
        folder: where they are; nothing outside of it is read.
        opened: what makes the content of a file's bytes: decrypts them.
    """

    def __init__(self, folder: str, opened: Callable[[bytes], bytes]) -> None:
        self._folder, self._opened = folder, opened
        self._contents: dict[str, bytes] = {}

    def content(self, location: Any, owner: str) -> bytes:
        """The content of a file, which the parameter ``owner`` names.

        Raises:
            MindIRError: it is not there, or outside of the folder.
        """
        if not isinstance(location, str) or "\0" in location:
            raise MindIRError(f"{owner!r} names the file {location!r}")
        folder = os.path.realpath(self._folder)
        path = os.path.realpath(os.path.join(folder, location))
        if not path.startswith(os.path.join(folder, "")):
            raise MindIRError(f"{owner!r} names {location!r}, outside of the model's folder")
        if path not in self._contents:
            try:
                with open(path, "rb") as file:
                    self._contents[path] = self._opened(file.read())
            except OSError as error:
                raise MindIRError(
                    f"the parameters in {location!r} cannot be read: {error}"
                ) from None
        return self._contents[path]


def array_of(proto: Any, beside: Beside | None) -> np.ndarray:
    """The elements of a tensor.

    Args:
        beside: the files that it may lie in; None if there can be none.

    Raises:
        MindIRError: there are more or fewer bytes than the shape says, or an unknown type.
    """
    dtype = _ELEMENTS.get(proto.data_type)
    if dtype is None:
        raise MindIRError(f"{proto.name!r} has elements of the unknown type {proto.data_type}")
    if proto.compression_type:
        raise MindIRError(f"{proto.name!r} is compressed, which only MindSpore Lite reads")
    shape = shape_of(proto)
    if any(n < 0 for n in shape):
        raise MindIRError(f"{proto.name!r} has the shape {list(shape)}")
    given = _bytes_of(proto, beside)
    expected = math.prod(shape) * np.dtype(dtype).itemsize
    if len(given) != expected:
        raise MindIRError(
            f"{proto.name!r} of shape {list(shape)} needs {expected} bytes, and the file has "
            f"{len(given)}"
        )
    return np.frombuffer(given, np.uint8).copy().view(dtype).reshape(shape)


def _bytes_of(proto: Any, beside: Beside | None) -> bytes:
    if proto.HasField("external_data") and proto.external_data.location:
        return _from_file(proto, beside)
    for field, dtype in (("float_data", np.float32), ("double_data", np.float64),
                         ("int32_data", np.int32), ("int64_data", np.int64)):  # fmt: skip
        numbers = getattr(proto, field)
        if numbers:
            wanted = np.dtype(_ELEMENTS[proto.data_type])
            return np.array(numbers, dtype).astype(wanted).tobytes()
    return bytes(proto.raw_data)


def _from_file(proto: Any, beside: Beside | None) -> bytes:
    """The bytes that a tensor has in a file beside the model."""
    place = proto.external_data
    if beside is None:
        raise MindIRError(f"the constant {proto.name!r} is in a file: {place.location!r}")
    content = beside.content(place.location, proto.name)
    if place.offset < 0 or place.length < 0 or place.offset + place.length > len(content):
        raise MindIRError(
            f"{proto.name!r} lies at {place.offset} + {place.length} of {place.location!r}, which "
            f"has {len(content)} bytes"
        )
    return content[place.offset : place.offset + place.length]


def value_of(proto: Any) -> Any:
    """What an attribute holds: a number, a text, a tuple of such, an array, None or `MONAD`."""
    kind = proto.type
    if kind in (Kind.TUPLE, Kind.LIST):
        return tuple(value_of(each) for each in proto.values)
    if kind == Kind.DICT:
        return {each.name: value_of(each) for each in proto.values}
    if kind in (Kind.TENSOR, Kind.TENSORS):
        tensors = [proto.t] if proto.HasField("t") else proto.tensors
        found = tuple(array_of(each, None) for each in tensors)
        return found[0] if len(found) == 1 else found
    if kind in (Kind.UMONAD, Kind.IOMONAD):
        return MONAD
    if kind in (Kind.NONE, Kind.TYPE_NULL):
        return None
    if kind == Kind.STRING:
        return (proto.strings[0] if proto.strings else proto.s).decode("utf-8", "replace")
    if kind == Kind.BOOL:
        return bool(proto.ints[0] if proto.ints else proto.i)
    if kind in _WHOLE:
        return int(proto.ints[0] if proto.ints else proto.i)
    if kind in (Kind.FLOAT, Kind.FLOAT16):
        return float(proto.floats[0] if proto.floats else proto.f)
    if kind == Kind.DOUBLE:
        return float(proto.doubles[0] if proto.doubles else proto.d)
    raise MindIRError(f"the attribute {proto.name!r} is of the unknown kind {kind}")


def put_value(proto: Any, value: Any, within: bool = False) -> None:
    """Write a value into an attribute.

    Args:
        within: whether it is an element of a tuple, where numbers stand in the rows.
    """
    if isinstance(value, (tuple, list)):
        proto.type = Kind.TUPLE if isinstance(value, tuple) else Kind.LIST
        for each in value:
            put_value(proto.values.add(), each, True)
        return
    if isinstance(value, np.ndarray):
        proto.type = Kind.TENSOR
        put_tensor(proto.t, value)
        return
    for of, kind, row, single in (
        (bool, Kind.BOOL, "ints", "i"), (int, Kind.INT64, "ints", "i"),
        (float, Kind.FLOAT, "floats", "f"), (str, Kind.STRING, "strings", "s"),
    ):  # fmt: skip
        if isinstance(value, of):
            proto.type = kind
            content: Any = value.encode() if isinstance(value, str) else value
            content = int(content) if isinstance(value, bool) else content
            getattr(proto, row).append(content) if within else setattr(proto, single, content)
            return
    raise TypeError(f"{type(value)} is no attribute of a primitive")


def put_tensor(proto: Any, array: np.ndarray) -> None:
    """Write the elements of an array into a tensor."""
    name_tensor(proto, array.shape, array.dtype)
    proto.raw_data = np.ascontiguousarray(array).tobytes()


def name_tensor(proto: Any, shape: Any, dtype: Any) -> None:
    """Write a shape and an element type into a tensor."""
    proto.dims.extend(int(n) for n in shape)
    proto.data_type = data_type(dtype)
