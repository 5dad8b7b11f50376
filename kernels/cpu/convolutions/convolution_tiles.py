"""The loops of convolution over register tiles, generated for an element type and a tile's width.

Channels of the result lie along the vectors, in panels as wide as a tile; pixels of an image, or
taps of the window, along its rows. Both are tables of places in a padded image, so that stride,
dilation and the number of axes make no difference here.
"""

from __future__ import annotations

import functools
from typing import Any

import numpy as np

from mindtorch.kernels.codegen.jit import entry_point, kernel
from mindtorch.kernels.support.workspace import workspace

from ..matrix_products.product_tile import copy_lanes_of
from ..threads.thread_pool import parallel_for
from ..vectors.simd import lanes, strip_of, tile_of, tile_rows, transpose_block, transpose_part

PIXELS = 96  # of a block of results, about: rounded up to whole tiles
STRIP_ROWS = 6  # channels that strips of pixels have sums for, two vectors each
SERIAL = 2_000_000  # multiplications that one thread does sooner than two
BEYOND = 2 * lanes(np.float32)  # elements that vectors may read or write behind padded images
_WIDTH = lanes(np.float32)
WEIGHT_PIXELS = 240  # summed over at a time in the gradient for the weight


_copy, _copy_some = (copy_lanes_of(_WIDTH, whole) for whole in (True, False))


@kernel
def pad_images(padded: Any, x: Any, sizes: Any, first: int, count: int) -> None:
    """Copy images into the middle of zeros; ``sizes`` as :class:`Geometry` makes them.

    Up to a vector behind the last image is overwritten.
    """
    channels, depth, height, width = sizes[0], sizes[1], sizes[2], sizes[3]
    before_z, before_y, before_x = sizes[4], sizes[5], sizes[6]
    rows, columns, pitch = sizes[8], sizes[9], sizes[10]
    planes, inner, wide = sizes[7], min(height, rows - before_y), min(width, columns - before_x)
    for c in range(count * channels):
        source = (first * channels + c) * depth * height * width
        for z in range(planes):
            to, at = c * pitch + z * rows * columns, z - before_z
            if at < 0 or at >= depth:
                padded[to : to + rows * columns] = 0
                continue
            padded[to : to + before_y * columns + before_x] = 0
            to, at = to + before_y * columns + before_x, source + at * height * width
            for row in range(inner):
                # whole vectors: what they write behind a row is written after that
                end = columns if row + 1 < inner else columns - before_x
                for i in range(0, wide, _WIDTH):
                    if i + _WIDTH <= wide:
                        _copy(padded, to + i, x, at + i, _WIDTH, 0)
                    else:
                        _copy_some(padded, to + i, x, at + i, wide - i, 0)
                for i in range(wide, end, _WIDTH):
                    _copy_some(padded, to + i, x, at, 0, 0)
                to, at = to + columns, at + width
            padded[to - before_x : to - before_x + (rows - before_y - inner) * columns] = 0


def padded_images(plan: Any, x: Any, first: int, count: int) -> Any:
    """Images ``first`` to ``first + count``, padded; a view where none is needed."""
    if plan.reads_as_they_lie:
        return x[first * plan.image_pitch :] if first else x
    kind = x.dtype
    padded = workspace(plan.together * plan.image_pitch + BEYOND, kind, "padded")
    _padding(kind)(padded, x, plan.sizes, first, count)
    return padded


@functools.cache
def _padding(dtype: Any) -> Any:
    arrays = f"{dtype.name}[::1], {dtype.name}[::1], int64[::1]"
    return entry_point(pad_images, f"void({arrays}, int64, int64)")


def share_out(size: int, work: int, part: Any) -> None:
    """``part(first, last)`` for pieces of ``size``, by threads where there is work for them."""
    if work < SERIAL:
        part(0, size)
    else:
        parallel_for(size, part)


class Loops:
    """The compiled loops for one element type and tile, called without checks of types."""

    def __init__(self, dtype: Any, vectors: int) -> None:
        self.rows = tile_rows() if vectors == 2 else 2 * tile_rows() - 2
        self.width = vectors * lanes(dtype)
        self.block = -(-PIXELS // self.rows) * self.rows
        self._name, self._vectors = np.dtype(dtype).name, vectors

    def _entry(self, loop: Any, kinds: str) -> Any:
        """``kinds``: of each argument, v: elements, p: places, i: a number."""
        names = {"v": f"{self._name}[::1]", "p": "int64[::1]", "i": "int64"}
        return entry_point(loop, f"void({', '.join([names[k] for k in kinds])})")

    @functools.cached_property
    def pack(self) -> Any:
        return self._entry(_pack(self.width), "vvpii")

    @functools.cached_property
    def pack_channels(self) -> Any:
        return self._entry(_pack_channels(self.width), "vvpi")

    @functools.cached_property
    def correlate(self) -> Any:
        loop = _correlate(self.rows, self.width, self._vectors)
        return self._entry(loop, "vvvvpppp" + "i" * 10 + "pv")

    @functools.cached_property
    def weight_gradient(self) -> Any:
        loop = _weight_gradient(self.rows, self.width, self._vectors)
        return self._entry(loop, "vvvpp" + "i" * 8 + "v")

    @functools.cached_property
    def unpack(self) -> Any:
        return self._entry(_unpack(self.width), "vviii")


@functools.cache
def loops(dtype: Any, channels: int) -> Loops:
    """The loops that suit results of ``channels`` channels."""
    return _loops(dtype, 1 if channels <= lanes(dtype) else 2)


@functools.cache
def _loops(dtype: Any, vectors: int) -> Loops:
    return Loops(dtype, vectors)


@functools.cache
def strips(channels: int, stride: int, width: int, chained: bool, dtype: Any) -> Any:
    """The loop for results of few channels whose pixels are 1 or 2 apart in the source."""
    rows = channels if channels <= STRIP_ROWS else -(-channels // 2)
    some, places = f"{dtype.name}[::1], " * 4, "int64[::1], " * 5
    signature = f"void({some}{places}{'int64, ' * 9}{dtype.name}[::1])"
    return entry_point(_strips(rows, width, stride, chained), signature)


@functools.cache
def _pack(width: int) -> Any:
    @kernel
    def pack(packed: Any, weight: Any, taps: Any, channels: int, channel_step: int) -> None:
        """Panels ``[tap][width]`` of a weight, filled up with zero channels."""
        count = taps.size
        for panel in range((channels + width - 1) // width):
            target = packed[panel * count * width : (panel + 1) * count * width]
            valid = min(width, channels - panel * width)
            source = weight[panel * width * channel_step :]
            for k in range(count):
                at = taps[k]
                if channel_step == 1:
                    row = source[at : at + valid]
                    for c in range(row.size):
                        target[k * width + c] = row[c]
                else:
                    for c in range(valid):
                        target[k * width + c] = source[c * channel_step + at]
                for c in range(valid, width):
                    target[k * width + c] = 0

    return pack


@functools.cache
def _pack_channels(width: int) -> Any:
    @kernel
    def pack_channels(packed: Any, weight: Any, places: Any, channels: int) -> None:
        """The same for a dense weight ``[channels, taps]`` whose taps go to ``places``."""
        count = places.size
        block = np.empty(64, packed.dtype)
        for panel in range((channels + width - 1) // width):
            target = packed[panel * count * width : (panel + 1) * count * width]
            valid = min(width, channels - panel * width)
            source = weight[panel * width * count :]
            even, full = count // 8 * 8, valid // 8 * 8
            for c in range(0, full, 8):
                for k in range(0, even, 8):
                    transpose_block(block, 0, 8, source, c * count + k, count)
                    for j in range(8):
                        to = places[k + j] * width + c
                        for i in range(8):
                            target[to + i] = block[8 * j + i]
            for k in range(count):
                to = places[k] * width
                for c in range(full if k < even else 0, valid):
                    target[to + c] = source[c * count + k]
                for c in range(valid, width):
                    target[to + c] = 0

    return pack_channels


@functools.cache
def _unpack(width: int) -> Any:
    @kernel
    def unpack(weight: Any, packed: Any, count: int, pitch: int, channels: int) -> None:
        """The inverse for a dense weight ``[channels, count]``: panels have ``pitch`` taps."""
        for panel in range((channels + width - 1) // width):
            source = packed[panel * pitch * width : (panel + 1) * pitch * width]
            valid = min(width, channels - panel * width)
            target = weight[panel * width * count :]
            even, full = count // 8 * 8, valid // 8 * 8
            for c in range(0, full, 8):
                for k in range(0, even, 8):
                    transpose_block(target, c * count + k, count, source, k * width + c, width)
            for c in range(valid):
                for k in range(even if c < full else 0, count):
                    target[c * count + k] = source[k * width + c]

    return unpack


@functools.cache
def _correlate(rows: int, width: int, vectors: int) -> Any:
    tile = tile_of(rows, vectors, width // vectors)
    block = -(-PIXELS // rows) * rows

    @kernel
    def write_rows(
        out: Any, places: Any, made: Any, image: int, image_step: int, pitch: int, count: int,
        first: int, stop: int, valid: int,
    ) -> None:  # fmt: skip
        """Pixels ``first`` to ``stop`` of consecutive images, whose channels lie last, ``pitch``
        from one pixel to the next."""
        for at in range(first, stop):
            to = (image + at // count) * image_step + places[at % count] * pitch
            target, source = out[to : to + valid], made[(at - first) * width :]
            for c in range(target.size):
                target[c] = source[c]

    @kernel
    def write_block(
        out: Any, places: Any, dense: int, made: Any, image: int, image_step: int, step: int,
        count: int, first: int, stop: int, valid: int,
    ) -> None:  # fmt: skip
        """Pixels ``first`` to ``stop`` of consecutive images, from ``[pixel][width]`` to planes."""
        at = first
        while at < stop:
            skipped, place = at // count, at % count
            length = min(stop - at, count - place)
            base = (image + skipped) * image_step
            source = made[(at - first) * width :]
            even, full = 0, 0
            if dense:
                even, full = length // 8 * 8, valid // 8 * 8
                for c in range(0, full, 8):
                    for p in range(0, even, 8):
                        transpose_block(
                            out, base + c * step + places[place] + p, step, source,
                            p * width + c, width,
                        )  # fmt: skip
                if full < valid and full + 8 <= width:
                    for p in range(0, even, 8):
                        transpose_part(
                            out, base + full * step + places[place] + p, step, source,
                            p * width + full, width, valid - full, 8,
                        )  # fmt: skip
                    full = valid
            for c in range(valid):
                target = out[base + c * step :]
                for p in range(even if c < full else 0, length):
                    target[places[place + p]] = source[p * width + c]
            at += length

    @kernel
    def correlate(
        out: Any, source: Any, packed: Any, bias: Any, pixels: Any, taps: Any, places: Any,
        parts: Any, chained: int, dense: int, image: int, images: int, image_step: int, step: int,
        pitch: int, channels: int, first_panel: int, last_panel: int, edge: Any, made: Any,
    ) -> None:  # fmt: skip
        """``images`` results from ``image`` on: panels of channels, sums over taps in parts.

        A channel of ``out`` is ``step`` from the one before; a pixel is ``pitch``, where that is
        not 1 channels lie last.
        """
        count, depth = places.size, taps.size
        total = images * count
        for start in range(0, total, block):
            stop = min(start + block, total)
            last = start + (stop - start - 1) // rows * rows
            for j in range(rows):
                edge[j] = pixels[min(last + j, stop - 1)]
            for panel in range(first_panel, last_panel):
                right = panel * depth * width
                for part in range(parts.size - 1):
                    k = parts[part]
                    length = parts[part + 1] - k
                    for p in range(start, last, rows):
                        at = (p - start) * width
                        if k == 0:
                            tile(source, pixels, p, taps, k, length, packed, right, bias,
                                 panel * width, 0, chained, made, at)
                        else:
                            tile(source, pixels, p, taps, k, length, packed,
                                 right + k * width, made, at, width, chained, made, at)
                    at = (last - start) * width
                    if k == 0:
                        tile(source, edge, 0, taps, k, length, packed, right, bias,
                             panel * width, 0, chained, made, at)
                    else:
                        tile(source, edge, 0, taps, k, length, packed, right + k * width,
                             made, at, width, chained, made, at)
                valid = min(width, channels - panel * width)
                if pitch != 1:
                    write_rows(out[panel * width :], places, made, image, image_step, pitch, count,
                               start, stop, valid)  # fmt: skip
                else:
                    write_block(out[panel * width * step :], places, dense, made, image,
                                image_step, step, count, start, stop, valid)  # fmt: skip

    return correlate


@functools.cache
def _weight_gradient(rows: int, width: int, vectors: int) -> Any:
    tile = tile_of(rows, vectors, width // vectors)

    @kernel
    def read_rows(right: Any, g: Any, pitch: int, first: int, stop: int, valid: int) -> None:
        """Pixels ``first`` to ``stop`` of images whose channels lie last."""
        for at in range(first, stop):
            source, target = g[at * pitch : at * pitch + valid], right[(at - first) * width :]
            for c in range(source.size):
                target[c] = source[c]

    @kernel
    def read_block(
        right: Any, g: Any, image: int, image_step: int, step: int, first: int, stop: int,
        valid: int,
    ) -> None:  # fmt: skip
        """Pixels ``first`` to ``stop`` of consecutive images, from planes to ``[pixel][width]``.

        Channels from ``valid`` on have any numbers: nobody reads their sums.
        """
        at = first
        while at < stop:
            place = at % step
            length = min(stop - at, step - place)
            source = g[(image + at // step) * image_step + place :]
            target = right[(at - first) * width :]
            even, full = length // 8 * 8, valid // 8 * 8
            for c in range(0, full, 8):
                for p in range(0, even, 8):
                    transpose_block(target, p * width + c, width, source, c * step + p, step)
            if full < valid and full + 8 <= width:
                for p in range(0, even, 8):
                    transpose_part(target, p * width + full, width, source, full * step + p, step,
                                   8, valid - full)  # fmt: skip
                full = valid
            for c in range(valid):
                for p in range(even if c < full else 0, length):
                    target[p * width + c] = source[c * step + p]
            at += length

    @kernel
    def weight_gradient(
        sums: Any, source: Any, g: Any, pixels: Any, taps: Any, first_tap: int, last_tap: int,
        image: int, images: int, image_step: int, step: int, pitch: int, channels: int, right: Any,
    ) -> None:  # fmt: skip
        """Add ``images`` images' share to ``sums``, panels of ``[tap][width]``, for some taps.

        ``pitch`` as for ``correlate``.
        """
        right[:] = 0
        total = images * step
        for start in range(0, total, WEIGHT_PIXELS):
            stop = min(start + WEIGHT_PIXELS, total)
            for panel in range((channels + width - 1) // width):
                valid = min(width, channels - panel * width)
                if pitch != 1:
                    read_rows(right, g[image * image_step + panel * width :], pitch, start, stop,
                              valid)  # fmt: skip
                else:
                    read_block(right, g[panel * width * step :], image, image_step, step, start,
                               stop, valid)  # fmt: skip
                for k in range(first_tap, last_tap, rows):
                    at = (panel * taps.size + k) * width
                    tile(source, taps, k, pixels, start, stop - start, right, 0, sums, at,
                         width, 1, sums, at)

    return weight_gradient


@functools.cache
def _strips(rows: int, width: int, stride: int, chained: bool) -> Any:
    strip = strip_of(rows, width, stride, chained)

    @kernel
    def correlate_strips(
        out: Any, source: Any, weight: Any, bias: Any, pixels: Any, taps: Any, places: Any,
        begins: Any, parts: Any, dense: int, image: int, images: int, image_pitch: int, groups: int,
        group_pitch: int, step: int, channels: int, row: int, made: Any,
    ) -> None:  # fmt: skip
        """``images`` results from ``image`` on, in vectors of pixels that begin at ``begins``, two
        by two, which have terms from ``parts[n]`` to ``parts[n + 1]``.

        Where a ``row`` is shorter than a vector, the rest is overwritten by the next row.
        """
        depth, count, valid = taps.size, begins.size, min(row, width)
        for i in range(images * groups):
            base = (i // groups) * image_pitch + (i % groups) * group_pitch
            result = out[(image * groups + i) * channels * step :]
            for n in range(0, count, 2):
                a, b = begins[n], begins[min(n + 1, count - 1)]
                at, other = base + pixels[a], base + pixels[b]
                term, terms = parts[n], parts[n + 1] - parts[n]
                for c in range(0, channels, rows):
                    first = min(c, channels - rows)
                    begin = i % groups * channels + first
                    right = begin * depth + term
                    if dense and places[b] + width <= step:
                        down = first * step
                        strip(source, at, other, taps, term, terms, weight, right, depth, bias,
                              begin, result, down + places[a], down + places[b], step)
                        continue
                    strip(source, at, other, taps, term, terms, weight, right, depth, bias, begin,
                          made, 0, width, 2 * width)
                    for j in range(rows):
                        down = (first + j) * step
                        for p in range(valid):
                            result[down + places[a + p]] = made[2 * j * width + p]
                            result[down + places[b + p]] = made[(2 * j + 1) * width + p]

    return correlate_strips


@kernel
def sum_last(g: Any, rows: int, channels: int) -> Any:
    """Sums of ``g[rows, channels]`` for each channel."""
    out = np.zeros(channels, g.dtype)
    for i in range(rows):
        row = g[i * channels : (i + 1) * channels]
        for c in range(channels):
            out[c] += row[c]
    return out


@kernel
def _sum_channels(out: Any, g: Any, images: int, channels: int, step: int) -> None:
    zero = g.dtype.type(0)
    for c in range(0, channels, 8):
        last = channels - 1 - c
        a0, a1, a2, a3, a4, a5, a6, a7 = zero, zero, zero, zero, zero, zero, zero, zero
        for n in range(images):
            at = (n * channels + c) * step
            r0, r1 = g[at : at + step], g[at + min(1, last) * step :]
            r2, r3 = g[at + min(2, last) * step :], g[at + min(3, last) * step :]
            r4, r5 = g[at + min(4, last) * step :], g[at + min(5, last) * step :]
            r6, r7 = g[at + min(6, last) * step :], g[at + min(7, last) * step :]
            for i in range(r0.size):
                a0 += r0[i]
                a1 += r1[i]
                a2 += r2[i]
                a3 += r3[i]
                a4 += r4[i]
                a5 += r5[i]
                a6 += r6[i]
                a7 += r7[i]
        # those beyond the last channel are equal to it
        sums = (a0, a1, a2, a3, a4, a5, a6, a7)
        for k in range(min(8, last + 1)):
            out[c + k] += sums[k]


def sum_channels(out: Any, g: Any, images: int, channels: int, step: int) -> None:
    """Add the sums of ``g[images, channels, step]`` for each channel; eight go together."""
    name = out.dtype.name
    run = entry_point(_sum_channels, f"void({name}[::1], {name}[::1], int64, int64, int64)")
    run(out, g, images, channels, step)
