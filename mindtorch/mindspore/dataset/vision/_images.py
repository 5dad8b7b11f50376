"""Operations on images: arrays (height, width, channels) unless they say otherwise."""

from __future__ import annotations

import enum
import functools
import io
from collections.abc import Sequence
from typing import Any

import numpy as np

from mindtorch import torch
from mindtorch.engine.image_bytes import resize_linear

from ...common.dtype import as_dtype
from .._random import draw

try:
    import simplejpeg
except ImportError:  # Pillow decodes these files too, to the same bytes
    simplejpeg = None

__all__ = [
    "HWC2CHW",
    "Border",
    "CenterCrop",
    "Crop",
    "Decode",
    "Grayscale",
    "HorizontalFlip",
    "Inter",
    "Normalize",
    "Pad",
    "RandomCrop",
    "RandomHorizontalFlip",
    "RandomVerticalFlip",
    "Rescale",
    "Resize",
    "ToPIL",
    "ToTensor",
    "VerticalFlip",
]  # fmt: skip


class Inter(enum.IntEnum):
    """How values between pixels are found."""

    NEAREST = 0
    ANTIALIAS = 1
    LINEAR = 2
    BILINEAR = 2
    CUBIC = 3
    BICUBIC = 3
    AREA = 4
    PILCUBIC = 5


class Border(enum.StrEnum):
    """What is around an image."""

    CONSTANT = "constant"
    EDGE = "edge"
    REFLECT = "reflect"
    SYMMETRIC = "symmetric"


def as_pair(size: Any) -> tuple[int, int]:
    pair = (size, size) if isinstance(size, int) else tuple(size)
    if len(pair) != 2 or any(n < 1 for n in pair):
        raise ValueError(f"size should be one or two positive ints, but got {size}")
    return pair


def pillow() -> Any:
    try:
        from PIL import Image
    except ImportError:
        raise ImportError("decoding and bicubic resizing of images need Pillow") from None
    return Image


def as_image(data: Any) -> Any:
    array = np.asarray(data)
    if array.ndim not in (2, 3):
        raise RuntimeError(f"an image has 2 or 3 axes, but got shape {array.shape}")
    return array


_JPEG = [0xFF, 0xD8, 0xFF]


class Decode:
    """The picture (height, width, 3) of the bytes of a file.

    JPEG files go through simplejpeg where it is installed, with the same bytes as Pillow's.
    """

    is_heavy = True

    def __init__(self, to_pil: bool = False) -> None:
        self.to_pil = to_pil

    def __call__(self, data: Any) -> Any:
        content = np.ascontiguousarray(data, np.uint8)
        if not self.to_pil and simplejpeg is not None and content[:3].tolist() == _JPEG:
            try:
                if simplejpeg.decode_jpeg_header(content)[2] in ("YCbCr", "RGB", "Gray"):
                    return simplejpeg.decode_jpeg(content)
            except ValueError:
                """Pillow reads more kinds, and its error says what is wrong."""
        image = pillow().open(io.BytesIO(content.tobytes())).convert("RGB")
        return image if self.to_pil else np.asarray(image)


class ToPIL:
    """A picture of Pillow's."""

    def __call__(self, data: Any) -> Any:
        return pillow().fromarray(np.asarray(data))


class Rescale:
    """x rescale + shift, float32."""

    def __init__(self, rescale: float, shift: float) -> None:
        self.rescale, self.shift = np.float32(rescale), np.float32(shift)

    def __call__(self, data: Any) -> Any:
        return np.asarray(data).astype(np.float32) * self.rescale + self.shift


class Normalize:
    """(x - mean) / std for each channel, float32.

    Args:
        is_hwc: channels are the last axis, not the first.
    """

    def __init__(self, mean: Sequence[float], std: Sequence[float], is_hwc: bool = True) -> None:
        self.mean, self.std = (np.atleast_1d(np.asarray(v, np.float32)) for v in (mean, std))
        if self.mean.shape != self.std.shape or (self.std == 0).any():
            raise ValueError("Length of mean and std must be equal, and std must not be 0.")
        self.is_hwc = is_hwc

    def __call__(self, data: Any) -> Any:
        image = as_image(data).astype(np.float32)
        channels = 1 if image.ndim == 2 else image.shape[-1 if self.is_hwc else 0]
        if self.mean.size not in (1, channels):
            raise RuntimeError(f"{self.mean.size} means for {channels} channels")
        shape = (-1,) if self.is_hwc or image.ndim == 2 else (-1, 1, 1)
        return (image - self.mean.reshape(shape)) / self.std.reshape(shape)


class HWC2CHW:
    """Channels first."""

    def __call__(self, data: Any) -> Any:
        image = as_image(data)
        return image if image.ndim == 2 else np.ascontiguousarray(image.transpose(2, 0, 1))


class ToTensor:
    """Channels first, values over 255."""

    def __init__(self, output_type: Any = np.float32) -> None:
        self.type = as_dtype(output_type).np

    def __call__(self, data: Any) -> Any:
        image = as_image(data)
        image = image[..., None] if image.ndim == 2 else image
        return np.ascontiguousarray(image.transpose(2, 0, 1) / np.float32(255)).astype(self.type)


def _between(size: int, target: int) -> tuple[Any, Any]:
    """For each new place the old one before it, and the share of the next in 2048ths."""
    place = ((np.arange(target) + 0.5) * (size / target) - 0.5).astype(np.float32)
    before = np.floor(place).astype(np.int64)
    return before, place - before.astype(np.float32)


@functools.lru_cache(maxsize=256)
def _axis(size: int, target: int, begin: int, length: int, is_row: bool) -> tuple[Any, Any]:
    """(places before and after, their weights in 2048ths) of ``length`` new places."""
    before, share = _between(size, target)
    if is_row:
        places = np.stack([before.clip(0, size - 1), (before + 1).clip(0, size - 1)])
    else:
        share[(before < 0) | (before >= size - 1)] = 0
        before = before.clip(0, size - 1)
        places = np.stack([before, np.minimum(before + 1, size - 1)])
    weights = np.rint(np.stack([1 - share, share]) * np.float32(2048))
    part = slice(begin, begin + length)
    return (np.ascontiguousarray(places[:, part], np.int32),
            np.ascontiguousarray(weights[:, part], np.int32))  # fmt: skip


def _linear_bytes(image: Any, target: tuple[int, int], start: tuple[int, int], size: Any) -> Any:
    """A part of the image in another size: linear interpolation in whole numbers, cut off where
    MindSpore's images (OpenCV) are."""
    height, width = image.shape[:2]
    (top, left), (high, wide) = start, size
    shaped = np.ascontiguousarray(image).reshape(height, width, -1)
    if (height, width) == (2 * target[0], 2 * target[1]):  # the mean of four
        inner = shaped[2 * top : 2 * (top + high), 2 * left : 2 * (left + wide)].astype(np.int64)
        parts = inner[::2, ::2] + inner[1::2, ::2] + inner[::2, 1::2] + inner[1::2, 1::2]
        return ((parts + 2) >> 2).astype(np.uint8).reshape(high, wide, *image.shape[2:])
    columns = _axis(width, target[1], left, wide, False)
    rows = _axis(height, target[0], top, high, True)
    return resize_linear(shaped, columns, rows).reshape(high, wide, *image.shape[2:])


class Resize:
    """Another size: (height, width), or one number for the shorter side.

    Values are found at the centres of the new pixels, bilinear unless asked otherwise, without
    smoothing beforehand.
    """

    def __init__(self, size: Any, interpolation: Inter = Inter.LINEAR) -> None:
        self.size, self.interpolation = size, Inter(interpolation)
        as_pair(size)
        if self.interpolation not in (Inter.NEAREST, Inter.LINEAR, Inter.CUBIC):
            raise NotImplementedError(f"Resize(interpolation={self.interpolation!s}) is not "
                                      "implemented")  # fmt: skip

    def target(self, image: Any) -> tuple[int, int]:
        """The new (height, width) of an image."""
        if not isinstance(self.size, int):
            return as_pair(self.size)
        height, width = image.shape[:2]
        short = min(height, width)
        return height * self.size // short, width * self.size // short

    def by_bytes(self, image: Any, target: tuple[int, int]) -> bool:
        """Whether :meth:`part` can make the image."""
        linear = self.interpolation is Inter.LINEAR and image.dtype == np.uint8
        return linear and image.shape[:2] != target

    def part(self, image: Any, target: tuple[int, int], start: Any, size: Any) -> Any:
        """Only ``size`` of the image of the new size, from (top, left) ``start``."""
        return _linear_bytes(image, target, start, size)

    def __call__(self, data: Any) -> Any:
        image = as_image(data)
        target = self.target(image)
        if target == image.shape[:2]:
            return image
        if self.by_bytes(image, target):
            return self.part(image, target, (0, 0), target)
        shaped = image[..., None] if image.ndim == 2 else image
        batch = torch.from_numpy(np.ascontiguousarray(shaped.transpose(2, 0, 1))[None]).float()
        mode = {Inter.NEAREST: "nearest", Inter.LINEAR: "bilinear", Inter.CUBIC: "bicubic"}
        align = None if self.interpolation is Inter.NEAREST else False
        made = torch.nn.functional.interpolate(
            batch, size=target, mode=mode[self.interpolation], align_corners=align
        )
        result = made.numpy()[0].transpose(1, 2, 0).reshape(*target, *image.shape[2:])
        if image.dtype.kind == "f":
            return result.astype(image.dtype)
        limits = np.iinfo(image.dtype)
        return np.clip(np.rint(result), limits.min, limits.max).astype(image.dtype)


class Crop:
    """A part of the size given, from (top, left)."""

    def __init__(self, coordinates: Sequence[int], size: Any) -> None:
        self.coordinates, self.size = tuple(coordinates), as_pair(size)

    def __call__(self, data: Any) -> Any:
        image = as_image(data)
        (top, left), (height, width) = self.coordinates, self.size
        if top + height > image.shape[0] or left + width > image.shape[1]:
            raise RuntimeError(f"a part {self.size} from {self.coordinates} leaves the image")
        return np.ascontiguousarray(image[top : top + height, left : left + width])


class CenterCrop:
    """The middle of the size given; around smaller images zeros are put."""

    def __init__(self, size: Any) -> None:
        self.size = as_pair(size)

    def __call__(self, data: Any) -> Any:
        image = as_image(data)
        spare = [max(n - m, 0) for n, m in zip(self.size, image.shape, strict=False)]
        if any(spare):
            ends = [(n // 2, n - n // 2) for n in spare] + [(0, 0)] * (image.ndim - 2)
            image = np.pad(image, ends)
        top, left = ((m - n) // 2 for n, m in zip(self.size, image.shape, strict=False))
        return Crop((top, left), self.size)(image)


_PADDING_MODES = {"constant": "constant", "edge": "edge", "reflect": "reflect",
                  "symmetric": "symmetric"}  # fmt: skip


def _padding(padding: Any) -> tuple[int, int, int, int]:
    """(left, top, right, bottom)."""
    given = (padding,) if isinstance(padding, int) else tuple(padding)
    if len(given) == 1:
        given = given * 4
    elif len(given) == 2:
        given = given * 2
    if len(given) != 4 or any(n < 0 for n in given):
        raise ValueError(f"padding should be 1, 2 or 4 numbers, but got {padding}")
    return given


class Pad:
    """Pixels around: one number, (left and right, top and bottom), or (left, top, right, bottom).

    Args:
        padding_mode: "constant" (``fill_value``), "edge", "reflect" or "symmetric".
    """

    def __init__(self, padding: Any, fill_value: Any = 0, padding_mode: str = "constant") -> None:
        self.padding, self.fill = _padding(padding), fill_value
        self.mode = _PADDING_MODES[str(getattr(padding_mode, "value", padding_mode)).lower()]

    def __call__(self, data: Any) -> Any:
        image = as_image(data)
        left, top, right, bottom = self.padding
        ends = [(top, bottom), (left, right)] + [(0, 0)] * (image.ndim - 2)
        if self.mode == "constant":
            return np.pad(image, ends, constant_values=self.fill)
        mode: Any = self.mode
        return np.pad(image, ends, mode=mode)


class RandomCrop:
    """A part of the size given, from a random place, of the image with ``padding`` around.

    Args:
        pad_if_needed: fill up images that are too small; otherwise they raise.
    """

    def __init__(
        self, size: Any, padding: Any = None, pad_if_needed: bool = False, fill_value: Any = 0,
        padding_mode: str = "constant",
    ) -> None:  # fmt: skip
        self.size, self.pad_if_needed = as_pair(size), pad_if_needed
        self.fill, self.mode = fill_value, padding_mode
        self.around = None if padding is None else Pad(padding, fill_value, padding_mode)

    def __call__(self, data: Any) -> Any:
        image = as_image(data) if self.around is None else self.around(data)
        (height, width), (have_h, have_w) = self.size, image.shape[:2]
        if have_h < height or have_w < width:
            if not self.pad_if_needed:
                raise RuntimeError(f"a part {self.size} of an image {image.shape[:2]}")
            missing = max(width - have_w, 0), max(height - have_h, 0)
            image = Pad(missing, self.fill, self.mode)(image)
            have_h, have_w = image.shape[:2]
        top, left = (draw().randint(n + 1) for n in (have_h - height, have_w - width))
        return Crop((top, left), self.size)(image)


class HorizontalFlip:
    """Left and right exchanged."""

    def __call__(self, data: Any) -> Any:
        return np.ascontiguousarray(as_image(data)[:, ::-1])


class VerticalFlip:
    """Top and bottom exchanged."""

    def __call__(self, data: Any) -> Any:
        return np.ascontiguousarray(as_image(data)[::-1])


class RandomHorizontalFlip:
    """Left and right exchanged with probability ``prob``."""

    def __init__(self, prob: float = 0.5) -> None:
        if not 0 <= prob <= 1:
            raise ValueError(f"prob should be in [0, 1], but got {prob}")
        self.prob = prob

    def __call__(self, data: Any) -> Any:
        return HorizontalFlip()(data) if draw().random_sample() < self.prob else data


class RandomVerticalFlip(RandomHorizontalFlip):
    """Top and bottom exchanged with probability ``prob``."""

    def __call__(self, data: Any) -> Any:
        return VerticalFlip()(data) if draw().random_sample() < self.prob else data


class Grayscale:
    """0.299 red + 0.587 green + 0.114 blue, in ``num_output_channels`` equal channels."""

    def __init__(self, num_output_channels: int = 1) -> None:
        if num_output_channels not in (1, 3):
            raise ValueError(f"num_output_channels should be 1 or 3: {num_output_channels}")
        self.count = num_output_channels

    def __call__(self, data: Any) -> Any:
        image = as_image(data)
        gray = np.rint(image @ np.array([0.299, 0.587, 0.114])).astype(image.dtype)
        return gray if self.count == 1 else np.repeat(gray[..., None], 3, -1)
