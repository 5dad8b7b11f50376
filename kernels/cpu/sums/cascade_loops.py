"""The loops of sums in PyTorch's order of additions (:mod:`.cascade_sum` says which), by types."""

import functools
from typing import Any

import ml_dtypes
import numpy as np

from mindtorch.kernels.codegen.jit import kernel

from ..vectors import float_bits
from ..vectors.simd_sums import WIDTHS, level_carrier, level_clearer, rows_adder, short_row

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
    clear, carry = level_clearer(wide, ground), level_carrier(wide, lanes)

    @kernel
    def cascade(
        sums: Any, x: Any, at: int, pitch: int, apart: int, size: int, strips: int, ahead: int
    ) -> None:
        i: Any
        power = level_power(size)
        step, i = 1 << power, np.int64(0)
        if size >= step:
            for s in range(strips):
                clear(sums, s * ground)
        while i + step <= size:
            for s in range(strips):
                first = at + s * ahead + i * pitch
                blocks(sums, s * ground + lanes, True, x, first, pitch, apart, step, 1)
            i += step
            for level in range(1, _LEVELS - 1):
                if i & ((step - 1) << level * power):
                    break
                for s in range(strips):
                    carry(sums, s * ground + level * lanes)
        for s in range(strips):
            to = s * ground
            begin(sums, to, False, x, at + s * ahead + i * pitch, pitch, apart, size - i, 1)
            if i:
                add(sums, to, True, sums, to + lanes, lanes, width, 3, 1)

    return cascade


@functools.cache
def vector_row_of(element: str, width: int, paired: bool = False) -> Any:
    """The kernel of ``sums[:width]`` = the sum of ``size`` vectors that are ``pitch`` apart, four
    of them being a row of a cascade."""
    wide = "float64" if element == "float64" else "float32"
    begin = rows_adder(element, 4, width, False, paired)
    blocks = rows_adder(element, 4, width, True, paired)
    levels = rows_adder(wide, 4, width)
    rest = rows_adder(element, 1, width, False, paired)
    add = rows_adder(wide, 1, width)
    lanes = 4 * width
    clear, carry = level_clearer(wide, _LEVELS * lanes), level_carrier(wide, lanes)

    @kernel
    def vector_row(sums: Any, x: Any, at: int, pitch: int, size: int) -> None:
        i: Any
        fours, wide_pitch, i = size // 4, 4 * pitch, np.int64(0)
        power = level_power(fours)
        step = 1 << power
        if fours >= step:
            clear(sums, 0)
        while i + step <= fours:
            together = min((fours - i) // step, step - (i >> power) % step)
            blocks(sums, lanes, True, x, at + i * wide_pitch, wide_pitch, pitch, step, together)
            i += step * together
            for level in range(1, _LEVELS - 1):
                if i & ((step - 1) << level * power):
                    break
                carry(sums, level * lanes)
        begin(sums, 0, False, x, at + i * wide_pitch, wide_pitch, pitch, fours - i, 1)
        if i:
            levels(sums, 0, True, sums, lanes, lanes, width, 3, 1)
        rest(sums, 0, True, x, at + fours * wide_pitch, pitch, 0, size - 4 * fours, 1)
        add(sums, 0, True, sums, width, width, 0, 3, 1)

    return vector_row


@kernel(inline="always")
def _itself(x: Any) -> Any:
    return x


@functools.cache
def _short_rows_of(dtype: Any, paired: bool) -> Any:
    """The kernel of sums of ``n`` elements side by side, at least a vector and fewer than 1024.

    Here and below ``picture(held, to, a, b, x, at, s, t, n, m)`` adds ``m`` sums of ``n`` elements
    to places of ``held`` that are ``b`` apart, from ``to`` on. A sum's elements are ``s`` apart in
    ``x``, the first ones ``t``, from ``at`` on. ``a`` is 0, but where both axes are kept.
    """
    wide = type_of_sums(dtype)
    width = WIDTHS[wide]
    each = 2 * width if paired else width
    short = short_row(dtype.name, width, paired)
    load, zero = _LOADS.get(dtype, _itself), wide.type(0)

    @kernel
    def short_rows(
        held: Any, to: int, a: int, b: int, x: Any, at: int, s: int, t: int, n: int, m: int
    ) -> None:
        vectors = n // each
        for j in range(m):
            total = zero
            for k in range(at + j * t + vectors * each, at + j * t + n):
                total += load(x[k])
            held[to + j * b] += short(x, at + j * t, each, vectors, total)

    return short_rows


@functools.cache
def _long_rows_of(dtype: Any, paired: bool) -> Any:
    """The kernel of sums of ``n`` elements side by side, at least a vector."""
    wide = type_of_sums(dtype)
    width = WIDTHS[wide]
    each = 2 * width if paired else width
    vector_row = vector_row_of(dtype.name, width, paired)
    load, zero, places = _LOADS.get(dtype, _itself), wide.type(0), _LEVELS * 4 * width

    @kernel
    def long_rows(
        held: Any, to: int, a: int, b: int, x: Any, at: int, s: int, t: int, n: int, m: int
    ) -> None:
        vectors, sums = n // each, np.empty(places, wide)
        for j in range(m):
            total = zero
            for k in range(at + j * t + vectors * each, at + j * t + n):
                total += load(x[k])
            vector_row(sums, x, at + j * t, each, vectors)
            for k in range(width):
                total += sums[k]
            held[to + j * b] += total

    return long_rows


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
def _short_singles_of(dtype: Any) -> Any:
    """The kernel of sums of ``n`` elements, fewer than 64."""
    load, zero = _LOADS.get(dtype, _itself), type_of_sums(dtype).type(0)

    @kernel
    def short_singles(
        held: Any, to: int, a: int, b: int, x: Any, at: int, s: int, t: int, n: int, m: int
    ) -> None:
        whole = n // 4 * 4
        for j in range(m):
            first = at + j * t
            total, others = zero, (zero, zero, zero)
            for i in range(0, whole, 4):
                place = first + i * s
                total += load(x[place])
                others = (
                    others[0] + load(x[place + s]), others[1] + load(x[place + 2 * s]),
                    others[2] + load(x[place + 3 * s]),
                )  # fmt: skip
            for i in range(whole, n):
                total += load(x[first + i * s])
            held[to + j * b] += total + others[0] + others[1] + others[2]

    return short_singles


@functools.cache
def _long_singles_of(dtype: Any) -> Any:
    """The kernel of sums of ``n`` elements."""
    wide, row = type_of_sums(dtype), vector_row_of(dtype.name, 1)

    @kernel
    def long_singles(
        held: Any, to: int, a: int, b: int, x: Any, at: int, s: int, t: int, n: int, m: int
    ) -> None:
        sums = np.empty(4 * _LEVELS, wide)
        for j in range(m):
            row(sums, x, at + j * t, s, n)
            held[to + j * b] += sums[0]

    return long_singles


@functools.cache
def _fours_of(dtype: Any, singles: Any) -> Any:
    """The kernel that takes four sums at a time, and the rest by ``singles``."""
    group = cascade_of(dtype.name, 1)

    @kernel
    def fours(
        held: Any, to: int, a: int, b: int, x: Any, at: int, s: int, t: int, n: int, m: int
    ) -> None:
        j: Any
        sums, j = np.empty(_STRIPS * 4 * _LEVELS, held.dtype), np.int64(0)
        while j + 4 <= m:
            strips = min(_STRIPS, (m - j) // 4)
            group(sums, x, at + j * t, s, t, n, strips, 4 * t)
            for k in range(4 * strips):
                held[to + (j + k) * b] += sums[k // 4 * 4 * _LEVELS + k % 4]
            j += 4 * strips
        singles(held, to + j * b, a, b, x, at + j * t, s, t, n, m - j)

    return fours


@functools.cache
def _columns_of(dtype: Any) -> Any:
    """The kernel of sums that lie side by side, at least a vector of them."""
    width = WIDTHS[type_of_sums(dtype)]
    lanes, ground = 4 * width, _LEVELS * 4 * width
    cascade, vector_row = cascade_of(dtype.name, width), vector_row_of(dtype.name, width)

    @kernel
    def columns(
        held: Any, to: int, a: int, b: int, x: Any, at: int, s: int, t: int, n: int, m: int
    ) -> None:
        j: Any
        sums, j = np.empty(min(_STRIPS, m // lanes + 1) * ground, held.dtype), np.int64(0)
        while j + lanes <= m:
            strips = min(_STRIPS, (m - j) // lanes)
            cascade(sums, x, at + j, s, width, n, strips, lanes)
            for k in range(strips):
                for i in range(lanes):
                    held[to + (j + i) * b] += sums[k * ground + i]
                j += lanes
        while j < m:  # the last vector may begin among columns that are done
            first = min(j, m - width)
            vector_row(sums, x, at + first, s, n)
            for i in range(j - first, width):
                held[to + (first + i) * b] += sums[i]
            j = first + width

    return columns


@functools.cache
def _kept_of(dtype: Any) -> Any:
    """The kernel that adds elements to the results of both axes, ``a`` and ``b`` apart."""
    load = _LOADS.get(dtype, _itself)

    @kernel
    def kept(
        held: Any, to: int, a: int, b: int, x: Any, at: int, s: int, t: int, n: int, m: int
    ) -> None:
        for j in range(m):
            for i in range(n):
                held[to + j * b + i * a] += load(x[at + j * t + i * s])

    return kept


# the ways through a picture; see ``way_of``
KEPT, SHORT_ROWS, LONG_ROWS, COLUMNS = range(4)
SHORT_FOURS, LONG_FOURS, SHORT_SINGLES, LONG_SINGLES = range(4, 8)


def _ways_of(dtype: Any, paired: bool) -> Any:
    """What makes the kernel of each way."""
    return {
        KEPT: lambda: _kept_of(dtype),
        SHORT_ROWS: lambda: _short_rows_of(dtype, paired),
        LONG_ROWS: lambda: _long_rows_of(dtype, paired),
        COLUMNS: lambda: _columns_of(dtype),
        SHORT_FOURS: lambda: _fours_of(dtype, _short_singles_of(dtype)),
        LONG_FOURS: lambda: _fours_of(dtype, _long_singles_of(dtype)),
        SHORT_SINGLES: lambda: _short_singles_of(dtype),
        LONG_SINGLES: lambda: _long_singles_of(dtype),
    }


@functools.cache
def _way_function(each: int, vector: int) -> Any:
    """``way_of`` for vectors of ``vector`` elements, rows of which have ``each``."""

    @kernel
    def way_of(a: int, s: int, t: int, n: int, m: int) -> int:
        if a != 0:
            return KEPT
        if s == 1 and n >= vector:
            return SHORT_ROWS if n // each < _SHORT_ROW else LONG_ROWS
        if t == 1 and m >= vector:
            return COLUMNS
        if s >= t and m >= 4:
            return SHORT_FOURS if n < _SHORT else LONG_FOURS
        return SHORT_SINGLES if n < _SHORT else LONG_SINGLES

    return way_of


def _way_function_of(dtype: Any, paired: bool) -> Any:
    width = WIDTHS[type_of_sums(dtype)]
    each = 2 * width if paired else width
    return _way_function(each, each if dtype not in WIDTHS else width)


def way_through(dtype: Any, paired: bool, axes: Any) -> int:
    """The way through all pictures of a sum along ``axes``: (length, result's stride, input's),
    the innermost first."""
    (n, a, s), (m, b, t) = axes[:2]
    if a != 0 and b == 0:
        a, s, t, n, m = b, t, s, m, n
    way: int = _way_function_of(dtype, paired).py_func(a, s, t, n, m)
    return way


@functools.cache
def _any_picture_of(dtype: Any, paired: bool) -> Any:
    """The kernel of a picture that finds out its way."""
    way_of = _way_function_of(dtype, paired)
    ways = {way: make() for way, make in _ways_of(dtype, paired).items()}
    kept, short_rows, long_rows, columns = (ways[way] for way in range(4))
    short_fours, long_fours, short_singles, long_singles = (ways[way] for way in range(4, 8))

    @kernel
    def picture(
        held: Any, to: int, a: int, b: int, x: Any, at: int, s: int, t: int, n: int, m: int
    ) -> None:
        way = way_of(a, s, t, n, m)
        if way == KEPT:
            kept(held, to, a, b, x, at, s, t, n, m)
        elif way == SHORT_ROWS:
            short_rows(held, to, a, b, x, at, s, t, n, m)
        elif way == LONG_ROWS:
            long_rows(held, to, a, b, x, at, s, t, n, m)
        elif way == COLUMNS:
            columns(held, to, a, b, x, at, s, t, n, m)
        elif way == SHORT_FOURS:
            short_fours(held, to, a, b, x, at, s, t, n, m)
        elif way == LONG_FOURS:
            long_fours(held, to, a, b, x, at, s, t, n, m)
        elif way == SHORT_SINGLES:
            short_singles(held, to, a, b, x, at, s, t, n, m)
        else:
            long_singles(held, to, a, b, x, at, s, t, n, m)

    return picture


@functools.cache
def fold_of(dtype: Any, paired: bool, way: int | None) -> Any:
    """The kernel that adds elements ``first`` to ``last``, in the order of the axes; ``way`` is
    that of all its pictures, if it is known."""
    picture = _any_picture_of(dtype, paired) if way is None else _ways_of(dtype, paired)[way]()

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
            count, rows = min(n - begin, last - first), np.int64(1)
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
def pictures_of(dtype: Any, paired: bool, way: int) -> Any:
    """The kernel that adds all elements, all pictures of which take one way."""
    picture = _ways_of(dtype, paired)[way]()

    @kernel
    def pictures(held: Any, x: Any, axes: Any) -> None:
        """``axes`` as in :func:`fold_of`."""
        n, m = axes[0, 0], axes[1, 0]
        a, b = axes[0, 1], axes[1, 1]
        s, t = axes[0, 2], axes[1, 2]
        if a != 0 and b == 0:
            a, b, s, t, n, m = b, a, t, s, m, n
        many = np.int64(1)
        for k in range(2, axes.shape[0]):
            many *= axes[k, 0]
        for number in range(many):
            left, to, at = number, np.int64(0), np.int64(0)
            for k in range(2, axes.shape[0]):
                i = left % axes[k, 0]
                left //= axes[k, 0]
                to += i * axes[k, 1]
                at += i * axes[k, 2]
            picture(held, to, a, b, x, at, s, t, n, m)

    return pictures


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
def total_of(dtype: Any, paired: bool, mean: bool, way: int) -> Any:
    """The kernel of a whole result."""
    pictures, finish = pictures_of(dtype, paired, way), finish_of(dtype)
    rounded = dtype not in WIDTHS

    @kernel
    def total(out: Any, x: Any, axes: Any, count: int) -> None:
        held = np.empty(out.size, np.float32) if rounded else out
        for k in range(held.size):
            held[k] = 0
        pictures(held, x, axes)
        if rounded or mean:
            finish(out, held, count)

    return total


# --- the order of axes ----------------------------------------------------------------------------


def type_of_sums(dtype: Any) -> np.dtype[Any]:
    """The type of the sums."""
    return dtype if dtype in WIDTHS else np.dtype(np.float32)


def carrier_of(dtype: Any) -> str:
    return dtype.name if dtype in WIDTHS else "uint16"
