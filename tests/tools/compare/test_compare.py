"""`mindtorch compare`: that it finds what differs, and nothing where nothing does.

The comparison is tested with real torch in both runs: there the truth is known. A script can tell
the runs apart by MINDTORCH_COMPARE_RUN, and so make a known difference.
"""

import importlib
import importlib.util
import itertools
import json
import math
import textwrap
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from mindtorch.tools.cli import main
from mindtorch.tools.compare.compare_runs import find_accuracies
from mindtorch.tools.compare.module_source import describe
from mindtorch.tools.compare.record_format import ARRAYS, ArrayWriter
from mindtorch.tools.compare.report_html import write_page
from mindtorch.tools.compare.report_text import print_report
from mindtorch.tools.compare.statistics import number_difference, relative_difference
from mindtorch.tools.compare.verdict import Outcome
from tests.support.compare_in_process import compared
from tests.support.compare_programs import PROGRAMS

SCRIPT = """
    import os, sys
    import torch
    from torch import nn
    from torch.utils.data import DataLoader, TensorDataset

    second = os.environ["MINDTORCH_COMPARE_RUN"] == "candidate"
    what = sys.argv[1] if len(sys.argv) > 1 and second else ""

    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.first = nn.Linear(4, 8)
            self.norm = nn.BatchNorm1d(8, 1e-3 if what == "layer" else 1e-5)
            self.act = nn.ReLU(inplace=True)
            self.drop = nn.Dropout(0.3)
            self.last = nn.Linear(8, 3)

        def forward(self, x):
            if what == "raise":
                raise ValueError("no luck")
            return self.last(self.drop(self.act(self.norm(self.first(x)))))

    open("written.txt", "w").write(what)
    model = Net()
    optimizer = torch.optim.Adam(model.parameters(), 1e-2)
    data = TensorDataset(torch.randn(24, 4), torch.randint(0, 3, (24,)))
    for epoch in range(2):
        for x, y in DataLoader(data, batch_size=8, shuffle=True):
            optimizer.zero_grad()
            loss = nn.functional.cross_entropy(model(x), y)
            loss.backward()
            optimizer.step()
    model.eval()
    with torch.no_grad():
        right = model(data.tensors[0]).argmax(1) == data.tensors[1]
    print("noise " * 600000 if "noise" in sys.argv else "")
    print(f"test accuracy {right.float().mean():.3f} of 24")
"""


needs_torch = pytest.mark.skipif(
    importlib.util.find_spec("torch") is None, reason="the comparison is with real torch"
)


def run_compare(folder: Path, *arguments: str, options: tuple[str, ...] = ()) -> tuple[int, Any]:
    """Compare torch with torch; the exit status and the JSON result (None where there is none)."""
    script, result = folder / "script.py", folder / "result.json"
    script.write_text(textwrap.dedent(SCRIPT))
    command = ["compare", "--frameworks", "torch,torch", "--threads", "1", "--json", str(result)]
    status = main([*command, "--keep", str(folder / "records"), *options, str(script), *arguments])
    return status, json.loads(result.read_text()) if result.exists() else None


@needs_torch
def test_two_runs_of_one_library_agree(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Not seeded by the script, yet the same to the last bit; and everything was looked at. What
    both write goes to a working directory of each; megabytes of output are cut, not kept."""
    (tmp_path / "here").mkdir()
    monkeypatch.chdir(tmp_path / "here")
    report = tmp_path / "report.txt"
    status, result = run_compare(tmp_path, "noise", options=("--output", str(report)))
    assert (status, result["agree"], result["differences"]) == (0, True, [])
    counts = {name: result[name]["total"] for name in ("parameters", "batches", "masks")}
    assert counts == {"parameters": 6, "batches": 6, "masks": 6}
    for name in ("parameters", "buffers", "batches", "masks", "generators", "updates", "final"):
        assert result[name]["equal"] == result[name]["total"] > 0, name
    layers = [row["label"] for row in result["rows"] if row["phase"] == "forward"]
    assert layers == ["Net", "first", "norm", "act", "drop", "last"]
    assert all(row["gradient"] == 0 and row["bits"] for row in result["rows"][3:])
    assert len(result["losses"]) == 6 and {epoch for *_, epoch in result["losses"]} == {0, 1}
    assert result["accuracies"][0] == result["accuracies"][1]
    shown = capsys.readouterr().out
    assert "agree: largest difference of a loss 0.0e+00" in shown
    assert report.read_text().splitlines()[-1] == shown.splitlines()[-1]
    assert max(len(line.rstrip()) for line in shown.splitlines() if "/" not in line) <= 100
    assert list((tmp_path / "here").iterdir()) == []
    assert (tmp_path / "records" / "torch" / "work" / "written.txt").exists()
    output = (tmp_path / "records" / "torch" / "stdout.txt").read_text()
    assert len(output) < 2.2 * 2**20 and "bytes left out" in output


def test_a_framework_that_is_not_there_is_named(capsys: pytest.CaptureFixture[str]) -> None:
    for given in ("torch", "torch,jax", "torch,torch,mindtorch"):
        with pytest.raises(SystemExit) as ended:
            main(["compare", "--frameworks", given, "script.py"])
        assert ended.value.code == 2
        said = capsys.readouterr().err
        assert f"must be two of torch and mindtorch, but got {given}" in said


def assert_names_the_layer(result: Any, shown: str, folder: Path) -> None:
    """The layer whose epsilon is another, not those that its error reaches; and in ``folder`` a
    program with what the layer was given and what it gave on both sides."""
    assert (result["verdict"], len(result["losses"])) == ("differ", 2)
    first = result["first"]
    assert (first["what"], first["path"], first["step"]) == ("output", "norm", 0)
    assert first["cause"] == "real" and first["evidence"][0]["second"] < 1e-6
    words = " ".join(shown.split())
    assert "torch#2 has BatchNorm1d(" in words and "eps=0.001" in words
    program = folder / "repro.py"
    assert result["reproduction"] == str(program)
    with np.load(program.with_suffix(".npz")) as arrays:
        given = arrays["input.0"]
        spread = given - given.mean(0)
        right = spread / np.sqrt(given.var(0) + 1e-5)
        np.testing.assert_allclose(arrays["output 0.torch"], right, rtol=1e-5, atol=1e-6)
        assert np.abs(arrays["output 0.torch#2"] - right).max() > 1e-3
    compile(program.read_text(), str(program), "exec")


@needs_torch
def test_the_first_layer_that_differs_is_named_with_files_that_show_it(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """All but the processes, which the test after this one starts."""
    twice = "torch,torch"
    outcome = compared(PROGRAMS["mlp"], "epsilon", tmp_path, "--steps", "2", frameworks=twice)
    assert outcome.status == 1
    print_report(outcome, None)
    write_page(outcome, tmp_path / "page.html")
    assert "BatchNorm1d" in (tmp_path / "page.html").read_text()
    assert_names_the_layer(json.loads(outcome.as_json()), capsys.readouterr().out, tmp_path)


@needs_torch
@pytest.mark.exhaustive
def test_the_command_names_the_first_layer_that_differs(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Four processes: two runs, and two that look at the step that differs."""
    page = tmp_path / "page.html"
    status, result = run_compare(tmp_path, "layer", options=("--steps", "2", "--html", str(page)))
    assert status == 1 and page.exists()
    assert_names_the_layer(result, capsys.readouterr().out, tmp_path / "records")


@needs_torch
def test_functions_are_recorded_where_the_script_loads_what_wraps_them(tmp_path: Path) -> None:
    """Sparse tensors put an answer of theirs before ``relu`` when they are imported; torchvision
    imports them after the recorder is there."""
    script = tmp_path / "script.py"
    script.write_text(textwrap.dedent("""
        import torch
        import torch.sparse, torch.nested, torch.masked
        layer = torch.nn.Linear(3, 2)
        optimizer = torch.optim.SGD(layer.parameters(), 0.1)
        loss = torch.nn.functional.relu(layer(torch.randn(8, 3))).square().sum()
        loss.backward()
        optimizer.step()
    """))
    command = ["compare", "--threads", "1", "--keep", str(tmp_path / "records")]
    assert main([*command, "--json", str(tmp_path / "result.json"), str(script)]) == 0
    rows = json.loads((tmp_path / "result.json").read_text())["rows"]
    assert any("relu" in row["label"] for row in rows)


@needs_torch
def test_a_script_that_is_not_deterministic_is_found_out(tmp_path: Path) -> None:
    """It differs from itself, so nothing can be said of the libraries: no verdict, status 2. (The
    whole command is in test_outcomes.py.)"""
    runs = itertools.count()

    def program(torch: Any, fault: str, steps: int) -> None:
        torch.manual_seed(next(runs))
        layer = torch.nn.Linear(3, 1)
        optimizer = torch.optim.SGD(layer.parameters(), 0.1)
        layer(torch.randn(8, 3)).square().sum().backward()
        optimizer.step()

    outcome = torch_with_torch(program, tmp_path)
    assert (outcome.status, outcome.kind) == (2, "unstable")
    assert outcome.words()[0] == "NOT DETERMINISTIC: run twice, torch does not do the same"


@needs_torch
def test_a_side_that_raises_is_reported(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Exit status 2, the side's name and its traceback, and where it was."""
    status, result = run_compare(tmp_path, "raise")
    assert (status, result["verdict"]) == (2, "failed")
    shown = capsys.readouterr()
    words = " ".join(shown.out.split())
    assert "the script failed under torch#2 (exit status 1), step 1, in Net" in words
    assert "the other run came to its end" in words
    assert "ValueError: no luck" in shown.err
    assert "recording.py" not in shown.err


def torch_with_torch(program: Any, folder: Path, fault: str = "on") -> Outcome:
    return compared(program, fault, folder, frameworks="torch,torch", steps=6)


@needs_torch
def test_a_difference_in_a_later_step_is_looked_at_again(tmp_path: Path) -> None:
    """Only the first step is recorded whole: a second run looks at the one that differs."""

    def program(torch: Any, fault: str, steps: int) -> None:
        layer, scale = torch.nn.Linear(3, 3), torch.nn.Linear(3, 1)
        x = torch.randn(8, 3)
        optimizer = torch.optim.SGD([*layer.parameters(), *scale.parameters()], 0.01)
        for step in range(steps):
            optimizer.zero_grad()
            y = torch.tanh(layer(x)).clamp(-0.3 if fault and step == 3 else -1)
            scale(y).square().sum().backward()
            optimizer.step()

    outcome = torch_with_torch(program, tmp_path)
    assert outcome.real is not None
    assert (outcome.real.step, outcome.real.what, outcome.examined) == (3, "arguments", [3])
    assert "clamp" in outcome.real.name


@needs_torch
def test_a_choice_between_equals_is_no_difference(tmp_path: Path) -> None:
    """Max pooling over equal values may pick any of them: the last bits decide."""

    def program(torch: Any, fault: str, steps: int) -> None:
        class Tie(torch.nn.Module):
            def forward(self, x: Any) -> Any:
                return Pick.apply(x)

        class Pick(torch.autograd.Function):
            @staticmethod
            def forward(ctx: Any, x: Any) -> Any:
                return x[:, 1:].clone()

            @staticmethod
            def backward(ctx: Any, gradient: Any) -> Any:
                whole = torch.nn.functional.pad(gradient, (1, 0))
                if fault:  # the first two of the row are equal
                    whole[:, :2] = whole[:, :2].flip(1)
                return whole

        first, last = torch.nn.Linear(3, 40000), torch.nn.Linear(39999, 1)
        net = torch.nn.Sequential(first, torch.nn.Identity(), Tie(), last)
        net(torch.ones(1, 3)).sum().backward()

    outcome = torch_with_torch(program, tmp_path)
    row = next(row for row in outcome.agreement.rows if row.label == "1")
    assert row.choices == 2 and row.gradient is not None and row.gradient > 0.1
    found = [
        each for each in outcome.agreement.differences if each.what == "gradient of the output"
    ]
    assert found == []


@needs_torch
def test_a_script_without_a_model_does_not_agree(tmp_path: Path) -> None:
    """A comparison that compared nothing must not look like a good one."""
    outcome = torch_with_torch(lambda torch, fault, steps: print(torch.ones(2)), tmp_path)
    assert outcome.status == 2
    assert "nothing to compare" in " ".join(outcome.words())


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
    writer = ArrayWriter(tmp_path / ARRAYS, limit=16)
    small, large = np.arange(2.0), np.arange(100.0)
    assert writer.add(small, "float64", store=True).stored
    kept = writer.add(large, "float64", store=True)
    assert (kept.stored, kept.largest, kept.mean) == (False, 99.0, 49.5)
    assert kept.norm == pytest.approx(np.linalg.norm(large))
    assert (
        writer.add(small, "float32", store=False).digest
        != writer.add(small, "float64", store=False).digest
    )
    writer.close()
    assert (tmp_path / ARRAYS).stat().st_size < 100


@pytest.mark.parametrize("library", [pytest.param("torch", marks=needs_torch), "mindtorch.torch"])
def test_a_loss_is_described_with_its_settings(library: str) -> None:
    """Its repr shows none; without them the program that shows a difference makes another loss."""
    nn = importlib.import_module(f"{library}.nn")
    assert describe(nn.TripletMarginLoss(0.5, swap=True)) == (
        "TripletMarginLoss(margin=0.5, swap=True)"
    )
    assert describe(nn.CTCLoss(reduction="sum")) == "CTCLoss(reduction='sum')"
    assert describe(nn.MSELoss()) == "MSELoss()"
    assert describe(nn.ReLU()) == "ReLU()"
    assert describe(nn.Dropout(0.2)) == "Dropout(p=0.2, inplace=False)"
