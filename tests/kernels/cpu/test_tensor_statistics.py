"""The loops of a tensor's figures give NumPy's in float64, also beside what it was."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

from mindtorch.kernels.cpu.tensor_statistics import CHANGE, Loops

SIZES = [1, 7, 1023, 1024, 1025, 5000]


def arrays(dtype: Any, size: int) -> tuple[np.ndarray, np.ndarray]:
    generator = np.random.default_rng(size)
    values = generator.standard_normal(size).astype(dtype)
    values[::3] = 0
    values[1::9] = -0.0
    return values, generator.standard_normal(size).astype(dtype)


def figures(values: np.ndarray) -> list[float]:
    loops = Loops(values.itemsize)
    loops.figures(values, values.view(loops.signed), loops.row, loops.bits)
    return loops.row.tolist()


def figures_beside(values: np.ndarray, before: np.ndarray, keep: bool) -> list[float]:
    loops = Loops(values.itemsize)
    signed = values.view(loops.signed)
    loops.figures_beside(values, signed, before, loops.row, loops.bits, keep)
    return loops.row.tolist()


def expected(values: np.ndarray, before: np.ndarray) -> list[float]:
    new, old = values.astype(np.float64), before.astype(np.float64)
    return [
        (new == 0).sum(), new.sum(), abs(new).sum(), (new * new).sum(), new.min(), new.max(),
        abs(new - old).sum(), abs(old).sum(),
    ]  # fmt: skip


def rounding(values: np.ndarray, before: np.ndarray) -> float:
    """Of a sum of so many elements: a block's in their type, those of blocks in float64."""
    largest = float(max(1, abs(values).sum(dtype=np.float64), abs(before).sum(dtype=np.float64)))
    return 100 * float(np.finfo(values.dtype).eps) * largest


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("sign", [0, 1, -1])
def test_figures(dtype: Any, size: int, sign: int) -> None:
    values, before = arrays(dtype, size)
    if sign:
        values = sign * (abs(values) + 1).astype(dtype)
    wanted, atol = expected(values, before), rounding(values, before)
    found = figures(values)
    exact = [0, 4, 5]  # zeros, least, greatest
    assert [found[i] for i in exact] == [wanted[i] for i in exact]
    np.testing.assert_allclose(found[:CHANGE], wanted[:CHANGE], rtol=0, atol=atol)
    assert all(math.isnan(x) for x in found[CHANGE:])
    beside = figures_beside(values, before, keep=False)
    np.testing.assert_allclose(beside, wanted, rtol=0, atol=atol)
    assert [beside[i] for i in exact] == [wanted[i] for i in exact]


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("size", SIZES)
def test_values_are_kept_after_they_were_compared(dtype: Any, size: int) -> None:
    values, before = arrays(dtype, size)
    untouched = before.copy()
    without = figures_beside(values, untouched, keep=False)
    assert untouched.tobytes() == before.tobytes()
    kept = before.copy()
    assert figures_beside(values, kept, keep=True) == without
    assert kept.tobytes() == values.tobytes()
    assert figures_beside(values, kept, keep=True)[CHANGE] == 0


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("value", [math.nan, -math.nan, math.inf, -math.inf])
@pytest.mark.parametrize("place", [0, 1024, 2999])
def test_an_extreme_shows_what_is_not_finite(dtype: Any, value: float, place: int) -> None:
    values, before = arrays(dtype, 3000)
    values[place] = value
    for found in (figures(values), figures_beside(values, before, keep=False)):
        assert not (found[4] > -math.inf and found[5] < math.inf)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_sums_of_change_alone(dtype: Any) -> None:
    values, before = arrays(dtype, 5000)
    loops = Loops(values.itemsize)
    loops.changes(values, before, loops.row)
    assert loops.row[CHANGE:].tolist() == figures_beside(values, before, keep=False)[CHANGE:]
