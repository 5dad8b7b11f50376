"""Copies between layouts of one type: rows, rows backwards, transpositions in tiles, anything else
element by element.

numpy copies a transposed array by columns: where these lie a power of two apart, each element
displaces a line of the cache that its neighbours need. A tile is read along the source's rows and
written along the result's. Of large planes a block of tiles is brought to the cache, turned there,
and written: memory that is read a line at a time in 1000 places keeps the loop waiting.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import numpy as np

from mindtorch.kernels.codegen.jit import entry_point, kernel

from .threads.thread_pool import parallel_for

WORDS = {1: np.uint8, 2: np.uint16, 4: np.uint32, 8: np.uint64}
_SIDE = 16  # of a tile
_BLOCK, _BLOCK_OF_LONG = 128, 64  # sides of a block; of words of 8 bytes
_FEW = 32  # rows or columns that are not worth blocks
_LEAST = 4096  # elements: fewer are copied before a loop would have been loaded
_SHORT = 8  # an axis that is not worth a loop of its own
_LONG = 64  # rows that numpy copies as fast
_PARALLEL = 1 << 18
_ROWS, _BACKWARDS, _ALIKE, _TURNED, _BLOCKS, _ANY = range(6)


@kernel(inline="always")
def _tile(
    out: Any, x: Any, held: Any, po: int, px: int, to: int, sx: int, h: int, w: int
) -> None:
    """``out[po + j * to + i] = x[px + i * sx + j]`` for ``j < h`` and ``i < w``."""
    for i in range(w):
        for j in range(h):
            held[np.uint64(i * _SIDE + j)] = x[np.uint64(px + i * sx + j)]
    for j in range(h):
        for i in range(w):
            out[np.uint64(po + j * to + i)] = held[np.uint64(i * _SIDE + j)]


@kernel(inline="always")
def _block(
    out: Any, x: Any, held: Any, turned: Any, po: int, px: int, to: int, sx: int, tx: int, h: int,
    w: int, side: int,
) -> None:  # fmt: skip
    """``out[po + j * to + i] = x[px + i * sx + j * tx]`` for ``j < h`` and ``i < w``; ``tx`` is 1
    or -1. Whole tiles are turned, the last ones with what lay there before."""
    for i in range(w):
        if tx == 1:
            for j in range(h):
                held[np.uint64(i * side + j)] = x[np.uint64(px + i * sx + j)]
        else:
            for j in range(h):
                held[np.uint64(i * side + j)] = x[np.uint64(px + i * sx - j)]
    for s in range(0, h, _SIDE):
        for r in range(0, w, _SIDE):
            for j in range(_SIDE):
                for i in range(_SIDE):
                    place = np.uint64((r + i) * side + s + j)
                    turned[np.uint64((s + j) * side + r + i)] = held[place]
    for j in range(h):
        for i in range(w):
            out[np.uint64(po + j * to + i)] = turned[np.uint64(j * side + i)]


@kernel
def _copy(out: Any, x: Any, geometry: Any, kind: int, height: int, begin: int, end: int) -> None:
    """``geometry``: lengths, the result's steps, the source's; the last column is where they begin.
    The two inner axes are a plane, of which a unit is ``height`` rows.

    Unsigned places need no look whether they count from the end, slices would be counted."""
    last = geometry.shape[1] - 2
    n, so, sx = geometry[0, last], geometry[1, last], geometry[2, last]
    m, to, tx = geometry[0, last - 1], geometry[1, last - 1], geometry[2, last - 1]
    units = (m + height - 1) // height
    side = height if kind == _BLOCKS else _SIDE
    held, turned = np.empty(side * side, x.dtype), np.empty(side * side, x.dtype)
    for unit in range(begin, end):
        left, first = unit // units, unit % units * height
        h = min(height, m - first)
        po, px = geometry[1, last + 1] + first * to, geometry[2, last + 1] + first * tx
        for axis in range(last - 2, -1, -1):
            at = left % geometry[0, axis]
            left //= geometry[0, axis]
            po += at * geometry[1, axis]
            px += at * geometry[2, axis]
        if kind == _BLOCKS:
            for c in range(0, n, side):
                w = min(side, n - c)
                _block(out, x, held, turned, po + c, px + c * sx, to, sx, tx, h, w, side)
            continue
        if kind == _TURNED:
            for c in range(0, n, _SIDE):
                w = min(_SIDE, n - c)
                if tx == -1:
                    for j in range(h):
                        for i in range(c, c + w):
                            out[np.uint64(po + j * to + i)] = x[np.uint64(px + i * sx - j)]
                elif w == _SIDE and h == _SIDE:
                    _tile(out, x, held, po + c, px + c * sx, to, sx, _SIDE, _SIDE)
                else:
                    _tile(out, x, held, po + c, px + c * sx, to, sx, h, w)
            continue
        for _ in range(h):
            if kind == _ROWS:
                for i in range(n):
                    out[np.uint64(po + i)] = x[np.uint64(px + i)]
            elif kind == _BACKWARDS:
                for i in range(n):
                    out[np.uint64(po + i)] = x[np.uint64(px - i)]
            elif kind == _ALIKE:
                value = x[np.uint64(px)]
                for i in range(n):
                    out[np.uint64(po + i)] = value
            else:
                for i in range(n):
                    out[np.uint64(po + i * so)] = x[np.uint64(px + i * sx)]
            po += to
            px += tx


def plan(
    shape: Any, out_strides: Any, in_strides: Any, dtype: np.dtype[Any], starts: Any = (0, 0)
) -> Callable[[Any, Any], None] | None:
    """``run(out, x)`` on flat arrays, which copies what begins at ``starts`` and has these strides,
    in elements, of either sign; None for what numpy copies as fast: few elements, long rows."""
    word = WORDS.get(dtype.itemsize)
    lengths, outs, ins = _merged(shape, out_strides, in_strides)
    size = int(np.prod(lengths))
    if word is None or size < _LEAST:
        return None
    if lengths[-1] < _SHORT:
        for row in (lengths, outs, ins):
            row.append(row.pop(-2))
    kind, height = _ANY, max(1, _LEAST // lengths[-1])
    if outs[-1] == ins[-1] == 1 and lengths[-1] >= _LONG:
        return None
    if outs[-1] == 1 and abs(ins[-1]) == 1:
        kind = _ROWS if ins[-1] == 1 else _BACKWARDS
    elif outs[-1] == 1 and not ins[-1]:
        kind = _ALIKE
    elif outs[-1] == 1:
        for axis, step in enumerate(ins):
            if abs(step) == 1 and lengths[axis] >= _SHORT:
                for row in (lengths, outs, ins):
                    row.insert(-1, row.pop(axis))
                kind, height = _TURNED, _SIDE
                if min(lengths[-2:]) >= _FEW:
                    kind, height = _BLOCKS, _BLOCK if dtype.itemsize < 8 else _BLOCK_OF_LONG
                break
    geometry = np.array([[*lengths, 0], [*outs, starts[0]], [*ins, starts[1]]], np.int64)
    units = size // (lengths[-1] * lengths[-2]) * -(-lengths[-2] // height)
    name = np.dtype(word).name
    loop = entry_point(
        _copy, f"void({name}[::1], {name}[::1], int64[:,::1], int64, int64, int64, int64)"
    )
    if size < 2 * _PARALLEL:
        return lambda out, x: loop(out, x, geometry, kind, height, 0, units)

    def run(out: Any, x: Any) -> None:
        def part(begin: int, end: int) -> None:
            loop(out, x, geometry, kind, height, begin, end)

        parallel_for(units, part)

    return run


def planned(
    shape: Any, out_strides: Any, in_strides: Any, dtype: np.dtype[Any], starts: Any = (0, 0)
) -> Callable[[Any, Any], None]:
    """:func:`plan`, by numpy where it copies as fast."""
    run = plan(shape, out_strides, in_strides, dtype, starts)
    if run is not None:
        return run
    size = dtype.itemsize
    to, of = (tuple([s * size for s in each]) for each in (out_strides, in_strides))
    first, begin = (start * size for start in starts)

    def run_by_numpy(out: Any, x: Any) -> None:
        view = np.ndarray(shape, dtype, x, begin, of)
        np.ndarray(shape, dtype, out, first, to)[...] = view

    return run_by_numpy


def _merged(shape: Any, outs: Any, ins: Any) -> tuple[list[int], list[int], list[int]]:
    """At least two axes, ordered by the result's strides, those that continue each other as one."""
    axes = [(n, o, i) for n, o, i in zip(shape, outs, ins, strict=True) if n != 1]
    axes.sort(key=lambda a: (-a[1], -abs(a[2])))
    merged: list[tuple[int, int, int]] = []
    for n, o, i in axes:
        if merged and merged[-1][1] == o * n and merged[-1][2] == i * n:
            merged[-1] = (merged[-1][0] * n, o, i)
        else:
            merged.append((n, o, i))
    while len(merged) < 2:
        merged.insert(0, (1, 0, 0)) if merged else merged.append((1, 1, 1))
    lengths, outs, ins = map(list, zip(*merged, strict=True))
    return lengths, outs, ins


def _memory(array: Any) -> Any:
    """The memory of an array as a row of words, from its lowest place."""
    size, strides = array.itemsize, array.strides
    if min(strides) < 0:
        array = array[tuple(slice(None, None, -1 if s < 0 else 1) for s in strides)]
        strides = array.strides
    extent = 1 + sum([(n - 1) * s for n, s in zip(array.shape, strides, strict=True)]) // size
    flat = np.lib.stride_tricks.as_strided(array, (extent,), (size,))
    return flat.view(WORDS[size])


@functools.lru_cache(maxsize=512)
def _by_loop(shape: Any, out_strides: Any, in_strides: Any, dtype: Any) -> Any:
    """:func:`plan` of arrays with such strides, in bytes, which may be negative."""
    steps, starts = [], []
    for strides in (out_strides, in_strides):
        steps.append([s // dtype.itemsize for s in strides])
        ends = [(n - 1) * s for n, s in zip(shape, steps[-1], strict=True)]
        starts.append(-sum(s for s in ends if s < 0))
    return plan(shape, steps[0], steps[1], dtype, starts)


def assign(out: Any, x: Any) -> None:
    """``out[...] = x`` for arrays of one shape that share no memory."""
    if out.dtype == x.dtype and x.size >= _LEAST and x.itemsize in WORDS:
        run = _by_loop(x.shape, out.strides, x.strides, x.dtype)
        if run is not None:
            run(_memory(out), _memory(x))
            return
    out[...] = x


def ordered(array: Any, dtype: Any = None) -> Any:
    """The array in C order, as ``dtype``: itself if it is so already."""
    if array.flags.c_contiguous or (dtype is not None and array.dtype != dtype):
        return np.ascontiguousarray(array, dtype)
    made = np.empty(array.shape, array.dtype)
    assign(made, array)
    return made
