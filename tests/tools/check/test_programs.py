"""`mindtorch check` as a command, and that it finds nothing in programs that are sound."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.conformance.examples.test_examples import RUNS
from tests.support.paths import ROOT

SOME = ["vae --epochs 1", "gcn --epochs 12", "real_nvp --steps 12"]


def found(runs: list[str]) -> dict[str, list[str]]:
    program = ROOT / "tests" / "programs" / "checked_programs.py"
    done = subprocess.run(
        [sys.executable, str(program), *runs], capture_output=True, text=True,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    result: dict[str, list[str]] = json.loads(done.stdout.splitlines()[-1])
    return result


def test_nothing_is_found_in_sound_programs() -> None:
    assert found(SOME) == {run: [] for run in SOME}


@pytest.mark.exhaustive
@pytest.mark.parametrize("run", [x for x in RUNS if x not in SOME])
def test_nothing_is_found_in_a_sound_program(run: str) -> None:
    assert found([run]) == {run: []}


SCRIPT = """
import sys
import torch
from torch import nn
torch.manual_seed(0)
model = nn.Sequential(nn.Linear(4, 8), nn.Tanh(), nn.Linear(8, 3), nn.Softmax(1))
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
loss_of = nn.CrossEntropyLoss()
for step in range(100):
    optimizer.zero_grad()
    loss = loss_of(model(torch.rand(8, 4) * 255), torch.randint(0, 3, (8,)))
    loss.backward()
    optimizer.step()
    if "fail" in sys.argv:
        raise ValueError("the script's own")
print("not reached")
"""


def check(folder: Path, *arguments: str) -> Any:
    (folder / "train.py").write_text(SCRIPT)
    return subprocess.run(
        [sys.executable, "-m", "mindtorch", "check", *arguments], cwd=folder,
        capture_output=True, text=True, env={**os.environ, "PYTHONPATH": str(ROOT)},
    )  # fmt: skip


def test_the_command(tmp_path: Path) -> None:
    done = check(tmp_path, "--steps", "6", "--html", "report.html", "train.py")
    assert done.returncode == 1, done.stderr
    assert "not reached" not in done.stdout
    assert "softmax_before_cross_entropy" in done.stdout
    assert "unnormalised_inputs" in done.stdout and "train.py:11" in done.stdout
    assert done.stdout.splitlines()[-1].startswith("mindtorch check: 2 findings; 6 steps, ")
    page = (tmp_path / "report.html").read_text(encoding="utf-8")
    assert "<svg" in page and "unnormalised_inputs" in page and "http" not in page


def test_a_script_that_fails(tmp_path: Path) -> None:
    done = check(tmp_path, "train.py", "fail")
    assert done.returncode == 1
    assert "ValueError: the script's own" in done.stderr
    assert "mindtorch check: " in done.stdout
    (tmp_path / "empty.py").write_text("print('nothing')\n")
    assert check(tmp_path, "empty.py").returncode == 2
    assert check(tmp_path, "missing.py").returncode == 2
