"""Loops over places along an axis give, bit for bit, what numpy's unbuffered writes give."""

from __future__ import annotations

import numpy as np
import pytest

from mindtorch.kernels.cpu import indexing


def _case(axis: int, dtype: str, turned: bool):
    """A target, places that repeat, and values, of shape (4, 5, 6) but for ``axis``."""
    random = np.random.default_rng(axis)
    shape = [4, 5, 6]
    x = (random.standard_normal(shape) * 9).astype(dtype)
    shape[axis] = 9
    index = random.integers(0, x.shape[axis], shape)
    values = (random.standard_normal(shape) * 9).astype(dtype)
    if turned:
        x, index, values = (np.asarray(a, order="F") for a in (x, index, values))
    return x, index, values


def _grid(index, axis):
    places = list(np.indices(index.shape))
    places[axis] = index
    return tuple(places)


@pytest.mark.parametrize("turned", [False, True])
@pytest.mark.parametrize("dtype", ["float32", "float64", "int8", "int64", "float16", "complex64"])
@pytest.mark.parametrize("axis", [0, 1, 2])
def test_elements_are_read_written_and_added_as_numpy_does(axis, dtype, turned):
    """Places repeat, so the order of the sums shows; the last place written stays."""
    x, index, values = _case(axis, dtype, turned)
    places = _grid(index, axis)
    read = np.empty(index.shape, dtype)
    indexing.gather(read, x, index, axis=axis)
    np.testing.assert_array_equal(read, x[places])
    # 16-bit sums are rounded once
    wide = np.float32 if dtype == "float16" else dtype
    expected, out = x.astype(wide, order="C"), np.empty(x.shape, dtype)
    np.add.at(expected, places, values.astype(wide))
    expected = expected.astype(dtype)
    indexing.scatter_add(out, x, index, values, axis=axis)
    np.testing.assert_array_equal(out, expected)
    expected = x.copy(order="C")
    for place in np.ndindex(index.shape):
        expected[tuple(p[place] for p in places)] = values[place]
    indexing.scatter(out, x, index, values, axis=axis)
    np.testing.assert_array_equal(out, expected)


@pytest.mark.parametrize("dtype", ["float32", "int64"])
@pytest.mark.parametrize("axis", [0, 1, 2])
def test_slices_are_added_in_the_order_of_the_index(axis, dtype):
    """Each slice is added to what is there, as torch does, not to a sum of the new ones first."""
    x, index, values = _case(axis, dtype, False)
    rows = index[0, :, 0] if axis == 1 else index[:, 0, 0] if axis == 0 else index[0, 0]
    expected, out = x.copy(), np.empty_like(x)
    np.add.at(np.moveaxis(expected, axis, 0), rows, np.moveaxis(values, axis, 0))
    indexing.index_add(out, x, rows, values, axis=axis)
    np.testing.assert_array_equal(out, expected)


@pytest.mark.parametrize("wrong", [-1, 4])
def test_a_place_out_of_range_is_named_before_anything_is_read(wrong):
    """The compiled loops check nothing themselves."""
    x, out = np.ones((4, 3)), np.ones((2, 3))
    index = np.array([[0, 1, 2], [3, wrong, 0]])
    with pytest.raises(RuntimeError, match=f"index {wrong} is out of bounds for dimension 0"):
        indexing.gather(out, x, index, axis=0)
    with pytest.raises(RuntimeError, match=f"index {wrong} is out of bounds for dimension 0"):
        indexing.scatter_add(x.copy(), x, index, out, axis=0)
