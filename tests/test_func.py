"""torch.func: derivatives and vmap, against real torch and against a loop."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch

import mindtorch.torch as ours
from mindtorch.torch import func


def _both(*shape: int) -> tuple[Any, Any]:
    values = np.random.default_rng(len(shape)).standard_normal(shape).astype("f4")
    return ours.from_numpy(values.copy()), torch.from_numpy(values)


@pytest.mark.parametrize(("in_dims", "out_dims"), [(0, 0), ((0, 1), 0), ((None, 1), 1), (-1, -1)])
def test_vmap_is_torchs(in_dims: Any, out_dims: Any) -> None:
    """Batch axes of arguments and results are where torch has them."""
    mine_x, x = _both(3, 3, 3)
    mine = func.vmap(lambda a, b: a @ b.T + a, in_dims, out_dims)(mine_x, mine_x)
    theirs = torch.func.vmap(lambda a, b: a @ b.T + a, in_dims, out_dims)(x, x)
    np.testing.assert_allclose(mine.numpy(), theirs.numpy(), rtol=1e-6, atol=1e-6)


def test_gradients_for_each_example() -> None:
    """vmap of grad, and grad through vmap."""
    mine_x, x = _both(4, 3)
    mine = func.vmap(func.grad(lambda v: (v**3).sum()))(mine_x)
    np.testing.assert_allclose(mine.numpy(), 3 * x.numpy() ** 2, rtol=1e-6)
    mine = func.grad(lambda v: func.vmap(lambda row: (row**2).sum())(v).sum())(mine_x)
    np.testing.assert_allclose(mine.numpy(), 2 * x.numpy(), rtol=1e-6)


def test_grad_and_value_is_torchs() -> None:
    """Several arguments, auxiliary results."""
    mine_x, x = _both(3)
    mine = func.grad_and_value(lambda a, b: ((a * b).sum(), a), (0, 1), True)(mine_x, mine_x)
    theirs = torch.func.grad_and_value(lambda a, b: ((a * b).sum(), a), (0, 1), True)(x, x)
    for m, t in zip(mine[0], theirs[0], strict=True):
        np.testing.assert_allclose(m.numpy(), t.numpy())
    assert mine[1][0].item() == pytest.approx(theirs[1][0].item(), rel=1e-6)


def test_bad_axes_are_refused() -> None:
    """ValueError as in torch."""
    x = ours.ones(2, 3)
    with pytest.raises(ValueError, match="dimensionality 2"):
        func.vmap(lambda v: v, 5)(x)
    with pytest.raises(ValueError, match="same size in the mapped dimension"):
        func.vmap(lambda a, b: a + b)(x, ours.ones(3))


def test_drawing_needs_leave() -> None:
    """randomness="error" refuses a function that draws; "different" draws for each example."""
    x = ours.zeros(3, 2)
    with pytest.raises(RuntimeError, match="randomness error mode"):
        func.vmap(lambda v: v + ours.rand(2))(x)
    drawn = func.vmap(lambda v: v + ours.rand(2), randomness="different")(x)
    assert len({tuple(row) for row in drawn.tolist()}) == 3
