"""Products and convolutions of quantised numbers: 8 bits times 8 bits, summed in 32.

    x        unsigned: q = round(x / scale) + zero, from 0 to 255
    weight   signed, symmetric: -127 to 127, a scale for each row
    out[o]   (sum over k of (q[k] - zero) * weight[o, k]) * scale * scales[o] + bias[o]

Rows of a weight may be longer than those that it is multiplied with; what is behind is zero. Sums
are exact, so that results hang on no order: 2^16 products of 255 and 127 fit 32 bits.
"""

from __future__ import annotations

import functools
import itertools
from typing import Any

import numpy as np

from mindtorch.kernels.codegen.jit import entry_point, kernel
from mindtorch.kernels.support.workspace import workspace

from .packed_dot import dot_code
from .simd import vector_bytes
from .thread_pool import parallel_for

__all__ = ["convolution", "linear"]

_TILE = 4  # rows and channels whose sums are in registers at once
_FEW = 16_000_000  # multiplications that one thread does sooner than two
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


@functools.cache
def _product() -> Any:
    """The loop of products of rows with channels, of which ``size`` bytes lie in a row each."""
    tile, row, column, one = (
        dot_code(_TILE, _TILE), dot_code(1, _TILE), dot_code(_TILE, 1), dot_code(1, 1)
    )  # fmt: skip

    @kernel
    def product(
        out: Any, rows: Any, weight: Any, scales: Any, offsets: Any, bias: Any, count: int,
        size: int, first: int, last: int, row_step: int, channel_step: int, scale: Any,
    ) -> None:  # fmt: skip
        """``out[r * row_step + o * channel_step]`` for ``count`` rows, channels first to last."""
        sums = np.empty(_TILE * _TILE, np.int32)
        to, x, w = sums.ctypes.data, rows.ctypes.data, weight.ctypes.data
        o = first
        while o < last:
            channels = _TILE if o + _TILE <= last else 1
            r = 0
            while r < count:
                together = _TILE if r + _TILE <= count else 1
                if together == _TILE and channels == _TILE:
                    tile(to, x + r * size, w + o * size, size)
                elif channels == _TILE:
                    row(to, x + r * size, w + o * size, size)
                elif together == _TILE:
                    column(to, x + r * size, w + o * size, size)
                else:
                    one(to, x + r * size, w + o * size, size)
                for c in range(channels):
                    factor, offset, b = scales[o + c] * scale, offsets[o + c], bias[o + c]
                    for j in range(together):
                        at = (r + j) * row_step + (o + c) * channel_step
                        total = sums[j * channels + c]
                        out[at] = np.float32(np.int32(total + offset)) * factor + b
                r += together
            o += channels

    return product


@kernel
def _short_product(
    out: Any, rows: Any, weight: Any, scales: Any, offsets: Any, bias: Any, count: int,
    size: int, first: int, last: int, row_step: int, channel_step: int, scale: Any,
) -> None:  # fmt: skip
    """The same for rows that fill no vectors."""
    for o in range(first, last):
        w = weight[o * size : (o + 1) * size]
        factor, offset, b = scales[o] * scale, offsets[o], bias[o]
        for r in range(count):
            x = rows[r * size : (r + 1) * size]
            total = np.int32(0)
            for k in range(size):
                total = np.int32(total + np.int32(x[k]) * np.int32(w[k]))
            at = r * row_step + o * channel_step
            out[at] = np.float32(np.int32(total + offset)) * factor + b


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
    whole = pitch % vector_bytes() == 0
    loop = _entry(_product() if whole else _short_product, "fubfwf" + "i" * 6 + "s")
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
