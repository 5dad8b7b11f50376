"""How far what two sides recorded is apart: from the values where both kept them, else from
statistics."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from .record_format import ArrayReader, Record, Recorded
from .statistics import Spread, relative_difference, sketch_difference, spread_of

__all__ = [
    "OF_NO_MODULE", "SIXTEEN_BITS", "Distance", "Side", "module_scales", "owner", "shapes_note",
]  # fmt: skip

# One rounding to a 16-bit dtype; differences of a few of them say nothing.
SIXTEEN_BITS = {"bfloat16": 2.0**-8, "float16": 2.0**-11}

OF_NO_MODULE = "parameter "  # how those that belong to no module are called

# Where two values tie, max pooling sends the gradient to one or the other, by their last bits. That
# many of the elements (and their sum unchanged) are taken for such choices.
CHOICES = 1e-3
BARRED = 1e-3  # of the elements that a rectifier may bar on one side and not on the other
FLIPS = 0.02  # of the elements whose sign may turn where |x| has its kink


@dataclass
class Side:
    """One run: its label, its record, its arrays, what it printed, and where all that is."""

    name: str
    record: Record
    arrays: ArrayReader
    output: str
    folder: Path


def _deviation(recorded: Recorded) -> float:
    """The standard deviation of a tensor's elements."""
    size = max(1, math.prod(recorded.shape))
    return math.sqrt(max(0.0, recorded.norm**2 / size - recorded.mean**2))


class Distance:
    """Distances between records of a first and a second side."""

    def __init__(self, first: ArrayReader, second: ArrayReader) -> None:
        self.first = first
        self.second = second
        self.rough = 0.0

    def coarseness(self, recorded: Recorded) -> float:
        """What makes differences comparable with those of float32: one for it, less for values of
        16 bits, and for all in a step where such values were computed with (`rough`)."""
        rounding = max(self.rough, SIXTEEN_BITS.get(recorded.dtype, 0.0))
        return 1e-5 / (4 * rounding) if rounding else 1.0

    def __call__(self, a: Recorded, b: Recorded, scale: float = 0.0) -> float:
        """The relative difference of two arrays; an estimate where values were not kept."""
        if a.digest == b.digest:
            return 0.0
        if a.shape != b.shape or a.dtype != b.dtype:
            return math.inf
        if a.stored and b.stored:
            return relative_difference(self.first[a], self.second[b], scale)
        if a.odd != b.odd:
            return math.inf
        return sketch_difference(a.sketch, b.sketch, max(a.norm, b.norm, scale))

    def how_apart(self, a: Recorded, b: Recorded, names: tuple[str, str]) -> str:
        """What tells the values of two tensors apart, in words: the shape, a factor, or mean and
        standard deviation (other random numbers have the same). `names` are the runs'."""
        if a.shape != b.shape:
            return f"{list(a.shape)} against {list(b.shape)}"
        if a.stored and b.stored and not (a.odd or b.odd):
            x, y = (np.ravel(side[each]).astype(np.float64)
                    for side, each in ((self.first, a), (self.second, b)))  # fmt: skip
            squares = float(x @ x)
            factor = float(x @ y) / squares if squares else 0.0
            if factor and float(np.abs(y - factor * x).max()) < 1e-5 * float(np.abs(y).max()):
                return f"{names[1]} has {factor:.6g} times what {names[0]} has"
        parts = [
            f"mean {each.mean:.3g}, deviation {_deviation(each):.3g}" for each in (a, b)
        ]
        return " against ".join(parts)

    def of_groups(
        self, first: Sequence[Recorded | None], second: Sequence[Recorded | None]
    ) -> float:
        """The largest difference of two groups, those of 16 bits in units of their rounding."""
        if len(first) != len(second):
            return math.inf
        largest = 0.0
        for a, b in zip(first, second, strict=True):
            if (a is None) != (b is None):
                return math.inf
            if a is not None and b is not None:
                largest = max(largest, self(a, b) * self.coarseness(a))
        return largest

    def choices(self, first: Sequence[Recorded | None], second: Sequence[Recorded | None],
                allowed: float) -> int:  # fmt: skip
        """In how many elements gradients differ, if that is by choices between equals; else 0.

        Few elements, and the sum of the gradient as it was: it only went to others.
        """
        found = 0
        for a, b in zip(first, second, strict=True):
            if a is None or b is None or not (a.stored and b.stored) or a.shape != b.shape:
                return 0
            x, y = self.first[a].astype(np.float64), self.second[b].astype(np.float64)
            count = int((np.abs(x - y) > allowed * a.largest).sum())
            moved = abs(float((x - y).sum()))
            if count > CHOICES * x.size or moved > allowed * float(np.abs(x).sum()):
                return 0
            found += count
        return found

    def flips(self, first: Sequence[Recorded | None], second: Sequence[Recorded | None],
              allowed: float) -> bool:  # fmt: skip
        """Whether gradients differ in the signs of a few elements and nothing else, or a very few
        are 0 on one side: what rounding does at the kinks of |x| and of a rectifier."""
        for a, b in zip(first, second, strict=True):
            if a is None or b is None or not (a.stored and b.stored) or a.shape != b.shape:
                return False
            x, y = self.first[a].astype(np.float64), self.second[b].astype(np.float64)
            other = np.abs(x - y) > allowed * a.largest
            turned = np.abs(x + y) <= allowed * a.largest
            barred = other & ((x == 0) != (y == 0))
            if barred.sum() <= max(1, BARRED * x.size):
                turned |= barred
            if other.sum() > max(1, FLIPS * x.size) or not turned[other].all():
                return False
        return True

    def spread(self, a: Recorded | None, b: Recorded | None) -> Spread | None:
        if a is None or b is None or not (a.stored and b.stored):
            return None
        return spread_of(self.first[a], self.second[b], a.dtype)


def owner(name: str, model: str) -> str:
    """The module that a parameter or buffer belongs to."""
    return "" if name.startswith(OF_NO_MODULE) else name.rpartition(".")[0] or model


def module_scales(arrays: dict[str, Recorded]) -> dict[str, float]:
    """For each module the greatest magnitude in its arrays: a bias whose exact gradient is zero
    (before a batch norm, say) holds nothing but rounding and is measured by its weight's."""
    scales: dict[str, float] = {}
    for name, recorded in arrays.items():
        module = name.rpartition(".")[0]
        largest = recorded.largest if math.isfinite(recorded.largest) else 0.0
        scales[module] = max(scales.get(module, 0.0), largest)
    return scales


def shapes_note(a: Recorded, b: Recorded) -> str:
    if a.shape != b.shape or a.dtype != b.dtype:
        return f"{a.dtype}{list(a.shape)} against {b.dtype}{list(b.shape)}"
    return ""
