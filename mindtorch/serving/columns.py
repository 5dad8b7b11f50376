"""The values of one input or output for all instances of a batch, as bytes.

The front process joins and splits these without looking at an element; a worker makes arrays of
them.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from typing import Any, TypeAlias

import numpy as np

from .errors import INVALID, ServingError

__all__ = [
    "ITEM_SIZES", "MAX_INSTANCES", "TEXT_TYPES", "Block", "Column", "column_of_rows", "join",
    "rows_of",
]  # fmt: skip

# what both protocols can carry, by numpy's name
ITEM_SIZES = {name: np.dtype(name).itemsize for name in (
    "bool", "int8", "uint8", "int16", "uint16", "int32", "uint32", "int64", "uint64",
    "float16", "float32", "float64",
)}  # fmt: skip
TEXT_TYPES = ("str", "bytes")
MAX_INSTANCES = 65536  # of a request, and of a batch
_NAMES = {np.dtype(name): name for name in ITEM_SIZES}

Buffer: TypeAlias = "bytes | bytearray | memoryview"


class Block:
    """Rows of one type and one shape, one after another.

    Args:
        data: their bytes; an array (rows, bytes of a row) of those that do not lie together.

    Attributes:
        dtype: numpy's name of the type; "str" or "bytes" for texts.
        shape: of one row; texts have `()`.
        rows: how many there are.
        lengths: of the texts; empty for numbers.
    """

    __slots__ = ("_data", "dtype", "lengths", "rows", "shape")

    def __init__(
        self, dtype: str, shape: tuple[int, ...], rows: int, data: Buffer | np.ndarray[Any, Any],
        lengths: list[int] | None = None,
    ) -> None:  # fmt: skip
        self.dtype = dtype
        self.shape = shape
        self.rows = rows
        self.lengths = [] if lengths is None else lengths
        self._data: Any = data

    @property
    def data(self) -> Buffer:
        """The bytes of all rows."""
        if isinstance(self._data, np.ndarray):
            self._data = np.ascontiguousarray(self._data).reshape(-1).data
        held: Buffer = self._data
        return held

    @property
    def size(self) -> int:
        """How many bytes there are."""
        held = self._data
        return held.size if isinstance(held, np.ndarray) else len(held)

    def write(self, memory: memoryview) -> None:
        """Copy the bytes to memory of their size."""
        if isinstance(self._data, np.ndarray):
            np.frombuffer(memory, np.uint8).reshape(self._data.shape)[:] = self._data
        else:
            memory[:] = self._data

    def part(self, first: int, last: int) -> Block:
        """The rows from `first` to before `last`."""
        if first == 0 and last == self.rows:
            return self
        if self.dtype in TEXT_TYPES:
            starts = [0]
            for length in self.lengths:
                starts.append(starts[-1] + length)
            data = memoryview(self.data)[starts[first] : starts[last]]
            return Block(self.dtype, (), last - first, data, self.lengths[first:last])
        if isinstance(self._data, np.ndarray):
            return Block(self.dtype, self.shape, last - first, self._data[first:last])
        size = row_size(self.dtype, self.shape)
        data = memoryview(self.data)[first * size : last * size]
        return Block(self.dtype, self.shape, last - first, data)

    def copy(self) -> Block:
        """The same rows in memory of their own."""
        return Block(self.dtype, self.shape, self.rows, bytearray(self.data), self.lengths)


Column: TypeAlias = list[Block]


def row_size(dtype: str, shape: Sequence[int]) -> int:
    """The bytes of one row."""
    return ITEM_SIZES[dtype] * math.prod(shape)


def checked_block(
    dtype: str, shape: Sequence[int], rows: int, data: Buffer, name: str = "tensor"
) -> Block:
    """A block of numbers whose bytes are as many as its shape says.

    Args:
        dtype: numpy's name of the type.
        shape: of one row.
        rows: how many rows there are.
        data: their bytes.
        name: what errors call it.

    Raises:
        ServingError: a negative size, or another number of bytes.
    """
    if any(size < 0 for size in shape):
        raise ServingError(INVALID, f"{name}: the shape {list(shape)} has a negative size")
    wanted = rows * row_size(dtype, shape)
    if len(data) != wanted:
        raise ServingError(
            INVALID,
            f"{name}: {len(data)} bytes do not match the shape {list(shape)} of {dtype}, "
            f"which has {wanted}",
        )
    return Block(dtype, tuple(shape), rows, data)


def count(column: Column) -> int:
    """The rows of a column."""
    return sum(block.rows for block in column)


def part(column: Column, first: int, last: int) -> Column:
    """The rows of a column from `first` to before `last`."""
    if len(column) == 1:
        return [column[0].part(first, last)]
    found, start = [], 0
    for block in column:
        end = start + block.rows
        if end > first and start < last:
            found.append(block.part(max(first - start, 0), min(last - start, block.rows)))
        start = end
    return found


def join(columns: Iterable[Column]) -> Column:
    """One column after another; neighbours of one form become one block."""
    runs: list[list[Block]] = []
    for column in columns:
        for block in column:
            last = runs[-1][0] if runs else None
            if last is not None and (last.dtype, last.shape) == (block.dtype, block.shape):
                runs[-1].append(block)
            else:
                runs.append([block])
    return [run[0] if len(run) == 1 else _one_block(run) for run in runs]


def _one_block(run: list[Block]) -> Block:
    lengths: list[int] = []
    for block in run:
        lengths += block.lengths
    data = b"".join(block.data for block in run)
    return Block(run[0].dtype, run[0].shape, sum(block.rows for block in run), data, lengths)


def rows_of(column: Column) -> Any:
    """What a worker computes with: an array (rows, ...) where all rows are numbers of one form,
    else a list of arrays, texts and bytes."""
    if len(column) == 1 and column[0].dtype not in TEXT_TYPES:
        return _array(column[0])
    values: list[Any] = []
    for block in column:
        if block.dtype in TEXT_TYPES:
            values += _texts(block)
        else:
            values += list(_array(block))
    return values


def _array(block: Block) -> np.ndarray[Any, Any]:
    array = np.frombuffer(block.data, block.dtype).reshape(block.rows, *block.shape)
    return array if array.flags.aligned else array.copy()


def _texts(block: Block) -> list[Any]:
    data, start, found = bytes(block.data), 0, []
    for length in block.lengths:
        text = data[start : start + length]
        found.append(text.decode() if block.dtype == "str" else text)
        start += length
    return found


def column_of_rows(values: Any, name: str) -> Column:
    """The column of what a stage gave: an array (rows, ...), or a list with one value for each row.

    Args:
        values: the array, or the list of arrays, numbers, texts and bytes.
        name: what errors call it.

    Raises:
        TypeError: of a type that no protocol can carry.
    """
    if isinstance(values, np.ndarray):
        return [_block_of_array(values, name)]
    return join([[_block_of_value(value, name)] for value in values])


def _block_of_array(array: np.ndarray[Any, Any], name: str) -> Block:
    dtype = _NAMES.get(array.dtype)  # numpy computes a type's name at each look
    if dtype is None:
        raise TypeError(f"{name}: values of type {array.dtype} cannot be sent")
    data = np.ascontiguousarray(array).reshape(-1).view(np.uint8).data if array.size else b""
    return Block(dtype, array.shape[1:], len(array), data)


def _block_of_value(value: Any, name: str) -> Block:
    if isinstance(value, str):
        data = value.encode()
        return Block("str", (), 1, data, [len(data)])
    if isinstance(value, bytes):
        return Block("bytes", (), 1, value, [len(value)])
    array = np.asarray(value.asnumpy() if hasattr(value, "asnumpy") else value)
    return _block_of_array(array[None], name)
