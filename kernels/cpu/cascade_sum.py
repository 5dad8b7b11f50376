"""Sums and means of floating-point numbers over axes, in PyTorch's order of additions.

Found by writing candidate orders as plain loops and counting equal bits (docs/design/003). The axes
are ordered by the result's strides, then by the input's, folded ones innermost, and merged; the two
innermost axes are one picture, which is repeated over the others:

    inner     folded numbers side by side: 4 vectors at a time, the rest, then the lanes in turn
    columns   kept numbers side by side: strips of 4 vectors of columns, then of one, then of none
    rows      anything else: four sums, of every fourth number
    groups    four neighbours at a time where those that are kept lie closer together

Each of these adds up levels: 16 rows of lanes (more above 2 ** 19) are a block, 16 blocks a block
of the next level, four levels in all. So the error grows with the logarithm of the length.
Vectors are 8 float32 or 4 float64 wide on every processor; 16-bit floats are added as float32.
"""

from __future__ import annotations

import functools
import itertools
import math
from collections.abc import Callable
from typing import Any

import ml_dtypes
import numpy as np

from mindtorch.kernels.codegen.jit import bound, entry_point, kernel

from . import float_bits, thread_pool
from .elementwise import Operand, strided
from .simd_sums import WIDTHS, rows_adder, short_row
from .strided_copy import ordered

_LEVELS = 4
_SHORT = 64  # fewer numbers make no whole block
_SHORT_ROW = 1024  # fewer vectors have no third level
_STRIPS = 32  # strips of columns that are read together, so that rows are read in order
PARALLEL_SIZE = 32768  # elements from which PyTorch adds on several threads
_WORTH_THREADS = 1 << 18  # elements from which several threads are quicker
_VECTORS = 16  # elements that are a vector of any type
_CACHE_LINE = 128  # bytes: pieces of columns begin at multiples of it
_STORES = {
    np.dtype(np.float16): float_bits.store_half,
    np.dtype(ml_dtypes.bfloat16): float_bits.store_bfloat16,
}
_LOADS = {
    np.dtype(np.float16): float_bits.load_half,
    np.dtype(ml_dtypes.bfloat16): float_bits.load_bfloat16,
}


@kernel
def level_power(size: int) -> int:
    """A block of the first level has two to this power rows, where there are ``size``."""
    power = 4
    while size > 1 << (4 * power + 3):
        power += 1
    return power


@functools.cache
def cascade_of(element: str, width: int, paired: bool = False) -> Any:
    """The kernel that adds rows of four vectors of ``width`` elements by levels.

    ``cascade(sums, x, at, pitch, apart, size, strips, ahead)``: strip ``s`` begins at
    ``at + s * ahead``, has ``size`` rows of four vectors, and its sums come to
    ``sums[s * 16 * width:]``, four vectors of them; the twelve behind them are overwritten.
    """
    wide = "float64" if element == "float64" else "float32"
    begin = rows_adder(element, 4, width, False, paired)
    blocks = rows_adder(element, 4, width, True, paired)
    add = rows_adder(wide, 4, width)
    lanes = 4 * width
    ground = _LEVELS * lanes  # places of a strip

    @kernel
    def cascade(
        sums: Any, x: Any, at: int, pitch: int, apart: int, size: int, strips: int, ahead: int
    ) -> None:
        power = level_power(size)
        step = 1 << power
        if size < step:
            for s in range(strips):
                begin(sums, s * ground, False, x, at + s * ahead, pitch, apart, size, 1)
            return
        sums[: strips * ground] = 0
        i = 0
        while i + step <= size:
            together = 1 if strips > 1 else min((size - i) // step, step - (i >> power) % step)
            for s in range(strips):
                first = at + s * ahead + i * pitch
                blocks(sums, s * ground + lanes, True, x, first, pitch, apart, step, together)
            i += step * together
            if i & ((step - 1) << power):
                continue
            for s in range(strips):
                to = s * ground + lanes
                add(sums, to + lanes, True, sums, to, 0, width, 1, 1)
                sums[to : to + lanes] = 0
            if i & ((step - 1) << (2 * power)):
                continue
            for s in range(strips):
                to = s * ground + 2 * lanes
                add(sums, to + lanes, True, sums, to, 0, width, 1, 1)
                sums[to : to + lanes] = 0
        for s in range(strips):
            to = s * ground
            begin(sums, to, False, x, at + s * ahead + i * pitch, pitch, apart, size - i, 1)
            add(sums, to, True, sums, to + lanes, lanes, width, 3, 1)

    return cascade


@functools.cache
def vector_row_of(element: str, width: int, paired: bool = False) -> Any:
    """The kernel of ``sums[:width]`` = the sum of ``size`` vectors that are ``pitch`` apart."""
    wide = "float64" if element == "float64" else "float32"
    cascade = cascade_of(element, width, paired)
    rest = rows_adder(element, 1, width, False, paired)
    add = rows_adder(wide, 1, width)

    @kernel
    def vector_row(sums: Any, x: Any, at: int, pitch: int, size: int) -> None:
        fours = size // 4
        cascade(sums, x, at, 4 * pitch, pitch, fours, 1, 0)
        rest(sums, 0, True, x, at + 4 * fours * pitch, pitch, 0, size - 4 * fours, 1)
        add(sums, 0, True, sums, width, width, 0, 3, 1)

    return vector_row


@kernel(inline="always")
def _itself(x: Any) -> Any:
    return x


@functools.cache
def inner_of(dtype: Any, paired: bool) -> Any:
    """The kernel of sums of ``n`` elements side by side, at least a vector of them.

    ``inner(held, to, b, x, at, t, n, m)`` adds the sums of ``m`` rows, ``t`` apart, to places of
    ``held`` that are ``b`` apart.
    """
    wide = _wide(dtype)
    width = WIDTHS[wide]
    each = 2 * width if paired else width
    vector_row = vector_row_of(dtype.name, width, paired)
    short = short_row(dtype.name, width, paired)
    load, zero, places = _LOADS.get(dtype, _itself), wide.type(0), _LEVELS * 4 * width

    @kernel
    def inner(held: Any, to: int, b: int, x: Any, at: int, t: int, n: int, m: int) -> None:
        vectors = n // each
        if vectors < _SHORT_ROW:
            for j in range(m):
                total = zero
                for k in range(at + j * t + vectors * each, at + j * t + n):
                    total += load(x[k])
                held[to + j * b] += short(x, at + j * t, each, vectors, total)
            return
        sums = np.empty(places, wide)
        for j in range(m):
            total = zero
            for k in range(at + j * t + vectors * each, at + j * t + n):
                total += load(x[k])
            vector_row(sums, x, at + j * t, each, vectors)
            for k in range(width):
                total += sums[k]
            held[to + j * b] += total

    return inner


@functools.cache
def row_sum_of(dtype: Any) -> Any:
    """The kernel of the sum of the first ``n`` elements of ``x``, fewer than 1024 vectors."""
    width, zero, short = WIDTHS[dtype], dtype.type(0), short_row(dtype.name, WIDTHS[dtype])

    @kernel
    def row_sum(x: Any, n: int) -> Any:
        vectors, total = n // width, zero
        for k in range(vectors * width, n):
            total += x[k]
        return short(x, 0, width, vectors, total)

    return row_sum


@functools.cache
def running_sum_of(dtype: Any) -> tuple[Any, Any]:
    """Two kernels for a sum of ``size`` elements of which some come at a time, ``done`` before.

    ``more(sums, x, n, done, size)`` adds ``n`` elements, whole blocks; ``sums`` (:func:`places`,
    zeros at first) holds the levels. ``close(sums, x, n, done, size)`` is the sum with the last
    ``n`` elements.
    """
    width = WIDTHS[dtype]
    lanes = 4 * width
    add, add_blocks = rows_adder(dtype.name, 4, width), rows_adder(dtype.name, 4, width, True)
    rest, zero = rows_adder(dtype.name, 1, width), dtype.type(0)

    @kernel
    def more(sums: Any, x: Any, n: int, done: int, size: int) -> None:
        power = level_power(size // lanes)
        step, at = 1 << power, 0
        block = done // (lanes << power)
        end = block + n // (lanes << power)
        while block < end:
            together = min(end - block, step - block % step)
            add_blocks(sums, lanes, True, x, at, lanes, width, step, together)
            block += together
            at += together * step * lanes
            for level in range(1, _LEVELS - 1):
                if block & ((1 << level * power) - 1):
                    break
                to = level * lanes
                add(sums, to + lanes, True, sums, to, 0, width, 1, 1)
                sums[to : to + lanes] = 0

    @kernel
    def close(sums: Any, x: Any, n: int, done: int, size: int) -> Any:
        whole = lanes << level_power(size // lanes)
        at = n // whole * whole
        more(sums, x, at, done, size)
        fours, vectors = (n - at) // lanes, (n - at) // width
        add(sums, 0, False, x, at, lanes, width, fours, 1)
        add(sums, 0, True, sums, lanes, lanes, width, 3, 1)
        rest(sums, 0, True, x, at + fours * lanes, width, 0, vectors - 4 * fours, 1)
        rest(sums, 0, True, sums, width, width, 0, 3, 1)
        total = zero
        for k in range(at + vectors * width, n):
            total += x[k]
        for k in range(width):
            total += sums[k]
        return total

    return more, close


def places(dtype: Any) -> int:
    """How many numbers the levels of one sum take."""
    return _LEVELS * 4 * WIDTHS[dtype]


@functools.cache
def _singles_of(dtype: Any) -> Any:
    """The kernel of sums of ``n`` elements that are ``s`` apart; else as :func:`inner_of`'s."""
    wide, row, load = _wide(dtype), vector_row_of(dtype.name, 1), _LOADS.get(dtype, _itself)
    zero = wide.type(0)

    @kernel
    def singles(
        held: Any, to: int, b: int, x: Any, at: int, s: int, t: int, n: int, m: int
    ) -> None:
        if n >= _SHORT:
            sums = np.empty(4 * _LEVELS, wide)
            for j in range(m):
                row(sums, x, at + j * t, s, n)
                held[to + j * b] += sums[0]
            return
        whole = n // 4 * 4
        for j in range(m):
            first = at + j * t
            a, others = zero, (zero, zero, zero)
            for i in range(0, whole, 4):
                place = first + i * s
                a += load(x[place])
                others = (
                    others[0] + load(x[place + s]), others[1] + load(x[place + 2 * s]),
                    others[2] + load(x[place + 3 * s]),
                )  # fmt: skip
            for i in range(whole, n):
                a += load(x[first + i * s])
            held[to + j * b] += a + others[0] + others[1] + others[2]

    return singles


@functools.cache
def _columns_of(dtype: Any) -> Any:
    """The kernel of sums of ``m`` columns side by side, of ``n`` numbers that are ``s`` apart."""
    width = WIDTHS[_wide(dtype)]
    lanes, ground = 4 * width, _LEVELS * 4 * width
    cascade, vector_row = cascade_of(dtype.name, width), vector_row_of(dtype.name, width)
    half, half_row = width // 2, vector_row_of(dtype.name, width // 2)
    singles = _singles_of(dtype)

    @kernel
    def columns(held: Any, to: int, b: int, x: Any, at: int, s: int, n: int, m: int) -> None:
        sums = np.empty(min(_STRIPS, m // lanes + 1) * ground, held.dtype)
        j = 0
        while j + lanes <= m:
            strips = min(_STRIPS, (m - j) // lanes)
            cascade(sums, x, at + j, s, width, n, strips, lanes)
            for k in range(strips):
                for i in range(lanes):
                    held[to + (j + i) * b] += sums[k * ground + i]
                j += lanes
        while j + width <= m:
            vector_row(sums, x, at + j, s, n)
            for i in range(width):
                held[to + (j + i) * b] += sums[i]
            j += width
        if j + half <= m:  # the order of what is left does not hang on how many are together
            half_row(sums, x, at + j, s, n)
            for i in range(half):
                held[to + (j + i) * b] += sums[i]
            j += half
        if j < m:
            singles(held, to + j * b, b, x, at + j, s, 1, n, m - j)

    return columns


@functools.cache
def _picture_of(dtype: Any, paired: bool) -> Any:
    """The kernel of one picture: ``n`` by ``m`` elements, added to what ``held`` holds."""
    width = WIDTHS[_wide(dtype)]
    vector = 2 * width if dtype not in WIDTHS and paired else width
    inner, load = inner_of(dtype, paired), _LOADS.get(dtype, _itself)
    columns, singles, group = _columns_of(dtype), _singles_of(dtype), cascade_of(dtype.name, 1)

    @kernel
    def picture(
        held: Any, to: int, a: int, b: int, x: Any, at: int, s: int, t: int, n: int, m: int
    ) -> None:
        """Strides of ``held`` are (a, b), those of ``x`` (s, t); ``a`` is 0, or nothing is."""
        if a != 0:
            for j in range(m):
                for i in range(n):
                    held[to + j * b + i * a] += load(x[at + j * t + i * s])
        elif s == 1 and n >= vector:
            inner(held, to, b, x, at, t, n, m)
        elif t == 1 and m >= vector:
            columns(held, to, b, x, at, s, n, m)
        else:
            j = 0
            if s >= t and m >= 4:
                sums = np.empty(_STRIPS * 4 * _LEVELS, held.dtype)
                while j + 4 <= m:
                    strips = min(_STRIPS, (m - j) // 4)
                    group(sums, x, at + j * t, s, t, n, strips, 4 * t)
                    for k in range(4 * strips):
                        held[to + (j + k) * b] += sums[k // 4 * 4 * _LEVELS + k % 4]
                    j += 4 * strips
            singles(held, to + j * b, b, x, at + j * t, s, t, n, m - j)

    return picture


@functools.cache
def _fold_of(dtype: Any, paired: bool) -> Any:
    """The kernel that adds elements ``first`` to ``last``, in the order of the axes."""
    picture = _picture_of(dtype, paired)

    @kernel
    def fold(held: Any, x: Any, axes: Any, first: int, last: int) -> None:
        """``axes`` are rows of (length, stride of ``held``, stride of ``x``), innermost first."""
        n, m = axes[0, 0], axes[1, 0]
        while first < last:
            left, to, at = first, 0, 0
            for k in range(axes.shape[0]):
                i = left % axes[k, 0]
                left //= axes[k, 0]
                to += i * axes[k, 1]
                at += i * axes[k, 2]
            begin = first % n
            count, rows = min(n - begin, last - first), 1
            if count == n:
                rows = min(m - first // n % m, (last - first) // n)
            a, b = axes[0, 1], axes[1, 1]
            s, t = axes[0, 2], axes[1, 2]
            first += count * rows
            if a != 0 and b == 0:
                a, b, s, t, count, rows = b, a, t, s, rows, count
            picture(held, to, a, b, x, at, s, t, count, rows)

    return fold


@functools.cache
def _finish_of(dtype: Any) -> Any:
    """The kernel that divides sums by ``count`` and rounds them to the result's type."""
    store = _STORES.get(dtype, _itself)

    @kernel
    def finish(out: Any, held: Any, count: int) -> None:
        divisor = held.dtype.type(count)
        for k in range(out.size):
            out[k] = store(held[k] / divisor)

    return finish


@functools.cache
def _total_of(dtype: Any, paired: bool) -> Any:
    """The kernel of a whole result."""
    fold, finish, rounded = _fold_of(dtype, paired), _finish_of(dtype), dtype not in WIDTHS

    @kernel
    def total(out: Any, x: Any, axes: Any, size: int, count: int) -> None:
        if rounded:
            held = np.zeros(out.size, np.float32)
            fold(held, x, axes, 0, size)
            finish(out, held, count)
        else:
            out[:] = 0
            fold(out, x, axes, 0, size)
            if count != 1:
                finish(out, out, count)

    return total


# --- the order of axes ----------------------------------------------------------------------------


def _swapped(shape: Any, operands: Any, inner: int, outer: int) -> int:
    """1 where ``inner`` should lie outside ``outer``, -1 where it rightly lies inside, else 0."""
    a, b = operands[0][inner], operands[0][outer]
    if (a == 0) != (b == 0):
        return 1 if b == 0 else -1
    for strides in operands:
        a, b = strides[inner], strides[outer]
        if a == 0 or b == 0:
            continue
        if a != b:
            return 1 if a > b else -1
        if shape[inner] > shape[outer]:
            return 1
    return 0


def merged_axes(shape: Any, outs: Any, ins: Any) -> list[list[int]]:
    """(length, result's stride, input's stride) of the merged axes, innermost first, at least two.

    ``outs`` are 0 along folded axes.
    """
    order = list(range(len(shape) - 1, -1, -1))
    for i in range(1, len(order)):
        at = i
        for j in range(i - 1, -1, -1):
            decided = _swapped(shape, (outs, ins), order[j], order[at])
            if decided > 0:
                order[j], order[at] = order[at], order[j]
                at = j
            elif decided < 0:
                break
    merged: list[list[int]] = []
    for axis in order:
        n, a, s = shape[axis], outs[axis], ins[axis]
        if merged:
            own = merged[-1]
            if n == 1 or own[0] == 1 or (own[0] * own[1] == a and own[0] * own[2] == s):
                merged[-1] = [n, a, s] if own[0] == 1 else [own[0] * n, own[1], own[2]]
                continue
        merged.append([n, a, s])
    return [*merged, *[[1, 0, 0]] * (2 - len(merged))]


def result_strides(shape: Any, axis: tuple[int, ...]) -> list[int]:
    strides, size = [0] * len(shape), 1
    for i in range(len(shape) - 1, -1, -1):
        if i not in axis:
            strides[i], size = size, size * shape[i]
    return strides


# --- plans ----------------------------------------------------------------------------------------


def plan(name: str, out: Any, x: Any, axis: tuple[int, ...]) -> Callable[..., None]:
    """``run(out, x)`` on flat arrays: the "sum" or "mean" of ``x`` over ``axis``."""
    small, size = x.dtype not in WIDTHS, math.prod(x.shape)
    if small and name == "mean" and size and not _without_gaps(x):
        return _on_dense_copy(name, out, x, axis)
    axes = merged_axes(x.shape, result_strides(x.shape, axis), x.strides)
    count = math.prod(x.shape[i] for i in axis) if name == "mean" else 1
    # a mean of 16-bit floats is one of their float32 copy, whose vectors are not paired
    fold = _Fold(x.dtype, small and name == "sum", axes, size, count)
    return fold.serial() if size < PARALLEL_SIZE else fold.on_threads()


def _without_gaps(x: Any) -> bool:
    expected = 1
    for s, n in sorted((s, n) for s, n in zip(x.strides, x.shape, strict=True) if n != 1):
        if s != expected:
            return False
        expected *= n
    return True


def _on_dense_copy(name: str, out: Any, x: Any, axis: tuple[int, ...]) -> Callable[..., None]:
    """The fold of a copy without gaps whose axes have the same order."""
    order = sorted(range(len(x.shape)), key=lambda i: (-x.strides[i], i))
    shape, strides = [x.shape[i] for i in order], [0] * len(order)
    size = 1
    for i in reversed(order):
        strides[i], size = size, size * x.shape[i]
    fold = plan(name, out, Operand(x.shape, strides, x.dtype), axis)
    given = Operand(shape, [x.strides[i] for i in order], x.dtype)

    def run(target: Any, source: Any) -> None:
        fold(target, ordered(strided(source, given)).reshape(-1))

    return run


def pieces_of(size: int, threads: int) -> tuple[int, int]:
    """Of a sum of all elements: into how many ranges PyTorch cuts it, and their length."""
    pieces = min(threads, -(-size // PARALLEL_SIZE)) if size >= PARALLEL_SIZE else 1
    return pieces, -(-size // pieces)


@functools.cache
def of_pieces(dtype: Any, threads: int) -> Callable[..., None]:
    """``run(out, sums)``: the sums of the ranges, one for each thread, put together."""
    return _Fold(dtype, False, [[threads, 0, 1], [1, 0, 0]], threads, 1).serial()


class _Fold:
    """A sum of ``size`` elements of one type along merged axes; ``count`` divides it."""

    def __init__(
        self, dtype: Any, paired: bool, axes: list[list[int]], size: int, count: int
    ) -> None:
        self._dtype, self._paired, self._axes = dtype, paired, axes
        self._size, self._count = size, count
        self._wide = _wide(dtype)

    def serial(self) -> Callable[..., None]:
        size, count, kind = self._size, self._count, _carrier(self._dtype)
        total = entry_point(
            _total_of(self._dtype, self._paired),
            f"void({kind}[::1], {kind}[::1], int64[:,::1], int64, int64)",
        )
        axes = np.array(self._axes, np.int64)

        def run(target: Any, source: Any) -> None:
            total(target, source, axes, size, count)

        return bound(run, total, axes, size, count)

    def on_threads(self) -> Callable[..., None]:
        """Divided as PyTorch divides it, so the sum hangs on the number of threads."""
        planned = {1: self.serial()}

        def run(target: Any, source: Any) -> None:
            threads = thread_pool.get_num_threads()
            found = planned.get(threads)
            if found is None:
                whole = all(a == 0 for _, a, _ in self._axes)
                found = planned[threads] = self._ranges(threads) if whole else self._split(threads)
            found(target, source)

        return run

    def _ranges(self, threads: int) -> Callable[..., None]:
        """One result: each thread adds a range of elements, and their sums are added."""
        pieces, each = pieces_of(self._size, threads)
        fold, again = _fold(self._dtype, self._paired), of_pieces(self._wide, threads)
        axes, finish, count = np.array(self._axes, np.int64), self._finish(), self._count
        size = self._size

        def run(target: Any, source: Any) -> None:
            sums = np.zeros(threads + 1, self._wide)

            def part(first: int, last: int) -> None:
                for k in range(first, last):
                    fold(sums[k : k + 1], source, axes, k * each, min(k * each + each, size))

            if size < _WORTH_THREADS:
                part(0, pieces)
            else:
                thread_pool.parallel_for(pieces, part)
            if self._paired:  # the threads' sums are kept in the element type
                sums[:] = sums.astype(self._dtype)
            again(sums[threads:], sums[:threads])
            finish(target, sums[threads:], count)

        return run

    def _split(self, threads: int) -> Callable[..., None]:
        """Many results: each thread has some of them, along one axis."""
        axis = self._split_axis(threads)
        n, a, s = self._axes[axis]
        each = -(-n // min(threads, n))
        whole = _CACHE_LINE // self._dtype.itemsize if s == 1 else 1
        bounds = [min(k, n) // whole * whole for k in range(0, n, each)]
        bounds.append(n)
        if self._size < _WORTH_THREADS and self._picture_bears(axis, n - bounds[-2]):
            return self.serial()
        parts: list[tuple[int, int, Any, int]] = []
        for first, last in itertools.pairwise(bounds):
            axes = [list(x) for x in self._axes]
            axes[axis][0] = last - first
            size = math.prod(length for length, _, _ in axes)
            parts.append((first * a, first * s, np.array(axes, np.int64), size))
        fold, finish, count = _fold(self._dtype, self._paired), self._finish(), self._count
        rounded = self._dtype not in WIDTHS

        def run(target: Any, source: Any) -> None:
            held = np.empty(target.size, np.float32) if rounded else target
            held[:] = 0

            def part(first: int, last: int) -> None:
                for to, at, axes, size in parts[first:last]:
                    fold(held[to:], source[at:], axes, 0, size)

            if self._size < _WORTH_THREADS:
                part(0, len(parts))
            else:
                thread_pool.parallel_for(len(parts), part)
            if rounded or count != 1:
                finish(target, held, count)

        return run

    def _picture_bears(self, axis: int, last: int) -> bool:
        """Whether cutting ``axis``, the last piece being ``last`` long, leaves all bits alone."""
        (n, a, s), (_, _, t) = self._axes[:2]
        return a == 0 and (
            (s == 1 and n >= _VECTORS) or (t == 1 and (axis > 1 or last >= _VECTORS))
        )

    def _split_axis(self, threads: int) -> int:
        """The outermost kept axis that is long enough for all threads, else the longest."""
        best = len(self._axes) - 1
        while best and self._axes[best][0] == 1 and self._axes[best][1] == 0:
            best -= 1  # the second axis of a picture of one
        for axis in range(best, -1, -1):
            n, a, _ = self._axes[axis]
            if a == 0:
                break
            if n >= threads:
                return axis
            if n > self._axes[best][0]:
                best = axis
        return best

    def _finish(self) -> Any:
        kind = _carrier(self._dtype)
        return entry_point(
            _finish_of(self._dtype), f"void({kind}[::1], {self._wide.name}[::1], int64)"
        )


def _fold(dtype: Any, paired: bool) -> Any:
    return entry_point(
        _fold_of(dtype, paired),
        f"void({_wide(dtype).name}[::1], {_carrier(dtype)}[::1], int64[:,::1], int64, int64)",
    )


def _wide(dtype: Any) -> np.dtype[Any]:
    """The type of the sums."""
    return dtype if dtype in WIDTHS else np.dtype(np.float32)


def _carrier(dtype: Any) -> str:
    return dtype.name if dtype in WIDTHS else "uint16"
