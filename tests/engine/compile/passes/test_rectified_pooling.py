"""A ReLU in the pass of max pooling: the same bits, and where it is left alone."""

from __future__ import annotations

from typing import Any

import pytest

import mindtorch.torch as torch
from mindtorch.engine.compile.jit import jit

F: Any = torch.nn.functional


def _of_two(x: Any) -> Any:
    return F.max_pool2d(F.relu(x), 2)


def _of_three(x: Any) -> Any:
    return F.max_pool2d(F.relu(x), 3, 2, 1)


def _used_again(x: Any) -> Any:
    y = F.relu(x)
    return F.max_pool2d(y, 2).sum() + y[..., 0].sum()


def _returned(x: Any) -> Any:
    return F.max_pool2d(F.relu(x), 2, return_indices=True)[1].sum() + F.max_pool2d(F.relu(x), 2)


# a function, a shape, whether the ReLU is in the pass, and whether the gradient's mask is behind it
CASES: dict[str, Any] = {
    "halves": (_of_two, (2, 3, 8, 18), True, True),
    "a rest, and registers that overlap": (_of_two, (2, 3, 9, 23), True, True),
    "many": (_of_two, (4, 8, 64, 64), True, True),
    "short rows": (_of_two, (2, 3, 10, 11), True, True),
    "shorter rows than registers": (_of_two, (2, 3, 10, 5), False, True),
    "overlapping windows": (_of_three, (2, 3, 9, 11), False, True),
    "the ReLU is used elsewhere": (_used_again, (2, 3, 8, 18), False, False),
    "places are used": (_returned, (2, 3, 8, 18), True, True),
}


@pytest.mark.parametrize("last", [False, True], ids=["", "channels last"])
@pytest.mark.parametrize("name", CASES)
def test_the_bits_stay(name: str, last: bool) -> None:
    """Windows of negative numbers, of zeros of both signs, with NaN and with ties included."""
    function, shape, forward, backward = CASES[name]
    torch.manual_seed(0)
    given = torch.randint(-4, 3, shape).float() / 2
    given[torch.rand(shape) < 0.2] = -0.0
    given[torch.rand(shape) < 0.05] = float("nan")
    if last:
        given = given.to(memory_format=torch.channels_last)

    def step(x: Any, weight: Any) -> Any:
        made = function(x * 1.0)
        (made * weight).sum().backward()
        return made

    found = []
    compiled = jit(step)
    weight = torch.randn(function(given).shape)
    for call in (step, compiled):
        x = given.clone().requires_grad_()
        made = call(x, weight)
        found.append((made.detach(), x.grad))
    for one, other in zip(*found, strict=True):
        assert torch.equal(torch.signbit(one), torch.signbit(other))
        assert torch.equal(one.nan_to_num(7.0), other.nan_to_num(7.0))
    (kept,) = next(iter(compiled.compiled.values()))
    names = [n for each in kept.steps for n in each.executable.names]
    assert ("relu+max_pool" in names) is (forward and not last)
    behind = [n for n in names if "_gradient" in n][-1] == "max_pool_gradient"
    assert behind is backward
