"""`mindtorch gradcheck`: right gradients pass, wrong ones are found, mistakes are told."""

import re

import numpy as np
import pytest

from mindtorch.tools.cli import main

SCRIPT = '''
import torch

def smooth(x, y):
    return torch.tanh(x @ y), (x * x).sum()

def defaults(x=torch.tensor([0.5, 2.0]), y=torch.tensor(3.0)):
    return x.log() * y

class Wrong(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        return x * x

    @staticmethod
    def backward(ctx, g):
        return 3 * g

def wrong(x):
    return Wrong.apply(x)

def rows(i=torch.tensor([0, 2]), w=torch.ones(3, 2)):
    return torch.nn.functional.embedding(i, w).sin()

def loose(x):
    return x.detach().sum()

def failing(x):
    raise KeyError("mine")

layer = torch.nn.Linear(3, 2)
'''


@pytest.fixture
def script(tmp_path):
    path = tmp_path / "script.py"
    path.write_text(SCRIPT)
    return str(path)


@pytest.mark.parametrize(
    ("arguments", "status", "word"),
    [
        ([":smooth", "--shape", "2x3", "--shape", "3x4"], 0, "agree"),
        ([":defaults"], 0, "agree"),
        ([":wrong", "--shape", "3"], 1, "DIFFER"),
        ([":smooth"], 2, "give a --shape"),
        ([":missing"], 2, "has no function 'missing'"),
        (["x:missing"], 2, "cannot open"),
        ([""], 2, "name the function"),
        ([":rows"], 0, "agree"),
        ([":layer", "--shape", "4x3"], 0, "agree"),
        ([":loose", "--shape", "3"], 2, "requires no gradient"),
        ([":failing", "--shape", "3"], 2, "KeyError: 'mine'"),
        ([":wrong", "--shape", "3", "--shape", "3"], 2, "too many positional"),
        ([":wrong", "--shape", "3,3"], 2, "lengths joined by x"),
    ],
)
def test_gradients_are_compared(script, capsys, arguments, status, word):
    """The exit status and what is printed."""
    first, *rest = arguments
    target = "smooth" if first == "" else script + first
    assert main(["gradcheck", target, *rest]) == status
    printed = capsys.readouterr()
    assert word in printed.out + printed.err


def test_a_script_that_needs_arguments_is_told(tmp_path, capsys):
    """It gets none of the command's, and its end is no crash."""
    path = tmp_path / "asks.py"
    path.write_text("import argparse\np = argparse.ArgumentParser()\np.add_argument('n')\n"
                    "p.parse_args()\n")  # fmt: skip
    assert main(["gradcheck", f"{path}:f", "--shape", "3"]) == 2
    assert "ends while it is imported" in capsys.readouterr().err


def test_a_wrong_gradient_is_told_with_its_element(script, capsys):
    """By how much, where, and what is allowed; the columns say what they hold."""
    assert main(["gradcheck", f"{script}:wrong", "--shape", "2x3"]) == 1
    shown = capsys.readouterr().out
    for word in ("argument", "from backward()", "from numerical slopes"):
        assert word in shown
    found = re.search(
        r"DIFFER: by x\[(\d), (\d)\] the gradient is 3, and (\S+) by numerical slopes: \S+ apart, "
        r"1e-06 allowed", shown
    )  # fmt: skip
    assert found is not None, shown
    x = np.random.default_rng(0).standard_normal((2, 3))
    assert float(found[3]) == pytest.approx(2 * x[int(found[1]), int(found[2])], rel=1e-4)
    assert f"[{found[1]}, {found[2]}]" in shown.split("DIFFER")[0]


def test_a_script_that_fails_when_imported_shows_its_own_line_first(tmp_path, capsys):
    """Frames of the import system stood above it."""
    path = tmp_path / "broken.py"
    path.write_text("import torch\ntorch.ones(2, 3) @ torch.ones(2, 3)\n")
    assert main(["gradcheck", f"{path}:f", "--shape", "3"]) == 2
    lines = capsys.readouterr().err.splitlines()
    assert lines[1].startswith(f'  File "{path}", line 2')
    assert "importlib" not in "".join(lines)


def test_a_script_may_have_a_name_of_pythons_own(tmp_path, capsys):
    """gc.py was put in the place of Python's module."""
    path = tmp_path / "gc.py"
    path.write_text("def cube(x):\n    return x**3\n")
    assert main(["gradcheck", f"{path}:cube", "--shape", "3"]) == 0
    assert "agree" in capsys.readouterr().out
