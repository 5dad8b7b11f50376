"""Gradients that arrive at one place are added in the memory of the first where nobody else has it:
large ones, and only where the pass itself is not recorded."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch as reference

import mindtorch.torch as torch
from mindtorch.engine import switches
from mindtorch.engine.autograd import backward, inplace

SIZE = 200  # squared more than there must be


def added(monkeypatch: Any) -> list[Any]:
    """The sums that are made in place from now on."""
    own: Any = inplace.add_into
    seen: list[Any] = []

    def add_into(target: Any, value: Any) -> None:
        seen.append(target.shape)  # the tensor itself would have another holder
        own(target, value)

    monkeypatch.setattr(backward, "add_into", add_into)
    return seen


def residual(x: Any) -> Any:
    y = x * 2
    return (y.sin() + y.cos() * y).sum()


def twice(x: Any) -> Any:
    y = x.sin()
    return (y + y).cos().sum()


def through_views(x: Any) -> Any:
    y = x * 3
    return (y.t().sin().sum() + y.reshape(-1).cos().sum() + y.exp().sum()) * 0.1


@pytest.mark.parametrize("function", [residual, twice, through_views])
@pytest.mark.parametrize("is_on", [True, False])
def test_gradients_are_pytorchs(function: Callable[[Any], Any], is_on: bool) -> None:
    values = np.random.default_rng(0).standard_normal((SIZE, SIZE)).astype(np.float32)
    found = []
    for library in (torch, reference):
        x = library.tensor(values, requires_grad=True)
        if library is torch and not is_on:
            with switches.off("grad_buffer_reuse"):
                for _ in range(4):
                    x.grad = None
                    function(x).backward()
        else:
            for _ in range(4):
                x.grad = None
                function(x).backward()
        found.append(x.grad.numpy())
    np.testing.assert_allclose(found[0], found[1], rtol=2e-5, atol=2e-6)


def test_memory_is_used_again(monkeypatch: Any) -> None:
    x = torch.randn(SIZE, SIZE, requires_grad=True)
    for _ in range(4):  # while rules are recorded, what they return has another holder
        torch.autograd.grad(residual(x), x)
    seen = added(monkeypatch)
    torch.autograd.grad(residual(x), x)
    assert len(seen) == 2
    with switches.off("grad_buffer_reuse"):
        torch.autograd.grad(residual(x), x)
    torch.autograd.grad(residual(x), x, create_graph=True)
    small = torch.randn(4, 4, requires_grad=True)
    residual(small).backward()
    assert len(seen) == 2


def test_what_others_hold_stays(monkeypatch: Any) -> None:
    """A gradient that a hook keeps, one that is given, and one that goes two ways."""
    seen = added(monkeypatch)
    x = torch.randn(SIZE, SIZE, requires_grad=True)
    kept: list[Any] = []
    y = x * 2
    first, second = y.sin(), y + 0
    second.register_hook(kept.append)
    given = torch.randn(SIZE, SIZE)
    before = given.clone()
    (first + second).backward(given)
    assert torch.equal(given, before) and torch.equal(kept[0], before)
    assert torch.equal(x.grad, 2 * (before + before * y.detach().cos()))
    assert len(seen) <= 1
