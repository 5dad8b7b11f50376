"""Schedules of learning rates, beside torch's."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch.optim import lr_scheduler as theirs

import mindtorch.torch as mt
from mindtorch.torch import optim
from mindtorch.torch.optim import lr_scheduler as ours

Make = Callable[[Any, Any], Any]

SCHEDULES: dict[str, Make] = {
    "lambda": lambda m, o: m.LambdaLR(o, [lambda e: 0.95**e, lambda e: 1 / (1 + e)]),
    "multiplicative": lambda m, o: m.MultiplicativeLR(o, lambda e: 0.9 + 0.01 * e),
    "step": lambda m, o: m.StepLR(o, 3, 0.3),
    "multistep": lambda m, o: m.MultiStepLR(o, [2, 5, 5, 9], 0.3),
    "constant": lambda m, o: m.ConstantLR(o, 0.3, 4),
    "linear": lambda m, o: m.LinearLR(o, 0.2, 0.9, 7),
    "exponential": lambda m, o: m.ExponentialLR(o, 0.87),
    "polynomial": lambda m, o: m.PolynomialLR(o, 6, 1.7),
    "cosine": lambda m, o: m.CosineAnnealingLR(o, 5, 0.003),
    "restarts": lambda m, o: m.CosineAnnealingWarmRestarts(o, 3, 2, 0.001),
    "cyclic": lambda m, o: m.CyclicLR(o, 0.01, [0.1, 0.3], 3, 2, "triangular2"),
    "cyclic exp": lambda m, o: m.CyclicLR(o, 0.01, 0.1, 4, mode="exp_range", gamma=0.9),
    "one cycle": lambda m, o: m.OneCycleLR(o, [0.1, 0.3], 14),
    "one cycle linear": lambda m, o: m.OneCycleLR(
        o, 0.1, epochs=7, steps_per_epoch=2, anneal_strategy="linear", three_phase=True
    ),
    "sequential": lambda m, o: m.SequentialLR(
        o, [m.LinearLR(o, 0.1, 1.0, 3), m.CosineAnnealingLR(o, 5), m.ExponentialLR(o, 0.9)], [3, 8]
    ),
    "chained": lambda m, o: m.ChainedScheduler([m.ConstantLR(o, 0.1, 2), m.ExponentialLR(o, 0.9)]),
}


def optimizers() -> tuple[Any, Any]:
    """SGD with two groups in torch and here."""
    made = []
    for library, kind in ((torch, torch.optim.SGD), (mt, optim.SGD)):
        groups: Any = [
            {"params": [library.zeros(1, requires_grad=True)], "lr": lr} for lr in (0.1, 0.7)
        ]
        made.append(kind(groups, lr=0.1, momentum=0.5))
    return made[0], made[1]


def follow(optimizer: Any, scheduler: Any, steps: int) -> list[Any]:
    """Rates and momenta over some steps."""
    seen = []
    for _ in range(steps):
        seen.append(
            (scheduler.get_last_lr(), [(g["lr"], g["momentum"]) for g in optimizer.param_groups])
        )
        optimizer.step()
        with warnings.catch_warnings():  # SequentialLR's own use of epoch numbers
            warnings.simplefilter("ignore")
            scheduler.step()
    return seen


@pytest.mark.parametrize("name", SCHEDULES)
def test_rates_are_torchs_bit_for_bit(name: str) -> None:
    """Schedules are Python arithmetic: the same order of operations gives the same floats."""
    a, b = optimizers()
    make = SCHEDULES[name]
    assert follow(b, make(ours, b), 14) == follow(a, make(theirs, a), 14)


@pytest.mark.parametrize("name", SCHEDULES)
def test_state_dict_resumes(name: str) -> None:
    """A schedule restored from a state_dict goes on where the first one was."""
    make = SCHEDULES[name]
    _, whole = optimizers()
    expected = follow(whole, make(ours, whole), 12)
    _, first = optimizers()
    scheduler = make(ours, first)
    follow(first, scheduler, 5)
    state, groups = scheduler.state_dict(), first.state_dict()
    _, second = optimizers()
    resumed = make(ours, second)
    second.load_state_dict(groups)
    resumed.load_state_dict(state)
    assert follow(second, resumed, 7) == expected[5:]


@pytest.mark.parametrize("name", [n for n in SCHEDULES if n not in ("sequential", "chained")])
def test_state_dict_has_torchs_entries(name: str) -> None:
    """Checkpoints of schedules hold the same keys."""
    a, b = optimizers()
    make = SCHEDULES[name]
    assert set(make(ours, b).state_dict()) == set(make(theirs, a).state_dict())


@pytest.mark.parametrize(
    "name", ["step", "multistep", "constant", "linear", "exponential", "polynomial", "cosine"]
)
def test_closed_form_is_torchs(name: str) -> None:
    """``step(epoch)`` jumps by the closed form, and warns."""
    a, b = optimizers()
    one, other = SCHEDULES[name](theirs, a), SCHEDULES[name](ours, b)
    a.step()
    b.step()
    for epoch in (4, 1, 9):
        with pytest.warns(UserWarning, match="The epoch parameter"):
            one.step(epoch)
        with pytest.warns(UserWarning, match="The epoch parameter"):
            other.step(epoch)
        assert other.get_last_lr() == one.get_last_lr()


@pytest.mark.parametrize("mode", ["min", "max"])
@pytest.mark.parametrize("threshold_mode", ["rel", "abs"])
def test_plateau_is_torchs(mode: str, threshold_mode: str) -> None:
    """The rate falls after the same metrics."""
    a, b = optimizers()
    settings: Any = {
        "mode": mode, "threshold_mode": threshold_mode, "patience": 1, "cooldown": 1,
        "factor": 0.3, "min_lr": [0.01, 0.2],
    }  # fmt: skip
    one, other = theirs.ReduceLROnPlateau(a, **settings), ours.ReduceLROnPlateau(b, **settings)
    for metric in (3.0, 2.0, 2.0, 2.5, 2.0, 2.6, 1.0, 1.0, 1.0, 1.0, 4.0, 5.0, 5.0):
        one.step(metric)
        other.step(metric)
        assert other.get_last_lr() == one.get_last_lr()
        assert other.state_dict().keys() == one.state_dict().keys()


def test_wrong_order_warns() -> None:
    """Stepping the schedule first skips its first rate, which torch warns of."""
    _, b = optimizers()
    scheduler = ours.StepLR(b, 1)
    with pytest.warns(UserWarning, match=r"Detected call of `lr_scheduler.step\(\)` before"):
        scheduler.step()


def test_replaced_step_warns() -> None:
    """A step put in place after the schedule was made cannot be watched."""
    _, b = optimizers()
    scheduler = ours.StepLR(b, 1)
    b.step = lambda: None
    with pytest.warns(UserWarning, match="has been overridden"):
        scheduler.step()


def test_get_lr_outside_step_warns() -> None:
    """get_lr() computes the next rates; users mean get_last_lr()."""
    _, b = optimizers()
    with pytest.warns(UserWarning, match="please use `get_last_lr"):
        ours.StepLR(b, 1).get_lr()


def test_tensor_rate_keeps_its_identity() -> None:
    """A rate that is a tensor is written in place."""
    rate = mt.tensor(0.5)
    optimizer = optim.SGD([mt.zeros(1, requires_grad=True)], lr=rate)
    scheduler = ours.ExponentialLR(optimizer, 0.5)
    optimizer.step()
    scheduler.step()
    assert optimizer.param_groups[0]["lr"] is rate
    assert rate.item() == 0.25


WRONG: list[Make] = [
    lambda m, o: m.LambdaLR(o, factor=2.0),
    lambda m, o: m.MultiplicativeLR(o),
    lambda m, o: m.StepLR(3, 1),
    lambda m, o: m.StepLR(o, 1, last_epoch=3),
    lambda m, o: m.LambdaLR(o, [lambda e: 1.0]),
    lambda m, o: m.MultiplicativeLR(o, [1, 2]),
    lambda m, o: m.ConstantLR(o, 2.0),
    lambda m, o: m.LinearLR(o, 0.0),
    lambda m, o: m.LinearLR(o, 0.5, 3.0),
    lambda m, o: m.SequentialLR(o, [], []),
    lambda m, o: m.SequentialLR(o, [m.StepLR(o, 1)], [3]),
    lambda m, o: m.SequentialLR(o, [m.ReduceLROnPlateau(o)], []),
    lambda m, o: m.ChainedScheduler([]),
    lambda m, o: m.ReduceLROnPlateau(o, factor=1.0),
    lambda m, o: m.ReduceLROnPlateau(o, mode="up"),
    lambda m, o: m.ReduceLROnPlateau(o, threshold_mode="up"),
    lambda m, o: m.ReduceLROnPlateau(o, min_lr=[1.0]),
    lambda m, o: m.CyclicLR(o, 0.1, 0.2, mode="square"),
    lambda m, o: m.CyclicLR(o, [0.1], 0.2),
    lambda m, o: m.CosineAnnealingWarmRestarts(o, 0),
    lambda m, o: m.CosineAnnealingWarmRestarts(o, 1, 0),
    lambda m, o: m.CosineAnnealingWarmRestarts(o, 1, 1, "a"),
    lambda m, o: m.OneCycleLR(o, 0.1),
    lambda m, o: m.OneCycleLR(o, 0.1, total_steps=0),
    lambda m, o: m.OneCycleLR(o, 0.1, epochs=0, steps_per_epoch=2),
    lambda m, o: m.OneCycleLR(o, 0.1, 3, pct_start=2),
    lambda m, o: m.OneCycleLR(o, 0.1, 3, anneal_strategy="jump"),
]


@pytest.mark.parametrize("make", WRONG, ids=range(len(WRONG)))
def test_errors_are_torchs(make: Make) -> None:
    """Type and text of errors are part of the interface."""
    a, b = optimizers()
    with pytest.raises(Exception) as expected:
        make(theirs, a)
    with pytest.raises(expected.type) as found:
        make(ours, b)
    assert str(found.value) == str(expected.value)


def test_a_schedulers_state_holds_plain_numbers() -> None:
    """A checkpoint with it can be loaded with weights_only, which knows no other floats."""
    weight = mt.nn.Parameter(mt.ones(1))
    optimizer = optim.SGD([weight], lr=0.1)
    state = ours.StepLR(optimizer, 1).state_dict()
    assert [type(each) for each in state["base_lrs"]] == [float]
