"""Gradients that differ at the kinks of |x| and of rectifiers, and others."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from mindtorch.tools.compare.distance import Distance


class _Stored:
    """A recorded array, found by itself."""

    def __init__(self, array: Any) -> None:
        self.array, self.stored, self.shape = array, True, array.shape
        self.largest = float(np.abs(array).max())


def flips(x: Any, y: Any) -> bool:
    files = SimpleNamespace(first=_Arrays(), second=_Arrays())
    return Distance.flips(files, [_Stored(x)], [_Stored(y)], 1e-4)  # type: ignore[arg-type, list-item]


class _Arrays:
    def __getitem__(self, recorded: _Stored) -> Any:
        return recorded.array


@pytest.mark.parametrize(("count", "factor", "expected"), [
    (1, 0.0, True), (4, 0.0, True), (40, 0.0, False), (1, -1.0, True), (60, -1.0, True),
    (400, -1.0, False), (1, 0.5, False), (4, 1.3, False),
])  # fmt: skip
def test_few_elements_may_be_barred_or_turn(count: int, factor: float, expected: bool) -> None:
    """Of four thousand: barred on one side, of the other sign, or of another size."""
    x = np.random.default_rng(0).uniform(0.5, 1.0, 4000)
    y = x.copy()
    y[:count] *= factor
    assert flips(x, y) is expected and flips(y, x) is expected
