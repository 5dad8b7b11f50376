"""How often values occur: in bins, as whole numbers, in runs.

How long a result is follows from the elements, so these functions make theirs.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import numpy as np

from mindtorch.kernels.codegen.jit import entry_point, kernel

from ..vectors.float_bits import choose
from ..via_float32 import flat

_FEW = 16  # values that an element is compared with one by one
_LANES = 4  # counts of their own for elements next to each other, which often lie in one bin


def is_counted(x: Any) -> bool:
    """Whether these loops take the elements: whole numbers, float32 and float64."""
    return x.dtype.kind in "iu" or x.dtype in (np.float32, np.float64)


@kernel
def _extremes(out: Any, x: Any) -> None:
    """The least and the greatest element; NaN if there is one."""
    low = high = x[0]
    known = True
    for i in range(x.size):
        low = min(low, x[i])
        high = max(high, x[i])
        known &= x[i] == x[i]
    for i in range(0 if known else x.size):
        if x[i] != x[i]:
            low = high = x[i]
    out[0], out[1] = low, high


def extremes(x: Any) -> Any:
    """The least and the greatest of some elements, as numbers."""
    found = np.empty(2, x.dtype)
    _loop("extremes", x.dtype)(found, flat(x))
    return found.tolist()


def lie_within(x: Any, low: float, high: float) -> bool:
    """Whether all elements lie between two numbers; NaN does not."""
    if not x.size:
        return True
    if not is_counted(x):
        return bool(((x >= low) & (x <= high)).all())
    least, greatest = extremes(x)
    return bool(low <= least and greatest <= high)


def are_weights(x: Any) -> bool:
    """Whether the elements are finite and none negative, and some of each row (the last axis)
    above 0; False also where their extremes do not tell."""
    if not is_counted(x):
        return False
    least, greatest = extremes(x)
    one_row = x.size == x.shape[-1]
    return bool(greatest < np.inf and (least > 0 or (one_row and least == 0 < greatest)))


@kernel
def _occurrences(out: Any, x: Any, low: int) -> None:
    for i in range(x.size):
        out[np.uint64(np.int64(x[i]) - low)] += 1


def occurrences(x: Any, low: int, count: int) -> Any:
    """How often each of the ``count`` whole numbers from ``low`` on occurs; there are no others."""
    counts = np.zeros(count, np.int64)
    _loop("occurrences", x.dtype)(counts, flat(x), low)
    return counts


@kernel
def _in_bins(out: Any, x: Any, low: Any, high: Any, width: Any, bins: int) -> None:
    count, last = x.dtype.type(bins), bins - 1
    for i in range(x.size):
        value = x[i]
        if low <= value and value <= high:
            place = np.int64(np.floor((value - low) / width * count))
            place = choose(place > last, np.int64(last), place)
            out[np.uint64((i & 3) * bins + place)] += 1


def in_bins(x: Any, low: float, high: float, bins: int) -> Any:
    """How many floats lie in each of so many bins of equal width; ``high`` is in the last one."""
    counts = np.zeros((_LANES, bins), np.int64)
    _loop("in_bins", x.dtype)(counts.reshape(-1), flat(x), low, high, high - low, bins)
    return counts.sum(0)


@kernel
def _between(out: Any, x: Any, edges: Any) -> None:
    bins = edges.size - 1
    first, last = edges[0], edges[bins]
    scale = x.dtype.type(bins) / (last - first)
    for i in range(x.size):
        value = x[i]
        if first <= value and value <= last:
            place = min(np.int64((value - first) * scale), bins - 1)
            while place > 0 and value < edges[place]:
                place -= 1
            while place < bins - 1 and value >= edges[place + 1]:
                place += 1
            out[np.uint64((i & 3) * bins + place)] += 1


def between(x: Any, edges: Any) -> Any:
    """How many floats lie between edges at nearly equal distances, the last one included; None
    where the distances are others, for which a place is no good guess."""
    bins = edges.size - 1
    even = np.linspace(edges[0], edges[-1], bins + 1)
    step = (float(edges[-1]) - float(edges[0])) / bins
    if not 0 < step < np.inf or not (np.abs(edges - even) <= step).all():
        return None
    counts = np.zeros((_LANES, bins), np.int64)
    _loop("between", x.dtype)(counts.reshape(-1), flat(x), flat(edges))
    return counts.sum(0)


@kernel
def _runs(starts: Any, values: Any, x: Any) -> int:
    """Where a run of equal elements begins, of what, and how many there are."""
    count, last = 0, x[0]
    for i in range(x.size):
        value = x[i]
        at = np.uint64(count)  # a place that the next run takes over, if none begins here
        starts[at], values[at] = i, value
        count += i == 0 or value != last
        last = value
    return count


def runs(x: Any) -> tuple[Any, Any]:
    """The places where runs of equal elements begin, and their elements."""
    starts, values = np.empty(x.size, np.int64), np.empty(x.size, x.dtype)
    count = _loop("runs", x.dtype)(starts, values, flat(x)) if x.size else 0
    if count > x.size // 2:
        return starts[:count], values[:count]
    return starts[:count].copy(), values[:count].copy()


@kernel
def _among(out: Any, x: Any, known: Any) -> None:
    for i in range(x.size):
        out[i] = False
    for j in range(known.size):
        value = known[j]
        for i in range(x.size):
            out[i] |= x[i] == value


def among(x: Any, known: Any) -> Any:
    """Whether each element is one of ``known``, which are few; None of many."""
    if known.size > _FEW or x.dtype != known.dtype or not is_counted(x):
        return None
    found = np.empty(x.shape, np.bool_)
    _loop("among", x.dtype)(found.reshape(-1), flat(x), flat(known))
    return found


@kernel
def _coordinates(out: Any, x: Any, shape: Any, count: int) -> None:
    """Axis by axis, ``count`` numbers each: the outer ones are the same along a row."""
    n, last, k = shape[-1], (shape.size - 1) * count, 0
    for row in range(x.size // n):
        first = k
        for j in range(n):
            if k == count:
                break
            out[last + k] = j  # written again where this is not one of them: no branch to guess
            k += x[row * n + j]
        left = row
        for axis in range(shape.size - 2, -1, -1):
            at = left % shape[axis]
            left //= shape[axis]
            for i in range(axis * count + first, axis * count + k):
                out[i] = at
        if k == count:
            return


def coordinates(x: Any) -> Any:
    """Where elements of a bool array of some axes are True: those of the first axis, of the
    second and so on, in one row."""
    count = int(np.count_nonzero(x))
    out = np.empty(x.ndim * count, np.int64)
    if count:
        places = flat(x).view(np.uint8)
        _loop("coordinates", places.dtype)(out, places, np.array(x.shape, np.int64), count)
    return out


_LOOPS: dict[str, tuple[Any, str]] = {
    "extremes": (_extremes, "void({0}[::1], {0}[::1])"),
    "occurrences": (_occurrences, "void(int64[::1], {0}[::1], int64)"),
    "in_bins": (_in_bins, "void(int64[::1], {0}[::1], {0}, {0}, {0}, int64)"),
    "between": (_between, "void(int64[::1], {0}[::1], {0}[::1])"),
    "runs": (_runs, "int64(int64[::1], {0}[::1], {0}[::1])"),
    "coordinates": (_coordinates, "void(int64[::1], {0}[::1], int64[::1], int64)"),
    "among": (_among, "void(boolean[::1], {0}[::1], {0}[::1])"),
}


@functools.cache
def _loop(name: str, dtype: Any) -> Callable[..., Any]:
    """A loop for elements of a type; numpy makes a type's name anew each time it is asked."""
    function, signature = _LOOPS[name]
    return entry_point(function, signature.format(dtype.name))
