"""Loops of pooling that look for the largest element along rows."""

from __future__ import annotations

from typing import Any

import numpy as np

from mindtorch.kernels.codegen.jit import kernel

from ..vectors.float_bits import choose, greater


@kernel
def _greatest(row: Any) -> Any:
    top = row[0]
    for i in range(row.size):
        top = greater(row[i], top)
    return top


@kernel
def _place_of(row: Any, value: Any) -> int:
    """The first place of a number, the last one of nan."""
    place = 0
    if value == value:
        while row[place] != value:
            place += 1
        return place
    for i in range(row.size):
        place = i if row[i] != row[i] else place
    return place


@kernel
def max_of_rows(
    out: Any, places: Any, x: Any, rows: int, lowest: Any, n: int, m: int, taps: int, stride: int,
    pad: int, spread: int,
) -> None:  # fmt: skip
    """Windows along one axis: a tap of all windows of a row at a time."""
    found, held = np.empty(m, np.int32), np.empty(m, x.dtype)
    for r in range(rows):
        row, best = x[r * n : (r + 1) * n], out[r * m : (r + 1) * m]
        best[:] = lowest
        found[:] = 0
        for j in range(min(m, (pad + stride - 1) // stride)):  # that begin before the row does
            found[j] = (pad - j * stride + spread - 1) // spread
        for t in range(taps):
            shift = t * spread - pad
            low = 0 if shift >= 0 else (stride - 1 - shift) // stride
            high = min(m, (n - 1 - shift) // stride + 1)
            if high <= low:
                continue
            source, tap = row[low * stride + shift :], np.int32(t)
            top, where = best[low:high], found[low:high]
            if stride != 1:  # side by side first, so that comparisons are of vectors
                for i in range(top.size):
                    held[i] = source[np.uint64(2 * i if stride == 2 else i * stride)]
                source = held
            for i in range(top.size):
                taken = (source[i] > top[i]) | (source[i] != source[i])
                top[i] = choose(taken, source[i], top[i])
                where[i] = choose(taken, tap, where[i])
        to = places[r * m : (r + 1) * m]
        for j in range(m):
            to[j] = j * stride - pad + np.int64(found[j]) * spread


@kernel(noalias=True)
def greatest_of_rows(
    out: Any, x: Any, rows: int, lowest: Any, n: int, m: int, taps: int, stride: int, pad: int,
    spread: int,
) -> None:  # fmt: skip
    """:func:`max_of_rows` without the places."""
    in_pairs = taps == 2 and stride == 2 and pad == 0 and spread == 1
    held = np.empty(0 if in_pairs or stride == 1 else m, x.dtype)
    for r in range(rows):
        row, best = x[r * n : (r + 1) * n], out[r * m : (r + 1) * m]
        if in_pairs:
            for i in range(m):
                first, second = row[np.uint64(2 * i)], row[np.uint64(2 * i + 1)]
                taken = (second > first) | (second != second)
                best[i] = choose(taken, second, first)
            continue
        best[:] = lowest
        for t in range(taps):
            shift = t * spread - pad
            low = 0 if shift >= 0 else (stride - 1 - shift) // stride
            high = min(m, (n - 1 - shift) // stride + 1)
            if high <= low:
                continue
            source, top = row[low * stride + shift :], best[low:high]
            if stride != 1:
                for i in range(top.size):
                    held[i] = source[np.uint64(2 * i if stride == 2 else i * stride)]
                source = held
            for i in range(top.size):
                taken = (source[i] > top[i]) | (source[i] != source[i])
                top[i] = choose(taken, source[i], top[i])


@kernel
def adaptive_max(out: Any, places: Any, x: Any, planes: int, facts: Any) -> None:
    depth, height, width = facts[0], facts[1], facts[2]
    od, oh, ow = facts[3], facts[4], facts[5]
    for plane in range(planes):
        image = x[plane * depth * height * width :]
        for i in range(od):
            z0, z1 = i * depth // od, ((i + 1) * depth + od - 1) // od
            for j in range(oh):
                y0, y1 = j * height // oh, ((j + 1) * height + oh - 1) // oh
                for k in range(ow):
                    x0, x1 = k * width // ow, ((k + 1) * width + ow - 1) // ow
                    first = (z0 * height + y0) * width + x0
                    best = image[first]
                    for z in range(z0, z1):
                        for y in range(y0, y1):
                            here = (z * height + y) * width + x0
                            top = _greatest(image[here : here + x1 - x0])
                            if (top > best) | (top != top):
                                best, first = top, here
                    at = ((plane * od + i) * oh + j) * ow + k
                    out[at] = best
                    places[at] = first + _place_of(image[first : first + x1 - x0], best)
