"""Arrays of numbers in even steps, rounded as torch's loops round them."""

from __future__ import annotations

import operator
from typing import Any

import numpy as np

from . import dtypes

_MOST = 1 << 62

def whole_numbers(start: int, step: int, count: int) -> Any:
    """So many whole numbers; those beyond int64 wrap around."""
    count = operator.index(count)
    end = start + count * step
    if -_MOST < start < _MOST and -_MOST < end < _MOST:
        return np.arange(start, end, step, dtype=np.int64)
    return start + np.arange(count, dtype=np.int64) * step


def _fused(a: Any, b: Any, c: Any) -> Any:
    """``a * b + c`` of one float type, rounded once (T. Dekker's exact product in float64)."""
    if c.dtype == np.float32:
        return (a.astype(np.float64) * b + c).astype(np.float32)
    high_a, high_b = (x * 134217729.0 - (x * 134217729.0 - x) for x in (a, b))
    low_a, low_b = a - high_a, b - high_b
    product = a * b
    rest = ((high_a * high_b - product) + high_a * low_b + low_a * high_b) + low_a * low_b
    total = product + c
    taken = total - product
    return total + (((product - (total - taken)) + (c - taken)) + rest)


def _loops() -> Any:
    """The kernels, loaded with numba when they are needed."""
    from mindtorch.kernels.cpu import arange_linspace

    return arange_linspace


def linear(start: Any, end: Any, steps: int, chosen: Any) -> Any:
    """Steps counted from both ends, in the type's own arithmetic, as torch does."""
    if steps < 0:
        raise RuntimeError("number of steps must be non-negative")
    if chosen.is_complex:
        parts = dtypes.float32 if chosen.itemsize == 8 else dtypes.float64
        real = linear(complex(start).real, complex(end).real, steps, parts)
        return real + 1j * linear(complex(start).imag, complex(end).imag, steps, parts)
    if chosen.category < dtypes.FLOAT:
        start, end = int(start), int(end)
    work = chosen.np.type if chosen.category == dtypes.FLOAT else np.float64
    first, last = (np.array(x).astype(work) for x in (start, end))
    if steps == 1:
        return first.reshape(1)
    step = ((last - first) / np.array(max(steps - 1, 1)).astype(work)).astype(work)
    if work in (np.float32, np.float64):
        return _loops().from_both_ends(first, last, step, steps)
    ahead = np.arange(steps // 2).astype(work)
    behind = np.arange(steps - 1 - steps // 2, -1, -1).astype(work)
    return np.concatenate([first + step * ahead, last - step * behind])


def exponents(start: Any, end: Any, steps: int, chosen: Any) -> Any:
    """Like :func:`linear`, in float64 but for the ends and their distance."""
    if chosen.category != dtypes.FLOAT or steps < 2:
        wide = dtypes.complex128 if chosen.is_complex else dtypes.float64
        return linear(start, end, steps, wide)
    first, last = (np.array(x).astype(chosen.np) for x in (start, end))
    step = (last - first).astype(np.float64) / (steps - 1)
    index = np.arange(steps)
    return np.where(index < steps // 2, first + step * index, last - step * (steps - 1 - index))


def arithmetic(start: float, step: float, count: int, chosen: Any) -> Any:
    """``start + i * step``; in groups of a vector's size from the group's rounded first value,
    up to the last multiple of two vectors, as torch's loop does."""
    if chosen.np in (np.float32, np.float64):
        return _loops().from_one_end(start, step, count, chosen.np)
    index = np.arange(count)
    first, distance = np.float64(start), np.float64(step)
    lanes = 64 // chosen.itemsize // 2
    group = np.where(index < count // (2 * lanes) * (2 * lanes), index // lanes * lanes, index)
    begun = _fused(distance, group.astype(np.float64), first)
    begun = begun.astype(chosen.np).astype(np.float64)
    return _fused(distance, (index - group).astype(np.float64), begun).astype(chosen.np)
