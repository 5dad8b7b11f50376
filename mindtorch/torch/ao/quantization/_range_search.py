"""The part of a histogram that levels should hold, so that the squared error is least.

Ends are moved inwards by quantiles, always the one that costs more bins, until the error rises
(the search of Caffe2's ``norm_minimization``).
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from typing import Any

import numpy as np

from mindtorch.engine.tensor import from_array

__all__ = ["best_bins"]

_STEP = 1e-5
_FLOAT = np.float32


def _integral(begin: Any, end: Any, density: np.ndarray) -> np.ndarray:
    """``density`` times the integral of ``x**2``."""
    return density * ((end * end * end - begin * begin * begin) / _FLOAT(3))


def _error(counts: np.ndarray, width: float, first: int, last: int, levels: int) -> float:
    """The squared error where the bins ``first`` to ``last`` are put on the levels."""
    step = width * (last - first + 1) / levels
    if step == 0:
        return 0.0
    bins = len(counts)
    begin = (np.arange(bins) - first).astype(_FLOAT) * _FLOAT(width)
    end = begin + _FLOAT(width)
    density = counts / _FLOAT(width)
    of_begin, of_end = (
        np.clip(np.floor_divide(x, _FLOAT(step)), 0, levels - 1) for x in (begin, end)
    )
    middle = (of_begin + _FLOAT(0.5)) * _FLOAT(step)
    half = _FLOAT(step / 2)
    norm = np.zeros(bins, _FLOAT)
    norm += _integral(begin - middle, half, density)
    norm += (of_end - of_begin - _FLOAT(1)) * _integral(-half, half, density)
    last_middle = of_end * _FLOAT(step) + half
    norm += _integral(-half, end - last_middle, density)
    total: Any = from_array(norm)
    return float(total.sum().item())


def best_bins(
    counts: np.ndarray, sums: np.ndarray, total: float, width: float, levels: int
) -> tuple[int, int]:
    """The first and the last bin that levels should hold.

    Args:
        counts: float32, of each bin.
        sums: their running sums.
        total: of all.
        width: of a bin.
        levels: how many.
    """
    bins = len(counts)
    running = sums.tolist()
    alpha, beta = 0.0, 1.0
    start, stop = 0, bins - 1
    least = float("inf")
    while alpha < beta:
        next_alpha, next_beta = alpha + _STEP, beta - _STEP
        left = bisect_left(running, float(_FLOAT(next_alpha * total)))
        left = min(max(left, start), stop)
        right = bisect_right(running, float(_FLOAT(next_beta * total))) - 1
        right = min(max(right, start), stop)
        next_start, next_stop = start, stop
        if left - start > stop - right:
            next_start, alpha = left, next_alpha
        else:
            next_stop, beta = right, next_beta
        if (next_start, next_stop) == (start, stop):
            continue
        error = _error(counts, width, next_start, next_stop, levels)
        if error > least:
            break
        least, start, stop = error, next_start, next_stop
    return start, stop
