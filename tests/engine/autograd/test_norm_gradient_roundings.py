"""Gradients of norms, and x ** -2, round in PyTorch's order, so that they have its bits."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch

import mindtorch.torch as ours

CALLS: dict[str, Callable[..., Any]] = {
    "norm 2": lambda t, x: t.linalg.vector_norm(x, 2, 1),
    "norm 0.5": lambda t, x: t.linalg.vector_norm(x, 0.5, 1),
    "norm 3": lambda t, x: t.linalg.vector_norm(x, 3, 1),
    "normalize": lambda t, x: t.nn.functional.normalize(x),
}


def gradient(t: Any, call: Callable[..., Any], values: Any) -> Any:
    x = t.from_numpy(values).to(t.float16).requires_grad_()
    y = call(t, x)
    weights = t.from_numpy(np.linspace(-2, 3, y.numel(), dtype=np.float32)).reshape(y.shape)
    return t.autograd.grad(y, x, weights.to(t.float16))[0].numpy()


@pytest.mark.parametrize("name", CALLS)
def test_gradients_of_norms_in_float16(name: str) -> None:
    """Four roundings: in another order most elements differ."""
    values = np.random.default_rng(0).standard_normal((8, 33)).astype("float32")
    expected, found = (gradient(t, CALLS[name], values) for t in (torch, ours))
    np.testing.assert_array_equal(found, expected)


def test_the_inverse_square_is_one_over_a_product() -> None:
    values = np.random.default_rng(0).random(999).astype("float32") + 0.1
    expected, found = (t.from_numpy(values).pow(-2).numpy() for t in (torch, ours))
    np.testing.assert_array_equal(found, expected)
