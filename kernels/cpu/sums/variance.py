"""Variances and standard deviations over axes, in double precision and rounded once.

The pictures are those of :mod:`..reduction`: rows, planes (rows of one result, spread over planes)
and columns, a block of which is read twice while it is in the cache.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from mindtorch.kernels.codegen.jit import bound, entry_point, kernel

from .. import reduction
from ..threads.thread_pool import parallel_for

_SIDE = 256  # columns that are worked on together
_SERIAL = 65536  # elements that one thread reads sooner than two


@kernel(fastmath={"reassoc", "contract"})
def _squares(row: Any, mean: float) -> float:
    total = 0.0
    for i in range(row.size):
        distance = np.float64(row[i]) - mean
        total += distance * distance
    return total


@kernel(fastmath={"reassoc", "contract"})
def _total(row: Any) -> float:
    total = 0.0
    for i in range(row.size):
        total += np.float64(row[i])
    return total


@kernel
def _rows(
    out: Any, x: Any, planes: int, kept: int, n: int, divisor: float, root: bool, first: int,
    last: int,
) -> None:  # fmt: skip
    """``planes`` rows of ``n`` elements for each result."""
    for k in range(first, last):
        total = 0.0
        for p in range(planes):
            start = (p * kept + k) * n
            total += _total(x[start : start + n])
        mean = total / (planes * n)
        squares = 0.0
        for p in range(planes):
            start = (p * kept + k) * n
            squares += _squares(x[start : start + n], mean)
        out[k] = np.sqrt(squares / divisor) if root else squares / divisor


@kernel
def _columns(
    out: Any, x: Any, outer: int, folded: int, n: int, divisor: float, root: bool, first: int,
    last: int,
) -> None:  # fmt: skip
    """Blocks ``first`` to ``last`` of the results' columns."""
    means, squares = np.empty(_SIDE, np.float64), np.empty(_SIDE, np.float64)
    blocks = (n + _SIDE - 1) // _SIDE
    for block in range(first, last):
        o, begin = block // blocks, block % blocks * _SIDE
        width = min(_SIDE, n - begin)
        means[:] = 0
        squares[:] = 0
        for r in range(folded):
            start = (o * folded + r) * n + begin
            row = x[start : start + width]
            for i in range(width):
                means[i] += np.float64(row[i])
        for i in range(width):
            means[i] /= folded
        for r in range(folded):
            start = (o * folded + r) * n + begin
            row = x[start : start + width]
            for i in range(width):
                distance = np.float64(row[i]) - means[i]
                squares[i] += distance * distance
        result = out[o * n + begin : o * n + begin + width]
        for i in range(width):
            value = squares[i] / divisor
            result[i] = np.sqrt(value) if root else value


def plan(
    outs: Any, ins: Any, *, axis: Any, correction: float, root: bool
) -> Callable[..., None] | None:
    """``run(out, x)`` on flat arrays; None for other types, and for what lies otherwise."""
    out, x = outs[0], ins[0]
    if x.dtype not in (np.float32, np.float64) or out.dtype != x.dtype:
        return None
    axes, kept = reduction.memory_order(x, axis)
    found = reduction.picture(axes)
    if found is None or kept != sorted(kept) or not all(x.shape):
        return None
    kind, a, r, b, pitch = found
    if pitch != (r if kind == "rows" else b):  # there is room between rows
        return None
    loop = _columns if kind == "columns" else _rows
    array = f"{x.dtype.name}[::1]"
    run = entry_point(
        loop, f"void({array}, {array}, int64, int64, int64, float64, boolean, int64, int64)"
    )
    if kind == "columns":
        units, each, count = a * -(-b // _SIDE), r * min(b, _SIDE), r
    elif kind == "planes":
        units, each, count = r, a * b, a * b
    else:
        units, each, count = a, r, r
        a, r, b = 1, a, r
    bounds = (a, r, b, float(max(count - correction, 0)), root)
    if units < 2 or units * each < 2 * _SERIAL:

        def call(target: Any, source: Any) -> None:
            run(target, source, *bounds, 0, units)

        return bound(call, run, *bounds, 0, units)

    def on_threads(target: Any, source: Any) -> None:
        def part(first: int, last: int) -> None:
            run(target, source, *bounds, first, last)

        parallel_for(units, part, 1 + _SERIAL // each)

    return on_threads
