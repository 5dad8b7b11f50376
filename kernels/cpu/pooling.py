"""Pooling over windows of one to three axes.

Loops run over channels, result rows, taps of the window, and innermost along a result's row, so
that rows of windows are compared or added at once. Fewer than three axes are filled up with length
1.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from mindtorch.kernels.compile import kernel

from .half import flat, in_float32


@kernel
def _max(out: Any, places: Any, x: Any, planes: int, lowest: Any, facts: Any) -> None:
    depth, height, width = facts[0], facts[1], facts[2]
    od, oh, ow = facts[3], facts[4], facts[5]
    kd, kh, kw = facts[6], facts[7], facts[8]
    sd, sh, sw = facts[9], facts[10], facts[11]
    pd, ph, pw = facts[12], facts[13], facts[14]
    dd, dh, dw = facts[15], facts[16], facts[17]
    for plane in range(planes):
        image = x[plane * depth * height * width : (plane + 1) * depth * height * width]
        for i in range(od):
            for j in range(oh):
                at = ((plane * od + i) * oh + j) * ow
                best = out[at : at + ow]
                where = places[at : at + ow]
                z0, y0 = i * sd - pd, j * sh - ph
                z_first = z0 if z0 >= 0 else z0 + (-z0 + dd - 1) // dd * dd
                y_first = y0 if y0 >= 0 else y0 + (-y0 + dh - 1) // dh * dh
                for k in range(ow):
                    x0 = k * sw - pw
                    x_first = x0 if x0 >= 0 else x0 + (-x0 + dw - 1) // dw * dw
                    best[k] = lowest
                    where[k] = (z_first * height + y_first) * width + x_first
                for a in range(kd):
                    z = z0 + a * dd
                    if z < 0 or z >= depth:
                        continue
                    for b in range(kh):
                        y = y0 + b * dh
                        if y < 0 or y >= height:
                            continue
                        row = (z * height + y) * width
                        for e in range(kw):
                            first = e * dw - pw
                            low = -(first // sw) if first < 0 else 0
                            high = min(ow, (width - 1 - first) // sw + 1) if first < width else 0
                            for k in range(low, high):
                                place = row + first + k * sw
                                value = image[place]
                                if (value > best[k]) | (value != value):
                                    best[k] = value
                                    where[k] = place


@kernel
def _max_two(out: Any, places: Any, x: Any, planes: int, facts: Any) -> None:
    """Windows of 2 x 2, two apart, without padding."""
    height, width = facts[1], facts[2]
    oh, ow = facts[4], facts[5]
    for plane in range(planes):
        for j in range(oh):
            upper = x[(plane * height + 2 * j) * width : (plane * height + 2 * j + 1) * width]
            lower = x[(plane * height + 2 * j + 1) * width : (plane * height + 2 * j + 2) * width]
            at = (plane * oh + j) * ow
            best = out[at : at + ow]
            where = places[at : at + ow]
            base = 2 * j * width
            for k in range(ow):
                v = upper[2 * k]
                p = base + 2 * k
                u = upper[2 * k + 1]
                take = (u > v) | (u != u)
                v = u if take else v
                p = base + 2 * k + 1 if take else p
                u = lower[2 * k]
                take = (u > v) | (u != u)
                v = u if take else v
                p = base + width + 2 * k if take else p
                u = lower[2 * k + 1]
                take = (u > v) | (u != u)
                v = u if take else v
                p = base + width + 2 * k + 1 if take else p
                best[k] = v
                where[k] = p


@kernel
def _scatter(out: Any, g: Any, places: Any, planes: int) -> None:
    size = out.size // planes
    count = g.size // planes
    for i in range(out.size):
        out[i] = 0
    for plane in range(planes):
        target = out[plane * size : (plane + 1) * size]
        for i in range(plane * count, (plane + 1) * count):
            target[places[i]] += g[i]


@kernel
def _average(
    wide: Any, narrow: Any, planes: int, facts: Any, include: int, divisor: int, backward: int
) -> None:
    """Means of windows of ``wide`` into ``narrow``, or ``narrow`` spread back over ``wide``."""
    depth, height, width = facts[0], facts[1], facts[2]
    od, oh, ow = facts[3], facts[4], facts[5]
    kd, kh, kw = facts[6], facts[7], facts[8]
    sd, sh, sw = facts[9], facts[10], facts[11]
    pd, ph, pw = facts[12], facts[13], facts[14]
    for plane in range(planes):
        for i in range(od):
            z0 = i * sd - pd
            z1 = min(z0 + kd, depth + pd)
            for j in range(oh):
                y0 = j * sh - ph
                y1 = min(y0 + kh, height + ph)
                for k in range(ow):
                    x0 = k * sw - pw
                    x1 = min(x0 + kw, width + pw)
                    count = (z1 - z0) * (y1 - y0) * (x1 - x0)
                    za, zb = max(z0, 0), min(z1, depth)
                    ya, yb = max(y0, 0), min(y1, height)
                    xa, xb = max(x0, 0), min(x1, width)
                    if not include:
                        count = (zb - za) * (yb - ya) * (xb - xa)
                    if divisor:
                        count = divisor
                    at = ((plane * od + i) * oh + j) * ow + k
                    if backward:
                        share = narrow[at] / wide.dtype.type(count)
                        for z in range(za, zb):
                            for y in range(ya, yb):
                                row = ((plane * depth + z) * height + y) * width
                                for q in range(xa, xb):
                                    wide[row + q] += share
                    else:
                        total = wide.dtype.type(0)
                        for z in range(za, zb):
                            for y in range(ya, yb):
                                row = ((plane * depth + z) * height + y) * width
                                for q in range(xa, xb):
                                    total += wide[row + q]
                        narrow[at] = total / wide.dtype.type(count)


@kernel
def _adaptive_average(wide: Any, narrow: Any, planes: int, facts: Any, backward: int) -> None:
    depth, height, width = facts[0], facts[1], facts[2]
    od, oh, ow = facts[3], facts[4], facts[5]
    for plane in range(planes):
        for i in range(od):
            z0, z1 = i * depth // od, ((i + 1) * depth + od - 1) // od
            for j in range(oh):
                y0, y1 = j * height // oh, ((j + 1) * height + oh - 1) // oh
                for k in range(ow):
                    x0, x1 = k * width // ow, ((k + 1) * width + ow - 1) // ow
                    count = wide.dtype.type((z1 - z0) * (y1 - y0) * (x1 - x0))
                    at = ((plane * od + i) * oh + j) * ow + k
                    total = wide.dtype.type(0)
                    share = narrow[at] / count if backward else total
                    for z in range(z0, z1):
                        for y in range(y0, y1):
                            row = ((plane * depth + z) * height + y) * width
                            for q in range(x0, x1):
                                if backward:
                                    wide[row + q] += share
                                else:
                                    total += wide[row + q]
                    if not backward:
                        narrow[at] = total / count


@kernel
def _adaptive_max(out: Any, places: Any, x: Any, planes: int, facts: Any) -> None:
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
                    place = (z0 * height + y0) * width + x0
                    best = image[place]
                    for z in range(z0, z1):
                        for y in range(y0, y1):
                            for q in range(x0, x1):
                                here = (z * height + y) * width + q
                                if (image[here] > best) | (image[here] != image[here]):
                                    best = image[here]
                                    place = here
                    at = ((plane * od + i) * oh + j) * ow + k
                    out[at] = best
                    places[at] = place


def _three(values: Any, fill: int) -> tuple[int, ...]:
    return (fill,) * (3 - len(values)) + tuple(int(v) for v in values)


def _facts(wide: Any, narrow: Any, window: Any = (), stride: Any = (), padding: Any = (),
           dilation: Any = ()) -> Any:  # fmt: skip
    return np.array(
        [*_three(wide, 1), *_three(narrow, 1), *_three(window, 1), *_three(stride, 1),
         *_three(padding, 0), *_three(dilation, 1)],
        np.int64,
    )  # fmt: skip


def _planes(x: Any) -> int:
    return int(x.shape[0] * x.shape[1])


@in_float32
def max_pool(
    outs: Any, x: Any, *, kernel_size: Any, stride: Any, padding: Any, dilation: Any
) -> None:
    """The largest element of each window (NaN wins), and its place within the spatial axes."""
    values, places = outs
    facts = _facts(x.shape[2:], values.shape[2:], kernel_size, stride, padding, dilation)
    out, where = values.reshape(-1), places.reshape(-1)
    two = tuple(kernel_size) == tuple(stride) == (2, 2) and not any(padding)
    inside = all(2 * o <= n for o, n in zip(values.shape[2:], x.shape[2:], strict=True))
    if two and inside and tuple(dilation) == (1, 1):
        _max_two(out, where, flat(x), _planes(x), facts)
        return
    kind = x.dtype
    lowest = kind.type(-np.inf) if kind.kind == "f" else kind.type(np.iinfo(kind).min)
    _max(out, where, flat(x), _planes(x), lowest, facts)


@in_float32
def max_pool_gradient(out: Any, g: Any, indices: Any) -> None:
    """``g`` added at ``indices`` of zeros, channel by channel."""
    _scatter(out.reshape(-1), flat(g), flat(indices), max(_planes(out), 1))


@in_float32
def avg_pool(
    out: Any, x: Any, *, kernel_size: Any, stride: Any, padding: Any, count_include_pad: bool,
    divisor_override: int | None,
) -> None:  # fmt: skip
    """The mean of each window."""
    facts = _facts(x.shape[2:], out.shape[2:], kernel_size, stride, padding)
    _average(
        flat(x), out.reshape(-1), _planes(x), facts, int(count_include_pad),
        divisor_override or 0, 0,
    )  # fmt: skip


@in_float32
def avg_pool_gradient(
    out: Any, g: Any, *, kernel_size: Any, stride: Any, padding: Any, count_include_pad: bool,
    divisor_override: int | None,
) -> None:  # fmt: skip
    """``g`` spread evenly over each window of ``out``."""
    out[...] = 0
    facts = _facts(out.shape[2:], g.shape[2:], kernel_size, stride, padding)
    _average(
        out.reshape(-1), flat(g), _planes(out), facts, int(count_include_pad),
        divisor_override or 0, 1,
    )  # fmt: skip


@in_float32
def adaptive_avg_pool(out: Any, x: Any) -> None:
    """Means over windows from ``floor(i n / m)`` up to ``ceil((i + 1) n / m)``."""
    facts = _facts(x.shape[2:], out.shape[2:])
    _adaptive_average(flat(x), out.reshape(-1), _planes(x), facts, 0)


@in_float32
def adaptive_avg_pool_gradient(out: Any, g: Any) -> None:
    """``g`` spread evenly over those windows of ``out``."""
    out[...] = 0
    facts = _facts(out.shape[2:], g.shape[2:])
    _adaptive_average(out.reshape(-1), flat(g), _planes(out), facts, 1)


@in_float32
def adaptive_max_pool(outs: Any, x: Any) -> None:
    """The largest element of each such window, and its place within the spatial axes."""
    values, places = outs
    facts = _facts(x.shape[2:], values.shape[2:])
    _adaptive_max(values.reshape(-1), places.reshape(-1), flat(x), _planes(x), facts)
