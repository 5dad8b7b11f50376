"""What a profile or traceback of warm calls shows, and that observers patch nothing."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable
from typing import Any

import pytest

import mindtorch.torch as torch
import mindtorch.torch.nn.functional as F  # noqa: N812
from mindtorch.engine.autograd import tape
from mindtorch.engine.op import OPS
from tests.support.paths import ROOT

X = torch.ones(10)
W = torch.ones(4, 10)
CALLS: dict[str, Callable[[], Any]] = {
    "relu": lambda: F.relu(X),
    "linear": lambda: F.linear(X, W),
    "softmax": lambda: torch.softmax(X, 0),
    "sum": lambda: X.sum(),
    "add": lambda: X + X,
    "exp": lambda: torch.exp(X),
    "mse_loss": lambda: F.mse_loss(X, X + 1),
    "layer_norm": lambda: F.layer_norm(W, (10,)),
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


PROGRAM = """
import json
from tests.engine.call_cache.test_frames_of_calls import CALLS, frames
found = {name: [frames(call) for _ in range(4)] for name, call in CALLS.items()}
print(json.dumps(found))
"""


@pytest.fixture(scope="module")
def frames_of_calls() -> dict[str, list[list[str]]]:
    """The frames of four calls in a process of their own: in one that has used a class with
    ``__torch_function__``, functions ask for it first."""
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM], cwd=ROOT, capture_output=True, text=True, check=True
    )
    found: dict[str, list[list[str]]] = json.loads(done.stdout)
    return found


@pytest.mark.parametrize("name", CALLS)
def test_warm_calls_are_named_as_what_is_called(
    name: str, frames_of_calls: dict[str, list[list[str]]]
) -> None:
    assert name in frames_of_calls[name][-1]
    assert "call" not in frames_of_calls[name][-1]


@pytest.mark.parametrize("name", CALLS)
def test_the_second_call_goes_the_way_of_all_later_ones(
    name: str, frames_of_calls: dict[str, list[list[str]]]
) -> None:
    first, second, *later = frames_of_calls[name]
    assert len(first) > len(second)
    assert all(each == second for each in later)


def test_profiles_and_anomaly_mode_patch_nothing() -> None:
    """No class is exchanged and no method replaced: what another thread does stays quick."""
    before = dict(vars(tape.Node)), {name: type(op) for name, op in OPS.items()}
    x = torch.ones(3, requires_grad=True)
    with (
        torch.autograd.profiler.profile() as found,
        torch.autograd.set_detect_anomaly(True),
        torch.autocast("cpu"),
    ):
        assert (dict(vars(tape.Node)), {name: type(OPS[name]) for name in before[1]}) == before
        y = (x * 2).sum()
        y.backward()
    assert "test_frames_of_calls" in "".join(y.grad_fn.metadata["traceback_"])
    assert found is not None
    assert "SumBackward0" in {row.key for row in found.key_averages()}
