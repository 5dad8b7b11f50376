"""Averages of weights beside torch's."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import mindtorch.torch as ours

torch = pytest.importorskip("torch")


def build(library: Any) -> Any:
    """The same small net with a batch norm in one of the libraries."""
    library.manual_seed(3)
    nn = library.nn
    return nn.Sequential(nn.Linear(4, 5), nn.BatchNorm1d(5), nn.Linear(5, 2))


def data(library: Any) -> Any:
    return library.tensor(np.random.RandomState(0).randn(12, 4).astype(np.float32))


def train(library: Any, steps: int = 6, **settings: Any) -> tuple[Any, Any]:
    """The averaged model and the rates of the schedule after some steps."""
    swa = library.optim.swa_utils
    if "function" in settings:
        kind, make = settings.pop("function")
        settings[kind] = getattr(swa, make)(*settings.pop("arguments", ()))
    model = build(library)
    average = swa.AveragedModel(model, **settings)
    optimizer = library.optim.SGD(model.parameters(), 0.5)
    schedule = swa.SWALR(optimizer, 0.05, anneal_epochs=4)
    rates = []
    for _ in range(steps):
        optimizer.zero_grad()
        (model(data(library)) ** 2).mean().backward()
        optimizer.step()
        average.update_parameters(model)
        schedule.step()
        rates.append(schedule.get_last_lr()[0])
    return average, rates


SETTINGS: list[dict[str, Any]] = [
    {},
    {"use_buffers": True},
    {"function": ("avg_fn", "get_ema_avg_fn"), "arguments": (0.9,)},
    {"function": ("avg_fn", "get_swa_avg_fn")},
    {"function": ("multi_avg_fn", "get_ema_multi_avg_fn"), "arguments": (0.9,)},
    {"function": ("multi_avg_fn", "get_swa_multi_avg_fn")},
]


@pytest.mark.parametrize("settings", SETTINGS, ids=str)
def test_the_average_and_the_rates_are_torchs(settings: dict[str, Any]) -> None:
    """A checkpoint of the average and a resumed schedule go both ways."""
    expected, rates = train(torch, **settings)
    actual, own_rates = train(ours, **settings)
    assert own_rates == pytest.approx(rates, rel=1e-12)
    states = expected.state_dict(), actual.state_dict()
    assert list(states[0]) == list(states[1])
    for key in states[0]:
        np.testing.assert_allclose(
            states[1][key].numpy(), states[0][key].numpy(), rtol=1e-5, atol=1e-6, err_msg=key)


def test_update_bn_computes_the_statistics_anew() -> None:
    """The average's own activations have other statistics than the model's had."""
    results = []
    for library in (torch, ours):
        average, _ = train(library)
        loader = [(data(library)[:6], 0), (data(library)[6:], 0)]
        library.optim.swa_utils.update_bn(loader, average)
        norm = average.module[1]
        assert average.training and norm.momentum == 0.1
        results.append([norm.running_mean.numpy(), norm.running_var.numpy()])
    np.testing.assert_allclose(results[1], results[0], rtol=1e-5)


@pytest.mark.parametrize("strategy", ["cos", "linear"])
@pytest.mark.parametrize("epochs", [0, 1, 5])
def test_rates_of_every_annealing(strategy: str, epochs: int) -> None:
    """The first epoch and no epochs at all are the ends that go wrong."""
    found = []
    for library in (torch, ours):
        p = library.nn.Parameter(library.ones(2))
        optimizer = library.optim.SGD([{"params": [p], "lr": 0.3}], 0.5)
        schedule = library.optim.swa_utils.SWALR(optimizer, [0.05], epochs, strategy)
        rates = [optimizer.param_groups[0]["lr"]]
        for _ in range(7):
            optimizer.step()
            schedule.step()
            rates.append(optimizer.param_groups[0]["lr"])
        found.append(rates)
        state = schedule.state_dict()
        schedule.load_state_dict(state)
    assert found[1] == pytest.approx(found[0], rel=1e-12)


@pytest.mark.parametrize("wrong", [
    lambda swa, o: swa.SWALR(o, 0.1, anneal_strategy="exp"),
    lambda swa, o: swa.SWALR(o, 0.1, anneal_epochs=-1),
    lambda swa, o: swa.SWALR(o, [0.1, 0.2]),
    lambda swa, o: swa.get_ema_avg_fn(1.5),
    lambda swa, o: swa.get_ema_multi_avg_fn(-0.5),
])  # fmt: skip
def test_wrong_settings_raise_torchs_errors(wrong: Any) -> None:
    """The texts tell which setting was wrong."""
    texts = []
    for library in (torch, ours):
        optimizer = library.optim.SGD([library.nn.Parameter(library.ones(2))], 0.5)
        with pytest.raises(ValueError) as caught:
            wrong(library.optim.swa_utils, optimizer)
        texts.append(str(caught.value))
    assert texts[0] == texts[1]
