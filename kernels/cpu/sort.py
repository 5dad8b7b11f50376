"""Order: extremes with their places, sorting, unique values, bins."""

from __future__ import annotations

import functools
import math
from typing import Any

import numpy as np

from .cat_flip_roll_pad import dense
from .elementwise import Operand
from .ordering import searchsorted as searching
from .ordering import selection
from .ordering.std_sort_order import keys_of, kth_places, select_rows, sort_rows
from .strided_copy import planned
from .sums.cascade_sum import result_strides
from .threads.thread_pool import parallel_for
from .via_float32 import is_half, widened


def argmax(out: Any, x: Any, *, axis: int | None, keepdims: bool) -> None:
    """The first place of the greatest element; nan counts as the greatest."""
    _place(out, x, axis, np.argmax)


def argmin(out: Any, x: Any, *, axis: int | None, keepdims: bool) -> None:
    """The first place of the least element; nan counts as the least."""
    _place(out, x, axis, np.argmin)


def _place(out: Any, x: Any, axis: int | None, find: Any) -> None:
    if not x.ndim:
        out[...] = 0
        return
    out[...] = find(_comparable(x), axis).reshape(out.shape)


def _comparable(x: Any) -> Any:
    """16-bit numbers as float32: numpy compares them one by one."""
    return widened(x) if is_half(x) else x


def max_with_index(outs: Any, x: Any, *, axis: int, keepdims: bool) -> None:
    """The greatest element along ``axis`` and its first place."""
    _choose(outs, x, axis, np.argmax)


def min_with_index(outs: Any, x: Any, *, axis: int, keepdims: bool) -> None:
    """The least element along ``axis`` and its first place."""
    _choose(outs, x, axis, np.argmin)


def _choose(outs: Any, x: Any, axis: int, find: Any) -> None:
    values, indices = outs
    if not x.ndim:
        values[...] = x
        indices[...] = 0
        return
    places = find(_comparable(x), axis)
    indices[...] = places.reshape(indices.shape)
    if axis == x.ndim - 1 and x.flags.c_contiguous:
        n = x.shape[-1]
        found = x.reshape(-1)[places.reshape(-1) + np.arange(0, x.size, n)]
    else:
        found = np.take_along_axis(x, np.expand_dims(places, axis), axis)
    values[...] = found.reshape(values.shape)


def _middle_place(x: Any, axis: int) -> Any:
    """Where a stable sort finds the lower median."""
    middle = (x.shape[axis] - 1) // 2
    value = np.take(np.partition(x, middle, axis), [middle], axis)
    equal = x == value
    earlier = middle - np.count_nonzero(x < value, axis, keepdims=True)
    if earlier.any():
        equal &= np.cumsum(equal, axis) > earlier
    return np.argmax(equal, axis)


def median_with_index(outs: Any, x: Any, *, axis: int, keepdims: bool) -> None:
    """The lower median along ``axis`` and its place; nan where one is met."""

    def find(x: Any, axis: int) -> Any:
        place = _middle_place(x, axis)
        if x.dtype.kind == "f":
            bad = np.isnan(x)
            place = np.where(bad.any(axis), np.argmax(bad, axis), place)
        return place

    _choose(outs, x, axis, find)


def nanmedian_with_index(outs: Any, x: Any, *, axis: int, keepdims: bool) -> None:
    """The lower median of the elements that are numbers, and its place."""

    def find(x: Any, axis: int) -> Any:
        if x.dtype.kind != "f" or not np.isnan(x).any():
            return _middle_place(x, axis)
        order = np.argsort(x, axis, kind="stable")
        count = np.sum(~np.isnan(x), axis, keepdims=True) if x.dtype.kind == "f" else x.shape[axis]
        at = np.maximum((count - 1) // 2, 0)
        shape = [*x.shape]
        shape[axis] = 1
        at = np.broadcast_to(at, shape)
        return np.take_along_axis(order, at, axis).squeeze(axis)

    _choose(outs, x, axis, find)


def mode_with_index(outs: Any, x: Any, *, axis: int, keepdims: bool) -> None:
    """The least of the commonest values along ``axis`` and its last place."""

    def find_row(row: Any) -> int:
        values, counts = np.unique(row, return_counts=True)
        return int(np.flatnonzero(row == values[np.argmax(counts)])[-1])

    _choose(outs, x, axis, lambda x, axis: np.apply_along_axis(find_row, axis, x))


def sort(outs: Any, x: Any, *, axis: int, descending: bool, stable: bool) -> None:
    """Sorted values and their former places; nan is greatest.

    Equal elements keep their order, or (not ``stable``) come as C++'s ``std::sort`` leaves them.
    """
    values, indices = outs
    if not x.ndim:
        values[...] = x
        indices[...] = 0
        return
    radix = x.ndim == 1 and x.dtype.kind in "iu" and x.size >= _RADIX and not descending
    if stable or radix or x.shape[axis] <= _INSERTION:
        order = order_of(x, axis, descending)
    else:
        order = _unstable(x, axis, descending, None)
    indices[...] = order
    values[...] = _taken(x, order, axis)


# up to this length an unstable sort is stable; integers from that length on are sorted by digits
_INSERTION, _RADIX = 16, 32768


def _unstable(x: Any, axis: int, descending: bool, k: int | None) -> Any:
    """The order along ``axis``, of the first ``k`` only if that is given."""
    last = axis == x.ndim - 1
    rows = x if last else np.moveaxis(x, axis, -1)
    length = rows.shape[-1]
    keys = np.ascontiguousarray(keys_of(rows, descending)).reshape(-1, length)
    places = np.empty_like(keys)
    places[:] = np.arange(length)

    def part(begin: int, end: int) -> None:
        if k is None:
            sort_rows(keys, places, begin, end)
        else:
            select_rows(keys, places, k, begin, end)

    parallel_for(len(keys), part, smallest=max(1, 16384 // length))
    found = places if k is None else places[:, :k]
    found = found.reshape(*rows.shape[:-1], found.shape[-1])
    return found if last else np.moveaxis(found, -1, axis)


def _taken(x: Any, order: Any, axis: int) -> Any:
    """The elements of ``x`` in this order along ``axis``."""
    if axis != x.ndim - 1 or not x.flags.c_contiguous:
        return np.take_along_axis(x, order, axis)
    length, rows = x.shape[-1], x.reshape(-1)
    if x.size == length:
        return rows[order]
    starts = np.arange(0, x.size, length).reshape(*x.shape[:-1], 1)
    return rows[order + starts]


def order_of(x: Any, axis: int, descending: bool) -> Any:
    """The stable order of ``x`` along ``axis``."""
    found = _order_in_words(x, axis, descending)
    if found is not None:
        return found
    x = _comparable(x)
    if not descending:
        return np.argsort(x, axis, kind="stable")
    backwards = np.flip(x, axis)
    order = np.flip(np.argsort(backwards, axis, kind="stable"), axis)
    return x.shape[axis] - 1 - order


_WORTH_WORDS = 512  # elements


def _order_in_words(x: Any, axis: int, descending: bool) -> Any:
    """:func:`order_of` where a key and its place fit into one number: numbers are sorted by
    vectors, and places in their lower bits keep equal keys apart. None where they do not fit."""
    if x.size < _WORTH_WORDS or x.dtype.kind not in "fiu":
        return None
    keys = keys_of(np.moveaxis(x, axis, -1), descending)
    length = keys.shape[-1]
    low, bits = int(keys.min()), (length - 1).bit_length()
    if (int(keys.max()) - low).bit_length() + bits > 63:
        return None
    words = keys - low
    words <<= bits
    words |= np.arange(length)
    words.sort(-1)
    words &= (1 << bits) - 1
    return np.moveaxis(words, -1, axis)


def topk(outs: Any, x: Any, *, k: int, axis: int, largest: bool) -> None:
    """The ``k`` greatest (least) elements in order, and their places; of equal ones as PyTorch."""
    values, indices = outs
    if not x.ndim:
        values[...] = x
        indices[...] = 0
        return
    if not values.size:
        return
    if k == 1 and x.shape[axis] >= 64:
        first = np.argmax(_comparable(x), axis) if largest else np.argmin(keys_of(x, False), axis)
        order = np.expand_dims(first, axis)
    else:
        order = _unstable(x, axis, largest, k)
    indices[...] = order
    values[...] = _taken(x, order, axis)


def greatest_of_rows(x: Any, k: int) -> Any:
    """The places of the ``k`` greatest elements of each row, in order."""
    values, places = np.empty((len(x), k), x.dtype), np.empty((len(x), k), np.int64)
    run = _row_plan(len(x), x.shape[1], k, x.dtype)
    if run is None:
        topk((values, places), x, k=k, axis=1, largest=True)
    else:
        run(values.reshape(-1), places.reshape(-1), x.reshape(-1))
    return places


@functools.lru_cache(maxsize=64)
def _row_plan(rows: int, length: int, k: int, dtype: Any) -> Any:
    outs = [Operand((rows, k), (k, 1), kind) for kind in (dtype, np.dtype(np.int64))]
    x = Operand((rows, length), (length, 1), dtype)
    return _topk_plan(outs, (x,), k=k, axis=1, largest=True)


def kthvalue(outs: Any, x: Any, *, k: int, axis: int, keepdims: bool) -> None:
    """The ``k``-th least element along ``axis`` and its place."""

    def find(x: Any, axis: int) -> Any:
        rows = np.moveaxis(x, axis, -1)
        keys = np.array(keys_of(rows, False), order="C").reshape(-1, rows.shape[-1])
        return kth_places(keys, k - 1).reshape(rows.shape[:-1])

    _choose(outs, x, axis, find)


def _extreme_plan(greatest: bool) -> Any:
    def plan(outs: Any, ins: Any, *, axis: int | None, keepdims: bool) -> Any:
        return selection.extreme(outs, ins[0], axis, greatest)

    return plan


def _middle_plan(how: int) -> Any:
    def plan(outs: Any, ins: Any, *, axis: int, keepdims: bool) -> Any:
        x = ins[0]
        found = selection.ranking(outs, x, axis, how)
        if found is None and how == selection.MEDIAN and len(x.shape) == 1 and x.shape[0] and (
            dense(x) and x.dtype in _PARTED
        ):
            return _median_of_one(x)
        return found

    return plan


_PARTED = (np.dtype(np.float32), np.dtype(np.float64), np.dtype(np.int32), np.dtype(np.int64))


def _median_of_one(x: Any) -> Any:
    """The median of one row, with its place; ``alone``: its value, where nobody asks for that."""
    middle = (x.shape[0] - 1) // 2
    shape = x.shape

    def run(values: Any, indices: Any, source: Any) -> None:
        outs = values.reshape(()), indices.reshape(())
        median_with_index(outs, source.reshape(shape), axis=0, keepdims=False)

    def alone(values: Any, source: Any) -> None:
        kept = np.partition(source, middle)
        behind = kept[middle:]  # where all nan are
        nan = kept.dtype.kind == "f" and np.count_nonzero(behind != behind)
        values[0] = np.nan if nan else kept[middle]

    made: Any = run
    made.alone = alone
    return made


def _sort_plan(outs: Any, ins: Any, *, axis: int, descending: bool, stable: bool) -> Any:
    x = ins[0]
    n = x.shape[axis] if x.shape else 1
    how = selection.STABLE if stable or n <= _INSERTION else selection.SORTED
    return selection.ranking(outs, x, axis, how, 0, n, descending)


def _topk_plan(outs: Any, ins: Any, *, k: int, axis: int, largest: bool) -> Any:
    x = ins[0]
    first = k == 1 and (x.shape[axis] if x.shape else 1) >= 64
    how = selection.FIRST if first else selection.LEAST
    if not k:
        return None
    found = selection.ranking(outs, x, axis, how, k, k, largest)
    if found is None and x.shape:
        return _topk_of_rows(outs, x, axis, how, k, largest)
    return found


def _topk_of_rows(outs: Any, x: Any, axis: int, how: int, k: int, largest: bool) -> Any:
    """The plan on a dense copy whose last axis it is; None where the axis lies so already."""
    order = [*(i for i in range(len(x.shape)) if i != axis), axis]
    if order[-1:] == [len(x.shape) - 1] and dense(x):
        return None
    shape = [x.shape[i] for i in order]
    results = [*shape[:-1], k]
    steps, ends = result_strides(shape, ()), result_strides(results, ())
    found, rows_of = [Operand(results, ends, o.dtype) for o in outs], Operand(shape, steps, x.dtype)
    run = selection.ranking(found, rows_of, len(shape) - 1, how, k, k, largest)
    if run is None:
        return None
    bring = planned(shape, steps, [x.strides[i] for i in order], x.dtype)
    back = [planned(results, [o.strides[i] for i in order], ends, o.dtype) for o in outs]
    size, count = math.prod(shape), math.prod(results)

    def run_on_copy(values: Any, indices: Any, source: Any) -> None:
        rows = np.empty(size, x.dtype)
        bring(rows, source)
        parts = [np.empty(count, out.dtype) for out in outs]
        run(*parts, rows)
        for copy, target, part in zip(back, (values, indices), parts, strict=True):
            copy(target, part)

    return run_on_copy


def _kth_plan(outs: Any, ins: Any, *, k: int, axis: int, keepdims: bool) -> Any:
    return selection.ranking(outs, ins[0], axis, selection.KTH, k - 1)


argmax.plan = max_with_index.plan = _extreme_plan(True)
argmin.plan = min_with_index.plan = _extreme_plan(False)
median_with_index.plan = _middle_plan(selection.MEDIAN)
nanmedian_with_index.plan = _middle_plan(selection.NUMBERS)
mode_with_index.plan = _middle_plan(selection.COMMONEST)
sort.plan, topk.plan, kthvalue.plan = _sort_plan, _topk_plan, _kth_plan


def searchsorted(out: Any, boundaries: Any, values: Any, *, right: bool) -> None:
    """Where each of ``values`` would be inserted into the sorted last axis of ``boundaries``."""
    if values.dtype == boundaries.dtype and (
        values.dtype.kind in "iu" or values.dtype in (np.float32, np.float64)
    ):
        searching.places(out, boundaries, values, right)
        return
    side: Any = "right" if right else "left"
    if boundaries.ndim == 1:
        out[...] = np.searchsorted(boundaries, values, side)
        return
    rows = boundaries.reshape(-1, boundaries.shape[-1])
    wanted = values.reshape(rows.shape[0], -1)
    target = out.reshape(rows.shape[0], -1)
    for i, row in enumerate(rows):
        target[i] = np.searchsorted(row, wanted[i], side)


searchsorted.plan = searching.plan
