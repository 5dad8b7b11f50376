"""Rows taken by index, and rows added back."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from mindtorch.kernels.codegen.jit import entry_point, kernel

from .cat_flip_roll_pad import dense
from .thread_pool import parallel_for
from .via_float32 import flat, in_float32

_SERIAL = 65536  # elements of bags that one thread adds sooner than two


@kernel
def _gather(out: Any, weight: Any, indices: Any, n: int) -> None:
    for i in range(indices.size):
        source = weight[indices[i] * n : (indices[i] + 1) * n]
        target = out[i * n : (i + 1) * n]
        for j in range(n):
            target[j] = source[j]


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
    n = weight.size // max(weight.shape[0], 1)
    target, table = out.reshape(-1), flat(weight)
    if target.dtype.kind not in "fiu" or target.dtype.itemsize == 2:
        out[...] = weight[indices]
        return
    _gather(target, table, flat(indices), n)


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


def _rows_type(table: Any, rows: Any, indices: Any) -> str | None:
    """numba's name for the type of a table and of rows of it in C order; else None."""
    kind = table.dtype
    fits = rows.dtype == kind and kind in (np.float32, np.float64) and indices.dtype == np.int64
    return kind.name if fits and all(dense(x) for x in (table, rows, indices)) else None


def _gather_plan(outs: Any, ins: Any, **params: Any) -> Any:
    (out,), (weight, indices) = outs, ins
    name, rows = _rows_type(weight, out, indices), weight.shape[0]
    if name is None or not rows:
        return None
    outside = entry_point(_outside, "int64(int64[::1], int64)")
    gather = entry_point(_gather, f"void({name}[::1], {name}[::1], int64[::1], int64)")
    n = math.prod(weight.shape[1:])

    def run(out: Any, weight: Any, indices: Any) -> None:
        if outside(indices, rows):
            check_bounds(indices, rows)
        gather(out, weight, indices, n)

    return run


def _scatter_plan(outs: Any, ins: Any, *, padding_idx: int | None = None) -> Any:
    (out,), (g, indices) = outs, ins
    name = _rows_type(out, g, indices)
    if name is None:
        return None
    add = entry_point(_scatter_add, f"void({name}[::1], {name}[::1], int64[::1], int64, int64)")
    n, skipped = math.prod(out.shape[1:]), -1 if padding_idx is None else padding_idx
    return lambda out, g, indices: add(out, g, indices, n, skipped)


gather_rows.plan, scatter_add_rows.plan = _gather_plan, _scatter_plan


# --- bags: bag ``b`` is places ``starts[b]`` to ``starts[b + 1]`` ---------------------------------


@kernel
def _add_fours(
    target: Any, weight: Any, indices: Any, first: int, last: int, n: int
) -> int:
    """Add rows in turn, four in each walk over the target; the first place that is left."""
    while last - first >= 4:
        at = indices[first : first + 4]
        p, q, r, s = at[0] * n, at[1] * n, at[2] * n, at[3] * n
        a, b, c, d = weight[p : p + n], weight[q : q + n], weight[r : r + n], weight[s : s + n]
        for j in range(n):
            target[j] = (((target[j] + a[j]) + b[j]) + c[j]) + d[j]
        first += 4
    return first


@kernel
def _bag_sum(
    out: Any, weight: Any, indices: Any, starts: Any, factors: Any, n: int, skipped: int,
    first: int, last: int,
) -> None:  # fmt: skip
    for b in range(first, last):
        target = out[b * n : (b + 1) * n]
        for j in range(n):
            target[j] = 0
        begin = starts[b]
        if skipped < 0 and not factors.size:
            begin = _add_fours(target, weight, indices, begin, starts[b + 1], n)
        for i in range(begin, starts[b + 1]):
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
    _divided(_bag_sum, arrays, *out.shape, _skipped(padding_idx))


def _divided(add: Callable[..., None], arrays: Any, count: int, n: int, skipped: int) -> None:
    """Add up ``count`` bags, on several threads where they hold enough elements."""
    size = arrays[2].size * n
    if size < _SERIAL:
        add(*arrays, n, skipped, 0, count)
        return

    def part(first: int, last: int) -> None:
        add(*arrays, n, skipped, first, last)

    parallel_for(count, part, smallest=max(1, _SERIAL * count // size))


def _bag_sum_plan(outs: Any, ins: Any, *, padding_idx: int | None, **params: Any) -> Any:
    (out,), (weight, indices, starts, factors) = outs, ins
    name, rows = _rows_type(weight, out, indices), weight.shape[0]
    if name is None or factors is not None or not dense(starts) or starts.dtype != np.int64:
        return None
    outside = entry_point(_outside, "int64(int64[::1], int64)")
    add = entry_point(
        _bag_sum,
        f"void({name}[::1], {name}[::1], int64[::1], int64[::1], {name}[::1], int64, int64, int64, "
        "int64)",
    )
    count, n, skipped = out.shape[0], out.shape[1], _skipped(padding_idx)
    none = np.empty(0, out.dtype)

    def run(out: Any, weight: Any, indices: Any, starts: Any, factors: Any = None) -> None:
        if outside(indices, rows):
            _checked(indices, rows)
        _divided(add, (out, weight, indices, starts, none), count, n, skipped)

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
