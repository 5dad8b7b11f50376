"""Images of a batch mixed with each other, and images cut into patches."""

from __future__ import annotations

import enum
import itertools
from typing import Any

import numpy as np

from .._random import draw
from ._geometry import checked_chance
from ._images import as_image

__all__ = [
    "CutMixBatch", "ImageBatchFormat", "LinearTransformation", "MixUp", "MixUpBatch", "SliceMode",
    "SlicePatches",
]  # fmt: skip


class ImageBatchFormat(enum.IntEnum):
    """Where the channels of a batch are."""

    NHWC, NCHW = range(2)


class SliceMode(enum.IntEnum):
    """What is done with pixels that fill no patch: more are put beside them, or they are left."""

    PAD, DROP = range(2)


class SlicePatches:
    """A grid of parts of one size, row by row: as many images.

    Args:
        num_height, num_width: how many rows and columns.
        slice_mode: a :class:`SliceMode`.
        fill_value: of pixels that are put beside.
    """

    def __init__(
        self, num_height: int = 1, num_width: int = 1, slice_mode: SliceMode = SliceMode.PAD,
        fill_value: int = 0,
    ) -> None:  # fmt: skip
        if num_height < 1 or num_width < 1:
            raise ValueError(f"num_height {num_height}, num_width {num_width} should be positive")
        self.counts, self.mode, self.fill = (num_height, num_width), slice_mode, fill_value

    def __call__(self, data: Any) -> Any:
        image = as_image(data)
        pairs = list(zip(image.shape, self.counts, strict=False))
        if any(n < m for n, m in pairs):
            raise RuntimeError(f"{self.counts} patches of an image {image.shape[:2]}")
        if self.mode is SliceMode.PAD:
            sizes = [-(-n // m) for n, m in pairs]
            ends = [(0, s * m - n) for s, (n, m) in zip(sizes, pairs, strict=True)]
            ends += [(0, 0)] * (image.ndim - 2)
            image = np.pad(image, ends, constant_values=self.fill)
        else:
            sizes = [n // m for n, m in pairs]
        high, wide = sizes
        parts = tuple(
            np.ascontiguousarray(image[r * high : (r + 1) * high, c * wide : (c + 1) * wide])
            for r, c in itertools.product(*map(range, self.counts))
        )
        return parts if len(parts) > 1 else parts[0]


class LinearTransformation:
    """(x - mean_vector) @ transformation_matrix of all elements of an image (channel, height,
    width).

    Args:
        transformation_matrix: square.
        mean_vector: as long.
    """

    def __init__(self, transformation_matrix: Any, mean_vector: Any) -> None:
        self.matrix, self.mean = np.asarray(transformation_matrix), np.asarray(mean_vector)
        if self.matrix.ndim != 2 or self.matrix.shape[0] != self.matrix.shape[1]:
            raise ValueError("transformation_matrix should be a square matrix. "
                             f"Got shape {self.matrix.shape} instead")  # fmt: skip
        if self.mean.shape != self.matrix.shape[:1]:
            raise ValueError(f"mean_vector length {self.mean.shape} should match either one "
                             f"dimension of the square transformation_matrix {self.matrix.shape}.")

    def __call__(self, data: Any) -> Any:
        image = np.asarray(data)
        if image.size != self.matrix.shape[0]:
            raise ValueError(f"transformation_matrix shape {self.matrix.shape} not compatible with "
                             f"Numpy image shape {image.shape}.")  # fmt: skip
        return ((image.reshape(1, -1) - self.mean) @ self.matrix).reshape(image.shape)


def _batch(images: Any, labels: Any) -> tuple[Any, Any]:
    """(images of four axes, labels of two or three).

    Raises:
        RuntimeError: they are not.
    """
    pictures, marks = np.asarray(images), np.asarray(labels)
    if pictures.ndim != 4 or marks.ndim not in (2, 3) or len(pictures) != len(marks):
        raise RuntimeError(
            "a batch of images (4 axes) and labels in one-hot rows is needed, but got "
            f"{pictures.shape} and {marks.shape}"
        )
    return pictures, marks


class MixUpBatch:
    """a x + (1 - a) y of images and labels, y another one of the batch; a is drawn from a beta
    distribution, once for a batch.

    Args:
        alpha: of the beta distribution, both parameters.
    """

    def __init__(self, alpha: float = 1.0) -> None:
        if not alpha > 0:
            raise ValueError(f"alpha should be positive, but got {alpha}")
        self.alpha = alpha

    def __call__(self, images: Any, labels: Any) -> tuple[Any, Any]:
        pictures, marks = _batch(images, labels)
        share = np.float32(draw().beta(self.alpha, self.alpha))
        order = draw().permutation(len(pictures))
        mixed = share * pictures + (1 - share) * pictures[order]
        return mixed.astype(pictures.dtype), (share * marks + (1 - share) * marks[order]).astype(
            np.float32
        )


class CutMixBatch:
    """A random part of each image taken from another one of the batch; labels in proportion.

    Args:
        image_batch_format: a :class:`ImageBatchFormat`.
        alpha: of the beta distribution of the share that stays, both parameters.
        prob: of a change.
    """

    def __init__(
        self, image_batch_format: ImageBatchFormat, alpha: float = 1.0, prob: float = 1.0
    ) -> None:
        if not isinstance(image_batch_format, ImageBatchFormat):
            raise TypeError(f"an ImageBatchFormat is needed, but got {image_batch_format!r}")
        if not alpha > 0:
            raise ValueError(f"alpha should be positive, but got {alpha}")
        self.first = image_batch_format is ImageBatchFormat.NCHW
        self.alpha, self.prob = alpha, checked_chance(prob)

    def __call__(self, images: Any, labels: Any) -> tuple[Any, Any]:
        pictures, marks = _batch(images, labels)
        if draw().random_sample() >= self.prob:
            return pictures, marks.astype(np.float32)
        share = draw().beta(self.alpha, self.alpha)
        order = draw().permutation(len(pictures))
        height, width = pictures.shape[2:] if self.first else pictures.shape[1:3]
        high, wide = (int(n * np.sqrt(1 - share)) for n in (height, width))
        y, x = int(draw().randint(height)), int(draw().randint(width))
        rows = slice(max(y - high // 2, 0), min(y + high // 2, height))
        columns = slice(max(x - wide // 2, 0), min(x + wide // 2, width))
        part = (slice(None),) * (2 if self.first else 1) + (rows, columns)
        made = np.array(pictures)
        made[part] = pictures[order][part]
        taken = (rows.stop - rows.start) * (columns.stop - columns.start) / (height * width)
        mixed = (1 - taken) * marks + taken * marks[order]
        return made, mixed.astype(np.float32)


class MixUp:
    """:class:`MixUpBatch` with a number for each image, and the neighbour or the last batch.

    Args:
        batch_size: of the batches.
        alpha: of the beta distribution, both parameters.
        is_single: mix with the next image of the batch, the last with the first; otherwise with
            what came of the batch before, which needs rows that are made in turn.
    """

    def __init__(self, batch_size: int, alpha: float, is_single: bool = True) -> None:
        if batch_size < 1 or not alpha > 0:
            raise ValueError(f"batch_size {batch_size} and alpha {alpha} should be positive")
        self.count, self.alpha, self.single = batch_size, alpha, is_single
        self.before: tuple[Any, Any] | None = None

    def __call__(self, images: Any, labels: Any) -> tuple[Any, Any]:
        pictures, marks = _batch(images, labels)
        if len(pictures) != self.count:
            raise RuntimeError(f"a batch of {len(pictures)} images, batch_size is {self.count}")
        share = draw().beta(self.alpha, self.alpha, self.count)
        if self.single:
            others = np.roll(pictures, -1, 0), np.roll(marks, -1, 0)
        elif self.before is None:
            others = pictures, marks
        else:
            others = self.before
        made = []
        for values, other in zip((pictures, marks), others, strict=True):
            each = share.reshape(-1, *([1] * (values.ndim - 1)))
            made.append(each * values + (1 - each) * other)
        if not self.single:
            self.before = made[0], made[1]
        return made[0], made[1]
