"""Operations on images and boxes: rows (x, y, width, height, ...) of an array, in pixels."""

from __future__ import annotations

from typing import Any

import numpy as np

from .._random import draw
from ._colors import RandomResizedCrop
from ._geometry import checked_chance
from ._images import Crop, HorizontalFlip, Inter, Pad, Resize, VerticalFlip, as_image, as_pair

__all__ = [
    "BoundingBoxAugment", "RandomCropWithBBox", "RandomHorizontalFlipWithBBox",
    "RandomResizeWithBBox", "RandomResizedCropWithBBox", "RandomVerticalFlipWithBBox",
    "ResizeWithBBox",
]  # fmt: skip


def _checked(data: Any, boxes: Any) -> tuple[Any, Any]:
    """(image, a copy of its boxes).

    Raises:
        RuntimeError: a box is none, or leaves the image.
    """
    image, found = as_image(data), np.array(boxes)
    if found.ndim != 2 or found.shape[1] < 4:
        raise RuntimeError(f"boxes are rows of 4 or more numbers, but got shape {found.shape}")
    x, y, width, height = found[:, :4].T
    inside = (x >= 0) & (y >= 0) & (x + width <= image.shape[1]) & (y + height <= image.shape[0])
    if not inside.all():
        raise RuntimeError(f"a box leaves the image {image.shape[:2]}: {found[~inside][0]}")
    return image, found


def _cropped(image: Any, boxes: Any, part: tuple[int, int, int, int]) -> tuple[Any, Any]:
    """A part (top, left, height, width) of an image, and what of the boxes is in it; a row of
    zeros where nothing is."""
    top, left, height, width = part
    start = np.maximum(boxes[:, :2], [left, top])
    end = np.minimum(boxes[:, :2] + boxes[:, 2:4], [left + width, top + height])
    kept = (end > start).all(1)
    made = boxes[kept]
    made[:, :2] = start[kept] - [left, top]
    made[:, 2:4] = (end - start)[kept]
    if not len(made):
        made = np.zeros((1, boxes.shape[1]), boxes.dtype)
    return Crop((top, left), (height, width))(image), made


class ResizeWithBBox:
    """Another size of the image and of the boxes.

    Args:
        size: (height, width), or one number for the shorter side.
        interpolation: as of :class:`Resize`.
    """

    def __init__(self, size: Any, interpolation: Inter = Inter.BILINEAR) -> None:
        self.resize = Resize(size, interpolation)

    def __call__(self, data: Any, boxes: Any) -> tuple[Any, Any]:
        image, found = _checked(data, boxes)
        made = self.resize(image)
        return made, _scaled(found, image, made)


def _scaled(boxes: Any, before: Any, after: Any) -> Any:
    high, wide = (n / m for n, m in zip(after.shape[:2], before.shape[:2], strict=True))
    boxes[:, :4] = boxes[:, :4] * [wide, high, wide, high]
    return boxes


class RandomResizeWithBBox:
    """:class:`ResizeWithBBox` with a random interpolation.

    Args:
        size: (height, width), or one number for the shorter side.
    """

    def __init__(self, size: Any) -> None:
        self.size = size
        as_pair(size)

    def __call__(self, data: Any, boxes: Any) -> tuple[Any, Any]:
        modes = (Inter.NEAREST, Inter.LINEAR, Inter.CUBIC)
        return ResizeWithBBox(self.size, modes[int(draw().randint(3))])(data, boxes)


class _RandomFlip:
    """An axis turned round with a probability."""

    flip: Any
    axis: int  # of a box; that of the image is the other

    def __init__(self, prob: float = 0.5) -> None:
        self.prob = checked_chance(prob)

    def __call__(self, data: Any, boxes: Any) -> tuple[Any, Any]:
        image, found = _checked(data, boxes)
        if draw().random_sample() >= self.prob:
            return image, found
        axis = self.axis
        found[:, axis] = image.shape[1 - axis] - found[:, axis] - found[:, axis + 2]
        return self.flip(image), found


class RandomHorizontalFlipWithBBox(_RandomFlip):
    """Left and right exchanged with probability ``prob``."""

    flip, axis = HorizontalFlip(), 0


class RandomVerticalFlipWithBBox(_RandomFlip):
    """Top and bottom exchanged with probability ``prob``."""

    flip, axis = VerticalFlip(), 1


class RandomCropWithBBox:
    """A part of the size given from a random place, of the image with ``padding`` around.

    Args:
        size: (height, width), or one number for both.
        padding: as of :class:`Pad`.
        pad_if_needed: fill up images that are too small; otherwise they raise.
        fill_value, padding_mode: as of :class:`Pad`.
    """

    def __init__(
        self, size: Any, padding: Any = None, pad_if_needed: bool = False, fill_value: Any = 0,
        padding_mode: str = "constant",
    ) -> None:  # fmt: skip
        self.size, self.pad_if_needed = as_pair(size), pad_if_needed
        self.fill, self.mode, self.padding = fill_value, padding_mode, padding

    def _padded(self, image: Any, boxes: Any, padding: Any) -> tuple[Any, Any]:
        around = Pad(padding, self.fill, self.mode)
        boxes[:, :2] += around.padding[:2]
        return around(image), boxes

    def __call__(self, data: Any, boxes: Any) -> tuple[Any, Any]:
        image, found = _checked(data, boxes)
        if self.padding is not None:
            image, found = self._padded(image, found, self.padding)
        missing = [max(n - m, 0) for n, m in zip(self.size, image.shape, strict=False)]
        if any(missing):
            if not self.pad_if_needed:
                raise RuntimeError(f"a part {self.size} of an image {image.shape[:2]}")
            image, found = self._padded(image, found, (missing[1], missing[0]))
        height, width = self.size
        top, left = (
            int(draw().randint(m - n + 1)) for n, m in zip(self.size, image.shape, strict=False)
        )
        return _cropped(image, found, (top, left, height, width))


class RandomResizedCropWithBBox:
    """A random part of the image in the size given.

    Args:
        size: (height, width), or one number for both.
        scale, ratio, interpolation, max_attempts: as of :class:`RandomResizedCrop`.
    """

    def __init__(
        self, size: Any, scale: Any = (0.08, 1.0), ratio: Any = (3.0 / 4, 4.0 / 3),
        interpolation: Inter = Inter.BILINEAR, max_attempts: int = 10,
    ) -> None:  # fmt: skip
        self.crop = RandomResizedCrop(size, scale, ratio, interpolation, max_attempts)

    def __call__(self, data: Any, boxes: Any) -> tuple[Any, Any]:
        image, found = _checked(data, boxes)
        part, kept = _cropped(image, found, self.crop.part(*image.shape[:2]))
        made = Resize(self.crop.size, self.crop.interpolation)(part)
        return made, _scaled(kept, part, made)


class BoundingBoxAugment:
    """An operation on what is in some of the boxes.

    Args:
        transform: keeps the size of an image.
        ratio: share of the boxes, drawn at random; at least one.
    """

    def __init__(self, transform: Any, ratio: float = 0.3) -> None:
        if not callable(transform):
            raise TypeError(f"transform should be an operation, but got {transform!r}")
        self.transform, self.ratio = transform, checked_chance(ratio)

    def __call__(self, data: Any, boxes: Any) -> tuple[Any, Any]:
        image, found = _checked(data, boxes)
        made = np.array(image)
        count = max(int(len(found) * self.ratio), 1)
        for place in draw().choice(len(found), count, replace=False):
            x, y, width, height = (int(v) for v in found[place, :4])
            if width and height:
                inner = made[y : y + height, x : x + width]
                made[y : y + height, x : x + width] = self.transform(np.ascontiguousarray(inner))
        return made, found
