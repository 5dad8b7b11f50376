"""Images resized on CUDA, axis by axis.

    picture   one thread for each element of a pass's result, which sums the few it is made of
    memory    no shared memory; tables go to the device at each call
    sync      none: nobody writes where another does
    sizes     any number of spatial axes
"""

from __future__ import annotations

from typing import Any

from mindtorch.kernels.codegen.interpolation_weights import passes

from . import launch, memory
from .fast_division import divisors, three
from .launch import cuda
from .via_float32 import flat, in_float32


@launch.kernel
def _copy(count: int, out: Any, x: Any) -> None:
    i = cuda.grid(1)
    while i < count:
        out[i] = x[i]
        i = launch.following(i, count)


@launch.kernel
def _axis(
    count: int, out: Any, x: Any, old: int, new: int, inner: int, by_inner: Any, by_new: Any,
    starts: Any, places: Any, weights: Any,
) -> None:  # fmt: skip
    at = cuda.grid(1)
    while at < count:
        plane, j, i = three(at, new, inner, by_new, by_inner)
        base = plane * old * inner + i
        out[at] = 0
        if starts[j] < starts[j + 1]:
            total = weights[starts[j]] * x[base + places[starts[j]] * inner]
            for k in range(starts[j] + 1, starts[j + 1]):
                total += weights[k] * x[base + places[k] * inner]
            out[at] = total
        at = launch.following(at, count)


def _resized(
    out: Any, x: Any, old: Any, new: Any, steps: Any, mode: str, align: bool, back: bool
) -> None:
    todo = passes(old, new, steps, mode, align, x.dtype, back)
    planes, here = int(x.shape[0] * x.shape[1]), flat(x)
    if not todo:
        launch.each(_copy, out.size, out, here)
    for place, (outer, before, inner, (starts, *weighed)) in enumerate(todo):
        length = starts.size - 1
        count = planes * outer * length * inner
        after = out if place == len(todo) - 1 else memory.empty(count, x.dtype)
        tables = [memory.from_host(each) for each in (starts, *weighed)]
        launch.each(_axis, count, after, here, before, length, inner,
                    *divisors(count, inner, length), *tables)  # fmt: skip
        here = after


@in_float32
def resize(out: Any, x: Any, *, steps: Any, mode: str, align: bool) -> None:
    """The spatial axes of ``x`` [N, C, ...] in the lengths of ``out``."""
    _resized(out, x, tuple(x.shape[2:]), tuple(out.shape[2:]), steps, mode, align, False)


@in_float32
def resize_gradient(out: Any, g: Any, *, steps: Any, mode: str, align: bool) -> None:
    """The transpose of :func:`resize`."""
    _resized(out, g, tuple(out.shape[2:]), tuple(g.shape[2:]), steps, mode, align, True)
