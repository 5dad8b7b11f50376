"""Pooling for CUDA, and its gradients.

    picture   forward: one thread for each result, which walks its window. Gradients of means: one
              thread for each element of the input, which walks the windows that hold it. Gradient
              of a maximum: one block for each plane, whose threads own its elements in turns; each
              walks all results, which they read together, and adds those of its own in order
    memory    no shared memory
    sync      none: nobody writes where another does
    sizes     up to three spatial axes
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from mindtorch.kernels.cpu.convolutions.convolution_tables import three_axes

from . import launch
from .fast_division import divisors, over, three
from .launch import cuda
from .via_float32 import flat, in_float32

FOLDING = launch.FOLDING


@launch.device
def _located(i: Any, size: Any, h: Any, w: Any, by_plane: Any, by_h: Any, by_w: Any) -> Any:
    """The plane of ``size`` elements that element ``i`` is of, and its places along three axes."""
    plane = over(i, by_plane)
    a, b, c = three(i - plane * size, h, w, by_h, by_w)
    return plane, a, b, c


@launch.kernel
def _max(
    count: int, out: Any, where: Any, x: Any, d_: int, h_: int, w_: int, od_: int, oh_: int,
    ow_: int, kd_: int, kh_: int, kw_: int, sd_: int, sh_: int, sw_: int, pd_: int, ph_: int,
    pw_: int, dd_: int, dh_: int, dw_: int, by_plane: Any, by_h: Any, by_w: Any,
) -> None:  # fmt: skip
    i = cuda.grid(1)
    while i < count:
        plane, a, b, c = _located(i, od_ * oh_ * ow_, oh_, ow_, by_plane, by_h, by_w)
        base = plane * d_ * h_ * w_
        best = -1
        for td in range(kd_):
            d = a * sd_ - pd_ + td * dd_
            for th in range(kh_):
                h = b * sh_ - ph_ + th * dh_
                for tw in range(kw_):
                    v = c * sw_ - pw_ + tw * dw_
                    if d >= 0 and d < d_ and h >= 0 and h < h_ and v >= 0 and v < w_:
                        place = (d * h_ + h) * w_ + v
                        value = x[base + place]
                        if best < 0 or value > x[base + best] or value != value:
                            best = place
        out[i] = x[base + best]
        where[i] = best
        i = launch.following(i, count)


@launch.device
def _begin(i: int, n: int, by_m: Any) -> Any:
    """Where window ``i`` of ``m`` begins among ``n`` elements."""
    return over(i * n, by_m)


@launch.device
def _end(i: int, n: int, m: int, by_m: Any) -> Any:
    return over((i + 1) * n + m - 1, by_m)


@launch.kernel
def _adaptive_max(
    count: int, out: Any, where: Any, x: Any, d_: int, h_: int, w_: int, od_: int, oh_: int,
    ow_: int, by_plane: Any, by_h: Any, by_w: Any, by_d: Any,
) -> None:  # fmt: skip
    i = cuda.grid(1)
    while i < count:
        plane, a, b, c = _located(i, od_ * oh_ * ow_, oh_, ow_, by_plane, by_h, by_w)
        base = plane * d_ * h_ * w_
        best = -1
        for d in range(_begin(a, d_, by_d), _end(a, d_, od_, by_d)):
            for h in range(_begin(b, h_, by_h), _end(b, h_, oh_, by_h)):
                for v in range(_begin(c, w_, by_w), _end(c, w_, ow_, by_w)):
                    place = (d * h_ + h) * w_ + v
                    value = x[base + place]
                    if best < 0 or value > x[base + best] or value != value:
                        best = place
        out[i] = x[base + best]
        where[i] = best
        i = launch.following(i, count)


@launch.kernel
def _add_back(out: Any, g: Any, where: Any, size: int, results: int) -> None:
    plane, t = np.int64(cuda.blockIdx.x), cuda.threadIdx.x
    base, first = plane * size, plane * results
    for k in range(t, size, FOLDING):
        out[base + k] = 0
    for k in range(results):
        place = where[first + k]
        if place % FOLDING == t:
            out[base + place] += g[first + k]


@launch.device
def _extent(place: int, stride: int, pad: int, taps: int, length: int, padded: int) -> Any:
    """How many elements of a window along an axis count; ``padded``: 1 where those outside do."""
    start, margin = place * stride - pad, pad * padded
    return min(start + taps, length + margin) - max(start, -margin)


@launch.kernel
def _average(
    count: int, out: Any, x: Any, padded: int, divisor: int, own: int, d_: int, h_: int, w_: int,
    od_: int, oh_: int, ow_: int, kd_: int, kh_: int, kw_: int, sd_: int, sh_: int, sw_: int,
    pd_: int, ph_: int, pw_: int, by_plane: Any, by_h: Any, by_w: Any,
) -> None:  # fmt: skip
    i = cuda.grid(1)
    while i < count:
        plane, a, b, c = _located(i, od_ * oh_ * ow_, oh_, ow_, by_plane, by_h, by_w)
        base = plane * d_ * h_ * w_
        total = 0.0
        for d in range(max(a * sd_ - pd_, 0), min(a * sd_ - pd_ + kd_, d_)):
            for h in range(max(b * sh_ - ph_, 0), min(b * sh_ - ph_ + kh_, h_)):
                for v in range(max(c * sw_ - pw_, 0), min(c * sw_ - pw_ + kw_, w_)):
                    total += x[base + (d * h_ + h) * w_ + v]
        share = own * _extent(a, sd_, pd_, kd_, d_, padded)
        share = share * _extent(b, sh_, ph_, kh_, h_, padded)
        share = divisor + share * _extent(c, sw_, pw_, kw_, w_, padded)
        out[i] = total / share
        i = launch.following(i, count)


@launch.device
def _first(i: int, by: Any) -> Any:
    """The quotient of ``i``, which may be negative: then 0."""
    return over(max(i, 0), by)


@launch.kernel
def _average_back(
    count: int, out: Any, g: Any, padded: int, divisor: int, own: int, d_: int, h_: int, w_: int,
    od_: int, oh_: int, ow_: int, kd_: int, kh_: int, kw_: int, sd_: int, sh_: int, sw_: int,
    pd_: int, ph_: int, pw_: int, by_plane: Any, by_h: Any, by_w: Any, by_sd: Any, by_sh: Any,
    by_sw: Any,
) -> None:  # fmt: skip
    i = cuda.grid(1)
    while i < count:
        plane, d, h, v = _located(i, d_ * h_ * w_, h_, w_, by_plane, by_h, by_w)
        base = plane * od_ * oh_ * ow_
        d, h, v = d + pd_, h + ph_, v + pw_
        total = 0.0
        for a in range(_first(d - kd_ + sd_, by_sd), min(over(d, by_sd) + 1, od_)):
            deep = own * _extent(a, sd_, pd_, kd_, d_, padded)
            for b in range(_first(h - kh_ + sh_, by_sh), min(over(h, by_sh) + 1, oh_)):
                high = deep * _extent(b, sh_, ph_, kh_, h_, padded)
                for c in range(_first(v - kw_ + sw_, by_sw), min(over(v, by_sw) + 1, ow_)):
                    share = divisor + high * _extent(c, sw_, pw_, kw_, w_, padded)
                    total += g[base + (a * oh_ + b) * ow_ + c] / share
        out[i] = total
        i = launch.following(i, count)


@launch.kernel
def _adaptive(
    count: int, out: Any, x: Any, d_: int, h_: int, w_: int, od_: int, oh_: int, ow_: int,
    by_plane: Any, by_h: Any, by_w: Any, by_d: Any,
) -> None:  # fmt: skip
    i = cuda.grid(1)
    while i < count:
        plane, a, b, c = _located(i, od_ * oh_ * ow_, oh_, ow_, by_plane, by_h, by_w)
        base = plane * d_ * h_ * w_
        total = 0.0
        size = 0
        for d in range(_begin(a, d_, by_d), _end(a, d_, od_, by_d)):
            for h in range(_begin(b, h_, by_h), _end(b, h_, oh_, by_h)):
                for v in range(_begin(c, w_, by_w), _end(c, w_, ow_, by_w)):
                    total += x[base + (d * h_ + h) * w_ + v]
                    size += 1
        out[i] = total / size
        i = launch.following(i, count)


@launch.kernel
def _adaptive_back(
    count: int, out: Any, g: Any, d_: int, h_: int, w_: int, od_: int, oh_: int, ow_: int,
    by_plane: Any, by_h: Any, by_w: Any, by_d: Any, by_od: Any, by_oh: Any, by_ow: Any,
) -> None:  # fmt: skip
    i = cuda.grid(1)
    while i < count:
        plane, d, h, v = _located(i, d_ * h_ * w_, h_, w_, by_plane, by_h, by_w)
        base = plane * od_ * oh_ * ow_
        total = 0.0
        for a in range(_begin(d, od_, by_d), _end(d, od_, d_, by_d)):
            for b in range(_begin(h, oh_, by_h), _end(h, oh_, h_, by_h)):
                for c in range(_begin(v, ow_, by_w), _end(v, ow_, w_, by_w)):
                    size = _end(a, d_, od_, by_od) - _begin(a, d_, by_od)
                    size = size * (_end(b, h_, oh_, by_oh) - _begin(b, h_, by_oh))
                    size = size * (_end(c, w_, ow_, by_ow) - _begin(c, w_, by_ow))
                    total += g[base + (a * oh_ + b) * ow_ + c] / size
        out[i] = total
        i = launch.following(i, count)


def _facts(wide: Any, narrow: Any, window: Any = None, stride: Any = (), padding: Any = (),
           dilation: Any = None) -> tuple[int, ...]:  # fmt: skip
    facts = (*three_axes(wide, 1), *three_axes(narrow, 1))
    if window is not None:
        facts += (*three_axes(window, 1), *three_axes(stride, 1), *three_axes(padding, 0))
    return facts if dilation is None else (*facts, *three_axes(dilation, 1))


def _by(result: Any, *numbers: int, bound: int = 0) -> tuple[Any, ...]:
    """The divisors of places in a result: of a plane's, a height's and a width's lengths; and those
    of further numbers, by which numbers below ``bound`` are divided."""
    _, h, w = lengths = three_axes(result.shape[2:], 1)
    return divisors(max(result.size, bound), math.prod(lengths), h, w, *numbers)


def _by_windows(result: Any, other: Any, *numbers: int) -> tuple[Any, ...]:
    """Those of windows that share an axis of ``other`` evenly, or are shared so: the result's depth
    and further numbers."""
    n, m = three_axes(result.shape[2:], 1), three_axes(other.shape[2:], 1)
    return _by(result, n[0], *numbers, bound=(max(n) + 1) * (max(m) + 1))


@in_float32
def max_pool(
    outs: Any, x: Any, *, kernel_size: Any, stride: Any, padding: Any, dilation: Any
) -> None:
    """The largest element of each window (NaN wins), and its place within the spatial axes."""
    values, places = outs
    facts = _facts(x.shape[2:], values.shape[2:], kernel_size, stride, padding, dilation)
    launch.each(_max, values.size, values, places, flat(x), *facts, *_by(values))


@in_float32
def max_pool_gradient(out: Any, g: Any, indices: Any) -> None:
    """``g`` added at ``indices`` of zeros, channel by channel."""
    planes = max(out.shape[0] * out.shape[1], 1)
    launch.rows(_add_back, planes, out, flat(g), flat(indices), out.size // planes,
                g.size // planes)  # fmt: skip


def _share(given: int | None) -> tuple[int, int]:
    """What is added to a window's elements, taken so often: together they divide its sum."""
    return (given, 0) if given else (0, 1)


@in_float32
def avg_pool(
    out: Any, x: Any, *, kernel_size: Any, stride: Any, padding: Any, count_include_pad: bool,
    divisor_override: int | None,
) -> None:  # fmt: skip
    """The mean of each window."""
    facts = _facts(x.shape[2:], out.shape[2:], kernel_size, stride, padding)
    launch.each(_average, out.size, out, flat(x), int(count_include_pad),
                *_share(divisor_override), *facts, *_by(out))  # fmt: skip


@in_float32
def avg_pool_gradient(
    out: Any, g: Any, *, kernel_size: Any, stride: Any, padding: Any, count_include_pad: bool,
    divisor_override: int | None,
) -> None:  # fmt: skip
    """``g`` spread evenly over each window of ``out``."""
    facts = _facts(out.shape[2:], g.shape[2:], kernel_size, stride, padding)
    strides = three_axes(stride, 1)
    bound = max(out.shape) + max(strides) + max(three_axes(padding, 0))
    launch.each(_average_back, out.size, out, flat(g), int(count_include_pad),
                *_share(divisor_override), *facts, *_by(out, *strides, bound=bound))  # fmt: skip


@in_float32
def adaptive_avg_pool(out: Any, x: Any) -> None:
    """Means over windows from ``floor(i n / m)`` up to ``ceil((i + 1) n / m)``."""
    launch.each(_adaptive, out.size, out, flat(x), *_facts(x.shape[2:], out.shape[2:]),
                *_by_windows(out, x))  # fmt: skip


@in_float32
def adaptive_avg_pool_gradient(out: Any, g: Any) -> None:
    """``g`` spread evenly over those windows of ``out``."""
    launch.each(_adaptive_back, out.size, out, flat(g), *_facts(out.shape[2:], g.shape[2:]),
                *_by_windows(out, g, *three_axes(g.shape[2:], 1)))  # fmt: skip


@in_float32
def adaptive_max_pool(outs: Any, x: Any) -> None:
    """The largest element of each such window, and its place within the spatial axes."""
    values, places = outs
    launch.each(_adaptive_max, values.size, values, places, flat(x),
                *_facts(x.shape[2:], values.shape[2:]), *_by_windows(values, x))  # fmt: skip
