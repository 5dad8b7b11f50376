"""`mindtorch lite micro`."""

import numpy as np
import pytest

from mindtorch.tools.cli import main
from tests.lite.micro.compiling import compiled, outputs

SCRIPT = """
import torch

def build():
    torch.manual_seed(0)
    return torch.nn.Sequential(torch.nn.Linear(3, 2), torch.nn.ReLU())
"""


@pytest.fixture
def script(tmp_path):
    path = tmp_path / "model.py"
    path.write_text(SCRIPT)
    return path


def command(script, tmp_path, *more):
    return main(["lite", "micro", f"{script}:build", "--input", "1,3", "--output",
                 str(tmp_path / "made"), "--name", "tiny", *more])  # fmt: skip


def test_a_project_of_a_script(script, tmp_path, capsys):
    samples = np.random.default_rng(0).normal(size=(20, 3))
    np.save(tmp_path / "samples.npy", samples)
    made = []
    for more in ((), ("--calibration", str(tmp_path / "samples.npy"))):
        assert command(script, tmp_path, *more) == 0
        assert "tiny.c" in capsys.readouterr().out
        made.append(np.array(outputs(compiled(tmp_path / "made"), [[row] for row in samples])))
    assert np.abs(made[0]).max() > 0
    assert 0 < np.abs(made[0] - made[1]).max() < np.abs(made[0]).max() / 50


def test_what_is_wrong_is_said(script, tmp_path, capsys):
    assert command(script, tmp_path, "--name", "main") == 1
    assert "cannot begin C names" in capsys.readouterr().err
    np.save(tmp_path / "samples.npy", np.zeros((4, 7)))
    assert command(script, tmp_path, "--calibration", str(tmp_path / "samples.npy")) == 1
    assert "not samples of shape (1, 3)" in capsys.readouterr().err
    assert not (tmp_path / "made").exists()
