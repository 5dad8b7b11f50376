"""`mindtorch amp-report` finds the layers that 16 bits would break, and changes nothing."""

import argparse
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from mindtorch import torch
from mindtorch.tools import amp_report
from mindtorch.tools.amp_report import Observer

nn = torch.nn


class Network(nn.Module):
    """b overflows float16; the gradients of the last layer vanish in it; n is normalisation."""

    def __init__(self):
        super().__init__()
        self.a, self.n, self.d = nn.Linear(8, 16), nn.LayerNorm(16), nn.Dropout(0.2)
        self.b, self.t, self.small = nn.Conv1d(1, 2, 3), nn.Tanh(), nn.Identity()
        with torch.no_grad():
            self.b.weight.mul_(1e6)

    def forward(self, x):
        x = self.d(self.n(self.a(x)))
        return self.small(self.t(self.b(x[:, None])) * 1e-9)


def train(network, steps=2):
    """Losses of plain training."""
    torch.manual_seed(1)
    optimizer = torch.optim.SGD(network.parameters(), lr=0.1)
    found = []
    for _ in range(steps):
        loss = network(torch.randn(4, 8)).square().sum()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        found.append(loss.item())
    return found


@pytest.mark.parametrize("level", ["O2", "O3"])
def test_layers_are_judged_by_what_they_do_alone(level):
    """Overflow, vanishing results and gradients, lost bits; losses are those without it."""
    torch.manual_seed(0)
    plain = train(Network())
    torch.manual_seed(0)
    with Observer(level, "float16", steps=2).watching() as observer:
        assert train(Network()) == plain
    layers = observer.layers
    assert observer.seen == 2 and list(layers) == ["a", "n", "d", "b", "t", "small"]
    assert layers["b"].overflow > 0 and layers["b"].own_overflow > 0
    # what comes after it is spoilt too, but not by itself
    assert [r.own_overflow for name, r in layers.items() if name != "b"] == [0] * 5
    assert [layers[name].overflow for name in ("a", "n", "d")] == [0] * 3
    assert layers["small"].share() == 1.0 and layers["a"].share() == 0.0
    assert layers["t"].share(of_gradients=True) == 1.0
    for name in ("a", "n"):  # float16 has 11 of 24 bits
        assert 11 < layers[name].lost_bits(own=True) < 15
    assert observer.black_list() == {
        "Conv1d": ["overflows"], "Identity": ["results vanish", "loses more than rounding"]
    }  # fmt: skip
    assert layers["small"].missing == layers["a"].missing == 0
    assert observer.loss_scale() == 2.0**24


def test_bfloat16_has_the_range_but_not_the_bits():
    """Nothing overflows or vanishes; 16 of 24 bits are lost."""
    torch.manual_seed(0)
    with Observer("O2", "bfloat16", steps=1).watching() as observer:
        train(Network(), 1)
    assert observer.black_list() == {} and observer.loss_scale() == 1.0
    assert 14 < observer.layers["a"].lost_bits(own=True) < 18


def test_each_network_is_watched_by_itself():
    """Layers of one name in two networks; inside of one that was seen enough nothing is new."""
    first, second = (torch.nn.Sequential(torch.nn.Linear(8, 8), kind) for kind in
                     (torch.nn.ReLU(), torch.nn.Tanh()))  # fmt: skip
    with Observer(steps=1).watching() as observer:
        for _ in range(2):
            train(first, 1)
            train(second, 1)
    found = {name: (r.kind, r.calls) for name, r in observer.layers.items()}
    assert found == {
        "0": ("Linear", 1), "1": ("ReLU", 1),
        "Sequential 2: 0": ("Linear", 1), "Sequential 2: 1": ("Tanh", 1),
    }  # fmt: skip


def test_a_script_that_lowers_itself_is_refused():
    """Its float32 numbers are not there to compare with."""
    network = torch.amp.auto_mixed_precision(nn.Sequential(nn.Linear(2, 2)), "O2")
    with Observer().watching(), pytest.raises(SystemExit, match="run it without auto_mixed"):
        network(torch.ones(1, 2))


def test_the_report_is_printed_and_written(tmp_path: Path, capsys):
    """A table, the call to make, the scale to begin with; the same as JSON."""
    torch.manual_seed(0)
    with Observer("O2", "float16", steps=1).watching() as observer:
        train(Network(), 1)
    amp_report.show(observer)
    text = capsys.readouterr().out
    assert "black list: Conv1d, Identity" in text and "begin with 16777216" in text
    assert "custom_mixed_precision(network, black_list=[nn.Conv1d, nn.Identity, nn.LayerNorm])" in (
        text
    )
    assert "Conv1d" in text and "100.00%" in text


@pytest.mark.exhaustive
def test_the_command_runs_a_script(tmp_path: Path, repository: Path):
    """Exit status 1 with a black list, 2 where nothing was trained."""
    script = tmp_path / "script.py"
    script.write_text(
        "import torch\nfrom torch import nn\nnet = nn.Sequential(nn.Linear(2, 2))\n"
        "with torch.no_grad():\n    net[0].weight.fill_(1e6)\n"
        "net(torch.ones(1, 2)).sum().backward()\n"
    )
    empty = tmp_path / "empty.py"
    empty.write_text("print(1)\n")
    for path, status in ((script, 1), (empty, 2), (tmp_path / "none.py", 2)):
        result = subprocess.run(
            [sys.executable, "-m", "mindtorch", "amp-report", "--json", str(tmp_path / "r.json"),
             str(path)],
            env={**os.environ, "PYTHONPATH": str(repository)}, capture_output=True, text=True,
            check=False,
        )  # fmt: skip
        assert result.returncode == status, result.stderr
    written = json.loads((tmp_path / "r.json").read_text())
    assert written["black_list"] == {"Linear": ["overflows"]}


def test_the_options_have_defaults():
    """O2, float16, five steps."""
    parser = argparse.ArgumentParser()
    amp_report.add_arguments(parser)
    options = parser.parse_args(["script.py", "--epochs", "1"])
    assert (options.level, options.dtype, options.steps) == ("O2", "float16", 5)
    assert options.arguments == ["--epochs", "1"]


def test_a_loss_that_is_nan_is_a_finding(tmp_path: Path, repository: Path):
    """What 16 bits do is of no interest where float32 has no numbers; it exited with 0."""
    script = tmp_path / "script.py"
    script.write_text(
        "import torch\nmodel = torch.nn.Linear(4, 1)\n"
        "for step in range(1, 11):\n    loss = model(torch.ones(2, 4)).square().mean()\n"
        "    if step >= 7:\n        loss = loss * float('nan')\n    loss.backward()\n"
    )
    output = tmp_path / "report.json"
    command = [sys.executable, "-m", "mindtorch", "amp-report", "--json", str(output), str(script)]
    variables = {**os.environ, "PYTHONPATH": str(repository)}
    result = subprocess.run(command, env=variables, capture_output=True, text=True, check=False)
    assert result.returncode == 1, result.stderr
    shown = result.stdout
    assert "FOUND: the loss of step 7 is nan in float32 already (and 3 more of 10)" in shown
    assert "--watch overflow" in shown
    assert json.loads(output.read_text())["findings"] == [
        "the loss of step 7 is nan in float32 already (and 3 more of 10)"
    ]
