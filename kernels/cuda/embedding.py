"""Rows taken by index for CUDA, and rows added back.

    picture   taking: one thread for each element of the result. Adding: indices are sorted
              (stably); one thread for each element of a row folds the gradients of equal indices in
              order
    memory    sorted indices in global memory
    sync      none within a launch
    sizes     any
An index out of range is left out and reported (see ``faults``).
"""

from __future__ import annotations

from typing import Any

from . import arrays, errors, launch
from .arrays import Array
from .fast_division import divisor, over
from .indexing import words
from .launch import cuda
from .merge_sort import sort_rows
from .via_float32 import flat, in_float32, optional


@launch.kernel
def _gather(
    count: int, out: Any, weight: Any, indices: Any, rows: int, n: int, by_n: Any, fault: Any
) -> None:
    i = cuda.grid(1)
    while i < count:
        k = over(i, by_n)
        row = indices[k]
        if row >= 0 and row < rows:
            out[i] = weight[row * n + i - k * n]
        else:
            out[i] = 0
            fault[0] = 1
        i = launch.following(i, count)


def gather_rows(out: Any, weight: Any, indices: Any, **params: Any) -> None:
    """``out[i] = weight[indices[i]]``."""
    rows = weight.shape[0]
    n = weight.size // max(rows, 1)
    launch.each(_gather, out.size, words(out.flat), words(flat(weight)), flat(indices), rows, n,
                divisor(n, out.size), errors.cell())  # fmt: skip


@launch.kernel
def _add_runs(
    count: int, out: Any, g: Any, keys: Any, order: Any, total: int, rows: int, n: int,
    skipped: int, fault: Any,
) -> None:  # fmt: skip
    i = cuda.grid(1)
    while i < count:
        k = i // n
        row = keys[k]
        if row < 0 or row >= rows:
            fault[0] = 1
        elif row != skipped and (k == 0 or keys[k - 1] != row):
            column = i % n
            value = out[row * n + column]
            while k < total and keys[k] == row:
                value += g[order[k] * n + column]
                k += 1
            out[row * n + column] = value
        i = launch.following(i, count)


@in_float32
def scatter_add_rows(
    out: Any, g: Any, indices: Any, *, padding_idx: int | None = None
) -> None:
    """``out`` = zeros with ``g[i]`` added to row ``indices[i]``, in order; the padding row is
    left."""
    arrays.fill(out, 0)
    rows, count = out.shape[0], indices.size
    n = out.size // max(rows, 1)
    keys, order = sort_rows(Array(flat(indices), (1, count)), False)
    skipped = -1 if padding_idx is None else padding_idx
    launch.each(_add_runs, count * n, out, flat(g), keys, order, count, rows, n, skipped,
                errors.cell())  # fmt: skip


# --- bags: bag ``b`` is places ``starts[b]`` to ``starts[b + 1]`` ---------------------------------


@launch.kernel
def _bag_sum(
    count: int, out: Any, weight: Any, indices: Any, starts: Any, factors: Any, weighted: int,
    rows: int, n: int, skipped: int, fault: Any,
) -> None:  # fmt: skip
    i = cuda.grid(1)
    while i < count:
        b, column = i // n, i % n
        total = 0.0
        for k in range(starts[b], starts[b + 1]):
            row = indices[k]
            if row < 0 or row >= rows:
                fault[0] = 1
            elif row != skipped:
                value = weight[row * n + column]
                total += value * factors[k] if weighted else value
        out[i] = total
        i = launch.following(i, count)


def _skipped(padding_idx: int | None) -> int:
    return -1 if padding_idx is None else padding_idx


@in_float32
def bag_sum(
    out: Any, weight: Any, indices: Any, starts: Any, factors: Any, *, padding_idx: int | None
) -> None:
    """``out[b]`` = the sum over places i of bag b of ``factors[i] * weight[indices[i]]``."""
    launch.each(_bag_sum, out.size, out, flat(weight), flat(indices), flat(starts),
                optional(factors, out.dtype), int(factors is not None), weight.shape[0],
                out.shape[1], _skipped(padding_idx), errors.cell())  # fmt: skip


@launch.kernel
def _spread(
    count: int, out: Any, g: Any, starts: Any, factors: Any, weighted: int, bags: int, n: int
) -> None:
    """The gradient that each place gets from its bag; places of no bag get 0."""
    i = cuda.grid(1)
    while i < count:
        k, column = i // n, i % n
        low, high = 0, bags + 1
        while low < high:
            half = (low + high) // 2
            if starts[half] <= k:
                low = half + 1
            else:
                high = half
        value = g[(low - 1) * n + column] if low > 0 and low <= bags else 0.0
        out[i] = value * factors[k] if weighted else value
        i = launch.following(i, count)


@in_float32
def bag_scatter(
    out: Any, g: Any, indices: Any, starts: Any, factors: Any, *, padding_idx: int | None
) -> None:
    """Zeros with ``factors[i] * g[b]`` added to row ``indices[i]`` for each place i of bag b."""
    n, count = out.shape[1], indices.size
    slopes = arrays.empty((count, n), out.dtype)
    launch.each(_spread, count * n, slopes, flat(g), flat(starts), optional(factors, out.dtype),
                int(factors is not None), g.shape[0], n)  # fmt: skip
    scatter_add_rows(out, slopes, indices, padding_idx=padding_idx)


@launch.kernel
def _products(
    count: int, out: Any, g: Any, weight: Any, indices: Any, starts: Any, bags: int, rows: int,
    n: int, skipped: int, fault: Any,
) -> None:  # fmt: skip
    k = cuda.grid(1)
    while k < count:
        low, high = 0, bags + 1
        while low < high:
            half = (low + high) // 2
            if starts[half] <= k:
                low = half + 1
            else:
                high = half
        row = indices[k]
        total = 0.0
        if row < 0 or row >= rows:
            fault[0] = 1
        elif low > 0 and low <= bags and row != skipped:
            for j in range(n):
                total += g[(low - 1) * n + j] * weight[row * n + j]
        out[k] = total
        k = launch.following(k, count)


@in_float32
def bag_products(
    out: Any, g: Any, weight: Any, indices: Any, starts: Any, *, padding_idx: int | None
) -> None:
    """``out[i] = sum(g[b] * weight[indices[i]])`` for each place i of bag b; else 0."""
    launch.each(_products, out.size, out, flat(g), flat(weight), flat(indices), flat(starts),
                g.shape[0], weight.shape[0], weight.shape[1], _skipped(padding_idx),
                errors.cell())  # fmt: skip


@launch.kernel
def _largest(
    count: int, out: Any, weight: Any, indices: Any, starts: Any, rows: int, n: int, skipped: int,
    fault: Any,
) -> None:  # fmt: skip
    i = cuda.grid(1)
    while i < count:
        b, column = i // n, i % n
        held = -1
        for k in range(starts[b], starts[b + 1]):
            row = indices[k]
            if row < 0 or row >= rows:
                fault[0] = 1
            elif row != skipped:
                if held < 0 or weight[row * n + column] > weight[held * n + column]:
                    held = row
        out[i] = held
        i = launch.following(i, count)


@in_float32
def bag_largest(
    out: Any, weight: Any, indices: Any, starts: Any, *, padding_idx: int | None
) -> None:
    """``out[b, j]`` = the row of bag b with the largest element j; -1 for an empty bag."""
    launch.each(_largest, out.size, out, flat(weight), flat(indices), flat(starts),
                weight.shape[0], out.shape[1], _skipped(padding_idx), errors.cell())  # fmt: skip
