"""The loops of sums in PyTorch's order of additions (:mod:`.cascade_sum` says which), by types."""

import functools
from typing import Any

import ml_dtypes
import numpy as np

from mindtorch.kernels.codegen.jit import kernel

from . import float_bits
from .simd_sums import WIDTHS, rows_adder, short_row

_LEVELS = 4
_SHORT = 64  # fewer numbers make no whole block
_SHORT_ROW = 1024  # fewer vectors have no third level
_STRIPS = 32  # strips of columns that are read together, so that rows are read in order
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
    wide = type_of_sums(dtype)
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
    wide, row, load = type_of_sums(dtype), vector_row_of(dtype.name, 1), _LOADS.get(dtype, _itself)
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
    width = WIDTHS[type_of_sums(dtype)]
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
    width = WIDTHS[type_of_sums(dtype)]
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
def fold_of(dtype: Any, paired: bool) -> Any:
    """The kernel that adds elements ``first`` to ``last``, in the order of the axes."""
    picture = _picture_of(dtype, paired)

    @kernel
    def fold(held: Any, x: Any, axes: Any, first: int, last: int) -> None:
        """``axes`` are rows of (length, stride of ``held``, stride of ``x``), innermost first."""
        n, m = axes[0, 0], axes[1, 0]
        while first < last:
            # a plain 0 would be a type of its own, and all below be compiled for it, too
            left, to, at = first, np.int64(0), np.int64(0)
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
def finish_of(dtype: Any) -> Any:
    """The kernel that divides sums by ``count`` and rounds them to the result's type."""
    store = _STORES.get(dtype, _itself)

    @kernel
    def finish(out: Any, held: Any, count: int) -> None:
        divisor = held.dtype.type(count)
        for k in range(out.size):
            out[k] = store(held[k] / divisor)

    return finish


@functools.cache
def total_of(dtype: Any, paired: bool, mean: bool) -> Any:
    """The kernel of a whole result."""
    fold, finish, rounded = fold_of(dtype, paired), finish_of(dtype), dtype not in WIDTHS

    @kernel
    def total(out: Any, x: Any, axes: Any) -> None:
        size, count = 1, 1
        for k in range(axes.shape[0]):
            size *= axes[k, 0]
            if mean and axes[k, 1] == 0:
                count *= axes[k, 0]
        if rounded:
            held = np.zeros(out.size, np.float32)
            fold(held, x, axes, 0, size)
            finish(out, held, count)
        else:
            out[:] = 0
            fold(out, x, axes, 0, size)
            if mean:
                finish(out, out, count)

    return total


# --- the order of axes ----------------------------------------------------------------------------


def type_of_sums(dtype: Any) -> np.dtype[Any]:
    """The type of the sums."""
    return dtype if dtype in WIDTHS else np.dtype(np.float32)


def carrier_of(dtype: Any) -> str:
    return dtype.name if dtype in WIDTHS else "uint16"
