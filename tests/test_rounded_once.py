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
