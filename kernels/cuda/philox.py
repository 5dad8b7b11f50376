"""Random numbers of CUDA's own: Philox4x32-10, a counter that is stirred ten times.

    picture   one thread for each block of four words (of 32 bits): it stirs
              the counter (place of the block, offset of the draw) under the key (seed) and writes
              the two or four numbers that these words make. Nothing is kept between launches
    memory    no shared memory; a thread writes neighbouring elements
    sync      none
    sizes     any; orders of 0 .. n - 1 are made by sorting random keys
Numbers depend on seed, offset and place alone, so not on the card or the grid. They are not those
of torch's CUDA generator, which depend on the grid; the words are
(tests/programs/cuda_libraries.py).
"""

from __future__ import annotations

import functools
from typing import Any

import numpy as np

from . import arrays, launch
from .arrays import Array
from .device_math import mathematics
from .launch import cuda
from .merge_sort import sort_rows

_LOW, _HALF = np.uint64(0xFFFFFFFF), np.uint64(32)
_FIRST, _SECOND = np.uint64(0xD2511F53), np.uint64(0xCD9E8D57)
_STEP, _OTHER_STEP = np.uint64(0x9E3779B9), np.uint64(0xBB67AE85)
_ODD, _EIGHT, _ELEVEN = np.uint64(1), np.uint64(8), np.uint64(11)


@launch.device
def stirred(a: Any, b: Any, c: Any, d: Any, key: Any, other: Any) -> Any:
    """Four words from the counter's four and the key's two, all as numbers of 64 bits."""
    for _ in range(10):
        p, q = _FIRST * a, _SECOND * c
        a, b = (q >> _HALF) ^ b ^ key, q & _LOW
        c, d = (p >> _HALF) ^ d ^ other, p & _LOW
        key = (key + _STEP) & _LOW
        other = (other + _OTHER_STEP) & _LOW
    return a, b, c, d


@launch.device
def words_at(place: Any, seed: Any, offset: Any) -> Any:
    at = np.uint64(place)
    return stirred(
        offset & _LOW, offset >> _HALF, at & _LOW, at >> _HALF, seed & _LOW, seed >> _HALF
    )


@launch.kernel
def _words(count: int, out: Any, seed: Any, offset: Any) -> None:
    i = cuda.grid(1)
    while i < count:
        a, b, c, d = words_at(i, seed, offset)
        out[4 * i] = a
        out[4 * i + 1] = b
        out[4 * i + 2] = c
        out[4 * i + 3] = d
        i = launch.following(i, count)


@functools.cache
def _samplers(dtype: Any) -> tuple[Any, Any]:
    """(one number of a word or of two, two normal numbers) in a floating-point type."""
    own, one, double = mathematics(dtype), dtype.type, dtype == np.float64
    log, sqrt, cos, sin = own["log"], own["sqrt"], own["cos"], own["sin"]
    unit, half = one(2.0**-53 if double else 2.0**-24), one(2.0**-54 if double else 2.0**-33)
    fine = one(2.0**-53 if double else 2.0**-32)

    @launch.device
    def even(high: Any, low: Any) -> Any:
        """In [0, 1), a multiple of 2^-53 (2^-24)."""
        if double:
            return one(((high << _HALF) | low) >> _ELEVEN) * unit
        return one(high >> _EIGHT) * unit

    @launch.device
    def above(high: Any, low: Any) -> Any:
        """In (0, 1], fine near 0."""
        if double:
            return one(((high << _HALF) | low) >> _ELEVEN) * fine + half
        return one(high) * fine + half

    @launch.device
    def pair(first: Any, second: Any) -> Any:
        """Two normal numbers from one in (0, 1] and one in [0, 1)."""
        size, turn = sqrt(one(-2.0) * log(first)), one(6.283185307179586) * second
        return size * cos(turn), size * sin(turn)

    @launch.device
    def made(kind: int, high: Any, low: Any, x: Any, y: Any) -> Any:
        if kind == 0:  # evenly in [x, y)
            value = x + even(high, low) * (y - x)
            return value if value < y else x
        if kind == 1:  # y with probability x, else 0
            return y if even(high, low) < x else one(0.0)
        return -log(above(high, low)) / x  # of density x exp(-x t)

    @launch.kernel
    def numbers(
        count: int, out: Any, size: int, seed: Any, offset: Any, kind: int, x: Any, y: Any
    ) -> None:
        i = cuda.grid(1)
        while i < count:
            a, b, c, d = words_at(i, seed, offset)
            if double:
                out[2 * i] = made(kind, a, b, x, y)
                if 2 * i + 1 < size:
                    out[2 * i + 1] = made(kind, c, d, x, y)
            else:
                out[4 * i] = made(kind, a, a, x, y)
                if 4 * i + 1 < size:
                    out[4 * i + 1] = made(kind, b, b, x, y)
                if 4 * i + 2 < size:
                    out[4 * i + 2] = made(kind, c, c, x, y)
                if 4 * i + 3 < size:
                    out[4 * i + 3] = made(kind, d, d, x, y)
            i = launch.following(i, count)

    @launch.kernel
    def normals(
        count: int, out: Any, size: int, seed: Any, offset: Any, mean: Any, deviation: Any
    ) -> None:
        i = cuda.grid(1)
        while i < count:
            a, b, c, d = words_at(i, seed, offset)
            if double:
                first, second = pair(above(a, b), even(c, d))
                out[2 * i] = mean + deviation * first
                if 2 * i + 1 < size:
                    out[2 * i + 1] = mean + deviation * second
            else:
                first, second = pair(above(a, a), even(b, b))
                third, fourth = pair(above(c, c), even(d, d))
                out[4 * i] = mean + deviation * first
                if 4 * i + 1 < size:
                    out[4 * i + 1] = mean + deviation * second
                if 4 * i + 2 < size:
                    out[4 * i + 2] = mean + deviation * third
                if 4 * i + 3 < size:
                    out[4 * i + 3] = mean + deviation * fourth
            i = launch.following(i, count)

    return numbers, normals


@launch.kernel
def _integers(
    count: int, out: Any, size: int, seed: Any, offset: Any, low: int, span: Any, whole: int
) -> None:
    """Two numbers of 64 bits a block: ``low`` and what is left of one over ``span``."""
    i = cuda.grid(1)
    while i < count:
        a, b, c, d = words_at(i, seed, offset)
        first, second = (a << _HALF) | b, (c << _HALF) | d
        if not whole:
            first, second = first % span, second % span
        out[2 * i] = np.int64(first) + low
        if 2 * i + 1 < size:
            out[2 * i + 1] = np.int64(second) + low
        i = launch.following(i, count)


def words(count: int, seed: int, offset: int) -> Any:
    """``4 count`` words as an array of uint64: blocks 0 .. count - 1 of a draw."""
    out = arrays.empty((4 * count,), np.uint64)
    launch.each(_words, count, out, np.uint64(seed), np.uint64(offset))
    return out


_KINDS = {"uniform": 0, "choose": 1, "exponential": 2}


def fill(out: Array, name: str, arguments: Any, seed: int, offset: int) -> None:
    """Draw all elements of ``out``.

    Args:
        name: "uniform" (low, high), "choose" (probability, value), "exponential" (rate), "normal"
            (mean, deviation), "integers" (low, span; 0 for all of 64 bits) or "permutation" ().
        seed, offset: the stream, and how many blocks of each place came before.
    """
    key, past = np.uint64(seed), np.uint64(offset)
    if name in ("integers", "permutation"):
        low, span = arguments or (0, 0)
        work: Any = np.dtype(np.int64)
    else:
        work = out.dtype if out.dtype == np.float64 else np.dtype(np.float32)
    made = out if out.dtype == work and out.dense else arrays.empty(out.shape, work)
    size, count = out.size, -(-out.size * work.itemsize // 16)
    if work.kind == "i":
        launch.each(_integers, count, made, size, key, past, low, np.uint64(span), int(not span))
        if name == "permutation":
            made = Array(sort_rows(Array(made.flat, (1, size)), False)[1].flat, out.shape)
    else:
        given = [work.type(a) for a in (*arguments, 0.0)[:2]]
        numbers, normals = _samplers(work)
        if name == "normal":
            launch.each(normals, count, made, size, key, past, *given)
        else:
            launch.each(numbers, count, made, size, key, past, _KINDS[name], *given)
    if made is not out:
        arrays.assign(out, made)
