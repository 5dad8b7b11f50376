"""Optimizers know the memory of the steps before, and see whatever was changed since."""

from __future__ import annotations

import copy
import gc
import weakref
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import mindtorch.torch as torch
from mindtorch.engine.optim.multi_tensor import _unmoved


def _other_state(parameters: Any, optimizer: Any) -> None:
    state = optimizer.state[parameters[0]]
    state[next(iter(state.keys() - {"step"}))] = torch.ones_like(parameters[0])


def _no_state(parameters: Any, optimizer: Any) -> None:
    optimizer.state.clear()


def _state_of_one(parameters: Any, optimizer: Any) -> None:
    optimizer.state[parameters[3]] = {}


def _loaded(parameters: Any, optimizer: Any) -> None:
    optimizer.load_state_dict(copy.deepcopy(optimizer.state_dict()))


def _data(parameters: Any, optimizer: Any) -> None:
    parameters[0].data = torch.ones(8, 4)


def _memory_of_state(parameters: Any, optimizer: Any) -> None:
    for name, held in optimizer.state[parameters[0]].items():
        if name != "step":
            held.set_(torch.ones(8, 4))


def _fewer(parameters: Any, optimizer: Any) -> None:
    optimizer.param_groups[0]["params"].pop(0)


def _frozen(parameters: Any, optimizer: Any) -> None:
    parameters[1].requires_grad_(False)


def _settings(parameters: Any, optimizer: Any) -> None:
    changed = {"lr": 0.5, "betas": (0.5, 0.9), "momentum": 0.5, "weight_decay": 0.1}
    group = optimizer.param_groups[0]
    group.update({k: v for k, v in changed.items() if k in group}, maximize=True)


def _no_momentum(parameters: Any, optimizer: Any) -> None:
    optimizer.param_groups[0]["momentum"] = 0


def _largest(parameters: Any, optimizer: Any) -> None:
    optimizer.param_groups[0]["amsgrad"] = True
    for state in optimizer.state.values():
        state["max_exp_avg_sq"] = torch.full_like(state["exp_avg"], 0.1)


def _trained(
    kind: Any, change: Callable[[Any, Any], None], compiled: bool, known: bool = True
) -> list[Any]:
    torch.manual_seed(0)
    model = torch.nn.Sequential(torch.nn.Linear(4, 8), torch.nn.ReLU(), torch.nn.Linear(8, 2))
    parameters = list(model.parameters())
    optimizer = kind(parameters)
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
            assert not known or watched != [None]
            change(parameters, optimizer)
        if not known:
            optimizer._updates = {}
        run()
    return [p.detach().numpy() for p in parameters]


def test_what_is_known_dies_with_its_owner() -> None:
    """The generated expression is in no cycle, which would keep tensors until a collection."""
    parameter = torch.ones(3, requires_grad=True)
    parameter.grad = torch.ones(3)
    known = _unmoved({}, [parameter], ())
    assert known({}, [parameter], [], []) is False  # another state
    held = weakref.ref(parameter)
    gc.disable()
    try:
        del parameter
        assert held() is not None
        del known
        assert held() is None
    finally:
        gc.enable()


def _adam(parameters: Any) -> Any:
    return torch.optim.Adam(parameters, lr=0.01)


def _sgd(parameters: Any) -> Any:
    return torch.optim.SGD(parameters, lr=0.01, momentum=0.9)


_FOR_BOTH = [
    _other_state, _no_state, _state_of_one, _loaded, _data, _memory_of_state, _fewer, _frozen,
    _settings,
]  # fmt: skip


@pytest.mark.parametrize(
    ("kind", "change"),
    [*[(kind, change) for kind in (_adam, _sgd) for change in _FOR_BOTH], (_adam, _largest),
     (_sgd, _no_momentum)],
)  # fmt: skip
def test_changes_between_steps_are_seen(kind: Any, change: Callable[[Any, Any], None]) -> None:
    """Of compiled steps, whose gradients stay in their memory, and of eager ones."""
    expected = _trained(kind, change, False, known=False)
    for compiled in (True, False):
        for one, other in zip(_trained(kind, change, compiled), expected, strict=True):
            np.testing.assert_array_equal(one, other)
