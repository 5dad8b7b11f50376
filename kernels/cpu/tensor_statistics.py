"""Figures of an array, alone or beside what it was, by one pass over memory.

Blocks stay in the first cache while their sums, extremes and changes are found by loops of their
own, each of which vectorises.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ..codegen.jit import entry_point, kernel

__all__ = ["CHANGE", "Loops"]

CHANGE = 6  # where sums of |values - before| and |before| are in a row
_BLOCK = 1024
_SUMS = {"reassoc", "contract", "nsz"}


@kernel(fastmath=_SUMS | {"nnan"})
def _sums(values: Any) -> Any:
    """Zeros, and sums of elements, magnitudes and squares, in the elements' type."""
    nothing, one = values.dtype.type(0), values.dtype.type(1)
    zeros, total, sizes, squares = nothing, nothing, nothing, nothing
    for i in range(values.size):
        value = values[i]
        total += value
        sizes += abs(value)
        squares += value * value
        zeros += one if value == 0 else nothing
    return zeros, total, sizes, squares


@kernel
def _extremes(unsigned: Any, signed: Any, bits: Any) -> None:
    """Least and most bits as integers without a sign, and the most with one, so far."""
    least, most, positive = bits[0], bits[1], signed.dtype.type(bits[2])
    for i in range(unsigned.size):
        least = min(least, unsigned[i])
        most = max(most, unsigned[i])
    for i in range(signed.size):
        positive = max(positive, signed[i])
    bits[0], bits[1], bits[2] = least, most, positive


@kernel(fastmath=_SUMS)
def _change(values: Any, before: Any) -> Any:
    """Sums of |values - before| and |before|, in the elements' type."""
    change, size = values.dtype.type(0), values.dtype.type(0)
    for i in range(values.size):
        change += abs(values[i] - before[i])
        size += abs(before[i])
    return change, size


@kernel
def _finish(values: Any, row: Any, bits: Any) -> None:
    """Least and greatest element from those of bits: a negative element has the most of these."""
    floats = bits.view(values.dtype)
    sign = np.uint64(1) << np.uint64(bits.itemsize * 8 - 1)
    row[4] = floats[1] if np.uint64(bits[1]) >= sign else floats[0]
    row[5] = floats[2] if np.uint64(bits[2]) < sign else floats[0]


@kernel
def _figures(values: Any, signed: Any, row: Any, bits: Any) -> None:
    """Zeros, sums of elements, magnitudes and squares, least and greatest into `row`; NaN for
    what :func:`_figures_beside` finds."""
    unsigned = signed.view(bits.dtype)
    row[:CHANGE] = 0.0
    row[CHANGE:] = np.nan
    bits[:] = unsigned[0]
    for start in range(0, values.size, _BLOCK):
        end = start + _BLOCK
        zeros, total, sizes, squares = _sums(values[start:end])
        _extremes(unsigned[start:end], signed[start:end], bits)
        row[0] += zeros
        row[1] += total
        row[2] += sizes
        row[3] += squares
    _finish(values, row, bits)


@kernel
def _figures_beside(
    values: Any, signed: Any, before: Any, row: Any, bits: Any, keep: bool
) -> None:  # fmt: skip
    """As :func:`_figures`, and the sums of :func:`_change`; `keep` writes the values to `before`,
    block by block, once they were compared."""
    unsigned = signed.view(bits.dtype)
    row[:] = 0.0
    bits[:] = unsigned[0]
    for start in range(0, values.size, _BLOCK):
        end = start + _BLOCK
        own, old = values[start:end], before[start:end]
        zeros, total, sizes, squares = _sums(own)
        _extremes(unsigned[start:end], signed[start:end], bits)
        change, size = _change(own, old)
        row[0] += zeros
        row[1] += total
        row[2] += sizes
        row[3] += squares
        row[CHANGE] += change
        row[CHANGE + 1] += size
        if keep:
            for i in range(own.size):
                old[i] = own[i]
    _finish(values, row, bits)


@kernel
def _changes(values: Any, before: Any, row: Any) -> None:
    row[CHANGE:] = 0.0
    for start in range(0, values.size, _BLOCK):
        change, size = _change(values[start : start + _BLOCK], before[start : start + _BLOCK])
        row[CHANGE] += change
        row[CHANGE + 1] += size


@kernel
def _all_close(values: Any, before: Any, rtol: float, atol: float, equal_nan: bool) -> bool:
    for start in range(0, values.size, _BLOCK):
        new, old = values[start : start + _BLOCK], before[start : start + _BLOCK]
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

    Attributes:
        signed: the integers of that size; `figures` are given the elements as these, too.
        row: zeros, sums of elements, magnitudes and squares, least, greatest, and from `CHANGE`
            on sums of |values - before| and |before|, or NaN. Least or greatest is infinite or
            NaN where an element is.
        bits: memory for extremes.
    """

    def __init__(self, itemsize: int) -> None:
        size = 8 * itemsize
        numbers, integers, row = f"float{size}[::1]", f"int{size}[::1]", "float64[::1]"
        bits = f"uint{size}[::1]"
        self.signed = np.dtype(f"i{itemsize}")
        self.figures = entry_point(_figures, f"void({numbers}, {integers}, {row}, {bits})")
        self.figures_beside = entry_point(
            _figures_beside, f"void({numbers}, {integers}, {numbers}, {row}, {bits}, boolean)"
        )
        self.changes = entry_point(_changes, f"void({numbers}, {numbers}, {row})")
        self.close = entry_point(
            _all_close, f"boolean({numbers}, {numbers}, float64, float64, boolean)"
        )
        self.within = entry_point(_within, f"int64({numbers}, float64, float64)")
        self.row, self.bits = np.empty(CHANGE + 2), np.empty(3, f"u{itemsize}")
