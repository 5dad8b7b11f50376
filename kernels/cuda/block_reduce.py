"""Folds within a block: every thread gives a value, every thread gets the result.

    picture   a tree over the block's threads, halved step by step
    memory    one number a thread in shared memory
    sync      after the values are stored, after each halving, and after the result is read
    sizes     blocks of ``FOLDING`` threads, a power of two
"""

from __future__ import annotations

from typing import Any

import numpy as np

from .launch import FOLDING, cuda, device


@device
def total(lanes: Any, t: int, value: Any) -> Any:
    """The sum of the block's values, in an order that depends on the block's size alone."""
    lanes[t] = value
    cuda.syncthreads()
    half = FOLDING // 2
    while half > 0:
        if t < half:
            lanes[t] = lanes[t] + lanes[t + half]
        cuda.syncthreads()
        half = half // 2
    result = lanes[0]
    cuda.syncthreads()
    return result


@device
def product(lanes: Any, t: int, a: Any, b: Any, start: int, count: int) -> Any:
    """The sum of the products of ``count`` elements of two arrays from ``start`` on."""
    part = 0.0
    for i in range(start + t, start + count, FOLDING):
        part += np.float64(a[i]) * b[i]
    return total(lanes, t, part)


@device
def largest(lanes: Any, t: int, value: Any) -> Any:
    """The greatest of the block's values; NaN if one is."""
    lanes[t] = value
    cuda.syncthreads()
    half = FOLDING // 2
    while half > 0:
        if t < half:
            a, b = lanes[t], lanes[t + half]
            lanes[t] = b if (b > a) or (b != b) else a
        cuda.syncthreads()
        half = half // 2
    result = lanes[0]
    cuda.syncthreads()
    return result
