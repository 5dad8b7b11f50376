"""Adam, which knows its tensors' memory from the steps before, sees whatever was changed since."""

from __future__ import annotations

import copy
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import mindtorch.torch as torch


def _other_state(parameters: Any, optimizer: Any) -> None:
    optimizer.state[parameters[0]]["exp_avg"] = torch.ones_like(parameters[0])


def _no_state(parameters: Any, optimizer: Any) -> None:
    optimizer.state.clear()


def _state_of_one(parameters: Any, optimizer: Any) -> None:
    optimizer.state[parameters[3]] = {}


def _loaded(parameters: Any, optimizer: Any) -> None:
    optimizer.load_state_dict(copy.deepcopy(optimizer.state_dict()))


def _data(parameters: Any, optimizer: Any) -> None:
    parameters[0].data = torch.ones(8, 4)


def _memory_of_state(parameters: Any, optimizer: Any) -> None:
    optimizer.state[parameters[0]]["exp_avg_sq"].set_(torch.ones(8, 4))


def _fewer(parameters: Any, optimizer: Any) -> None:
    optimizer.param_groups[0]["params"].pop(0)


def _frozen(parameters: Any, optimizer: Any) -> None:
    parameters[1].requires_grad_(False)


def _settings(parameters: Any, optimizer: Any) -> None:
    optimizer.param_groups[0].update(lr=0.5, betas=(0.5, 0.9), weight_decay=0.1, maximize=True)


def _largest(parameters: Any, optimizer: Any) -> None:
    optimizer.param_groups[0]["amsgrad"] = True
    for state in optimizer.state.values():
        state["max_exp_avg_sq"] = torch.full_like(state["exp_avg"], 0.1)


def _trained(change: Callable[[Any, Any], None], compiled: bool) -> list[Any]:
    torch.manual_seed(0)
    model = torch.nn.Sequential(torch.nn.Linear(4, 8), torch.nn.ReLU(), torch.nn.Linear(8, 2))
    parameters = list(model.parameters())
    optimizer = torch.optim.Adam(parameters, lr=0.01)
    x = torch.randn(5, 4)

    def step() -> Any:
        optimizer.zero_grad()
        loss = model(x).square().mean()
        loss.backward()
        optimizer.step()
        return loss

    run = torch.compile(step) if compiled else step
    for i in range(10):
        if i == 7:
            watched = [each._unmoved for each in optimizer._updates.values()]
            assert not compiled or watched != [None]
            change(parameters, optimizer)
        if not compiled:
            optimizer._updates = {}  # nothing is known
        run()
    return [p.detach().numpy() for p in parameters]


@pytest.mark.parametrize(
    "change",
    [_other_state, _no_state, _state_of_one, _loaded, _data, _memory_of_state, _fewer, _frozen,
     _settings, _largest],
)  # fmt: skip
def test_changes_between_steps_are_seen(change: Callable[[Any, Any], None]) -> None:
    for given, expected in zip(_trained(change, True), _trained(change, False), strict=True):
        np.testing.assert_array_equal(given, expected)
