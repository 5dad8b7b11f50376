"""Convolutions whose pixels lie along the vectors: weights are read as they lie.

What the pixels of a block of results see is packed, ``[tap][pixel]``, in panels as wide as a
register tile; each tile multiplies some channels' weights, found through a table of places, with a
panel. So no weight is transposed, and results are rows of planes. Sums are those of
:mod:`convolution_tiles`, term by term.
"""

from __future__ import annotations

import functools
from typing import Any

import numpy as np
from numba import types
from numba.extending import intrinsic

from mindtorch.kernels.codegen.jit import entry_point, kernel
from mindtorch.kernels.support.workspace import workspace, workspace_of_lines

from ..matrix_products import products
from ..matrix_products.product_tile import copy_lanes_of, tile_shape
from ..processor import cache_bytes
from ..threads.thread_pool import get_num_threads
from ..vectors import simd
from ..vectors.masked_vectors import MaskedVectors
from ..vectors.simd import data_of, lanes, tile_of
from . import convolution_tables as geometry
from .convolution_tiles import padded_images, share_out

_TERMS = 640  # that are packed at a time, about
_CHANNELS, _MANY = 256, 512  # of results, at least: pixels are packed for all of them
_FEW = 1024  # pixels of all images, at most; for more, channels have to be many
_FILLED = 0.7  # of the lanes of vectors, at least
_SHORTEST = 16  # terms of a sum


@functools.cache
def _copy_of(width: int, step: int) -> Any:
    """The kernel that copies numbers: the first ``count`` of a vector of ``width``; if ``step`` is
    2 all, from every second place."""

    @intrinsic
    def copy(context: Any, to: Any, to_at: Any, source: Any, at: Any, count: Any) -> Any:
        def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
            form = MaskedVectors(builder, to.dtype, width)
            target, given = (
                data_of(context, builder, signature.args[i], arguments[i], arguments[i + 1])
                for i in (0, 2)
            )
            if step == 2:
                form.store(form.load_every_second(given), target)
            else:
                mask = form.first_lanes(arguments[4])
                form.store_some(form.load_some(given, mask), target, mask)
            return context.get_dummy_value()

        long = types.int64
        return types.void(to, long, source, long, long), generate

    return copy


@kernel
def _find_runs(
    runs: Any, firsts: Any, pixels: Any, start: int, stop: int, panels: int, narrow: int,
    wider: int, width: int, step: int,
) -> None:  # fmt: skip
    """Pixels ``step`` apart, as (column of the panel, place, length); each panel's first."""
    number, at = 0, start
    for p in range(panels):
        end = min(at + (narrow + (p < wider)) * width, stop)
        firsts[p] = number
        first = at
        while at < end:
            here = at + 1
            while here < end and pixels[here] - pixels[here - 1] == step:
                here += 1
            runs[3 * number] = at - first
            runs[3 * number + 1] = pixels[at]
            runs[3 * number + 2] = here - at
            number, at = number + 1, here
    firsts[panels] = number


def _packing(width: int) -> Any:
    copy, copy_some = (copy_lanes_of(width, whole) for whole in (True, False))
    copy_first, copy_second = _copy_of(width, 1), _copy_of(width, 2)

    @kernel
    def pack_run(
        packed: Any, to: int, source: Any, at: int, taps: Any, first: int, last: int, room: int,
        length: int, left: int, step: int,
    ) -> None:  # fmt: skip
        """Pixels of a run for all taps; ``left`` columns are left in the row."""
        for v in range(0, length, width):
            count, to_v, at_v = min(length - v, width), to + v, at + step * v
            if step == 1 and count == width:
                for q in range(first, last):
                    copy(packed, to_v + (q - first) * room, source, at_v + taps[q], width, 0)
            elif step == 1 and v + width <= left:
                for q in range(first, last):
                    copy_some(packed, to_v + (q - first) * room, source, at_v + taps[q], count, 0)
            elif step == 1:
                for q in range(first, last):
                    copy_first(packed, to_v + (q - first) * room, source, at_v + taps[q], count)
            elif step == 2 and v + width <= left:
                for q in range(first, last):
                    copy_second(packed, to_v + (q - first) * room, source, at_v + taps[q], count)
            else:
                for q in range(first, last):
                    row, begin = to_v + (q - first) * room, at_v + taps[q]
                    for j in range(count):
                        packed[np.uint64(row + j)] = source[np.uint64(begin + step * j)]

    @kernel
    def pack(
        packed: Any, source: Any, taps: Any, first: int, last: int, runs: Any, firsts: Any,
        panels: int, narrow: int, wider: int, step: int,
    ) -> None:  # fmt: skip
        """``packed[panel][tap][column]``. A vector may write beyond its run what the next run
        writes again, but not beyond the row."""
        to = 0
        for p in range(panels):
            room = (narrow + (p < wider)) * width
            for number in range(firsts[p], firsts[p + 1]):
                column = runs[3 * number]
                pack_run(packed, to + column, source, runs[3 * number + 1], taps, first, last,
                         room, runs[3 * number + 2], room - column, step)  # fmt: skip
            to += room * (last - first)

    return pack


def _filling(rows: int, width: int) -> Any:
    @kernel
    def fill(
        made: Any, bias: Any, first_tile: int, last_tile: int, channels: int, panels: int,
        narrow: int, wider: int,
    ) -> None:  # fmt: skip
        """What the sums of each channel begin with, in the order of tiles."""
        at = 0
        for i in range(first_tile, last_tile):
            for p in range(panels):
                room = (narrow + (p < wider)) * width
                for r in range(rows):
                    made[at : at + room] = bias[min(i * rows + r, channels - 1)]
                    at += room

    return fill


def _writing(width: int) -> Any:
    copy = copy_lanes_of(width, True)

    @kernel
    def write(
        out: Any, made: Any, made_at: int, room: int, rows: int, places: Any, dense: int,
        first: int, last: int, image: int, image_step: int, step: int,
    ) -> None:  # fmt: skip
        """Pixels ``first`` to ``last`` of a tile's ``rows``, to planes of consecutive images."""
        count, at = places.size, first
        while at < last:
            place = at % count
            length = min(last - at, count - place)
            base, begin = (image + at // count) * image_step, made_at + at - first
            if dense:
                base += place
                whole = length // width * width
                for _ in range(rows):
                    for v in range(0, whole, width):
                        copy(out, base + v, made, begin + v, width, 0)
                    for v in range(whole, length):
                        out[np.uint64(base + v)] = made[np.uint64(begin + v)]
                    base, begin = base + step, begin + room
            else:
                for _ in range(rows):
                    for v in range(length):
                        out[np.uint64(base + places[place + v])] = made[np.uint64(begin + v)]
                    base, begin = base + step, begin + room
            at += length

    return write


@functools.cache
def _correlate(dtype: Any) -> Any:
    rows, vectors = tile_shape(simd.vector_bytes())
    width = lanes(dtype)
    tile_1, tile_2, tile_3 = (tile_of(rows, min(v, vectors), width) for v in (1, 2, 3))
    pack, fill, write = _packing(width), _filling(rows, width), _writing(width)

    @kernel
    def correlate(
        out: Any, source: Any, weight: Any, bias: Any, pixels: Any, taps: Any, orders: Any,
        bases: Any, places: Any, parts: Any, chunks: Any, step: int, chained: int, dense: int,
        image: int, images: int, image_step: int, plane: int, channels: int, first_tile: int,
        last_tile: int, breadth: int, packed: Any, made: Any, runs: Any, firsts: Any,
    ) -> None:  # fmt: skip
        """``images`` results from ``image`` on, of the channels of some tiles: blocks of
        ``breadth`` vectors of pixels, sums over the parts of chunks of taps."""
        total = images * places.size
        for start in range(0, total, breadth * width):
            stop = min(start + breadth * width, total)
            across = (stop - start + width - 1) // width
            panels = (across + vectors - 1) // vectors
            narrow, wider = across // panels, across % panels
            _find_runs(runs, firsts, pixels, start, stop, panels, narrow, wider, width, step)
            fill(made, bias, first_tile, last_tile, channels, panels, narrow, wider)
            for chunk in range(chunks.size - 1):
                begin, end = parts[chunks[chunk]], parts[chunks[chunk + 1]]
                pack(packed, source, taps, begin, end, runs, firsts, panels, narrow, wider, step)
                at = 0
                for i in range(first_tile, last_tile):
                    right = 0
                    for p in range(panels):
                        wide = narrow + (p < wider)
                        room = wide * width
                        for part in range(chunks[chunk], chunks[chunk + 1]):
                            k = parts[part]
                            count, here = parts[part + 1] - k, right + (k - begin) * room
                            if wide == 1:
                                tile_1(weight, bases, i * rows, orders, k, count, packed, here,
                                       made, at, room, chained, made, at)  # fmt: skip
                            elif wide == 2:
                                tile_2(weight, bases, i * rows, orders, k, count, packed, here,
                                       made, at, room, chained, made, at)  # fmt: skip
                            else:
                                tile_3(weight, bases, i * rows, orders, k, count, packed, here,
                                       made, at, room, chained, made, at)  # fmt: skip
                        at, right = at + rows * room, right + (end - begin) * room
            at = 0
            for i in range(first_tile, last_tile):
                first, down = start, min(rows, channels - i * rows)
                for p in range(panels):
                    room = (narrow + (p < wider)) * width
                    last = min(first + room, stop)
                    write(out[i * rows * plane :], made, at, room, down, places, dense, first,
                          last, image, image_step, plane)
                    at, first = at + rows * room, last

    name = np.dtype(dtype).name
    kinds = {"v": f"{name}[::1]", "p": "int64[::1]", "i": "int64"}
    order = "vvvv" + "ppppppp" + "i" * 11 + "vvpp"
    return entry_point(correlate, f"void({', '.join(kinds[k] for k in order)})")


class _Block:
    """How results of a phase are divided: chunks of taps, vectors of pixels; bases of rows."""

    def __init__(self, plan: Any, phase: Any, dtype: Any) -> None:
        self.rows, self.vectors = tile_shape(simd.vector_bytes())
        self.tiles = -(-plan.channels // self.rows)
        row = np.minimum(np.arange(self.tiles * self.rows), plan.channels - 1)
        self.bases = row * plan.channel_step
        sizes = np.diff(phase.parts)
        chunks, held = [0], 0
        for number, size in enumerate(sizes):
            if held and held + size > _TERMS:
                chunks.append(number)
                held = 0
            held += size
        self.chunks = np.array([*chunks, sizes.size], np.int64)
        self.deepest = int(np.diff(phase.parts[self.chunks]).max(initial=1))
        across = -(-phase.pixels.size // lanes(dtype))
        most = cache_bytes(2) * 2 // 5 // (self.deepest * simd.vector_bytes())
        blocks = -(-across // (max(most // self.vectors, 1) * self.vectors))
        self.breadth = min(-(-across // (blocks * self.vectors)) * self.vectors, across)

    def buffers(self, tiles: int, dtype: Any) -> tuple[Any, Any, Any, Any]:
        """Packed pixels, what tiles of channels make of them, runs of pixels, panels' first."""
        room = self.breadth * lanes(dtype)
        return (
            workspace_of_lines(room * self.deepest, dtype, "panels"),
            workspace(room * tiles * self.rows, dtype, "made"),
            workspace(3 * room, np.int64, "runs"),
            workspace(self.breadth + 1, np.int64, "first runs"),
        )


@functools.lru_cache(maxsize=1024)
def _blocks(plan: Any, dtype: Any) -> list[_Block]:
    return [_Block(plan, phase, dtype) for phase in plan.phases]


def suits(plan: geometry.Geometry, dtype: Any) -> bool:
    """Whether pixels fill vectors, and there are channels enough to pack them for."""
    if plan.last or not products.enabled() or plan.channels < _CHANNELS or not plan.phases:
        return False
    width = lanes(dtype)
    filled = min(p.pixels.size / (-(-p.pixels.size // width) * width) for p in plan.phases)
    in_order = all(p.dense for p in plan.phases)
    pixels = plan.images * sum(p.places.size for p in plan.phases)
    return (
        filled >= _FILLED
        and (pixels <= _FEW or (in_order and plan.channels >= _MANY))
        and min(p.taps.size for p in plan.phases) >= _SHORTEST
    )


def correlate(out: Any, source: Any, weight: Any, bias: Any, plan: geometry.Geometry) -> None:
    """Results of all phases; ``out`` is ``[images, groups * channels, *spatial]``, flat."""
    channels, groups, images = plan.channels, plan.groups, plan.images
    size = out.size // (images * groups * channels)
    if not plan.complete:
        out[:] = 0
    share, blocks = weight.size // groups, _blocks(plan, out.dtype)
    offsets = np.zeros(groups * channels, out.dtype) if bias is None else bias
    code = _correlate(out.dtype)

    def run(first: int, last: int, first_tile: int, last_tile: int) -> None:
        for start in range(first, last, plan.together):
            count = min(plan.together, last - start)
            padded = padded_images(plan, source, start, count)
            for phase, block in zip(plan.phases, blocks, strict=True):
                packed, made, runs, firsts = block.buffers(last_tile - first_tile, out.dtype)
                for g in range(groups):
                    code(
                        out[g * channels * size :], padded[g * plan.group_pitch :],
                        weight[g * share :], offsets[g * channels : (g + 1) * channels],
                        phase.pixels, phase.taps, phase.weights, block.bases, phase.places,
                        phase.parts, block.chunks, phase.step, plan.chained, phase.dense, start,
                        count, groups * channels * size, size, channels, first_tile, last_tile,
                        block.breadth, packed, made, runs, firsts,
                    )  # fmt: skip

    work = out.size * sum(p.taps.size * p.places.size for p in plan.phases) // max(size, 1)
    tiles = blocks[0].tiles
    if images >= get_num_threads() or tiles == 1:
        share_out(images, work, lambda first, last: run(first, last, 0, tiles))
    else:
        share_out(tiles, work, lambda first, last: run(0, images, first, last))
