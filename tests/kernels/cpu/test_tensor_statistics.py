"""The loops of a tensor's figures give NumPy's in float64; limits hold where those are within."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import numpy as np
import pytest

from mindtorch.kernels.cpu.tensor_statistics import CHANGE, LIMITED, Loops

EPSILON = 0.5  # added to mean |before|
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


def is_within(
    values: np.ndarray, before: np.ndarray | None = None, keep: bool = False,
    ends: Mapping[str, tuple[float, float]] | None = None,
) -> tuple[bool, list[float]]:  # fmt: skip
    """Whether the limits hold, and the sums of the change."""
    loops = Loops(values.itemsize)
    limits = [end for name in LIMITED for end in (ends or {}).get(name, (-math.inf, math.inf))]
    row = np.array([*limits, EPSILON, EPSILON])
    old = loops.nothing if before is None else before
    signed = values.view(loops.signed)
    found = loops.is_within(values, signed, old, row, loops.row, loops.bits, keep)
    return found, loops.row[CHANGE:].tolist()


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


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("sign", [0, 1, -1])
def test_limits_hold_where_a_figure_is_within_them(dtype: Any, size: int, sign: int) -> None:
    values, before = arrays(dtype, size)
    if sign:
        values = sign * (abs(values) + 1).astype(dtype)
    zeros, total, sizes, _, least, greatest, change, was = expected(values, before)
    figures = {
        "greatest": greatest, "least": least, "range": greatest - least, "abs_mean": sizes / size,
        "mean": total / size, "zero_share": zeros / size,
    }  # fmt: skip
    for name, value in figures.items():
        apart = 1e-4 * max(1.0, abs(value))
        assert is_within(values, ends={name: (value - apart, value + apart)})[0], name
        assert not is_within(values, ends={name: (value + apart, math.inf)})[0], name
        assert not is_within(values, ends={name: (-math.inf, value - apart)})[0], name
    ratio = change / (was + EPSILON * size)
    near, far = {"change": (0.99 * ratio, 1.01 * ratio)}, {"change": (1.01 * ratio, math.inf)}
    held, sums = is_within(values, before, ends=near)
    assert held
    np.testing.assert_allclose(sums, [change, was], rtol=0, atol=rounding(values, before))
    assert not is_within(values, before, ends=far)[0]
    assert is_within(values, ends=far)[0]  # what it was is not known


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("size", SIZES)
def test_values_are_kept_after_they_were_compared(dtype: Any, size: int) -> None:
    values, before = arrays(dtype, size)
    untouched = before.copy()
    without = is_within(values, untouched)
    assert untouched.tobytes() == before.tobytes()
    kept = before.copy()
    assert is_within(values, kept, keep=True) == without
    assert kept.tobytes() == values.tobytes()
    assert is_within(values, kept, keep=True)[1][0] == 0


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("value", [math.nan, -math.nan, math.inf, -math.inf])
@pytest.mark.parametrize("place", [0, 1024, 2999])
def test_an_element_that_is_not_finite_shows(dtype: Any, value: float, place: int) -> None:
    """In an extreme, and as beyond any limits."""
    values, before = arrays(dtype, 3000)
    assert is_within(values)[0] and is_within(values, before)[0]
    values[place] = value
    found = figures(values)
    assert not (found[4] > -math.inf and found[5] < math.inf)
    assert not is_within(values)[0]
    assert not is_within(values, before)[0]


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_sums_of_change_alone(dtype: Any) -> None:
    values, before = arrays(dtype, 5000)
    loops = Loops(values.itemsize)
    loops.changes(values, before, loops.row)
    assert loops.row[CHANGE:].tolist() == is_within(values, before)[1]
