"""Rows taken by index, and rows added back."""

from __future__ import annotations

import functools
import math
from collections.abc import Callable
from typing import Any

import numba
import numpy as np
from numba import types
from numba.extending import intrinsic

from mindtorch.kernels.codegen.jit import entry_point, kernel

from .cat_flip_roll_pad import dense
from .gather_scatter_axis import selecting
from .matrix_products.product_tile import address_of
from .strided_copy import WORDS
from .threads.thread_pool import parallel_for
from .vectors import simd
from .vectors.masked_vectors import MaskedVectors
from .vectors.simd import long_of
from .via_float32 import flat, in_float32

_SERIAL = 65536  # elements of bags that one thread adds sooner than two


@kernel
def _scatter_add(out: Any, g: Any, indices: Any, n: int, skipped: int) -> None:
    for i in range(out.size):
        out[i] = 0
    for i in range(indices.size):
        if indices[i] == skipped:
            continue
        source = g[i * n : (i + 1) * n]
        target = out[indices[i] * n : (indices[i] + 1) * n]
        for j in range(n):
            target[j] += source[j]


def check_bounds(indices: Any, rows: int) -> None:
    """IndexError, as torch's, for an index outside of ``range(rows)``."""
    if indices.size and (int(indices.min()) < 0 or int(indices.max()) >= rows):
        raise IndexError("index out of range in self")


def gather_rows(out: Any, weight: Any, indices: Any, **params: Any) -> None:
    """``out[i] = weight[indices[i]]``; the indices must lie in range."""
    check_bounds(indices, weight.shape[0])
    rows, word = weight.shape[0], WORDS.get(weight.dtype.itemsize)
    if word is None or not rows:  # complex128, or no place is read
        out[...] = weight[indices]
        return
    gather = selecting(word, 1, rows, indices.size, weight.size // rows)
    places = flat(indices).astype(np.int64, copy=False)
    gather(out.reshape(-1).view(word), flat(weight).view(word), places)


@in_float32
def scatter_add_rows(
    out: Any, g: Any, indices: Any, *, padding_idx: int | None = None
) -> None:
    """``out`` = zeros with ``g[i]`` added to row ``indices[i]``, in order; the padding row is
    left."""
    if out.dtype.kind not in "fiu":
        out[...] = 0
        np.add.at(out, indices, g)
        return
    n = out.size // max(out.shape[0], 1)
    skipped = -1 if padding_idx is None else padding_idx
    _scatter_add(out.reshape(-1), flat(g), flat(indices), n, skipped)


@kernel
def _outside(indices: Any, rows: int) -> int:
    """How many indices do not lie in ``range(rows)``."""
    count = 0
    for i in range(indices.size):
        count += (indices[i] < 0) | (indices[i] >= rows)
    return count


def _in_rows(table: Any, rows: Any, indices: Any) -> bool:
    """Whether a table and rows of it lie in C order, and are of one type."""
    fits = rows.dtype == table.dtype and indices.dtype == np.int64
    return fits and all(dense(x) for x in (table, rows, indices))


def _gather_plan(outs: Any, ins: Any, **params: Any) -> Any:
    (out,), (weight, indices) = outs, ins
    word, rows = WORDS.get(weight.dtype.itemsize), weight.shape[0]
    if word is None or not rows or not _in_rows(weight, out, indices):
        return None
    outside = entry_point(_outside, "int64(int64[::1], int64)")
    gather = selecting(word, 1, rows, math.prod(indices.shape), math.prod(weight.shape[1:]))

    def run(out: Any, weight: Any, indices: Any) -> None:
        if outside(indices, rows):
            check_bounds(indices, rows)
        gather(out, weight, indices)

    return run


def _scatter_plan(outs: Any, ins: Any, *, padding_idx: int | None = None) -> Any:
    (out,), (g, indices) = outs, ins
    if out.dtype not in (np.float32, np.float64) or not _in_rows(out, g, indices):
        return None
    name = out.dtype.name
    add = entry_point(_scatter_add, f"void({name}[::1], {name}[::1], int64[::1], int64, int64)")
    n, skipped = math.prod(out.shape[1:]), -1 if padding_idx is None else padding_idx
    return lambda out, g, indices: add(out, g, indices, n, skipped)


gather_rows.plan, scatter_add_rows.plan = _gather_plan, _scatter_plan


# --- bags: bag ``b`` is places ``starts[b]`` to ``starts[b + 1]`` ---------------------------------


@functools.cache
def _added_rows(vectors: int, width: int, dtype: Any) -> Any:
    """``add(out, weight, indices, count, n)``, on addresses: the sum of ``count`` rows of ``n``, of
    each the first ``vectors`` of ``width`` numbers, kept in registers."""
    kind = numba.from_dtype(dtype)

    @intrinsic
    def add(context: Any, out: Any, weight: Any, indices: Any, count: Any, n: Any) -> Any:
        def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
            form = MaskedVectors(builder, kind, width)
            kinds = (form.kind.element, form.kind.element, long_of(0).type)
            out, weight, indices = (
                builder.inttoptr(address, kind.as_pointer())
                for address, kind in zip(arguments[:3], kinds, strict=True)
            )

            def step(i: Any, sums: Any) -> Any:
                at = builder.mul(builder.load(builder.gep(indices, [i])), arguments[4])
                row = builder.gep(weight, [at])
                return [[
                    builder.fadd(total, form.load(form.at(row, v)))
                    for v, total in enumerate(sums[0])
                ]]  # fmt: skip

            sums = form.sum_over(arguments[3], [[form.zero] * vectors], step)
            for v, total in enumerate(sums[0]):
                form.store(total, form.at(out, v))
            return context.get_dummy_value()

        return types.void(*[types.int64] * 5), generate

    return add


@functools.cache
def _bag_rows(dtype: Any) -> Any:
    """``run(out, weight, indices, starts, n, first, last)``: the sums of rows of some bags."""
    width, size = simd.lanes(dtype), dtype.itemsize
    add_four, add_one = (_added_rows(vectors, width, dtype) for vectors in (4, 1))

    @kernel
    def rows(
        out: Any, weight: Any, indices: Any, starts: Any, n: int, first: int, last: int
    ) -> None:
        whole = n // width * width
        for b in range(first, last):
            begin, count = starts[b], starts[b + 1] - starts[b]
            places, j = address_of(indices) + begin * 8, 0
            to, source = address_of(out) + b * n * size, address_of(weight)
            while j < whole:
                if j + 4 * width <= whole:
                    add_four(to + j * size, source + j * size, places, count, n)
                    j += 4 * width
                else:
                    add_one(to + j * size, source + j * size, places, count, n)
                    j += width
            for j in range(whole, n):
                total = out.dtype.type(0)
                for i in range(begin, begin + count):
                    total += weight[indices[i] * n + j]
                out[b * n + j] = total

    name = dtype.name
    arrays = f"{name}[::1], {name}[::1], int64[::1], int64[::1]"
    return entry_point(rows, f"void({arrays}, int64, int64, int64)")


@kernel
def _bag_sum(
    out: Any, weight: Any, indices: Any, starts: Any, factors: Any, n: int, skipped: int,
    first: int, last: int,
) -> None:  # fmt: skip
    for b in range(first, last):
        target = out[b * n : (b + 1) * n]
        for j in range(n):
            target[j] = 0
        for i in range(starts[b], starts[b + 1]):
            if indices[i] == skipped:
                continue
            source = weight[indices[i] * n : (indices[i] + 1) * n]
            if factors.size:
                factor = factors[i]
                for j in range(n):
                    target[j] += source[j] * factor
            else:
                for j in range(n):
                    target[j] += source[j]


@kernel
def _bag_scatter(
    out: Any, g: Any, indices: Any, starts: Any, factors: Any, n: int, skipped: int
) -> None:
    for i in range(out.size):
        out[i] = 0
    for b in range(starts.size - 1):
        source = g[b * n : (b + 1) * n]
        for i in range(starts[b], starts[b + 1]):
            if indices[i] == skipped:
                continue
            target = out[indices[i] * n : (indices[i] + 1) * n]
            factor = factors[i] if factors.size else out.dtype.type(1)
            for j in range(n):
                target[j] += source[j] * factor


@kernel(fastmath={"reassoc", "contract"})
def _bag_products(
    out: Any, g: Any, weight: Any, indices: Any, starts: Any, n: int, skipped: int
) -> None:
    for i in range(out.size):
        out[i] = 0
    for b in range(starts.size - 1):
        first = g[b * n : (b + 1) * n]
        for i in range(starts[b], starts[b + 1]):
            if indices[i] == skipped:
                continue
            second = weight[indices[i] * n : (indices[i] + 1) * n]
            total = out.dtype.type(0)
            for j in range(n):
                total += first[j] * second[j]
            out[i] = total


@kernel
def _bag_largest(
    out: Any, weight: Any, indices: Any, starts: Any, n: int, skipped: int
) -> None:
    for b in range(starts.size - 1):
        target = out[b * n : (b + 1) * n]
        for j in range(n):
            target[j] = -1
        for i in range(starts[b], starts[b + 1]):
            row = indices[i]
            if row == skipped:
                continue
            for j in range(n):
                held = target[j]
                if held < 0 or weight[row * n + j] > weight[held * n + j]:
                    target[j] = row


def _skipped(padding_idx: int | None) -> int:
    return -1 if padding_idx is None else padding_idx


def _factors(array: Any, dtype: Any) -> Any:
    return np.empty(0, dtype) if array is None else flat(array)


def _checked(indices: Any, rows: int) -> Any:
    """The indices flat; RuntimeError, as torch's, for one outside of ``range(rows)``."""
    found = flat(indices)
    wrong = np.flatnonzero((found < 0) | (found >= rows))
    if wrong.size:
        raise RuntimeError(
            f"Index {wrong[0]} of input takes value {found[wrong[0]]} which is not in the valid "
            f"range [0, {rows})"
        )
    return found


@in_float32
def bag_sum(
    out: Any, weight: Any, indices: Any, starts: Any, factors: Any, *, padding_idx: int | None
) -> None:
    """``out[b]`` = the sum over places i of bag b of ``factors[i] * weight[indices[i]]``."""
    places = _checked(indices, weight.shape[0])
    arrays = (out.reshape(-1), flat(weight), places, flat(starts), _factors(factors, out.dtype))
    count, n = out.shape
    _divided(_bag_sum, (*arrays, n, _skipped(padding_idx)), count, places.size * n)


def _divided(add: Callable[..., None], given: Any, count: int, size: int) -> None:
    """Add up ``count`` bags of ``size`` elements, on several threads where these are enough."""
    if size < _SERIAL:
        add(*given, 0, count)
        return

    def part(first: int, last: int) -> None:
        add(*given, first, last)

    parallel_for(count, part, smallest=max(1, _SERIAL * count // size))


def _bag_sum_plan(outs: Any, ins: Any, *, padding_idx: int | None, **params: Any) -> Any:
    (out,), (weight, indices, starts, factors) = outs, ins
    rows, fits = weight.shape[0], weight.dtype in (np.float32, np.float64)
    if not fits or not _in_rows(weight, out, indices) or factors is not None:
        return None
    if not dense(starts) or starts.dtype != np.int64:
        return None
    outside = entry_point(_outside, "int64(int64[::1], int64)")
    count, n = out.shape
    more: tuple[Any, ...] = (n,)
    if padding_idx is None:
        add = _bag_rows(out.dtype)
    else:
        name = out.dtype.name
        arrays = f"{name}[::1], {name}[::1], int64[::1], int64[::1], {name}[::1]"
        add = entry_point(_bag_sum, f"void({arrays}, int64, int64, int64, int64)")
        more = np.empty(0, out.dtype), n, padding_idx

    def run(out: Any, weight: Any, indices: Any, starts: Any, factors: Any = None) -> None:
        if outside(indices, rows):
            _checked(indices, rows)
        _divided(add, (out, weight, indices, starts, *more), count, indices.size * n)

    return run


bag_sum.plan = _bag_sum_plan


@in_float32
def bag_scatter(
    out: Any, g: Any, indices: Any, starts: Any, factors: Any, *, padding_idx: int | None
) -> None:
    """Zeros with ``factors[i] * g[b]`` added to row ``indices[i]`` for each place i of bag b."""
    _bag_scatter(out.reshape(-1), flat(g), _checked(indices, out.shape[0]), flat(starts),
                 _factors(factors, out.dtype), out.shape[1], _skipped(padding_idx))  # fmt: skip


@in_float32
def bag_products(
    out: Any, g: Any, weight: Any, indices: Any, starts: Any, *, padding_idx: int | None
) -> None:
    """``out[i] = sum(g[b] * weight[indices[i]])`` for each place i of bag b; else 0."""
    _bag_products(out, flat(g), flat(weight), _checked(indices, weight.shape[0]), flat(starts),
                  weight.shape[1], _skipped(padding_idx))  # fmt: skip


@in_float32
def bag_largest(
    out: Any, weight: Any, indices: Any, starts: Any, *, padding_idx: int | None
) -> None:
    """``out[b, j]`` = the row of bag b with the largest element j; -1 for an empty bag."""
    _bag_largest(out.reshape(-1), flat(weight), _checked(indices, weight.shape[0]), flat(starts),
                 out.shape[1], _skipped(padding_idx))  # fmt: skip
