"""`mindtorch compare --time`: both runs make their steps in turns."""

import argparse
import os
from pathlib import Path
from typing import Any

import pytest

from mindtorch.tools.compare import step_times_child
from mindtorch.tools.compare.cli import add_arguments
from mindtorch.tools.compare.findings import Agreement
from mindtorch.tools.compare.report_text import print_report
from mindtorch.tools.compare.step_times import WARM, StepTimes, time_steps
from mindtorch.tools.compare.verdict import Outcome

SCRIPT = """
import os, time, torch
model = torch.nn.Linear(2, 1)
optimizer = torch.optim.SGD(model.parameters(), 0.1)
first = os.environ["MINDTORCH_COMPARE_RUN"] == "reference"
for step in range(FIRST if first else SECOND):
    optimizer.zero_grad()
    model(torch.ones(3, 2)).sum().backward()
    with open("FOLDER/turns", "a") as file:
        file.write("a" if first else "b")
    time.sleep(0 if first else 0.02)
    optimizer.step()
"""


def timed(folder: Path, first: int, second: int) -> list[StepTimes]:
    text = SCRIPT.replace("FIRST", str(first)).replace("SECOND", str(second))
    script = folder / "script.py"
    script.write_text(text.replace("FOLDER", str(folder)))
    parser = argparse.ArgumentParser()
    add_arguments(parser)
    given = ["--frameworks", "mindtorch,mindtorch", "--threads", "1", "--timeout", "200"]
    return time_steps(parser.parse_args([*given, str(script)]))


def test_steps_are_made_in_turns(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """One waits while the other steps; what one makes more than the other does not count."""
    (tmp_path / "here").mkdir()
    monkeypatch.chdir(tmp_path / "here")
    found = timed(tmp_path, 8, 10)
    assert (tmp_path / "turns").read_text() == "ab" * 8 + "bb"
    assert [each.name for each in found] == ["mindtorch", "mindtorch#2"]
    assert [len(each.seconds) for each in found] == [8 - WARM] * 2
    assert 0 < found[0].minimum <= found[0].quantile(0.5) <= found[0].quantile(0.75)
    assert found[1].minimum >= 0.02


def test_too_few_steps_and_failures_have_no_times(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "here").mkdir()
    monkeypatch.chdir(tmp_path / "here")
    assert timed(tmp_path, WARM, WARM) == []
    assert timed(tmp_path, 5, "1 / 0") == []  # type: ignore[arg-type]


def test_a_run_whose_peer_has_ended_goes_on(monkeypatch: pytest.MonkeyPatch) -> None:
    """The end of a pipe is a token, too."""
    read, write = os.pipe()
    os.close(write)
    monkeypatch.setattr(step_times_child, "SETTLE", 0.0)
    other: Any = os.pipe()
    os.close(other[0])
    turns = step_times_child.Turns(read, other[1])
    turns.wait()
    turns.on_step(None)
    assert len(turns.seconds) == 1
    for end in (read, other[1]):
        os.close(end)


def test_the_table_has_no_ratio(capsys: pytest.CaptureFixture[str]) -> None:
    """It said "44.20x as fast" of a few noisy steps."""
    agreement = Agreement(1e-4)
    outcome = Outcome("a.py", ("torch", "mindtorch"), ("2", "1"), 2, "net", agreement, agreement)
    outcome.times = [StepTimes("torch", [0.004, 0.001, 0.002]), StepTimes("mindtorch", [0.003])]
    outcome.load = 1000.0
    print_report(outcome, None)
    shown = capsys.readouterr().out
    rows = [line.split() for line in shown.splitlines()]
    assert ["minimum", "1.000", "3.000"] in rows and ["median", "2.000", "3.000"] in rows
    assert "2 threads" in shown and "load of the machine: 1000.0" in shown
    assert "it is busy: times say little" in shown
    assert "as fast" not in shown and "as slow" not in shown
