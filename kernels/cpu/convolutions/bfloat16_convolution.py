"""Convolutions of bfloat16, and their two gradients, as products of pairs of terms
(:mod:`..matrix_products.bfloat16_products`), for processors that have the instruction.

Some pixels of results are the columns of a product, in order; a term is a channel and a tap. A
block of terms is copied from the image (:func:`_gather`), zeros for what lies outside, and packed.

    forward            weight[o, terms] times terms[., pixels]
    input gradient     the same over the slopes; each residue of the stride is a job of its own
    weight gradient    slopes[o, pixels] times terms[., pixels], the pixels being the terms of sums
"""

from __future__ import annotations

import functools
import itertools
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from mindtorch.kernels.codegen.jit import entry_point, kernel
from mindtorch.kernels.support.workspace import LINE, workspace_of_lines

from ..cat_flip_roll_pad import dense
from ..matrix_products.bfloat16_products import (
    BFLOAT16,
    DEPTH_OF_BLOCKS,
    multiply_block,
    pack_panels,
)
from ..matrix_products.bfloat16_tile import LANES, VECTORS, available, copy_row_of, copy_shifted
from ..matrix_products.product_tile import address_of
from ..processor import cache_bytes
from ..strided_copy import ordered
from ..threads.thread_pool import parallel_for

# what the numbers of a job are, by their places in an array
(CHANNELS, HEIGHT, WIDTH, STEP_Y, STEP_X, ROWS, DOWN, ACROSS, OUT_HEIGHT, OUT_WIDTH, FROM_Y, FROM_X,
 APART_Y, APART_X, TERMS, DEPTH, COLUMNS, BLOCK_ROWS, IMAGES, ALL_IMAGES) = range(20)  # fmt: skip
_FEWEST = 8  # channels on either side
_LONGEST = 8192  # pixels of a row
_copy, _copy_second = copy_row_of(1), copy_row_of(2)
Ints = tuple[int, ...]
Run = Callable[..., None]


@kernel
def _gather(
    to: int, pitch: int, x: int, g: Any, taps: Any, first: int, last: int, row: int, rows: int
) -> None:
    """Terms ``first`` to ``last`` of some rows of an image's results, ``pitch`` bytes apart."""
    height, width, across, count = g[HEIGHT], g[WIDTH], g[ACROSS], taps.shape[0]
    step = g[STEP_X]
    for t in range(first, last):
        channel, tap = divmod(t, count)
        dy, dx = taps[tap, 0], taps[tap, 1]
        begin = max((step - 1 - dx) // step, 0)
        end = min((width - 1 - dx) // step + 1, across)
        line = to + (t - first) * pitch
        if taps[tap, 2]:
            above, below = max(-row - dy, 0), min(height - row - dy, rows)
            source = x + 2 * ((channel * height + row + dy) * width + dx)
            copy_shifted(line, source, above * width, below * width, rows * across, taps[tap, 2])
            continue
        for r in range(row, row + rows):
            y = r * g[STEP_Y] + dy
            source = x + 2 * ((channel * height + y) * width + dx)
            if y < 0 or y >= height or begin >= end:
                _copy(line, source, 0, 0, across)
            elif step == 1:
                _copy(line, source, begin, end, across)
            elif step == 2:
                _copy_second(line, source, begin, end, across)
            else:
                _copy(line, source, 0, 0, across)
                for i in range(begin, end):
                    _copy(line + 2 * i, source + 2 * i * step, 0, 1, 1)
            line += 2 * across


@kernel
def _scatter(out: Any, image: int, made: Any, g: Any, row: int, rows: int, pitch: int) -> None:
    """Rows of an image's results to their places."""
    area = g[OUT_HEIGHT] * g[OUT_WIDTH]
    for channel in range(g[ROWS]):
        at = channel * pitch
        plane = (image * g[ROWS] + channel) * area + g[FROM_X]
        for r in range(row, row + rows):
            line = plane + (g[FROM_Y] + r * g[APART_Y]) * g[OUT_WIDTH]
            for i in range(g[ACROSS]):
                out[line + i * g[APART_X]] = made[at + i]
            at += g[ACROSS]


@kernel
def _begin(held: Any, rows: int, pitch: int, bias: Any) -> None:
    """Sums' first numbers: 0, or a number for each row."""
    for i in range(rows):
        held[i * pitch : (i + 1) * pitch] = bias[i] if bias.size else np.float32(0)


@kernel
def _correlate(
    out: Any, x: Any, weight: Any, bias: Any, g: Any, taps: Any, held: Any, shorts: Any,
    first: int, last: int,
) -> None:  # fmt: skip
    """Blocks of results of a job, each some images or some rows of one."""
    terms, depth, most, images = g[TERMS], g[DEPTH], g[COLUMNS], g[IMAGES]
    channels, pitch = g[ROWS], (most + LANES - 1) // LANES * LANES
    area, size = g[CHANNELS] * g[HEIGHT] * g[WIDTH], g[OUT_HEIGHT] * g[OUT_WIDTH]
    zeros = address_of(shorts)
    packed = zeros + max(VECTORS * LINE, (2 * pitch + LINE - 1) // LINE * LINE)
    turned = packed + pitch * 2 * (depth + 2 * LANES)
    gathered = turned + (depth // 2 + 1) * LINE
    made_at = (gathered - zeros) // 2 + pitch * depth
    made = shorts[made_at:]
    shorts[: (packed - zeros) // 2] = 0
    parts = (g[DOWN] + g[BLOCK_ROWS] - 1) // g[BLOCK_ROWS]
    straight = g[APART_X] == 1 and g[APART_Y] == 1 and images == 1 and g[ACROSS] == g[OUT_WIDTH]
    bare = taps.shape[0] == 1 and g[STEP_X] == 1 and g[STEP_Y] == 1 and taps[0, 0] == 0
    bare = bare and taps[0, 1] == 0 and g[ACROSS] == g[WIDTH] and images == 1
    for block in range(first, last):
        image, row = block // parts * images, block % parts * g[BLOCK_ROWS]
        rows, together = min(g[BLOCK_ROWS], g[DOWN] - row), min(images, g[ALL_IMAGES] - image)
        columns = rows * g[ACROSS] * together
        begins = depth >= terms and not bias.size
        if not begins:
            _begin(held, channels, pitch, bias)
        target, target_down = address_of(made), 2 * pitch
        if straight:
            target_down = 2 * size
            target = address_of(out) + image * channels * target_down + 2 * row * g[OUT_WIDTH]
        for q in range(0, terms, depth):
            count = min(depth, terms - q)
            right, down = gathered, 2 * pitch
            if bare:
                down = 2 * g[HEIGHT] * g[WIDTH]
                right = address_of(x) + 2 * image * area + q * down + 2 * row * g[WIDTH]
            else:
                for i in range(together):
                    _gather(gathered + 2 * i * rows * g[ACROSS], down,
                            address_of(x) + 2 * (image + i) * area, g, taps, q, q + count, row,
                            rows)  # fmt: skip
            panels, narrow, wider = pack_panels(packed, right, down, 2, columns, count)
            multiply_block(target, target_down, address_of(weight) + 2 * q, 2 * terms, 2, zeros,
                           address_of(held), 4 * pitch, zeros, packed, turned, channels, columns,
                           panels, narrow, wider, count, begins, q + depth >= terms)
        if not straight:
            for i in range(together):
                _scatter(out, image + i, made[i * rows * g[ACROSS] :], g, row, rows, pitch)


@kernel
def _sum_weights(
    out: Any, slopes: Any, x: Any, g: Any, taps: Any, held: Any, shorts: Any, first: int, last: int
) -> None:
    """Terms ``first`` to ``last``, in units of a vector, of the gradient for the weight."""
    channels, terms, images, most = g[ROWS], g[TERMS], g[IMAGES], g[COLUMNS]
    pitch = (most + LANES - 1) // LANES * LANES
    area, size = g[CHANNELS] * g[HEIGHT] * g[WIDTH], g[DOWN] * g[ACROSS]
    wide = g[DEPTH]  # columns of a block
    zeros = address_of(shorts)
    packed = zeros + max(VECTORS * LINE, (2 * wide + LINE - 1) // LINE * LINE)
    gathered = packed + wide * 2 * (pitch + 2 * LANES)
    lines = gathered + wide * 2 * pitch
    shorts[: (packed - zeros) // 2] = 0
    end = min(last * LANES, terms)
    for j in range(first * LANES, end, wide):
        columns = min(wide, end - j)
        held[: channels * wide] = 0
        for image in range(0, g[ALL_IMAGES], images):
            together = min(images, g[ALL_IMAGES] - image)
            for row in range(0, g[DOWN], g[BLOCK_ROWS]):
                rows = min(g[BLOCK_ROWS], g[DOWN] - row)
                run = rows * g[ACROSS]
                count = run * together
                left, left_down = address_of(slopes), 2 * size
                left += image * channels * left_down + 2 * row * g[ACROSS]
                for i in range(together):
                    source = address_of(x) + 2 * (image + i) * area
                    _gather(gathered + 2 * i * run, 2 * pitch, source, g, taps, j, j + columns, row,
                            rows)  # fmt: skip
                    for channel in range(channels if images > 1 else 0):
                        _copy(lines + 2 * (channel * pitch + i * run),
                              left + (i * channels + channel) * left_down, 0, run, run)
                if images > 1:
                    left, left_down = lines, 2 * pitch
                panels, narrow, wider = pack_panels(packed, gathered, 2, 2 * pitch, columns, count)
                ends = image + images >= g[ALL_IMAGES] and row + rows >= g[DOWN]
                multiply_block(address_of(out) + 2 * j, 2 * terms, left, left_down, 2, zeros,
                               address_of(held), 4 * wide, zeros, packed, lines, channels, columns,
                               panels, narrow, wider, count, False, ends)


class _Job(NamedTuple):
    """Results that share their taps: where they begin, how many rows and columns there are, and for
    each tap its row and column in the source and its place in a channel of the weight."""

    begin: Ints
    size: Ints
    taps: list[tuple[int, int, int]]


def _zeros(columns: int) -> int:
    """How many numbers stand for no sums, and for no bias of so many columns."""
    return max(VECTORS * LINE, -(-2 * columns // LINE) * LINE) // 2


def _blocks(job: _Job, images: int, most: int) -> tuple[int, int, int]:
    """How many images go together, or rows of one; columns of a block."""
    down, across = job.size
    if 2 * down * across <= most:
        together = min(max(most // (down * across), 1), images)
        return together, down, together * down * across
    rows = min(max(most // across, 1), down)
    return 1, rows, rows * across


@functools.cache
def _correlation() -> Any:
    arrays = ", ".join(["uint16[::1]"] * 3)
    return entry_point(
        _correlate, f"void({arrays}, float32[::1], int64[::1], int64[:,::1], float32[::1], "
        "uint16[::1], int64, int64)",
    )  # fmt: skip


@functools.cache
def _weight_sums() -> Any:
    arrays = ", ".join(["uint16[::1]"] * 3)
    return entry_point(
        _sum_weights, f"void({arrays}, int64[::1], int64[:,::1], float32[::1], uint16[::1], "
        "int64, int64)",
    )  # fmt: skip


def _table(job: _Job, given: Ints, stride: Ints) -> Any:
    """Each tap's row and column. Where rows of results are as long as the source's, and 32 numbers
    are whole rows, the source is only shifted: then the columns that it has of such, as bits."""
    width, across = given[3], job.size[1]
    shifted = stride == (1, 1) and width == across and 2 * LANES % width == 0
    columns = [c % width for c in range(2 * LANES)]
    return np.array([
        (y, x, sum(shifted << i for i, c in enumerate(columns) if 0 <= c + x < width))
        for y, x, *_ in job.taps
    ], np.int64)  # fmt: skip


def _numbers(
    job: _Job, given: Ints, made: Ints, stride: Ints, apart: Ints, depth: int, blocks: Ints
) -> Any:
    """A job for its loops: source and results are ``[images, channels, rows, columns]``."""
    together, rows, columns = blocks
    return np.array([
        *given[1:], *stride, made[1], *job.size, *made[2:], *job.begin, *apart,
        given[1] * len(job.taps), depth, columns, rows, together, given[0],
    ], np.int64)  # fmt: skip


def _job_run(
    job: _Job, given: Ints, made: Ints, stride: Ints, apart: Ints
) -> Callable[[Any, Any, Any, Any], None]:
    """``run(out, source, weight, bias)`` for the results of a job."""
    terms = given[1] * len(job.taps)
    depth = terms if terms <= DEPTH_OF_BLOCKS * 3 // 2 else DEPTH_OF_BLOCKS
    most = max(cache_bytes(2) * 2 // 5 // (2 * depth), VECTORS * LANES)
    blocks = _blocks(job, given[0], most)
    numbers = _numbers(job, given, made, stride, apart, depth, blocks)
    taps = _table(job, given, stride)
    pitch = -(-blocks[2] // LANES) * LANES
    shares = -(-given[0] // blocks[0]) * -(-job.size[0] // blocks[1])
    room = _zeros(pitch) + pitch * (2 * depth + 2 * LANES)
    room += (depth // 2 + 1) * LINE // 2 + pitch * (made[1] + 1)

    def run(out: Any, source: Any, weight: Any, bias: Any) -> None:
        def part(first: int, last: int) -> None:
            held = workspace_of_lines(pitch * made[1], np.float32, "bfloat16 sums")
            shorts = workspace_of_lines(room, np.uint16, "bfloat16 convolution")
            _correlation()(
                out, source, weight, bias, numbers, taps, held, shorts, first, last
            )

        parallel_for(shares, part)

    return run


def _suits(params: Any, *operands: Any) -> bool:
    """Whether all operands are images in order of channels that are many enough."""
    given = [x for x in operands if x is not None]
    if not available() or params["groups"] != 1 or any(x.dtype != BFLOAT16 for x in given):
        return False
    if any(len(x.shape) != 4 or 0 in x.shape or not dense(x) for x in operands):
        return False
    return all(min(x.shape[:2]) >= 1 and x.shape[3] < _LONGEST for x in operands)


def _wide_enough(weight: Any) -> bool:
    outer, inner, *window = weight.shape
    return outer >= _FEWEST and inner * window[0] * window[1] >= 2 * LANES


def _forward_taps(window: Ints, padding: Ints, dilation: Ints) -> list[tuple[int, int, int]]:
    (first, second), (down, across) = padding, dilation
    places = itertools.product(range(window[0]), range(window[1]))
    return [(i * down - first, j * across - second, n) for n, (i, j) in enumerate(places)]


def convolution(outs: Any, ins: Any, **params: Any) -> Run | None:
    """The plan of :func:`convolution.convolution`; None where others do it."""
    (out,), (x, weight, *rest) = outs, ins
    bias = rest[0] if rest else None
    if not _suits(params, out, x, weight) or not _wide_enough(weight):
        return None
    if bias is not None and (bias.dtype != BFLOAT16 or bias.strides != (1,)):
        return None
    stride, padding, dilation = (tuple(params[n]) for n in ("stride", "padding", "dilation"))
    job = _Job((0, 0), tuple(out.shape[2:]), _forward_taps(weight.shape[2:], padding, dilation))
    made = _job_run(job, tuple(x.shape), tuple(out.shape), stride, (1, 1))
    none = np.zeros(0, np.float32)

    def run(target: Any, x: Any, weight: Any, bias: Any = None) -> None:
        made(target, x, weight, none if bias is None else bias.astype(np.float32))

    return run


def _residues(shape: Ints, window: Ints, params: Any) -> list[_Job]:
    """The jobs of the input's gradient: places of the input that are a stride apart."""
    axes: list[list[tuple[int, int, list[tuple[int, int]]]]] = []
    for n, size, s, p, d in zip(
        shape, window, *(params[name] for name in ("stride", "padding", "dilation")), strict=True
    ):
        found = []
        for residue in range(min(s, n)):
            taps = [((residue + p - k * d) // s, k) for k in range(size)
                    if (residue + p - k * d) % s == 0]  # fmt: skip
            found.append((residue, -(-(n - residue) // s), taps))
        axes.append(found)
    return [
        _Job((y, x), (rows, columns), [(a, b, i * window[1] + j) for a, i in down for b, j in side])
        for (y, rows, down), (x, columns, side) in itertools.product(*axes)
    ]


def input_gradient(outs: Any, ins: Any, **params: Any) -> Run | None:
    """The plan of :func:`convolution.convolution_input_gradient`; None where others do it."""
    (out,), (g, weight) = outs, ins
    if not _suits(params, out, g, weight) or weight.shape[1] < _FEWEST:
        return None
    outer, inner, *window = weight.shape
    if outer * window[0] * window[1] < 2 * LANES:
        return None
    jobs = _residues(tuple(out.shape[2:]), tuple(window), params)
    runs = [
        (np.array([tap[2] for tap in job.taps]),
         _job_run(job, tuple(g.shape), tuple(out.shape), (1, 1), tuple(params["stride"])))
        for job in jobs if job.taps
    ]  # fmt: skip
    none, complete = np.zeros(0, np.float32), all(job.taps for job in jobs)

    def run(target: Any, g: Any, weight: Any) -> None:
        if not complete:
            target[...] = 0
        turned = weight.view(np.uint16).reshape(outer, inner, -1).transpose(1, 0, 2)
        for taps, made in runs:
            kept = turned if taps.size == turned.shape[2] else turned[:, :, taps]
            made(target, g, ordered(kept).reshape(-1), none)

    return run


def weight_gradient(outs: Any, ins: Any, **params: Any) -> Run | None:
    """The plan of :func:`convolution.convolution_weight_gradient`; None where others do it."""
    (out,), (g, x) = outs, ins
    if not _suits(params, out, g, x) or not _wide_enough(out):
        return None
    stride, padding, dilation = (tuple(params[n]) for n in ("stride", "padding", "dilation"))
    job = _Job((0, 0), tuple(g.shape[2:]), _forward_taps(out.shape[2:], padding, dilation))
    taps = _table(job, tuple(x.shape), stride)
    channels, terms = out.shape[0], x.shape[1] * len(taps)
    blocks = _blocks(job, x.shape[0], DEPTH_OF_BLOCKS)
    pitch = -(-blocks[2] // LANES) * LANES
    most = max(cache_bytes(2) * 2 // 5 // (2 * pitch) // (VECTORS * LANES), 1) * VECTORS * LANES
    wide = min(most, -(-terms // LANES) * LANES)
    numbers = _numbers(job, tuple(x.shape), tuple(g.shape), stride, (1, 1), wide, blocks)
    room = _zeros(wide) + wide * (2 * pitch + 2 * LANES)
    room += channels * pitch if blocks[0] > 1 else 0

    def run(target: Any, g: Any, x: Any) -> None:
        def part(first: int, last: int) -> None:
            held = workspace_of_lines(channels * wide, np.float32, "bfloat16 sums")
            shorts = workspace_of_lines(room, np.uint16, "bfloat16 convolution")
            _weight_sums()(target, g, x, numbers, taps, held, shorts, first, last)

        parallel_for(-(-terms // LANES), part)

    return run
