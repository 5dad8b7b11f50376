"""The statistics of a tensor that conditions are about, and whether they are within limits.

The limits come first, for they need one pass over memory (`kernels/cpu/tensor_statistics.py`) that
finds only what they are about, how far the tensor is from what it was among it.
"""

from __future__ import annotations

import math
import threading
from collections.abc import Mapping
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

if TYPE_CHECKING:
    from mindtorch.kernels.cpu.tensor_statistics import Loops

__all__ = [
    "Limits", "Statistics", "beyond", "change_sums", "changed_statistics", "is_close",
    "share_within", "statistics",
]  # fmt: skip

_MARGIN = 1e-5  # the same sums in another order differ by less than that


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


def _of(values: np.ndarray) -> Statistics:
    loops = _memory.loops(values.itemsize)
    row, bits = loops.row, loops.bits
    loops.figures(values, values.view(loops.signed), row, bits)
    zero, total, sizes, squares, low, high, *_ = row.tolist()
    if not (low > -math.inf and high < math.inf):  # NaN has greater bits than infinity
        return _with_odd(values)
    if values.itemsize == 4 and not (1e-15 < max(-low, high) < 1e15):
        wide = values.astype(np.float64)  # squares leave the range
        total, sizes, squares = float(wide.sum()), float(abs(wide).sum()), float(wide @ wide)
    return Statistics(values.size, 0, 0, 0, int(zero), low, high, total, sizes, squares)


def _with_odd(values: np.ndarray) -> Statistics:
    nan = int(np.isnan(values).sum())
    up, down = int(np.isposinf(values).sum()), int(np.isneginf(values).sum())
    finite = values[np.isfinite(values)].astype(np.float64)
    none = math.nan
    own = _of(finite) if finite.size else Statistics(0, 0, 0, 0, 0, none, none, none, none, none)
    return own._replace(
        size=values.size, nan=nan, positive_infinite=up, negative_infinite=down
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


def changed_statistics(array: np.ndarray, before: np.ndarray) -> Statistics:
    """The statistics of a one-dimensional array beside what it was, of the same size and type."""
    if not array.size:
        return statistics(array)
    change, size = change_sums(array, before)
    return statistics(array)._replace(change=change, before=size)


class Limits:
    """Limits of figures, within which no condition is met.

    Args:
        of: (least, greatest) by the names of :class:`Statistics`' figures and "range" (greatest -
            least), "zero_share" (of all elements), "change" (mean |change| over mean |before| and
            `epsilon`). Arrays with NaN or infinite elements are beyond any limits.
        epsilon: all that is added to mean |before|.
    """

    def __init__(
        self, of: Mapping[str, tuple[float, float]], epsilon: tuple[float, ...] = ()
    ) -> None:
        self.of = dict(of)
        self.epsilon = epsilon
        self.row: np.ndarray | None = None  # as the loops have it

    def both(self, other: Limits) -> Limits:
        """What is within both."""
        of = dict(self.of)
        for name, (least, greatest) in other.of.items():
            own = of.get(name, (-math.inf, math.inf))
            of[name] = max(own[0], least), min(own[1], greatest)
        return Limits(of, self.epsilon + other.epsilon)

    def made(self) -> np.ndarray:
        """The row of numbers, each limit a little narrower than it is."""
        # here: importing tools loads no numba
        from mindtorch.kernels.cpu.tensor_statistics import LIMITED

        row = [each for name in LIMITED for each in self.of.get(name, (-math.inf, math.inf))]
        narrow = [
            x if math.isinf(x) else x - sign * _MARGIN * abs(x)
            for x, sign in zip(row, (-1, 1) * len(LIMITED), strict=True)
        ]
        # the least makes most of a change, the greatest least
        self.row = np.array([*narrow, min(self.epsilon, default=0), max(self.epsilon, default=0)])
        return self.row


def beyond(
    array: np.ndarray, limits: Limits, before: np.ndarray | None = None, keep: bool = False
) -> tuple[float, float] | None:
    """None where an array is within limits; else the sums of |array - before| and |before|.

    Args:
        array: one-dimensional.
        before: what it was, of the same size and type; None: not known, and no change is limited.
        keep: whether `before` becomes what is there now.
    """
    if not array.size:
        return 0.0, 0.0
    values = array if array.dtype.char in "fd" and array.flags.c_contiguous else _floats(array)
    loops = _memory.loops(values.itemsize)
    row = limits.made() if limits.row is None else limits.row
    old, same = loops.nothing, False
    if before is not None:
        old = _floats(before)
        same = keep and np.may_share_memory(old, before)  # not of half precision, nor with gaps
    signed = values.view(loops.signed)
    within = loops.is_within(values, signed, old, row, loops.row, loops.bits, same)
    if keep and not same:
        np.copyto(before, array)  # type: ignore[arg-type]
    if within:
        return None
    *_, change, size = loops.row.tolist()
    return change, size


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
