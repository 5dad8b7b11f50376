"""Gradients for a convolution's weight and bias where channels are too few to fill vectors.

Compiled functions call them: pixels lie along the vectors, so that sums are of another order than
eager ones, which are oneDNN's. With channels along the vectors 6 of them fill 6 of 16 lanes.

Slopes are copied with the pitch of the padded image's rows. Then a tap's sum is that of the
products of two arrays, one of them shifted. Each function here makes a plan, as those of
:mod:`.winograd` do.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import numpy as np
from numba import types
from numba.extending import intrinsic

from mindtorch.kernels.codegen.jit import entry_point, kernel
from mindtorch.kernels.support.workspace import workspace

from .cat_flip_roll_pad import dense
from .threads.thread_pool import parallel_sum
from .vectors.simd import Vectors, data_of, lanes, long_of, vector_bytes

_FLOAT = np.dtype(np.float32)
_LEAST = 1 << 16  # slopes
_FILLED = 0.6  # of a row's pitch
_SHORTEST = 16  # elements of a plane whose sum has vectors


@functools.cache
def _sums_of(rows: int, taps: int, width: int) -> Any:
    """The kernel of ``rows`` channels' sums for the taps of one row of the window, lane by lane.

    ``add(sums, at, down, g, g_at, g_down, x, x_at, count)`` adds, for each row and tap::

        sums[at + row * down + tap * width + lane] += sum over i < count of
            g[g_at + row * g_down + i * width + lane] * x[x_at + tap + i * width + lane]
    """

    @intrinsic
    def add(
        context: Any, sums: Any, at: Any, down: Any, g: Any, g_at: Any, g_down: Any, x: Any,
        x_at: Any, count: Any,
    ) -> Any:  # fmt: skip
        def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
            form = Vectors(builder, signature.args[0].dtype, width)
            target, slopes, pixels = (
                data_of(context, builder, signature.args[i], arguments[i], arguments[i + 1])
                for i in (0, 3, 6)
            )
            lines = [
                builder.gep(slopes, [builder.mul(arguments[5], long_of(j))]) for j in range(rows)
            ]

            def step(i: Any, held: Any) -> Any:
                place = builder.mul(i, long_of(width))
                left = [form.load(builder.gep(line, [place])) for line in lines]
                made = []
                for tap in range(taps):
                    at = builder.add(place, long_of(tap))
                    value = form.load(builder.gep(pixels, [at]))
                    column = [form.fma(g, value, held[j][tap]) for j, g in enumerate(left)]
                    made.append(column)
                return [[column[j] for column in made] for j in range(rows)]

            found = form.sum_over(arguments[8], [[form.zero] * taps] * rows, step)
            for j, row in enumerate(found):
                line = builder.gep(target, [builder.mul(arguments[2], long_of(j))])
                for tap, total in enumerate(row):
                    to = builder.gep(line, [long_of(tap * width)])
                    form.store(builder.fadd(form.load(to), total), to)
            return context.get_dummy_value()

        long = types.int64
        return types.void(sums, long, long, g, long, long, x, long, long), generate

    return add


@functools.cache
def _weight_sums(rows: int, taps: int, width: int) -> Any:
    add = _sums_of(rows, taps, width)

    @kernel
    def padded(to: Any, at: int, pitch: int, x: Any, begin: int, lines: int, length: int) -> None:
        """Lines of an image, ``pitch`` apart."""
        for _ in range(lines):
            target, source = to[at : at + length], x[begin : begin + length]
            for i in range(length):
                target[i] = source[i]
            at, begin = at + pitch, begin + length

    @kernel
    def weight_sums(
        sums: Any, slopes: Any, pixels: Any, g: Any, x: Any, sizes: Any, first: int, last: int
    ) -> None:
        """Add images ``first`` to ``last`` to ``sums[channel made][given][tap][lane]``.

        ``slopes`` and ``pixels`` have room for one image, and zeros where nothing is copied.
        """
        channels, down, across, inner, height, breadth = sizes[:6]
        high, before_y, before_x, pitch, plane, room, count = sizes[6:]
        every = inner * high * taps * width
        for n in range(first, last):
            for c in range(inner):
                padded(pixels, c * plane + before_y * pitch + before_x, pitch, x,
                       (n * inner + c) * height * breadth, height, breadth)  # fmt: skip
            for c in range(channels):
                padded(slopes, c * room, pitch, g, (n * channels + c) * down * across, down, across)
            for c in range(0, channels, rows):
                for i in range(inner):
                    for y in range(high):
                        at = c * every + (i * high + y) * taps * width
                        add(sums, at, every, slopes, c * room, room, pixels, i * plane + y * pitch,
                            count)  # fmt: skip

    arrays = ", ".join(["float32[::1]"] * 5)
    return entry_point(weight_sums, f"void({arrays}, int64[::1], int64, int64)")


class _WeightSum:
    """``run(out, g, x)``: the gradient for the weight; whether it is finite: what a row's vectors
    see beyond it counts nothing, unless it is infinite."""

    def __init__(self, image: Any, result: Any, window: Any, padding: Any) -> None:
        images, channels, down, across = result
        inner, height, breadth = image[1:]
        high, taps = window
        self.width = width = lanes(_FLOAT)
        most = (24 if vector_bytes() == 64 else 12) // taps
        self.rows = -(-channels // -(-channels // most))
        whole = -(-channels // self.rows) * self.rows
        before_y, before_x = padding
        pitch = breadth + 2 * before_x
        count = -(-down * pitch // width)
        plane = (height + 2 * before_y) * pitch
        room = count * width
        self.sizes = np.array(
            [channels, down, across, inner, height, breadth, high, before_y, before_x, pitch, plane,
             room, count], np.int64,
        )  # fmt: skip
        self.images, self.taps = images, taps
        self.slopes = whole * room
        self.pixels = inner * plane + room + (high + 1) * pitch
        self.made = (whole, inner * high * taps, width)
        self.channels = channels

    def __call__(self, out: Any, g: Any, x: Any) -> bool:
        run = _weight_sums(self.rows, self.taps, self.width)

        def images(first: int, last: int) -> Any:
            sums = np.zeros(self.made, _FLOAT)
            slopes = workspace(self.slopes, _FLOAT, "few slopes")
            pixels = workspace(self.pixels, _FLOAT, "few pixels")
            slopes[:] = 0
            pixels[:] = 0
            run(sums.reshape(-1), slopes, pixels, g, x, self.sizes, first, last)
            return sums

        total = parallel_sum(self.images, images)
        np.sum(total[: self.channels], -1, out=out.reshape(self.channels, -1))
        return bool(np.isfinite(out).all())


def convolution_weight_gradient(
    outs: Any, ins: Any, *, shape: Any, stride: Any, padding: Any, dilation: Any, groups: int
) -> Callable[..., bool] | None:
    """The plan of :func:`.convolution.convolution_weight_gradient`; None for what is not ours."""
    (out,), (g, x) = outs, ins
    if len(g.shape) != 4 or (*stride, *dilation, groups) != (1, 1, 1, 1, 1) or min(padding) < 0:
        return None
    if not all(each.dtype == _FLOAT and dense(each) for each in (out, g, x)):
        return None
    window, across = out.shape[2:], g.shape[3]
    few = 2 * g.shape[1] <= lanes(_FLOAT) and 1 < window[1] <= 7
    filled = across >= _FILLED * (x.shape[3] + 2 * padding[1])
    if not few or not filled or np.prod(g.shape) < _LEAST:
        return None
    return _WeightSum(x.shape, g.shape, window, padding)


@kernel(fastmath={"reassoc", "nsz"})
def _sum_planes(out: Any, g: Any, images: int, step: int) -> None:
    channels = out.size
    for c in range(channels):
        total = np.float64(0)
        for n in range(images):
            plane = g[(n * channels + c) * step : (n * channels + c + 1) * step]
            added: Any = np.float32(0)
            for i in range(step):
                added += plane[i]
            total += added
        out[c] = total


def channel_sum(outs: Any, ins: Any, *, inner: int, groups: int) -> Callable[..., bool] | None:
    """The plan of :func:`.convolution.channel_sum`, each plane's sum by vectors."""
    (out,), (g,) = outs, ins
    size = int(np.prod(g.shape))
    if not all(each.dtype == _FLOAT and dense(each) for each in (out, g)) or size < _LEAST:
        return None
    images, channels = g.shape[:2]
    step = size // (images * channels)
    if step < _SHORTEST:
        return None
    run = entry_point(_sum_planes, "void(float32[::1], float32[::1], int64, int64)")

    def summed(out: Any, g: Any) -> bool:
        run(out, g, images, step)
        return True

    return summed
