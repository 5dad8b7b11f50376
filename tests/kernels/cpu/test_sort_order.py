"""Equal elements come in PyTorch's order out of sorts that are not stable."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch

import mindtorch.torch as ours


def rows(dtype: str, length: int) -> tuple[Any, Any]:
    """Two rows with many equal elements, and in floating types nan and both zeros."""
    values = np.random.default_rng(length).integers(-3, 4, (2, length)).astype(np.float32)
    if "float" in dtype:
        values[0, :3] = np.nan, -0.0, np.inf
    theirs = torch.from_numpy(values).to(getattr(torch, dtype))
    return theirs, ours.tensor(values).to(getattr(ours, dtype))


@pytest.mark.parametrize("dtype", ["float32", "float64", "bfloat16", "int64", "uint8", "bool"])
@pytest.mark.parametrize("length", [16, 17, 300])
@pytest.mark.parametrize("descending", [False, True])
@pytest.mark.parametrize("stable", [False, True])
def test_sort_leaves_equal_elements_where_torch_does(
    dtype: str, length: int, descending: bool, stable: bool
) -> None:
    """Places are compared with ==: who ranks by them gets PyTorch's ranking."""
    theirs, mine = rows(dtype, length)
    expected = torch.sort(theirs, dim=1, descending=descending, stable=stable)
    found = ours.sort(mine, dim=1, descending=descending, stable=stable)
    assert found.indices.tolist() == expected.indices.tolist()
    assert str(found.values.tolist()) == str(expected.values.tolist())


@pytest.mark.parametrize("length", [8, 40, 128, 129])
@pytest.mark.parametrize("descending", [False, True])
@pytest.mark.parametrize("dtype", ["float32", "int64"])
def test_rows_without_equal_elements_are_ordered(
    dtype: str, length: int, descending: bool
) -> None:
    """Short ones are ranked by counting; one row of them has a pair, and one nan."""
    values = np.random.default_rng(length).permuted(np.tile(np.arange(length), (4, 1)), axis=1)
    array = (values - 3).astype(dtype)
    array[1, 2] = array[1, 5]
    if dtype == "float32":
        array[2, 3] = np.nan
    theirs, mine = torch.from_numpy(array), ours.from_numpy(array.copy())
    for call in (
        lambda x: x.sort(1, descending=descending), lambda x: x.topk(5, 1, descending),
        lambda x: x.kthvalue(3, 1), lambda x: x.median(1), lambda x: x.nanmedian(1),
    ):  # fmt: skip
        for found, expected in zip(call(mine), call(theirs), strict=True):
            np.testing.assert_array_equal(found.numpy(), expected.numpy())


@pytest.mark.parametrize("right", [False, True])
@pytest.mark.parametrize("count", [0, 7, 64, 65])
def test_places_between_edges_that_are_sorted_and_not(count: int, right: bool) -> None:
    """Sorted ones are counted where they are few; others are halved as PyTorch halves them."""
    random = np.random.default_rng(count)
    values = np.append(random.standard_normal(600), [np.nan, np.inf, -np.inf]).astype(np.float32)
    edges = np.sort(random.standard_normal(count)).astype(np.float32)
    nan = np.append(edges, np.float32("nan"))
    for each in (edges, edges[::-1].copy(), np.repeat(edges, 2), nan):
        found = ours.searchsorted(ours.from_numpy(each), ours.from_numpy(values), right=right)
        expected = torch.searchsorted(
            torch.from_numpy(each), torch.from_numpy(values), right=right
        )
        np.testing.assert_array_equal(found.numpy(), expected.numpy())


@pytest.mark.parametrize("dtype", ["float32", "bfloat16", "int64"])
@pytest.mark.parametrize(("length", "k"), [(16, 1), (20, 3), (300, 1), (300, 4), (300, 100)])
@pytest.mark.parametrize("largest", [False, True])
def test_topk_takes_the_same_of_equal_elements(
    dtype: str, length: int, k: int, largest: bool
) -> None:
    """PyTorch selects by heaps (a small k) or by partitions; which element it takes differs."""
    theirs, mine = rows(dtype, length)
    expected = torch.topk(theirs, k, 1, largest)
    found = ours.topk(mine, k, 1, largest)
    assert found.indices.tolist() == expected.indices.tolist()
    assert str(found.values.tolist()) == str(expected.values.tolist())


@pytest.mark.parametrize("k", [1, 3, 8, 9])
@pytest.mark.parametrize("largest", [False, True])
def test_a_few_of_long_rows_with_and_without_equal_elements(k: int, largest: bool) -> None:
    """Rows are read once where the order of what is found is not in question."""
    values = np.random.default_rng(k).standard_normal((90, 1000)).astype(np.float32)
    values[::7] = np.round(values[::7])  # many are equal
    values[3, 500:502], values[4, ::100], values[5] = np.nan, -np.inf, 2
    values[6, 10], values[6, 20], values[8] = 0.0, -0.0, np.arange(1000)
    values[9] = -values[8]
    expected = torch.topk(torch.from_numpy(values), k, 1, largest)
    found = ours.topk(ours.from_numpy(values), k, 1, largest)
    assert found.indices.tolist() == expected.indices.tolist()
    assert found.values.numpy().tobytes() == expected.values.numpy().tobytes()


def test_a_sort_of_a_middle_axis_orders_each_row() -> None:
    """Rows are gathered for the sort and put back where they were."""
    values = np.random.default_rng(0).integers(0, 5, (3, 40, 2))
    expected = torch.argsort(torch.from_numpy(values), 1, True)
    assert ours.argsort(ours.tensor(values), 1, True).tolist() == expected.tolist()


def test_runs_of_no_slices_are_none_and_slices_of_nothing_are_refused() -> None:
    """A length of 0 along the axis is an answer, elsewhere it is torch's error."""
    found = ours.unique_consecutive(ours.empty(3, 0, 2), True, True, 1)
    assert [tuple(x.shape) for x in found] == [(3, 0, 2), (0,), (0,)]
    for shape, text in (((2, 0), "aren't selected"), ((0, 0), "more than one")):
        with pytest.raises(RuntimeError, match=text):
            torch.unique_consecutive(torch.empty(shape), dim=0)
        with pytest.raises(RuntimeError, match=text):
            ours.unique_consecutive(ours.empty(shape), dim=0)


@pytest.mark.parametrize("dtype", ["float32", "float16"])
@pytest.mark.parametrize("count", [3, 40, 300])
def test_multinomial_leaves_weights_of_zero_where_torch_does(dtype: str, count: int) -> None:
    """They have equal scores, and are drawn last where more is asked for than can be drawn."""
    weights = np.random.default_rng(0).random((2, 300)).astype(np.float32)
    weights[:, 20:] = 0
    drawn = []
    for library in (torch, ours):
        library.manual_seed(3)
        given = library.tensor(weights).to(getattr(library, dtype))
        drawn.append(library.multinomial(given, count).tolist())
    assert drawn[0] == drawn[1]


@pytest.mark.parametrize("dtype", ["float32", "bfloat16", "int64", "uint8"])
def test_the_median_is_the_one_that_a_stable_sort_puts_in_the_middle(dtype: str) -> None:
    """Values are torch's; of equal elements the place is the stable sort's; nan comes first."""
    theirs, mine = rows(dtype, 301)
    found = ours.median(mine, 1)
    assert str(found.values.tolist()) == str(torch.median(theirs, 1).values.tolist())
    expected = torch.sort(theirs, dim=1, stable=True).indices[:, 150]
    if theirs.is_floating_point():
        expected[0] = 0
    assert found.indices.tolist() == expected.tolist()
