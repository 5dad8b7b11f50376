"""Order for CUDA: extremes with their places, sorting, chosen elements, bins.

    picture   extremes: one block for each row, each thread finds the best of its elements, a tree
              over the block the best of those; everything else sorts the rows (``order``) and picks
    memory    one place a thread in shared memory
    sync      after the threads' places are stored, and after each halving
    sizes     rows of any length
The sort is stable whether asked or not: of equal elements the first comes first.
"""

from __future__ import annotations

import functools
import math
from typing import Any

import numpy as np
from numba import int64

from . import arrays, launch
from .arrays import Array
from .launch import cuda
from .merge_sort import sort_rows
from .via_float32 import in_float32

FOLDING = launch.FOLDING


def _rows(x: Any, axis: int | None) -> Any:
    """A dense [rows, n] array with ``axis`` last; all elements in one row for None."""
    if axis is None or not x.ndim:
        return Array(arrays.dense(x).flat, (1, max(x.size, 1)))
    moved = arrays.dense(x.moved(axis, -1))
    n = x.shape[axis]
    return Array(moved.flat, (x.size // max(n, 1), n))


@functools.cache
def _extreme_kernel(greatest: bool) -> Any:
    @launch.device
    def better(v: Any, k: int, a: Any, best: int) -> bool:
        """Whether element k with value v goes before the best so far; NaN is best of all."""
        if v != v:
            return (a == a) or (k < best)
        if a != a:
            return False
        return ((v > a) if greatest else (v < a)) or (v == a and k < best)

    @launch.kernel
    def find(out: Any, x: Any, n: int) -> None:
        held = cuda.shared.array(FOLDING, int64)
        r, t = cuda.blockIdx.x, cuda.threadIdx.x
        base = r * n
        best = -1
        for k in range(t, n, FOLDING):
            if best < 0 or better(x[base + k], k, x[base + best], best):
                best = k
        held[t] = best
        cuda.syncthreads()
        half = FOLDING // 2
        while half > 0:
            if t < half:
                k = held[t + half]
                best = held[t]
                if k >= 0 and (best < 0 or better(x[base + k], k, x[base + best], best)):
                    held[t] = k
            cuda.syncthreads()
            half = half // 2
        if t == 0:
            out[r] = held[0]

    return find


def _extreme(x: Any, axis: int | None, greatest: bool) -> tuple[Any, Any]:
    """(rows, the first place of the extreme of each)."""
    rows = _rows(x, axis)
    places = arrays.empty((rows.shape[0], 1), np.int64)
    launch.rows(_extreme_kernel(greatest), rows.shape[0], places, rows, rows.shape[1])
    return rows, places


@launch.kernel
def _pick(count: int, values: Any, rows: Any, places: Any, n: int, k: int) -> None:
    i = cuda.grid(1)
    while i < count:
        values[i] = rows[(i // k) * n + places[i]]
        i = launch.following(i, count)


def _give(outs: Any, rows: Any, places: Any, axis: int) -> None:
    """Write the elements of ``rows`` at ``places`` [rows, k], and the places."""
    values, indices = outs
    k = places.shape[1]
    found = arrays.empty(places.shape, rows.dtype)
    launch.each(_pick, found.size, found, rows, places, rows.shape[1], k)
    for out, made in ((values, found), (indices, places)):
        if out.ndim and out.size == made.size and k != 1:
            shape = [n for i, n in enumerate(out.shape) if i != axis]
            moved = Array(made.flat, (*shape, k)).moved(-1 % (len(shape) + 1), axis)
            arrays.assign(out, moved)
        else:
            arrays.assign(out, Array(made.flat, out.shape))


@in_float32
def argmax(out: Any, x: Any, *, axis: int | None, keepdims: bool) -> None:
    """The first place of the greatest element; nan counts as the greatest."""
    arrays.assign(out, Array(_extreme(x, axis, True)[1].flat, out.shape))


@in_float32
def argmin(out: Any, x: Any, *, axis: int | None, keepdims: bool) -> None:
    """The first place of the least element; nan counts as the least."""
    arrays.assign(out, Array(_extreme(x, axis, False)[1].flat, out.shape))


@in_float32
def max_with_index(outs: Any, x: Any, *, axis: int, keepdims: bool) -> None:
    """The greatest element along ``axis`` and its first place."""
    _give(outs, *_extreme(x, axis, True), axis)


@in_float32
def min_with_index(outs: Any, x: Any, *, axis: int, keepdims: bool) -> None:
    """The least element along ``axis`` and its first place."""
    _give(outs, *_extreme(x, axis, False), axis)


@in_float32
def sort(outs: Any, x: Any, *, axis: int, descending: bool, stable: bool) -> None:
    """Sorted values and their former places; nan is greatest."""
    rows = _rows(x, axis)
    _give(outs, rows, sort_rows(rows, descending)[1], axis)


def _columns(places: Any, start: int, count: int) -> Any:
    """A dense copy of some columns."""
    return arrays.dense(places.part(1, start, count))


@in_float32
def topk(outs: Any, x: Any, *, k: int, axis: int, largest: bool) -> None:
    """The ``k`` greatest (least) elements in order, and their places; of equal ones the first."""
    if not outs[0].size:
        return
    rows = _rows(x, axis)
    _give(outs, rows, _columns(sort_rows(rows, largest)[1], 0, k), axis)


@in_float32
def kthvalue(outs: Any, x: Any, *, k: int, axis: int, keepdims: bool) -> None:
    """The ``k``-th least element along ``axis`` and its place."""
    rows = _rows(x, axis)
    _give(outs, rows, _columns(sort_rows(rows, False)[1], k - 1, 1), axis)


@launch.kernel
def _middle(count: int, out: Any, keys: Any, order: Any, n: int, numbers_only: int) -> None:
    """One thread for each sorted row: the place of its lower median."""
    r = cuda.grid(1)
    while r < count:
        base = r * n
        low, high = 0, n
        while low < high:  # NaN come last
            half = (low + high) // 2
            if keys[base + half] == keys[base + half]:
                low = half + 1
            else:
                high = half
        if numbers_only:
            k = (low - 1) // 2 if low > 0 else 0
        else:
            k = (n - 1) // 2 if low == n else low
        out[r] = order[base + k]
        r = launch.following(r, count)


def _median(outs: Any, x: Any, axis: int, numbers_only: int) -> None:
    rows = _rows(x, axis)
    keys, order = sort_rows(rows, False)
    places = arrays.empty((rows.shape[0], 1), np.int64)
    launch.each(_middle, rows.shape[0], places, keys, order, rows.shape[1], numbers_only)
    _give(outs, rows, places, axis)


@in_float32
def median_with_index(outs: Any, x: Any, *, axis: int, keepdims: bool) -> None:
    """The lower median along ``axis`` and its place; nan where one is met."""
    _median(outs, x, axis, 0)


@in_float32
def nanmedian_with_index(outs: Any, x: Any, *, axis: int, keepdims: bool) -> None:
    """The lower median of the elements that are numbers, and its place."""
    _median(outs, x, axis, 1)


@launch.kernel
def _commonest(count: int, out: Any, keys: Any, order: Any, n: int) -> None:
    r = cuda.grid(1)
    while r < count:
        base = r * n
        best, longest, length = 0, 0, 0
        for k in range(n):
            length = length + 1 if k > 0 and keys[base + k] == keys[base + k - 1] else 1
            if length > longest:
                longest = length
                best = k
        out[r] = order[base + best]
        r = launch.following(r, count)


@in_float32
def mode_with_index(outs: Any, x: Any, *, axis: int, keepdims: bool) -> None:
    """The least of the commonest values along ``axis`` and its last place."""
    rows = _rows(x, axis)
    keys, order = sort_rows(rows, False)
    places = arrays.empty((rows.shape[0], 1), np.int64)
    launch.each(_commonest, rows.shape[0], places, keys, order, rows.shape[1])
    _give(outs, rows, places, axis)


@launch.kernel
def _search(
    count: int, out: Any, boundaries: Any, values: Any, n: int, each: int, right: int
) -> None:
    """``each`` values for each row of boundaries; 0 where all share one row."""
    i = cuda.grid(1)
    while i < count:
        base = (i // each) * n if each > 0 else 0
        value = values[i]
        low, high = 0, n
        while low < high:
            half = (low + high) // 2
            b = boundaries[base + half]
            if right:
                goes = (b <= value) or (value != value)
            else:
                goes = (b < value) or ((value != value) and (b == b))
            if goes:
                low = half + 1
            else:
                high = half
        out[i] = low
        i = launch.following(i, count)


@in_float32
def searchsorted(out: Any, boundaries: Any, values: Any, *, right: bool) -> None:
    """Where each of ``values`` would be inserted into the sorted last axis of ``boundaries``."""
    n = boundaries.shape[-1]
    rows = math.prod(boundaries.shape[:-1])
    each = values.size // max(rows, 1) if boundaries.ndim > 1 else 0
    flat = arrays.dense(boundaries).flat
    launch.each(_search, out.size, out, flat, arrays.dense(values).flat, n, each, int(right))
