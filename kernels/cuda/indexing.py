"""Reading and writing at places named by indices, for CUDA.

    picture   every op makes the flat place of each element first (int64), then one thread for each
              element reads or writes there. Where several elements meet in a place, the places are
              sorted (stably) and the first of each run folds its run in order
    memory    places, and for folds their sorted copy, in global memory
    sync      none within a launch
    sizes     any
An index out of range is left out and reported (see ``faults``). Folds are deterministic: the order
in a place is that of the sources, as on the CPU. Of several writes to one place the last one wins.
"""

from __future__ import annotations

import functools
import math
from typing import Any

import numpy as np

from mindtorch.kernels.cpu.indexing import _begin

from . import arrays, errors, launch
from .arrays import Array
from .cumulative import cumsum
from .elementwise import plan
from .fast_division import along, divisors, over
from .float_bits import NAMESPACE
from .launch import cuda
from .merge_sort import sort_rows
from .via_float32 import flat

_COMBINE = {
    "sum": "a + x", "mean": "a + x", "prod": "a * x", "amax": "greater(x, a)",
    "amin": "lesser(x, a)", "last": "x", "either": "a | x",
}  # fmt: skip


# --- places ----------------------------------------------------------------------------------


@launch.kernel
def _add_index(
    count: int, places: Any, index: Any, n: int, inner: int, size: int, step: int, fault: Any,
    by_inner: Any, by_n: Any,
) -> None:  # fmt: skip
    """``places[i] += index[(i // inner) % n] * step``; -1 for an index outside of ``size``."""
    i = cuda.grid(1)
    while i < count:
        at = index[along(i, inner, n, by_inner, by_n)]
        if at < 0:
            at += size
        if at < 0 or at >= size:
            fault[0] = 1
            places[i] = -1
        elif places[i] >= 0:
            places[i] += at * step
        i = launch.following(i, count)


@launch.kernel
def _add_axis(
    count: int, places: Any, n: int, inner: int, step: int, by_inner: Any, by_n: Any
) -> None:
    i = cuda.grid(1)
    while i < count:
        if places[i] >= 0:
            places[i] += along(i, inner, n, by_inner, by_n) * step
        i = launch.following(i, count)


def _start(size: int) -> Any:
    return arrays.zeros((size,), np.int64).flat


def _by_axis(places: Any, shape: Any, axis: int, step: int) -> None:
    """Add the coordinate along ``axis`` times ``step``."""
    size = math.prod(shape)
    inner = math.prod(shape[axis + 1 :])
    launch.each(_add_axis, size, places, shape[axis], inner, step,
                *divisors(size, inner, shape[axis]))  # fmt: skip


def _by_index(places: Any, index: Any, shape: Any, size: int, step: int, axis: int = 0) -> None:
    """Add ``index`` (its axes are those of ``shape`` from ``axis`` on) times ``step``."""
    inner = math.prod(shape[axis + index.ndim :])
    flat = arrays.dense(index).flat
    total, n = math.prod(shape), max(index.size, 1)
    launch.each(_add_index, total, places, flat, n, inner, size, step, errors.cell(),
                *divisors(total, inner, n))  # fmt: skip


def _indexed(x: Any, indices: Any) -> tuple[Any, tuple[int, ...]]:
    """(places in dense ``x``, shape) of ``x[indices]``; None in indices takes the whole axis."""
    strides = arrays.dense_strides(x.shape)
    given = [i for i, index in enumerate(indices) if index is not None]
    common = np.broadcast_shapes(*[indices[i].shape for i in given])
    rest = [i for i in range(x.ndim) if i not in given]
    adjacent = given == list(range(given[0], given[0] + len(given)))
    first = given[0] if adjacent else 0
    before, after = rest[:first], rest[first:]
    shape = (*[x.shape[i] for i in before], *common, *[x.shape[i] for i in after])
    places = _start(math.prod(shape))
    for k, i in enumerate(before):
        _by_axis(places, shape, k, strides[i])
    for k, i in enumerate(after):
        _by_axis(places, shape, len(before) + len(common) + k, strides[i])
    for i in given:
        index = indices[i].expand(common)
        _by_index(places, index, shape, x.shape[i], strides[i], len(before))
    return places, shape


def _along(x: Any, index: Any, axis: int) -> Any:
    """Places in dense ``x`` that ``index`` names along ``axis``, the other axes being its own."""
    if not x.ndim:
        x, index = Array(x.flat, (1,)), Array(index.flat, (1,))
    if not index.ndim:
        index = Array(index.flat, (1,))
    strides = arrays.dense_strides(x.shape)
    places = _start(index.size)
    for i in range(index.ndim):
        if i != axis:
            _by_axis(places, index.shape, i, strides[i])
    _by_index(places, index, index.shape, x.shape[axis], strides[axis])
    return places


def _slices(x: Any, index: Any, axis: int) -> tuple[Any, tuple[int, ...]]:
    """(places, shape) of the slices of dense ``x`` at ``index`` along ``axis``."""
    rows = Array(arrays.dense(index).flat, (index.size,))
    if not x.ndim:
        return _indexed(Array(x.flat, (1,)), [rows])
    return _indexed(x, [rows if i == axis else None for i in range(axis + 1)])


# --- reading and writing -----------------------------------------------------------------------


@launch.kernel
def _read(count: int, out: Any, x: Any, places: Any) -> None:
    i = cuda.grid(1)
    while i < count:
        if places[i] >= 0:
            out[i] = x[places[i]]
        i = launch.following(i, count)


def take_places(out: Any, x: Any, places: Any) -> None:
    """``out[i] = x[places[i]]`` for dense arrays."""
    launch.each(_read, out.size, words(out.flat), words(arrays.dense(x).flat), places)


def words(flat: Any) -> Any:
    """16-bit floats as bits: they are moved, not computed with."""
    if flat.dtype.itemsize == 2 and flat.dtype.kind not in "iu":
        return flat.view(np.uint16)
    return flat


@functools.cache
def _slice_kernel(name: str) -> Any:
    """One thread for each element of the slices that are given; that of a run's first slice folds
    the elements of all slices of the run."""
    source = (
        "def fold(count, out, keys, order, values, step, n, inner, size, by_inner, by_n):\n"
        "    i = cuda.grid(1)\n    while i < count:\n"
        "        q = over(i, by_inner)\n        column = i - q * inner\n"
        "        outer = over(q, by_n)\n        k = q - outer * n\n        row = keys[k]\n"
        "        if row >= 0 and (k == 0 or keys[k - 1] != row):\n"
        "            place = (outer * size + row) * inner + column\n"
        "            a = out[place]\n            while k < n and keys[k] == row:\n"
        "                x = values[((outer * n + order[k]) * inner + column) * step]\n"
        f"                a = {_COMBINE[name]}\n                k += 1\n"
        "            out[place] = a\n        i = following(i, count)\n"
    )
    return launch.from_source(source, "fold", {**NAMESPACE, "over": over})


def fold_slices(out: Array, keys: Any, order: Any, values: Any, axis: int, name: str) -> None:
    """Fold slices along ``axis`` of dense ``out`` with those that ``values`` holds in order.

    Args:
        keys: for each slice of ``values`` that of ``out``, sorted; -1 for none.
        order: where each of them lies in ``values``.
        values: flat; one element stands for all.
    """
    n, inner = keys.size, math.prod(out.shape[axis + 1 :])
    count = math.prod(out.shape[:axis]) * n * inner
    step = 0 if values.size == 1 and count > 1 else 1
    numbers = (step, n, inner, out.shape[axis], *divisors(count, inner, n))
    if name == "sum" and out.dtype == np.bool_:
        name = "either"
    kernel = _slice_kernel(name)
    if name == "last" or out.dtype.itemsize != 2 or out.dtype.kind in "iu":
        launch.each(kernel, count, words(out.flat), keys, order, words(values), *numbers)
        return
    wide = arrays.cast(out, np.float32)
    given = arrays.cast(Array(values, (values.size,)), np.float32)
    launch.each(kernel, count, wide, keys, order, given, *numbers)
    arrays.assign(out, wide)


def fold_places(out: Any, places: Any, values: Any, name: str) -> None:
    """``out[places[i]] = fold(out[places[i]], values[i])``, in the order of i, flat arrays.

    ``values`` may be one element for all.
    """
    if places.size:
        keys, order = sort_rows(Array(places, (1, places.size)), False)
        fold_slices(Array(out, (out.size,)), keys, order, values, 0, name)


def _value(source: Any, shape: Any, dtype: Any) -> Any:
    """The elements of ``source`` broadcast to ``shape`` (or cut to it), dense, of ``dtype``."""
    if source.size == 1:
        return arrays.cast(Array(source.flat, (1,)), dtype).flat[:1]
    if source.ndim == len(shape) and any(n > m for n, m in zip(source.shape, shape, strict=True)):
        for axis, n in enumerate(shape):
            source = source.part(axis, 0, n)
    elif source.shape != tuple(shape):
        while source.ndim > len(shape):
            source = Array(source.flat, source.shape[1:], source.strides[1:])
        source = source.expand(shape)
    return arrays.cast(source, dtype).flat


def index(out: Any, x: Any, *indices: Any) -> None:
    """``out = x[indices]``; None takes the whole axis."""
    places, _ = _indexed(x, indices)
    take_places(out, x, places)


def _target(out: Any, x: Any) -> Any:
    """A dense array that is a copy of ``x``, in ``out``'s memory where that is dense."""
    work = out if out.dense else arrays.empty(out.shape, out.dtype)
    arrays.assign(work, x)
    return work


def _finish(out: Any, work: Any) -> None:
    if work is not out:
        arrays.assign(out, work)


def index_put(out: Any, x: Any, value: Any, *indices: Any, accumulate: bool) -> None:
    """``out = x`` with ``out[indices] = value`` (``+=`` with repetitions for ``accumulate``)."""
    work = _target(out, x)
    places, shape = _indexed(work, indices)
    values = _value(value, shape, out.dtype)
    fold_places(work.flat, places, values, "sum" if accumulate else "last")
    _finish(out, work)


def gather(out: Any, x: Any, index: Any, *, axis: int) -> None:
    """``out[i, j] = x[index[i, j], j]`` for axis 0."""
    take_places(out, x, _along(x, index, axis))


def scatter(out: Any, x: Any, index: Any, source: Any, *, axis: int) -> None:
    """``out = x`` with ``out[index[i, j], j] = source[i, j]`` for axis 0."""
    _scatter(out, x, index, source, axis, "last")


def scatter_add(out: Any, x: Any, index: Any, source: Any, *, axis: int) -> None:
    """As :func:`scatter`, added."""
    _scatter(out, x, index, source, axis, "sum")


def _scatter(out: Any, x: Any, index: Any, source: Any, axis: int, name: str) -> None:
    work = _target(out, x)
    if index.size:
        values = _value(source, index.shape, out.dtype)
        fold_places(work.flat, _along(work, index, axis), values, name)
    _finish(out, work)


def scatter_reduce(
    out: Any, x: Any, index: Any, source: Any, *, axis: int, reduce: str, include_self: bool
) -> None:
    """``out`` = ``x`` and the sources that meet in a place, folded by ``reduce``."""
    work = _target(out, x)
    if index.size:
        places = _along(work, index, axis)
        if not include_self:
            begin = arrays.empty((1,), out.dtype)
            arrays.fill(begin, _begin(out.dtype, reduce))
            fold_places(work.flat, places, begin.flat, "last")
        values = _value(source, index.shape, out.dtype)
        fold_places(work.flat, places, values, reduce)
        if reduce == "mean":
            _divide_by_counts(work, places, include_self)
    _finish(out, work)


@launch.kernel
def _divide(count: int, out: Any, counts: Any) -> None:
    i = cuda.grid(1)
    while i < count:
        if counts[i] > 1:
            out[i] = out[i] / counts[i]
        i = launch.following(i, count)


@launch.kernel
def _divide_whole(count: int, out: Any, counts: Any) -> None:
    i = cuda.grid(1)
    while i < count:
        if counts[i] > 1:
            out[i] = out[i] // counts[i]
        i = launch.following(i, count)


def _divide_by_counts(work: Any, places: Any, include_self: bool) -> None:
    counts = arrays.empty((work.size,), np.int64)
    arrays.fill(counts, int(include_self))
    one = arrays.empty((1,), np.int64)
    arrays.fill(one, 1)
    fold_places(counts.flat, places, one.flat, "sum")
    if work.dtype.kind in "iu":
        launch.each(_divide_whole, work.size, work, counts)
        return
    wide = arrays.cast(work, np.float32) if work.dtype.itemsize == 2 else work
    launch.each(_divide, work.size, wide, counts)
    _finish(work, wide)


def index_select(out: Any, x: Any, index: Any, *, axis: int) -> None:
    """Slices of ``x`` at ``index`` along ``axis``."""
    if not x.ndim:
        arrays.assign(out, x)
        return
    places, _ = _slices(x, index, axis)
    take_places(out, x, places)


def index_add(out: Any, x: Any, index: Any, source: Any, *, axis: int) -> None:
    """``out = x`` with ``source``'s slices added to those that ``index`` names."""
    _into_slices(out, x, index, source, axis, "sum")


def index_copy(out: Any, x: Any, index: Any, source: Any, *, axis: int) -> None:
    """``out = x`` with ``source``'s slices in place of those that ``index`` names."""
    _into_slices(out, x, index, source, axis, "last")


def index_fill(out: Any, x: Any, index: Any, value: Any, *, axis: int) -> None:
    """``out = x`` with ``value`` in the slices that ``index`` names."""
    _into_slices(out, x, index, value, axis, "last")


@launch.kernel
def _rows_of(count: int, rows: Any, index: Any, size: int, fault: Any) -> None:
    """``rows[i] = index[i]``, counted from the end where negative; -1 outside of ``size``."""
    i = cuda.grid(1)
    while i < count:
        at = index[i]
        if at < 0:
            at += size
        if at < 0 or at >= size:
            fault[0] = 1
            at = -1
        rows[i] = at
        i = launch.following(i, count)


def _into_slices(out: Any, x: Any, index: Any, source: Any, axis: int, name: str) -> None:
    """``out = x`` with slices along ``axis`` folded into those that ``index`` names."""
    work = _target(out, x)
    whole = work if work.ndim else Array(work.flat, (1,))
    axis, n = axis % whole.ndim, index.size
    shape = (*whole.shape[:axis], n, *whole.shape[axis + 1 :])
    if math.prod(shape):
        rows = arrays.empty((1, n), np.int64)
        launch.each(_rows_of, n, rows, flat(index), whole.shape[axis], errors.cell())
        keys, order = sort_rows(rows, False)
        fold_slices(whole, keys, order, _value(source, shape, out.dtype), axis, name)
    _finish(out, work)


# --- masks -----------------------------------------------------------------------------------


def masked_fill(out: Any, x: Any, mask: Any, value: Any) -> None:
    """``value`` where ``mask``, else ``x``."""
    given = arrays.cast(value, out.dtype)
    run = plan("where", (out,), (mask, given, x), out.dtype)
    run(out.flat, mask.flat, given.flat, x.flat)


@launch.kernel
def _counted(count: int, places: Any, mask: Any, ends: Any, limit: int) -> None:
    """``places[i]`` = how many are set before i where ``mask``, else -1."""
    i = cuda.grid(1)
    while i < count:
        places[i] = ends[i] - 1 if mask[i] != 0 and ends[i] <= limit else -1
        i = launch.following(i, count)


def _numbered(mask: Any, shape: Any, limit: int) -> tuple[Any, Any]:
    """(the number of each set element, else -1; running counts)."""
    whole = arrays.dense(mask.expand(shape))
    flat = Array(whole.flat, (whole.size,))
    ends = arrays.empty((whole.size,), np.int64)
    cumsum(ends, flat, axis=0, reverse=False)
    places = arrays.empty((whole.size,), np.int64)
    launch.each(_counted, whole.size, places, flat, ends, limit)
    return places.flat, ends


def masked_scatter(out: Any, x: Any, mask: Any, source: Any) -> None:
    """``out = x`` with ``source``'s elements, in order, where ``mask``."""
    work = _target(out, x)
    places, ends = _numbered(mask, out.shape, source.size)
    count = int(ends.flat[-1])
    if count > source.size:
        raise RuntimeError("Number of elements of source < number of ones in mask")
    take_places(work, source, places)
    _finish(out, work)


def collect_masked(out: Any, g: Any, mask: Any, *, size: int) -> None:
    """The elements of ``g`` where ``mask``, then zeros."""
    arrays.fill(out, 0)
    places, _ = _numbered(mask, g.shape, size)
    fold_places(out.flat, places, arrays.dense(g).flat, "last")


# --- arrays read as one row, and triangles -----------------------------------------------------


def _row(x: Any) -> Any:
    return Array(arrays.dense(x).flat, (x.size,))


def take(out: Any, x: Any, index: Any) -> None:
    """``x`` read as one row, at ``index``."""
    places, _ = _indexed(_row(x), [_row(index)])
    take_places(out, _row(x), places)


def put(out: Any, x: Any, index: Any, source: Any, *, accumulate: bool) -> None:
    """``x`` read as one row, with ``source`` written (added) at ``index``."""
    work = _target(out, x)
    places, shape = _indexed(_row(work), [_row(index)])
    values = _value(_row(source), shape, out.dtype)
    fold_places(work.flat, places, values, "sum" if accumulate else "last")
    _finish(out, work)


@launch.kernel
def _triangle(
    count: int, out: Any, x: Any, rows: int, columns: int, diagonal: int, upper: int
) -> None:
    i = cuda.grid(1)
    while i < count:
        above = i % columns - (i // columns) % rows - diagonal
        kept = above >= 0 if upper else above <= 0
        out[i] = x[i] if kept else 0
        i = launch.following(i, count)


def _keep(out: Any, x: Any, diagonal: int, upper: int) -> None:
    rows, columns = x.shape[-2:]
    flat = words(arrays.dense(x).flat)
    launch.each(_triangle, x.size, words(out.flat), flat, rows, columns, diagonal, upper)


def tril(out: Any, x: Any, *, diagonal: int) -> None:
    """``x`` on and below a diagonal, zeros above it."""
    _keep(out, x, diagonal, 0)


def triu(out: Any, x: Any, *, diagonal: int) -> None:
    """``x`` on and above a diagonal, zeros below it."""
    _keep(out, x, diagonal, 1)


def diag_embed(out: Any, x: Any, *, offset: int, first: int, second: int) -> None:
    """Zeros, with the last axis of ``x`` on a diagonal."""
    arrays.fill(out, 0)
    n = x.shape[-1]
    rest = [i for i in range(out.ndim) if i not in (first % out.ndim, second % out.ndim)]
    moved = out.permute((*rest, first % out.ndim, second % out.ndim))
    down, across = moved.strides[-2:]
    begin = max(-offset, 0) * down + max(offset, 0) * across
    steps = (*moved.strides[:-2], down + across)
    diagonal = Array(moved.flat[begin:], (*moved.shape[:-2], n), steps)
    arrays.assign(diagonal, x)
