"""Convolution by Winograd's F(2x2, 3x3), and its two gradients: for windows of 3 x 3 with stride 1.

A result takes 4 multiplications for each channel where the definition has 9. It differs from that
by some roundings of its terms; where it is not finite, it is computed by the definition, so that
an infinity stays where it belongs.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from . import convolution as direct
from .convolution import workspace
from .convolution_loops import loops as direct_loops
from .threads import get_num_threads, parallel_for
from .winograd_loops import APART, PLACES, Loops, loops

TILES = 128  # that are computed together, about


class _Layout:
    """Sizes of one case, and the tables and pieces of its loops."""

    def __init__(self, given: Any, made: Any, padding: Any, code: Loops) -> None:
        self.images, self.inner, height, breadth = given
        self.channels, self.height, width = made[1:]
        self.pitch = -(-self.inner // code.lanes) * code.lanes
        self.panels = -(-self.channels // code.width)
        self.sizes = np.array(
            [self.inner, height, breadth, self.channels, self.height, width, self.pitch, *padding],
            np.int64,
        )
        self.across, down = -(-width // 2), -(-self.height // 2)
        # a thread has some images, and of large ones some rows of tiles, at a time
        share = -(-self.images // get_num_threads())
        self.together = min(max(1, TILES // (self.across * down)), share)
        parts = -(-down // max(1, TILES // self.across)) if self.together == 1 else 1
        self.down = -(-down // parts)
        self.pieces = [
            (image, min(self.together, self.images - image), row, min(row + self.down, down))
            for image in range(0, self.images, self.together)
            for row in range(0, down, self.down)
        ]
        self.tiles = -(-self.together * self.down * self.across // code.rows) * code.rows
        # the elements of each buffer: pixels of both sides, and what they are turned into
        pixels = (2 * self.down + 2) * (2 * self.across + 2)
        self.strip = pixels * max(self.pitch, self.panels * code.width)
        self.given = PLACES * (self.tiles * self.pitch + APART) + code.rows
        self.turned = PLACES * (self.panels * self.tiles * code.width + APART)


def _turned_weight(weight: Any, case: _Layout, flipped: bool, code: Loops) -> Any:
    """``[place][panel][channel][width]`` of a weight, or of a flipped one's transpose."""
    pack = direct_loops(weight.dtype, code.width)
    count = case.inner * 9
    packed = workspace(case.panels * count * code.width, weight.dtype, "packed 0 0")
    taps = np.arange(count)
    if flipped:
        taps = taps // 9 * (case.channels * 9) + 8 - taps % 9
        pack.pack(packed, weight.reshape(-1), taps, case.channels, 9)
    else:
        pack.pack_channels(packed, weight.reshape(-1), taps, case.channels)
    size = PLACES * case.panels * case.pitch * code.width
    turned = workspace(size, weight.dtype, "turned")
    code.turn_weight(turned, packed, case.inner, case.pitch, case.panels)
    return turned


def _correlate(out: Any, x: Any, weight: Any, bias: Any, padding: Any, flipped: bool) -> bool:
    """``out`` as :func:`.convolution.convolution`, whether it is finite.

    ``flipped``: ``weight`` is that of a convolution whose input's gradient is wanted.
    """
    code = loops(out.dtype)
    case = _Layout(x.shape, out.shape, padding, code)
    turned = _turned_weight(weight, case, flipped, code)
    offsets = np.zeros(case.panels * code.width, out.dtype)
    if bias is not None:
        offsets[: case.channels] = bias
    bases = np.arange(case.tiles) * case.pitch
    channels = np.arange(case.inner)
    zeros = np.zeros(code.width, out.dtype)
    flat, source = out.reshape(-1), x.reshape(-1)
    finite = []

    def run(first: int, last: int) -> None:
        strip = workspace(case.strip, out.dtype, "strip")
        given = workspace(case.given, out.dtype, "given")
        sums = workspace(case.turned, out.dtype, "slopes")
        made = workspace(4 * case.down * case.across * code.width, out.dtype, "made")
        for piece in case.pieces[first:last]:
            finite.append(code.correlate(
                flat, source, turned, offsets, case.sizes, *piece, strip, given, sums, made,
                made.view(np.int32), bases, channels, zeros,
            ))  # fmt: skip

    parallel_for(len(case.pieces), run)
    return all(finite)


def _sum_weights(out: Any, g: Any, x: Any, padding: Any) -> bool:
    """The gradient for the weight, whether it is finite."""
    code = loops(out.dtype)
    case = _Layout(x.shape, g.shape, padding, code)
    deep = -(-case.inner // code.rows) * code.rows
    size = PLACES * case.panels * deep * code.width
    bases, taps = np.arange(deep), np.arange(case.tiles) * case.pitch
    zeros = np.zeros(code.width, out.dtype)
    flat, source = g.reshape(-1), x.reshape(-1)
    held = {}

    def run(first: int, last: int) -> None:
        strip = workspace(case.strip, out.dtype, "strip")
        given = workspace(case.given, out.dtype, "given")
        slopes = workspace(case.turned, out.dtype, "slopes")
        held[first] = sums = np.empty(size, out.dtype)
        for number in range(first, last):
            code.sum_weights(
                sums, flat, source, case.sizes, *case.pieces[number], strip, given, slopes, bases,
                taps, zeros, number == first,
            )  # fmt: skip

    parallel_for(len(case.pieces), run)
    total = held.pop(0)
    for first in sorted(held):
        total += held[first]
    packed = workspace(case.panels * case.inner * 9 * code.width, out.dtype, "packed 0 0")
    code.turn_back(packed, total, case.inner, deep, case.panels)
    count = case.inner * 9
    direct_loops(out.dtype, code.width).unpack(
        out.reshape(-1), packed, count, count, case.channels
    )
    return bool(np.isfinite(out).all())


_SMALLEST = 32  # channels, on either side
_FEWEST = 64  # tiles, over which the transforms of the weights are spread


def _suits(
    out: Any, image: Any, result: Any, window: Any, padding: Any, params: dict[str, Any]
) -> bool:
    """Whether a convolution is one of ours, and large enough to gain by it."""
    if window != (3, 3) or image.dtype != np.float32 or not out.flags.c_contiguous:
        return False
    if tuple(params["stride"] + params["dilation"]) != (1, 1, 1, 1) or params["groups"] != 1:
        return False
    down, across = result.shape[2:]
    fits = (down, across) == tuple(
        n + 2 * p - 2 for n, p in zip(image.shape[2:], padding, strict=True)
    )
    tiles = result.shape[0] * -(-down // 2) * -(-across // 2)
    few = min(image.shape[1], result.shape[1]) < _SMALLEST or tiles < _FEWEST
    return fits and min(padding) >= 0 and not few


def convolution(
    out: Any, x: Any, weight: Any, bias: Any = None, *, padding: Any, stride: Any, dilation: Any,
    groups: int,
) -> None:  # fmt: skip
    """As :func:`.convolution.convolution`."""
    params = {"stride": stride, "dilation": dilation, "groups": groups}
    if _suits(out, x, out, weight.shape[2:], padding, params) and _correlate(
        out, np.ascontiguousarray(x), np.ascontiguousarray(weight), bias, padding, False
    ):
        return
    direct.convolution(out, x, weight, bias, padding=padding, **params)


def convolution_input_gradient(
    out: Any, g: Any, weight: Any, *, padding: Any, stride: Any, dilation: Any, groups: int
) -> None:
    """As :func:`.convolution.convolution_input_gradient`."""
    params = {"stride": stride, "dilation": dilation, "groups": groups}
    around = tuple(2 - p for p in padding)
    if _suits(out, g, out, weight.shape[2:], around, params) and _correlate(
        out, np.ascontiguousarray(g), np.ascontiguousarray(weight), None, around, True
    ):
        return
    direct.convolution_input_gradient(out, g, weight, padding=padding, **params)


def convolution_weight_gradient(
    out: Any, g: Any, x: Any, *, padding: Any, stride: Any, dilation: Any, groups: int
) -> None:
    """As :func:`.convolution.convolution_weight_gradient`."""
    params = {"stride": stride, "dilation": dilation, "groups": groups}
    if _suits(out, x, g, out.shape[2:], padding, params) and _sum_weights(
        out, np.ascontiguousarray(g), np.ascontiguousarray(x), padding
    ):
        return
    direct.convolution_weight_gradient(out, g, x, padding=padding, **params)
