"""What ``MINDTORCH_DEBUG`` says at each level."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

import mindtorch.torch as torch
from mindtorch.engine.debug_report import OpTimes, machine

PROGRAM = """
import mindtorch.torch as torch
x = torch.ones(64, 128, requires_grad=True)
torch.compile(lambda x: (x.exp() + 1).sum())(x).backward()
print(x.grad.sum().item())
"""


@pytest.mark.parametrize(
    ("level", "said", "unsaid"),
    [
        ("0", [], ["mindtorch:"]),
        ("1", ["CUDA devices", "turned off: MINDTORCH_LAZY=0"], ["ops took"]),
        ("2", ["CUDA devices", "ops took", "ExpBackward0"], ["graph before"]),
        ("3", ["CUDA devices", "graph before", "pass fusion: "], ["ops took"]),
    ],
)
def test_levels(level: str, said: list[str], unsaid: list[str]) -> None:
    """Each says what it is there for, and the program computes the same."""
    environment = {**os.environ, "MINDTORCH_DEBUG": level, "MINDTORCH_LAZY": "0"}
    command = [sys.executable, "-c", PROGRAM]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=True)
    assert round(float(done.stdout)) == 22268
    assert [text for text in said if text not in done.stderr] == []
    assert [text for text in unsaid if text in done.stderr] == []


def test_times_add_up() -> None:
    """A node's own time is without the ops of its rule; calls are counted."""
    times = OpTimes()
    times.start()
    try:
        x = torch.ones(1000, requires_grad=True)
        for _ in range(3):
            x.exp().sum().backward()
    finally:
        times.stop()
    calls, spent, own = times.totals["ExpBackward0"]
    assert calls == 3 and 0 <= own < spent
    assert times.totals["exp"][0] == 3 and not times.records
    report = times.report(1.0).splitlines()
    assert report[0].startswith("ops took ") and any(line.startswith("exp ") for line in report)


def test_the_machine_is_described() -> None:
    """One line each for versions, processor, devices and switches."""
    assert len(machine().splitlines()) == 4
