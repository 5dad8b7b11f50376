"""Convolutions with one input channel for each group, some channels at a time.

As many channels as a vector holds go together: their planes are brought side by side, ``[place]
[channel]``, with zeros around them, so that each tap is a vector wherever it lies. To the loops of
:mod:`convolution_geometry` they are small images with channels last.
"""

from __future__ import annotations

import functools
from typing import Any

import numpy as np

from mindtorch.kernels.codegen.jit import kernel

from ..threads.thread_pool import parallel_for
from ..vectors.simd import lanes, tile_of, transpose_block, transpose_part
from . import convolution_tables as geometry
from .convolution_tiles import BEYOND, pad_images

_ROWS = 9  # of a tile: pixels, or taps of the window
_SERIAL = 500_000  # elements of images that one thread reads sooner than two


def suits(window: Any, groups: int) -> bool:
    """Each group reads one channel, and there is more than one."""
    return groups > 1 and window[1] == 1 and window[0] <= 4 * groups


@kernel
def _side_by_side(
    block: Any, width: int, x: Any, first: int, step: int, pitch: int, count: int, valid: int
) -> None:
    """``block[place * width + c] = x[first + c * step + place * pitch]`` for ``c < valid``."""
    even, full = 0, 0
    if pitch == 1:
        even, full = count // 8 * 8, valid // 8 * 8
        for c in range(0, full, 8):
            for p in range(0, even, 8):
                transpose_block(block, p * width + c, width, x, first + c * step + p, step)
        if full < valid and full + 8 <= width:
            for p in range(0, even, 8):
                transpose_part(block, p * width + full, width, x, first + full * step + p, step, 8,
                               valid - full)  # fmt: skip
            full = valid
    if step == 1:
        for p in range(count):
            source, target = x[first + p * pitch : first + p * pitch + valid], block[p * width :]
            for c in range(source.size):
                target[c] = source[c]
        return
    for c in range(valid):
        for p in range(even if c < full else 0, count):
            block[p * width + c] = x[first + c * step + p * pitch]


@kernel
def _apart(
    out: Any, first: int, step: int, pitch: int, block: Any, width: int, count: int, valid: int
) -> None:
    """The inverse: ``out[first + c * step + place * pitch] = block[place * width + c]``."""
    even, full = 0, 0
    if pitch == 1:
        even, full = count // 8 * 8, valid // 8 * 8
        for c in range(0, full, 8):
            for p in range(0, even, 8):
                transpose_block(out, first + c * step + p, step, block, p * width + c, width)
        if full < valid and full + 8 <= width:
            for p in range(0, even, 8):
                transpose_part(out, first + full * step + p, step, block, p * width + full, width,
                               valid - full, 8)  # fmt: skip
            full = valid
    if step == 1:
        for p in range(count):
            target, source = out[first + p * pitch : first + p * pitch + valid], block[p * width :]
            for c in range(target.size):
                target[c] = source[c]
        return
    for c in range(valid):
        for p in range(even if c < full else 0, count):
            out[first + c * step + p * pitch] = block[p * width + c]


class _Loops:
    """The compiled loops for vectors of ``width``."""

    def __init__(self, width: int) -> None:
        self.width = width
        self.correlate = _correlate(width)
        self.weight_gradient = _weight_gradient(width)


@functools.cache
def _loops(dtype: Any) -> _Loops:
    return _Loops(lanes(dtype))


@functools.cache
def _correlate(width: int) -> Any:
    tile = tile_of(_ROWS, 1, width, each=True)

    @kernel
    def correlate(
        out: Any, to: Any, source: Any, at: Any, packed: Any, bias: Any, sizes: Any, direct: int,
        pixels: Any, taps: Any, places: Any, phases: Any, features: int, inward: int,
        first: int, last: int,
    ) -> None:  # fmt: skip
        """Units ``first`` to ``last``, each as many channels of an image as a vector holds.

        ``to`` and ``at`` have steps of ``out`` and ``source``: images, channels, places, and their
        number of places. ``phases`` has, of each and behind the last, where its pixels begin,
        filled up to whole tiles, where its taps do, and how many pixels there are.
        ``inward``: to the images from their ``features`` results for each channel.
        """
        channels = bias.size // (1 if inward else features)
        blocks = (channels + width - 1) // width
        read = np.zeros(at[3] * width, out.dtype)
        padded = read if direct else np.empty(sizes[10] + BEYOND, out.dtype)
        made = np.zeros(places.size * width, out.dtype)
        laid = np.zeros(to[3] * width, out.dtype)
        start = np.zeros(width, out.dtype)
        factors, count = phases.shape[0] - 1, taps.size
        for unit in range(first, last):
            image, channel = unit // blocks, unit % blocks * width
            valid = min(width, channels - channel)
            for f in range(features):
                if inward or f == 0:
                    m, skip = (features, f) if inward else (1, 0)
                    begin = image * at[0] + (channel * m + skip) * at[1]
                    _side_by_side(read, width, source, begin, m * at[1], at[2], at[3], valid)
                    if not direct:
                        pad_images(padded, read, sizes, 0, 1)
                if not inward:
                    for c in range(valid):
                        start[c] = bias[(channel + c) * features + f]
                weights = (unit % blocks * features + f) * count * width
                for phase in range(factors):
                    k, length = phases[phase, 1], phases[phase + 1, 1] - phases[phase, 1]
                    for p in range(phases[phase, 0], phases[phase + 1, 0], _ROWS):
                        if inward and f:
                            tile(padded, pixels, p, taps, k, length, packed, weights + k * width,
                                 made, p * width, width, 1, made, p * width)
                        else:
                            tile(padded, pixels, p, taps, k, length, packed, weights + k * width,
                                 start, 0, 0, 1, made, p * width)
                if inward and f < features - 1:
                    continue
                m, skip = (1, 0) if inward else (features, f)
                begin = image * to[0] + (channel * m + skip) * to[1]
                if factors > 1 or phases[0, 2] != to[3]:
                    for phase in range(factors):
                        for p in range(phases[phase, 0], phases[phase, 0] + phases[phase, 2]):
                            for c in range(width):
                                laid[places[p] * width + c] = made[p * width + c]
                    _apart(out, begin, m * to[1], to[2], laid, width, to[3], valid)
                else:
                    _apart(out, begin, m * to[1], to[2], made, width, to[3], valid)

    return correlate


@functools.cache
def _weight_gradient(width: int) -> Any:
    tile = tile_of(_ROWS, 1, width, each=True)

    @kernel
    def weight_gradient(
        out: Any, g: Any, to: Any, x: Any, at: Any, images: int, sizes: Any, direct: int,
        pixels: Any, taps: Any, count: int, features: int, first: int, last: int,
    ) -> None:  # fmt: skip
        """Blocks ``first`` to ``last`` of channels; ``taps`` are filled up to whole tiles."""
        channels, pitch = out.size // (count * features), taps.size * width
        read, slopes = np.zeros(at[3] * width, out.dtype), np.zeros(to[3] * width, out.dtype)
        padded = read if direct else np.empty(sizes[10] + BEYOND, out.dtype)
        sums = np.empty(features * pitch, out.dtype)
        for block in range(first, last):
            channel = block * width
            valid = min(width, channels - channel)
            sums[:] = 0
            for image in range(images):
                begin = image * at[0] + channel * at[1]
                _side_by_side(read, width, x, begin, at[1], at[2], at[3], valid)
                if not direct:
                    pad_images(padded, read, sizes, 0, 1)
                for f in range(features):
                    begin = image * to[0] + (channel * features + f) * to[1]
                    _side_by_side(slopes, width, g, begin, features * to[1], to[2], to[3], valid)
                    for k in range(0, taps.size, _ROWS):
                        here = f * pitch + k * width
                        tile(padded, taps, k, pixels, 0, to[3], slopes, 0, sums, here, width, 1,
                             sums, here)
            for c in range(valid):
                for f in range(features):
                    for k in range(count):
                        out[((channel + c) * features + f) * count + k] = (
                            sums[f * pitch + k * width + c]
                        )

    return weight_gradient


@functools.lru_cache(maxsize=256)
def _forward(width: int, image: Any, window: Any, result: Any, *params: Any) -> Any:
    """The tables of a block of channels, each with one result."""
    made = geometry.forward(
        (1, width, *image[2:]), (width, 1, *window[2:]), (1, width, *result[2:]), *params, width,
        True,
    )  # fmt: skip
    return made, _whole_tiles(made.window)


@functools.lru_cache(maxsize=256)
def _tables(inward: bool, width: int, image: Any, window: Any, result: Any, *params: Any) -> Any:
    """What ``correlate`` is told: how sources are padded, pixels, taps, places and phases; and the
    taps' places in the window."""
    case = (1, width, *image[2:]), (width, 1, *window[2:]), (1, width, *result[2:])
    make = geometry.backward if inward else geometry.forward
    made = make(*case, *params, width, True)
    orders = [np.argsort(p.weights) for p in made.phases]
    bounds = np.zeros((len(made.phases) + 1, 3), np.int64)
    for i, phase in enumerate(made.phases):
        count = phase.places.size
        bounds[i, 2] = count
        bounds[i + 1, :2] = bounds[i, :2] + (-(-count // _ROWS) * _ROWS, phase.taps.size)

    def joined(arrays: list[Any]) -> Any:
        return np.concatenate([np.empty(0, np.int64), *arrays])

    return (
        made.sizes, int(made.direct), joined([_whole_tiles(p.pixels) for p in made.phases]),
        joined([p.taps[o] for p, o in zip(made.phases, orders, strict=True)]),
        joined([_whole_tiles(p.places) for p in made.phases]), bounds,
    ), joined([p.weights[o] for p, o in zip(made.phases, orders, strict=True)])  # fmt: skip


def _whole_tiles(table: Any) -> Any:
    """The table, its last entry repeated as often as tiles need it."""
    return np.pad(table, (0, -table.size % _ROWS), "edge")


def _steps(shape: Any, last: bool) -> Any:
    """From one image to the next, one channel, one place; and how many places there are."""
    channels, places = shape[1], int(np.prod(shape[2:]))
    order = (1, channels) if last else (places, 1)
    return np.array([channels * places, *order, places], np.int64)


def _packed(weight: Any, order: Any, window: Any, groups: int, width: int) -> Any:
    """``[block][feature][tap][width]``, filled up with zeros."""
    features, blocks = window[0] // groups, -(-groups // width)
    count = weight.size // window[0]
    made = np.zeros((blocks * width, features, order.size), weight.dtype)
    made[:groups] = weight.reshape(groups, features, count)[:, :, order]
    return np.ascontiguousarray(
        made.reshape(blocks, width, features, order.size).transpose(0, 2, 3, 1)
    ).reshape(-1)


def _run(
    out: Any, source: Any, weight: Any, bias: Any, case: Any, last: bool, inward: bool
) -> None:
    image, window, result, *params, groups = case
    loops = _loops(out.dtype)
    tables, order = _tables(inward, loops.width, image, window, result, *params)
    packed = _packed(weight, order, window, groups, loops.width)
    to, at = _steps(result, last), _steps(image, last)
    if inward:
        to, at = at, to
    features, units = window[0] // groups, image[0] * -(-groups // loops.width)

    def part(first: int, last: int) -> None:
        loops.correlate(out, to, source, at, packed, bias, *tables, features, int(inward), first,
                        last)  # fmt: skip

    parallel_for(units, part, 1 + _SERIAL // (int(to[3] + at[3]) * loops.width))


def convolution(out: Any, x: Any, weight: Any, bias: Any, case: Any, last: bool) -> None:
    """``case``: the shapes of the images, the window and the results, then stride, padding,
    dilation and groups; ``last``: channels lie last."""
    offset = np.zeros(case[1][0], out.dtype) if bias is None else bias
    _run(out, x, weight, offset, case, last, False)


def input_gradient(out: Any, g: Any, weight: Any, case: Any, last: bool) -> None:
    _run(out, g, weight, np.zeros(case[0][1], out.dtype), case, last, True)


def weight_gradient(out: Any, g: Any, x: Any, case: Any, last: bool) -> None:
    image, window, result, *params, groups = case
    loops = _loops(out.dtype)
    made, taps = _forward(loops.width, image, window, result, *params)
    features, blocks = window[0] // groups, -(-groups // loops.width)
    to, at = _steps(result, last), _steps(image, last)

    def part(first: int, last: int) -> None:
        loops.weight_gradient(
            out, g, to, x, at, image[0], made.sizes, int(made.direct), made.phases[0].pixels, taps,
            made.window.size, features, first, last,
        )  # fmt: skip

    parallel_for(blocks, part, 1 + _SERIAL // (image[0] * int(to[3] + at[3]) * loops.width))
