"""The loops of a watch against numpy, in every element type that a tensor may have."""

import math

import ml_dtypes
import numpy as np
import pytest

from mindtorch import torch
from mindtorch.tools import watch
from mindtorch.tools.watchpoints.kernels import change_of, dead_units, largest_of, size_of

TYPES = [np.float16, ml_dtypes.bfloat16, np.float32, np.float64, np.complex64, np.complex128]


@pytest.mark.parametrize("kind", TYPES, ids=lambda kind: np.dtype(kind).name)
def test_sizes_and_changes_are_numpys(kind: type) -> None:
    """More elements than a block holds; a type's rounding is allowed for the norm and the means."""
    rng = np.random.default_rng(0)
    a: np.ndarray = rng.standard_normal(1000).astype(kind)
    b: np.ndarray = rng.standard_normal(1000).astype(kind)
    wide = [x.astype(np.complex128).view(np.float64) for x in (a, b)]
    if not np.iscomplexobj(a):
        wide = [x[::2] for x in wide]
    assert largest_of(a) == np.abs(wide[0]).max()
    assert size_of(a).norm == pytest.approx(np.linalg.norm(wide[0]), rel=1e-6)
    means = np.abs(wide[1] - wide[0]).mean(), np.abs(wide[0]).mean()
    assert change_of(a, b) == pytest.approx(means, rel=1e-6)


@pytest.mark.parametrize("scale", [1e-30, 1.0, 1e30])
def test_a_norm_stays_in_range(scale: float) -> None:
    """Squares of float32 leave its range, from either end."""
    values = np.full(4, scale, np.float32)
    assert size_of(values).norm == pytest.approx(2 * scale, rel=1e-6)


def test_what_is_not_finite_is_the_largest() -> None:
    """A NaN comes before an infinity, whatever their signs."""
    assert math.isnan(largest_of(np.array([1, -np.inf, -np.nan], np.float32)))
    assert largest_of(np.array([1, -np.inf], np.float32)) == math.inf
    assert largest_of(np.empty(0, np.float32)) == 0.0


def test_a_unit_is_dead_where_all_of_it_is_zero() -> None:
    """Zeros of either sign, in all examples and places."""
    values = np.zeros((3, 4, 5), np.float32)
    values[2, 1, 4], values[0, 3, 0], values[1, 2, 2] = 1.0, np.nan, -0.0
    assert dead_units(values.ravel(), values.shape) == 2


def test_what_lies_beyond_a_view_is_not_looked_at() -> None:
    """The rest of a buffer may not have been written yet."""
    buffer = torch.full((4, 3), math.nan)
    buffer[0], buffer[:, 1] = 1.0, 2.0
    with watch("overflow", on_hit="collect") as seen:
        buffer[0].mul_(2.0)
        buffer[:, 1].add_(1.0)
    assert seen.hits == []
