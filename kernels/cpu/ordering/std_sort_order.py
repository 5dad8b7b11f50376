"""The order in which C++'s ``std::sort`` and ``std::nth_element`` leave equal elements.

They are not stable, but what they do is determined: quicksort on the median of three, heaps where
that goes too deep, insertion at the end. Keys are int64; each moves with its index. An order is a
range ``[first, last)`` of the two arrays.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from mindtorch.kernels.codegen.jit import kernel

_SHORT = 16  # ranges up to this length are left to the insertion sort
SIGN = np.int64(np.iinfo(np.int64).max)


def keys_of(x: Any, descending: bool) -> Any:
    """int64 with the order of ``x``, in which nan is the greatest and both zeros are equal."""
    if x.dtype.kind in "fV":
        wide: Any = np.float64 if x.dtype.itemsize == 8 else np.float32
        row = np.ascontiguousarray(x, wide).reshape(-1)
        keys = np.empty(x.shape, np.int64)
        word: Any = np.int64 if wide is np.float64 else np.int32
        infinity = int(np.array(np.inf, wide).view(word))
        limit = int(np.iinfo(word).max)
        _float_keys(keys.reshape(-1), row.view(word), limit, infinity, descending)
        return keys
    elif x.dtype == np.uint64:
        keys = (x ^ np.uint64(1 << 63)).view(np.int64)
    else:
        keys = x.astype(np.int64)
    return ~keys if descending else keys


@kernel
def _float_keys(keys: Any, bits: Any, limit: int, infinity: int, descending: bool) -> None:
    flips = -1 if descending else 0
    for i in range(keys.size):
        magnitude = np.int64(bits[i]) & limit
        key = magnitude
        if bits[i] < 0 and magnitude != 0:
            key = ~magnitude
        if magnitude > infinity:
            key = SIGN
        keys[i] = key ^ flips


@kernel
def _swap(keys: Any, places: Any, i: int, j: int) -> None:
    keys[i], keys[j] = keys[j], keys[i]
    places[i], places[j] = places[j], places[i]


@kernel
def _sift(keys: Any, places: Any, first: int, hole: int, length: int, key: int, at: int) -> None:
    """Put (key, at) into the heap of ``length`` elements whose element ``hole`` is empty."""
    top = hole
    child = hole
    while child < (length - 1) // 2:
        child = 2 * (child + 1)
        if keys[first + child] < keys[first + child - 1]:
            child -= 1
        keys[first + hole], places[first + hole] = keys[first + child], places[first + child]
        hole = child
    if length % 2 == 0 and child == (length - 2) // 2:
        child = 2 * (child + 1) - 1
        keys[first + hole], places[first + hole] = keys[first + child], places[first + child]
        hole = child
    parent = (hole - 1) // 2
    while hole > top and keys[first + parent] < key:
        keys[first + hole], places[first + hole] = keys[first + parent], places[first + parent]
        hole = parent
        parent = (hole - 1) // 2
    keys[first + hole], places[first + hole] = key, at


@kernel
def _select_by_heap(keys: Any, places: Any, first: int, middle: int, last: int) -> None:
    """The least elements of the range into a heap at its begin."""
    length = middle - first
    for parent in range((length - 2) // 2, -1, -1):
        if length > 1:
            _sift(keys, places, first, parent, length, keys[first + parent], places[first + parent])
    for i in range(middle, last):
        if keys[i] < keys[first]:
            key, at = keys[i], places[i]
            keys[i], places[i] = keys[first], places[first]
            _sift(keys, places, first, 0, length, key, at)


@kernel
def sort_partly(keys: Any, places: Any, first: int, middle: int, last: int) -> None:
    """The least elements of the range, in order, at its begin."""
    _select_by_heap(keys, places, first, middle, last)
    while middle - first > 1:
        middle -= 1
        key, at = keys[middle], places[middle]
        keys[middle], places[middle] = keys[first], places[first]
        _sift(keys, places, first, 0, middle - first, key, at)


@kernel
def _partition(keys: Any, places: Any, first: int, last: int) -> int:
    """Split the range at the median of three of its elements; where the second part begins."""
    a, b, c = first + 1, first + (last - first) // 2, last - 1
    if keys[a] < keys[b]:
        if keys[b] < keys[c]:
            pivot = b
        elif keys[a] < keys[c]:
            pivot = c
        else:
            pivot = a
    elif keys[a] < keys[c]:
        pivot = a
    elif keys[b] < keys[c]:
        pivot = c
    else:
        pivot = b
    _swap(keys, places, first, pivot)
    i, j = first + 1, last
    while True:
        while keys[i] < keys[first]:
            i += 1
        j -= 1
        while keys[first] < keys[j]:
            j -= 1
        if i >= j:
            return i
        _swap(keys, places, i, j)
        i += 1


@kernel
def insert(keys: Any, places: Any, first: int, last: int) -> None:
    """Insertion sort of the range."""
    for i in range(first + 1, last):
        key, at = keys[i], places[i]
        j = i
        while j > first and key < keys[j - 1]:
            keys[j], places[j] = keys[j - 1], places[j - 1]
            j -= 1
        keys[j], places[j] = key, at


@kernel
def _depth(length: int) -> int:
    depth = 0
    while length > 1:
        length >>= 1
        depth += 2
    return depth


@kernel
def _sort(keys: Any, places: Any, first: int, last: int) -> None:
    """``std::sort``."""
    starts, ends, depths = np.empty(256, np.int64), np.empty(256, np.int64), np.empty(256, np.int64)
    waiting = 1
    starts[0], ends[0], depths[0] = first, last, _depth(last - first)
    while waiting:
        waiting -= 1
        begin, end, depth = starts[waiting], ends[waiting], depths[waiting]
        while end - begin > _SHORT:
            if depth == 0:
                sort_partly(keys, places, begin, end, end)
                break
            depth -= 1
            cut = _partition(keys, places, begin, end)
            starts[waiting], ends[waiting], depths[waiting] = cut, end, depth
            waiting += 1
            end = cut
    insert(keys, places, first, last)


@kernel
def select(keys: Any, places: Any, first: int, nth: int, last: int) -> None:
    """``std::nth_element``."""
    depth = _depth(last - first)
    while last - first > 3:
        if depth == 0:
            _select_by_heap(keys, places, first, nth + 1, last)
            _swap(keys, places, first, nth)
            return
        depth -= 1
        cut = _partition(keys, places, first, last)
        if cut <= nth:
            first = cut
        else:
            last = cut
    insert(keys, places, first, last)


@kernel
def sort_rows(keys: Any, places: Any, begin: int, end: int) -> None:
    """Sort rows ``begin`` to ``end`` of both matrices, as ``std::sort`` does."""
    for r in range(begin, end):
        _sort(keys[r], places[r], 0, keys.shape[1])


@kernel
def select_rows(keys: Any, places: Any, k: int, begin: int, end: int) -> None:
    """The least ``k`` of each row to its begin, in order, as PyTorch's topk finds them."""
    length = keys.shape[1]
    for r in range(begin, end):
        if k * 64 <= length:
            sort_partly(keys[r], places[r], 0, k, length)
        else:
            select(keys[r], places[r], 0, k - 1, length)
            _sort(keys[r], places[r], 0, k - 1)


@kernel
def _exchange(keys: Any, places: Any, a: int, b: int) -> None:
    keys[a], keys[b] = keys[b], keys[a]
    places[a], places[b] = places[b], places[a]


@kernel
def select_one(keys: Any, places: Any, k: int) -> None:
    """Hoare's selection with the median of three: the ``k``-th least key comes to place ``k``."""
    left, right = 0, len(keys) - 1
    while right > left + 1:
        _exchange(keys, places, left + (right - left) // 2, left + 1)
        if keys[left + 1] > keys[right]:
            _exchange(keys, places, left + 1, right)
        if keys[left] > keys[right]:
            _exchange(keys, places, left, right)
        if keys[left + 1] > keys[left]:
            _exchange(keys, places, left + 1, left)
        low, high, pivot = left + 1, right, keys[left]
        while True:
            low += 1
            while pivot > keys[low]:
                low += 1
            high -= 1
            while keys[high] > pivot:
                high -= 1
            if high < low:
                break
            _exchange(keys, places, low, high)
        _exchange(keys, places, left, high)
        if high <= k:
            left = low
        if high >= k:
            right = high - 1
    if right == left + 1 and keys[left] > keys[right]:
        _exchange(keys, places, left, right)


@kernel
def kth_places(keys: Any, k: int) -> Any:
    """Where the ``k``-th least of each row is; of equal ones as PyTorch's selection leaves them."""
    found = np.empty(len(keys), np.int64)
    for r in range(len(keys)):
        places = np.arange(keys.shape[1])
        select_one(keys[r], places, k)
        found[r] = places[k]
    return found
