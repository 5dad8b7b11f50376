"""Static tools find what the namespace makes at run time, by stubs that are never out of date."""

from __future__ import annotations

import importlib
import os
import re
import subprocess
import sys
import types
from pathlib import Path
from typing import Any

import pytest

import mindtorch.torch as torch
from mindtorch.tools.docs.stubs import stubs, torch_stubs
from tests.support.paths import ROOT

RIGHT = """
import mindtorch.torch as torch
import mindtorch.torch.nn.functional as F
from mindtorch.torch import nn

x: torch.Tensor = torch.relu(torch.ones(3))
x.softmax(dim=-1)
torch.add(x, x, out=x)
x = x.add_(2).to(torch.float64).reshape(1, 3)[0] * 2 + x.new_zeros(3)
values, places = torch.max(x, dim=0)
most: torch.Tensor = torch.max(x, dim=0).values
count: int = x.numel()
kind: torch.dtype = torch.float32
device: torch.device = torch.device("cpu")
torch.randn(2, 3, generator=torch.Generator().manual_seed(0), dtype=kind)
torch.special.i0(torch.linalg.qr(torch.fft.fft(x))[0])
net = nn.Sequential(nn.Linear(3, 4), nn.MaxPool2d(2))
optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
torch.utils.data.DataLoader([1, 2], batch_size=2)
F.mse_loss(F.linear(x, x), x).backward()
with torch.no_grad():
    torch.save(net.state_dict(), "net.pt")
torch.compile(net)
"""
WRONG = """
import mindtorch.torch as torch
import mindtorch.torch.nn.functional as F

x = torch.ones(3)
torch.reluu(x)  # has no attribute "reluu"
x.sofmax(dim=-1)  # has no attribute "sofmax"
F.linaer(x, x)  # has no attribute "linaer"
torch.linalg.qqr(x)  # has no attribute "qqr"
torch.special.i9(x)  # has no attribute "i9"
torch.nn.Liner(2, 3)  # has no attribute "Liner"
torch.optim.SGDD  # has no attribute "SGDD"
torch.relu(x, inplace=True)  # Unexpected keyword argument "inplace"
x.reshape("3")  # incompatible type "str"|No overload variant
y: int = torch.relu(x)  # Incompatible types in assignment
"""
SWITCHED = """
from mindtorch.tools import mstorch_enable
import torch
import torch.nn as nn
from torch import Tensor
from torch.utils.data import DataLoader, TensorDataset

def loss(x: Tensor) -> torch.Tensor:
    return torch.relu(nn.functional.linear(x, x)).sum()

for (batch,) in DataLoader(TensorDataset(torch.ones(4, 4)), batch_size=2):
    loss(batch)
torch.relu_of(torch.ones(2))  # has no attribute "relu_of"
"""
MODULES = ("nn", "nn.functional", "linalg", "fft", "special", "optim", "optim.lr_scheduler",
           "utils.data", "autograd", "distributions")  # fmt: skip
# of the namespace's own making: torch has no such names
OURS = {"FUNCTIONS", "METHODS", "annotations", "functions"}


def is_public(module: Any, name: str) -> bool:
    """Whether a module's name is one of torch's; modules without a file are old names of others."""
    if name[0] == "_" or name in OURS:
        return False
    value = getattr(module, name)
    return not isinstance(value, types.ModuleType) or value.__loader__ is not None


def names() -> str:
    """A program that says each public name once."""
    lines = ["import mindtorch.torch as torch"]
    lines += [f"import mindtorch.torch.{place}" for place in MODULES]
    for place in ("", *MODULES):
        module = importlib.import_module(".".join(filter(None, ("mindtorch.torch", place))))
        path = f"torch.{place}".rstrip(".")
        lines += [f"{path}.{name}" for name in dir(module) if is_public(module, name)]
    lines += [f"torch.Tensor.{name}" for name in dir(torch.Tensor) if name[0] != "_"]
    return "\n".join(lines)


@pytest.fixture(scope="module")
def complaints(tmp_path_factory: pytest.TempPathFactory) -> dict[str, list[str]]:
    """What mypy says of each program, one line each."""
    folder = tmp_path_factory.mktemp("programs")
    programs = {"right": RIGHT, "wrong": WRONG, "switched": SWITCHED, "names": names()}
    for name, text in programs.items():
        (folder / f"{name}.py").write_text(text)
    for path, text in torch_stubs().items():
        (folder / "typings" / "torch" / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / "typings" / "torch" / path).write_text(text)
    done = subprocess.run(
        [
            sys.executable, "-m", "mypy", "--config-file=", "--follow-imports=silent",
            "--cache-dir", folder / "cache", *(f"{name}.py" for name in programs),
        ],
        env=dict(os.environ, MYPYPATH=f"{folder / 'typings'}:{ROOT}"), cwd=folder,
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert not done.stderr, done.stderr
    lines = [line for line in done.stdout.splitlines() if ": error: " in line]
    return {name: [line for line in lines if line.startswith(f"{name}.py")] for name in programs}


def test_stubs_are_up_to_date() -> None:
    stale = [path.relative_to(ROOT) for path, text in stubs().items() if path.read_text() != text]
    assert not stale, f"run python -m mindtorch.tools.docs.stubs: {', '.join(map(str, stale))}"


def test_a_program_is_right(complaints: dict[str, list[str]]) -> None:
    assert not complaints["right"], "\n".join(complaints["right"])


@pytest.mark.parametrize(("name", "program"), [("wrong", WRONG), ("switched", SWITCHED)])
def test_wrong_lines_are_told(
    complaints: dict[str, list[str]], name: str, program: str
) -> None:
    """Each line that says so, and no other."""
    expected = [
        (number, line.partition("  # ")[2])
        for number, line in enumerate(program.splitlines(), 1) if "  # " in line
    ]  # fmt: skip
    found = complaints[name]
    for number, text in expected:
        (said,) = [line for line in found if line.startswith(f"{name}.py:{number}:")]
        assert re.search(text, said), said
    assert len(found) == len(expected), "\n".join(found)


def test_every_public_name_is_found(complaints: dict[str, list[str]]) -> None:
    assert not complaints["names"], "\n".join(complaints["names"])


def test_stubs_lie_beside_what_they_describe() -> None:
    """No stub hides a source file with code from mypy, but for the named tuples'."""
    folder = Path(torch.__file__).parent
    hiding = {path.name for path in folder.rglob("*.pyi") if path.with_suffix(".py").exists()}
    assert hiding == {"return_types.pyi"}
    assert {*folder.rglob("*.pyi")} == set(stubs())
