"""Arrays with a shape over flat device memory, and copies between layouts."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from . import memory
from .elementwise import copy


def dense_strides(shape: Any) -> tuple[int, ...]:
    result, step = [], 1
    for n in reversed(shape):
        result.append(step)
        step *= n
    return tuple(reversed(result))


class Array:
    """A strided view of device memory: what array-form kernels get.

    Attributes:
        flat: device array that begins at the first element.
        shape, strides: strides in elements.
    """

    __slots__ = ("flat", "shape", "strides")

    def __init__(self, flat: Any, shape: Any, strides: Any = None) -> None:
        self.flat = flat
        self.shape = tuple(shape)
        self.strides = dense_strides(self.shape) if strides is None else tuple(strides)

    @property
    def dtype(self) -> Any:
        return self.flat.dtype

    @property
    def on_host(self) -> bool:
        """Whether this is a number of the host."""
        return isinstance(self.flat, np.ndarray)

    @property
    def ndim(self) -> int:
        return len(self.shape)

    @property
    def size(self) -> int:
        return math.prod(self.shape)

    @property
    def dense(self) -> bool:
        """Whether the elements lie in order, without room between them."""
        own = zip(self.shape, self.strides, dense_strides(self.shape), strict=True)
        return all(n == 1 or a == b for n, a, b in own) or self.size == 0

    def reshape(self, *shape: int) -> Array:
        """A dense array with other axes; copied first where it is not dense."""
        whole = dense(self)
        if -1 in shape:
            known = -math.prod(shape)
            shape = tuple(whole.size // known if n == -1 else n for n in shape)
        return Array(whole.flat, shape)

    def permute(self, order: Any) -> Array:
        return Array(self.flat, [self.shape[i] for i in order], [self.strides[i] for i in order])

    def moved(self, axis: int, place: int) -> Array:
        """With ``axis`` at ``place``."""
        order = [i for i in range(self.ndim) if i != axis]
        order.insert(place % self.ndim, axis)
        return self.permute(order)

    def part(self, axis: int, start: int, length: int, step: int = 1) -> Array:
        """``start, start + step, ...`` of ``axis``."""
        shape = [length if i == axis else n for i, n in enumerate(self.shape)]
        strides = [s * step if i == axis else s for i, s in enumerate(self.strides)]
        begin = start * self.strides[axis] if length and self.size else 0
        return Array(self.flat[begin:], shape, strides)

    def expand(self, shape: Any) -> Array:
        """Broadcast to ``shape``."""
        extra = len(shape) - self.ndim
        own = zip(self.shape, self.strides, shape[extra:], strict=True)
        strides = [0 if n == 1 and m != 1 else s for n, s, m in own]
        return Array(self.flat, shape, [0] * extra + strides)


def empty(shape: Any, dtype: Any) -> Array:
    """A dense array, uninitialised."""
    shape = tuple(shape)
    return Array(memory.empty(math.prod(shape), np.dtype(dtype)), shape)


def upload(values: Any) -> Array:
    """A dense array with the elements of a numpy array."""
    return Array(memory.from_host(values), values.shape)


def download(x: Array) -> Any:
    """A numpy array of the elements; waits for the device."""
    return dense(x).flat[: x.size].to_host().reshape(x.shape)


def assign(out: Array, x: Array) -> None:
    """``out[...] = x``, broadcast and cast."""
    if out.size:
        copy.plan((out,), (x,))(out.flat, x.flat)


def fill(out: Array, value: Any) -> None:
    """``out[...] = value`` for a number."""
    if not out.size:
        return
    if out.dtype.kind == "c":
        assign(out, Array(upload(np.array([value], out.dtype)).flat, ()))
        return
    number = Array(np.array([value]), ())
    copy.plan((out,), (number,))(out.flat, number.flat)


def dense(x: Array) -> Array:
    """``x``, or a dense copy of it."""
    if x.dense:
        return x
    result = empty(x.shape, x.dtype)
    assign(result, x)
    return result


def cast(x: Array, dtype: Any) -> Array:
    """``x`` as elements of ``dtype``, dense; itself where it is that already."""
    if x.dtype == dtype:
        return dense(x)
    result = empty(x.shape, dtype)
    assign(result, x)
    return result


def zeros(shape: Any, dtype: Any) -> Array:
    result = empty(shape, dtype)
    fill(result, 0)
    return result


memory.register_fill(lambda flat, number: fill(Array(flat, (flat.size,)), number))
