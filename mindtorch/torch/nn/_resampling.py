"""Resizing images of bytes in fixed-point arithmetic, bit for bit as PyTorch and Pillow do.

An axis is resized by a matrix of whole-number weights, one row for each new place.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from mindtorch.engine import dtypes
from mindtorch.engine.ops import elementwise as pointwise
from mindtorch.engine.ops import linear_algebra, movement, rounding
from mindtorch.engine.tensor import constant, from_array

__all__ = ["resample"]


def _triangle(x: Any) -> Any:
    return np.maximum(1 - np.abs(x), 0)


def _cubic(a: float) -> Callable[[Any], Any]:
    """The cubic convolution filter with the slope `a` at 1."""

    def weigh(x: Any) -> Any:
        x = np.abs(x)
        near = ((a + 2) * x - (a + 3)) * x * x + 1
        far = (((x - 5) * x + 8) * x - 4) * a
        return np.where(x < 1, near, np.where(x < 2, far, 0))

    return weigh


def _lanczos(x: Any) -> Any:
    """sinc(x) sinc(x / 3) up to 3."""
    return np.where(np.abs(x) < 3, np.sinc(x) * np.sinc(x / 3), 0)


# Half of the filter's width, and the filter: Pillow's where it smooths.
_FILTERS = {
    ("bilinear", True): (1.0, _triangle), ("bilinear", False): (1.0, _triangle),
    ("bicubic", True): (2.0, _cubic(-0.5)), ("bicubic", False): (2.0, _cubic(-0.75)),
    ("lanczos", True): (3.0, _lanczos),
}  # fmt: skip


def _weights(
    old: int, new: int, given: float | None, mode: str, align: bool, smooth: bool
) -> Any:
    """The matrix [new, old]. Without smoothing, what lies outside counts for the edge."""
    if align:
        step = (old - 1) / (new - 1) if new > 1 else 0.0
    else:
        step = old / new if given is None else 1 / given
    reach, weigh = _FILTERS[mode, smooth]
    wide = max(step, 1.0) if smooth else 1.0
    reach = reach * wide
    shift = 0.5 if align and not smooth else 0.0
    matrix = np.zeros((new, old))
    for i in range(new):
        center = step * (i + 0.5 - shift)
        first = math.floor(center - reach + 0.5 + shift)
        last = int(center + reach + 0.5 + shift)
        if smooth:
            first, last = max(first, 0), min(last, old)
        places = np.arange(first, last)
        found = weigh((places - center + 0.5 - shift) / wide)
        np.add.at(matrix[i], np.clip(places, 0, old - 1), found / found.sum())
    return matrix


def _in_integers(weights: Any) -> tuple[Any, int]:
    """Weights times a power of two, rounded, and its exponent: the largest that 16 bits hold."""
    largest, bits = weights.max(), 0
    while bits < 22 and int(0.5 + largest * (1 << (bits + 1))) < 1 << 15:
        bits += 1
    scaled = weights * (1 << bits)
    return np.trunc(scaled + np.copysign(0.5, scaled)), bits


def _applied(x: Any, weights: Any, axis: int) -> Any:
    """``x`` with one of its two last axes multiplied by the matrix."""
    turned = np.ascontiguousarray(weights.T if axis == 3 else weights)
    matrix = from_array(turned, x.aval.device)
    return linear_algebra.matmul(*((x, matrix) if axis == 3 else (matrix, x)))


def resample(x: Any, new: Any, scales: Any, mode: str, align: bool, smooth: bool) -> Any:
    """Resize the last two axes of bytes [N, C, H, W], first the last one.

    Args:
        new: their new lengths.
        scales: how much larger they become where the user said it, else None.
        mode: "bilinear", "bicubic" or "lanczos".
        align: whether the centres of the corners stay where they are.
        smooth: whether the filter widens where the image shrinks.
    """
    x = movement.cast(x, dtype=dtypes.float64)  # in which the sums of whole numbers are exact
    for axis in (3, 2):
        old = x.aval.shape[axis]
        if old == new[axis - 2] and scales[axis - 2] in (None, 1.0):
            continue
        weights = _weights(old, new[axis - 2], scales[axis - 2], mode, align, smooth)
        weights, bits = _in_integers(weights)
        total = pointwise.add(_applied(x, weights, axis), constant(0.5 * (1 << bits)))
        shifted = rounding.floor(pointwise.multiply(total, constant(math.ldexp(1.0, -bits))))
        x = pointwise.minimum(pointwise.maximum(shifted, constant(0.0)), constant(255.0))
    return movement.cast(x, dtype=dtypes.uint8)
