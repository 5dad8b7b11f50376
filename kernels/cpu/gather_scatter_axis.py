"""Loops over places along one axis of dense arrays, each seen as (outer, axis, inner).

Places must lie in range. Sources that meet in a place are added in the order of the axis.
"""

from __future__ import annotations

import functools
import math
from typing import Any

import numpy as np

from mindtorch.kernels.codegen.jit import entry_point, kernel
from mindtorch.kernels.codegen.typed_scalar import SHORT_FLOATS

from .cat_flip_roll_pad import dense, picture
from .threads.thread_pool import parallel_for
from .vectors.float_bits import load_bfloat16, load_half, store_bfloat16, store_half
from .via_float32 import flat

_WORDS = {1: np.uint8, 2: np.uint16, 4: np.uint32, 8: np.uint64}
_SMALLEST = 16384  # elements that are worth a thread
_SMALLEST_MOVED = 1 << 17  # the same where they are only copied


@kernel
def all_in_range(index: Any, low: int, high: int) -> bool:
    """Whether ``low <= i < high`` for each i of a row."""
    wrong = 0
    for i in range(index.size):
        wrong += (index[i] < low) | (index[i] >= high)
    return wrong == 0


@kernel(noalias=True)
def _gather(
    out: Any, x: Any, index: Any, wide: bool, n: int, m: int, inner: int, begin: int, end: int
) -> None:
    """``wide``: the index has a number for each element, not one for each slice."""
    for a in range(begin, end):
        if inner == 1:
            row, places, target = x[a * n :], index[a * m :], out[a * m :]
            for j in range(m):
                target[j] = row[np.uint64(places[j])]
            continue
        table = x[a * n * inner :]
        for j in range(a * m, (a + 1) * m):
            if not wide:
                source = table[index[j] * inner : (index[j] + 1) * inner]
                target = out[j * inner : (j + 1) * inner]
                for b in range(inner):
                    target[b] = source[b]
                continue
            places, target = index[j * inner : (j + 1) * inner], out[j * inner : (j + 1) * inner]
            for b in range(inner):
                target[b] = table[places[b] * inner + b]


@kernel(noalias=True)
def _select(out: Any, x: Any, index: Any, outer: int, n: int, inner: int) -> None:
    """``out[o, i] = x[o, index[i]]``, slices of ``inner`` elements."""
    m = index.size
    for o in range(outer):
        if inner == 1:
            row, target = x[o * n : (o + 1) * n], out[o * m : (o + 1) * m]
            for i in range(m):
                target[i] = row[np.uint64(index[i])]
            continue
        for i in range(m):
            at, to = (o * n + index[i]) * inner, (o * m + i) * inner
            for j in range(inner):  # unsigned: slices of few elements would be felt
                out[np.uint64(to + j)] = x[np.uint64(at + j)]


def selecting(word: Any, outer: int, n: int, m: int, inner: int) -> Any:
    """``run(out, x, index)`` on flat arrays: slices at ``m`` places in range, of (outer, n, inner);
    over the threads where they are large."""
    name = np.dtype(word).name
    loop = entry_point(_select, f"void({name}[::1], {name}[::1], int64[::1], int64, int64, int64)")
    if outer * m * inner < 2 * _SMALLEST_MOVED:
        return lambda out, x, index: loop(out, x, index, outer, n, inner)

    def run(out: Any, x: Any, index: Any) -> None:
        def rows(begin: int, end: int) -> None:
            to = slice(begin * m * inner, end * m * inner)
            loop(out[to], x[begin * n * inner :], index, end - begin, n, inner)

        def places(begin: int, end: int) -> None:
            loop(out[begin * inner : end * inner], x, index[begin:end], 1, n, inner)

        if outer == 1:
            parallel_for(m, places, 1 + _SMALLEST_MOVED // inner)
        else:
            parallel_for(outer, rows, 1 + _SMALLEST_MOVED // (m * inner))

    return run


@functools.cache
def _scattering(combine: Any) -> Any:
    """The loop that puts each source at the place that it has in its row, combined with what is
    there."""

    @kernel
    def scattered(
        out: Any, source: Any, step: int, index: Any, n: int, m: int, inner: int, begin: int,
        end: int,
    ) -> None:  # fmt: skip
        for a in range(begin, end):
            table = out[a * n * inner :]
            if inner == 1:
                places, values = index[a * m :], source[a * m * step :]
                for j in range(m):
                    place = places[j]
                    table[place] = combine(table[place], values[j * step])
                continue
            for j in range(a * m, (a + 1) * m):
                places, values = index[j * inner : (j + 1) * inner], source[j * inner * step :]
                for b in range(inner):
                    place = places[b] * inner + b
                    table[place] = combine(table[place], values[b * step])

    return scattered


@functools.cache
def _adding_slices(combine: Any) -> Any:
    """The loop that combines each slice with the one at its place."""

    @kernel
    def added(
        out: Any, source: Any, index: Any, n: int, inner: int, begin: int, end: int
    ) -> None:
        m = index.size
        for a in range(begin, end):
            if inner == 1:
                target, values = out[a * n :], source[a * m :]
                for j in range(m):
                    place = index[j]
                    target[place] = combine(target[place], values[j])
                continue
            for j in range(m):
                place = (a * n + index[j]) * inner
                target = out[place : place + inner]
                values = source[(a * m + j) * inner : (a * m + j + 1) * inner]
                for b in range(inner):
                    target[b] = combine(target[b], values[b])

    return added


@kernel
def _put_slices(
    out: Any, source: Any, step: int, index: Any, n: int, inner: int, begin: int, end: int
) -> None:
    """``step``: 1; 0 where the source is one element for all places."""
    m = index.size
    for a in range(begin, end):
        for j in range(m):
            place, at = (a * n + index[j]) * inner, (a * m + j) * inner * step
            for b in range(inner):
                out[place + b] = source[at + b * step]


def _folding(combine: Any) -> Any:
    """The loop that combines each source with what is at its place; ``wide``: the index has a
    number for each element, not one for each slice."""

    @kernel
    def folded(
        out: Any, source: Any, index: Any, wide: bool, n: int, m: int, inner: int, begin: int,
        end: int,
    ) -> None:  # fmt: skip
        for a in range(begin, end):
            table = out[a * n * inner : (a + 1) * n * inner]
            if inner == 1:
                places, values = index[a * m : (a + 1) * m], source[a * m : (a + 1) * m]
                for j in range(m):
                    place = np.uint64(places[j])
                    table[place] = combine(table[place], values[j])
                continue
            for j in range(a * m, (a + 1) * m):
                values = source[j * inner : (j + 1) * inner]
                if wide:
                    places = index[j * inner : (j + 1) * inner]
                    for b in range(inner):
                        place = places[b] * inner + b
                        table[place] = combine(table[place], values[b])
                    continue
                place = index[j] * inner
                target = table[place : place + inner]
                for b in range(inner):
                    target[b] = combine(target[b], values[b])

    return folded


@kernel
def _latter(a: Any, b: Any) -> Any:
    return b


@kernel
def _sum(a: Any, b: Any) -> Any:
    return a + b


@kernel
def _either(a: Any, b: Any) -> Any:
    return a | b


@kernel
def _sum_of_halves(a: Any, b: Any) -> Any:
    return store_half(load_half(a) + load_half(b))


@kernel
def _sum_of_bfloat16(a: Any, b: Any) -> Any:
    return store_bfloat16(load_bfloat16(a) + load_bfloat16(b))


@kernel
def _product(a: Any, b: Any) -> Any:
    return a * b


@kernel
def _larger(a: Any, b: Any) -> Any:
    return a if (a > b) | (a != a) else b


@kernel
def _smaller(a: Any, b: Any) -> Any:
    return a if (a < b) | (a != a) else b


_FOLDS = {
    "prod": _folding(_product), "amax": _folding(_larger), "amin": _folding(_smaller),
}  # fmt: skip


def repeated(index: Any, axis: int) -> bool:
    """Whether the index was expanded along all axes after ``axis``."""
    after = zip(index.shape[axis + 1 :], index.strides[axis + 1 :], strict=True)
    return index.ndim > axis + 1 and all(n == 1 or s == 0 for n, s in after)


def first_of(index: Any, axis: int) -> Any:
    """The first place along all axes after ``axis``."""
    return index[(slice(None),) * (axis + 1) + (0,) * (index.ndim - axis - 1)]


def fold(out: Any, index: Any, source: Any, axis: int, name: str) -> bool:
    """Combine ``source``, in ``index``'s shape, with ``out`` by "prod", "amax" or "amin"; False:
    no loop for it."""
    if out.dtype.kind not in "fiu" or out.dtype.itemsize < 4 or not out.flags.c_contiguous:
        return False
    if not _corresponds(out, index, axis) or np.may_share_memory(out, source):
        return False
    if source.shape != index.shape:
        return False
    wide = not repeated(index, axis)
    if not wide:
        index = first_of(index, axis)
    (outer, n, inner), m = picture(out.shape, axis), source.shape[axis]
    _FOLDS[name](out.reshape(-1), flat(source), flat(index), wide, n, m, inner, 0, outer)
    return True


def _corresponds(x: Any, index: Any, axis: int) -> bool:
    """Whether the shapes differ along ``axis`` alone."""
    return (
        x.shape[:axis] == index.shape[:axis] and x.shape[axis + 1 :] == index.shape[axis + 1 :]
    )


def gather(out: Any, x: Any, index: Any, axis: int) -> bool:
    """:func:`.indexing.gather`, where this module has a loop for it; else False."""
    word = _WORDS.get(out.dtype.itemsize)
    if word is None or not out.flags.c_contiguous or not _corresponds(x, index, axis):
        return False
    (outer, n, inner), m = picture(x.shape, axis), index.shape[axis]
    wide = not repeated(index, axis)
    numbers = flat(index if wide else first_of(index, axis))
    arrays = (out.reshape(-1).view(word), flat(x).view(word), numbers)

    def part(begin: int, end: int) -> None:
        _gather(*arrays, wide, n, m, inner, begin, end)

    parallel_for(outer, part, smallest=1 + _SMALLEST // (m * inner + 1))
    return True


def small_gather(out: Any, x: Any, index: Any, axis: int) -> Any:
    """``run(out, x, index)`` on flat arrays of these layouts; None for strided or large ones."""
    word = _WORDS.get(out.dtype.itemsize)
    shape = index.shape
    if word is None or not shape or index.dtype != np.int64 or not _corresponds(x, index, axis):
        return None
    if math.prod(shape) > _SMALLEST or not all(map(dense, (out, x, index))):
        return None
    (outer, n, inner), m = picture(x.shape, axis), shape[axis]
    row = f"{np.dtype(word).name}[::1]"
    loop = entry_point(_gather, f"void({row}, {row}, int64[::1], boolean{', int64' * 5})")

    def run(target: Any, source: Any, places: Any) -> None:
        loop(target, source, places, True, n, m, inner, 0, outer)

    return run


def small_scatter(out: Any, x: Any, index: Any, source: Any, axis: int, adding: bool) -> Any:
    """``run(out, x, index, source)`` on flat arrays of these layouts; None for strided or large
    ones."""
    (word, combine), shape = _combined(out.dtype, adding), index.shape
    if word is None or not shape or not math.prod(shape) or not _corresponds(out, index, axis):
        return None
    if math.prod(shape) > _SMALLEST or not all(map(dense, (out, x, index, source))):
        return None
    if source.dtype != out.dtype or (source.shape and source.shape != shape):
        return None
    (outer, n, inner), m = picture(out.shape, axis), shape[axis]
    row, step = f"{np.dtype(word).name}[::1]", min(len(source.shape), 1)
    kinds = f"void({row}, {row}, int64, int64[::1]{', int64' * 5})"
    loop = entry_point(_scattering(combine), kinds)

    def run(target: Any, given: Any, places: Any, values: Any) -> None:
        if target is not given:
            target[:] = given
        loop(target, values, step, places, n, m, inner, 0, outer)

    return run


def small_slices(out: Any, x: Any, index: Any, source: Any, axis: int, adding: bool) -> Any:
    """``run(out, x, index, source)`` on flat arrays of these layouts, which writes or adds slices
    at the places of a row of numbers; None for strided or large ones."""
    word, combine = _combined(out.dtype, adding)
    if word is None or index.dtype != np.int64 or len(index.shape) > 1 or not out.shape:
        return None
    if not all(map(dense, (out, x, index, source))) or math.prod(source.shape) > _SMALLEST:
        return None
    m = math.prod(index.shape)
    shape = (*out.shape[:axis], m, *out.shape[axis + 1 :])
    one = not (adding or source.shape)
    if math.prod(shape) > _SMALLEST or not (one or (source.shape or (1,)) == shape):
        return None
    if source.dtype != out.dtype and not one:
        return None
    outer, n, inner = picture(out.shape, axis)
    row, kind = f"{np.dtype(word).name}[::1]", out.dtype
    if adding:
        add = entry_point(_adding_slices(combine), f"void({row}, {row}, int64[::1]{', int64' * 4})")
    else:
        put = entry_point(_put_slices, f"void({row}, {row}, int64, int64[::1]{', int64' * 4})")
    cast = source.dtype != out.dtype

    def run(target: Any, given: Any, places: Any, values: Any) -> None:
        if target is not given:
            target[:] = given
        if adding:
            add(target, values, places, n, inner, 0, outer)
            return
        values = values.astype(kind) if cast else values
        put(target, values, not one, places, n, inner, 0, outer)

    return run


# plans on flat arrays; ``function`` is called with arrays where places are out of range


def _is_inside() -> Any:
    return entry_point(all_in_range, "boolean(int64[::1], int64, int64)")


def slices_plan(function: Any, adding: bool) -> Any:
    """The plan of ``function(out, x, index, source, axis=)`` for few elements in order."""

    def plan(outs: Any, ins: Any, *, axis: int) -> Any:
        loop = small_slices(outs[0], *ins, axis, adding)
        if loop is None:
            return None
        inside, size = _is_inside(), outs[0].shape[axis]
        shapes = [each.shape for each in (outs[0], *ins)]

        def run(out: Any, x: Any, index: Any, source: Any) -> None:
            if inside(index, 0, size):
                loop(out, x, index, source)
                return
            flats = zip((out, x, index, source), shapes, strict=True)
            function(*[each.reshape(shape) for each, shape in flats], axis=axis)

        return run

    return plan


def index_put_plan(function: Any) -> Any:
    """The plan of ``function(out, x, value, *indices, accumulate=)`` for few slices that one index
    names."""

    def plan(outs: Any, ins: Any, *, accumulate: bool) -> Any:
        x, value, *indices = ins
        if any(each is not None for each in indices[:-1]) or len(indices[-1].shape) != 1:
            return None
        axis = len(indices) - 1
        loop = small_slices(outs[0], x, indices[-1], value, axis, accumulate)
        if loop is None:
            return None
        inside, size = _is_inside(), x.shape[axis]
        shapes = [each and each.shape for each in (outs[0], *ins)]

        def run(*flats: Any) -> None:
            if inside(flats[-1], 0, size):
                loop(flats[0], flats[1], flats[-1], flats[2])
                return
            pairs = zip(flats, shapes, strict=True)
            arrays = [None if s is None else each.reshape(s) for each, s in pairs]
            function(*arrays, accumulate=accumulate)

        return run

    return plan


def take_plan(function: Any) -> Any:
    """The plan of ``function(out, x, index)``, which reads ``x`` as one row."""

    def plan(outs: Any, ins: Any) -> Any:
        (out,), (x, index) = outs, ins
        word = _WORDS.get(x.dtype.itemsize)
        if word is None or index.dtype != np.int64 or not all(map(dense, (out, x, index))):
            return None
        row, n, m = f"{np.dtype(word).name}[::1]", math.prod(x.shape), math.prod(index.shape)
        loop = entry_point(_gather, f"void({row}, {row}, int64[::1], boolean{', int64' * 5})")
        inside = _is_inside()

        def run(target: Any, source: Any, places: Any) -> None:
            if inside(places, 0, n):
                loop(target, source, places, True, n, m, 1, 0, 1)
            else:  # counted from the end, or an error
                function(target.reshape(out.shape), source, places.reshape(index.shape))

        return run

    return plan


def scatter(out: Any, index: Any, source: Any, axis: int, adding: bool) -> bool:
    """Write (add) ``source``, of one element or in ``index``'s shape; False: no loop for it."""
    if adding and axis == 0 and source.shape == index.shape and repeated(index, 0):
        if _corresponds(out, index, 0):
            return add_slices(out, first_of(index, 0), source, 0)
    word, combine = _combined(out.dtype, adding)
    if word is None or not out.flags.c_contiguous or not _corresponds(out, index, axis):
        return False
    if np.may_share_memory(out, source):
        return False
    (outer, n, inner), m = picture(out.shape, axis), index.shape[axis]
    arrays = (out.reshape(-1).view(word), flat(source).view(word), min(source.ndim, 1), flat(index))
    loop = _scattering(combine)

    def part(begin: int, end: int) -> None:
        loop(*arrays, n, m, inner, begin, end)

    parallel_for(outer, part, smallest=1 + _SMALLEST // (m * inner + 1))
    return True


def add_slices(out: Any, index: Any, source: Any, axis: int) -> bool:
    """Add the slices of ``source`` along ``axis`` to ``out``'s at ``index``; False: no loop."""
    word, combine = _sums_of(out.dtype)
    if word is None or not out.flags.c_contiguous or np.may_share_memory(out, source):
        return False
    outer, n, inner = picture(out.shape, axis)
    arrays = (out.reshape(-1).view(word), flat(source).view(word), flat(index))
    loop = _adding_slices(combine)

    def part(begin: int, end: int) -> None:
        loop(*arrays, n, inner, begin, end)

    parallel_for(outer, part, smallest=1 + _SMALLEST // (index.size * inner + 1))
    return True


def _sums_of(dtype: Any) -> tuple[Any, Any]:
    """The type in which the loops see elements, and how they add two: each sum is rounded.

    Unsigned for whole numbers, which wrap alike; None where there is no loop."""
    word = _WORDS.get(dtype.itemsize)
    if dtype in SHORT_FLOATS:
        return word, _sum_of_halves if dtype == np.float16 else _sum_of_bfloat16
    if dtype.kind in "iu":
        return word, _sum
    if dtype.kind == "b":
        return word, _either
    return (dtype, _sum) if dtype.kind in "fc" else (None, None)


def _combined(dtype: Any, adding: bool) -> tuple[Any, Any]:
    """:func:`_sums_of`, or the type and the function of loops that write what comes last."""
    return _sums_of(dtype) if adding else (_WORDS.get(dtype.itemsize), _latter)
