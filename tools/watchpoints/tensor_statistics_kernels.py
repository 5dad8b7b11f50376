"""The compiled loops of :mod:`.tensor_statistics`. Importing them loads numba."""

from __future__ import annotations

from typing import Any

import numpy as np

from mindtorch.kernels.codegen.jit import entry_point, kernel

__all__ = ["Loops"]

_TYPES = {4: (np.int32, np.uint32), 8: (np.int64, np.uint64)}


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


class Loops:
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
        self.within = entry_point(_within, f"int64({numbers}, float64, float64)")
        self.row, self.bits = np.empty(6), np.empty(3, unsigned)
