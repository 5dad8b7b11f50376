"""Images resized axis by axis, each new element a weighed sum of few old ones."""

from __future__ import annotations

from typing import Any

import numpy as np

from mindtorch.kernels.codegen.interpolation_weights import passes
from mindtorch.kernels.codegen.jit import kernel

from .thread_pool import parallel_for
from .via_float32 import flat, in_float32

_SERIAL = 100_000  # elements that one thread makes sooner than two


@kernel
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


@kernel
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


def _resized(
    out: Any, x: Any, old: Any, new: Any, steps: Any, mode: str, align: bool, back: bool
) -> None:
    """``x`` resized pass by pass, some planes at a time."""
    todo = passes(old, new, steps, mode, align, x.dtype, back)
    planes = int(x.shape[0] * x.shape[1])
    source, result = flat(x), out.reshape(-1)
    if not todo:
        result[:] = source
        return
    size, made = source.size // max(planes, 1), result.size // max(planes, 1)

    def part(first: int, last: int) -> None:
        here = source[first * size : last * size]
        for place, (outer, before, inner, (starts, *weighed)) in enumerate(todo):
            count = (last - first) * outer
            if place == len(todo) - 1:
                after = result[first * made : last * made]
            else:
                after = np.empty(count * (starts.size - 1) * inner, x.dtype)
            if inner == 1:
                _row(after, here, count, before, starts, *weighed)
            else:
                _axis(after, here, count, before, inner, starts, *weighed)
            here = after

    parallel_for(planes, part, 1 + _SERIAL // max(size, made, 1))


@in_float32
def resize(out: Any, x: Any, *, steps: Any, mode: str, align: bool) -> None:
    """The spatial axes of ``x`` [N, C, ...] in the lengths of ``out``."""
    _resized(out, x, tuple(x.shape[2:]), tuple(out.shape[2:]), steps, mode, align, False)


@in_float32
def resize_gradient(out: Any, g: Any, *, steps: Any, mode: str, align: bool) -> None:
    """The transpose of :func:`resize`."""
    _resized(out, g, tuple(out.shape[2:]), tuple(g.shape[2:]), steps, mode, align, True)
