"""Figures of an array, alone or beside what it was, and whether they are within limits.

Blocks stay in the first cache while their sums, extremes and changes are found by loops of their
own, each of which vectorises. Limits need fewer figures than there are: only those are found.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ..codegen.jit import entry_point, kernel

__all__ = ["CHANGE", "LIMITED", "Loops"]

CHANGE = 6  # where sums of |values - before| and |before| are in a row
# the figures that have a least and a greatest limit, in their order (the mean less and more its
# rounding); "change" is the mean of |values - before| over that of |before| and a number, of which
# there are two, after all limits
LIMITED = ("greatest", "least", "range", "abs_mean", "mean", "mean", "zero_share", "change")
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


@kernel(fastmath=_SUMS)
def _magnitudes(values: Any) -> Any:
    """The sum of |values| in their type: NaN or infinite where an element is."""
    sizes = values.dtype.type(0)
    for i in range(values.size):
        sizes += abs(values[i])
    return sizes


@kernel
def _most(integers: Any, most: Any) -> Any:
    """The greatest integer, of these and `most`."""
    for i in range(integers.size):
        most = max(most, integers[i])
    return most


@kernel
def _end(unsigned: Any, most: Any, is_there: bool, floats: Any, bits: Any) -> Any:
    """The element of bits `most`; where none has its sign, that of the least bits of all."""
    bits[0] = most
    if not is_there:
        bits[0] = unsigned[0]
        for i in range(unsigned.size):
            bits[0] = min(bits[0], unsigned[i])
    return floats[0]


@kernel(fastmath=_SUMS | {"nnan"})
def _total_and_zeros(values: Any) -> Any:
    nothing, one = values.dtype.type(0), values.dtype.type(1)
    zeros, total = nothing, nothing
    for i in range(values.size):
        total += values[i]
        zeros += one if values[i] == 0 else nothing
    return total, zeros


@kernel
def _finish(values: Any, row: Any, bits: Any) -> None:
    """Least and greatest element from those of bits: a negative element has the most of these."""
    floats = bits.view(values.dtype)
    sign = np.uint64(1) << np.uint64(bits.itemsize * 8 - 1)
    row[4] = floats[1] if np.uint64(bits[1]) >= sign else floats[0]
    row[5] = floats[2] if np.uint64(bits[2]) < sign else floats[0]


@kernel
def _has_limit(limits: Any, figures: Any) -> bool:
    for figure in figures:
        if limits[2 * figure] > -np.inf or limits[2 * figure + 1] < np.inf:
            return True
    return False


@kernel
def _within_limits(figures: Any, limits: Any) -> bool:
    """NaN is within no limits."""
    at = 0
    for figure in figures:
        if not limits[at] <= figure <= limits[at + 1]:
            return False
        at += 2
    return True


@kernel
def _is_within(
    values: Any, signed: Any, before: Any, limits: Any, row: Any, bits: Any, keep: bool
) -> bool:  # fmt: skip
    """Whether all elements are finite, and the figures within their limits. The sums of
    :func:`_change` go to `row` where `before` is not empty; `keep` writes the values to it."""
    unsigned = signed.view(bits.dtype)
    wants_greatest, wants_least = _has_limit(limits, (0, 2)), _has_limit(limits, (1, 2))
    wants_total = _has_limit(limits, (4, 6))
    row[:] = 0.0
    positive, negative = signed[0], unsigned[0]
    total, zeros, sizes = 0.0, 0.0, 0.0
    for start in range(0, values.size, _BLOCK):
        end = start + _BLOCK
        own = values[start:end]
        sizes += _magnitudes(own)
        if wants_greatest:
            positive = _most(signed[start:end], positive)
        if wants_least:
            negative = _most(unsigned[start:end], negative)
        if wants_total:
            part, none = _total_and_zeros(own)
            total += part
            zeros += none
        if before.size:
            old = before[start:end]
            change, size = _change(own, old)
            row[CHANGE] += change
            row[CHANGE + 1] += size
            if keep:
                for i in range(own.size):
                    old[i] = own[i]
    if not sizes < np.inf:
        return False
    count, change, size = values.size, row[CHANGE], row[CHANGE + 1]
    floats, sign = bits.view(values.dtype), np.uint64(1) << np.uint64(bits.itemsize * 8 - 1)
    greatest, least = 0.0, 0.0
    if wants_greatest:
        greatest = float(_end(unsigned, bits.dtype.type(positive), positive >= 0, floats, bits))
    if wants_least:
        least = float(_end(unsigned, negative, np.uint64(negative) >= sign, floats, bits))
    # the error of a mean is small beside that of magnitudes only
    rounding = 1e-5 * sizes
    low, high = (total - rounding) / count, (total + rounding) / count
    figures = (greatest, least, greatest - least, sizes / count, low, high, zeros / count)
    if not _within_limits(figures, limits):
        return False
    low, high = limits[14] * (size + limits[17] * count), limits[15] * (size + limits[16] * count)
    return before.size == 0 or low <= change <= high


@kernel
def _figures(values: Any, signed: Any, row: Any, bits: Any) -> None:
    """Zeros, sums of elements, magnitudes and squares, least and greatest into `row`."""
    unsigned = signed.view(bits.dtype)
    row[:CHANGE] = 0.0
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
            on, where these were asked for, sums of |values - before| and |before|. Least or
            greatest is infinite or NaN where an element is.
        bits: memory for extremes.
        nothing: an array without elements, where nothing was before.
    """

    def __init__(self, itemsize: int) -> None:
        size = 8 * itemsize
        numbers, integers, row = f"float{size}[::1]", f"int{size}[::1]", "float64[::1]"
        bits = f"uint{size}[::1]"
        self.signed = np.dtype(f"i{itemsize}")
        self.figures = entry_point(_figures, f"void({numbers}, {integers}, {row}, {bits})")
        self.changes = entry_point(_changes, f"void({numbers}, {numbers}, {row})")
        self.close = entry_point(
            _all_close, f"boolean({numbers}, {numbers}, float64, float64, boolean)"
        )
        self.is_within = entry_point(
            _is_within,
            f"boolean({numbers}, {integers}, {numbers}, {row}, {row}, {bits}, boolean)",
        )
        self.within = entry_point(_within, f"int64({numbers}, float64, float64)")
        self.row, self.bits = np.empty(CHANGE + 2), np.empty(3, f"u{itemsize}")
        self.nothing = np.empty(0, f"f{itemsize}")
