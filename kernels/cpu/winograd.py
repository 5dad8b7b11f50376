"""Convolution by Winograd's transforms, and its two gradients: for windows of 3 x 3 with stride 1.

In tiles of 2 x 2, F(2x2, 3x3), a result takes 4 multiplications for each channel where the
definition has 9, and is as exact: :mod:`convolution` runs them. In tiles of 4 x 4 it takes 2.25,
with errors of some roundings of its terms: compiled functions run these. Each function here makes a
plan, which says whether all results are finite: if not, they are to be computed by the definition,
so that an infinity stays in its place.

Where weights are many and pixels few, pixels are turned first, all of them, and then the weights of
one panel of channels after another, so that these do not leave the caches. Else weights are turned
first, and then pixels in pieces.
"""

from __future__ import annotations

import functools
import os
from collections.abc import Callable
from typing import Any

import numpy as np

from mindtorch.kernels.support.workspace import workspace_of_lines

from .cat_flip_roll_pad import dense
from .convolutions.winograd_tiles import APART, TOGETHER, loops
from .threads.thread_pool import get_num_threads, parallel_for, parallel_sum

TILES = 64  # that are computed together, about
SUMMED_TILES = 64  # in the gradient for the weight
_SMALLEST = 32  # channels, on either side
_FEWEST = {2: 48, 4: 16}  # tiles, over which the transforms of the weights are spread
_HELD = 1 << 22  # turned pixels that are held at once, at most, while weights are turned
_GAIN = {2: 0.55, 4: 0.75}  # multiplications, of the definition's, at most
_FLOAT = np.dtype(np.float32)
_workspace = functools.partial(workspace_of_lines, dtype=_FLOAT)
Run = Callable[..., bool]
Piece = tuple[int, int, int, int]  # the first image, how many, and the rows of tiles of them


def enabled() -> bool:
    """Whether the transforms are used: ``MINDTORCH_WINOGRAD`` is not 0."""
    return os.environ.get("MINDTORCH_WINOGRAD", "1") != "0"


class _Case:
    """Sizes of one case, and the tables and pieces of its loops."""

    def __init__(self, edge: int, given: Any, made: Any, padding: Any, together: int) -> None:
        self.code = code = loops(edge)
        self.images, self.inner, height, breadth = given
        self.channels, down, across = made[1], -(-made[2] // edge), -(-made[3] // edge)
        self.panels = -(-self.channels // code.width)
        vectors = -(-self.inner // code.lanes)
        self.whole = vectors * code.lanes
        # an odd number of vectors: a power of two from tile to tile would share cache sets
        self.pitch = (vectors | 1) * code.lanes
        self.sizes = np.array(
            [self.inner, height, breadth, *made[1:], *padding, self.pitch], np.int64
        )
        # a thread has some images, and of large ones some rows of tiles, at a time
        share = -(-self.images // get_num_threads())
        images = min(max(1, together // (across * down)), share)
        rows = down if images > 1 else min(max(1, together // across), down)
        rows = -(-down // -(-down // rows))
        self.pieces: list[Piece] = [
            (image, min(images, self.images - image), row, min(row + rows, down))
            for image in range(0, self.images, images)
            for row in range(0, down, rows)
        ]
        self.across, self.tiles = across, -(-images * rows * across // code.rows) * code.rows
        self.places = np.arange(self.tiles) * self.pitch
        self.zeros = np.zeros(code.width, _FLOAT)
        # from one place to the next, and the elements of each buffer
        self.given_step = self.tiles * self.pitch + APART
        self.given = code.places * self.given_step
        pixels = max(self.whole, self.panels * code.width)
        self.strip = (edge * rows + 2) * (edge * across + 2) * pixels
        self.packed = TOGETHER * 9 * code.width

    def weights(self, panels: int) -> int:
        """The elements of so many panels of weights that are turned."""
        return self.code.places * (panels * self.inner * self.code.width + APART)

    def together(self, held: int, weights: int) -> bool:
        """Whether all pixels are turned before the weights are: ``held`` numbers of them."""
        return held <= min(_HELD, weights) and self.panels >= get_num_threads()

    def tiles_of(self, piece: Piece) -> int:
        """How many tiles a piece has."""
        return piece[1] * (piece[3] - piece[2]) * self.across

    def strip_of_pixels(self) -> Any:
        return _workspace(self.strip, name="winograd strip")

    def turn_given(self, target: Any, strip: Any, x: Any, piece: Piece) -> None:
        self.code.turn_given(target, strip, x, self.sizes, self.given_step, *piece)


class _Correlation(_Case):
    """``run(out, x, weight[, bias])`` as :func:`.convolution.convolution`; whether it is finite.

    ``flipped``: ``weight`` is that of a convolution whose input's gradient is wanted.
    """

    def __init__(self, edge: int, given: Any, made: Any, padding: Any, flipped: bool) -> None:
        super().__init__(edge, given, made, padding, TILES)
        self.flipped = int(flipped)
        self.channel = np.arange(self.inner)
        self.made = edge * edge * self.across * self.code.width
        self.all_at_once = self.together(
            len(self.pieces) * self.given, self.weights(self.panels)
        )  # fmt: skip

    def _turn_weight(
        self, turned: Any, packed: Any, weight: Any, first: int, last: int, base: int, of: int
    ) -> None:
        size = of * self.inner * self.code.width + APART
        self.code.turn_weight(
            turned, packed, weight, self.sizes, size, first, last, base, self.flipped
        )

    def _buffers(self, panels: int) -> tuple[Any, ...]:
        """For the sums of so many panels, and the pixels that are made of them."""
        size = self.code.places * (panels * self.tiles * self.code.width + APART)
        made = _workspace(self.made, name="winograd made")
        return _workspace(size, name="winograd sums"), made, made.view(np.int32)

    def _correlate(
        self, out: Any, given: Any, turned: Any, bias: Any, piece: Piece, first: int, last: int,
        buffers: Any,
    ) -> bool:  # fmt: skip
        finite: bool = self.code.correlate(
            out, given, turned, bias, self.sizes, self.given_step, *piece, first, last, *buffers,
            self.places, self.channel, self.zeros,
        )  # fmt: skip
        return finite

    def __call__(self, out: Any, x: Any, weight: Any, bias: Any = None) -> bool:
        offsets = np.zeros(self.panels * self.code.width, _FLOAT)
        if bias is not None:
            offsets[: self.channels] = bias
        finite: list[bool] = []
        if self.all_at_once:
            self._panel_by_panel(out, x, weight, offsets, finite)
        else:
            self._piece_by_piece(out, x, weight, offsets, finite)
        return all(finite)

    def _panel_by_panel(self, out: Any, x: Any, weight: Any, bias: Any, finite: Any) -> None:
        given = _workspace(len(self.pieces) * self.given, name="winograd given").reshape(
            len(self.pieces), -1
        )

        def turn(first: int, last: int) -> None:
            strip = self.strip_of_pixels()
            for number in range(first, last):
                self.turn_given(given[number], strip, x, self.pieces[number])

        def panels(first: int, last: int) -> None:
            turned, buffers = _workspace(self.weights(1), name="winograd weight"), self._buffers(1)
            packed = _workspace(self.packed, name="winograd packed")
            for panel in range(first, last):
                self._turn_weight(turned, packed, weight, panel, panel + 1, panel, 1)
                finite.extend(
                    self._correlate(out, held, turned, bias, piece, panel, panel + 1, buffers)
                    for held, piece in zip(given, self.pieces, strict=True)
                )

        parallel_for(len(self.pieces), turn)
        parallel_for(self.panels, panels)

    def _piece_by_piece(self, out: Any, x: Any, weight: Any, bias: Any, finite: Any) -> None:
        of = self.panels
        turned = _workspace(self.weights(of), name="winograd weight")

        def turn(first: int, last: int) -> None:
            packed = _workspace(self.packed, name="winograd packed")
            self._turn_weight(turned, packed, weight, first, last, 0, of)

        def pieces(first: int, last: int) -> None:
            given, buffers = _workspace(self.given, name="winograd given"), self._buffers(of)
            strip = self.strip_of_pixels()
            for piece in self.pieces[first:last]:
                self.turn_given(given, strip, x, piece)
                finite.append(self._correlate(out, given, turned, bias, piece, 0, of, buffers))

        parallel_for(self.panels, turn)
        parallel_for(len(self.pieces), pieces)


class _WeightSum(_Case):
    """``run(out, g, x)``: the gradient for the weight; whether it is finite."""

    def __init__(self, edge: int, given: Any, made: Any, padding: Any) -> None:
        super().__init__(edge, given, made, padding, SUMMED_TILES)
        self.deep = -(-self.inner // self.code.rows) * self.code.rows
        self.channel = np.arange(self.deep)
        self.slopes = self.code.places * (self.panels * self.tiles * self.code.width + APART)
        self.all_at_once = self.together(
            len(self.pieces) * (self.given + self.slopes), 2 * self._sums(self.panels)
        )

    def _sums(self, panels: int) -> int:
        return self.code.places * (panels * self.deep * self.code.width + APART)

    def _turn_slopes(self, target: Any, strip: Any, g: Any, piece: Piece) -> None:
        size = self.panels * self.tiles_of(piece) * self.code.width + APART
        self.code.turn_slopes(target, strip, g, self.sizes, size, *piece)

    def _sum(
        self, sums: Any, given: Any, slopes: Any, piece: Piece, first: int, last: int, begins: bool
    ) -> None:
        tiles = self.tiles_of(piece)
        self.code.sum_weights(
            sums, given, slopes, self.sizes, self.given_step,
            self.panels * tiles * self.code.width + APART, tiles, self.deep, first, last,
            self.places, self.channel, self.zeros, begins,
        )  # fmt: skip

    def _turn_back(self, out: Any, sums: Any, packed: Any, panel: int, at: int, of: int) -> None:
        size = of * self.deep * self.code.width + APART
        self.code.turn_back(out, sums, packed, self.sizes, size, self.deep, panel, at)

    def __call__(self, out: Any, g: Any, x: Any) -> bool:
        if self.all_at_once:
            self._panel_by_panel(out, g, x)
        else:
            self._piece_by_piece(out, g, x)
        return bool(np.isfinite(out).all())

    def _panel_by_panel(self, out: Any, g: Any, x: Any) -> None:
        count = len(self.pieces)
        given, slopes = (
            _workspace(count * size, name=f"winograd {name}").reshape(count, -1)
            for name, size in (("given", self.given), ("slopes", self.slopes))
        )

        def turn(first: int, last: int) -> None:
            strip = self.strip_of_pixels()
            for number in range(first, last):
                self.turn_given(given[number], strip, x, self.pieces[number])
                self._turn_slopes(slopes[number], strip, g, self.pieces[number])

        def panels(first: int, last: int) -> None:
            sums = _workspace(self._sums(1), name="winograd sums")
            packed = _workspace(self.packed, name="winograd packed")
            for panel in range(first, last):
                for number, piece in enumerate(self.pieces):
                    self._sum(
                        sums, given[number], slopes[number], piece, panel, panel + 1, number == 0
                    )
                self._turn_back(out, sums, packed, panel, 0, 1)

        parallel_for(count, turn)
        parallel_for(self.panels, panels)

    def _piece_by_piece(self, out: Any, g: Any, x: Any) -> None:
        def pieces(first: int, last: int) -> Any:
            given = _workspace(self.given, name="winograd given")
            slopes = _workspace(self.slopes, name="winograd slopes")
            strip = self.strip_of_pixels()
            sums = _workspace(self._sums(self.panels), name="winograd sums")
            for number in range(first, last):
                piece = self.pieces[number]
                self.turn_given(given, strip, x, piece)
                self._turn_slopes(slopes, strip, g, piece)
                self._sum(sums, given, slopes, piece, 0, self.panels, number == first)
            return sums

        total = parallel_sum(len(self.pieces), pieces)

        def turn_back(first: int, last: int) -> None:
            packed = _workspace(self.packed, name="winograd packed")
            for panel in range(first, last):
                at = panel * self.deep * self.code.width
                self._turn_back(out, total, packed, panel, at, self.panels)

        parallel_for(self.panels, turn_back)


def _suits(
    edge: int, given: Any, image: Any, result: Any, window: Any, padding: Any, stride: Any,
    dilation: Any, groups: int,
) -> bool:  # fmt: skip
    """Whether a convolution of operands ``given`` is one of ours, and gains by it."""
    if window != (3, 3) or (*stride, *dilation, groups) != (1, 1, 1, 1, 1) or not enabled():
        return False
    if not all(x is None or (x.dtype == _FLOAT and dense(x)) for x in given):
        return False
    down, across = result.shape[2:]
    lengths = zip(image.shape[2:], padding, strict=True)
    if (down, across) != tuple(n + 2 * p - 2 for n, p in lengths) or min(padding) < 0:
        return False
    tiles = -(-down // edge) * -(-across // edge)
    gains = (edge + 2) ** 2 * tiles <= _GAIN[edge] * 9 * down * across
    enough = tiles * result.shape[0] >= _FEWEST[edge]
    return gains and enough and min(image.shape[1], result.shape[1]) >= _SMALLEST


def convolution(
    outs: Any, ins: Any, *, padding: Any, edge: int = 4, **params: Any
) -> Run | None:
    """The plan of :func:`.convolution.convolution`; None for what is not one of ours.

    ``edge``: how many results a tile has, down and across.
    """
    (out,), (x, weight, *_) = outs, ins
    if not _suits(edge, (*outs, *ins), x, out, weight.shape[2:], padding, **params):
        return None
    return _Correlation(edge, x.shape, out.shape, padding, False)


def convolution_input_gradient(
    outs: Any, ins: Any, *, padding: Any, edge: int = 4, shape: Any = None, **params: Any
) -> Run | None:
    """The plan of :func:`.convolution.convolution_input_gradient`; None as above."""
    (out,), (g, weight) = outs, ins
    around = tuple(2 - p for p in padding)
    if not _suits(edge, (*outs, *ins), g, out, weight.shape[2:], around, **params):
        return None
    return _Correlation(edge, g.shape, out.shape, around, True)


def convolution_weight_gradient(
    outs: Any, ins: Any, *, padding: Any, edge: int = 4, shape: Any = None, **params: Any
) -> Run | None:
    """The plan of :func:`.convolution.convolution_weight_gradient`; None as above."""
    (out,), (g, x) = outs, ins
    if not _suits(edge, (*outs, *ins), x, g, out.shape[2:], padding, **params):
        return None
    return _WeightSum(edge, x.shape, g.shape, padding)
