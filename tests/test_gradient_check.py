"""`mindtorch gradcheck`: right gradients pass, wrong ones are found, mistakes are told."""

import pytest

from mindtorch.tools.command_line import main

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
    ],
)
def test_gradients_are_compared(script, capsys, arguments, status, word):
    """The exit status and what is printed."""
    first, *rest = arguments
    target = "smooth" if first == "" else script + first
    assert main(["gradcheck", target, *rest]) == status
    printed = capsys.readouterr()
    assert word in printed.out + printed.err
