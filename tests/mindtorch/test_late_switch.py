"""Scripts whose import of the switch does not stand first: sorted by a formatter, or left out."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.support.paths import ROOT


def run_script(path: Path, text: str, **environment: str) -> subprocess.CompletedProcess[str]:
    """Run a script in a process of its own."""
    path.write_text(text)
    variables = {key: value for key, value in os.environ.items() if key != "MINDTORCH_ENABLE"}
    variables |= {"PYTHONPATH": str(ROOT)} | environment
    return subprocess.run(
        [sys.executable, str(path)], env=variables, capture_output=True, text=True, timeout=300
    )


SORTED = """
import torch
import torch.nn.functional as F
from mindtorch.tools import mstorch_enable
from torch import nn
from torch.utils.data import DataLoader

torch.manual_seed(0)
model = nn.Linear(3, 2)
optimizer = torch.optim.Adam(model.parameters())
F.relu(model(torch.ones(4, 3))).sum().backward()
optimizer.step()
print(torch.__file__, F.__file__, type(model.weight).__module__)
"""


def test_sorted_imports_are_exchanged_with_a_warning(tmp_path: Path) -> None:
    """isort puts `import torch` above the switch: the whole script is on mindtorch all the same."""
    result = run_script(tmp_path / "train.py", SORTED)
    assert result.returncode == 0, result.stderr
    root, functional, _ = result.stdout.split()
    assert root.endswith("mindtorch/torch/__init__.py")
    assert functional.endswith("mindtorch/torch/nn/functional.py")
    assert "train.py:4: UserWarning: real PyTorch was imported above" in result.stderr
    assert "Exchanged for mindtorch's here: torch, F." in result.stderr
    assert "MINDTORCH_ENABLE=1" in result.stderr and "isort: skip" in result.stderr


def test_classes_and_functions_imported_earlier_are_exchanged(tmp_path: Path) -> None:
    """`from torch.nn import Linear` above the switch."""
    text = """
from torch import manual_seed, no_grad
from torch.nn import Linear
from torch.nn.functional import relu
from mindtorch.tools import mstorch_enable
print(manual_seed.__code__.co_filename, relu, Linear.__init__.__code__.co_filename)
import torch
assert Linear is torch.nn.Linear and relu is torch.nn.functional.relu
assert no_grad is torch.no_grad and manual_seed is torch.manual_seed
"""
    result = run_script(tmp_path / "train.py", text)
    assert result.returncode == 0, result.stderr
    assert "Exchanged for mindtorch's here: manual_seed, no_grad, Linear, relu." in result.stderr


def test_a_real_torch_under_another_name_stays(tmp_path: Path) -> None:
    """Who wants both says so by a name."""
    text = """
import torch as real
from mindtorch.tools import mstorch_enable
import torch
assert real is not torch and "mindtorch" not in real.__file__
assert "mindtorch" in torch.__file__
"""
    result = run_script(tmp_path / "both.py", text)
    assert result.returncode == 0, result.stderr
    assert result.stderr == ""


def test_a_name_without_a_counterpart_ends_the_script(tmp_path: Path) -> None:
    """A script that mixed both would fail later, and say something else."""
    text = """
from torch._C import _DispatchModule
from mindtorch.tools import mstorch_enable
"""
    result = run_script(tmp_path / "train.py", text)
    assert result.returncode == 1
    assert result.stderr.splitlines()[-1].startswith("ImportError: real PyTorch was imported above")
    assert "has no _DispatchModule" in result.stderr


def test_packages_that_hold_on_to_real_torch_are_named(tmp_path: Path) -> None:
    """They were imported before the switch and cannot be exchanged."""
    (tmp_path / "trainer_library.py").write_text("import torch\n\n\ndef fit():\n    return torch\n")
    text = """
import trainer_library
from mindtorch.tools import mstorch_enable
"""
    result = run_script(tmp_path / "train.py", text)
    assert result.returncode == 0, result.stderr
    assert "Still on real PyTorch, since imported before: trainer_library." in result.stderr


@pytest.mark.parametrize("line", ["import torch", "import torch.nn as nn"])
def test_no_message_where_the_switch_is_first(line: str, tmp_path: Path) -> None:
    """Nothing is said about a script that is in order."""
    text = f"from mindtorch.tools import mstorch_enable\n{line}\nfrom torch import nn\n"
    result = run_script(tmp_path / "train.py", text)
    assert (result.returncode, result.stderr) == (0, "")
