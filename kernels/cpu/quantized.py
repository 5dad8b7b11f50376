"""Products and convolutions of quantised numbers: 8 bits times 8 bits, summed in 32.

    x        unsigned: q = round(x / scale) + zero, from 0 to 255
    weight   signed, symmetric: -127 to 127, a scale for each row
    out[o]   (sum over k of (q[k] - zero) * weight[o, k]) * scale * scales[o] + bias[o]

Rows of a weight may be longer than those that it is multiplied with; what is behind is zero. Sums
are exact, so that results hang on no order: 2^16 products of 255 and 127 fit 32 bits.
"""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np

from mindtorch.kernels.codegen.jit import entry_point, kernel
from mindtorch.kernels.support.workspace import workspace

from .thread_pool import parallel_for

__all__ = ["convolution", "linear"]

_FEW = 4_000_000  # multiplications that one thread does sooner than two
_BYTE = np.dtype(np.uint8)


@kernel
def _quantize_rows(
    out: Any, x: Any, rows: int, count: int, pitch: int, inverse: Any, zero: Any
) -> None:
    """Rows of ``count`` numbers, filled up with ``zero`` to ``pitch``."""
    for r in range(rows):
        into = out[r * pitch : (r + 1) * pitch]
        given = x[r * count : (r + 1) * count]
        for i in range(count):
            q = np.rint(given[i] * inverse) + zero
            into[i] = np.uint8(min(max(q, np.float32(0)), np.float32(255)))
        for i in range(count, pitch):
            into[i] = 0


@kernel
def _quantize_image(
    out: Any, x: Any, channels: int, height: int, width: int, top: int, left: int, inverse: Any,
    zero: Any,
) -> None:  # fmt: skip
    """An image whose channels lie last, with ``zero`` around it."""
    across = width + 2 * left
    out[: (height + 2 * top) * across * channels] = np.uint8(zero)
    for c in range(channels):
        for y in range(height):
            at = ((y + top) * across + left) * channels + c
            given = x[(c * height + y) * width : (c * height + y + 1) * width]
            for i in range(width):
                q = np.rint(given[i] * inverse) + zero
                out[at + i * channels] = np.uint8(min(max(q, np.float32(0)), np.float32(255)))


@kernel
def _windows(
    out: Any, image: Any, first: int, last: int, made: int, down: int, across: int, begin: int,
    inner: int, channels: int, pitch: int, steps: Any, breadth: int,
) -> None:  # fmt: skip
    """For each place of the result the pixels of its window, ``inner`` channels from ``begin`` on
    of each, one after another."""
    for p in range(first, last):
        y, x = p // made * steps[0], p % made * steps[1]
        into = out[(p - first) * pitch : (p - first + 1) * pitch]
        k = 0
        for i in range(down):
            for j in range(across):
                at = ((y + i * steps[2]) * breadth + x + j * steps[3]) * channels + begin
                given = image[at : at + inner]
                for c in range(inner):
                    into[k + c] = given[c]
                k += inner
        for i in range(k, pitch):
            into[i] = 0


@kernel
def _product(
    out: Any, rows: Any, weight: Any, scales: Any, offsets: Any, bias: Any, count: int,
    pitch: int, first: int, last: int, row_step: int, channel_step: int, scale: Any,
) -> None:  # fmt: skip
    """``out[r * row_step + o * channel_step]`` for ``count`` rows and channels first to last."""
    for o in range(first, last):
        w = weight[o * pitch : (o + 1) * pitch]
        factor, offset, b = scales[o] * scale, offsets[o], bias[o]
        r = 0
        while r + 4 <= count:
            x0 = rows[r * pitch : (r + 1) * pitch]
            x1 = rows[(r + 1) * pitch : (r + 2) * pitch]
            x2 = rows[(r + 2) * pitch : (r + 3) * pitch]
            x3 = rows[(r + 3) * pitch : (r + 4) * pitch]
            s0 = s1 = s2 = s3 = np.int32(0)
            for k in range(pitch):
                v = np.int32(w[k])
                s0 = np.int32(s0 + np.int32(x0[k]) * v)
                s1 = np.int32(s1 + np.int32(x1[k]) * v)
                s2 = np.int32(s2 + np.int32(x2[k]) * v)
                s3 = np.int32(s3 + np.int32(x3[k]) * v)
            at = r * row_step + o * channel_step
            out[at] = np.float32(s0 + offset) * factor + b
            out[at + row_step] = np.float32(s1 + offset) * factor + b
            out[at + 2 * row_step] = np.float32(s2 + offset) * factor + b
            out[at + 3 * row_step] = np.float32(s3 + offset) * factor + b
            r += 4
        while r < count:
            x0 = rows[r * pitch : (r + 1) * pitch]
            s0 = np.int32(0)
            for k in range(pitch):
                s0 = np.int32(s0 + np.int32(x0[k]) * np.int32(w[k]))
            out[r * row_step + o * channel_step] = np.float32(s0 + offset) * factor + b
            r += 1


_TYPES = {
    "f": "float32[::1]", "u": "uint8[::1]", "b": "int8[::1]", "w": "int32[::1]",
    "p": "int64[::1]", "i": "int64", "s": "float32",
}  # fmt: skip


def _entry(loop: Any, kinds: str) -> Any:
    return entry_point(loop, f"void({', '.join([_TYPES[k] for k in kinds])})")


def _multiply(
    out: Any, rows: Any, weight: Any, scales: Any, offsets: Any, bias: Any, count: int,
    pitch: int, row_step: int, channel_step: int, scale: Any,
) -> None:  # fmt: skip
    loop = _entry(_product, "fubfwf" + "i" * 6 + "s")
    channels = scales.size

    def part(first: int, last: int) -> None:
        loop(
            out, rows, weight, scales, offsets, bias, count, pitch, first, last, row_step,
            channel_step, scale,
        )  # fmt: skip

    if channels * count * pitch < _FEW:
        part(0, channels)
    else:
        parallel_for(channels, part)


def linear(outs: Any, ins: Any, *, scale: float, zero: int) -> Any:
    """The plan of ``out = x @ weight^T + bias``: ``run(out, x, weight, scales, offsets, bias)``."""
    (x, weight, *_) = ins
    count, pitch = x.shape[-1], weight.shape[1]
    rows = int(np.prod(x.shape[:-1]))
    channels = weight.shape[0]
    inverse, origin, factor = np.float32(1 / scale), np.float32(zero), np.float32(scale)
    quantize = _entry(_quantize_rows, "ufiiiss")

    def run(out: Any, x: Any, weight: Any, scales: Any, offsets: Any, bias: Any) -> None:
        held = workspace(rows * pitch, _BYTE, "quantized rows")
        quantize(held, x, rows, count, pitch, inverse, origin)
        _multiply(
            out, held, weight, scales, offsets, bias, rows, pitch, channels, 1, factor
        )

    return run


def convolution(
    outs: Any, ins: Any, *, scale: float, zero: int, window: Any, stride: Any, padding: Any,
    dilation: Any, groups: int = 1,
) -> Any:  # fmt: skip
    """The plan of a convolution over two axes: ``run`` as :func:`linear`'s."""
    (out,), (x, weight, *_) = outs, ins
    images, channels, height, width = x.shape
    down, across = window
    (top, left), made, pitch = padding, out.shape[3], weight.shape[1]
    places, made_channels = out.shape[2] * out.shape[3], out.shape[1]
    steps = np.array([*stride, *dilation], np.int64)
    inverse, origin, factor = np.float32(1 / scale), np.float32(zero), np.float32(scale)
    quantize, cut = _entry(_quantize_image, "ufiiiiiss"), _entry(_windows, "uu" + "i" * 9 + "pi")
    padded = (height + 2 * top) * (width + 2 * left) * channels
    together = max(4, min(places, (1 << 18) // pitch // 4 * 4))
    inner, outer = channels // groups, made_channels // groups

    def run(out: Any, x: Any, weight: Any, scales: Any, offsets: Any, bias: Any) -> None:
        image = workspace(padded, _BYTE, "quantized image")
        rows = workspace(together * pitch, _BYTE, "quantized rows")
        size = channels * height * width
        for n in range(images):
            quantize(
                image, x[n * size : (n + 1) * size], channels, height, width, top, left, inverse,
                origin,
            )  # fmt: skip
            for g, first in itertools.product(range(groups), range(0, places, together)):
                last, own = min(first + together, places), slice(g * outer, (g + 1) * outer)
                cut(
                    rows, image, first, last, made, down, across, g * inner, inner, channels,
                    pitch, steps, width + 2 * left,
                )  # fmt: skip
                _multiply(
                    out[(n * made_channels + g * outer) * places + first :], rows,
                    weight[g * outer * pitch : (g + 1) * outer * pitch], scales[own], offsets[own],
                    bias[own], last - first, pitch, 1, places, factor,
                )  # fmt: skip

    return run
