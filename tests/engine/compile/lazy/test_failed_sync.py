"""A pending op that fails when it is run at last: what was done before it is as it is eagerly."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

import mindtorch.torch as torch
from mindtorch.engine.compile.jit import jit

F = torch.nn.functional
nn = torch.nn
Wrap = Callable[[Callable[..., Any]], Any]


def eagerly(function: Callable[..., Any]) -> Any:
    return function


def lazily(function: Callable[..., Any]) -> Any:
    call = jit(function)
    call.eager = "asked for"
    return call


@pytest.mark.parametrize("wrap", [eagerly, lazily])
def test_writes_and_results_before_the_error_are_there(wrap: Wrap) -> None:
    """In memory from outside, all and parts, in new memory and its views; what comes after the
    failing op has no data, and is not written."""
    table, buffer, rest = torch.arange(8.0).view(4, 2), torch.zeros(5), torch.zeros(2)
    kept: dict[str, Any] = {}

    def step(number: Any) -> Any:
        kept.clear()
        buffer.add_(1)
        buffer[1:3].mul_(2)
        kept["part"] = torch.zeros(6)
        kept["part"][2:4].add_(number.float())
        kept["new"] = (buffer * 2).add_(1)
        kept["view"] = kept["new"][1:3]
        kept["rows"] = table[number + 1]
        buffer.add_(100)
        rest.add_(1)
        return kept["rows"].sum().item()

    call = wrap(step)
    for number in (0, 1, 2, 0):
        call(torch.tensor(number))
    buffer.zero_()
    with pytest.raises(IndexError):
        call(torch.tensor(7))
    assert buffer.tolist() == [1, 2, 2, 1, 1] and rest.tolist() == [4, 4]
    assert kept["part"].tolist() == [0, 0, 7, 7, 0, 0]
    assert kept["new"].tolist() == [3, 5, 5, 3, 3] and kept["view"].tolist() == [5, 5]
    kept["view"].zero_()
    assert kept["new"].tolist() == [3, 0, 0, 3, 3]
    if "rows" in kept:
        with pytest.raises(RuntimeError, match="has no data"):
            kept["rows"].tolist()
    assert call(torch.tensor(1)) == 9 and buffer.tolist() == [102, 106, 106, 102, 102]


def trained(wrap: Wrap) -> list[Any]:
    """What a training step leaves whose last op fails."""
    torch.manual_seed(0)
    net = nn.Sequential(nn.Linear(4, 4), nn.BatchNorm1d(4), nn.Dropout(0.5), nn.Linear(4, 2))
    x, table = torch.randn(8, 4), torch.randn(5, 4)

    def step(last: torch.Tensor) -> float:
        net.zero_grad()
        net(x).square().mean().backward()
        with torch.no_grad():
            for p in net.parameters():
                p.sub_(p.grad, alpha=0.1)
        return F.embedding(last * 2, table).sum().item()

    call = wrap(step)
    for last in (0, 1, 2):
        call(torch.tensor(last))
    with pytest.raises(IndexError):
        call(torch.tensor(3))
    state = [*net.state_dict().values(), *[p.grad for p in net.parameters()], torch.rand(3)]
    return [each.tolist() for each in state]


def test_a_training_step_before_the_error_is_done() -> None:
    """Gradients, weights, running means and the random stream, bit for bit."""
    assert trained(lazily) == trained(eagerly)


@pytest.mark.parametrize("wrap", [eagerly, lazily])
def test_a_backward_pass_after_the_error_leaves_the_gradients(wrap: Wrap) -> None:
    """What was there before it, or nothing."""
    weight, other = torch.ones(3, requires_grad=True), torch.ones(3, requires_grad=True)
    table = torch.arange(3.0)

    def step(number: Any) -> Any:
        loss = (weight * table[number * 2]).sum()
        loss.backward()
        (other * 2).sum().backward()
        return loss.item()

    call = wrap(step)
    for _ in range(3):
        call(torch.tensor(1))
    before = weight.grad.tolist()
    other.grad = None
    with pytest.raises(IndexError):
        call(torch.tensor(4))
    assert weight.grad.tolist() == before and other.grad is None
