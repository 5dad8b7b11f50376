"""The same seed gives the same training run: seven models against real torch."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch

import mindtorch.torch as ours
from tests.support.models import MODELS, SMALL, build

ALL = pytest.param(20, marks=pytest.mark.exhaustive)


def _parameters(modules: list[Any]) -> dict[str, Any]:
    return {
        f"{i}.{name}": value.detach().numpy().copy()
        for i, module in enumerate(modules)
        for name, value in module.state_dict().items()
    }


@pytest.mark.parametrize("steps", [5, ALL])
@pytest.mark.parametrize("name", sorted(MODELS))
def test_steps_follow_torch(name: str, steps: int) -> None:
    """Initial parameters bit-equal, first loss within 2e-6, all losses within 1e-4."""
    sizes = SMALL.get(name, {})
    theirs, their_step = build(torch, name, **sizes)
    mine, my_step = build(ours, name, **sizes)
    expected, found = _parameters(theirs), _parameters(mine)
    assert list(found) == list(expected)
    for key, value in expected.items():
        assert found[key].tobytes() == value.tobytes(), key
    losses = np.array([(my_step(), their_step()) for _ in range(steps)])
    difference = np.abs(losses[:, 0] - losses[:, 1]) / np.abs(losses[:, 1])
    assert difference[0] <= 2e-6, difference
    assert difference.max() <= 1e-4, difference
