"""Weights in panels, and the tables of pixels, that the steps of inference work on."""

from __future__ import annotations

import functools
from typing import Any

import numpy as np

from ..convolutions.winograd_transforms import WEIGHT
from ..vectors.simd import lanes, tile_rows
from .packed_tile import PITCH, panel_widths

__all__ = [
    "Places", "each_channel", "packed_bytes", "packed_floats", "padded", "panel_table", "panels_of",
    "pitch_of",
    "places_of", "turned_weight",
]  # fmt: skip

_SINGLES = 2  # pixels left over that are computed one by one, not as a tile


def pitch_of(channels: int) -> int:
    """Channels of a pixel in memory."""
    return -(-channels // PITCH) * PITCH


@functools.cache
def panels_of(pitch: int) -> tuple[tuple[int, int, int], ...]:
    """(place in :func:`.packed_tile.panel_widths`, first channel, channels) of each panel."""
    widths = panel_widths()
    lane = widths[-1][1]
    made, at, vectors = [], 0, pitch // lane
    while vectors:
        most = widths[-1][0]
        count = vectors if vectors <= most else 2 if vectors == most + 1 else most
        made.append((widths.index((count, lane)), at, count * lane))
        at, vectors = at + count * lane, vectors - count
    if at < pitch:
        made.append((0, at, pitch - at))
    return tuple(made)


def padded(numbers: np.ndarray, length: int, axis: int = 0) -> np.ndarray:
    """Numbers with zeros behind along an axis, ``length`` of them in all."""
    missing = length - numbers.shape[axis]
    if not missing:
        return numbers
    around = [(0, 0)] * numbers.ndim
    around[axis] = (0, missing)
    return np.pad(numbers, around)


def _in_line(count: int, dtype: Any) -> np.ndarray:
    """So many elements of 4 bytes that begin at a cache line."""
    held = np.empty(count + 16, dtype)
    first = -held.ctypes.data % 64 // 4
    return held[first : first + count]


def _in_panels(rows: np.ndarray, pitch: int) -> tuple[np.ndarray, np.ndarray]:
    """``[channel, word]`` as panels ``[word][channel]``; and a table of these."""
    words = rows.shape[1]
    made = _in_line(pitch * words, rows.dtype)
    table = []
    at = 0
    for which, first, count in panels_of(pitch):
        target = made[at : at + words * count].reshape(words, count)
        valid = max(0, min(count, rows.shape[0] - first))
        target[:, :valid] = rows[first : first + valid].T
        target[:, valid:] = 0
        table.append((which, first, at * 4))
        at += words * count
    return made, np.array(table, np.int64)


def panel_table(pitch: int) -> np.ndarray:
    """The table of panels of no weights."""
    return np.array([(which, first, 0) for which, first, _ in panels_of(pitch)], np.int64)


def packed_floats(weight: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Panels of a weight ``[channel, tap, number]`` of float32, and their table.

    Returns:
        tuple: the panels' elements, and for each panel its kind, first channel and place in bytes.
    """
    return _in_panels(weight.reshape(weight.shape[0], -1), pitch_of(weight.shape[0]))


def packed_bytes(weight: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The same for int8, four numbers to a word."""
    channels, _, count = weight.shape
    whole = np.ascontiguousarray(padded(weight, -(-count // 4) * 4, 2))
    return _in_panels(whole.view(np.int32).reshape(channels, -1), pitch_of(channels))


def each_channel(weight: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Panels of ``[channel, tap]``, where a channel is multiplied with its own weights only."""
    kind = np.float32 if weight.dtype == np.float32 else np.int32
    return _in_panels(np.ascontiguousarray(weight, kind), pitch_of(weight.shape[0]))


def turned_weight(weight: np.ndarray, made: int) -> tuple[np.ndarray, np.ndarray, int]:
    """A weight ``[channel, given, 3, 3]`` as Winograd's convolution takes it, its table, and the
    bytes from one place to the next. It is computed in float64 and rounded once."""
    matrix = np.array(WEIGHT[made])
    channels, inner = weight.shape[:2]
    both = np.kron(matrix, matrix)  # [place, tap]
    flat = weight.reshape(channels * inner, 9)
    turned = (both @ flat.T.astype(np.float64)).astype(np.float32)
    parts = [packed_floats(each.reshape(channels, 1, inner)) for each in turned]
    step = parts[0][0].nbytes
    packed = _in_line(len(parts) * parts[0][0].size, np.dtype(np.float32))
    np.concatenate([part for part, _ in parts], out=packed)
    return packed, parts[0][1], step


class Places:
    """Where the tiles of a convolution find their pixels.

    The last tile begins earlier, so that it is full; if there are too few pixels, it goes beyond
    them, and repeats the last one.

    Attributes:
        table: int32 ``[tile][tap][row]``, bytes from the first image on; outside is
            the pixel before it.
        whole: how many tiles of all rows there are.
        single: how many pixels behind them have a tile of their own.
        pixels: of the result, in all images.
        outside: whether a tap is outside of its image.
    """

    def __init__(self, places: np.ndarray, may_be_single: bool) -> None:
        self.pixels, taps = places.shape
        self.outside = bool((places < 0).any())
        rows = tile_rows()
        self.whole, self.single = divmod(self.pixels, rows)
        if self.single and (self.single > _SINGLES or not may_be_single):
            self.whole, self.single = self.whole + 1, 0
        full = self.pixels - self.single
        firsts = np.maximum(np.minimum(np.arange(self.whole) * rows, full - rows), 0)
        numbers = np.minimum(firsts[:, None] + np.arange(rows), max(full - 1, 0))
        tiles = places[numbers].transpose(0, 2, 1)
        table = np.empty((self.whole + self.single, taps, rows), np.int32)
        table[: self.whole] = tiles
        table[self.whole :] = places[full:, :, None]
        self.table = np.ascontiguousarray(table)


@functools.lru_cache(maxsize=64)
def places_of(
    images: int, image_bytes: int, size: Any, pixel: int, window: Any, stride: Any, padding: Any,
    dilation: Any, made: Any, may_be_single: bool, pooled: bool = False,
) -> Places:  # fmt: skip
    """The places of a convolution's pixels.

    Args:
        images, image_bytes: how many images, how far apart.
        size: height and width of an image.
        pixel: bytes of a pixel.
        window, stride, padding, dilation: two numbers each.
        made: height and width of the result.
        may_be_single: whether there are tiles of one row.
        pooled: whether the pixels of a window of 2 x 2 follow one another, those that fill none
            being left out.
    """
    lines = []
    for n, step, before, apart, count, length in zip(
        window, stride, padding, dilation, made, size, strict=True
    ):
        at = np.arange(count)[:, None] * step - before + np.arange(n) * apart
        lines.append((at, (at >= 0) & (at < length)))
    (y, y_inside), (x, x_inside) = lines
    distance = (y[:, None, :, None] * size[1] + x[None, :, None, :]) * pixel
    inside = y_inside[:, None, :, None] & x_inside[None, :, None, :]
    taps = window[0] * window[1]
    every = np.arange(images).reshape(-1, 1, 1, 1, 1) * image_bytes + distance
    if every.size and every.max() >= 1 << 31:
        raise ValueError("the images are too large for the tables of inference")
    every = np.where(inside, every, -pixel)
    if pooled:
        down, across = (length // 2 for length in made)
        pairs = every[:, : 2 * down, : 2 * across].reshape(images, down, 2, across, 2, taps)
        every, may_be_single = pairs.swapaxes(2, 3), False
    return Places(every.reshape(-1, taps).astype(np.int32), may_be_single)


def suits_winograd(inner: int, outer: int) -> bool:
    """Whether channels fill vectors."""
    lane = lanes(np.float32)
    return inner % lane == 0 and outer % lane == 0
