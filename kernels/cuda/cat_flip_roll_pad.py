"""Copies between layouts for CUDA: all are elementwise copies from or to strided views.

    picture   one thread for each element copied (see ``elementwise``); flips and rolls, whose
              strides would be negative, have their own loop over the axis
    memory    no shared memory; writes are in order
    sync      none
    sizes     any
"""

from __future__ import annotations

import math
from typing import Any

from . import arrays, launch
from .fast_division import along, divisors
from .indexing import fold_places
from .launch import cuda


def slice_gradient(
    out: Any, g: Any, *, shape: Any, axis: int, start: int, length: int, step: int
) -> None:
    """``out`` = zeros, with ``g`` at ``start, start + step, ...`` of ``axis``."""
    arrays.fill(out, 0)
    if length:
        arrays.assign(out.part(axis, start, length, step), g)


def cat(out: Any, *tensors: Any, axis: int) -> None:
    """``out`` = ``tensors`` one after another along ``axis``."""
    start = 0
    for tensor in tensors:
        length = tensor.shape[axis]
        if tensor.size:
            arrays.assign(out.part(axis, start, length), tensor)
        start += length


def pad(out: Any, x: Any, value: Any, *, padding: Any) -> None:
    """``out`` = ``value``, with ``x`` set ``before`` places in along each axis."""
    arrays.assign(out, value)
    target, source = out, x
    for axis, (before, after) in enumerate(padding):
        kept = max(x.shape[axis] - max(-before, 0) - max(-after, 0), 0)
        source = source.part(axis, max(-before, 0), kept)
        target = target.part(axis, max(before, 0), kept)
    arrays.assign(target, source)


@launch.kernel
def _turn(
    count: int, out: Any, x: Any, n: int, inner: int, shift: int, backwards: int, by_inner: Any,
    by_n: Any,
) -> None:  # fmt: skip
    i = cuda.grid(1)
    while i < count:
        k = along(i, inner, n, by_inner, by_n)
        if backwards:
            source = n - 1 - k
        else:
            source = k - shift
            if source < 0:
                source += n
        out[i] = x[i + (source - k) * inner]
        i = launch.following(i, count)


def _along(x: Any, axis: int, shift: int, backwards: int) -> Any:
    """A dense copy of ``x`` rolled by ``shift``, or flipped, along ``axis``."""
    source, result = arrays.dense(x), arrays.empty(x.shape, x.dtype)
    n, inner = x.shape[axis], math.prod(x.shape[axis + 1 :])
    launch.each(_turn, x.size, result, source, n, inner, shift % max(n, 1), backwards,
                *divisors(x.size, inner, n))  # fmt: skip
    return result


def flip(out: Any, x: Any, *, axes: Any) -> None:
    """``out`` = ``x`` backwards along ``axes``."""
    for axis in axes if x.ndim else ():
        x = _along(x, axis, 0, 1)
    arrays.assign(out, x)


def roll(out: Any, x: Any, *, shifts: Any, axes: Any) -> None:
    """``out[(i + shift) % n] = x[i]`` along each of ``axes``."""
    given = x
    if axes is None:
        axes, x = (0,), x.reshape(-1)
    shifts = shifts if isinstance(shifts, tuple) else (shifts,) * len(axes)
    for shift, axis in zip(shifts, axes, strict=True):
        x = _along(x, axis, shift, 0)
    arrays.assign(out, x if x.shape == given.shape else x.reshape(*given.shape))


def as_strided_gradient(
    out: Any, g: Any, *, input_shape: Any, input_strides: Any, shape: Any, strides: Any, offset: int
) -> None:
    """Sum the elements of ``g`` that the layout (shape, strides, offset) puts in one place."""
    start = max(0, -offset)
    offset += start
    extent = 1 + start + sum((n - 1) * s for n, s in zip(input_shape, input_strides, strict=True))
    reach = 1 + offset + sum((n - 1) * s for n, s in zip(shape, strides, strict=True))
    size = max(extent, reach)
    sums, counts = arrays.zeros((size,), out.dtype), arrays.zeros((size,), "i8")
    fold_places(sums.flat, _places(shape, strides, offset), arrays.dense(g).flat, "sum")
    own = _places(input_shape, input_strides, start)
    ones = arrays.empty((out.size,), "i8")
    arrays.fill(ones, 1)
    fold_places(counts.flat, own, ones.flat, "sum")
    launch.each(_shared, out.size, out, sums, counts, own)


@launch.kernel
def _shared(count: int, out: Any, sums: Any, counts: Any, places: Any) -> None:
    i = cuda.grid(1)
    while i < count:
        p = places[i]
        out[i] = sums[p] / counts[p]
        i = launch.following(i, count)


@launch.kernel
def _add_axis(
    count: int, places: Any, n: int, inner: int, stride: int, by_inner: Any, by_n: Any
) -> None:
    i = cuda.grid(1)
    while i < count:
        places[i] += along(i, inner, n, by_inner, by_n) * stride
        i = launch.following(i, count)


def _places(shape: Any, strides: Any, offset: int) -> Any:
    """Where the elements of a layout lie, as a flat array of int64."""
    size = math.prod(shape)
    places = arrays.empty((size,), "i8")
    arrays.fill(places, offset)
    inner = size
    for n, stride in zip(shape, strides, strict=True):
        inner //= max(n, 1)
        launch.each(_add_axis, size, places, n, max(inner, 1), stride, *divisors(size, inner, n))
    return places.flat


