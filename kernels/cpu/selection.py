"""Places by order in few elements: greatest, least, sorted, middle and commonest ones.

Each loop runs over a dense array seen as (outer, axis, inner) and is bound to its shape, so that a
call costs no more than the loop. Numbers are compared as int64 keys (:mod:`.std_sort_order`), which
are made of the words that an element is stored in; values are copied as words. What has many
elements is left to numpy's vectors.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from mindtorch.kernels.codegen.jit import bound, entry_point, kernel

from .cat_flip_roll_pad import dense, picture
from .std_sort_order import SIGN, _sort, insert, select, select_one, sort_partly

_FEW = 4096  # elements
_STABLE = 64  # up to this length a stable order is made by insertion
FIRST, LEAST, SORTED, STABLE, KTH, MEDIAN, NUMBERS, COMMONEST = range(8)
_WORDS = {
    "float32": ("int32", 0x7FFFFFFF, 0x7F800000),
    "float64": ("int64", 0x7FFFFFFFFFFFFFFF, 0x7FF0000000000000),
    "bool": ("uint8", 0, 0), "uint8": ("uint8", 0, 0), "int8": ("int8", 0, 0),
    "int16": ("int16", 0, 0), "int32": ("int32", 0, 0), "int64": ("int64", 0, 0),
}  # fmt: skip


@kernel
def _key(word: Any, limit: int, infinity: int) -> Any:
    """int64 in the order of the numbers; nan is the greatest. Of integers ``limit`` is 0."""
    key = np.int64(word)
    if limit != 0:
        magnitude = key & limit
        if magnitude > infinity:
            return SIGN
        key = ~magnitude if key < 0 and magnitude != 0 else magnitude
    return key


@kernel
def _chosen(keys: Any, places: Any, n: int, k: int, how: int, nans: bool) -> int:
    """Bring the ``k`` places that are asked for to the begin of ``places``, or say where the one
    is that is."""
    if how == FIRST:
        best = 0
        for j in range(1, n):
            if keys[j] < keys[best]:
                best = j
        return best
    if how == LEAST:
        if k * 64 <= n:
            sort_partly(keys, places, 0, k, n)
        else:
            select(keys, places, 0, k - 1, n)
            _sort(keys, places, 0, k - 1)
        return 0
    if how == SORTED:
        _sort(keys, places, 0, n)
        return 0
    if how == KTH:
        select_one(keys, places, k)
        return k
    insert(keys, places, 0, n)
    numbers = n
    if nans and how != STABLE:
        while numbers > 0 and keys[numbers - 1] == SIGN:
            numbers -= 1
    if how == MEDIAN:
        return (n - 1) // 2 if numbers == n else numbers
    if how == NUMBERS:
        return max(numbers - 1, 0) // 2
    if how == COMMONEST:
        most, found, start = 0, 0, 0
        for j in range(n):
            if keys[j] != keys[start]:
                start = j
            if j - start + 1 > most:
                most, found = j - start + 1, j
        return found
    return 0


@kernel
def _rank(
    values: Any, indices: Any, x: Any, outer: int, n: int, inner: int, k: int, results: int,
    flips: int, limit: int, infinity: int, how: int,
) -> None:  # fmt: skip
    """``results`` values and places of each row; ``flips`` is -1 where the greatest come first."""
    keys, places = np.empty(n, np.int64), np.empty(n, np.int64)
    for row in range(outer * inner):
        o, i = row // inner, row % inner
        start, target = o * n * inner + i, o * results * inner + i
        for j in range(n):
            keys[j] = _key(x[start + j * inner], limit, infinity) ^ flips
            places[j] = j
        found = _chosen(keys, places, n, k, how, limit != 0)
        for j in range(results):
            at = places[found + j]
            values[target + j * inner] = x[start + at * inner]
            indices[target + j * inner] = at


def ranking(
    outs: Any, x: Any, axis: int, how: int, k: int = 0, results: int = 1, descending: bool = False
) -> Callable[..., None] | None:
    """``run(values, indices, x)`` on flat arrays; None where numpy is to do it."""
    words = _WORDS.get(x.dtype.name)
    if words is None or not all(map(dense, (*outs, x))):
        return None
    outer, n, inner = picture(x.shape, axis)
    if outer * n * inner > _FEW or not n or (how in (STABLE, MEDIAN, NUMBERS, COMMONEST) and (
        n > _STABLE
    )):
        return None
    word, limit, infinity = words
    array = f"{word}[::1]"
    run = entry_point(_rank, f"void({array}, int64[::1], {array}, {', '.join(['int64'] * 9)})")
    bounds = (outer, n, inner, k, results, -1 if descending else 0, limit, infinity, how)

    def call(values: Any, indices: Any, source: Any) -> None:
        run(values, indices, source, *bounds)

    return bound(call, run, *bounds)


@kernel
def _after(a: Any, b: Any, greatest: bool) -> bool:
    """Whether ``a``, which comes later, is the extreme of both."""
    return (a > b if greatest else a < b) | ((a != a) & (b == b))


_LANES = 32


@kernel
def _extreme_of_row(row: Any, greatest: bool, lanes: Any) -> Any:
    """The place of a row's extreme, the first of several, or of its first nan.

    Two passes that are made of vectors: which value it is, and where it is met first.
    """
    n, whole = row.size, row.size // _LANES * _LANES
    lanes[:] = row[:_LANES]
    nans = 0
    for start in range(0, whole, _LANES):
        part = row[start : start + _LANES]
        for i in range(_LANES):
            value = part[i]
            lanes[i] = value if (value > lanes[i] if greatest else value < lanes[i]) else lanes[i]
            nans += value != value
    best = lanes[0]
    for i in range(1, _LANES):
        best = lanes[i] if (lanes[i] > best if greatest else lanes[i] < best) else best
    for i in range(whole, n):
        value = row[i]
        best = value if (value > best if greatest else value < best) else best
        nans += value != value
    for j in range(n):
        if row[j] == best if nans == 0 else row[j] != row[j]:
            return j
    return 0


@kernel
def _extreme(
    values: Any, indices: Any, x: Any, outer: int, n: int, inner: int, greatest: bool, keeps: bool
) -> None:
    """The extreme along the axis and its first place; ``keeps``: values are wanted, too."""
    held = np.empty(0 if keeps or inner == 1 else inner, x.dtype)
    lanes = np.empty(_LANES, x.dtype)
    for o in range(outer):
        if inner == 1 and n >= _LANES:
            row = x[o * n : (o + 1) * n]
            at = _extreme_of_row(row, greatest, lanes)
            indices[o] = at
            if keeps:
                values[o] = row[at]
            continue
        if inner == 1:
            row = x[o * n : (o + 1) * n]
            best, at = row[0], 0
            for j in range(1, n):
                if _after(row[j], best, greatest):
                    best, at = row[j], j
            indices[o] = at
            if keeps:
                values[o] = best
            continue
        best_row = values[o * inner : (o + 1) * inner] if keeps else held
        places = indices[o * inner : (o + 1) * inner]
        for j in range(n):
            row = x[(o * n + j) * inner : (o * n + j + 1) * inner]
            for i in range(inner):
                taken = (j == 0) | _after(row[i], best_row[i], greatest)
                best_row[i] = row[i] if taken else best_row[i]
                places[i] = j if taken else places[i]


def extreme(
    outs: Any, x: Any, axis: int | None, greatest: bool
) -> Callable[..., None] | None:
    """``run(values, indices, x)``, or ``run(indices, x)`` for one result, on flat arrays; None
    where numpy is to do it: it is quicker along long rows."""
    if x.dtype.name not in _WORDS or not all(map(dense, (*outs, x))):
        return None
    outer, n, inner = picture(x.shape, axis) if axis is not None else (1, int(np.prod(x.shape)), 1)
    if not n or not x.shape or (inner == 1 and outer * n > _FEW):
        return None
    kind = "uint8" if x.dtype == np.bool_ else x.dtype.name
    array = f"{kind}[::1]"
    keeps = len(outs) == 2
    run = entry_point(
        _extreme, f"void({array}, int64[::1], {array}, int64, int64, int64, boolean, boolean)"
    )
    bounds = (outer, n, inner, greatest, keeps)

    def call(values: Any, indices: Any, source: Any) -> None:
        run(values, indices, source, *bounds)

    if keeps:
        return bound(call, run, *bounds)
    return lambda indices, source: run(source, indices, source, *bounds)
