"""More operations on images (height, width, channels) of bytes: colours, parts, holes."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from .._random import draw
from ._images import Crop, Grayscale, Inter, Resize, as_image, as_pair

__all__ = [
    "AdjustBrightness", "AdjustContrast", "AdjustSaturation", "CutOut", "Invert", "Posterize",
    "RandomColorAdjust", "RandomGrayscale", "RandomResizedCrop", "ResizedCrop", "Solarize",
]  # fmt: skip


def as_colours(data: Any) -> Any:
    image = as_image(data)
    if image.ndim != 3 or image.shape[2] != 3 or image.dtype != np.uint8:
        raise RuntimeError(f"a picture (height, width, 3) of bytes, but got {image.shape} "
                           f"{image.dtype}")  # fmt: skip
    return image


def as_bytes(values: Any) -> Any:
    return np.clip(np.rint(values), 0, 255).astype(np.uint8)


def checked_factor(name: str, value: float) -> float:
    if not isinstance(value, (int, float)) or value < 0:
        raise ValueError(f"{name} should be a number >= 0, but got {value!r}")
    return float(value)


class Invert:
    """255 - x."""

    def __call__(self, data: Any) -> Any:
        return 255 - as_colours(data)


class Solarize:
    """255 - x where x is between two thresholds, or not below one (also when both are equal)."""

    def __init__(self, threshold: Any) -> None:
        low, high = (threshold, threshold) if isinstance(threshold, (int, float)) else threshold
        if not 0 <= low <= high <= 255:
            raise ValueError(f"threshold should be within 0 and 255, but got {threshold}")
        self.low, self.high = low, 255 if low == high else high

    def __call__(self, data: Any) -> Any:
        image = as_image(data)
        return np.where((image >= self.low) & (image <= self.high), 255 - image, image)


class Posterize:
    """The highest ``bits`` bits of each value."""

    def __init__(self, bits: int) -> None:
        if not isinstance(bits, int) or not 0 <= bits <= 8:
            raise ValueError(f"bits should be within 0 and 8, but got {bits!r}")
        self.mask = np.uint8(0xFF & ~(2 ** (8 - bits) - 1))

    def __call__(self, data: Any) -> Any:
        return as_image(data) & self.mask


class AdjustBrightness:
    """x times ``brightness_factor``."""

    def __init__(self, brightness_factor: float) -> None:
        self.factor = checked_factor("brightness_factor", brightness_factor)

    def __call__(self, data: Any) -> Any:
        return as_bytes(as_colours(data) * np.float32(self.factor))


class AdjustContrast:
    """Between the mean grey (factor 0) and the picture (1), and beyond."""

    def __init__(self, contrast_factor: float) -> None:
        self.factor = checked_factor("contrast_factor", contrast_factor)

    def __call__(self, data: Any) -> Any:
        image = as_colours(data)
        mean = int(Grayscale()(image).mean() + 0.5)
        return as_bytes(mean + (image.astype(np.float32) - mean) * np.float32(self.factor))


class AdjustSaturation:
    """Between the picture in greys (factor 0) and as it is (1), and beyond."""

    def __init__(self, saturation_factor: float) -> None:
        self.factor = checked_factor("saturation_factor", saturation_factor)

    def __call__(self, data: Any) -> Any:
        image = as_colours(data)
        grey = Grayscale()(image)[..., None].astype(np.float32)
        return as_bytes(grey + (image - grey) * np.float32(self.factor))


class RandomColorAdjust:
    """Brightness, contrast and saturation by random factors, in random order.

    Args:
        brightness, contrast, saturation: a number f for factors of max(0, 1 - f) to 1 + f, or the
            two limits.
        hue: (0, 0) only.
    """

    def __init__(
        self, brightness: Any = (1, 1), contrast: Any = (1, 1), saturation: Any = (1, 1),
        hue: Any = (0, 0),
    ) -> None:  # fmt: skip
        if hue not in (0, (0, 0), [0, 0]):
            raise NotImplementedError("RandomColorAdjust(hue=...): hues are not changed")
        self.ranges = [
            (kind, self._limits(value))
            for kind, value in (
                (AdjustBrightness, brightness), (AdjustContrast, contrast),
                (AdjustSaturation, saturation),
            )
        ]  # fmt: skip

    @staticmethod
    def _limits(value: Any) -> tuple[float, float]:
        low, high = (
            (max(0.0, 1 - value), 1.0 + value) if isinstance(value, (int, float)) else value
        )
        if not 0 <= low <= high:
            raise ValueError(f"limits of a factor should be rising and >= 0, but got {value}")
        return float(low), float(high)

    def __call__(self, data: Any) -> Any:
        for place in draw().permutation(len(self.ranges)):
            kind, (low, high) = self.ranges[place]
            data = kind(draw().uniform(low, high))(data)
        return data


class RandomGrayscale:
    """The picture in greys, in as many channels, with probability ``prob``."""

    def __init__(self, prob: float = 0.1) -> None:
        if not 0 <= prob <= 1:
            raise ValueError(f"prob should be in [0, 1], but got {prob}")
        self.prob = prob

    def __call__(self, data: Any) -> Any:
        return Grayscale(3)(as_colours(data)) if draw().random_sample() < self.prob else data


class ResizedCrop:
    """A part of the picture in another size."""

    def __init__(
        self, top: int, left: int, height: int, width: int, size: Any,
        interpolation: Inter = Inter.BILINEAR,
    ) -> None:  # fmt: skip
        self.crop = Crop((top, left), (height, width))
        self.resize = Resize(size, interpolation)

    def __call__(self, data: Any) -> Any:
        return self.resize(self.crop(data))


class RandomResizedCrop:
    """A random part of the picture in the size given.

    Args:
        scale: limits of the part's share of the area.
        ratio: limits of its width over its height.
        max_attempts: after as many parts that do not fit the middle is taken.
    """

    def __init__(
        self, size: Any, scale: Any = (0.08, 1.0), ratio: Any = (3.0 / 4, 4.0 / 3),
        interpolation: Inter = Inter.BILINEAR, max_attempts: int = 10,
    ) -> None:  # fmt: skip
        self.size, self.scale, self.ratio = as_pair(size), tuple(scale), tuple(ratio)
        if not 0 <= self.scale[0] <= self.scale[1] or not 0 < self.ratio[0] <= self.ratio[1]:
            raise ValueError(f"limits should be rising: scale {scale}, ratio {ratio}")
        self.interpolation, self.attempts = interpolation, max_attempts

    def part(self, height: int, width: int) -> tuple[int, int, int, int]:
        """(top, left, height, width)."""
        for _ in range(self.attempts):
            area = height * width * draw().uniform(*self.scale)
            ratio = math.exp(draw().uniform(*np.log(self.ratio)))
            wide, high = round(math.sqrt(area * ratio)), round(math.sqrt(area / ratio))
            if 0 < wide <= width and 0 < high <= height:
                top = int(draw().randint(height - high + 1))
                return top, int(draw().randint(width - wide + 1)), high, wide
        wide = min(width, round(height * self.ratio[1]))
        high = min(height, round(width / self.ratio[0]))
        return (height - high) // 2, (width - wide) // 2, high, wide

    def __call__(self, data: Any) -> Any:
        image = as_image(data)
        part = self.part(*image.shape[:2])
        return ResizedCrop(*part, self.size, self.interpolation)(image)


class CutOut:
    """``num_patches`` random squares of ``length`` pixels are zero.

    Args:
        is_hwc: channels are the last axis, not the first.
    """

    def __init__(self, length: int, num_patches: int = 1, is_hwc: bool = True) -> None:
        if length < 1 or num_patches < 1:
            raise ValueError(f"length {length} and num_patches {num_patches} should be positive")
        self.length, self.count, self.is_hwc = length, num_patches, is_hwc

    def __call__(self, data: Any) -> Any:
        image = np.array(as_image(data))
        shown = image if self.is_hwc or image.ndim == 2 else image.transpose(1, 2, 0)
        half = self.length // 2
        for _ in range(self.count):
            y, x = (int(draw().randint(n)) for n in shown.shape[:2])
            shown[max(y - half, 0) : y + half, max(x - half, 0) : x + half] = 0
        return image
