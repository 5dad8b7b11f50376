"""Convolution by Winograd's F(2x2, 3x3), and its two gradients: for windows of 3 x 3 with stride 1.

A result takes 4 multiplications for each channel where the definition has 9. It differs from that
by some roundings of its terms. Each function here makes a plan, which says whether all results are
finite: if not, they are to be computed by the definition, so that an infinity stays in its place.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import numpy as np

from mindtorch.kernels.support.workspace import workspace

from .cat_flip_roll_pad import dense
from .convolution_tiles import loops as direct_loops
from .thread_pool import get_num_threads, parallel_for
from .winograd_tiles import APART, PLACES, loops

TILES = 128  # that are computed together, about
_SMALLEST = 32  # channels, on either side
_FEWEST = 64  # tiles, over which the transforms of the weights are spread
_FLOAT = np.dtype(np.float32)
_workspace = functools.partial(workspace, dtype=_FLOAT)
Run = Callable[..., bool]


class _Case:
    """Sizes of one case, and the tables and pieces of its loops."""

    def __init__(self, given: Any, made: Any, padding: Any) -> None:
        self.code = code = loops(_FLOAT)
        self.images, self.inner, height, breadth = given
        self.channels, down, across = made[1], -(-made[2] // 2), -(-made[3] // 2)
        self.pitch = -(-self.inner // code.lanes) * code.lanes
        self.panels = -(-self.channels // code.width)
        self.sizes = np.array(
            [self.inner, height, breadth, *made[1:], self.pitch, *padding], np.int64
        )
        # a thread has some images, and of large ones some rows of tiles, at a time
        share = -(-self.images // get_num_threads())
        together = min(max(1, TILES // (across * down)), share)
        parts = -(-down // max(1, TILES // across)) if together == 1 else 1
        rows = -(-down // parts)
        self.pieces = [
            (image, min(together, self.images - image), row, min(row + rows, down))
            for image in range(0, self.images, together)
            for row in range(0, down, rows)
        ]
        tiles = -(-together * rows * across // code.rows) * code.rows
        self.places = np.arange(tiles) * self.pitch
        self.zeros = np.zeros(code.width, _FLOAT)
        # the elements of each buffer
        self.strip = (2 * rows + 2) * (2 * across + 2) * max(self.pitch, self.panels * code.width)
        self.given = PLACES * (tiles * self.pitch + APART) + code.rows
        self.turned = PLACES * (self.panels * tiles * code.width + APART)
        self.made = 4 * rows * across * code.width
        self.packed = self.panels * self.inner * 9 * code.width

    def _buffers(self) -> list[Any]:
        """Pixels, what the given ones are turned into, and what the results are made of."""
        sizes = {"strip": self.strip, "given": self.given, "turned": self.turned}
        return [_workspace(size, name=f"winograd {name}") for name, size in sizes.items()]


class _Correlation(_Case):
    """``run(out, x, weight[, bias])`` as :func:`.convolution.convolution`; whether it is finite.

    ``flipped``: ``weight`` is that of a convolution whose input's gradient is wanted.
    """

    def __init__(self, given: Any, made: Any, padding: Any, flipped: bool) -> None:
        super().__init__(given, made, padding)
        self.flipped = flipped
        self.taps = np.arange(self.inner * 9)
        if flipped:
            self.taps = self.taps // 9 * (self.channels * 9) + 8 - self.taps % 9
        self.channel = np.arange(self.inner)

    def _turn(self, weight: Any) -> Any:
        """``[place][panel][channel][width]`` of the weight, or of the flipped one's transpose."""
        pack = direct_loops(_FLOAT, self.code.width)
        packed = _workspace(self.packed, name="packed 0 0")
        if self.flipped:
            pack.pack(packed, weight, self.taps, self.channels, 9)
        else:
            pack.pack_channels(packed, weight, self.taps, self.channels)
        size = PLACES * self.panels * self.pitch * self.code.width
        turned = _workspace(size, name="winograd weight")
        self.code.turn_weight(turned, packed, self.inner, self.pitch, self.panels)
        return turned

    def __call__(self, out: Any, x: Any, weight: Any, bias: Any = None) -> bool:
        turned = self._turn(weight)
        offsets = np.zeros(self.panels * self.code.width, _FLOAT)
        if bias is not None:
            offsets[: self.channels] = bias
        finite = []

        def part(first: int, last: int) -> None:
            strip, given, sums = self._buffers()
            made = _workspace(self.made, name="made")
            for piece in self.pieces[first:last]:
                finite.append(self.code.correlate(
                    out, x, turned, offsets, self.sizes, *piece, strip, given, sums, made,
                    made.view(np.int32), self.places, self.channel, self.zeros,
                ))  # fmt: skip

        parallel_for(len(self.pieces), part)
        return all(finite)


class _WeightSum(_Case):
    """``run(out, g, x)``: the gradient for the weight; whether it is finite."""

    def __init__(self, given: Any, made: Any, padding: Any) -> None:
        super().__init__(given, made, padding)
        self.deep = -(-self.inner // self.code.rows) * self.code.rows
        self.channel = np.arange(self.deep)

    def __call__(self, out: Any, g: Any, x: Any) -> bool:
        code, held = self.code, {}

        def part(first: int, last: int) -> None:
            strip, given, slopes = self._buffers()
            sums = np.empty(PLACES * self.panels * self.deep * code.width, _FLOAT)
            held[first] = sums
            for number in range(first, last):
                code.sum_weights(
                    sums, g, x, self.sizes, *self.pieces[number], strip, given, slopes,
                    self.channel, self.places, self.zeros, number == first,
                )  # fmt: skip

        parallel_for(len(self.pieces), part)
        total = held.pop(0)
        for first in sorted(held):
            total += held[first]
        packed = _workspace(self.packed, name="packed 0 0")
        code.turn_back(packed, total, self.inner, self.deep, self.panels)
        count = self.inner * 9
        direct_loops(_FLOAT, code.width).unpack(out, packed, count, count, self.channels)
        return bool(np.isfinite(out).all())


def _suits(
    given: Any, image: Any, result: Any, window: Any, padding: Any, stride: Any, dilation: Any,
    groups: int,
) -> bool:  # fmt: skip
    """Whether a convolution of operands ``given`` is one of ours, and gains by it."""
    if window != (3, 3) or (*stride, *dilation, groups) != (1, 1, 1, 1, 1):
        return False
    if not all(x is None or (x.dtype == _FLOAT and dense(x)) for x in given):
        return False
    down, across = result.shape[2:]
    lengths = zip(image.shape[2:], padding, strict=True)
    fits = (down, across) == tuple(n + 2 * p - 2 for n, p in lengths) and min(padding) >= 0
    tiles = result.shape[0] * -(-down // 2) * -(-across // 2)
    return fits and min(image.shape[1], result.shape[1]) >= _SMALLEST and tiles >= _FEWEST


def convolution(outs: Any, ins: Any, *, padding: Any, **params: Any) -> Run | None:
    """The plan of :func:`.convolution.convolution`; None for what is not one of ours."""
    (out,), (x, weight, *_) = outs, ins
    if not _suits((*outs, *ins), x, out, weight.shape[2:], padding, **params):
        return None
    return _Correlation(x.shape, out.shape, padding, False)


def convolution_input_gradient(
    outs: Any, ins: Any, *, shape: Any, padding: Any, **params: Any
) -> Run | None:
    """The plan of :func:`.convolution.convolution_input_gradient`; None as above."""
    (out,), (g, weight) = outs, ins
    around = tuple(2 - p for p in padding)
    if not _suits((*outs, *ins), g, out, weight.shape[2:], around, **params):
        return None
    return _Correlation(g.shape, out.shape, around, True)


def convolution_weight_gradient(
    outs: Any, ins: Any, *, shape: Any, padding: Any, **params: Any
) -> Run | None:
    """The plan of :func:`.convolution.convolution_weight_gradient`; None as above."""
    (out,), (g, x) = outs, ins
    if not _suits((*outs, *ins), x, g, out.shape[2:], padding, **params):
        return None
    return _WeightSum(x.shape, g.shape, padding)
