"""The statistics of a tensor that conditions are about, in one pass over its memory.

Blocks of a few hundred elements stay in the first cache while their least, greatest, sums and
zeros are found, so memory is read once.
"""

from __future__ import annotations

import math
import threading
from typing import Any, NamedTuple

import numpy as np

from mindtorch.kernels.codegen.jit import entry_point, kernel

__all__ = [
    "Statistics", "change_sums", "changed_statistics", "is_close", "share_within", "statistics",
]  # fmt: skip

_BLOCK = 256
_TYPES = {4: (np.int32, np.uint32), 8: (np.int64, np.uint64)}


class Statistics(NamedTuple):
    """Figures of an array; least to squares are of its finite elements.

    Attributes:
        size: the number of all elements.
        nan, positive_infinite, negative_infinite, zero: how many are.
        least, greatest: nan where no element is finite.
        total, sizes, squares: sums of the elements, of their magnitudes, of their squares.
        change, before: sums of |element - element before| and |element before|; nan where the
            array before is not known.
    """

    size: int
    nan: int
    positive_infinite: int
    negative_infinite: int
    zero: int
    least: float
    greatest: float
    total: float
    sizes: float
    squares: float
    change: float = math.nan
    before: float = math.nan

    @property
    def finite(self) -> int:
        return self.size - self.nan - self.positive_infinite - self.negative_infinite

    @property
    def mean(self) -> float:
        return self.total / self.finite if self.finite else math.nan

    @property
    def abs_mean(self) -> float:
        return self.sizes / self.finite if self.finite else math.nan

    @property
    def norm(self) -> float:
        return math.sqrt(self.squares)

    @property
    def deviation(self) -> float:
        """The standard deviation of the finite elements (divided by their number)."""
        if not self.finite:
            return math.nan
        return math.sqrt(max(0.0, self.squares / self.finite - self.mean**2))


@kernel(fastmath={"reassoc", "contract", "nsz", "nnan"})
def _fill(values: Any, signed: Any, row: Any, bits: Any, block: int) -> None:
    """Zeros, sums, least and greatest into `row`; `bits` is for extremes of bits as integers.

    Least and most are of integers without a sign: a negative element has the most.
    """
    total, sizes, squares, zeros = 0.0, 0.0, 0.0, 0.0
    unsigned = signed.view(bits.dtype)
    least, most, positive = unsigned[0], unsigned[0], signed[0]
    for start in range(0, values.size, block):
        chunk = values[start : start + block]
        some, size = values.dtype.type(0), values.dtype.type(0)
        square, none = values.dtype.type(0), values.dtype.type(0)
        for i in range(chunk.size):
            value = chunk[i]
            some += value
            size += abs(value)
            square += value * value
            none += values.dtype.type(1) if value == 0 else values.dtype.type(0)
        own = unsigned[start : start + block]
        for i in range(own.size):
            least = min(least, own[i])
            most = max(most, own[i])
        plain = signed[start : start + block]
        for i in range(plain.size):
            positive = max(positive, plain[i])
        total += some
        sizes += size
        squares += square
        zeros += none
    bits[0], bits[1], bits[2] = least, most, positive
    floats = bits.view(values.dtype)
    sign = np.uint64(1) << np.uint64(bits.itemsize * 8 - 1)
    row[0], row[1], row[2], row[3] = zeros, total, sizes, squares
    row[4] = floats[1] if np.uint64(most) >= sign else floats[0]
    row[5] = floats[2] if positive >= 0 else floats[0]


@kernel(fastmath={"reassoc", "contract", "nsz"})
def _change(values: Any, before: Any, row: Any, block: int) -> None:
    """Sums of |values - before| and |before|."""
    change, size = 0.0, 0.0
    for start in range(0, values.size, block):
        new, old = values[start : start + block], before[start : start + block]
        apart, own = values.dtype.type(0), values.dtype.type(0)
        for i in range(new.size):
            apart += abs(new[i] - old[i])
            own += abs(old[i])
        change += apart
        size += own
    row[0], row[1] = change, size


@kernel
def _all_close(
    values: Any, before: Any, rtol: float, atol: float, equal_nan: bool, block: int
) -> bool:
    for start in range(0, values.size, block):
        new, old = values[start : start + block], before[start : start + block]
        close = 0
        for i in range(new.size):
            near = abs(new[i] - old[i]) <= atol + rtol * abs(old[i])
            both = (new[i] != new[i]) & (old[i] != old[i])
            close += near | (new[i] == old[i]) | (both & equal_nan)
        if close < new.size:
            return False
    return True


@kernel
def _within(values: Any, low: float, high: float) -> int:
    count = 0
    for i in range(values.size):
        count += (values[i] >= low) & (values[i] <= high)
    return count


def _floats(array: np.ndarray) -> np.ndarray:
    """A one-dimensional array of float32 or float64 with an array's (parts of) elements."""
    dtype = array.dtype
    if dtype != np.float32 and dtype != np.float64:
        if dtype.kind == "c":
            array = array.view(array.real.dtype)
        else:
            array = array.astype(np.float32 if dtype.itemsize < 4 else np.float64)
    return array if array.flags.c_contiguous else np.ascontiguousarray(array)


class _Loops:
    """The loops for elements of a size, with memory for what they find.

    They are called without checks of types: all arrays are one-dimensional, without gaps.
    """

    def __init__(self, itemsize: int) -> None:
        bits = 8 * itemsize
        numbers, integers = f"float{bits}[::1]", f"int{bits}[::1]"
        self.signed, unsigned = _TYPES[itemsize]
        self.fill = entry_point(
            _fill, f"void({numbers}, {integers}, float64[::1], uint{bits}[::1], int64)"
        )
        self.close = entry_point(
            _all_close, f"boolean({numbers}, {numbers}, float64, float64, boolean, int64)"
        )
        self.change = entry_point(_change, f"void({numbers}, {numbers}, float64[::1], int64)")
        self.row, self.bits = np.empty(6), np.empty(3, unsigned)


class _Memory(threading.local):
    """The loops of a thread."""

    def __init__(self) -> None:
        self.of: dict[int, _Loops] = {}

    def loops(self, itemsize: int) -> _Loops:
        found = self.of.get(itemsize)
        if found is None:
            found = self.of[itemsize] = _Loops(itemsize)
        return found


_memory = _Memory()


def _of(values: np.ndarray, change: float = math.nan, before: float = math.nan) -> Statistics:
    loops = _memory.loops(values.itemsize)
    loops.fill(values, values.view(loops.signed), loops.row, loops.bits, _BLOCK)
    zero, total, sizes, squares, low, high = loops.row.tolist()
    if not (low > -math.inf and high < math.inf):  # NaN has greater bits than infinity
        return _with_odd(values, change, before)
    if values.itemsize == 4 and not (1e-15 < max(-low, high) < 1e15):
        wide = values.astype(np.float64)  # squares leave the range
        total, sizes, squares = float(wide.sum()), float(abs(wide).sum()), float(wide @ wide)
    return Statistics(
        values.size, 0, 0, 0, int(zero), low, high, total, sizes, squares, change, before
    )


def _with_odd(values: np.ndarray, change: float, before: float) -> Statistics:
    nan = int(np.isnan(values).sum())
    up, down = int(np.isposinf(values).sum()), int(np.isneginf(values).sum())
    finite = values[np.isfinite(values)].astype(np.float64)
    if not finite.size:
        none = math.nan
        return Statistics(
            values.size, nan, up, down, 0, none, none, none, none, none, change, before
        )
    own = _of(finite)
    return own._replace(
        size=values.size, nan=nan, positive_infinite=up, negative_infinite=down,
        change=change, before=before,
    )  # fmt: skip


def statistics(array: np.ndarray) -> Statistics:
    """The statistics of a one-dimensional array, of complex numbers those of their parts."""
    if not array.size:
        return Statistics(0, 0, 0, 0, 0, math.nan, math.nan, 0.0, 0.0, 0.0)
    return _of(_floats(array))


def change_sums(array: np.ndarray, before: np.ndarray) -> tuple[float, float]:
    """Sums of |array - before| and |before| over the (parts of) elements.

    Args:
        array: what is there now.
        before: what was there, of the same size and type.
    """
    values = _floats(array)
    loops = _memory.loops(values.itemsize)
    loops.change(values, _floats(before), loops.row, _BLOCK)
    change, size, *_ = loops.row.tolist()
    return change, size


def changed_statistics(array: np.ndarray, before: np.ndarray) -> Statistics:
    """The statistics of a one-dimensional array beside what it was.

    Args:
        array: what is there now.
        before: what was there, of the same size and type.
    """
    if not array.size:
        return statistics(array)
    return _of(_floats(array), *change_sums(array, before))


def is_close(
    array: np.ndarray, before: np.ndarray, rtol: float, atol: float, equal_nan: bool = False
) -> bool:
    """Whether every element is within `atol` + `rtol` |before| of the one before.

    Args:
        equal_nan: whether two NaN are the same.
    """
    values = _floats(array)
    close = _memory.loops(values.itemsize).close
    return bool(close(values, _floats(before), float(rtol), float(atol), equal_nan, _BLOCK))


def share_within(array: np.ndarray, low: float, high: float) -> float:
    """Per cent of the elements that are `low` at least and `high` at most."""
    if not array.size:
        return 0.0
    return 100.0 * int(_within(_floats(array), low, high)) / array.size
