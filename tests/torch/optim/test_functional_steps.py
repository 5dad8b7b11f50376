"""torch.optim.<name>.<name>: a step over lists gives what PyTorch's gives."""

from __future__ import annotations

import importlib
import inspect
from typing import Any

import numpy as np
import pytest

from mindtorch import torch as ours
from mindtorch.torch.optim import _functional as functional

torch = pytest.importorskip("torch")

SETTINGS: dict[str, Any] = {
    "lr": 0.1, "rho": 0.9, "eps": 1e-6, "weight_decay": 0.01, "lr_decay": 0.1, "maximize": False,
    "beta1": 0.9, "beta2": 0.99, "lambd": 0.01, "t0": 5.0, "alpha": 0.75, "momentum": 0.9,
    "momentum_decay": 0.004, "centered": True, "amsgrad": True, "step_size_min": 1e-3,
    "step_size_max": 5.0, "etaminus": 0.5, "etaplus": 1.2, "dampening": 0.0, "nesterov": True,
}  # fmt: skip
NUMBERS = ("state_steps", "mus", "etas", "mu_products")


def lists_after(library: Any, name: str, steps: int) -> list[np.ndarray]:
    function = getattr(importlib.import_module(f"{library.__name__}.optim.{name}"), name)
    settings, lists = {}, {}
    rng = np.random.default_rng(3)
    for each in inspect.signature(function).parameters.values():
        if each.kind is each.KEYWORD_ONLY:
            settings[each.name] = SETTINGS[each.name]
        elif each.default is each.empty:
            shape = () if each.name in NUMBERS else (5,)
            start = rng.random(shape) if shape else np.asarray(1.0)
            lists[each.name] = [
                library.tensor(start.astype(np.float32)) for _ in range(2)
            ]
    for _ in range(steps):
        function(**lists, **settings)
    return [np.asarray(x.tolist()) for each in lists.values() for x in each]


@pytest.mark.parametrize("name", functional.__all__)
def test_a_step_over_lists(name: str) -> None:
    theirs, mine = (lists_after(library, name, 3) for library in (torch, ours))
    for a, b in zip(theirs, mine, strict=True):
        np.testing.assert_allclose(b, a, rtol=2e-6, atol=1e-7)


def test_momentum_begins_as_the_gradient() -> None:
    p, g = ours.ones(3), ours.full((3,), 0.5)
    buffers: list[Any] = [None]
    importlib.import_module("mindtorch.torch.optim.sgd").sgd(
        [p], [g], buffers, weight_decay=0, momentum=0.9, lr=0.1, dampening=0, nesterov=False,
        maximize=False,
    )  # fmt: skip
    assert buffers[0].tolist() == g.tolist()
    assert p.tolist() == pytest.approx([0.95] * 3)


@pytest.mark.parametrize("library", [torch, ours], ids=["torch", "ours"])
@pytest.mark.parametrize("word", ["grad_scale", "found_inf"])
def test_scaled_gradients_are_refused_as_in_torch(word: str, library: Any) -> None:
    """They are for fused kernels of CUDA; nothing is changed."""
    p, g = library.ones(3), library.full((3,), 0.5)
    sgd = importlib.import_module(f"{library.__name__}.optim.sgd").sgd
    with pytest.raises(AssertionError, match="Expected grad_scale and found_inf to be None"):
        sgd([p], [g], [None], weight_decay=0, momentum=0.9, lr=0.1, dampening=0, nesterov=False,
            maximize=False, foreach=False, **{word: library.ones(())})  # fmt: skip
    assert p.tolist() == [1.0] * 3
