"""Places of values in sorted rows, by halving in PyTorch's steps."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from mindtorch.kernels.codegen.jit import entry_point, kernel

from ..cat_flip_roll_pad import dense
from ..threads.thread_pool import parallel_for
from ..via_float32 import flat

_SERIAL = 1 << 14
_FEW = 64  # edges that are counted sooner than a place is found by halving
_BLOCK = 256


@kernel
def _search(
    out: Any, edges: Any, values: Any, count: int, each: int, right: bool, first: int, last: int
) -> None:
    """``out[i]``: the first of the ``count`` edges of a row (all values' or of ``each``) that is
    not below, with ``right`` above, ``values[i]``; NaN is above all and nothing is above it."""
    for i in range(first, last):
        value = values[i]
        start = i // each * count if each else 0
        low, left = start, count
        while left > 0:
            half = left >> 1
            middle = edges[np.uint64(low + half)]
            beyond = not middle > value if right else not middle >= value
            low = low + half + 1 if beyond else low
            left = left - half - 1 if beyond else half
        out[i] = low - start


@kernel
def _count(
    out: Any, edges: Any, values: Any, count: int, each: int, right: bool, first: int, last: int
) -> None:
    """:func:`_search` of one row of few edges: those that lie before a value are counted, by
    vectors. Where they are not sorted, halving decides what comes."""
    for j in range(1, count):
        if not edges[j - 1] <= edges[j]:
            _search(out, edges, values, count, each, right, first, last)
            return
    found = np.empty(_BLOCK, np.int32)
    for start in range(first, last, _BLOCK):
        part = values[start : min(start + _BLOCK, last)]
        counts, result = found[: part.size], out[start : start + part.size]
        counts[:] = 0
        for j in range(count):
            edge = edges[j]
            if right:
                for i in range(part.size):
                    counts[i] += not edge > part[i]
            else:
                for i in range(part.size):
                    counts[i] += not edge >= part[i]
        for i in range(part.size):
            result[i] = counts[i]


def _loop(edges: Any, dtype: Any) -> Callable[..., None]:
    kind = dtype.name
    few = len(edges.shape) == 1 and edges.shape[0] <= _FEW
    found: Callable[..., None] = entry_point(
        _count if few else _search,
        f"void(int64[::1], {kind}[::1], {kind}[::1], int64, int64, boolean, int64, int64)",
    )
    return found


def plan(outs: Any, ins: Any, *, right: bool) -> Callable[..., None] | None:
    """``run(out, edges, values)`` on flat arrays, dense and of one type."""
    edges, values = ins
    if edges.dtype != values.dtype or not all(map(dense, (*outs, *ins))) or (
        values.dtype.kind not in "iu" and values.dtype not in (np.float32, np.float64)
    ):
        return None
    search, size = _loop(edges, values.dtype), math.prod(values.shape)
    count = edges.shape[-1]
    each = values.shape[-1] if len(edges.shape) > 1 else 0
    if size < 2 * _SERIAL:
        return lambda *arrays: search(*arrays, count, each, right, 0, size)
    return lambda *arrays: parallel_for(
        size, lambda first, last: search(*arrays, count, each, right, first, last), _SERIAL
    )


def places(out: Any, edges: Any, values: Any, right: bool) -> None:
    """Enter into ``out`` (int64, C order) where each of ``values`` belongs in ``edges``: one row,
    or one for each row of values."""
    search = _loop(edges, values.dtype)
    count = edges.shape[-1]
    each = values.shape[-1] if edges.ndim > 1 else 0
    target, row, wanted = out.reshape(-1), flat(edges), flat(values)

    def part(first: int, last: int) -> None:
        search(target, row, wanted, count, each, right, first, last)

    parallel_for(wanted.size, part, _SERIAL)
