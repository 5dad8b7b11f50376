"""Images resized axis by axis, each new element a weighed sum of few old ones."""

from __future__ import annotations

import functools
import math
from collections.abc import Callable
from typing import Any

import numpy as np

from mindtorch.kernels.codegen.interpolation_weights import passes
from mindtorch.kernels.codegen.jit import entry_point, kernel

from .cat_flip_roll_pad import dense
from .threads.thread_pool import parallel_for
from .via_float32 import flat, in_float32

_SERIAL = 100_000  # elements that one thread makes sooner than two


@kernel(noalias=True)
def _axis(
    out: Any, x: Any, outer: int, old: int, inner: int, starts: Any, places: Any, weights: Any
) -> None:
    """``out[o, j, i]``: the sum of ``weights[k] * x[o, places[k], i]``, k in order."""
    new = starts.size - 1
    for o in range(outer):
        source = x[o * old * inner : (o + 1) * old * inner]
        for j in range(new):
            first, last = starts[j], starts[j + 1]
            target = out[(o * new + j) * inner : (o * new + j + 1) * inner]
            if first == last:
                target[:] = 0
                continue
            weight, row = weights[first], source[places[first] * inner :]
            if last == first + 2:  # the two that linear weights have, without a stay in memory
                other, below = weights[first + 1], source[places[first + 1] * inner :]
                for i in range(inner):
                    target[i] = weight * row[i] + other * below[i]
                continue
            for i in range(inner):
                target[i] = weight * row[i]
            for k in range(first + 1, last):
                weight, row = weights[k], source[places[k] * inner :]
                for i in range(inner):
                    target[i] += weight * row[i]


@kernel(noalias=True)
def _row(
    out: Any, x: Any, outer: int, old: int, starts: Any, places: Any, weights: Any
) -> None:
    """:func:`_axis` of the last axis; where each element has one term, or two, by vectors."""
    new = starts.size - 1
    terms = starts[1] - starts[0]
    for j in range(new):
        if starts[j + 1] - starts[j] != terms:
            terms = 0
    if terms == 1 or terms == 2:
        for o in range(outer):
            source, target = x[o * old : (o + 1) * old], out[o * new : (o + 1) * new]
            if terms == 1:
                for j in range(new):
                    target[j] = weights[j] * source[np.uint64(places[j])]
            else:
                for j in range(new):
                    left = weights[2 * j] * source[np.uint64(places[2 * j])]
                    right = weights[2 * j + 1] * source[np.uint64(places[2 * j + 1])]
                    target[j] = left + right
        return
    for o in range(outer):
        source, target = x[o * old : (o + 1) * old], out[o * new : (o + 1) * new]
        for j in range(new):
            first, last = starts[j], starts[j + 1]
            total = x.dtype.type(0)
            if first < last:
                total = weights[first] * source[places[first]]
                for k in range(first + 1, last):
                    total += weights[k] * source[places[k]]
            target[j] = total


_TABLE = "int64[::1], int64[::1], {0}[::1]"


def _passes(
    out: Any, x: Any, back: bool, steps: Any, mode: str, align: bool
) -> Callable[..., None]:
    """``run(out, x)`` on flat arrays: planes resized pass by pass, some at a time."""
    planes, given, wanted = x.shape[0] * x.shape[1], tuple(x.shape[2:]), tuple(out.shape[2:])
    old, new, kind = (wanted, given, x.dtype) if back else (given, wanted, x.dtype)
    todo = passes(old, new, steps, mode, align, kind, back)
    if not todo:
        return _copied
    name = kind.name
    tables = _TABLE.format(name)
    row = entry_point(_row, f"void({name}[::1], {name}[::1], int64, int64, {tables})")
    axis = entry_point(_axis, f"void({name}[::1], {name}[::1], int64, int64, int64, {tables})")
    size, made = math.prod(given), math.prod(wanted)
    serial = 1 + _SERIAL // max(size, made, 1)

    def some(out: Any, x: Any, count: int) -> None:
        here = x
        for place, (outer, before, inner, table) in enumerate(todo):
            if place == len(todo) - 1:
                after = out
            else:
                after = np.empty(count * outer * (table[0].size - 1) * inner, kind)
            if inner == 1:
                row(after, here, count * outer, before, *table)
            else:
                axis(after, here, count * outer, before, inner, *table)
            here = after

    def run(out: Any, x: Any) -> None:
        if planes <= serial:
            some(out, x, planes)
            return
        parallel_for(
            planes,
            lambda first, last: some(
                out[first * made : last * made], x[first * size : last * size], last - first
            ),
            serial,
        )

    return run


def _copied(out: Any, x: Any) -> None:
    out[:] = x[: out.size]


def _plan(outs: Any, ins: Any, back: bool, **how: Any) -> Callable[..., None] | None:
    (out,), (x,) = outs, ins
    known = x.dtype == out.dtype and x.dtype in (np.float32, np.float64)
    return _passes(out, x, back, **how) if known and dense(x) and dense(out) else None


@in_float32
def resize(out: Any, x: Any, *, steps: Any, mode: str, align: bool) -> None:
    """The spatial axes of ``x`` [N, C, ...] in the lengths of ``out``."""
    _passes(out, x, False, steps, mode, align)(out.reshape(-1), flat(x))


@in_float32
def resize_gradient(out: Any, g: Any, *, steps: Any, mode: str, align: bool) -> None:
    """The transpose of :func:`resize`."""
    _passes(out, g, True, steps, mode, align)(out.reshape(-1), flat(g))


resize.plan = functools.partial(_plan, back=False)
resize_gradient.plan = functools.partial(_plan, back=True)
