"""Copies that put elements elsewhere: side by side, backwards, rolled, in a frame."""

from __future__ import annotations

import itertools
import math
from typing import Any

import numpy as np

from mindtorch.kernels.codegen.jit import bound, entry_point, kernel

from . import strided_copy


def dense(layout: Any) -> bool:
    """Whether the elements lie in order, without room between them."""
    expected = 1
    for n, stride in zip(reversed(layout.shape), reversed(layout.strides), strict=True):
        if n != 1 and stride != expected:
            return False
        expected *= n
    return True


def picture(shape: Any, axis: int) -> tuple[int, int, int]:
    """(outer, length of the axis, inner)."""
    if not shape:
        return 1, 1, 1
    return math.prod(shape[:axis]), shape[axis], math.prod(shape[axis + 1 :])


def slice_gradient(
    out: Any, g: Any, *, shape: Any, axis: int, start: int, length: int, step: int
) -> None:
    """``out`` = zeros, with ``g`` at ``start, start + step, ...`` of ``axis``."""
    out[...] = 0
    if length:
        place = [slice(None)] * out.ndim
        place[axis] = slice(start, start + (length - 1) * step + 1, step)
        out[tuple(place)] = g


def as_strided_gradient(
    out: Any, g: Any, *, input_shape: Any, input_strides: Any, shape: Any, strides: Any, offset: int
) -> None:
    """Sum the elements of ``g`` that the layout (shape, strides, offset) puts in one place."""
    if _add_at_places(out, g, input_strides, shape, strides, offset):
        return
    start = max(0, -offset)  # the input's first element, where the view begins before it
    offset += start
    extent = 1 + start + sum((n - 1) * s for n, s in zip(input_shape, input_strides, strict=True))
    reach = 1 + offset + sum((n - 1) * s for n, s in zip(shape, strides, strict=True))
    flat = np.zeros(max(extent, reach), out.dtype)
    places = _places(shape, strides, offset)
    np.add.at(flat, places, g.reshape(-1))
    own = _places(input_shape, input_strides, start)
    count = np.zeros(flat.size, np.int64)
    np.add.at(count, own, 1)
    out[...] = (flat[own] / np.maximum(count[own], 1)).astype(out.dtype).reshape(out.shape)


_MOST_SUMS = 512  # arrays that are added one after another


def _add_at_places(
    out: Any, g: Any, input_strides: Any, shape: Any, strides: Any, offset: int
) -> bool:
    """The sums for a dense input, by adding slices of ``g`` none of whose elements meet; False:
    there would be too many. Elements that meet in a place are added in the order of ``g``."""
    reach = offset + sum((n - 1) * s for n, s in zip(shape, strides, strict=True))
    dense = out.flags.c_contiguous and tuple(
        s * out.itemsize for s, n in zip(input_strides, out.shape, strict=True) if n != 1
    ) == tuple(s for s, n in zip(out.strides, out.shape, strict=True) if n != 1)
    if not dense or offset < 0 or reach >= out.size or out.dtype.kind not in "fiuc":
        return False
    apart: list[int] = []  # axes along which places differ
    counts: dict[int, Any] = {}  # the others, with the order in which they are added
    used = 0
    for axis in sorted(range(len(shape)), key=lambda i: (strides[i], -shape[i])):
        if shape[axis] == 1 or strides[axis] > used:
            apart.append(axis)
            used += (shape[axis] - 1) * strides[axis]
        else:
            backwards = bool(apart) and axis > apart[-1]
            counts[axis] = range(shape[axis] - 1, -1, -1) if backwards else range(shape[axis])
    if math.prod(map(len, counts.values())) > _MOST_SUMS:
        return False
    out[...] = 0
    flat, apart = out.reshape(-1), sorted(apart)
    for place in itertools.product(*[counts[axis] for axis in sorted(counts)]):
        at = dict(zip(sorted(counts), place, strict=True))
        start = offset + sum(strides[axis] * i for axis, i in at.items())
        target = np.lib.stride_tricks.as_strided(
            flat[start:], [shape[i] for i in apart], [strides[i] * out.itemsize for i in apart]
        )
        target += g[tuple([at.get(axis, slice(None)) for axis in range(len(shape))])]
    return True


def _places(shape: Any, strides: Any, offset: int) -> Any:
    places = np.full(shape, offset, np.int64)
    for axis, (n, s) in enumerate(zip(shape, strides, strict=True)):
        steps = np.arange(n, dtype=np.int64) * s
        places += steps.reshape([-1 if i == axis else 1 for i in range(len(shape))])
    return places.reshape(-1)


def cat(out: Any, *tensors: Any, axis: int) -> None:
    """``out`` = ``tensors`` one after another along ``axis``."""
    start = 0
    place = [slice(None)] * out.ndim
    for tensor in tensors:
        stop = start + tensor.shape[axis]
        place[axis] = slice(start, stop)
        out[tuple(place)] = tensor
        start = stop


@kernel
def _beside(target: Any, first: Any, second: Any, n: int, row: int) -> None:
    """Rows of ``n`` elements and of ``row - n`` side by side; unsigned places need no look whether
    they count from the end, and are made vectors of."""
    for r in range(target.size // max(row, 1)):
        for i in range(n):
            target[np.uint64(r * row + i)] = first[np.uint64(r * n + i)]
        for i in range(row - n):
            target[np.uint64(r * row + n + i)] = second[np.uint64(r * (row - n) + i)]


def _cat_two(outer: int, n: int, row: int, dtype: Any) -> Any:
    """Two tensors, of ``n`` and ``row - n`` elements in each of ``outer`` rows."""
    if outer == 1:

        def first_and_second(target: Any, first: Any, second: Any) -> None:
            target[:n] = first
            target[n:] = second

        return first_and_second
    kind = np.dtype(f"u{dtype.itemsize}")
    array = f"{kind.name}[::1]"
    run = entry_point(_beside, f"void({array}, {array}, {array}, int64, int64)")

    def beside(target: Any, first: Any, second: Any) -> None:
        run(target, first, second, n, row)

    return bound(beside, run, n, row)


def _cat_plan(out_layouts: Any, in_layouts: Any, *, axis: int) -> Any:
    """For dense operands: rows are written side by side."""
    out = out_layouts[0]
    if not all(x.dtype == out.dtype and dense(x) for x in (out, *in_layouts)):
        return None
    outer = math.prod(out.shape[:axis])
    if len(in_layouts) == 2 and out.dtype.kind != "c":
        ends = list(itertools.accumulate(math.prod(x.shape[axis:]) for x in in_layouts))
        return _cat_two(outer, *ends, out.dtype)
    if outer == 1:
        return lambda target, *tensors: np.concatenate(tensors, out=target)

    def side_by_side(target: Any, *tensors: Any) -> None:
        rows = [x.reshape(outer, -1) for x in tensors]
        np.concatenate(rows, axis=1, out=target.reshape(outer, -1))

    return side_by_side


cat.plan = _cat_plan


def flip(out: Any, x: Any, *, axes: Any) -> None:
    """``out`` = ``x`` backwards along ``axes``."""
    strided_copy.assign(out, np.flip(x, axes))


def _flip_plan(outs: Any, ins: Any, *, axes: Any) -> Any:
    (out,), (x,) = outs, ins
    strides = [-s if i in axes else s for i, s in enumerate(x.strides)]
    start = sum((x.shape[i] - 1) * x.strides[i] for i in axes)
    return strided_copy.planned(x.shape, out.strides, strides, x.dtype, (0, start))


flip.plan = _flip_plan


def roll(out: Any, x: Any, *, shifts: Any, axes: Any) -> None:
    """``out[(i + shift) % n] = x[i]`` along each of ``axes``."""
    if len(axes) != 1 or not x.size:
        out[...] = np.roll(x, shifts, axes)
        return
    target, source = np.moveaxis(out, axes[0], 0), np.moveaxis(x, axes[0], 0)
    shift = shifts[0] % len(source)
    target[shift:] = source[: len(source) - shift]
    target[:shift] = source[len(source) - shift :]


def _roll_plan(outs: Any, ins: Any, *, shifts: Any, axes: Any) -> Any:
    """Along one axis of operands in C order: two blocks change places."""
    (out,), (x,) = outs, ins
    if len(axes) != 1 or not (dense(out) and dense(x)):
        return None
    outer, n, inner = picture(x.shape, axes[0])
    shift = shifts[0] % n * inner
    rest = n * inner - shift

    def run(target: Any, source: Any) -> None:
        if outer > 1:
            target, source = target.reshape(outer, -1), source.reshape(outer, -1)
        target[..., shift:] = source[..., :rest]
        target[..., :shift] = source[..., rest:]

    return run


roll.plan = _roll_plan


def _frames(
    outer: Any, shape: Any, padding: Any
) -> tuple[list[tuple[slice, ...]], tuple[slice, ...], tuple[slice, ...]]:
    """The slices of the edges, of what lies in the middle, and of what is set there."""
    inner, edges = [], []
    frame = [slice(0, n) for n in outer]
    for axis, (n, (before, after)) in enumerate(zip(shape, padding, strict=True)):
        inner.append(slice(max(-before, 0), n - max(-after, 0)))
        start = max(before, 0)
        stop = start + max(n - max(-before, 0) - max(-after, 0), 0)
        for edge in (slice(0, start), slice(stop, outer[axis])):
            frame[axis] = edge
            edges.append(tuple(frame))
        frame[axis] = slice(start, stop)
    return edges, tuple(frame), tuple(inner)


def pad(out: Any, x: Any, value: Any, *, padding: Any) -> None:
    """``out`` = ``value``, with ``x`` set ``before`` places in along each axis."""
    edges, frame, inner = _frames(out.shape, x.shape, padding)
    for edge in edges:
        out[edge] = value
    strided_copy.assign(out[frame], x[inner])


def _pad_plan(outs: Any, ins: Any, *, padding: Any) -> Any:
    """For operands in C order: the edges and the middle are found out once."""
    (out,), (x, _) = outs, ins
    if not (dense(out) and dense(x)):
        return None
    edges, frame, inner = _frames(out.shape, x.shape, padding)
    edges = [e for e in edges if math.prod(len(range(*s.indices(n))) for s, n in
                                           zip(e, out.shape, strict=True))]  # fmt: skip
    shapes, start = (out.shape, x.shape), sum(
        max(before, 0) * s for (before, _), s in zip(padding, out.strides, strict=True)
    )
    cut = min(min(each) for each in padding) < 0 if padding else True
    copy = None if cut else strided_copy.plan(x.shape, out.strides, x.strides, x.dtype, (start, 0))

    def run(target: Any, source: Any, value: Any) -> None:
        whole = target.reshape(shapes[0])
        for edge in edges:
            whole[edge] = value[0]
        if copy is not None:
            copy(target, source)
        else:
            whole[frame] = source.reshape(shapes[1])[inner]

    return run


pad.plan = _pad_plan
