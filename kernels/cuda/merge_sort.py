"""Stable merge sort of rows on CUDA.

    picture   pass k merges neighbouring runs of 2**k elements: one thread for each element finds
              where it comes by binary search in the other run, and writes itself there
    memory    two copies of the keys and of the places in global memory, read and written in turns
    sync      between passes, by separate launches
    sizes     rows of any length; log2(n) passes. Runs of 8 are made first, by insertion, one thread
              for each run
Keys are compared by ``<``; NaN is greater than all numbers. Descending order keeps the order of
equal elements, too.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from . import arrays, launch
from .launch import cuda

_RUN = 8


@launch.device
def before(a: Any, b: Any, descending: int) -> bool:
    """Whether ``a`` comes strictly before ``b``."""
    if descending:
        return (b < a) or ((a != a) and (b == b))
    return (a < b) or ((b != b) and (a == a))


@launch.kernel
def _runs(count: int, keys: Any, places: Any, n: int, runs: int, descending: int) -> None:
    i = cuda.grid(1)
    while i < count:
        base = (i // runs) * n
        start = (i % runs) * _RUN
        stop = min(start + _RUN, n)
        for k in range(start, stop):
            key = keys[base + k]
            at = k
            while at > start and before(key, keys[base + at - 1], descending):
                keys[base + at] = keys[base + at - 1]
                places[base + at] = places[base + at - 1]
                at -= 1
            keys[base + at] = key
            places[base + at] = k
        i = launch.following(i, count)


@launch.kernel
def _merge(
    count: int, keys_to: Any, places_to: Any, keys: Any, places: Any, n: int, run: int,
    descending: int,
) -> None:  # fmt: skip
    i = cuda.grid(1)
    while i < count:
        k = i % n
        base = i - k
        pair = (k // (2 * run)) * 2 * run
        middle = min(pair + run, n)
        end = min(pair + 2 * run, n)
        key = keys[i]
        first = k < middle
        low = middle if first else pair
        high = end if first else middle
        begin = low
        while low < high:
            half = (low + high) // 2
            other = keys[base + half]
            if first:
                goes = before(other, key, descending)
            else:
                goes = not before(key, other, descending)
            if goes:
                low = half + 1
            else:
                high = half
        at = k + (low - begin) if first else pair + (k - middle) + (low - begin)
        keys_to[base + at] = key
        places_to[base + at] = places[i]
        i = launch.following(i, count)


def sort_rows(x: Any, descending: bool) -> tuple[Any, Any]:
    """(sorted keys, former places) of the rows of a dense [rows, n] array, both new and dense."""
    rows, n = x.shape
    keys = arrays.empty(x.shape, x.dtype)
    arrays.assign(keys, x)
    places = arrays.zeros(x.shape, np.int64)
    if not x.size:
        return keys, places
    runs = -(-n // _RUN)
    launch.each(_runs, rows * runs, keys, places, n, runs, int(descending))
    run = _RUN
    if run < n:
        spare = arrays.empty(x.shape, x.dtype), arrays.empty(x.shape, np.int64)
    while run < n:
        launch.each(_merge, x.size, *spare, keys, places, n, run, int(descending))
        (keys, places), spare = spare, (keys, places)
        run *= 2
    return keys, places
