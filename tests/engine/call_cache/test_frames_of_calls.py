"""What a profile or traceback of warm calls shows, and that observers patch nothing."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

import pytest

import mindtorch.torch as torch
import mindtorch.torch.nn.functional as F  # noqa: N812
from mindtorch.engine.autograd import tape
from mindtorch.engine.dispatch import OPS

X = torch.ones(10)
W = torch.ones(4, 10)
CALLS: dict[str, Callable[[], Any]] = {
    "relu": lambda: F.relu(X),
    "linear": lambda: F.linear(X, W),
    "softmax": lambda: torch.softmax(X, 0),
    "sum": lambda: X.sum(),
    "add": lambda: X + X,
    "exp": lambda: torch.exp(X),
}


def frames(call: Callable[[], Any]) -> list[str]:
    """The names of the functions that a call enters."""
    found: list[str] = []

    def note(frame: Any, event: str, argument: Any) -> None:
        if event == "call":
            found.append(frame.f_code.co_name)

    sys.setprofile(note)
    try:
        call()
    finally:
        sys.setprofile(None)
    return found


@pytest.mark.parametrize("name", CALLS)
def test_warm_calls_are_named_as_what_is_called(name: str) -> None:
    for _ in range(3):
        CALLS[name]()
    found = frames(CALLS[name])
    assert name in found
    assert "call" not in found


def test_profiles_and_anomaly_mode_patch_nothing() -> None:
    """No class is exchanged and no method replaced: what another thread does stays quick."""
    before = vars(tape.Node).copy(), {name: type(op) for name, op in OPS.items()}
    x = torch.ones(3, requires_grad=True)
    with (
        torch.autograd.profiler.profile() as found,
        torch.autograd.set_detect_anomaly(True),
        torch.autocast("cpu"),
    ):
        assert (vars(tape.Node), {name: type(op) for name, op in OPS.items()}) == before
        y = (x * 2).sum()
        y.backward()
    assert "test_frames_of_calls" in y.grad_fn.metadata["traceback_"]
    assert "SumBackward0" in {row.key for row in found.key_averages()}
