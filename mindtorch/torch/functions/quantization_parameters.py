"""Scales and zero points by which levels hold a range of numbers."""

from __future__ import annotations

import numpy as np

__all__ = ["choose_parameters"]

_LEAST = float(np.float32(6.1e-5))  # scales below it are not used


def choose_parameters(
    low: float, high: float, first: int, last: int, *, symmetric: bool = False,
    reduce_range: bool = False,
) -> tuple[float, int]:  # fmt: skip
    """The scale and the zero point by which numbers from ``low`` to ``high`` fill the levels.

    ``scale = (high - low) / (last - first)``, the range being widened to hold 0. The zero point is
    rounded from that end of the range which leaves the smaller error.

    Args:
        first, last: levels.
        symmetric: 0 lies in the middle of the levels, where the range has numbers on either side.
        reduce_range: use every second level, as products of 8 bits in 16 need.
    """
    if reduce_range:
        first, last = int(first / 2), int(last / 2)
    centred = symmetric and low < 0 < high
    if centred:
        half = (last - first) // 2
        step = max(abs(low / -(half + 1)), abs(high / half))
        low, high = -(half + 1) * step, half * step
    low, high = min(low, 0.0), max(high, 0.0)
    scale = (high - low) / (last - first)
    single = np.float32(scale)
    with np.errstate(over="ignore", divide="ignore"):
        if single == 0 or np.isinf(np.float32(1) / single):
            scale = 0.1
    if scale < _LEAST:
        low, high = _widened(low, high, _LEAST / scale, _LEAST * (last - first))
        scale = _LEAST
    from_low, from_high = first - low / scale, last - high / scale
    if centred:
        zero = (first + last) / 2
    else:
        errors = abs(first) - abs(low / scale), abs(last) - abs(high / scale)
        zero = from_low if errors[0] < errors[1] else from_high
    return scale, int(min(max(round(zero), first), last))


def _widened(low: float, high: float, factor: float, whole: float) -> tuple[float, float]:
    """A range for the least scale."""
    if low == 0:
        return low, whole
    return (-whole, high) if high == 0 else (low * factor, high * factor)
