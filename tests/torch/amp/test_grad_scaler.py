"""Scales follow overflows as real PyTorch's scaler and MindSpore's scalers do, step by step."""

import json
import math
import random
import warnings
from typing import Any

import pytest
import torch as oracle

import mindtorch.mindspore as ms
from mindtorch import torch
from tests.support.paths import GOLDEN_FILES

STYLES = ("backward", "gradients")
VALUES = (1.0, math.inf, math.nan, -math.inf)


def settings_of(draw: random.Random) -> dict[str, Any]:
    """Factors whose products are rounded, too."""
    return {
        "init_scale": draw.choice([1.0, 16.0, 65536.0, 1000.0]),
        "growth_factor": draw.choice([2.0, 1.5, 3.0]),
        "backoff_factor": draw.choice([0.5, 0.3]),
        "growth_interval": draw.choice([1, 2, 3, 5]),
    }


class Side:
    """A scaler with a parameter, in one library."""

    def __init__(self, torch: Any, settings: dict[str, Any]) -> None:
        self.torch = torch
        self.scaler = torch.amp.GradScaler("cpu", **settings)
        self.p = torch.nn.Parameter(torch.zeros(2))
        self.optimizer = torch.optim.SGD([self.p], lr=1.0)
        self.scaler.scale(torch.zeros(1))

    def step(self, value: float, unscale: bool, given: bool) -> list[Any]:
        """Scale, growth and parameter after one step with this gradient."""
        gradient = self.torch.tensor([1.0, value])
        if given:
            grads = (gradient,)
            if unscale:
                self.scaler.unscale_(self.optimizer, grads)
            self.scaler.step(self.optimizer, grads)
        else:
            self.p.grad = gradient
            if unscale:
                self.scaler.unscale_(self.optimizer)
            self.scaler.step(self.optimizer)
        self.scaler.update()
        return [self.scaler.state_dict()[k] for k in ("scale", "_growth_tracker")] + self.p.tolist()


def follow(seed: int, style: str) -> None:
    draw = random.Random(seed)
    settings = settings_of(draw)
    mine, theirs = Side(torch, settings), Side(oracle, settings)
    for _ in range(draw.randint(3, 12)):
        value = draw.choice(VALUES) if draw.random() < 0.4 else 2.0
        unscale = draw.random() < 0.5
        found = mine.step(value, unscale, given=style == "gradients")
        assert found == theirs.step(value, unscale, given=False), (seed, settings)


@pytest.mark.parametrize("style", STYLES)
def test_random_sequences_give_the_scale_of_real_torch(style: str) -> None:
    """Scale, counter and parameters are equal at each step of 12 sequences."""
    for seed in range(4):
        follow(seed, style)


@pytest.mark.exhaustive
@pytest.mark.parametrize("style", STYLES)
def test_ten_thousand_sequences_give_the_scale_of_real_torch(style: str) -> None:
    """The same for 10,000 sequences."""
    for seed in range(10_000):
        follow(seed, style)


def recorded() -> dict[str, Any]:
    path = GOLDEN_FILES / "loss_scales.json"
    found: dict[str, Any] = json.loads(path.read_text())
    return found


@pytest.mark.parametrize("name", ["quick", "slow", "falling"])
def test_dynamic_scales_are_those_of_mindspore(name: str) -> None:
    """120 steps of DynamicLossScaler, its manager and the manager's cell, beside MindSpore 2.10."""
    case = recorded()[name]
    start, factor, window = case["settings"]
    scaler = ms.amp.DynamicLossScaler(start, factor, window)
    manager = ms.amp.DynamicLossScaleManager(start, factor, window)
    cell = manager.get_update_cell()
    held = ms.Parameter(ms.Tensor(start, ms.float32), name="scale")
    found: dict[str, list[float]] = {"scaler": [], "manager": [], "cell": []}
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "the loss scale fell to its floor")
        for finite in map(int, case["finite"]):
            scaler.adjust(ms.Tensor(bool(finite)))
            manager.update_loss_scale(not finite)
            cell(held, ms.Tensor(not finite))
            found["scaler"].append(float(scaler.scale_value.asnumpy()))
            found["manager"].append(manager.get_loss_scale())
            found["cell"].append(float(held.asnumpy()))
    assert found["cell"] == pytest.approx(case["cell"], rel=1e-6)
    assert found["manager"] == pytest.approx(case["manager"], rel=1e-12)
    assert found["scaler"] == pytest.approx(case["scaler"], rel=1e-6)


def test_static_scalers_and_managers_keep_their_scale() -> None:
    """x s, x / s, in the types of the tensors; no step changes s."""
    scaler = ms.amp.StaticLossScaler(8)
    pair = scaler.scale((ms.Tensor([1.5]), ms.Tensor([2.0], ms.float16)))
    assert [t.asnumpy().tolist() for t in pair] == [[12.0], [16.0]]
    assert [t.dtype for t in scaler.unscale(pair)] == [ms.float32, ms.float16]
    assert scaler.unscale(pair)[0].asnumpy().tolist() == [1.5]
    assert scaler.adjust(ms.Tensor(False)) is False and float(scaler.scale_value.asnumpy()) == 8
    manager = ms.amp.FixedLossScaleManager(64.0, drop_overflow_update=False)
    manager.update_loss_scale(True)
    assert manager.get_loss_scale() == 64 and manager.get_update_cell() is None
    dropping = ms.amp.FixedLossScaleManager(64.0)
    assert dropping.get_drop_overflow_update() is True
    assert dropping.get_update_cell().get_loss_scale() == 64
