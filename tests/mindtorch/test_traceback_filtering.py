"""What a program that fails prints: its own frames, and the layer; the library's as one line."""

import os
import re
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from mindtorch import torch, traceback_filtering

MODEL = """\
from mindtorch.tools import mstorch_enable
import torch
from torch import nn

class Head(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc = nn.Linear(8, 4)

    def forward(self, x):
        return self.fc(x)

inner = nn.Sequential(nn.Linear(8, 8), nn.ReLU(), nn.Sequential(nn.Linear(8, 16), Head()))
model = nn.Sequential(nn.Linear(4, 8), inner)
"""


def run(text: str, folder: Path, repository: Path, **environment: str) -> list[str]:
    """The lines on standard error of a program that fails."""
    (folder / "program.py").write_text(text)
    result = subprocess.run(
        [sys.executable, "program.py"], cwd=folder, capture_output=True, text=True, timeout=300,
        env={**os.environ, "PYTHONPATH": str(repository), **environment},
    )  # fmt: skip
    assert result.returncode == 1, result.stderr
    return result.stderr.splitlines()


def frames(lines: list[str]) -> list[str]:
    return [Path(x[1]).name for line in lines if (x := re.match(r'  File "([^"]+)"', line))]


@pytest.mark.parametrize("head", ["", "@torch.compile\n"])
def test_a_shape_error_shows_the_users_frames_and_the_layer(
    head: str, tmp_path: Path, repository: Path
) -> None:
    """It had 32 lines, and 50 compiled."""
    text = f"{MODEL}{head}def step(x):\n    return model(x).sum()\nstep(torch.ones(3, 4))\n"
    lines = run(text, tmp_path, repository)
    assert set(frames(lines)) == {"program.py"}, lines
    assert len(lines) <= 15
    assert lines[1].startswith('  File "') and 'in <module>' in lines[1]
    assert lines[-1] == "RuntimeError: mat1 and mat2 shapes cannot be multiplied (3x16 and 8x4)"
    assert re.fullmatch(
        r"  \[\d+ library frames, in 1\.2\.1\.fc: Linear\(in_features=8, out_features=4, "
        r"bias=True\); MINDTORCH_TRACEBACK=full shows them\]", lines[-2]
    ), lines  # fmt: skip
    assert any(line.strip() == "return self.fc(x)" for line in lines)


def test_a_switch_shows_all_frames(tmp_path: Path, repository: Path) -> None:
    text = f"{MODEL}model(torch.ones(3, 4))\n"
    lines = run(text, tmp_path, repository, MINDTORCH_TRACEBACK="full")
    assert {"program.py", "container.py", "module.py", "linear_algebra.py"} <= set(frames(lines))


def test_chained_errors_and_threads_are_folded_too(tmp_path: Path, repository: Path) -> None:
    text = f"""{MODEL}
import threading
def work():
    model(torch.ones(3, 4))
thread = threading.Thread(target=work, name="worker")
thread.start()
thread.join()
try:
    work()
except RuntimeError as error:
    raise ValueError("in a step") from error
"""
    lines = run(text, tmp_path, repository)
    assert set(frames(lines)) <= {"program.py", "threading.py"}
    assert "Exception in thread worker:" in lines
    assert "The above exception was the direct cause of the following exception:" in lines
    assert sum("1.2.1.fc: Linear" in line for line in lines) == 2


def test_a_hook_of_the_users_own_stays(tmp_path: Path, repository: Path) -> None:
    text = f"import sys\nsys.excepthook = lambda *error: print('mine', file=sys.stderr)\n{MODEL}"
    assert run(f"{text}model(torch.ones(3, 4))\n", tmp_path, repository) == ["mine"]


def test_an_error_of_the_users_own_is_as_python_prints_it(tmp_path: Path, repository: Path) -> None:
    lines = run(f"{MODEL}def f():\n    return 1 / 0\nf()\n", tmp_path, repository)
    assert frames(lines) == ["program.py"] * 2
    assert lines[-1] == "ZeroDivisionError: division by zero" and "[" not in "".join(lines)


def test_a_notebook_shows_no_library_frames(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """IPython prints frames itself, and asks for a function that shows an exception."""
    shown: list[Any] = []

    class Shell:
        custom_exceptions: Any = ()

        def set_custom_exc(self, kinds: Any, handler: Any) -> None:
            self.custom_exceptions, self.handler = kinds, handler

        def showtraceback(self, error: Any, tb_offset: Any) -> None:
            shown.append(error)

    shell = Shell()
    module = SimpleNamespace(get_ipython=lambda: shell)
    monkeypatch.setitem(sys.modules, "IPython", module)
    traceback_filtering.install()
    assert shell.custom_exceptions == (Exception,)
    model = torch.nn.Sequential(torch.nn.Linear(4, 8), torch.nn.Linear(4, 8))
    with pytest.raises(RuntimeError) as caught:
        model(torch.ones(3, 4))
    shell.handler(shell, caught.type, caught.value, caught.value.__traceback__)
    kind, error, trace = shown[0]
    assert (kind, error, trace.tb_next) == (RuntimeError, caught.value, None)
    assert trace.tb_frame.f_code.co_filename == __file__
    assert re.match(r"\[\d+ library frames, in 1: Linear\(", capsys.readouterr().err)


def test_an_error_of_a_loaders_worker_shows_the_users_line(
    tmp_path: Path, repository: Path
) -> None:
    """Its traceback comes as text from another process."""
    text = """
from mindtorch.tools import mstorch_enable
import torch
from torch.utils.data import DataLoader, Dataset
class Rows(Dataset):
    def __len__(self):
        return 4
    def __getitem__(self, i):
        return torch.ones(3, 4) @ torch.ones(3, 4)
if __name__ == "__main__":
    list(DataLoader(Rows(), num_workers=1))
"""
    lines = run(text, tmp_path, repository)
    assert set(frames(lines)) == {"program.py"} and "Original Traceback (most recent" in str(lines)
    assert "    return torch.ones(3, 4) @ torch.ones(3, 4)" in lines
