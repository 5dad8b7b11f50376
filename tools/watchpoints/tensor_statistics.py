"""The statistics of a tensor that conditions are about, in one pass over its memory.

The compiled loops (`kernels/cpu/tensor_statistics.py`) also find, in the same pass, how far the
tensor is from what it was, and may write over that what it is now.
"""

from __future__ import annotations

import math
import threading
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

if TYPE_CHECKING:
    from mindtorch.kernels.cpu.tensor_statistics import Loops

__all__ = [
    "Statistics", "change_sums", "changed_statistics", "is_close", "share_within", "statistics",
]  # fmt: skip


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


def _floats(array: np.ndarray) -> np.ndarray:
    """A one-dimensional array of float32 or float64 with an array's (parts of) elements."""
    dtype = array.dtype
    if dtype != np.float32 and dtype != np.float64:
        if dtype.kind == "c":
            array = np.ascontiguousarray(array).view(array.real.dtype)
        else:
            array = array.astype(np.float32 if dtype.itemsize < 4 else np.float64)
    return array if array.flags.c_contiguous else np.ascontiguousarray(array)


class _Memory(threading.local):
    """The loops of a thread."""

    def __init__(self) -> None:
        self.of: dict[int, Loops] = {}

    def loops(self, itemsize: int) -> Loops:
        found = self.of.get(itemsize)
        if found is None:
            # here: importing tools loads no numba
            from mindtorch.kernels.cpu.tensor_statistics import Loops

            found = self.of[itemsize] = Loops(itemsize)
        return found


_memory = _Memory()


def _of(values: np.ndarray, before: np.ndarray | None = None, keep: bool = False) -> Statistics:
    """The statistics, by one pass; `keep` writes `values` to `before`."""
    loops = _memory.loops(values.itemsize)
    row, bits = loops.row, loops.bits
    if before is None:
        loops.figures(values, values.view(loops.signed), row, bits)
    else:
        loops.figures_beside(values, values.view(loops.signed), before, row, bits, keep)
    zero, total, sizes, squares, low, high, change, size = row.tolist()
    if not (low > -math.inf and high < math.inf):  # NaN has greater bits than infinity
        return _with_odd(values, change, size)
    if values.itemsize == 4 and not (1e-15 < max(-low, high) < 1e15):
        wide = values.astype(np.float64)  # squares leave the range
        total, sizes, squares = float(wide.sum()), float(abs(wide).sum()), float(wide @ wide)
    return Statistics(
        values.size, 0, 0, 0, int(zero), low, high, total, sizes, squares, change, size
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
    loops.changes(values, _floats(before), loops.row)
    *_, change, size = loops.row.tolist()
    return change, size


def changed_statistics(array: np.ndarray, before: np.ndarray, keep: bool = False) -> Statistics:
    """The statistics of a one-dimensional array beside what it was.

    Args:
        array: what is there now.
        before: what was there, of the same size and type.
        keep: whether `before` becomes what is there now.
    """
    if not array.size:
        return statistics(array)
    values, old = _floats(array), _floats(before)
    same = np.may_share_memory(old, before)  # not of half precision, nor with gaps
    found = _of(values, old, keep and same)
    if keep and not same:
        np.copyto(before, array)
    return found


def is_close(
    array: np.ndarray, before: np.ndarray, rtol: float, atol: float, equal_nan: bool = False
) -> bool:
    """Whether every element is within `atol` + `rtol` |before| of the one before.

    Args:
        equal_nan: whether two NaN are the same.
    """
    values = _floats(array)
    close = _memory.loops(values.itemsize).close
    return bool(close(values, _floats(before), float(rtol), float(atol), equal_nan))


def share_within(array: np.ndarray, low: float, high: float) -> float:
    """Per cent of the (parts of) elements that are `low` at least and `high` at most."""
    if not array.size:
        return 0.0
    values = _floats(array)
    count = _memory.loops(values.itemsize).within(values, float(low), float(high))
    return 100.0 * int(count) / values.size
