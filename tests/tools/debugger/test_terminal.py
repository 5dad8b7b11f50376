"""The terminal: each command shows what it is for, and the program always goes on."""

from __future__ import annotations

import io
import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import mindtorch.torch as torch
from mindtorch.tools.debugger.attach import attach
from mindtorch.tools.debugger.local import LocalFront, pausing
from mindtorch.tools.debugger.terminal import Terminal, parse_watch
from tests.support.paths import ROOT

from .nets import Net, train


def session(*lines: str, steps: int = 3, level: str = "modules") -> str:
    """What is shown of a training that gets these commands."""
    output = io.StringIO()
    torch.manual_seed(0)
    front = LocalFront(output=output, source=io.StringIO("".join(f"{x}\n" for x in lines)))
    with attach(front, level):
        train(Net(), steps)
    return output.getvalue()


def test_a_session() -> None:
    text = session(
        "help", "help watch", "status", "conditions", "s", "nodes m*", "tensors gradients:*",
        "p weights:first.bias [0:3]", "watch weight_change_too_large at last.*", "watchpoints",
        "disable 1", "enable 1", "hits", "recheck", "gradients on", "level", "n last", "w",
        "p output_gradients:last", "unwatch 1", "c",
    )  # fmt: skip
    for expected in (
        "step 1: before the first call of the model", "help COMMAND", "PARAMETER=NUMBER",
        "weight_change_too_small", "step 1: step 1 has ended", "middle", "gradients:last.bias",
        "against the step before", "[1] weight_change_too_large abs_mean_update_ratio_gt=0.1",
        "at last.* of weights", "level modules", "step 2: last was called", "in forward",
    ):  # fmt: skip
        assert expected in text, expected
    assert "the input has ended" not in text  # `c` ran to the end


def test_the_end_of_the_input_lets_the_program_run() -> None:
    assert "the input has ended: the program runs on without the debugger" in session("s")


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("nonsense", "no command 'nonsense'; `help` lists them"),
        ("watch", "watch needs a condition"),
        ("watch tensor_overflow x", "'x' is no PARAMETER=NUMBER"),
        ("watch tensor_too_large max_gt=a", "max_gt must be a number, not 'a'"),
        ("watch overflow", "no condition 'overflow'"),
        ("unwatch 7", "no watchpoint 7"),
        ("unwatch x", "invalid literal"),
        ("step x", "invalid literal"),
        ("tensor", "tensor needs a name"),
        ("tensor weights:x", "no tensor 'weights:x'"),
        ("gradients maybe", "gradients on, or gradients off"),
        ("level all", "level must be one of steps, modules, ops"),
        ("dump", "dump needs a folder"),
    ],
)
def test_what_is_wrong_is_said(line: str, said: str) -> None:
    text = session(line, "c", steps=1)
    assert said in text.replace("\n", " ")


def test_words_of_watch() -> None:
    assert parse_watch("tensor_range max_min_gt=1e3 at 'conv *' of outputs,gradients") == {
        "condition": "tensor_range", "parameters": {"max_min_gt": 1000.0}, "nodes": "conv *",
        "kinds": ["outputs", "gradients"],
    }  # fmt: skip
    assert parse_watch("weight_not_changed equal_nan=true")["parameters"] == {"equal_nan": True}


def test_nan_and_whole_numbers_are_shown() -> None:
    output = io.StringIO()
    terminal = Terminal(lambda request: {
        "tensor": "x", "shape": [2], "dtype": "torch.float32", "values": [1.0, "nan"],
        "statistics": {"min": "nan"}, "histogram": {"edges": [], "counts": []},
    }, output, io.StringIO())  # fmt: skip
    terminal.onecmd("tensor x")
    assert "[1.0 'nan']" in output.getvalue()


def test_ctrl_c_pauses() -> None:
    output = io.StringIO()
    front = LocalFront(output=output, source=io.StringIO("c\n"))
    torch.manual_seed(0)

    def interrupt(step: int) -> None:
        if step == 1:
            os.kill(os.getpid(), signal.SIGINT)

    before = signal.getsignal(signal.SIGINT)
    with attach(front, stop_at_start=False) as session, pausing(session):
        train(Net(), 3, each=interrupt)
    assert "step 2: paused" in output.getvalue()
    assert signal.getsignal(signal.SIGINT) is before


SCRIPT = """
import torch
from torch import nn
torch.manual_seed(0)
model = nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 2))
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for step in range(3):
    optimizer.zero_grad()
    loss = model(torch.randn(8, 4)).square().mean()
    loss.backward()
    optimizer.step()
print("trained")
"""


def run_script(tmp_path: Path, *options: str, given: str = "", **environment: str) -> Any:
    (tmp_path / "train.py").write_text(SCRIPT)
    command = [sys.executable, "-m", "mindtorch", "run", *options, "train.py"]
    return subprocess.run(
        command, input=given, cwd=tmp_path, capture_output=True, text=True, timeout=300,
        env={**os.environ, "PYTHONPATH": str(ROOT), **environment},
    )  # fmt: skip


def test_the_command(tmp_path: Path) -> None:
    given = "step\nnodes\ndump dumped\ncontinue\n"
    done = run_script(
        tmp_path, "--debugger", "--graph", "--watchpoint", "weight_overflow", given=given
    )
    assert (done.returncode, done.stdout) == (0, "trained\n"), done.stderr
    assert "Linear" in done.stderr and "train.py:9" in done.stderr
    assert len(list((tmp_path / "dumped").rglob("*.npy"))) > 8


def test_refusals_of_the_command(tmp_path: Path) -> None:
    done = run_script(tmp_path, "--debugger", ENABLE_MS_DEBUGGER="1", MS_DEBUGGER_PORT="1")
    assert done.returncode == 2
    assert "no debugger listens at 127.0.0.1:1" in done.stderr
    assert done.stdout == ""
