"""Which operations an image goes through, drawn for each image; and several crops of one."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from .._random import draw
from ._images import CenterCrop, Crop, HorizontalFlip, VerticalFlip, as_image, as_pair

__all__ = [
    "FiveCrop", "RandomSelectSubpolicy", "TenCrop", "UniformAugment", "get_image_num_channels",
    "get_image_size",
]  # fmt: skip


def get_image_size(image: Any) -> list[int]:
    """[height, width] of an array or of Pillow's picture."""
    return list(as_image(image).shape[:2])


def get_image_num_channels(image: Any) -> int:
    """How many channels there are; 1 of an image of two axes."""
    shape = as_image(image).shape
    return int(shape[2]) if len(shape) == 3 else 1


class RandomSelectSubpolicy:
    """One of several lists of (operation, probability), each applied with its probability."""

    def __init__(self, policy: Sequence[Sequence[tuple[Any, float]]]) -> None:
        if not policy or any(not part for part in policy):
            raise ValueError("policy should be lists of pairs, none of them empty")
        for operation, prob in (pair for part in policy for pair in part):
            if not callable(operation) or not 0 <= prob <= 1:
                raise ValueError(f"({operation!r}, {prob!r}) is no operation with a probability")
        self.policy = [list(part) for part in policy]

    def __call__(self, data: Any) -> Any:
        for operation, prob in self.policy[int(draw().randint(len(self.policy)))]:
            if draw().random_sample() < prob:
                data = operation(data)
        return data


class UniformAugment:
    """``num_ops`` random operations of a list, each with a random probability."""

    def __init__(self, transforms: Sequence[Any], num_ops: int = 2) -> None:
        if not 0 < num_ops <= len(transforms):
            raise ValueError(f"num_ops should be in [1, {len(transforms)}], but got {num_ops}")
        self.transforms, self.count = list(transforms), num_ops

    def __call__(self, data: Any) -> Any:
        chosen = draw().choice(len(self.transforms), self.count, replace=False)
        for place in chosen:
            if draw().random_sample() < draw().random_sample():
                data = self.transforms[place](data)
        return data


class FiveCrop:
    """The four corners and the middle, of the size given: a tuple of five images."""

    def __init__(self, size: Any) -> None:
        self.size = as_pair(size)

    def __call__(self, data: Any) -> tuple[Any, ...]:
        image = as_image(data)
        down, right = (n - m for n, m in zip(image.shape, self.size, strict=False))
        corners = [(0, 0), (0, right), (down, 0), (down, right)]
        parts = [Crop(corner, self.size)(image) for corner in corners]
        return (*parts, CenterCrop(self.size)(image))


class TenCrop:
    """:class:`FiveCrop`, and the same of the mirrored image.

    Args:
        use_vertical_flip: exchange top and bottom instead of left and right.
    """

    def __init__(self, size: Any, use_vertical_flip: bool = False) -> None:
        self.crop = FiveCrop(size)
        self.flip: Any = VerticalFlip() if use_vertical_flip else HorizontalFlip()

    def __call__(self, data: Any) -> tuple[Any, ...]:
        image = np.asarray(data)
        return (*self.crop(image), *self.crop(self.flip(image)))
