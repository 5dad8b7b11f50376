"""Operands of other types beside float16 and bfloat16: which ones torch rounds first."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import torch

import mindtorch.torch as mt

CALLS: dict[str, Callable[[Any, Any], Any]] = {
    "add": lambda t, x: x + 0.5437,
    "radd": lambda t, x: 0.5437 + x,
    "sub": lambda t, x: x - 0.5437,
    "rsub": lambda t, x: 0.5437 - x,
    "add_": lambda t, x: x.clone().add_(0.5437),
    "mul": lambda t, x: x * 0.5437,
    "mul_tensor": lambda t, x: x * t.tensor(0.5437),
    "tensor_mul": lambda t, x: t.tensor(0.5437) * x,
    "div": lambda t, x: x / 0.5437,
    "pow": lambda t, x: x.abs() ** 0.5437,
    "remainder": lambda t, x: x % 0.5437,
    "fmod": lambda t, x: t.fmod(x, 0.5437),
    "atan2": lambda t, x: t.atan2(x, t.tensor(0.5437)),
    "eq": lambda t, x: x == 0.5437,
    "gt": lambda t, x: x > 0.5437,
    "mul_integers": lambda t, x: x * t.arange(2000, 2000 + x.numel()),
    "add_integers": lambda t, x: x + t.arange(2000, 2000 + x.numel()),
}


@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
@pytest.mark.parametrize("name", CALLS)
def test_operands_are_rounded_where_torch_rounds_them(name: str, dtype: str) -> None:
    """Otherwise ``x == 0.1`` is False for the bfloat16 nearest to 0.1."""
    values = torch.linspace(-3, 3, 301, dtype=torch.float64).tolist()
    values[7] = 0.5437
    mine, theirs = (
        CALLS[name](t, t.tensor(values, dtype=getattr(t, dtype))).to(t.float32).tolist()
        for t in (mt, torch)
    )
    if name in ("pow", "remainder", "fmod", "atan2"):
        assert mine == pytest.approx(theirs, rel=2 * float(torch.finfo(getattr(torch, dtype)).eps))
    else:
        assert mine == theirs


@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
@pytest.mark.parametrize("decimals", [-1, 1, 2, 3])
def test_decimals_are_rounded_in_float32(decimals: int, dtype: str) -> None:
    """Otherwise ``x * 10`` and the quotient are rounded, too: 394 of 4,001 numbers were wrong."""
    values = torch.linspace(-30, 30, 401, dtype=torch.float64).tolist()
    mine, theirs = (
        t.round(t.tensor(values, dtype=getattr(t, dtype)), decimals=decimals).tolist()
        for t in (mt, torch)
    )
    assert mine == theirs


def test_many_distances_of_short_types() -> None:
    """torch has them by products alone, and refuses few rows and other norms."""
    x, few = mt.randn(30, 4).half(), mt.randn(3, 4).half()
    found = mt.cdist(x, few)
    assert found.dtype is mt.float16
    assert (found.float() - mt.cdist(x.float(), few.float())).abs().max().item() < 2e-3
    for a, p in ((few, 2.0), (x, 1.0)):
        with pytest.raises(NotImplementedError, match="\"cdist\" not implemented for 'Half'"):
            mt.cdist(a, few, p)
