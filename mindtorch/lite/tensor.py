"""Tensors of Lite, and the words for their types and formats."""

from __future__ import annotations

import enum
from typing import Any

import numpy as np

from mindtorch.engine.tensor import Tensor as EngineTensor

__all__ = ["DataType", "Format", "Tensor", "dtype_of", "type_of"]


class DataType(enum.Enum):
    """Element types, numbered as MindSpore Lite's."""

    UNKNOWN = 0
    BOOL = 30
    INT8 = 32
    INT16 = 33
    INT32 = 34
    INT64 = 35
    UINT8 = 37
    UINT16 = 38
    UINT32 = 39
    UINT64 = 40
    FLOAT16 = 42
    FLOAT32 = 43
    FLOAT64 = 44


class Format(enum.Enum):
    """How axes are ordered, numbered as MindSpore Lite's; models have NCHW, of TFLite NHWC."""

    DEFAULT_FORMAT = -1
    NCHW = 0
    NHWC = 1
    NHWC4 = 2
    HWKC = 3
    HWCK = 4
    KCHW = 5


def dtype_of(kind: DataType) -> np.dtype:
    """numpy's type of a :class:`DataType`.

    Raises:
        TypeError: it is none, or UNKNOWN.
    """
    if not isinstance(kind, DataType) or kind is DataType.UNKNOWN:
        raise TypeError(f"dtype must be a known DataType, but got {kind!r}")
    return np.dtype(kind.name.lower())


def type_of(dtype: Any) -> DataType:
    """The :class:`DataType` of numpy's type; UNKNOWN where there is none."""
    return DataType.__members__.get(np.dtype(dtype).name.upper(), DataType.UNKNOWN)


class Tensor:
    """What a model takes and gives.

    Args:
        tensor: an array or tensor whose elements it has; None: zeros of ``shape`` and ``dtype``.
        shape, dtype: of its elements.
        name: of the model's input or output.
        device: "cpu" or "cpu:0".

    Raises:
        TypeError: ``tensor`` is neither, or its type is not known.
        ValueError: another device.
    """

    def __init__(
        self, tensor: Any = None, shape: Any = None, dtype: DataType | None = None, name: str = "",
        device: str | None = None,
    ) -> None:  # fmt: skip
        if device not in (None, "cpu", "cpu:0"):
            raise ValueError(f"device {device!r} is not supported: tensors are on 'cpu'")
        self.name = name
        self.format = Format.NCHW
        if tensor is None:
            made = np.zeros(tuple(shape or ()), dtype_of(dtype or DataType.FLOAT32))
        else:
            if isinstance(tensor, Tensor):
                tensor = tensor.get_data_to_numpy()
            if isinstance(tensor, EngineTensor):
                tensor = tensor.array()
            made = np.asarray(tensor)
            if type_of(made.dtype) is DataType.UNKNOWN:
                raise TypeError(f"tensor must be an array of numbers, but got {type(tensor)}")
            if shape is not None:
                made = made.reshape(tuple(shape))
            if dtype is not None and made.dtype != dtype_of(dtype):
                raise TypeError(f"dtype is {dtype}, but the array is of {made.dtype}")
        self._data = np.array(made, order="C")

    @classmethod
    def sharing(cls, array: np.ndarray) -> Tensor:
        """A tensor whose elements are the array's own, where these lie one after another."""
        made = cls.__new__(cls)
        made.name, made.format, made._data = "", Format.NCHW, np.asarray(array, order="C")
        return made

    def copied(self) -> Tensor:
        """A tensor of this name and format with elements of its own."""
        made = Tensor(self)
        made.name, made.format = self.name, self.format
        return made

    @property
    def dtype(self) -> DataType:
        return type_of(self._data.dtype)

    @dtype.setter
    def dtype(self, dtype: DataType) -> None:
        """Zeros of another type, as the C++ runtime forgets the elements then."""
        self._data = np.zeros(self._data.shape, dtype_of(dtype))

    @property
    def device(self) -> str:
        """Where the elements are: "" of those that the host has."""
        return ""

    @property
    def shape(self) -> list[int]:
        return list(self._data.shape)

    @shape.setter
    def shape(self, shape: Any) -> None:
        """Zeros of another shape, as the C++ runtime forgets the elements then."""
        self._data = np.zeros(tuple(shape), self._data.dtype)

    @property
    def element_num(self) -> int:
        return int(self._data.size)

    @property
    def data_size(self) -> int:
        """In bytes."""
        return int(self._data.nbytes)

    def get_data_to_numpy(self) -> np.ndarray:
        """A copy of the elements."""
        return self._data.copy()

    def set_data_from_numpy(self, numpy_obj: np.ndarray) -> None:
        """Take the elements of an array of the same type and number of bytes.

        Raises:
            TypeError: it is no array.
            RuntimeError: it has another type, shape or size.
        """
        if not isinstance(numpy_obj, np.ndarray):
            raise TypeError(f"numpy_obj must be numpy.ndarray, but got {type(numpy_obj)}.")
        if numpy_obj.dtype != self._data.dtype:
            raise RuntimeError(
                f"data type not equal! Numpy type: {numpy_obj.dtype}, Tensor type: {self.dtype}"
            )
        if numpy_obj.nbytes != self._data.nbytes:
            raise RuntimeError(
                f"data size not equal! Numpy size: {numpy_obj.nbytes}, Tensor size: "
                f"{self.data_size}"
            )
        self._data = np.array(numpy_obj, order="C").reshape(self._data.shape)

    def __repr__(self) -> str:
        return (
            f"Tensor(name={self.name!r}, dtype={self.dtype}, shape={self.shape}, "
            f"format={self.format})"
        )
