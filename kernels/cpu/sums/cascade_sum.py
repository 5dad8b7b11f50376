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

import numpy as np

from mindtorch.kernels.codegen.jit import bound, entry_point

from ..elementwise import Operand, strided
from ..strided_copy import ordered
from ..threads import thread_pool
from ..vectors.simd_sums import WIDTHS
from .cascade_loops import (
    LONG_ROWS,
    carrier_of,
    finish_of,
    fold_of,
    pictures_of,
    total_of,
    type_of_sums,
    way_through,
)

PARALLEL_SIZE = 32768  # elements from which PyTorch adds on several threads
_WORTH_THREADS = 1 << 18  # elements from which several threads are quicker
_VECTORS = 16  # elements that are a vector of any type
_CACHE_LINE = 128  # bytes: pieces of columns begin at multiples of it


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
        self._wide = type_of_sums(dtype)

    def serial(self) -> Callable[..., None]:
        kind = carrier_of(self._dtype)
        total = entry_point(
            total_of(self._dtype, self._paired, self._count != 1, self._way(self._axes)),
            f"void({kind}[::1], {kind}[::1], int64[:,::1], int64)",
        )
        axes, count = np.array(self._axes, np.int64), self._count

        def run(target: Any, source: Any) -> None:
            total(target, source, axes, count)

        return bound(run, total, axes, count)

    def _way(self, axes: list[list[int]]) -> int:
        return way_through(self._dtype, self._paired, axes)

    def on_threads(self) -> Callable[..., None]:
        """Divided as PyTorch divides it, so the sum hangs on the number of threads."""
        planned: dict[int, Callable[..., None]] = {}

        def run(target: Any, source: Any) -> None:
            threads = thread_pool.get_num_threads()
            found = planned.get(threads)
            if found is None:
                found = planned[threads] = self._divided(threads)
            found(target, source)

        return run

    def _divided(self, threads: int) -> Callable[..., None]:
        if threads == 1:
            return self.serial()
        whole = all(a == 0 for _, a, _ in self._axes)
        return self._ranges(threads) if whole else self._split(threads)

    def _ranges(self, threads: int) -> Callable[..., None]:
        """One result: each thread adds a range of elements, and their sums are added."""
        pieces, each = pieces_of(self._size, threads)
        (_, _, s), (rows, _, _) = self._axes[:2]
        way = LONG_ROWS if s == 1 and rows == 1 else None  # each range is a part of the one row
        fold, again = _fold(self._dtype, self._paired, way), of_pieces(self._wide, threads)
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
        parts: list[tuple[int, int, Any, Any]] = []
        for first, last in itertools.pairwise(bounds):
            axes = [list(x) for x in self._axes]
            axes[axis][0] = last - first
            add = self._pictures(self._way(axes))
            parts.append((first * a, first * s, np.array(axes, np.int64), add))
        finish, count = self._finish(), self._count
        rounded = self._dtype not in WIDTHS

        def run(target: Any, source: Any) -> None:
            held = np.empty(target.size, np.float32) if rounded else target
            held[:] = 0

            def part(first: int, last: int) -> None:
                for to, at, axes, add in parts[first:last]:
                    add(held[to:], source[at:], axes)

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

    def _pictures(self, way: int) -> Any:
        kinds = f"{self._wide.name}[::1], {carrier_of(self._dtype)}[::1], int64[:,::1]"
        return entry_point(pictures_of(self._dtype, self._paired, way), f"void({kinds})")

    def _finish(self) -> Any:
        kind = carrier_of(self._dtype)
        return entry_point(
            finish_of(self._dtype), f"void({kind}[::1], {self._wide.name}[::1], int64)"
        )


def _fold(dtype: Any, paired: bool, way: int | None) -> Any:
    return entry_point(
        fold_of(dtype, paired, way),
        f"void({type_of_sums(dtype).name}[::1], {carrier_of(dtype)}[::1], int64[:,::1], int64, "
        "int64)",
    )
