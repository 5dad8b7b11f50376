"""`mindtorch gradcheck`: right gradients pass, wrong ones are found, mistakes are told."""

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
