"""`mindtorch compare`: that it finds what differs, and nothing where nothing does.

The comparison is tested with real torch on both sides: there the truth is known. A script can tell
the sides apart by MINDTORCH_COMPARE_SIDE, and so make a known difference.
"""

import importlib.util
import json
import math
import textwrap
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from mindtorch.tools.agreement import find_accuracies, number_difference, relative_difference
from mindtorch.tools.command_line import main
from mindtorch.tools.records import ArrayWriter

SCRIPT = """
    import os, sys
    import torch
    from torch import nn
    from torch.utils.data import DataLoader, TensorDataset

    second = os.environ["MINDTORCH_COMPARE_SIDE"] == "2"
    what = sys.argv[1] if len(sys.argv) > 1 and second else ""
    calls = 0

    class Odd(nn.Linear):
        def forward(self, x):
            global calls
            calls += 1
            wrong = what == "layer" or (what == "later" and calls > 4)
            return super().forward(x) * (1.01 if wrong else 1.0)

    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.first = nn.Linear(4, 8)
            self.norm = nn.BatchNorm1d(8)
            self.act = nn.ReLU(inplace=True)
            self.drop = nn.Dropout(0.3)
            self.odd = Odd(8, 8)
            self.last = nn.Linear(8, 3)

        def forward(self, x):
            x = self.drop(self.act(self.norm(self.first(x))))
            return self.last(self.odd(x))

    model = Net()
    if what == "start":
        with torch.no_grad():
            model.odd.bias[0] += 1
    optimizer = torch.optim.Adam(model.parameters(), 1e-2)
    data = TensorDataset(torch.randn(24, 4), torch.randint(0, 3, (24,)))
    for epoch in range(2):
        for x, y in DataLoader(data, batch_size=8, shuffle=True):
            if what == "mask":
                torch.rand(1)
            if what == "batch":
                x = x + 1
            if what == "raise":
                raise ValueError("no luck")
            optimizer.zero_grad()
            loss = nn.functional.cross_entropy(model(x), y)
            loss.backward()
            if what == "gradient":
                model.first.weight.grad[0, 0] += 1
            if what == "step":
                optimizer.param_groups[0]["lr"] *= 1.1
            optimizer.step()
    model.eval()
    with torch.no_grad():
        right = model(data.tensors[0]).argmax(1) == data.tensors[1]
    print(f"test accuracy {right.float().mean():.3f} of 24")
"""


needs_torch = pytest.mark.skipif(
    importlib.util.find_spec("torch") is None, reason="the comparison is with real torch"
)


def run_compare(folder: Path, *arguments: str, options: tuple[str, ...] = ()) -> tuple[int, Any]:
    """Compare torch with torch; the exit status and the JSON result (None where there is none)."""
    script, result = folder / "script.py", folder / "result.json"
    script.write_text(textwrap.dedent(SCRIPT))
    command = ["compare", "--sides", "torch,torch", "--threads", "1", "--json", str(result)]
    status = main([*command, "--keep", str(folder / "records"), *options, str(script), *arguments])
    return status, json.loads(result.read_text()) if result.exists() else None


@needs_torch
def test_two_runs_of_one_library_agree(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Not seeded by the script, yet the same to the last bit; and everything was looked at."""
    report = tmp_path / "report.txt"
    status, result = run_compare(tmp_path, options=("--output", str(report)))
    assert (status, result["agree"], result["differences"]) == (0, True, [])
    counts = {name: result[name]["total"] for name in ("parameters", "batches", "masks")}
    assert counts == {"parameters": 8, "batches": 6, "masks": 6}
    for name in ("parameters", "buffers", "batches", "masks", "generators", "updates", "final"):
        assert result[name]["equal"] == result[name]["total"] > 0, name
    layers = [row["name"] for row in result["layers"]]
    assert layers == ["first", "norm", "act", "drop", "odd", "last", "Net"]
    assert all(row["gradient"] == 0 for row in result["layers"])
    assert [row["parameters"] for row in result["layers"]] == [0, 0, None, None, 0, 0, None]
    assert len(result["losses"]) == 6 and {epoch for *_, epoch in result["losses"]} == {0, 1}
    assert result["accuracies"][0] == result["accuracies"][1]
    assert min(result["seconds"]) > 0
    shown = capsys.readouterr().out
    assert "agree: largest difference of a loss 0.0e+00" in shown
    assert report.read_text().splitlines()[-1] == shown.splitlines()[-1]
    assert max(len(line.rstrip()) for line in shown.splitlines() if "/" not in line) <= 100


@needs_torch
def test_the_first_layer_that_differs_is_named_with_its_arrays(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """A layer that is wrong by one per cent: that one, not those that its error reaches."""
    status, result = run_compare(tmp_path, "layer")
    assert status == 1
    first = result["differences"][0]
    assert (first["what"], first["layer"], first["step"]) == ("output", "odd", 0)
    assert first["value"] == pytest.approx(0.0099, rel=0.02)
    assert first["note"] == "its input agrees"
    shown = capsys.readouterr().out
    assert "first layer that differs: odd: Odd(in_features=8" in shown
    assert result["reproduction"] == str(tmp_path / "records" / "repro_odd.npz")
    with np.load(result["reproduction"]) as arrays:
        given = arrays["torch_input_0"]
        right = given @ arrays["torch_parameter_weight"].T + arrays["torch_parameter_bias"]
        np.testing.assert_allclose(arrays["torch_output_0"], right, rtol=1e-5, atol=1e-6)
        np.testing.assert_allclose(arrays["torch#2_output_0"], 1.01 * right, rtol=1e-5, atol=1e-6)


@needs_torch
def test_a_difference_in_a_later_step_is_looked_at_again(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Only the first step is recorded whole: a second run looks at the one that differs."""
    status, result = run_compare(tmp_path, "later")
    assert status == 1
    assert result["differences"][0]["what"] == "loss"
    assert result["differences"][0]["step"] == 4
    shown = capsys.readouterr().out
    assert "looked at again in step 5: first the output of odd" in shown
    assert Path(result["reproduction"]).name == "repro_odd.npz"


@needs_torch
@pytest.mark.parametrize(
    ("mistake", "what", "name"),
    [
        ("start", "starting value", "odd.bias"),
        ("mask", "dropout mask", "drop"),
        ("batch", "output", "first"),
        ("gradient", "gradient", "first.weight"),
        ("step", "optimizer step", "first.weight"),
    ],
)
def test_what_went_wrong_first_comes_first(
    tmp_path: Path, mistake: str, what: str, name: str
) -> None:
    """A mistake shows in all that follows it: the report must begin at the mistake."""
    status, result = run_compare(tmp_path, mistake, options=("--steps", "2"))
    assert status == 1
    assert (result["differences"][0]["what"], result["differences"][0]["name"]) == (what, name)
    assert len(result["losses"]) == 2


@needs_torch
def test_a_side_that_raises_is_reported(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Exit status 2, the side's name and its traceback; no result is written."""
    status, result = run_compare(tmp_path, "raise")
    assert (status, result) == (2, None)
    errors = capsys.readouterr().err
    assert "the script failed under torch (exit status 1)" in errors
    assert "ValueError: no luck" in errors
    assert "recorder.py" not in errors


TIES = """
    import os
    import torch
    from torch import nn

    class Tie(nn.Module):
        # Sends the gradient of one pair of equals to the other one of them, on the second side.
        def forward(self, x):
            flip = os.environ["MINDTORCH_COMPARE_SIDE"] == "2"
            chosen = x[:, 1::2] if flip else x[:, ::2]
            return torch.cat([chosen[:, :1], x[:, 2:]], 1)

    torch.manual_seed(0)
    first, tie, last = nn.Linear(3, 40000), Tie(), nn.Linear(39999, 1)
    with torch.no_grad():
        first.weight[1] = first.weight[0]
        first.bias[1] = first.bias[0]
    net = nn.Sequential(first, tie, last)
    net(torch.ones(1, 3)).sum().backward()
"""


@needs_torch
def test_a_choice_between_equals_is_no_difference(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Max pooling over equal values may pick any of them: the last bits decide."""
    script = tmp_path / "ties.py"
    script.write_text(textwrap.dedent(TIES))
    result = tmp_path / "result.json"
    command = ["compare", "--sides", "torch,torch", "--threads", "1", "--json", str(result)]
    main([*command, "--keep", str(tmp_path), str(script)])
    found = json.loads(result.read_text())
    row = found["layers"][0]
    assert (row["name"], row["choices"]) == ("0", 2)
    assert row["gradient"] > 0.1
    assert all(each["what"] != "gradient of the output" for each in found["differences"])
    assert "(ties: 2)" in capsys.readouterr().out


@needs_torch
def test_a_script_without_a_model_does_not_agree(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """A comparison that compared nothing must not look like a good one."""
    script = tmp_path / "empty.py"
    script.write_text("import torch\nprint(torch.ones(2))")
    assert main(["compare", "--sides", "torch,torch", "--threads", "1", str(script)]) == 2
    assert "nothing to compare" in capsys.readouterr().out


def test_a_missing_script_is_reported(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Before anything is run."""
    assert main(["compare", "--keep", str(tmp_path / "records"), str(tmp_path / "no.py")]) == 2
    assert "there is no script" in capsys.readouterr().err
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("line", "values"),
    [
        ("epoch 3: loss 0.1, test accuracy 95.00%", [0.95]),
        ("Acc: 0.5", [0.5]),
        ("97.5% accuracy", [0.975]),
        ("final test accuracy 95.28%, the same after save", [0.9528]),
        ("loss 0.5", []),
        ("accuracy unknown", []),
        ("acc=1e-1\nval_acc=0.25", [0.1, 0.25]),
    ],
)
def test_accuracies_are_read_from_what_is_printed(line: str, values: list[float]) -> None:
    """Scripts print accuracy in many ways, and nothing else tells how good they are."""
    assert find_accuracies(line) == pytest.approx(values)


def test_a_difference_is_measured_beside_the_greatest_magnitude() -> None:
    """An element that is zero but for rounding must not make a difference of one."""
    a, b = np.array([1000.0, 0.0]), np.array([1000.0, 1e-3])
    assert relative_difference(a, b) == pytest.approx(1e-6)
    assert relative_difference(np.zeros(2), np.zeros(2)) == 0
    assert relative_difference(np.zeros(0), np.zeros(0)) == 0
    assert relative_difference(np.zeros(2), np.zeros(3)) == math.inf
    assert relative_difference(np.array([1e-9]), np.array([-1e-9]), scale=1.0) <= 2e-9


def test_what_is_not_finite_must_be_the_same() -> None:
    """NaN beside NaN agrees; NaN beside a number does not, whatever the tolerance."""
    nan, inf = math.nan, math.inf
    assert relative_difference(np.array([nan, 1.0]), np.array([nan, 1.0])) == 0
    assert relative_difference(np.array([nan]), np.array([1.0])) == inf
    assert relative_difference(np.array([inf]), np.array([-inf])) == inf
    assert number_difference(nan, nan) == 0
    assert number_difference(nan, 1.0) == inf
    assert number_difference(inf, inf) == 0
    assert number_difference(1.0, 1.1) == pytest.approx(0.1 / 1.1)


def test_arrays_past_the_limit_leave_only_their_figures(tmp_path: Path) -> None:
    """A model of any size can be recorded: memory and disk are bounded."""
    writer = ArrayWriter(tmp_path / "arrays.npz", limit=16)
    small, large = np.arange(2.0), np.arange(100.0)
    assert writer.add(small, "float64", store=True).stored
    kept = writer.add(large, "float64", store=True)
    assert (kept.stored, kept.largest, kept.mean) == (False, 99.0, 49.5)
    assert (
        writer.add(small, "float32", store=False).digest
        != writer.add(small, "float64", store=False).digest
    )
    writer.close()
    assert [path.name for path in tmp_path.iterdir()] == ["arrays.npz"]
