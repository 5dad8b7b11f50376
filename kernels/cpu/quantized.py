"""Products and convolutions of quantised numbers: 8 bits times 8 bits, summed in 32.

    x        unsigned: q = round(x / scale) + zero, from 0 to 255
    weight   signed, symmetric: -127 to 127, a scale for each row
    out[o]   (sum over k of (q[k] - zero) * weight[o, k]) * scale * scales[o] + bias[o]

Scale and zero point are known beforehand, or those that reach the least and the greatest number.
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

from .matrix_products.packed_dot import dot_code
from .threads.thread_pool import parallel_for
from .vectors.simd import vector_bytes

__all__ = ["convolution", "dynamic_linear", "linear"]

_TILE = 4  # rows and channels whose sums are in registers at once
_FEW = 16_000_000  # multiplications that one thread does sooner than two
_BYTE = np.dtype(np.uint8)


@kernel
def _quantize_rows(
    out: Any, x: Any, rows: int, count: int, pitch: int, inverses: Any, zeros: Any, step: int
) -> None:
    """Rows of ``count`` numbers, filled up to ``pitch``; row ``r`` has the zero point ``zeros[r *
    step]``."""
    for r in range(rows):
        into = out[r * pitch : (r + 1) * pitch]
        given = x[r * count : (r + 1) * count]
        inverse, zero = inverses[r * step], np.float32(zeros[r * step])
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
        out: Any, rows: Any, weight: Any, scales: Any, offsets: Any, bias: Any, row_scales: Any,
        row_zeros: Any, step: int, count: int, size: int, first: int, last: int, row_step: int,
        channel_step: int,
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
                    own, offset, b = scales[o + c], offsets[o + c], bias[o + c]
                    for j in range(together):
                        at, k = (r + j) * row_step + (o + c) * channel_step, (r + j) * step
                        total = np.int32(sums[j * channels + c] + np.int32(row_zeros[k] * offset))
                        out[at] = np.float32(total) * (own * row_scales[k]) + b
                r += together
            o += channels

    return product


@kernel
def _short_product(
    out: Any, rows: Any, weight: Any, scales: Any, offsets: Any, bias: Any, row_scales: Any,
    row_zeros: Any, step: int, count: int, size: int, first: int, last: int, row_step: int,
    channel_step: int,
) -> None:  # fmt: skip
    """The same for rows that fill no vectors."""
    for o in range(first, last):
        w = weight[o * size : (o + 1) * size]
        own, offset, b = scales[o], offsets[o], bias[o]
        for r in range(count):
            x = rows[r * size : (r + 1) * size]
            total = np.int32(0)
            for k in range(size):
                total = np.int32(total + np.int32(x[k]) * np.int32(w[k]))
            at = r * row_step + o * channel_step
            total = np.int32(total + np.int32(row_zeros[r * step] * offset))
            out[at] = np.float32(total) * (own * row_scales[r * step]) + b


_TYPES = {
    "f": "float32[::1]", "u": "uint8[::1]", "b": "int8[::1]", "w": "int32[::1]",
    "p": "int64[::1]", "i": "int64", "s": "float32",
}  # fmt: skip
_ONE = np.ones(1, np.int32)  # zero points, where they are part of the offsets


def _entry(loop: Any, kinds: str) -> Any:
    return entry_point(loop, f"void({', '.join([_TYPES[k] for k in kinds])})")


def _multiply(
    out: Any, rows: Any, weight: Any, scales: Any, offsets: Any, bias: Any, count: int,
    pitch: int, row_step: int, channel_step: int, row_scales: Any, row_zeros: Any = _ONE,
) -> None:  # fmt: skip
    whole = pitch % vector_bytes() == 0
    loop = _entry(_product() if whole else _short_product, "fubfwffw" + "i" * 7)
    channels, step = scales.size, int(row_scales.size > 1)

    def part(first: int, last: int) -> None:
        loop(
            out, rows, weight, scales, offsets, bias, row_scales, row_zeros, step, count, pitch,
            first, last, row_step, channel_step,
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
    inverse, origin = np.array([1 / scale], np.float32), np.array([zero], np.int32)
    factor, quantize = np.array([scale], np.float32), _entry(_quantize_rows, "ufiiifwi")

    def run(out: Any, x: Any, weight: Any, scales: Any, offsets: Any, bias: Any) -> None:
        held = workspace(rows * pitch, _BYTE, "quantized rows")
        quantize(held, x, rows, count, pitch, inverse, origin, 0)
        _multiply(out, held, weight, scales, offsets, bias, rows, pitch, channels, 1, factor)

    return run


def dynamic_linear(outs: Any, ins: Any, *, per_row: bool) -> Any:
    """As :func:`linear`, with the scale and the zero point of the numbers that are given, of each
    row or of all; ``offsets`` are those of a zero point of 1."""
    (x, weight, *_) = ins
    count, pitch = x.shape[-1], weight.shape[1]
    rows = int(np.prod(x.shape[:-1]))
    channels = weight.shape[0]
    shape = (rows, count) if per_row else (1, rows * count)
    quantize = _entry(_quantize_rows, "ufiiifwi")

    def run(out: Any, x: Any, weight: Any, scales: Any, offsets: Any, bias: Any) -> None:
        held = workspace(rows * pitch, _BYTE, "quantized rows")
        given = x.reshape(shape)
        low, high = given.min(1, initial=0), given.max(1, initial=0)
        factors = (high - low) / np.float32(255)
        factors[factors == 0] = 1
        with np.errstate(invalid="ignore", divide="ignore"):  # of inf and nan, whose result is nan
            zeros = np.nan_to_num(np.rint(-low / factors)).astype(np.int32)
            inverses = np.float32(1) / factors
        quantize(held, x, rows, count, pitch, inverses, zeros, int(factors.size > 1))
        _multiply(
            out, held, weight, scales, offsets, bias, rows, pitch, channels, 1, factors, zeros
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
    inverse, origin, factor = np.float32(1 / scale), np.float32(zero), np.array([scale], np.float32)
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
