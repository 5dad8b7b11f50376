"""Learned and random lists of operations: AutoAugment, RandAugment, TrivialAugment."""

from __future__ import annotations

import enum
import math
from typing import Any

import numpy as np

from .._random import draw
from ._colors import (
    AdjustBrightness,
    AdjustContrast,
    AdjustSaturation,
    Invert,
    Posterize,
    Solarize,
    as_colours,
)
from ._geometry import Affine, Rotate
from ._images import Inter
from ._tones import AdjustSharpness, AutoContrast, Equalize

__all__ = ["AutoAugment", "AutoAugmentPolicy", "RandAugment", "TrivialAugmentWide"]


class AutoAugmentPolicy(enum.StrEnum):
    """Of which pictures a policy was learned."""

    IMAGENET, CIFAR10, SVHN = "imagenet", "cifar10", "svhn"


# Pairs of (operation, tenths of the probability, magnitude of 10; - for none): E. Cubuk et al.,
# "AutoAugment: Learning Augmentation Strategies from Data", 2019, tables 7 to 9.
_POLICIES = {
    AutoAugmentPolicy.IMAGENET: """
        Posterize 4 8 Rotate 6 9; Solarize 6 5 AutoContrast 6 -; Equalize 8 - Equalize 6 -;
        Posterize 6 7 Posterize 6 6; Equalize 4 - Solarize 2 4; Equalize 4 - Rotate 8 8;
        Solarize 6 3 Equalize 6 -; Posterize 8 5 Equalize 10 -; Rotate 2 3 Solarize 6 8;
        Equalize 6 - Posterize 4 6; Rotate 8 8 Color 4 0; Rotate 4 9 Equalize 6 -;
        Equalize 0 - Equalize 8 -; Invert 6 - Equalize 10 -; Color 6 4 Contrast 10 8;
        Rotate 8 8 Color 10 2; Color 8 8 Solarize 8 7; Sharpness 4 7 Invert 6 -;
        ShearX 6 5 Equalize 10 -; Color 4 0 Equalize 6 -; Equalize 4 - Solarize 2 4;
        Solarize 6 5 AutoContrast 6 -; Invert 6 - Equalize 10 -; Color 6 4 Contrast 10 8;
        Equalize 8 - Equalize 6 -""",
    AutoAugmentPolicy.CIFAR10: """
        Invert 1 - Contrast 2 6; Rotate 7 2 TranslateX 3 9; Sharpness 8 1 Sharpness 9 3;
        ShearY 5 8 TranslateY 7 9; AutoContrast 5 - Equalize 9 -; ShearY 2 7 Posterize 3 7;
        Color 4 3 Brightness 6 7; Sharpness 3 9 Brightness 7 9; Equalize 6 - Equalize 5 -;
        Contrast 6 7 Sharpness 6 5; Color 7 7 TranslateX 5 8; Equalize 3 - AutoContrast 4 -;
        TranslateY 4 3 Sharpness 2 6; Brightness 9 6 Color 2 8; Solarize 5 2 Invert 0 -;
        Equalize 2 - AutoContrast 6 -; Equalize 2 - Equalize 6 -; Color 9 9 Equalize 6 -;
        AutoContrast 8 - Solarize 2 8; Brightness 1 3 Color 7 0; Solarize 4 5 AutoContrast 9 -;
        TranslateY 9 9 TranslateY 7 9; AutoContrast 9 - Solarize 8 3; Equalize 8 - Invert 1 -;
        TranslateY 7 9 AutoContrast 9 -""",
    AutoAugmentPolicy.SVHN: """
        ShearX 9 4 Invert 2 -; ShearY 9 8 Invert 7 -; Equalize 6 - Solarize 6 6;
        Invert 9 - Equalize 6 -; Equalize 6 - Rotate 9 3; ShearX 9 4 AutoContrast 8 -;
        ShearY 9 8 Invert 4 -; ShearY 9 5 Solarize 2 6; Invert 9 - AutoContrast 8 -;
        Equalize 6 - Rotate 9 3; ShearX 9 4 Solarize 3 3; ShearY 8 8 Invert 7 -;
        Equalize 9 - TranslateY 6 6; Invert 9 - Equalize 6 -; Contrast 3 3 Rotate 8 4;
        Invert 8 - TranslateY 0 2; ShearY 7 6 Solarize 4 8; Invert 6 - Rotate 8 4;
        ShearY 3 7 TranslateX 9 3; ShearX 1 6 Invert 6 -; Solarize 7 2 TranslateY 6 7;
        ShearY 8 4 Invert 8 -; ShearX 7 9 TranslateY 8 3; ShearY 8 5 AutoContrast 7 -;
        ShearX 7 2 Invert 1 -""",
}  # fmt: skip
_SIGNED = {"ShearX", "ShearY", "TranslateX", "TranslateY", "Rotate", "Brightness", "Color",
           "Contrast", "Sharpness"}  # fmt: skip


def _ranges(bins: int, height: int, width: int, wide: bool) -> dict[str, Any]:
    """The magnitudes of the operations that have them."""
    shear, factor = (0.99, 0.99) if wide else (0.3, 0.9)
    along, across = (32.0, 32.0) if wide else (150 / 331 * width, 150 / 331 * height)
    bits = 6 if wide else 4
    made = {name: np.linspace(0, shear, bins) for name in ("ShearX", "ShearY")}
    made |= {"TranslateX": np.linspace(0, along, bins), "TranslateY": np.linspace(0, across, bins)}
    made["Rotate"] = np.linspace(0, 135.0 if wide else 30.0, bins)
    made |= {name: np.linspace(0, factor, bins)
             for name in ("Brightness", "Color", "Contrast", "Sharpness")}  # fmt: skip
    made["Posterize"] = 8 - np.rint(np.arange(bins) / ((bins - 1) / bits)).astype(int)
    made["Solarize"] = np.linspace(255.0, 0.0, bins)
    return made


class _Augmentation:
    """What the three have in common."""

    wide = False

    def __init__(self, bins: int, interpolation: Inter, fill_value: Any) -> None:
        if not isinstance(bins, int) or bins < 2:
            raise ValueError(f"num_magnitude_bins should be an int of 2 or more, but got {bins!r}")
        self.bins, self.mode, self.fill = bins, Inter(interpolation), fill_value
        Rotate(0, self.mode, fill_value=fill_value)

    def apply(self, image: Any, name: str, number: int | None) -> Any:
        """One operation, of a magnitude by its number, with a random sign."""
        height, width = image.shape[:2]
        size: Any = 0.0
        if number is not None and name in (ranges := self._known(height, width)):
            size = ranges[name][number]
        if name in _SIGNED and draw().random_sample() < 0.5:
            size = -size
        if name in ("ShearX", "ShearY"):
            angle = math.degrees(math.atan(size))
            shear = (angle, 0.0) if name == "ShearX" else (0.0, angle)
            return Affine(0.0, (0.0, 0.0), 1.0, shear, self.mode, self.fill)(image)
        if name in ("TranslateX", "TranslateY"):
            share = (int(size) / width, 0.0) if name == "TranslateX" else (0.0, int(size) / height)
            return Affine(0.0, share, 1.0, (0.0, 0.0), self.mode, self.fill)(image)
        made: dict[str, Any] = {
            "Rotate": lambda: Rotate(size, self.mode, fill_value=self.fill),
            "Brightness": lambda: AdjustBrightness(1 + size),
            "Color": lambda: AdjustSaturation(1 + size),
            "Contrast": lambda: AdjustContrast(1 + size),
            "Sharpness": lambda: AdjustSharpness(1 + size),
            "Posterize": lambda: Posterize(int(size)), "Solarize": lambda: Solarize(float(size)),
            "AutoContrast": AutoContrast, "Equalize": Equalize, "Invert": Invert,
        }
        return image if name == "Identity" else made[name]()(image)

    def _known(self, height: int, width: int) -> dict[str, Any]:
        return _ranges(self.bins, height, width, self.wide)


class AutoAugment(_Augmentation):
    """One of 25 learned pairs of operations, each applied with its probability.

    Args:
        policy: of which pictures it was learned.
        interpolation: Inter.NEAREST or BILINEAR.
        fill_value: of new pixels, one number or three.
    """

    def __init__(
        self, policy: AutoAugmentPolicy = AutoAugmentPolicy.IMAGENET,
        interpolation: Inter = Inter.NEAREST, fill_value: Any = 0,
    ) -> None:  # fmt: skip
        if not isinstance(policy, AutoAugmentPolicy):
            raise TypeError(f"policy should be an AutoAugmentPolicy, but got {policy!r}")
        super().__init__(10, interpolation, fill_value)
        self.pairs = [part.split() for part in _POLICIES[policy].split(";")]

    def __call__(self, data: Any) -> Any:
        image = as_colours(data)
        words = self.pairs[int(draw().randint(len(self.pairs)))]
        for name, chance, number in (words[:3], words[3:]):
            if draw().random_sample() < int(chance) / 10:
                image = self.apply(image, name, None if number == "-" else int(number))
        return image


_NAMES = ["Identity", *sorted(_SIGNED), "Posterize", "Solarize", "AutoContrast", "Equalize"]


class RandAugment(_Augmentation):
    """``num_ops`` random operations of one magnitude.

    Args:
        num_ops: how many.
        magnitude: below ``num_magnitude_bins``.
        num_magnitude_bins: how many magnitudes there are.
        interpolation: Inter.NEAREST or BILINEAR.
        fill_value: of new pixels, one number or three.
    """

    def __init__(
        self, num_ops: int = 2, magnitude: int = 9, num_magnitude_bins: int = 31,
        interpolation: Inter = Inter.NEAREST, fill_value: Any = 0,
    ) -> None:  # fmt: skip
        super().__init__(num_magnitude_bins, interpolation, fill_value)
        if not 0 <= magnitude < num_magnitude_bins:
            raise ValueError(f"magnitude should be in [0, {num_magnitude_bins}): {magnitude}")
        if not isinstance(num_ops, int) or num_ops < 0:
            raise ValueError(f"num_ops should be an int >= 0, but got {num_ops!r}")
        self.count, self.magnitude = num_ops, magnitude

    def __call__(self, data: Any) -> Any:
        image = as_colours(data)
        for _ in range(self.count):
            name = _NAMES[int(draw().randint(len(_NAMES)))]
            image = self.apply(image, name, self.magnitude)
        return image


class TrivialAugmentWide(_Augmentation):
    """One random operation of a random magnitude.

    Args:
        num_magnitude_bins: how many magnitudes there are.
        interpolation: Inter.NEAREST or BILINEAR.
        fill_value: of new pixels, one number or three.
    """

    wide = True

    def __init__(
        self, num_magnitude_bins: int = 31, interpolation: Inter = Inter.NEAREST,
        fill_value: Any = 0,
    ) -> None:  # fmt: skip
        super().__init__(num_magnitude_bins, interpolation, fill_value)

    def __call__(self, data: Any) -> Any:
        image = as_colours(data)
        name = _NAMES[int(draw().randint(len(_NAMES)))]
        return self.apply(image, name, int(draw().randint(self.bins)))
