"""Loops of pooling over images whose channels lie last; :mod:`..pooling` has the others."""

from __future__ import annotations

from typing import Any

import numpy as np

from mindtorch.kernels.codegen.jit import kernel

from ..vectors.simd import BLOCK, keep_largest


@kernel
def average_last(
    wide: Any, narrow: Any, images: int, lengths: Any, bounds: Any, divisor: int, backward: int
) -> None:
    """The average of each window, or its gradient (``backward``); without ``divisor`` the windows'
    elements inside of the image are counted."""
    depth, height, width = lengths[0], lengths[1], lengths[2]
    od, oh, ow = lengths[3], lengths[4], lengths[5]
    channels = wide.size // (images * depth * height * width)
    held = np.empty(channels, wide.dtype)
    for image in range(images):
        for i in range(od):
            for j in range(oh):
                for k in range(ow):
                    count = bounds[2, i] * bounds[2, od + j] * bounds[2, od + oh + k]
                    if divisor:
                        count = divisor
                    first, last = bounds[0, od + oh + k], bounds[1, od + oh + k]
                    at = (((image * od + i) * oh + j) * ow + k) * channels
                    row = narrow[at : at + channels]
                    for c in range(channels):
                        held[c] = row[c] / wide.dtype.type(count) if backward else 0
                    for z in range(bounds[0, i], bounds[1, i]):
                        for y in range(bounds[0, od + j], bounds[1, od + j]):
                            line = ((image * depth + z) * height + y) * width
                            for q in range(line + first, line + last):
                                other = wide[q * channels : (q + 1) * channels]
                                if backward:
                                    for c in range(held.size):
                                        other[c] += held[c]
                                else:
                                    for c in range(held.size):
                                        held[c] += other[c]
                    if not backward:
                        for c in range(channels):
                            row[c] = held[c] / wide.dtype.type(count)


@kernel
def max_last(
    out: Any, places: Any, x: Any, images: int, lowest: Any, facts: Any, offsets: Any
) -> None:
    """The largest element of each window of images whose channels lie last."""
    depth, height, width = facts[0], facts[1], facts[2]
    od, oh, ow = facts[3], facts[4], facts[5]
    kd, kh, kw = facts[6], facts[7], facts[8]
    channels = x.size // (images * depth * height * width)
    whole = channels // BLOCK * BLOCK
    best, taps = np.empty(channels, x.dtype), np.empty(channels, np.int64)
    for window in range(images * od * oh * ow):
        image, place = window // (od * oh * ow), window % (od * oh * ow)
        z0 = place // (oh * ow) * facts[9] - facts[12]
        y0 = place // ow % oh * facts[10] - facts[13]
        x0 = place % ow * facts[11] - facts[14]
        a, b = 0, kw  # the taps inside
        while x0 + a * facts[17] < 0:
            a += 1
        while x0 + (b - 1) * facts[17] >= width:
            b -= 1
        best[:] = lowest
        taps[:] = -1
        for k in range(kd):
            for j in range(kh):
                z, y = z0 + k * facts[15], y0 + j * facts[16]
                if z < 0 or z >= depth or y < 0 or y >= height or b <= a:
                    continue
                line = ((image * depth + z) * height + y) * width + x0
                values = x[(line + a * facts[17]) * channels :]
                first = (k * kh + j) * kw + a
                if taps[0] < 0:
                    taps[:] = first
                last = first + b - a
                pitch = facts[17] * channels
                for c in range(0, whole, BLOCK):
                    keep_largest(best, taps, values, c, pitch, first, last)
                for tap in range(first, last):
                    for c in range(whole, channels):
                        value = values[(tap - first) * pitch + c]
                        if (value > best[c]) | (value != value):
                            best[c] = value
                            taps[c] = tap
        result = out[window * channels : (window + 1) * channels]
        where = places[window * channels : (window + 1) * channels]
        base = (z0 * height + y0) * width + x0
        for c in range(channels):
            result[c] = best[c]
            where[c] = base + offsets[taps[c]]


@kernel
def scatter_last(out: Any, g: Any, places: Any, images: int, channels: int) -> None:
    size, count = out.size // images, g.size // images // channels
    for i in range(out.size):
        out[i] = 0
    for image in range(images):
        target = out[image * size : (image + 1) * size]
        for i in range(image * count, (image + 1) * count):
            for c in range(channels):
                target[places[i * channels + c] * channels + c] += g[i * channels + c]
