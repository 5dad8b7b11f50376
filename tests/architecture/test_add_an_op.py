"""docs/guide/add-an-op.md is true: its four files, edited in a copy, give an op under all names."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.support.paths import ROOT

PAGE = ROOT / "docs" / "guide" / "add-an-op.md"
_STEP = re.compile(r"^## \d\. [^\n]*`(?P<path>[\w/]+\.py)`\n.*?```python\n(?P<code>.*?)```",
                   re.DOTALL | re.MULTILINE)  # fmt: skip
# what is other for functions that are no row of a table: blocks after the name of their file
_OTHERS = re.compile(r"\(`(?P<path>[\w/]+\.(?:py|txt))`[^)]*\):\n\n```\w+\n(?P<code>.*?)```",
                     re.DOTALL)  # fmt: skip
_FIRST_ROW = re.compile(r"^    (?=\(\"\w+\", ops\.\w+, \()|^    (?=unary\()|^    (?=\*_fold\()",
                        re.MULTILINE)  # fmt: skip

NAMES = """
import math
import mindtorch.torch as torch
from mindtorch.mindspore import Tensor, ops

assert torch.__file__.startswith({copy!r})
numbers = [-100.0, -1.0, 0.0, 0.5, 3.0]
x = torch.tensor(numbers, dtype=torch.float64, requires_grad=True)
small = [math.log(2) - abs(n) - math.log1p(math.exp(-2 * abs(n))) for n in numbers]
expected = torch.tensor(small, dtype=torch.float64)
y = torch.logsech(x)
out = torch.empty(5, dtype=torch.float64)
for found in (y, x.logsech(), x.detach().clone().logsech_(), torch.logsech(x.detach(), out=out)):
    torch.testing.assert_close(found.detach(), expected)
assert y.grad_fn.name() == "LogsechBackward0"
y.sum().backward()
torch.testing.assert_close(x.grad, -torch.tanh(x.detach()))
assert torch.logsech(torch.tensor([1, 2])).dtype is torch.float32
rows = torch.rand(3, 4)
torch.testing.assert_close(torch.func.vmap(torch.logsech)(rows), torch.logsech(rows))
torch.testing.assert_close(torch.compile(lambda x: torch.logsech(x) * 2)(rows), 2 * rows.logsech())
assert ops.logsech(Tensor(numbers)).shape == (5,)

clipped = torch.nn.functional.hardtanh(x.detach(), -20, 20)
out = torch.empty(5, dtype=torch.float64)
y = torch.softclip(x, -20, 20)
for found in (y, x.softclip(low=-20, high=20), x.detach().clone().softclip_(-20, 20),
              torch.softclip(x.detach(), -20, 20, out=out)):
    torch.testing.assert_close(found.detach(), clipped, rtol=0, atol=1e-7)
assert torch.autograd.gradcheck(lambda x: torch.softclip(x, -1, 1), x)
try:
    torch.softclip(x, "low", 1)
except TypeError as error:
    assert str(error) == "softclip(): argument 'low' (position 2) must be Number, not str"

expected = (rows - rows.mean(1, keepdim=True)).abs().mean(1)
torch.testing.assert_close(torch.absdev(rows, 1), expected)
torch.testing.assert_close(rows.absdev(axis=1, keepdims=True), expected[:, None])
"""
CUDA = """
import mindtorch.torch as torch
x = torch.rand(3, 4)
for call in (torch.logsech, torch.absdev, lambda x: torch.softclip(x, 0, 0.5)):
    torch.testing.assert_close(call(x.cuda()).cpu(), call(x))
"""


@pytest.fixture(scope="module")
def copy(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The checkout with what the page says written into its files."""
    copy = tmp_path_factory.mktemp("checkout")
    for folder in ("engine", "kernels", "mindtorch", "tools", "tests"):  # with their byte code
        shutil.copytree(ROOT / folder, copy / folder, symlinks=True)
    shutil.copy(ROOT / "pyproject.toml", copy)
    for path, code in (*steps(), *others()):
        text = (copy / path).read_text()
        if code.startswith(" "):  # a row of a table
            place = _FIRST_ROW.search(text)
            assert place is not None
            text = text[: place.start()] + code + text[place.start() :]
        else:
            text += "\n\n" * path.endswith(".py") + code
        (copy / path).write_text(text)
    return copy


def steps() -> list[tuple[str, str]]:
    """The files that the page edits, and what it writes into them."""
    return [(found["path"], found["code"]) for found in _STEP.finditer(PAGE.read_text())]


def others() -> list[tuple[str, str]]:
    """The same of what needs other steps."""
    return [(found["path"], found["code"]) for found in _OTHERS.finditer(PAGE.read_text())]


def run(copy: Path, *command: str, **environment: str) -> None:
    given = {**os.environ, "PYTHONPATH": str(copy), **environment}
    done = subprocess.run([sys.executable, *command], cwd=copy, env=given, capture_output=True,
                          text=True)  # fmt: skip
    assert not done.returncode, done.stdout[-2000:] + done.stderr[-2000:]


def test_four_files_are_edited() -> None:
    assert len({path for path, _ in steps()}) == 4
    assert [len(found) for found in (steps(), others())] == [4, 7]


def test_the_op_has_all_names(copy: Path) -> None:
    run(copy, "-c", NAMES.format(copy=str(copy)))


def test_the_op_runs_on_cuda(copy: Path) -> None:
    run(copy, "-c", CUDA, NUMBA_ENABLE_CUDASIM="1")


def test_one_command_writes_what_is_made(copy: Path) -> None:
    (copy / "docs").mkdir(exist_ok=True)
    run(copy, "-m", "mindtorch.tools.docs")
    for made in ("docs/cuda-ops.md", "engine/ops/__init__.py", "mindtorch/torch/_functions.pyi"):
        assert "logsech" in (copy / made).read_text(), made


def test_the_row_is_a_test(copy: Path) -> None:
    run(copy, "-m", "pytest", "-q", "-p", "no:cacheprovider", "tests/tables/test_ops.py",
        "-k", "logsech or softclip or absdev or every_op")  # fmt: skip
