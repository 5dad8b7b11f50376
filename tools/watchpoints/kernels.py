"""The compiled loops of a watch: each passes once over an array, at the speed of memory."""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

from mindtorch.kernels.codegen.jit import kernel

from .tensor_statistics import change_sums

__all__ = ["Size", "change_of", "dead_units", "has_other_than_zero", "largest_of", "size_of"]

_BLOCK = 256  # elements summed in their own type before a sum in float64


def _parts(array: np.ndarray) -> np.ndarray:
    """A one-dimensional array's elements; of complex ones the parts."""
    return array.view(array.real.dtype) if np.iscomplexobj(array) else array


def _bits(array: np.ndarray) -> np.ndarray:
    return array.view(f"u{array.dtype.itemsize}")


@kernel
def _greatest(bits: Any) -> Any:
    """The greatest bits without the sign: those of the greatest magnitude, or of a NaN."""
    mask = ~(bits.dtype.type(1) << bits.dtype.type(bits.itemsize * 8 - 1))
    greatest = bits.dtype.type(0)
    for i in range(bits.size):
        greatest = max(greatest, bits[i] & mask)
    return greatest


@kernel(fastmath={"reassoc", "contract", "nsz"})
def _squares(values: Any, block: Any) -> Any:
    total = 0.0
    for start in range(0, values.size, block):
        chunk = values[start : start + block]
        part = chunk.dtype.type(0)
        for i in range(chunk.size):
            part += chunk[i] * chunk[i]
        total += part
    return total


@kernel
def _dead(bits: Any, examples: int, units: int, inner: int) -> Any:
    """How many units are zero, of either sign, at every place of every example."""
    mask = ~(bits.dtype.type(1) << bits.dtype.type(bits.itemsize * 8 - 1))
    dead = 0
    for unit in range(units):
        alive = False
        for example in range(examples):
            start = (example * units + unit) * inner
            for i in range(start, start + inner):
                if bits[i] & mask:
                    alive = True
                    break
            if alive:
                break
        dead += not alive
    return dead


class Size(NamedTuple):
    """The greatest magnitude of an array (NaN where it has one) and its Euclidean norm."""

    largest: float
    norm: float


def largest_of(array: np.ndarray) -> float:
    """The greatest magnitude of a one-dimensional array's (parts of) elements: NaN where one is,
    0 where there are none."""
    parts = _parts(array)
    if not parts.size:
        return 0.0
    bits = _bits(parts)
    return float(bits.dtype.type(_greatest(bits)).view(parts.dtype))


def size_of(array: np.ndarray) -> Size:
    """The size of a one-dimensional array of floats."""
    largest = largest_of(array)
    if largest == 0 or not math.isfinite(largest):
        return Size(largest, abs(largest))
    parts = _parts(array)
    # Squares of a narrow type leave its range.
    narrow = parts.dtype != np.float64 and not 1e-15 < largest < 1e15
    if narrow or parts.dtype.itemsize < 4:
        parts = parts.astype(np.float64)
    return Size(largest, math.sqrt(_squares(parts, _BLOCK)))


def change_of(before: np.ndarray, after: np.ndarray) -> tuple[float, float]:
    """Means of |after - before| and of |before|, over the (parts of) elements."""
    change, size = change_sums(after, before)
    count = _parts(before).size
    return change / count, size / count


def dead_units(array: np.ndarray, shape: tuple[int, ...]) -> int:
    """Of an array laid out as (examples, units, ...): the units that are zero for all examples."""
    return int(_dead(_bits(array), shape[0], shape[1], math.prod(shape[2:])))


def has_other_than_zero(array: np.ndarray) -> bool:
    """Whether some element is not zero, which the first ones mostly tell."""
    return bool(array[:64].any() or array.any())
