"""Convolutions, and their two gradients, on the matrix registers of Intel's AMX.

Sums of float32 at up to twice the speed of vectors (:mod:`.matrix_products.amx` says how, and with
which error), in another order than :mod:`convolution`: for compiled functions. Each function here
makes a plan, which says whether all results are finite: if not, they are to be computed by the
definition, so that an infinity stays in its place.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from mindtorch.kernels.support.workspace import LINE, workspace_of_lines

from .cat_flip_roll_pad import dense
from .convolutions import amx_convolution_loops as names
from .convolutions.amx_convolution_loops import BLOCK, loops
from .convolutions.amx_convolution_tiles import COLUMNS, PARTS, TERMS, TILE
from .convolutions.convolution_tiles import loops as direct_loops
from .matrix_products import amx
from .processor import cache_bytes
from .threads.thread_pool import get_num_threads, parallel_for, parallel_sum

_FLOAT = np.dtype(np.float32)
_PLACES = 1280  # pixels of a source that go through the loops together, about
_SMALL = 16  # pixels of a row, at most, where images go abreast
_MADE = 1 << 20  # bytes of results, about
_LOWEST = 8  # rows of a piece of images, at least
_DEEPEST = 18  # steps whose terms are summed from 0
_FEWEST = 16  # channels, on either side
_TILES = 145  # multiplications of tiles in a nanosecond, about
_VECTORS, _SCATTERED = 75, 40  # of vectors, and of those whose results are apart
_SLACK = 64  # pixels that tiles may read behind the last one
Run = Callable[..., bool]
Ints = tuple[int, ...]


class _Costs(NamedTuple):
    """Nanoseconds that a number takes besides: of those given and made, and of weights, which are
    ``large`` where their parts do not fit into the second cache; measured on an Emerald Rapids."""

    given: float
    made: float
    weight: float
    large: float


_FORWARD, _INWARD = _Costs(0.6, 0.25, 1.2, 2.5), _Costs(0.6, 0.25, 1.5, 3.0)
_WEIGHT = _Costs(0.6, 0.95, 1.3, 1.6)


def _buffer(size: int, dtype: Any, name: str) -> Any:
    """Memory of this thread."""
    return workspace_of_lines(size, dtype, f"amx {name}")


class _Job(NamedTuple):
    """Results that share their taps: where they begin, how many rows and columns they have, and for
    each tap its row and column in the padded source, and its place in a channel of the weight."""

    begin: Ints
    size: Ints
    taps: list[tuple[int, int, int]]


class _Case:
    """How a source is held for some jobs, and the pieces that it goes through the loops in.

    Args:
        given, made: shapes of the source and of the results.
        stride: of the source, from one result to the next.
        before: rows and columns of zeros in front of it.
        jobs: what is made of it.
        apart: from one result of a job to the next.
        unit: bytes of a pixel's part in a plane.
    """

    def __init__(
        self, given: Ints, made: Ints, stride: Ints, before: Ints, jobs: list[_Job], apart: Ints,
        unit: int,
    ) -> None:  # fmt: skip
        self.images, self.inner, *lengths = given
        self.channels, self.jobs, self.stride = made[1], jobs, stride
        self.down, across = (max(job.size[a] for job in jobs) for a in (0, 1))
        self.abreast = TERMS if across <= _SMALL and self.images % TERMS == 0 else 1
        rows, pitch = (self._held(a, lengths[a], before[a]) for a in (0, 1))
        rows = self._divide(rows, pitch)
        size, plane = self._lay(rows, pitch, unit)
        part = plane * (-(-self.inner // TERMS) * TERMS * 2 // unit)
        self.given = PARTS * part * unit // 2
        columns = max(self._columns(job, rows, pitch) for job in jobs)
        self.columns = -(-columns // (2 * COLUMNS)) * 2 * COLUMNS + COLUMNS
        self.area = max(lengths[0] * lengths[1], made[2] * made[3])
        self.blocks = -(-self.channels // BLOCK)
        self.numbers = np.array([
            self.inner, *lengths, *stride, *before, rows, pitch, size, plane, part, *made[1:],
            *apart, self.columns, 0, 0, self.abreast,
        ], np.int64)  # fmt: skip

    def _held(self, axis: int, length: int, before: int) -> int:
        """How many places of an axis are held. Zeros behind a row are those before the next, but
        for images abreast."""
        step = self.stride[axis]
        furthest = max(
            (job.size[axis] - 1) * step + tap[axis] + 1 for job in self.jobs for tap in job.taps
        )
        if step > 1 or self.abreast > 1:
            return -(-max(before + length, furthest) // step)
        return before + length + max(furthest - 2 * before - length, 0)

    def _divide(self, rows: int, pitch: int) -> int:
        """Divide images, or large ones' rows; how many rows of a source are held for each."""
        places = min(_PLACES, max(_MADE // (4 * self.channels), 4 * BLOCK))
        if self.abreast > 1:
            places *= 2  # these are aligned, and rows beyond a piece's cost more
        pixels = rows * pitch * self.abreast
        most = cache_bytes(2) * 3 // 4 // (PARTS * 2 * self.inner * pixels)
        most = min(most, places // pixels, -(-self.images // get_num_threads()) // self.abreast)
        self.together, down, self.clears = 1, self.down, 0
        if self.abreast == 1:
            self.together = max(most, 1)
        if most == 0 and (PARTS * 2 * self.inner * pixels > cache_bytes(2) or pixels > places):
            down = min(max(-(-down // -(-pixels // places)), _LOWEST), down)
        if down < self.down:
            window = max(tap[0] for job in self.jobs for tap in job.taps) // self.stride[0] + 1
            rows, self.clears = down + window, 1
        self.rows, images = down, self.together * self.abreast
        self.pieces = [
            (image, min(images, self.images - image), row, min(row + down, self.down))
            for image in range(0, self.images, images)
            for row in range(0, self.down, down)
        ]
        return rows

    def _lay(self, rows: int, pitch: int, unit: int) -> tuple[int, int]:
        """Find the residues and the taps' offsets; sizes of a residue's pixels and of a plane."""
        down, right = self.stride
        residues = sorted({(r % down, c % right) for j in self.jobs for r, c, _ in j.taps})
        self.residues = np.array(residues, np.int64).reshape(-1)
        offsets = [[(r // down * pitch + c // right) for r, c, _ in j.taps] for j in self.jobs]
        line = LINE // unit
        size = (self.together * rows * pitch + max(map(max, offsets))) * self.abreast + _SLACK
        size = -(-size // line) * line
        self.offsets = [
            [
                offset * self.abreast + residues.index((r % down, c % right)) * size
                for offset, (r, c, _) in zip(each, job.taps, strict=True)
            ]
            for each, job in zip(offsets, self.jobs, strict=True)
        ]
        plane = size * len(residues)
        return size, plane + line * (plane // line % 2 == 0)  # else tiles' rows share cache sets

    def _columns(self, job: _Job, rows: int, pitch: int) -> int:
        """The columns of a job's product for a piece."""
        down, across = min(job.size[0], self.rows), job.size[1]
        if self.abreast > 1:
            return down * across * self.abreast
        return ((self.together - 1) * rows + down - 1) * pitch + across

    def lines(self) -> Any:
        """A buffer for two channels of images abreast."""
        return _buffer(2 * self.area * self.abreast if self.abreast > 1 else 0, _FLOAT, "lines")

    def source(self) -> Any:
        """The buffer of a source's parts; what is not written later is 0."""
        held = _buffer(self.given, np.int16, "given")
        held[:] = 0
        return held


class _Correlation(_Case):
    """``run(out, x, weight[, bias])``; ``steps``: of rows and of terms in the weight."""

    def __init__(
        self, given: Ints, made: Ints, stride: Ints, before: Ints, jobs: list[_Job], apart: Ints,
        steps: tuple[int, int],
    ) -> None:  # fmt: skip
        super().__init__(given, made, stride, before, jobs, apart, 4)
        self.bias = np.zeros(self.blocks * BLOCK, _FLOAT)
        self.row_step, self.term_step = steps
        self.is_complete = sum(job.size[0] * job.size[1] for job in jobs) == made[2] * made[3]
        numbers = self.numbers
        terms, taps, rights, table = [], [], [], []
        for job, offsets in zip(jobs, self.offsets, strict=True):
            first = len(terms)
            for c in range(0, self.inner, TERMS):
                for (_, _, place), offset in zip(job.taps, offsets, strict=True):
                    terms.append(c)
                    taps.append(place)
                    rights.append(c * 2 * int(numbers[names.PLANE]) + 4 * offset)
            table.append([*job.begin, *job.size, first, len(terms)])
        self.terms, self.taps, self.rights = (np.array(n, np.int64) for n in (terms, taps, rights))
        self.table = np.array(table, np.int64)
        deepest = int((self.table[:, names.LAST] - self.table[:, names.FIRST]).max())
        numbers[names.STEPS] = len(terms)
        numbers[names.CHUNK] = -(-deepest // -(-deepest // _DEEPEST))
        self.lefts = np.arange(len(terms)) * (2 * PARTS * TILE)

    def _packed(self, weight: Any) -> Any:
        steps = self.terms.size
        packed = _buffer(self.blocks * steps * 2 * PARTS * TILE, np.uint8, "weight")
        pack = loops().pack_weight

        pitch = BLOCK * self.row_step + LINE // 4 if self.term_step > self.row_step else 0

        def part(first: int, last: int) -> None:
            held = _buffer(TERMS * pitch, _FLOAT, "rows")
            pack(packed, weight, held, self.terms, self.taps, self.channels, self.inner,
                 self.row_step, self.term_step, first, last)  # fmt: skip

        parallel_for(self.blocks, part)
        return packed

    def __call__(self, out: Any, x: Any, weight: Any, bias: Any = None) -> bool:
        packed, offsets, run = self._packed(weight), self.bias, loops().correlate
        if bias is not None:
            offsets = offsets.copy()
            offsets[: self.channels] = bias
        if not self.is_complete:
            out[:] = 0
        finite = []

        def pieces(first: int, last: int, first_block: int, last_block: int) -> None:
            given, lines = self.source(), self.lines()
            made = _buffer((last_block - first_block) * BLOCK * self.columns, _FLOAT, "made")
            scratch = _buffer(4 * TILE, np.uint8, "scratch")
            for piece in self.pieces[first:last]:
                finite.append(run(
                    out, x, packed, offsets, given, lines, made, scratch, self.numbers,
                    self.residues, self.table, self.lefts, self.rights, *piece, self.clears,
                    first_block, last_block,
                ))  # fmt: skip

        count = len(self.pieces)
        if count >= get_num_threads() or self.blocks == 1:
            parallel_for(count, lambda first, last: pieces(first, last, 0, self.blocks))
        else:
            parallel_for(self.blocks, lambda first, last: pieces(0, count, first, last))
        return all(finite)


class _WeightSum(_Case):
    """``run(out, g, x)``: the gradient for the weight."""

    def __init__(self, given: Ints, made: Ints, stride: Ints, before: Ints, job: _Job) -> None:
        super().__init__(given, made, stride, before, [job], (1, 1), 2)
        self.taps = np.array(self.offsets[0], np.int64)
        numbers = self.numbers
        pitch, width = int(numbers[names.PITCH]), int(numbers[names.MADE_WIDTH])
        rows = (self.together - 1) * int(numbers[names.ROWS_HELD]) + self.rows
        self.steps = -(-rows * pitch // TERMS)
        self.lefts = np.arange(self.steps) * 2 * TERMS
        if self.abreast > 1:
            self.steps = self.rows * width
            places = np.arange(self.rows)[:, None] * pitch + np.arange(width)
            self.lefts = np.ascontiguousarray(places.reshape(-1)) * 2 * TERMS
        numbers[names.CHUNK] = -(-self.steps // -(-self.steps // (2 * _DEEPEST)))
        self.rights = np.arange(self.steps) * (2 * self.blocks * PARTS * TILE)
        self.deep = -(-self.inner // BLOCK) * BLOCK

    def __call__(self, out: Any, g: Any, x: Any) -> bool:
        def part(first: int, last: int) -> Any:
            given, scratch = self.source(), _buffer(4 * TILE, np.uint8, "scratch")
            lines = self.lines()
            turned = _buffer(self.steps * PARTS * 2 * self.blocks * TILE // 4, _FLOAT, "turned")
            halves = _buffer(PARTS * COLUMNS * (self.steps + 1) * TERMS, np.int16, "halves")
            sums = np.empty(self.blocks * BLOCK * self.deep * self.taps.size, _FLOAT)
            for number in range(first, last):
                loops().sum_weights(
                    sums, g, x, given, lines, turned, halves.view(_FLOAT), halves, scratch,
                    self.numbers, self.residues, self.taps, self.lefts, self.rights,
                    *self.pieces[number], self.clears, number == first,
                )  # fmt: skip
            return sums

        total = parallel_sum(len(self.pieces), part)
        count = self.taps.size
        unpack = direct_loops(_FLOAT, BLOCK).unpack  # its panels are as wide as our blocks
        unpack(out, total, self.inner * count, self.deep * count, self.channels)
        return bool(np.isfinite(out).all())


def _gains(
    given: Ints, made: Ints, window: Ints, places: int, costs: _Costs, is_scattered: bool
) -> bool:
    """Whether an estimate of nanoseconds is below that of vectors.

    Args:
        given, made: shapes of images.
        places: of the window, in all images.
        costs: of each of their numbers and of the weight's.
        is_scattered: whether a stride parts the results.
    """
    weights = int(np.prod(window))
    tiles = math.prod(-(-n // TERMS) * TERMS for n in window[:2]) * math.prod(window[2:])
    cost = costs.large if 2 * PARTS * weights > cache_bytes(2) else costs.weight
    estimate = places * tiles / _TILES + cost * weights
    estimate += costs.given * math.prod(given) + costs.made * math.prod(made)
    return estimate < places * weights / (_SCATTERED if is_scattered else _VECTORS)


def _suits(
    operands: Any, given: Ints, made: Ints, window: Ints, places: int, costs: _Costs,
    stride: Ints, groups: int,
) -> bool:  # fmt: skip
    """Whether a convolution is one of ours, and gains by it."""
    if not amx.available() or len(window) != 4 or groups != 1 or max(stride) > 2:
        return False
    if not all(x is None or (x.dtype == _FLOAT and dense(x)) for x in operands):
        return False
    if min(window[:2]) < _FEWEST or 0 in (*given, *made):
        return False
    is_scattered = costs is _INWARD and max(stride) > 1
    return _gains(given, made, window, places, costs, is_scattered)


def _places(result: Ints) -> int:
    return result[0] * math.prod(result[2:])


def _forward_job(window: Ints, result: Ints, dilation: Ints) -> _Job:
    taps = [
        (r * dilation[0], c * dilation[1], r * window[3] + c)
        for r, c in itertools.product(range(window[2]), range(window[3]))
    ]
    return _Job((0, 0), (result[2], result[3]), taps)


def convolution(
    outs: Any, ins: Any, *, stride: Ints, padding: Ints, dilation: Ints, groups: int, **params: Any
) -> Run | None:
    """The plan of :func:`.convolution.convolution`; None for what is not one of ours."""
    (out,), (x, weight, *_) = outs, ins
    operands, places = (*outs, *ins), _places(out.shape)
    if not _suits(operands, x.shape, out.shape, weight.shape, places, _FORWARD, stride, groups):
        return None
    job, window = _forward_job(weight.shape, out.shape, dilation), weight.shape
    count = window[2] * window[3]
    return _Correlation(
        x.shape, out.shape, stride, padding, [job], (1, 1), (window[1] * count, count)
    )


def convolution_input_gradient(
    outs: Any, ins: Any, *, shape: Ints, stride: Ints, padding: Ints, dilation: Ints, groups: int,
    **params: Any,
) -> Run | None:  # fmt: skip
    """The plan of :func:`.convolution.convolution_input_gradient`; None as above.

    Place ``y`` of the image met place ``(y + padding - tap * dilation) / stride`` of the result:
    results of each residue of the stride have their own taps.
    """
    (out,), (g, weight) = outs, ins
    operands, places = (*outs, *ins), _places(g.shape)
    if not _suits(operands, g.shape, out.shape, weight.shape, places, _INWARD, stride, groups):
        return None
    window, jobs = weight.shape, []
    lengths = out.shape[2:]
    for residues in itertools.product(*map(range, map(min, stride, lengths))):
        taps = [
            [
                ((residue + p - r * d) // s, r)
                for r in reversed(range(k))
                if (residue + p - r * d) % s == 0
            ]
            for residue, k, s, p, d in zip(
                residues, window[2:], stride, padding, dilation, strict=True
            )
        ]
        size = tuple(-(-(n - r) // s) for n, r, s in zip(lengths, residues, stride, strict=True))
        met = [(y, x, i * window[3] + j) for (y, i), (x, j) in itertools.product(*taps)]
        if met:
            jobs.append(_Job(residues, size, met))
    before = tuple(
        max(0, -min((tap[a] for job in jobs for tap in job.taps), default=0)) for a in (0, 1)
    )
    jobs = [
        job._replace(taps=[(y + before[0], x + before[1], at) for y, x, at in job.taps])
        for job in jobs
    ]
    if not jobs:
        return None
    count = window[2] * window[3]
    return _Correlation(
        g.shape, out.shape, (1, 1), before, jobs, tuple(stride), (count, window[1] * count)
    )


def convolution_weight_gradient(
    outs: Any, ins: Any, *, shape: Ints, stride: Ints, padding: Ints, dilation: Ints, groups: int,
    **params: Any,
) -> Run | None:  # fmt: skip
    """The plan of :func:`.convolution.convolution_weight_gradient`; None as above."""
    (out,), (g, x) = outs, ins
    operands, places = (*outs, *ins), _places(g.shape)
    if not _suits(operands, x.shape, g.shape, out.shape, places, _WEIGHT, stride, groups):
        return None
    return _WeightSum(x.shape, g.shape, stride, padding, _forward_job(out.shape, g.shape, dilation))
