"""Which elements an axis's new ones are made of when it is resized, and how each of them weighs.

A table is ``(starts, places, weights)``: new element j is the sum of ``weights[k] * x[places[k]]``
over k from ``starts[j]`` up to ``starts[j + 1]``. The gradient's is the transposed table.
"""

from __future__ import annotations

import functools
from typing import Any

import numpy as np

Table = tuple[Any, Any, Any]


def _fused(a: Any, b: Any, c: Any) -> Any:
    """``a * b + c``, rounded once where they are float32."""
    return (a.astype(np.float64) * b + c).astype(a.dtype)


def cubic(d: Any, slope: float) -> tuple[Any, Any]:
    """The cubic convolution's two polynomials at ``d``, below and above 1."""
    a = d.dtype.type(slope)
    near = _fused(_fused(d, a + 2, -(a + 3)) * d, d, d.dtype.type(1))
    return near, _fused(_fused(_fused(d, a, -5 * a), d, 8 * a), d, -4 * a)


def _cubic_weights(t: Any) -> list[Any]:
    """Of the cubic convolution with a = -0.75, for neighbours at -1, 0, 1, 2."""
    back = 1 - t
    ends = cubic(t + 1, -0.75)[1], cubic(back + 1, -0.75)[1]
    return [ends[0], cubic(t, -0.75)[0], cubic(back, -0.75)[0], ends[1]]


def _nearest(old: int, new: int, step: float, exact: bool) -> Any:
    steps = np.arange(new, dtype=np.float32) + np.float32(0.5 if exact else 0.0)
    return np.minimum(np.floor(steps * np.float32(step)).astype(np.int64), old - 1)


def _neighbours(old: int, new: int, step: float, kind: Any, align: bool, smooth: bool) -> Any:
    """Places and weights, [new, 2] (cubic: 4), in torch's roundings."""
    if align:
        step = (old - 1) / (new - 1) if new > 1 else 0.0
        source = np.arange(new, dtype=kind) * kind(step)
    else:
        middles = np.arange(new) + 0.5
        source = (np.float64(kind(step)) * middles - 0.5).astype(kind)  # rounded once
        if not smooth:
            source = np.maximum(source, 0)
    first = np.floor(source).astype(np.int64)
    if not smooth:
        first = np.minimum(first, old - 1)
    t = source - first.astype(kind)
    weights = _cubic_weights(t) if smooth else [1 - t, t]
    offsets = np.arange(-1, 3) if smooth else np.arange(2)
    return np.clip(first[:, None] + offsets, 0, old - 1), np.stack(weights, 1)


@functools.lru_cache(maxsize=256)
def table(
    old: int, new: int, step: float, mode: str, align: bool, kind: Any, transposed: bool
) -> Table | None:
    """The table from ``old`` elements to ``new`` ones, or back; None where nothing changes.

    Args:
        step: the distance of the new elements in old ones; unused where corners are aligned.
        mode: as :func:`torch.nn.functional.interpolate`'s.
        kind: numpy's type of the elements, in which weights are rounded.
        transposed: from ``new`` elements back to ``old`` ones; sums run in the order of the new.
    """
    if old == new and step == 1.0:
        return None
    if mode.startswith("nearest"):
        places = _nearest(old, new, step, "exact" in mode)[:, None]
        weights = np.ones((new, 1), kind)
    else:
        scalar = np.dtype(kind).type
        places, weights = _neighbours(old, new, step, scalar, align, mode == "bicubic")
    rows = np.repeat(np.arange(new), places.shape[1])
    places, weights, count = places.reshape(-1), weights.reshape(-1), new
    if transposed:
        order = np.argsort(places, kind="stable")
        rows, places, weights, count = places[order], rows[order], weights[order], old
    starts = np.zeros(count + 1, np.int64)
    np.cumsum(np.bincount(rows, minlength=count), out=starts[1:])
    return starts, np.ascontiguousarray(places), np.ascontiguousarray(weights)


@functools.lru_cache(maxsize=256)
def passes(
    old: Any, new: Any, steps: Any, mode: str, align: bool, kind: Any, transposed: bool
) -> list[tuple[int, int, int, Table]]:
    """``(outer, before, inner, table)`` of each axis that changes, in the order of the passes.

    The last axis is resized first; the gradient goes back the other way round. ``outer`` and
    ``inner`` count the elements of a plane around the axis at that moment.
    """
    now = list(new if transposed else old)
    target = old if transposed else new
    axes = range(len(now)) if transposed else reversed(range(len(now)))
    found = []
    for i in axes:
        made = table(int(old[i]), int(new[i]), steps[i], mode, align, kind, transposed)
        if made is None:
            continue
        found.append((int(np.prod(now[:i])), now[i], int(np.prod(now[i + 1 :])), made))
        now[i] = target[i]
    return found
