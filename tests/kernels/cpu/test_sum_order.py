"""Sums, means and norms are added in PyTorch's order, which is the same on every processor.

Numbers of many sizes are added, so that another order shows in the last bit.
"""

from __future__ import annotations

import random
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
import torch

import mindtorch.torch as ours

TYPES = ("float32", "float64", "bfloat16", "float16")


@pytest.fixture(autouse=True)
def threads_as_before() -> Iterator[None]:
    before = torch.get_num_threads(), ours.get_num_threads()
    yield
    torch.set_num_threads(before[0])
    ours.set_num_threads(before[1])


def _use_threads(count: int) -> None:
    torch.set_num_threads(count)
    ours.set_num_threads(count)


def _numbers(size: int, seed: int) -> Any:
    draw = np.random.default_rng(seed)
    return draw.standard_normal(size) * np.exp(2 * draw.standard_normal(size))


def _compare(values: Any, kind: str, shape: Any, view: Any, call: Any, label: Any) -> None:
    found, expected = (
        call(view(t.from_numpy(values).to(getattr(t, kind)).reshape(shape))).double().numpy()
        for t in (ours, torch)
    )
    np.testing.assert_array_equal(found, expected, err_msg=str(label))


@pytest.mark.parametrize("kind", TYPES)
def test_rows_and_columns_of_any_length(kind: str) -> None:
    _use_threads(1)
    for n in [*range(1, 70), 127, 128, 255, 511, 512, 513, 1000, 4095, 4096, 8191, 8192, 9001]:
        for shape, axis in (((n,), 0), ((3, n), 1), ((n, 3), 0), ((n, 45), 0)):
            values = _numbers(int(np.prod(shape)), n)
            for name in ("sum", "mean"):
                _compare(
                    values, kind, shape, lambda x: x,
                    lambda x: getattr(x, name)(axis), (name, shape, axis),  # noqa: B023
                )  # fmt: skip


def _random_case(pick: random.Random, sizes: list[int]) -> Any:
    ndim = pick.randint(1, 4)
    shape = [pick.choice(sizes) for _ in range(ndim)]
    if ndim < 3:
        shape[0] = pick.randint(1, 3000)
    order = pick.sample(range(ndim), ndim)
    steps = tuple(slice(None, None, pick.choice([1, 1, 1, 2, 3])) for _ in range(ndim))
    axes = pick.sample(range(ndim), pick.randint(1, ndim))
    return shape, axes, order, steps


@pytest.mark.parametrize("kind", TYPES)
def test_any_layout_and_axes(kind: str) -> None:
    _use_threads(1)
    pick = random.Random(7)
    for number in range(60):
        shape, axes, order, steps = _random_case(pick, [1, 2, 3, 5, 8, 9, 16, 17, 33, 40])
        for name in ("sum", "mean"):
            _compare(
                _numbers(int(np.prod(shape)), number), kind, shape,
                lambda x: x.permute(order)[steps],  # noqa: B023
                lambda x: getattr(x, name)(axes), (name, shape, order, steps, axes),  # noqa: B023
            )  # fmt: skip


@pytest.mark.parametrize("threads", [2, 3, 8])
def test_many_elements_are_cut_into_a_range_for_each_thread(threads: int) -> None:
    _use_threads(threads)
    shapes = [(32767,), (32768,), (100003,), (270001,), (257, 1031), (65536, 5), (6, 100, 130)]
    for kind in ("float32", "float64"):
        for shape in shapes:
            values = _numbers(int(np.prod(shape)), threads)
            for axes in (None, 0, -1):
                _compare(
                    values, kind, shape, lambda x: x,
                    lambda x: x.sum() if axes is None else x.mean(axes), (kind, shape, axes),  # noqa: B023
                )  # fmt: skip


@pytest.mark.parametrize("kind", ["float32", "float64"])
def test_norms_add_squares_in_torchs_order(kind: str) -> None:
    """Lengths are multiples of 4: with fused products torch rounds the rest otherwise."""
    for threads in (1, 2):
        _use_threads(threads)
        for shape, axes in (
            ((4,), 0), ((1000,), 0), ((70012,), 0), ((9, 100), 1), ((100, 9), 0), ((6, 8, 12), 1),
            ((6, 8, 12), (1, 2)), ((5, 44), None),
        ):  # fmt: skip
            _compare(
                _numbers(int(np.prod(shape)), 5), kind, shape, lambda x: x,
                lambda x: x.norm() if axes is None else x.norm(dim=axes), (shape, axes),  # noqa: B023
            )  # fmt: skip
    values = _numbers(4000, 1)
    _compare(
        values, kind, (40, 100), lambda x: x[:, ::2], lambda x: x.norm(dim=1), "every second"
    )


def test_the_levels_of_a_long_sum() -> None:
    _use_threads(1)
    for size in (2**19 * 32 + 777, 3_000_001):  # blocks of 32 rows, and of 16
        values = _numbers(size, 3).astype(np.float32)
        assert ours.from_numpy(values).sum().numpy() == torch.from_numpy(values).sum().numpy()


def test_a_sum_of_nothing_and_zeros() -> None:
    for shape in ((0,), (0, 3), (3, 0)):
        for t in (ours, torch):
            assert t.zeros(shape).sum().item() == 0
            assert np.isnan(t.zeros(shape).mean().item())
        assert ours.ones(shape).sum(0).tolist() == torch.ones(shape).sum(0).tolist()
    zero = ours.tensor(-0.0)
    assert not np.signbit(zero.sum().numpy()) and not np.signbit(torch.tensor(-0.0).sum().numpy())
