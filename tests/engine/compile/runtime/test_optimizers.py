"""Every optimizer in a compiled step: losses, parameters and state are those of eager steps."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

import mindtorch.torch as torch
from mindtorch.engine.compile.jit import jit

nn = torch.nn
KINDS: dict[str, list[dict[str, Any]]] = {
    "Adadelta": [{}, {"rho": 0.8, "weight_decay": 0.1}],
    "Adafactor": [{}],
    "Adagrad": [{}, {"lr_decay": 0.1, "initial_accumulator_value": 0.2}],
    "Adam": [
        {}, {"amsgrad": True, "weight_decay": 0.1}, {"foreach": False}, {"maximize": True},
        {"fused": True}, {"foreach": True, "amsgrad": True},
    ],
    "AdamW": [{}, {"amsgrad": True}],
    "Adamax": [{}, {"weight_decay": 0.1}],
    "ASGD": [{}, {"t0": 1, "lambd": 0.1}],
    "Muon": [{}],
    "NAdam": [{}, {"decoupled_weight_decay": True, "weight_decay": 0.1}],
    "RAdam": [{}, {"weight_decay": 0.1}],
    "RMSprop": [{}, {"centered": True, "momentum": 0.9}],
    "Rprop": [{}],
    "SGD": [
        {"lr": 0.1}, {"lr": 0.1, "momentum": 0.9, "nesterov": True, "weight_decay": 0.1},
        {"lr": 0.1, "dampening": 0.5, "momentum": 0.5, "maximize": True},
        {"lr": 0.1, "foreach": True}, {"lr": 0.1, "fused": True},
    ],
    "LBFGS": [{"lr": 0.1, "max_iter": 3}],
}  # fmt: skip
CASES = [(name, options) for name, each in KINDS.items() for options in each]


def trained(
    wrap: Callable[[Any], Any], name: str, options: dict[str, Any], closure: bool
) -> list[Any]:
    """Five steps, each on data of its own, under a schedule."""
    torch.manual_seed(0)
    bias = name != "Muon"
    net = nn.Sequential(nn.Linear(4, 8, bias=bias), nn.Tanh(), nn.Linear(8, 2, bias=bias))
    optimizer = getattr(torch.optim, name)(net.parameters(), **options)
    schedule = torch.optim.lr_scheduler.ExponentialLR(optimizer, 0.9)

    def step(x: Any) -> Any:
        def gradients() -> Any:
            optimizer.zero_grad()
            loss = (net(x) ** 2).sum()
            loss.backward()
            return loss

        if closure:
            return optimizer.step(gradients)
        loss = gradients()
        optimizer.step()
        return loss

    call = wrap(step)
    found = []
    for i in range(5):
        found.append(call(torch.ones(3, 4) * (i + 1)).item())
        schedule.step()
    return [found, [p.tolist() for p in net.parameters()], str(optimizer.state_dict())]


def replayed(function: Any) -> Any:
    call = jit(function)
    call.eager = "asked for"
    return call


def test_what_a_step_is_given_to_call_is_that_of_its_own_call() -> None:
    """A closure is another function at each call, over other data."""
    for name, options in (("SGD", {"lr": 0.1}), ("LBFGS", {"lr": 0.1, "max_iter": 3})):
        expected = trained(lambda f: f, name, options, True)
        assert trained(jit, name, options, True) == expected


@pytest.mark.exhaustive
@pytest.mark.parametrize("closure", [False, True], ids=["plain", "closure"])
@pytest.mark.parametrize(("name", "options"), CASES, ids=str)
def test_compiled_steps_are_eager_steps(name: str, options: Any, closure: bool) -> None:
    """Captured, and replayed."""
    if name == "LBFGS" and not closure:
        with pytest.raises(TypeError, match="closure"):
            trained(jit, name, options, closure)
        return
    expected = trained(lambda f: f, name, options, closure)
    assert trained(jit, name, options, closure) == expected
    assert trained(replayed, name, options, closure) == expected
