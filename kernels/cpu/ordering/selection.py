"""Places by order in few elements: greatest, least, sorted, middle and commonest ones.

Each loop runs over a dense array seen as (outer, axis, inner) and is bound to its shape, so that a
call costs no more than the loop. Numbers are compared as int64 keys (:mod:`.std_sort_order`), which
are made of the words that an element is stored in; values are copied as words. What has many
elements is left to numpy's vectors, but for a few of the greatest or least of each row.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from mindtorch.kernels.codegen.jit import bound, entry_point, kernel
from mindtorch.kernels.codegen.typed_scalar import SHORT_FLOATS

from ..cat_flip_roll_pad import dense, picture
from ..threads.thread_pool import parallel_for
from .std_sort_order import SIGN, _sort, insert, select, select_one, sort_partly

_FEW = 4096  # elements
_LEADERS, _CHUNK = 8, 64  # the least keys that are held while a row is read, chunk by chunk
_SERIAL = 65536  # elements that one thread reads sooner than two
_STABLE = 64  # up to this length a stable order is made by insertion
_RANKED = 8, 128  # lengths for which lesser keys are counted sooner than keys are sorted
FIRST, LEAST, SORTED, STABLE, KTH, MEDIAN, NUMBERS, COMMONEST = range(8)
_WORDS = {
    "float32": ("int32", 0x7FFFFFFF, 0x7F800000),
    "float64": ("int64", 0x7FFFFFFFFFFFFFFF, 0x7FF0000000000000),
    "float16": ("int16", 0x7FFF, 0x7C00), "bfloat16": ("int16", 0x7FFF, 0x7F80),
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
def _ranked(keys: Any, places: Any, held: Any, n: int) -> bool:
    """Sort by the number of lesser keys, which vectors count; False, and nothing is done, where
    keys are equal, whose order is another question."""
    known, order, ranks = held[:n], held[n : 2 * n], held[2 * n : 3 * n]
    for i in range(n):
        known[i] = keys[i]
        order[i] = -1
        ranks[i] = 0
    whole = n // 4 * 4
    for j in range(0, whole, 4):
        a, b, c, d = known[j], known[j + 1], known[j + 2], known[j + 3]
        for i in range(ranks.size):
            key = known[i]
            ranks[i] += (a < key) + (b < key) + ((c < key) + (d < key))
    for j in range(whole, n):
        a = known[j]
        for i in range(ranks.size):
            ranks[i] += a < known[i]
    for i in range(n):
        order[np.uint64(ranks[i])] = i
    for i in range(n):
        if order[i] < 0:
            return False
    for i in range(n):
        places[i] = order[i]
        keys[i] = known[np.uint64(order[i])]
    return True


@kernel
def _leading(keys: Any, places: Any, best: Any, k: int, n: int) -> bool:
    """Bring the places of the ``k`` least keys to the begin of ``places``, reading the row once;
    False where keys among them are equal, whose order is another question."""
    held = 0
    for start in range(0, n, _CHUNK):
        chunk = keys[start : min(start + _CHUNK, n)]
        if held > k:
            least = chunk[0]
            for i in range(chunk.size):
                least = min(least, chunk[i])
            if least >= best[k]:
                continue
        for i in range(chunk.size):
            key = chunk[i]
            if held > k and key >= best[k]:
                continue
            j = min(held, k)
            while j > 0 and key < best[j - 1]:
                best[j], places[j] = best[j - 1], places[j - 1]
                j -= 1
            best[j], places[j] = key, start + i
            held = min(held + 1, k + 1)
    apart = True
    for j in range(1, held):
        apart &= best[j] != best[j - 1]
    return apart


@kernel
def _chosen(keys: Any, places: Any, n: int, k: int, how: int, nans: bool, done: bool) -> int:
    """Bring the ``k`` places that are asked for to the begin of ``places``, or say where the one
    is that is. ``done``: they are sorted."""
    if how == FIRST:
        best = 0
        for j in range(1, n):
            if keys[j] < keys[best]:
                best = j
        return best
    if done and how in (LEAST, SORTED, STABLE):
        return 0
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
        if not done:
            select_one(keys, places, k)
        return k
    if not done:
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
    flips: int, limit: int, infinity: int, how: int, first: int, last: int,
) -> None:  # fmt: skip
    """``results`` values and places of rows ``first`` to ``last``; ``flips`` is -1 where the
    greatest come first."""
    keys, places = np.empty(n, np.int64), np.empty(max(n, _LEADERS + 1), np.int64)
    few = how == LEAST and k <= _LEADERS
    counted = how != FIRST and n >= _RANKED[0] and n <= _RANKED[1] and not few
    held = np.empty(3 * n if counted else _LEADERS + 1, np.int64)
    for row in range(first, last):
        o, i = row // inner, row % inner
        start, target = o * n * inner + i, o * results * inner + i
        if inner == 1:
            line = x[start : start + n]
            for j in range(n):
                keys[j] = _key(line[j], limit, infinity) ^ flips
        else:
            for j in range(n):
                keys[j] = _key(x[np.uint64(start + j * inner)], limit, infinity) ^ flips
        done = few and _leading(keys, places, held, k, n)
        if not done:
            for j in range(n):
                places[j] = j
            done = counted and _ranked(keys, places, held, n)
        found = _chosen(keys, places, n, k, how, limit != 0, done)
        for j in range(results):
            at, to = places[np.uint64(found + j)], np.uint64(target + j * inner)
            values[to] = x[np.uint64(start + at * inner)]
            indices[to] = at


def ranking(
    outs: Any, x: Any, axis: int, how: int, k: int = 0, results: int = 1, descending: bool = False
) -> Callable[..., None] | None:
    """``run(values, indices, x)`` on flat arrays; None where numpy is to do it."""
    words = _WORDS.get(x.dtype.name)
    if words is None or not all(map(dense, (*outs, x))):
        return None
    outer, n, inner = picture(x.shape, axis)
    few = how == LEAST and k <= _LEADERS and inner == 1  # columns that lie apart are copied first
    if not n or (outer * n * inner > _FEW and not few) or (
        how in (STABLE, MEDIAN, NUMBERS, COMMONEST) and n > _STABLE
    ):
        return None
    word, limit, infinity = words
    array = f"{word}[::1]"
    run = entry_point(_rank, f"void({array}, int64[::1], {array}, {', '.join(['int64'] * 11)})")
    bounds = (outer, n, inner, k, results, -1 if descending else 0, limit, infinity, how)
    rows = outer * inner

    def call(values: Any, indices: Any, source: Any) -> None:
        run(values, indices, source, *bounds, 0, rows)

    def shared(values: Any, indices: Any, source: Any) -> None:
        def part(first: int, last: int) -> None:
            run(values, indices, source, *bounds, first, last)

        parallel_for(rows, part, max(1, _SERIAL // n))

    return shared if rows * n > _SERIAL else bound(call, run, *bounds, 0, rows)


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
    if x.dtype.name not in _WORDS or x.dtype in SHORT_FLOATS:
        return None
    if not all(map(dense, (*outs, x))):
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
