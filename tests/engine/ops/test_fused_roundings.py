"""Products and sums that PyTorch's loops round once have its bits."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch

import mindtorch.torch as ours

CALLS: dict[str, Callable[..., Any]] = {
    "add": lambda t, x, y, z: x.add(y, alpha=0.63),
    "add_": lambda t, x, y, z: x.clone().add_(y, alpha=-0.63),
    "sub": lambda t, x, y, z: t.sub(x, y, alpha=3),
    "sub_": lambda t, x, y, z: x.clone().sub_(y, alpha=0.7),
    "rsub": lambda t, x, y, z: t.rsub(x, y, alpha=0.3),
    "addcmul": lambda t, x, y, z: t.addcmul(x, y, z, value=0.3),
    "lerp to a tensor's weight": lambda t, x, y, z: t.lerp(x, y, z),
    "lerp from the far end": lambda t, x, y, z: x.clone().lerp_(y, 0.7),
}


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("call", CALLS)
def test_a_product_in_a_sum_is_rounded_with_it(call: str, dtype: str) -> None:
    """Moving averages and blended images are such sums: after `to(uint8)` one bit is seen."""
    arrays = np.random.default_rng(0).standard_normal((3, 1000)).astype(dtype)
    expected = CALLS[call](torch, *torch.from_numpy(arrays).unbind())
    found = CALLS[call](ours, *ours.from_numpy(arrays).unbind())
    np.testing.assert_array_equal(found.numpy(), expected.numpy())


@pytest.mark.parametrize("call", ["add", "sub"])
def test_short_types_take_alpha_in_their_type(call: str) -> None:
    """PyTorch rounds alpha to bfloat16 first. Of 16 elements none is in a loop's remainder."""
    arrays = np.random.default_rng(0).standard_normal((3, 32)).astype("float32")
    rows = (t.from_numpy(arrays).to(t.bfloat16).unbind() for t in (torch, ours))
    expected, found = (CALLS[call](t, *r) for t, r in zip((torch, ours), rows, strict=True))
    assert found.tolist() == expected.tolist()


@pytest.mark.parametrize("dtype", ["float32", "float64", "bfloat16", "int64"])
def test_a_number_over_a_tensor_is_rounded_twice(dtype: str) -> None:
    """PyTorch multiplies the number by the reciprocal, and its derivative is that of a product."""
    arrays = np.random.default_rng(0).uniform(1, 90, 1000)

    def quotient(t: Any) -> Any:
        x = t.from_numpy(arrays).to(getattr(t, dtype))
        if dtype != "int64":
            x.requires_grad_()
        y = 320.0 / x
        gradient = t.autograd.grad(y.sum(), x)[0].tolist() if x.requires_grad else None
        return y.dtype.itemsize, y.tolist(), gradient, y.grad_fn and y.grad_fn.name()

    assert quotient(ours) == quotient(torch)


def test_tanh_rounds_once_near_one() -> None:
    """Policies of reinforcement learning take log(1 - tanh(x)^2), where the last bit decides."""
    x = np.linspace(3, 9, 5001, dtype="float32")
    exact = np.tanh(x.astype("float64")).astype("float32")
    assert (ours.tanh(ours.from_numpy(x)).numpy() != exact).mean() < 0.01
