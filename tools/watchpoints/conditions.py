"""What a watch looks for: conditions on the numbers of a training, each with its limits.

Conditions on tensors are told at their origin: where an op's result meets one that none of the
op's inputs met.
"""

from __future__ import annotations

import math
import os
from collections.abc import Iterable
from typing import Any, NamedTuple

import numpy as np

from .kernels import largest_of

__all__ = ["CHECKS", "LIMITS", "Hit", "Place", "chosen", "tensor_faults"]

LIMITS: dict[str, float] = {
    "too_large": 1e8,
    "too_small": 1e-20,
    "weight_change_too_large": 0.5,
    "weight_unchanged": 2,
    "gradient_vanishing": 1e-12,
    "gradient_exploding": 1e4,
    "activation_saturation": 0.95,
    "dead_relu": 0.95,
    "loss_not_falling": 50,
}
CHECKS: dict[str, str] = {
    "overflow": "a result has NaN or infinite elements, and no input of the op has",
    "too_large": "a result's largest element is above the limit (half the type's range at most), "
    "and above any number that the user's code put in",
    "too_small": "no element of a result is zero or above the limit",
    "all_zero": "a layer's output has no element but zeros",
    "weight_change_too_large": "mean |change| of a parameter in a step over its mean |value| (of "
    "one with few elements, the layer's), the largest so far; what was all zeros finds its size in "
    "ten steps",
    "weight_unchanged": "a parameter with a gradient keeps its value for that many steps",
    "gradient_vanishing": "the largest element of a parameter's gradient is below the limit; or it "
    "is zeros for two steps",
    "gradient_exploding": "the norm of a parameter's gradient is above the limit, or NaN",
    "activation_saturation": "the share of a sigmoid's or tanh's results at its ends",
    "dead_relu": "the share of a layer's units whose relu is zero for every example",
    "loss_not_falling": "steps since the loss was lowest",
}


class Place(NamedTuple):
    """Where something happened.

    Attributes:
        layer: path of the module in its model; "" outside of all.
        op: its name, with "backward of" where a gradient was computed.
        file, line: of the user's code.
    """

    layer: str = ""
    op: str = ""
    file: str = ""
    line: int = 0

    def __str__(self) -> str:
        parts = [self.layer or "no layer"]
        if self.op:
            parts.append(self.op)
        if self.file:
            file = self.file.removeprefix(os.path.join(os.getcwd(), ""))
            parts.append(f"{file}:{self.line}")
        return ", ".join(parts)


class Hit(NamedTuple):
    """A condition that was met.

    Attributes:
        check: its name.
        step: counted from 1.
        place: where.
        statistic: the figure that met it, in words.
        value: the figure.
    """

    check: str
    step: int
    place: Place
    statistic: str
    value: float

    def __str__(self) -> str:
        return f"step {self.step}: {self.check} in {self.place}: {self.statistic}"


def chosen(names: Iterable[str]) -> set[str]:
    """The checks of these names; "all" is all of them.

    Raises:
        ValueError: there is no such check.
    """
    wanted = set(names) or {"all"}
    unknown = wanted - CHECKS.keys() - {"all"}
    if unknown:
        raise ValueError(
            f"no watchpoint named {', '.join(sorted(unknown))}; there are {', '.join(CHECKS)}"
        )
    return set(CHECKS) if "all" in wanted else wanted


# numpy's float16, and the types whose largest number is no float64's
_LARGEST = {np.dtype(np.float16): 65504.0, np.dtype(np.float32): 3.4e38}


def _smallest(array: np.ndarray) -> float:
    return float(np.abs(array).min()) if array.size else 0.0


def _ceiling(dtype: Any, limit: float) -> float:
    """The limit for large values: half of what the type can hold where that is less."""
    return min(limit, _LARGEST.get(dtype, 1.7e308) / 2)


def tensor_faults(
    array: np.ndarray, wanted: set[str], limits: dict[str, float]
) -> dict[str, tuple[str, float]]:
    """The conditions on single tensors that an array meets: name -> (words, figure)."""
    largest = largest_of(array)
    if not math.isfinite(largest):
        if "overflow" not in wanted:
            return {}
        nan, infinite = int(np.isnan(array).sum()), int(np.isinf(array).sum())
        words = f"{nan} NaN and {infinite} infinite of {array.size} elements"
        return {"overflow": (words, float(nan + infinite))}
    found = {}
    if "too_large" in wanted and largest > _ceiling(array.dtype, limits["too_large"]):
        found["too_large"] = (f"largest |element| {largest:.4g}", largest)
    if "too_small" in wanted and 0 < largest < limits["too_small"] and _smallest(array) > 0:
        found["too_small"] = (f"largest |element| {largest:.4g}", largest)
    return found
