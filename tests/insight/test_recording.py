"""`mindtorch run --insight`: what is written of a training, and that nothing of it changes."""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

pytest.importorskip("google_crc32c")

from mindtorch import torch
from mindtorch.insight.reading.folder import RunFolder
from mindtorch.insight.reading.run import Run
from mindtorch.tools.insight.histograms import count
from mindtorch.tools.insight.module_trace import ModuleTrace
from mindtorch.tools.insight.recorder import Recorder
from mindtorch.tools.insight.script_facts import parsed_arguments
from mindtorch.torch import nn
from mindtorch.torch.nn import functional as F
from mindtorch.torch.utils.data import DataLoader, TensorDataset
from mindtorch.torch.utils.tensorboard import SummaryWriter
from tests.support.paths import ROOT


class Block(nn.Module):
    """A convolution beside which its input goes on."""

    def __init__(self) -> None:
        super().__init__()
        self.conv = nn.Conv2d(3, 3, 3, padding=1)
        self.norm = nn.BatchNorm2d(3)

    def forward(self, x: Any) -> Any:
        return F.relu(x + self.norm(self.conv(x)))


class Net(nn.Module):
    """Two blocks and a head."""

    def __init__(self) -> None:
        super().__init__()
        self.blocks = nn.Sequential(Block(), Block())
        self.head = nn.Linear(3, 2)

    def forward(self, x: Any) -> Any:
        return self.head(self.blocks(x).mean((2, 3)))


def train(steps: int = 5, writer: Any = None) -> list[float]:
    """The losses of a small training, and a last random number."""
    torch.manual_seed(0)
    net = Net()
    optimizer = torch.optim.SGD(net.parameters(), lr=0.1, momentum=0.9)
    data = TensorDataset(torch.randn(40, 3, 6, 6), torch.randint(0, 2, (40,)))
    loader = DataLoader(data, batch_size=8, shuffle=True)
    losses: list[float] = []
    while len(losses) < steps:
        for x, y in loader:
            optimizer.zero_grad()
            loss = F.cross_entropy(net(x), y)
            loss.backward()
            optimizer.step()
            losses.append(loss.item())
            if len(losses) == steps:
                break
        with torch.no_grad():
            for x, _ in loader:
                net(x)
        if writer is not None:
            writer.add_scalar("accuracy", 0.25 * len(losses), len(losses))
    return [*losses, torch.rand(()).item()]


def options(**more: Any) -> argparse.Namespace:
    given = {"insight_every": 2, "insight_ops": False, "arguments": ["--lr", "0.1"],
             "script": Path(__file__), **more}  # fmt: skip
    return argparse.Namespace(**given)


def recorded(folder: Path, call: Any, **more: Any) -> tuple[Any, Run]:
    """What a call returns while it is recorded, and the training that was read."""
    recorder = Recorder(folder / "run", options(**more))
    recorder.start()
    try:
        result = call()
    finally:
        recorder.end()
    found = RunFolder(folder)
    found.look()
    return result, found.runs["run"]


def test_a_training_is_recorded(tmp_path: Path) -> None:
    """Its losses, distributions, graph, samples, times and lineage; the same bits are computed."""
    expected = train(steps=6)
    writer = SummaryWriter(str(tmp_path / "own"))
    result, run = recorded(tmp_path, lambda: train(6, writer))
    assert result == expected
    assert [x.step for x in run.series("scalars", "loss")] == list(range(1, 7))
    assert [x.value for x in run.series("scalars", "loss")] == pytest.approx(expected[:6], 1e-6)
    steps = [1, 2, 4, 6]
    for tag in ("parameters/blocks.0.conv.weight", "gradients/head.bias"):
        assert [x.step for x in run.series("histograms", tag)] == steps
    assert run.series("histograms", "parameters/head.weight")[0].number == 6
    assert [x.value for x in run.series("scalars", "learning rate")] == pytest.approx([0.1] * 4)
    assert run.series("scalars", "gradient norm")[0].value > 0
    assert run.series("scalars", "script/accuracy")[-1][1:4:2] == (6, 1.5)
    assert [x.step for x in run.series("stored", "batch/0")] == steps
    assert "int64 [8]" in run.series("texts", "batch/1")[0].text
    assert {"data", "forward", "backward", "optimizer", "evaluation"} <= {
        name for step in run.steps.items for name in step.parts
    }
    assert run.status == "ended" and not run.problems()
    made = run.lineage
    assert made["parameters"]["optimizer"] == "SGD"
    assert (made["parameters"]["learning_rate"], made["parameters"]["lr"]) == (0.1, 0.1)
    assert made["data"][0]["size"] == 40 and made["data"][0]["batch size"] == 8
    assert len(made["code"]["sha256"]) == 64
    assert torch.Tensor.backward.__name__ == "backward"
    assert "add_scalar" not in SummaryWriter.add_scalar.__qualname__.split(".")[:1]


def test_the_graph_follows_the_data() -> None:
    """Modules are joined where a result goes from one to the other, through functions, too."""
    modules = {}
    net = Net()
    for at, module in enumerate(net.modules()):
        modules[module] = at
    trace = ModuleTrace(torch, modules)
    trace.start()
    net(torch.randn(2, 3, 4, 4)).sum().backward()
    with torch.no_grad():
        net(torch.randn(5, 3, 4, 4))
    trace.stop()
    rows = {row["path"]: row for row in trace.rows()}
    assert rows["Net/blocks/0/conv"]["inputs"] == ["input"]
    assert rows["Net/blocks/0/norm"]["inputs"] == ["Net/blocks/0/conv"]
    assert rows["Net/blocks/1/conv"]["inputs"] == ["Net/blocks/0"]
    assert rows["Net/head"]["inputs"] == ["Net/blocks/1"]
    assert rows["Net/head"]["shape"] == "2x2" and rows["Net/head"]["parameters"] == 8
    assert rows["Net"]["seconds"] >= rows["Net/head"]["seconds"] > 0
    assert not trace.calls["Net/head"].has_children


def test_operations_are_timed(tmp_path: Path) -> None:
    """In the steps that distributions are written of."""
    expected = train(4)
    result, run = recorded(tmp_path, lambda: train(4), insight_ops=True)
    assert result == expected
    rows = {row["name"]: row for row in run.operations["ops"]}
    assert "aten::convolution" in rows or any("conv" in name for name in rows)
    assert all(row["seconds"] >= row["self_seconds"] >= 0 for row in rows.values())


def test_a_fault_of_the_recording_ends_it_alone(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """A full disk, say; the training goes on, and it is told once."""

    def full(*given: Any, **named: Any) -> None:
        raise OSError("No space left on device")

    expected = train(4)
    recorder = Recorder(tmp_path / "run", options())
    recorder.start()
    monkeypatch.setattr(recorder.writer, "add_histogram_raw", full)
    assert train(4) == expected
    recorder.end()
    assert capsys.readouterr().err.count("No space left on device") == 1
    folder = RunFolder(tmp_path)
    folder.look()
    assert folder.runs["run"].status == "failed"


def test_two_optimizers_have_tags_of_their_own(tmp_path: Path) -> None:
    """The second one's end with its number."""

    def both() -> None:
        first, second = nn.Linear(2, 1), nn.Linear(2, 1)
        optimizers = [torch.optim.SGD(m.parameters(), lr=0.1) for m in (first, second)]
        for _ in range(2):
            for module, optimizer in zip((first, second), optimizers, strict=True):
                module(torch.ones(1, 2)).sum().backward()
                optimizer.step()

    _, run = recorded(tmp_path, both)
    assert {"loss", "loss/optimizer1", "gradient norm/optimizer1"} <= set(run.tags("scalars"))


def test_histograms_count_every_element() -> None:
    """Figures are of all, whatever the sizes; odd elements are told apart."""
    random = np.random.default_rng(0)
    array = random.standard_normal(1_000_003).astype(np.float32)
    found = count(array)
    assert found is not None
    exact = array.astype(np.float64)
    assert (found.least, found.most, found.number) == (exact.min(), exact.max(), array.size)
    assert found.total == pytest.approx(exact.sum(), rel=1e-9)
    assert found.squares == pytest.approx((exact**2).sum(), rel=1e-9)
    assert sum(found.counts) == pytest.approx(array.size)
    assert found.limits == sorted(found.limits) and found.limits[-1] == found.most
    shares = np.cumsum(found.counts) / array.size
    exactly = [float((array <= limit).mean()) for limit in found.limits]
    assert shares == pytest.approx(exactly, abs=0.005)
    odd = count(np.array([1.0, np.nan, np.inf, 3.0], np.float32))
    assert odd is not None and (odd.odd, odd.number, odd.total) == (2, 2, 4.0)
    assert count(np.array([np.nan])) is None and count(np.array([])) is None
    same = count(np.full(7, 2.5))
    assert same is not None and (same.limits, same.counts) == ([2.5], [7.0])


def test_arguments_are_hyperparameters() -> None:
    """In the forms that scripts have; secrets are left out."""
    given = ["--lr", "0.1", "--batch=8", "-n", "3", "data", "--amp", "--api-token", "x", "--low",
             "-1e-3"]  # fmt: skip
    assert parsed_arguments(given) == {
        "lr": 0.1, "batch": 8, "n": 3, "argument 1": "data", "amp": True, "api-token": "***",
        "low": -0.001,
    }  # fmt: skip


def test_the_command_records_and_exports(tmp_path: Path) -> None:
    """A script that fails is a failed training; `parse_summary` writes its scalars."""
    script = tmp_path / "train.py"
    script.write_text(
        "import torch\nw = torch.nn.Parameter(torch.ones(3))\n"
        "o = torch.optim.SGD([w], lr=0.5)\n"
        "for _ in range(3):\n    o.zero_grad(); (w ** 2).sum().backward(); o.step()\n"
        "raise ValueError('enough')\n"
    )

    def run(*arguments: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [sys.executable, "-m", "mindtorch", *arguments], cwd=tmp_path, text=True,
            capture_output=True, timeout=300, env={**os.environ, "PYTHONPATH": str(ROOT)},
        )  # fmt: skip

    done = run("run", "--insight", "--summary-dir", "out", "train.py", "--x=1")
    assert done.returncode == 1 and "ValueError: enough" in done.stderr
    folder = RunFolder(tmp_path / "out")
    folder.look()
    (found,) = folder.runs.values()
    assert found.status == "failed" and "enough" in str(found.end)
    assert [x.value for x in found.series("scalars", "loss")] == [3.0, 0.0, 0.0]
    assert found.lineage["parameters"]["x"] == 1
    done = run("insight", "parse_summary", "--summary-dir", "out", "--output", "tables")
    assert done.returncode == 0, done.stderr
    (table,) = (tmp_path / "tables").rglob("scalars.csv")
    assert "loss,1," in table.read_text()
    assert json.loads((found.folder / "insight.jsonl").read_text().splitlines()[0])["kind"]
