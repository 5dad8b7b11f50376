"""Operations that move pixels: turns, shears, perspectives, holes, frames.

Values between pixels are found as image libraries of bytes do it: places in 32nds of a pixel,
weights in 32768ths.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from .._random import draw
from ._images import Inter, as_image, as_pair

__all__ = [
    "Affine", "Erase", "PadToSize", "Perspective", "RandomAffine", "RandomErasing",
    "RandomPerspective", "RandomRotation", "Rotate",
]  # fmt: skip

_STEPS = 32


def _mode(name: str, resample: Any) -> Inter:
    mode = Inter(resample)
    if mode not in (Inter.NEAREST, Inter.BILINEAR):
        raise NotImplementedError(f"{name}(interpolation={mode!s}) is not implemented")
    return mode


def checked_chance(prob: float) -> float:
    if not 0 <= prob <= 1:
        raise ValueError(f"prob should be in [0, 1], but got {prob}")
    return prob


def _filling(fill_value: Any, channels: int) -> Any:
    given = (fill_value,) * 3 if isinstance(fill_value, int) else tuple(fill_value)
    if len(given) != 3 or any(not 0 <= v <= 255 for v in given):
        raise ValueError(f"fill_value should be one or three numbers to 255, but got {fill_value}")
    return np.array(given[:channels] if channels <= 3 else given + (0,) * (channels - 3))


def _sample(image: Any, x: Any, y: Any, mode: Inter, fill: Any) -> Any:
    """The image at places in 32nds (bilinear) or whole pixels (nearest); ``fill`` outside."""
    shaped = image[..., None] if image.ndim == 2 else image
    height, width, channels = shaped.shape
    outside = _filling(fill, channels)

    def at(column: Any, row: Any) -> Any:
        inside = (column >= 0) & (column < width) & (row >= 0) & (row < height)
        values = shaped[row.clip(0, height - 1), column.clip(0, width - 1)]
        return np.where(inside[..., None], values, outside)

    if mode is Inter.NEAREST:
        made = at(x, y).astype(image.dtype)
    else:
        left, top = x // _STEPS, y // _STEPS
        right, bottom = (x % _STEPS)[..., None] / _STEPS, (y % _STEPS)[..., None] / _STEPS
        total = (
            at(left, top) * ((1 - right) * (1 - bottom))
            + at(left + 1, top) * (right * (1 - bottom))
            + at(left, top + 1) * ((1 - right) * bottom)
            + at(left + 1, top + 1) * (right * bottom)
        )
        whole = image.dtype.kind != "f"
        made = (np.floor(total + 0.5) if whole else total).astype(image.dtype)
    return made[..., 0] if image.ndim == 2 else made


def _warped(image: Any, forward: Any, size: tuple[int, int], mode: Inter, fill: Any) -> Any:
    """The image moved by the 2 x 3 matrix ``forward`` into (height, width)."""
    linear = np.linalg.inv(forward[:, :2])
    matrix = np.hstack([linear, -(linear @ forward[:, 2:])])
    rounding, shift = (512, 10) if mode is Inter.NEAREST else (16, 5)
    columns, rows = np.arange(size[1]), np.arange(size[0])
    places = []
    for a, b, c in matrix:
        along = np.rint(a * columns * 1024).astype(np.int64)
        start = np.rint((b * rows + c) * 1024).astype(np.int64) + rounding
        places.append((start[:, None] + along[None]) >> shift)
    x, y = places
    return _sample(image, x, y, mode, fill)


class Rotate:
    """Turned counter-clockwise by ``degrees``.

    Args:
        resample: Inter.NEAREST or BILINEAR.
        expand: make the image as large as what is turned.
        center: (x, y); the middle when None.
        fill_value: of new pixels, one number or three.
    """

    def __init__(
        self, degrees: float, resample: Inter = Inter.NEAREST, expand: bool = False,
        center: Any = None, fill_value: Any = 0,
    ) -> None:  # fmt: skip
        self.degrees, self.mode = float(degrees), _mode("Rotate", resample)
        self.expand, self.center, self.fill = expand, center, fill_value
        _filling(fill_value, 3)

    def __call__(self, data: Any) -> Any:
        image = as_image(data)
        height, width = image.shape[:2]
        x, y = self.center or ((width - 1) / 2, (height - 1) / 2)
        angle = math.radians(self.degrees)
        cosine, sine = math.cos(angle), math.sin(angle)
        forward = np.array([[cosine, sine, (1 - cosine) * x - sine * y],
                            [-sine, cosine, sine * x + (1 - cosine) * y]])  # fmt: skip
        if self.expand:
            wide = height * abs(sine) + width * abs(cosine)
            high = height * abs(cosine) + width * abs(sine)
            forward[:, 2] += (wide / 2 - width / 2, high / 2 - height / 2)
            height, width = round(high), round(wide)
        return _warped(image, forward, (height, width), self.mode, self.fill)


class Affine:
    """Turned, moved, scaled and sheared about the middle.

    Args:
        degrees: of the turn, clockwise.
        translate: shares of width and height, or of neither.
        shear: degrees along x, or along x and y.
    """

    def __init__(
        self, degrees: float, translate: Sequence[float], scale: float, shear: Any,
        resample: Inter = Inter.NEAREST, fill_value: Any = 0,
    ) -> None:  # fmt: skip
        if scale <= 0 or len(translate) != 2:
            raise ValueError(f"scale {scale} should be positive, translate {translate} a pair")
        self.degrees, self.translate, self.scale = degrees, tuple(translate), scale
        self.shear = (shear, 0.0) if isinstance(shear, (int, float)) else tuple(shear)
        self.mode, self.fill = _mode("Affine", resample), fill_value
        _filling(fill_value, 3)

    def __call__(self, data: Any) -> Any:
        image = as_image(data)
        height, width = image.shape[:2]
        turn, along, across = (math.radians(v) for v in (self.degrees, *self.shear))
        a, c = (f(turn - across) / math.cos(across) for f in (math.cos, math.sin))
        linear = self.scale * np.array(
            [[a, -a * math.tan(along) - math.sin(turn)],
             [c, -c * math.tan(along) + math.cos(turn)]]
        )  # fmt: skip
        middle = np.array([(width - 1) / 2, (height - 1) / 2])
        moved = np.array([width * self.translate[0], height * self.translate[1]])
        forward = np.hstack([linear, (middle + moved - linear @ middle)[:, None]])
        return _warped(image, forward, (height, width), self.mode, self.fill)


class Perspective:
    """The corners ``start_points`` come to ``end_points``: four (x, y) each, clockwise.

    Args:
        interpolation: Inter.NEAREST or BILINEAR.
    """

    def __init__(
        self, start_points: Any, end_points: Any, interpolation: Inter = Inter.BILINEAR
    ) -> None:
        self.ends = np.array(start_points, np.float64), np.array(end_points, np.float64)
        if any(points.shape != (4, 2) for points in self.ends):
            raise ValueError("start_points and end_points should be four pairs each")
        self.mode = _mode("Perspective", interpolation)

    def __call__(self, data: Any) -> Any:
        image = as_image(data)
        rows, wanted = [], []
        for (u, v), (x, y) in zip(*reversed(self.ends), strict=True):  # from the result's places
            rows += [[u, v, 1, 0, 0, 0, -u * x, -v * x], [0, 0, 0, u, v, 1, -u * y, -v * y]]
            wanted += [x, y]
        matrix = np.append(np.linalg.solve(np.array(rows), np.array(wanted)), 1.0).reshape(3, 3)
        v, u = np.mgrid[: image.shape[0], : image.shape[1]]
        x, y, w = (m[0] * u + m[1] * v + m[2] for m in matrix)
        factor = np.divide(1 if self.mode is Inter.NEAREST else _STEPS, w, where=w != 0,
                           out=np.zeros_like(w))  # fmt: skip
        column, row = (np.rint(p * factor).astype(np.int64) for p in (x, y))
        return _sample(image, column, row, self.mode, 0)


def range_of(name: str, value: Any, lowest: float = -math.inf) -> tuple[float, float]:
    low, high = (-value, value) if isinstance(value, (int, float)) else value
    if not lowest <= low <= high:
        raise ValueError(f"{name} should be a number >= 0 or rising limits, but got {value}")
    return float(low), float(high)


class RandomRotation:
    """:class:`Rotate` by an angle within limits.

    Args:
        degrees: one number for -degrees to degrees, or the limits.
        resample, expand, center, fill_value: as there.
    """

    def __init__(
        self, degrees: Any, resample: Inter = Inter.NEAREST, expand: bool = False,
        center: Any = None, fill_value: Any = 0,
    ) -> None:  # fmt: skip
        self.limits = range_of("degrees", degrees)
        self.rest = resample, expand, center, fill_value
        Rotate(0, *self.rest)

    def __call__(self, data: Any) -> Any:
        return Rotate(draw().uniform(*self.limits), *self.rest)(data)


class RandomAffine:
    """:class:`Affine` of random amounts.

    Args:
        degrees: one number for -degrees to degrees, or limits.
        translate: the largest shares of width and height, or four limits; None for no move.
        scale: limits; None for 1.
        shear: a number, limits along x, or four limits; None for none.
        resample, fill_value: as there.
    """

    def __init__(
        self, degrees: Any, translate: Any = None, scale: Any = None, shear: Any = None,
        resample: Inter = Inter.NEAREST, fill_value: Any = 0,
    ) -> None:  # fmt: skip
        moves = (0, 0, 0, 0) if translate is None else tuple(translate)
        if len(moves) == 2:
            moves = (-moves[0], moves[0], -moves[1], moves[1])
        shears = (0, 0, 0, 0) if shear is None else shear
        shears = range_of("shear", shears) if isinstance(shears, (int, float)) else tuple(shears)
        shears = shears if len(shears) == 4 else (*shears, 0, 0)
        if len(moves) != 4 or any(abs(v) > 1 for v in moves) or len(shears) != 4:
            raise ValueError(f"translate {translate} should be shares, shear {shear} limits")
        self.degrees, self.moves, self.shears = range_of("degrees", degrees), moves, shears
        self.scale = (1.0, 1.0) if scale is None else range_of("scale", scale, 0)
        self.rest = resample, fill_value
        Affine(0, (0, 0), 1, 0, *self.rest)

    def __call__(self, data: Any) -> Any:
        height, width = as_image(data).shape[:2]
        within = [draw().uniform(*sorted(self.moves[i : i + 2])) for i in (0, 2)]
        moved = [round(v * n) / n for v, n in zip(within, (width, height), strict=True)]
        sheared = [draw().uniform(*self.shears[i : i + 2]) for i in (0, 2)]
        turn, scale = draw().uniform(*self.degrees), draw().uniform(*self.scale)
        return Affine(turn, moved, scale, sheared, *self.rest)(data)


class RandomPerspective:
    """:class:`Perspective` to random corners with probability ``prob``.

    Args:
        distortion_scale: how far corners go, as a share of half the image.
        interpolation: as there.
    """

    def __init__(
        self, distortion_scale: float = 0.5, prob: float = 0.5,
        interpolation: Inter = Inter.BICUBIC,
    ) -> None:  # fmt: skip
        self.prob, self.distortion = checked_chance(prob), checked_chance(distortion_scale)
        self.mode = Inter(interpolation)
        if self.mode is not Inter.BICUBIC:
            _mode("RandomPerspective", self.mode)

    def __call__(self, data: Any) -> Any:
        image = as_image(data)
        if draw().random_sample() >= self.prob:
            return data
        height, width = image.shape[:2]
        most = int(self.distortion * (width // 2)), int(self.distortion * (height // 2))
        start = np.array([(0, 0), (width - 1, 0), (width - 1, height - 1), (0, height - 1)])
        inward = np.array([(1, 1), (-1, 1), (-1, -1), (1, -1)])
        end = start + inward * np.stack([draw().randint(0, n + 1, 4) for n in most], 1)
        # cubic values between pixels are not written: they are found linearly
        mode = Inter.BILINEAR if self.mode is Inter.BICUBIC else self.mode
        return Perspective(start, end, mode)(data)


class Erase:
    """A part becomes one colour.

    Args:
        value: one number or three.
        inplace: write into the image itself.
    """

    def __init__(
        self, top: int, left: int, height: int, width: int, value: Any = 0, inplace: bool = False
    ) -> None:
        if min(top, left) < 0 or min(height, width) < 1:
            raise ValueError(f"a part of {height} x {width} from ({top}, {left})")
        self.part = slice(top, top + height), slice(left, left + width)
        self.value, self.inplace = value, inplace

    def __call__(self, data: Any) -> Any:
        image = as_image(data) if self.inplace else np.array(as_image(data))
        image[self.part] = self.value
        return image


class RandomErasing:
    """A random part of an image (channels, height, width) is erased with probability ``prob``.

    Args:
        scale: limits of the part's share of the area.
        ratio: limits of its height over its width.
        value: a number, one for each channel, or "random".
        inplace: write into the image itself.
        max_attempts: after as many parts that do not fit nothing is erased.
    """

    def __init__(
        self, prob: float = 0.5, scale: Any = (0.02, 0.33), ratio: Any = (0.3, 3.3),
        value: Any = 0, inplace: bool = False, max_attempts: int = 10,
    ) -> None:  # fmt: skip
        self.prob, self.scale = checked_chance(prob), range_of("scale", scale, 0)
        self.ratio = tuple(ratio)
        if not 0 < self.ratio[0] <= self.ratio[1] or max_attempts < 1:
            raise ValueError(f"ratio {ratio} should be rising limits, max_attempts positive")
        self.value, self.inplace, self.attempts = value, inplace, max_attempts

    def __call__(self, data: Any) -> Any:
        image = as_image(data)
        if draw().random_sample() >= self.prob:
            return data
        channels, height, width = image.shape
        for _ in range(self.attempts):
            area = height * width * draw().uniform(*self.scale)
            ratio = math.exp(draw().uniform(*np.log(self.ratio)))
            high, wide = round(math.sqrt(area * ratio)), round(math.sqrt(area / ratio))
            if 0 < high < height and 0 < wide < width:
                top, left = draw().randint(height - high + 1), draw().randint(width - wide + 1)
                made = image if self.inplace else image.copy()
                shape = (channels, high, wide)
                value = draw().standard_normal(shape) if self.value == "random" else (
                    np.reshape(self.value, (-1, 1, 1))
                )
                made[:, top : top + high, left : left + wide] = value
                return made
        return data


class PadToSize:
    """Pixels around, up to the size given.

    Args:
        size: (height, width), or one number for both.
        offset: (top, left) of the image; in the middle when None.
        fill_value: one number or three.
        padding_mode: "constant", "edge", "reflect" or "symmetric".
    """

    def __init__(
        self, size: Any, offset: Any = None, fill_value: Any = 0, padding_mode: Any = "constant"
    ) -> None:
        self.size, self.fill = as_pair(size), fill_value
        self.offset = (offset, offset) if isinstance(offset, int) else offset
        self.mode = str(getattr(padding_mode, "value", padding_mode)).lower()

    def __call__(self, data: Any) -> Any:
        image = as_image(data)
        spare = [n - m for n, m in zip(self.size, image.shape, strict=False)]
        first = [n // 2 for n in spare] if not self.offset else list(self.offset)
        if any(n < f for n, f in zip(spare, first, strict=True)) or min(spare) < 0:
            raise RuntimeError(f"an image {image.shape[:2]} in a frame of {self.size}")
        ends = [(f, n - f) for f, n in zip(first, spare, strict=True)]
        ends += [(0, 0)] * (image.ndim - 2)
        if self.mode != "constant":
            mode: Any = self.mode
            return np.pad(image, ends, mode=mode)
        made = np.empty((*self.size, *image.shape[2:]), image.dtype)
        made[...] = self.fill
        (top, _), (left, _) = ends[:2]
        made[top : top + image.shape[0], left : left + image.shape[1]] = image
        return made
