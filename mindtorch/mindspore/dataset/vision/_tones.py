"""Operations on the values of pixels: histograms, sharpness, hues, and what draws them."""

from __future__ import annotations

import enum
from typing import Any

import numpy as np

from ...common.dtype import as_dtype
from .._random import draw
from ._colors import (
    AdjustSaturation,
    Invert,
    Posterize,
    RandomResizedCrop,
    Solarize,
    as_bytes,
    as_colours,
    checked_factor,
)
from ._geometry import checked_chance, range_of
from ._images import Decode, Grayscale, Inter, Normalize, Resize, as_image

__all__ = [
    "AdjustGamma", "AdjustHue", "AdjustSharpness", "AutoContrast", "ConvertColor", "ConvertMode",
    "Equalize", "GaussianBlur", "HsvToRgb", "NormalizePad", "RandomAdjustSharpness",
    "RandomAutoContrast", "RandomColor", "RandomCropDecodeResize", "RandomEqualize",
    "RandomInvert", "RandomLighting", "RandomPosterize", "RandomResize", "RandomSharpness",
    "RandomSolarize", "RgbToHsv", "ToNumpy", "ToType",
]  # fmt: skip


class ToNumpy:
    """The picture as an array."""

    def __call__(self, data: Any) -> Any:
        return np.asarray(data)


class ToType:
    """Values of another type."""

    def __init__(self, data_type: Any) -> None:
        self.type = as_dtype(data_type).np

    def __call__(self, data: Any) -> Any:
        return np.asarray(data).astype(self.type)


class NormalizePad:
    """:class:`Normalize`, and one more channel of zeros.

    Args:
        dtype: "float32" or "float16".
        is_hwc: channels are the last axis, not the first.
    """

    def __init__(self, mean: Any, std: Any, dtype: str = "float32", is_hwc: bool = True) -> None:
        if dtype not in ("float32", "float16"):
            raise ValueError(f"dtype should be float32 or float16, but got {dtype!r}")
        self.normal, self.type, self.axis = Normalize(mean, std, is_hwc), dtype, 2 if is_hwc else 0

    def __call__(self, data: Any) -> Any:
        image = self.normal(data).astype(self.type)
        ends = [(0, int(i == self.axis)) for i in range(3)]
        return np.pad(image, ends)


def _by_channel(data: Any, table: Any) -> Any:
    """Each channel of bytes through the table that ``table(its histogram)`` gives."""
    image = as_image(data)
    if image.dtype != np.uint8:
        raise RuntimeError(f"a picture of bytes, but got {image.dtype}")
    shaped = image[..., None] if image.ndim == 2 else image
    parts = [table(np.bincount(c.ravel(), minlength=256))[c] for c in np.moveaxis(shaped, 2, 0)]
    return np.stack(parts, 2).reshape(image.shape).astype(np.uint8)


class AutoContrast:
    """Each channel stretched over all values.

    Args:
        cutoff: per cent of the darkest and of the brightest pixels that do not count.
        ignore: values that do not count.
    """

    def __init__(self, cutoff: float = 0.0, ignore: Any = None) -> None:
        if not 0 <= cutoff < 50:
            raise ValueError(f"cutoff should be in [0, 50), but got {cutoff}")
        self.cutoff = cutoff
        self.ignore = [ignore] if isinstance(ignore, int) else list(ignore or ())

    def __call__(self, data: Any) -> Any:
        return _by_channel(data, self._table)

    def _table(self, counts: Any) -> Any:
        counts = counts.copy()
        counts[self.ignore] = 0
        cut = int(counts.sum() * self.cutoff / 100)
        for order in (range(256), range(255, -1, -1)):
            left = cut
            for i in order:
                taken = min(left, counts[i])
                counts[i] -= taken
                left -= taken
        held = np.flatnonzero(counts)
        if not held.size or held[0] == held[-1]:
            return np.arange(256)
        scale = np.float32(255) / np.float32(held[-1] - held[0])
        offset = -np.float32(held[0]) * scale
        return np.clip((np.arange(256, dtype=np.float32) * scale + offset).astype(int), 0, 255)


class Equalize:
    """Each channel with as even a histogram as can be."""

    def __call__(self, data: Any) -> Any:
        return _by_channel(data, self._table)

    @staticmethod
    def _table(counts: Any) -> Any:
        held = np.flatnonzero(counts)
        if held.size <= 1:
            return np.arange(256)
        above = np.cumsum(counts) - counts[held[0]]
        scale = np.float32(255) / np.float32(counts.sum() - counts[held[0]])
        return np.clip(np.rint(above.astype(np.float32) * scale), 0, 255)


class AdjustGamma:
    """``gain`` x ** gamma, of values from 0 to 1 (bytes over 255)."""

    def __init__(self, gamma: float, gain: float = 1.0) -> None:
        self.gamma, self.gain = checked_factor("gamma", gamma), gain

    def __call__(self, data: Any) -> Any:
        image = as_image(data)
        if image.dtype.kind == "f":
            return np.clip(image**self.gamma * self.gain, 0, 1).astype(image.dtype)
        table = (np.arange(256) / 255) ** self.gamma * (255.999 * self.gain)
        return np.clip(table, 0, 255).astype(np.uint8)[image]


class AdjustSharpness:
    """Between the smoothed picture (factor 0) and as it is (1), and beyond."""

    def __init__(self, sharpness_factor: float) -> None:
        self.factor = checked_factor("sharpness_factor", sharpness_factor)

    def __call__(self, data: Any) -> Any:
        image = as_image(data)
        smooth = image.astype(np.float32)
        inner = sum(
            (5 if i == j == 1 else 1) * smooth[i : smooth.shape[0] - 2 + i,
                                              j : smooth.shape[1] - 2 + j]
            for i in range(3) for j in range(3)
        )  # fmt: skip
        smooth = image.astype(np.float32)
        smooth[1:-1, 1:-1] = np.floor(inner / 13 + 0.5)
        return as_bytes(smooth + (image - smooth) * np.float32(self.factor))


class GaussianBlur:
    """The mean of the neighbours, weighed by a Gaussian.

    Args:
        kernel_size: odd, one number or (width, height).
        sigma: one number or two; 0.3 ((size - 1) / 2 - 1) + 0.8 when None or 0.
    """

    def __init__(self, kernel_size: Any, sigma: Any = None) -> None:
        sizes = (kernel_size,) * 2 if isinstance(kernel_size, int) else tuple(kernel_size)
        if any(n < 1 or n % 2 == 0 for n in sizes):
            raise ValueError(f"kernel_size should be odd and positive, but got {kernel_size}")
        widths = (sigma,) * 2 if sigma is None or isinstance(sigma, (int, float)) else tuple(sigma)
        self.kernels = [self._kernel(n, s) for n, s in zip(sizes, widths, strict=True)]

    @staticmethod
    def _kernel(size: int, sigma: float | None) -> Any:
        width = sigma or 0.3 * ((size - 1) * 0.5 - 1) + 0.8
        weights = np.exp(-((np.arange(size) - size // 2) ** 2) / (2 * width**2))
        return weights / weights.sum()

    def __call__(self, data: Any) -> Any:
        image = as_image(data)
        whole = image.dtype.kind != "f"
        values = image.astype(np.float64)
        for axis, weights in zip((1, 0), self.kernels, strict=True):
            kernel = _in_256ths(weights) if whole else weights
            reach = kernel.size // 2
            ends = [(reach, reach) if i == axis else (0, 0) for i in range(values.ndim)]
            framed = np.pad(values, ends, mode="reflect")
            length = values.shape[axis]
            values = sum(
                w * np.take(framed, range(i, i + length), axis) for i, w in enumerate(kernel)
            )
        return np.clip(np.floor(values + 0.5), 0, 255).astype(np.uint8) if whole else (
            values.astype(image.dtype)
        )


def _in_256ths(weights: Any) -> Any:
    """Symmetric weights as 256ths that add up to 1: what rounding takes from one the next gets."""
    rest, half = 0.0, []
    for weight in weights[: weights.size // 2]:
        half.append(np.rint(weight * 256 + rest))
        rest += weight * 256 - half[-1]
    return np.array([*half, 256 - 2 * sum(half), *half[::-1]]) / 256


def _to_hsv(rgb: Any) -> Any:
    """Hue, saturation and value, all from 0 to 1; channels last."""
    high, low = rgb.max(-1), rgb.min(-1)
    span = high - low
    safe = np.where(span == 0, 1, span)
    red, green, blue = ((high - rgb[..., i]) / safe for i in range(3))
    hue = np.where(rgb[..., 0] == high, blue - green,
                   np.where(rgb[..., 1] == high, 2 + red - blue, 4 + green - red))  # fmt: skip
    hue = np.where(span == 0, 0, hue / 6 % 1)
    return np.stack([hue, np.where(high == 0, 0, span / np.where(high == 0, 1, high)), high], -1)


def _to_rgb(hsv: Any) -> Any:
    """The inverse of :func:`_to_hsv`."""
    hue, saturation, value = (hsv[..., i] for i in range(3))
    sector = np.floor(hue * 6)
    part = hue * 6 - sector
    low = value * (1 - saturation)
    falling, rising = value * (1 - saturation * part), value * (1 - saturation * (1 - part))
    choice = (sector.astype(int) % 6)[..., None]
    options = [(value, rising, low), (falling, value, low), (low, value, rising),
               (low, falling, value), (rising, low, value), (value, low, falling)]  # fmt: skip
    return np.select([choice == i for i in range(6)], [np.stack(o, -1) for o in options])


class RgbToHsv:
    """Hue, saturation and value of red, green and blue from 0 to 1, float64.

    Args:
        is_hwc: channels are the last axis; otherwise the first of three or the second of four.
    """

    _convert: Any = staticmethod(_to_hsv)

    def __init__(self, is_hwc: bool = False) -> None:
        self.is_hwc = is_hwc

    def __call__(self, data: Any) -> Any:
        image = np.asarray(data)
        axis = -1 if self.is_hwc else -3
        if image.ndim not in (3, 4) or image.shape[axis] != 3:
            raise TypeError(f"img should have 3 channels, but got shape {image.shape}")
        made = self._convert(np.moveaxis(image, axis, -1).astype(np.float64))
        return np.ascontiguousarray(np.moveaxis(made, -1, axis))


class HsvToRgb(RgbToHsv):
    """Red, green and blue of hue, saturation and value, all from 0 to 1, float64.

    Args:
        is_hwc: as of :class:`RgbToHsv`.
    """

    _convert = staticmethod(_to_rgb)


class AdjustHue:
    """Hues moved by a share of the circle, from -0.5 to 0.5."""

    def __init__(self, hue_factor: float) -> None:
        if not -0.5 <= hue_factor <= 0.5:
            raise ValueError(f"hue_factor should be in [-0.5, 0.5], but got {hue_factor}")
        self.factor = hue_factor

    def __call__(self, data: Any) -> Any:
        image = as_colours(data).astype(np.int64)
        value = image.max(-1)
        span = value - image.min(-1)
        safe = np.where(span == 0, 1, span)
        red, green, blue = (image[..., i] for i in range(3))
        turn = np.where(value == red, green - blue,
                        np.where(value == green, blue - red + 2 * span, red - green + 4 * span))
        # whole numbers of 4096ths, as image libraries of bytes have it; a circle is 256 long
        hue = (turn * np.where(span == 0, 0, np.rint((256 << 12) / (6.0 * safe))) + 2048) // 4096
        parts = np.where(value == 0, 0, np.rint((255 << 12) / np.where(value == 0, 1, value)))
        hue = (hue.astype(np.int64) % 256 + int(self.factor * 255)) % 256
        saturation = (span * parts + 2048) // 4096
        return as_bytes(_to_rgb(np.stack([hue, saturation, value], -1) / 255) * 255)


class ConvertMode(enum.IntEnum):
    """Which colours become which."""

    COLOR_BGR2BGRA = 0
    COLOR_RGB2RGBA = 0
    COLOR_BGRA2BGR = 1
    COLOR_RGBA2RGB = 1
    COLOR_BGR2RGBA = 2
    COLOR_RGB2BGRA = 2
    COLOR_RGBA2BGR = 3
    COLOR_BGRA2RGB = 3
    COLOR_BGR2RGB = 4
    COLOR_RGB2BGR = 4
    COLOR_BGRA2RGBA = 5
    COLOR_RGBA2BGRA = 5
    COLOR_BGR2GRAY = 6
    COLOR_RGB2GRAY = 7
    COLOR_GRAY2BGR = 8
    COLOR_GRAY2RGB = 8
    COLOR_GRAY2BGRA = 9
    COLOR_GRAY2RGBA = 9
    COLOR_BGRA2GRAY = 10
    COLOR_RGBA2GRAY = 11


class ConvertColor:
    """Channels exchanged, added, left out, or made grey.

    Args:
        convert_mode: a :class:`ConvertMode`.
    """

    def __init__(self, convert_mode: ConvertMode) -> None:
        self.mode = ConvertMode(convert_mode)

    def __call__(self, data: Any) -> Any:
        image = as_image(data)
        before, after = self.mode.name.removeprefix("COLOR_").split("2")
        if before != "GRAY" and (image.ndim != 3 or image.shape[2] != len(before)):
            raise RuntimeError(f"{self.mode.name} of an image {image.shape}")
        if after == "GRAY":
            colours = image[..., :3] if before.startswith("RGB") else image[..., 2::-1]
            return Grayscale()(colours)
        if before == "GRAY":
            planes = dict.fromkeys("RGB", image.reshape(image.shape[:2]))
        else:
            planes = {name: image[..., i] for i, name in enumerate(before)}
        planes.setdefault("A", np.full(image.shape[:2], 255, image.dtype))
        # of names with one number the first counts: an exchange is the same both ways
        return np.stack([planes[name] for name in after], -1)


class _Sometimes:
    """``self.operation`` with probability ``prob``."""

    operation: Any

    def __init__(self, prob: float = 0.5) -> None:
        self.prob = checked_chance(prob)

    def __call__(self, data: Any) -> Any:
        return self.operation(data) if draw().random_sample() < self.prob else data


class RandomInvert(_Sometimes):
    """255 - x with probability ``prob``."""

    operation = Invert()


class RandomEqualize(_Sometimes):
    """:class:`Equalize` with probability ``prob``."""

    operation = Equalize()


class RandomAutoContrast(_Sometimes):
    """:class:`AutoContrast` with probability ``prob``."""

    def __init__(self, cutoff: float = 0.0, ignore: Any = None, prob: float = 0.5) -> None:
        super().__init__(prob)
        self.operation = AutoContrast(cutoff, ignore)


class RandomAdjustSharpness(_Sometimes):
    """:class:`AdjustSharpness` by ``degree`` with probability ``prob``."""

    def __init__(self, degree: float, prob: float = 0.5) -> None:
        super().__init__(prob)
        self.operation = AdjustSharpness(degree)


class RandomSharpness:
    """:class:`AdjustSharpness` by a factor within limits."""

    kind: Any = AdjustSharpness

    def __init__(self, degrees: Any = (0.1, 1.9)) -> None:
        self.limits = range_of("degrees", degrees, 0)

    def __call__(self, data: Any) -> Any:
        return self.kind(draw().uniform(*self.limits))(data)


class RandomColor(RandomSharpness):
    """:class:`AdjustSaturation` by a factor within limits."""

    kind = AdjustSaturation


class RandomSolarize:
    """:class:`Solarize` between two random thresholds within limits."""

    def __init__(self, threshold: Any = (0, 255)) -> None:
        self.limits = tuple(threshold)
        Solarize(self.limits)

    def __call__(self, data: Any) -> Any:
        low, high = self.limits
        pair = sorted(draw().randint(low, high + 1, 2).tolist())
        return Solarize(tuple(pair) if pair[0] != pair[1] else (low, high))(data)


class RandomPosterize:
    """:class:`Posterize` to a random number of bits within limits."""

    def __init__(self, bits: Any = (4, 8)) -> None:
        self.limits = (bits, bits) if isinstance(bits, int) else tuple(bits)
        for each in self.limits:
            Posterize(each)

    def __call__(self, data: Any) -> Any:
        low, high = self.limits
        return Posterize(int(draw().randint(low, high + 1)))(data)


class RandomLighting:
    """Colours moved along the principal components of natural images, by random amounts.

    Args:
        alpha: the amounts' standard deviation.
    """

    _values = np.array([55.46, 4.794, 1.148])
    _vectors = np.array([[-0.5675, 0.7192, 0.4009], [-0.5808, -0.0045, -0.8140],
                         [-0.5836, -0.6948, 0.4203]])  # fmt: skip

    def __init__(self, alpha: float = 0.05) -> None:
        self.alpha = checked_factor("alpha", alpha)

    def __call__(self, data: Any) -> Any:
        amounts = draw().normal(0, self.alpha, 3) if self.alpha else np.zeros(3)
        return as_bytes(as_colours(data) + self._vectors @ (amounts * self._values))


class RandomResize:
    """:class:`Resize` with a random way to find values between pixels."""

    def __init__(self, size: Any) -> None:
        self.ways = [Resize(size, mode) for mode in (Inter.NEAREST, Inter.LINEAR, Inter.CUBIC)]

    def __call__(self, data: Any) -> Any:
        return self.ways[int(draw().randint(len(self.ways)))](data)


class RandomCropDecodeResize:
    """:class:`Decode`, then :class:`RandomResizedCrop`.

    Args:
        size, scale, ratio, interpolation, max_attempts: as of the latter.
    """

    def __init__(
        self, size: Any, scale: Any = (0.08, 1.0), ratio: Any = (3.0 / 4, 4.0 / 3),
        interpolation: Inter = Inter.BILINEAR, max_attempts: int = 10,
    ) -> None:  # fmt: skip
        self.crop = RandomResizedCrop(size, scale, ratio, interpolation, max_attempts)

    def __call__(self, data: Any) -> Any:
        return self.crop(Decode()(data))
