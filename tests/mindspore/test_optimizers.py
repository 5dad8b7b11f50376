"""MindSpore's less common optimizers give what MindSpore 2.10 gives."""

import json
from typing import Any

import numpy as np
import pytest

import mindtorch.mindspore as ms
from mindtorch.mindspore import Parameter, Tensor, nn
from tests.support.paths import GOLDEN_FILES

MAKE = {
    "FTRL": lambda p: nn.FTRL(p, learning_rate=0.1, l2=0.01, weight_decay=0.01),
    "FTRL_power": lambda p: nn.FTRL(
        p, initial_accum=0.3, learning_rate=0.05, lr_power=-0.3, loss_scale=2.0
    ),
    "LazyAdam": lambda p: nn.LazyAdam(p, 0.05, weight_decay=0.01),
    "ProximalAdagrad": lambda p: nn.ProximalAdagrad(
        p, learning_rate=0.1, l1=0.05, l2=0.02, weight_decay=0.01
    ),
    "Rprop": lambda p: nn.Rprop(p, 0.05, weight_decay=0.01),
    "ASGD": lambda p: nn.ASGD(p, 0.1, lambd=0.01, weight_decay=0.01),
    "ASGD_t0": lambda p: nn.ASGD(p, 0.1, t0=1.0),
    "SGD_gamma": lambda p: nn.SGD(p, 0.1, momentum=0.9, weight_decay=0.1),
}


def recorded() -> dict[str, Any]:
    path = GOLDEN_FILES / "mindspore_optimizers.json"
    found: dict[str, Any] = json.loads(path.read_text())
    return found


def parameters(second: str) -> list[Any]:
    names = ("first", second)
    return [
        Parameter(Tensor(np.array(s, np.float32)), name=n)
        for s, n in zip(recorded()["start"], names, strict=True)
    ]


@pytest.mark.parametrize("name", MAKE)
def test_four_steps_are_mindspores(name: str) -> None:
    """Parameters after each step; SGD's second one is called gamma and does not decay."""
    case = recorded()
    held = parameters("layer.gamma" if name == "SGD_gamma" else "second")
    optimizer = MAKE[name](held)
    for gradients, expected in zip(case["gradients"], case[name], strict=True):
        optimizer(tuple(Tensor(np.array(g, np.float32)) for g in gradients))
        for p, e in zip(held, expected, strict=True):
            np.testing.assert_allclose(p.asnumpy(), np.array(e, np.float32), rtol=2e-6, atol=2e-7)


def test_ftrl_shrinks_on_both_sides_of_zero() -> None:
    """(l1 sign(z) - z) / y where |z| > l1, else 0. MindSpore's CPU kernel adds l1 where z < 0,
    against its own documentation."""
    held = parameters("second")[1:]
    optimizer = nn.FTRL(held, learning_rate=0.1, l1=0.5, l2=0.01)
    p = held[0].asnumpy().astype(np.float64)
    n, z = np.full(4, 0.1), np.zeros(4)
    for row in recorded()["gradients"]:
        g = np.array(row[1])
        z += g - (np.sqrt(n + g * g) - np.sqrt(n)) / 0.1 * p
        n += g * g
        y = np.sqrt(n) / 0.1 + 0.02
        p = np.where(np.abs(z) > 0.5, (0.5 * np.sign(z) - z) / y, 0.0)
        optimizer((Tensor(np.array(g, np.float32)),))
        np.testing.assert_allclose(held[0].asnumpy(), p, rtol=1e-5, atol=1e-6)
    assert (z < -0.5).any() and (z > 0.5).any()


@pytest.mark.parametrize("use_clip", [False, True])
def test_lars_follows_its_definition(use_clip: bool) -> None:
    """r (g + decay p), r = coefficient |p| / (|g| + decay |p| + epsilon); biases are left as they
    are; decay and loss scale act once. MindSpore itself computes it on Ascend only."""
    held = parameters("layer.bias")
    p, b = (x.asnumpy().astype(np.float64) for x in held)
    inner = nn.SGD(held, 0.1, weight_decay=0.01, loss_scale=4.0)
    optimizer = nn.LARS(inner, coefficient=0.05, use_clip=use_clip)
    for row in recorded()["gradients"]:
        optimizer(tuple(Tensor(np.array(g, np.float32) * 4) for g in row))
        g = np.array(row[0])
        size, slope = np.linalg.norm(p), np.linalg.norm(g)
        ratio = 0.05 * size / (slope + 0.01 * size + 1e-5)
        ratio = np.minimum(ratio / 0.1, 1.0) if use_clip else ratio
        p = p - 0.1 * ratio * (g + 0.01 * p)
        b = b - 0.1 * np.array(row[1])
    np.testing.assert_allclose(held[0].asnumpy(), p, rtol=1e-6)
    np.testing.assert_allclose(held[1].asnumpy(), b, rtol=1e-6, atol=1e-7)


def test_wrong_settings_are_refused() -> None:
    """With the names of the arguments."""
    for make, text in (
        (lambda p: nn.FTRL(p, lr_power=0.5), "'lr_power' must be <= 0"),
        (lambda p: nn.FTRL(p, learning_rate=[0.1, 0.2]), "dynamic learning rate"),
        (lambda p: nn.ProximalAdagrad(p, l1=-1.0), "'l1' must be >= 0"),
        (lambda p: nn.Rprop(p, etas=(0.5, 0.9)), "etas must be"),
        (lambda p: nn.Rprop(p, step_sizes=(2.0, 1.0)), "maximal step size"),
    ):
        with pytest.raises(ValueError, match=text):
            make(parameters("second"))
    with pytest.raises(TypeError, match="'lambd' must be float"):
        nn.ASGD(parameters("second"), lambd=1)
    with pytest.raises(TypeError, match="is not an optimizer"):
        nn.LARS(parameters("second"))
    assert ms.nn.LARS is nn.LARS
