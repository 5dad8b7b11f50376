"""Tables of places for the loops of convolution, worked out once for each case.

Sums are made in oneDNN's order, so that results have the bits that PyTorch's have: channels in
blocks as wide as a vector, for each block the window's taps, and innermost a block's channels. With
vectors of 8 all terms of a result are added one by one to its bias; with those of 16 (AVX-512) a
block's terms are, and then their sum is added.
"""

from __future__ import annotations

import functools
import itertools
from typing import Any

import numpy as np

from ..vectors.simd import lanes

GROUP_PIXELS = 192  # small images go through the loops together: so many pixels of results,
GROUP_SIZE = 32768  # or so many elements of padded images
TAPS = 384  # summed over at a time: as many weights as fit the first-level cache

_IN_BLOCKS = lanes(np.float32) == 16  # whether sums of blocks are added up

Ints = tuple[int, ...]


class Phase:
    """Results that share their taps: all of them, or one residue of the stride in a gradient.

    ``pixels`` has a base in the padded source for each result, ``places`` where it goes in its
    plane; ``taps`` and ``weights`` have, for each term of a sum, its offset from the base and its
    place in the weight. The pixels are rows of ``row``, each ``step`` from the one before.
    Sums are made up of those over ``parts``, which begin and end there.
    """

    def __init__(
        self, pixels: Any, places: Any, taps: Any, weights: Any, parts: Any, dense: bool
    ) -> None:
        self.pixels, self.places = pixels, places
        self.taps, self.weights, self.parts = taps, weights, parts
        self.dense = int(dense)
        image = pixels[: places.size]
        self.step = int(image[1] - image[0]) if image.size > 1 else 1
        breaks = np.flatnonzero(np.diff(image) != self.step)
        self.row = int(breaks[0]) + 1 if breaks.size else image.size
        self.starts = np.ascontiguousarray(image[:: self.row])
        self.count = image.size

    @functools.cache  # noqa: B019
    def vectors(self, width: int) -> Any:
        """The pixels at which vectors begin that cover all rows; the last two of a row overlap.
        One that is longer than a row goes beyond it."""
        within = [max(min(x, self.row - width), 0) for x in range(0, self.row, width)]
        return np.add.outer(np.arange(0, self.count, self.row), within).reshape(-1)

    @functools.cache  # noqa: B019
    def terms(self, width: int, plan: Geometry) -> Any:
        """For each two of these vectors, their first term and the one behind the last; those before
        and behind see rows of zeros only."""
        begins = self.vectors(width)
        pairs = np.append(begins, begins[-1:])[: -(-begins.size // 2) * 2].reshape(-1, 2)
        _, height, _, _, before, _, planes, _, columns, pitch = (int(n) for n in plan.sizes[1:])
        every = np.tile([0, self.taps.size], len(pairs))
        if planes > 1 or self.row * self.step > columns:
            return every
        rows = (self.pixels[pairs][..., None] + self.taps) % pitch // columns
        seen = ((rows >= before) & (rows < before + height)).any(1)
        some = seen.any(1)
        every[::2] = np.where(some, seen.argmax(1), 0)
        every[1::2] = np.where(some, self.taps.size - seen[:, ::-1].argmax(1), 0)
        return every


class Geometry:
    """How images are padded, and the phases of results computed from them.

    Attributes:
        sizes: channels, three lengths, three paddings before, three padded lengths, and the pitch
            of a padded channel, as :func:`pad_images` takes them. Of images with channels last the
            channels are one plane, whose rows are as many times longer.
        last, weight_last: images, the weight, have their channels last.
        place_pitch, pitch: from one place of a padded image to the next, from one channel.
        direct: no padding is needed: images can be read where they are.
        together: how many images go through the loops at once.
        channel_step, tap_step: from one channel of the result to the next in the weight, and from
            one place of the window.
        chained: a part's terms are added one by one to the sum of those before; else their sum is.
        window: the offsets of taps in the order in which a channel of the weight has them.
        places: for a weight that holds each channel's taps side by side, their places in a sum.
    """

    def __init__(
        self, source: Ints, channels: int, before: Ints, padded: Ints, groups: int, last: bool
    ) -> None:
        self.groups, self.channels = groups, channels
        self.images = source[0]
        lengths = three_axes(source[2:], 1)
        size = padded[0] * padded[1] * padded[2]
        # a plane that is a multiple of 512 bytes would put all channels into a few cache sets
        pitch = size + (-size) % 8
        self.pitch = pitch + 24 if pitch % 128 == 0 else pitch
        self.direct = tuple(padded) == lengths and not any(before) and size % 128 != 0
        if self.direct:
            self.pitch = size
        self.before, self.padded, self.last = before, padded, last
        self.place_pitch, self.image_pitch = 1, source[1] * self.pitch
        self.inner = source[1] // groups
        sizes = [source[1], *lengths, *before, *padded, self.pitch]
        if last:
            self.direct = tuple(padded) == lengths and not any(before)
            self.place_pitch, self.pitch, self.image_pitch = source[1], 1, source[1] * size
            sizes[0], sizes[10] = 1, self.image_pitch
            for row in (3, 6, 9):
                sizes[row] *= source[1]
        self.sizes = np.array(sizes, np.int64)
        self.group_pitch = self.inner * self.pitch
        self.phases: list[Phase] = []
        self.complete = True
        self.channel_step, self.tap_step, self.weight_last = 0, 1, False
        self.chained = 1
        self.window: Any = None
        self.places: Any = None
        self.together = 1

    @functools.cached_property
    def reads_as_they_lie(self) -> bool:
        """Whether images are read where they are, and not from a padded copy."""
        return self.direct and all(phase.step != 2 for phase in self.phases)

    def over_images(self, pixels: Any) -> Any:
        """Bases for the images that go together."""
        starts = np.arange(self.together, dtype=np.int64) * self.image_pitch
        return np.ascontiguousarray((starts[:, None] + pixels * self.place_pitch).reshape(-1))

    def over_channels(self, count: int, taps: Any) -> Any:
        starts = np.arange(count, dtype=np.int64) * self.pitch
        return np.ascontiguousarray((starts[:, None] + taps * self.place_pitch).reshape(-1))


def grid(coordinates: Any, lengths: Any) -> Any:
    """Offsets, within a dense block, of the points that have these coordinates along its axes."""
    z, y, x = (np.asarray(c, np.int64) for c in coordinates)
    _, rows, columns = lengths
    return np.ascontiguousarray(((z[:, None, None] * rows + y[:, None]) * columns + x).reshape(-1))


def _blocked(channels: int, window: int) -> Any:
    """oneDNN's order of the taps that lie at ``channel * window + place``."""
    block = lanes(np.float32)
    taps = np.arange(channels * window, dtype=np.int64).reshape(channels, window)
    parts = [taps[c : c + block].T.reshape(-1) for c in range(0, channels, block)]
    return np.ascontiguousarray(np.concatenate(parts))


def _parts(size: int, length: int = TAPS) -> Any:
    return np.array([*range(0, size, length), size], np.int64)


def three_axes(values: Any, fill: int) -> Ints:
    """As of three spatial axes: what is missing in front is ``fill``."""
    return (fill,) * (3 - len(values)) + tuple(int(v) for v in values)


def _together(made: Geometry, places: int) -> int:
    wanted = max(-(-GROUP_PIXELS // max(places, 1)), GROUP_SIZE // max(made.image_pitch, 1), 1)
    return min(made.images, wanted)


@functools.lru_cache(maxsize=1024)
def forward(
    image: Ints, window: Ints, result: Ints, stride: Ints, padding: Ints, dilation: Ints,
    groups: int, last: bool = False, weight_last: bool = False,
) -> Geometry:  # fmt: skip
    """For ``convolution`` and, with the roles of pixels and taps exchanged, its weight gradient.

    ``last``: images have their channels last in memory; ``weight_last``: the weight has.
    """
    taps, places = three_axes(window[2:], 1), three_axes(result[2:], 1)
    steps, before = three_axes(stride, 1), three_axes(padding, 0)
    spread = three_axes(dilation, 1)
    lengths = three_axes(image[2:], 1)
    reach = [
        (o - 1) * s + d * (k - 1) + 1
        for o, s, d, k in zip(places, steps, spread, taps, strict=True)
    ]
    if not any(before):
        reach = list(lengths)
    made = Geometry(image, window[0] // groups, before, tuple(reach), groups, last)
    made.together = _together(made, int(np.prod(places)))
    pixels = grid([np.arange(o) * s for o, s in zip(places, steps, strict=True)], made.padded)
    offsets = grid([np.arange(k) * d for k, d in zip(taps, spread, strict=True)], made.padded)
    inner = image[1] // groups
    order = _blocked(inner, offsets.size)
    made.window = made.over_channels(inner, offsets)
    summed = made.window[order]
    made.weight_last = weight_last
    if weight_last:
        made.window = np.ascontiguousarray(made.window.reshape(inner, -1).T.reshape(-1))
        order = order % offsets.size * inner + order // offsets.size
    made.chained = int(not _IN_BLOCKS or offsets.size == 1)
    parts = _parts(order.size, TAPS if made.chained else lanes(np.float32) * offsets.size)
    made.phases.append(
        Phase(made.over_images(pixels), np.arange(pixels.size), summed, order, parts, True)
    )
    made.channel_step, made.places = order.size, np.argsort(order)
    return made


@functools.lru_cache(maxsize=1024)
def backward(
    image: Ints, window: Ints, result: Ints, stride: Ints, padding: Ints, dilation: Ints,
    groups: int, last: bool = False, weight_last: bool = False,
) -> Geometry:  # fmt: skip
    """For the gradient for the input: one phase for each residue of the stride along each axis."""
    lengths, taps = three_axes(image[2:], 1), three_axes(window[2:], 1)
    places, steps = three_axes(result[2:], 1), three_axes(stride, 1)
    pads, spread = three_axes(padding, 0), three_axes(dilation, 1)
    axes = list(zip(lengths, taps, places, steps, pads, spread, strict=True))
    lowest = [(p - d * (k - 1)) // s for n, k, o, s, p, d in axes]
    highest = [(n - 1 + p) // s for n, k, o, s, p, d in axes]
    before = tuple(max(0, -low) for low in lowest)
    padded = tuple(
        b + max(o, high + 1) for b, o, high in zip(before, places, highest, strict=True)
    )
    inner, features = image[1] // groups, window[0] // groups
    made = Geometry(result, inner, before, padded, groups, last)
    made.together = _together(made, int(np.prod(lengths)) // int(np.prod(steps)))
    count = int(np.prod(taps))
    made.chained = int(count == 1)
    made.weight_last = weight_last
    made.channel_step, made.tap_step = (1, inner) if weight_last else (count, 1)
    for residues in itertools.product(*[range(min(s, n)) for n, k, o, s, p, d in axes]):
        phase = _residue(made, axes, residues, features)
        if phase is None:
            made.complete = False
        else:
            made.phases.append(phase)
    return made


def _residue(made: Geometry, axes: list[Ints], residues: Ints, features: int) -> Phase | None:
    """The places ``residue + stride * i`` of each axis; None where no tap of the window meets them.

    Place ``y`` of the input met place ``(y + padding - tap * dilation) / stride`` of the result.
    """
    coordinates, bases, taps, offsets = [], [], [], []
    for residue, (n, k, _, s, p, d), before in zip(residues, axes, made.before, strict=True):
        valid = [r for r in range(k) if (residue + p - r * d) % s == 0]
        if not valid:
            return None
        coordinates.append(np.arange(residue, n, s))
        bases.append(np.arange(coordinates[-1].size) + before)
        taps.append(valid)
        offsets.append([(residue + p - r * d) // s for r in valid])
    inside = grid(taps, [k for n, k, o, s, p, d in axes])
    step = made.channels * int(np.prod([k for n, k, o, s, p, d in axes]))
    starts = np.arange(features, dtype=np.int64)[:, None] * step
    weights = (starts + inside * made.tap_step).reshape(-1)
    order, dense = _blocked(features, inside.size), all(s == 1 for n, k, o, s, p, d in axes)
    return Phase(
        made.over_images(grid(bases, made.padded)),
        grid(coordinates, [n for n, k, o, s, p, d in axes]),
        made.over_channels(features, grid(offsets, made.padded))[order],
        weights[order],
        _parts(order.size, TAPS if made.chained else _block_taps(axes[-1][2], inside.size, dense)),
        dense,
    )


def _block_taps(width: int, window: int, dense: bool) -> int:
    """The taps of the blocks of channels that oneDNN sums at a time, for rows of ``width``; of
    vectors of 16 in results with a stride it is not known."""
    blocks = 1 if _IN_BLOCKS and dense else 4 if width < 15 else 2 if width < 40 else 1
    return blocks * lanes(np.float32) * window
