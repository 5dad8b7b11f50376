"""Files of trainings: three formats, while they grow, and when something is wrong with them."""

from __future__ import annotations

import json
import math
import os
import shutil
import struct
from pathlib import Path
from typing import Any

import numpy as np
import pytest

pytest.importorskip("google_crc32c")

import google_crc32c

from mindtorch import torch
from mindtorch.insight.reading.folder import RunFolder
from mindtorch.insight.reading.record_files import OutsideError, open_regular
from mindtorch.insight.reading.run import Run
from mindtorch.insight.reading.values import Histogram, Scalar, Series
from mindtorch.insight.run_file import RunFile
from mindtorch.torch.utils.tensorboard import SummaryWriter
from tests.support.insight_runs import EVIL, make_run
from tests.support.paths import ROOT

MINDSPORE = ROOT / "tests" / "golden" / "mindspore_summary"  # written by MindSpore 2.10.0


def looked(base: Path) -> RunFolder:
    folder = RunFolder(base)
    folder.look()
    return folder


def event_file(run: Path) -> Path:
    return next(run.glob("*tfevents*"))


def test_files_that_mindspore_wrote_are_read(tmp_path: Path) -> None:
    """SummaryRecord's values, SummaryCollector's, its graph and its lineage."""
    shutil.copytree(MINDSPORE, tmp_path, dirs_exist_ok=True)
    runs = looked(tmp_path).runs
    record, collector = runs["record"], runs["collector"]
    assert [(x.step, round(x.value, 6)) for x in record.series("scalars", "loss")] == [
        (1, 1.0), (2, 0.5), (3, 0.333333)
    ]  # fmt: skip
    histogram = record.series("histograms", "w")[0]
    assert (histogram.number, histogram.counts.sum()) == (50, 50)
    assert len(histogram.edges) == len(histogram.counts) + 1
    assert "[3. 4. 5.]" in record.series("texts", "t")[0].text
    picture = record.series("stored", "img")[0]
    assert record.content_of(picture).startswith(b"\x89PNG")
    assert [x.step for x in collector.series("scalars", "loss")] == [1, 2, 4, 6, 8]
    assert collector.lineage["parameters"]["optimizer"] == "SGD"
    assert collector.lineage["parameters"]["note"] == "a <b>run</b>"
    assert collector.lineage["parameters"]["learning_rate"] == 0.1
    assert collector.lineage["data"] == [{"name": "train", "path": "", "size": 12}]
    kinds = {node.kind for node in collector.graph.nodes.values()}
    assert {"Parameter", "Load", "AssignAdd"} <= kinds
    inner = [node for node in collector.graph.nodes.values() if node.inputs]
    assert all(source in collector.graph.nodes for node in inner for source in node.inputs)
    assert not record.problems() and not collector.problems()


def test_a_writers_values_are_read(tmp_path: Path) -> None:
    """Each of SummaryWriter's kinds that has a page."""
    writer = SummaryWriter(str(tmp_path / "run"))
    writer.add_scalar("old", 1.5, 1)
    writer.add_scalar("new", 2.5, 2, new_style=True)
    writer.add_histogram("weights", np.arange(10.0), 3)
    writer.add_image("picture", np.zeros((3, 4, 5)), 4)
    writer.add_audio("sound", np.zeros(100), 4, sample_rate=8000)
    writer.add_text("words", "some text", 5)
    writer.add_tensor("tensor", torch.arange(6), 6)
    writer.add_hparams({"lr": 0.5, "kind": "SGD"}, {"accuracy": 0.9}, run_name=".")
    writer.close()
    run = looked(tmp_path).runs["run"]
    assert run.series("scalars", "old")[0].value == 1.5
    assert run.series("scalars", "new")[0][1:2] == (2,)
    histogram = run.series("histograms", "weights")[0]
    assert (histogram.least, histogram.most, histogram.mean, histogram.number) == (0, 9, 4.5, 10)
    assert run.content_of(run.series("stored", "picture")[0]).startswith(b"\x89PNG")
    sound = run.series("stored", "sound")[0]
    assert sound.media == "audio/wav" and run.content_of(sound).startswith(b"RIFF")
    assert run.series("texts", "words")[0].text == "some text"
    assert "[0 1 2 3 4 5]" in run.series("texts", "tensor")[0].text
    assert run.lineage["parameters"] == {"lr": 0.5, "kind": "SGD"}
    assert run.metrics()["accuracy"] == pytest.approx(0.9)


def test_a_file_is_read_on_while_it_grows(tmp_path: Path) -> None:
    """A record is taken when it is whole; nothing is read twice."""
    make_run(tmp_path / "whole", steps=20)
    content = event_file(tmp_path / "whole").read_bytes()
    place = tmp_path / "growing" / "events.out.tfevents.1"
    place.parent.mkdir()
    folder = RunFolder(tmp_path)
    steps: list[int] = []
    for end in (10, len(content) // 3, len(content) // 3 + 1, len(content) // 2, len(content)):
        place.write_bytes(b"")  # the same file, longer
        with place.open("wb") as file:
            file.write(content[:end])
        folder.look()
        run = folder.runs["growing"]
        steps.append(len(run.series("scalars", "loss")))
        assert run.files[place.name].offset <= end
        assert not run.damage
    assert steps == sorted(steps) and steps[-1] == 20
    assert [x.step for x in folder.runs["growing"].series("scalars", "loss")] == list(range(1, 21))


def test_a_truncated_file_shows_what_there_is(tmp_path: Path) -> None:
    """The rest is told where the training has ended, and other trainings are whole."""
    make_run(tmp_path / "a")
    make_run(tmp_path / "b")
    path = event_file(tmp_path / "b")
    path.write_bytes(path.read_bytes()[: path.stat().st_size * 2 // 3])
    runs = looked(tmp_path).runs
    assert len(runs["a"].series("scalars", "loss")) == 60 and not runs["a"].problems()
    assert 20 < len(runs["b"].series("scalars", "loss")) < 60
    assert "no whole record" in runs["b"].problems()[0]


@pytest.mark.parametrize("where", ["length", "content"])
def test_damaged_records_are_told(where: str, tmp_path: Path) -> None:
    """A wrong checksum loses one record; a wrong length the rest of that file."""
    path = event_file(make_run(tmp_path / "run"))
    content = bytearray(path.read_bytes())
    first = struct.unpack("<Q", content[:8])[0]
    second = 16 + first
    at = second if where == "length" else second + 16
    content[at] ^= 0xFF
    path.write_bytes(content)
    run = looked(tmp_path).runs["run"]
    assert f"byte {second}" in run.problems()[0] or f"byte {second + 12}" in run.problems()[0]
    many = len(run.series("scalars", "accuracy"))
    assert many == (0 if where == "length" else 60)
    assert run.lineage["parameters"]["lr"] == 0.1  # of the other file


@pytest.mark.parametrize("seed", range(3))
def test_random_bytes_break_nothing(seed: int, tmp_path: Path) -> None:
    """Whole records of noise, in every kind of file, beside a good training."""
    random = np.random.default_rng(seed)
    make_run(tmp_path / "good", steps=5)
    bad = tmp_path / "bad"
    bad.mkdir()

    def masked(data: bytes) -> bytes:
        value = google_crc32c.value(data)
        return struct.pack("<I", ((value >> 15 | value << 17) + 0xA282EAD8) & 0xFFFFFFFF)

    for name in ("a.tfevents.1", "e.summary.1_MS", "e.summary.1_lineage"):
        records = b""
        for _ in range(60):
            data = random.bytes(int(random.integers(0, 60)))
            head = struct.pack("<Q", len(data))
            records += head + masked(head) + data + masked(data)
        (bad / name).write_bytes(records + random.bytes(7))
    lines = [
        b'{"kind":"step"}',
        b"[1]",
        b"\xff\xfe",
        b'{"kind":"graph","nodes":3}',
        b"{" * 5000,
        b'{"kind":"ops","step":"x","ops":[1]}',
        b'{"kind":"lineage","parameters":{"a":1}}',
    ]
    (bad / "insight.jsonl").write_bytes(b"\n".join(lines) + b"\n")
    folder = looked(tmp_path)
    folder.look()
    assert len(folder.runs["good"].series("scalars", "loss")) == 5
    assert folder.runs["bad"].problems()


def test_lines_after_a_bad_one_are_read(tmp_path: Path) -> None:
    """A record that lacks its fields is left out."""
    (tmp_path / "insight.jsonl").write_text(
        '{"kind":"step"}\n{"kind":"lineage","parameters":{"lr":1}}\n{"kind":"end","error":"x"}\n'
    )
    folder = looked(tmp_path)
    run = folder.runs["."]
    assert run.lineage["parameters"] == {"lr": 1}
    assert run.status == "failed" and run.problems()


def test_a_file_that_begins_anew_is_read_anew(tmp_path: Path) -> None:
    """A training that was started again under the same name."""
    make_run(tmp_path / "run", steps=30)
    folder = looked(tmp_path)
    path = event_file(tmp_path / "run")
    make_run(tmp_path / "other", number=1, steps=10)
    path.write_bytes(event_file(tmp_path / "other").read_bytes())
    folder.look()
    assert len(folder.runs["run"].series("scalars", "loss")) == 10


def test_links_are_not_followed(tmp_path: Path) -> None:
    """Neither folders nor files that lie elsewhere, nor pipes, which would block."""
    outside, base = tmp_path / "outside", tmp_path / "base"
    make_run(outside / "run")
    (base / "inner").mkdir(parents=True)
    (base / "link").symlink_to(outside, target_is_directory=True)
    (base / "inner" / event_file(outside / "run").name).symlink_to(event_file(outside / "run"))
    os.mkfifo(base / "inner" / "events.tfevents.pipe")
    folder = looked(base)
    assert set(folder.runs) <= {"inner"}
    if "inner" in folder.runs:
        assert not folder.runs["inner"].tags("scalars")
    for path in (base / "link" / "run" / "insight.jsonl", base / ".." / "outside" / "x",
                 base / "inner" / "events.tfevents.pipe",
                 base / "inner" / event_file(outside / "run").name):  # fmt: skip
        with pytest.raises(OutsideError):
            open_regular(path, base).close()


def test_reports_of_checks_are_found(tmp_path: Path) -> None:
    """compare's, certify's and verify's JSON, and a profiler's trace; other JSON is nobody's."""
    for name, content in _REPORTS.items():
        (tmp_path / name).mkdir()
        (tmp_path / name / "report.json").write_text(json.dumps(content))
    runs = looked(tmp_path).runs
    assert set(runs) == {"compare", "certify", "verify", "trace"}
    (found,) = runs["compare"].findings["report.json"]
    assert (found.verdict, found.good) == ("differs", False)
    assert any(EVIL in line for line in found.lines)
    assert runs["verify"].findings["report.json"][0].good
    assert "seed 3" in runs["certify"].findings["report.json"][0].lines[1]
    rows = {row["name"]: row for row in runs["trace"].operations["ops"]}
    assert rows["outer"]["self_seconds"] == pytest.approx(6e-6)
    assert rows["inner"]["calls"] == 2


_REPORTS: dict[str, Any] = {
    "compare": {
        "verdict": "differs", "words": ["at step 3"], "agree": False, "script": "train.py",
        "phases": {"forward": {"text": "conv1"}, "backward": None},
        "differences": [{"step": 3, "text": EVIL, "line": None}],
    },
    "certify": {"format": 1, "sha256": "ab", "allowed": [], "steps": [], "script": "t.py",
                "torch": "2.13.0", "seed": 3, "arguments": ["--x"]},
    "verify": {"format": 1, "agrees": True, "told": ["fine"], "steps": [{}, {}]},
    "trace": {"traceEvents": [
        {"ph": "X", "cat": "cpu_op", "name": "outer", "ts": 0, "dur": 10, "pid": 1, "tid": 1},
        {"ph": "X", "cat": "cpu_op", "name": "inner", "ts": 1, "dur": 3, "pid": 1, "tid": 1},
        {"ph": "X", "cat": "cpu_op", "name": "inner", "ts": 5, "dur": 1, "pid": 1, "tid": 1},
        {"ph": "X", "cat": "other", "name": "x", "ts": 5, "dur": 1, "pid": 1, "tid": 1},
    ]},
    "nobody": {"a": [1, 2]},
}  # fmt: skip


def test_our_own_files_hold_what_was_added(tmp_path: Path) -> None:
    """Numbers that JSON lacks become text; one writer's lines are whole."""
    file = RunFile(tmp_path / "run")
    file.add("lineage", parameters={"lr": math.inf, "shape": (1, 2), "net": object})
    file.add("step", step=3, parts={"data": 0.5})
    file.close()
    file.add("end")  # after close: nothing
    run = looked(tmp_path).runs["run"]
    assert run.lineage["parameters"]["lr"] == "inf"
    assert run.lineage["parameters"]["shape"] == [1, 2]
    assert run.steps.items[0].parts == {"data": 0.5}
    assert run.end is None


def test_series_keep_the_ends() -> None:
    """Of too many values every second is left out, as often as it takes; the last is there."""
    series = Series(10)
    for step in range(1, 1001):
        series.add(Scalar("x", step, 0.0, float(step)))
        assert series.items[-1].step == step
        assert len(series.items) <= 11
    steps = [each.step for each in series.items]
    assert steps[0] == 1 and steps == sorted(set(steps))
    assert max(np.diff(steps[:-1])) == min(np.diff(steps[:-1]))


def test_a_resumed_training_takes_the_place_of_what_it_makes_again() -> None:
    """Steps after the one that it went on from are of the past."""
    series = Series(100)
    for step in [*range(1, 11), *range(6, 9)]:
        series.add(Scalar("x", step, 0.0, 0.0))
    assert [each.step for each in series.items] == list(range(1, 9))


def test_quantiles_follow_the_counts() -> None:
    """Linear within buckets, the ends exact."""
    edges, counts = np.array([0.0, 1.0, 3.0]), np.array([2.0, 2.0])
    found = Histogram("x", 1, 0.0, edges, counts, 0.0, 3.0, 1.2, 1.0, 4)
    shares = np.array([0.0, 0.25, 0.5, 0.75, 1.0])
    assert found.quantiles(shares).tolist() == [0.0, 0.5, 1.0, 2.0, 3.0]


def test_a_folder_that_vanishes_is_told(tmp_path: Path) -> None:
    """The pages stay; trainings that were removed leave the list."""
    make_run(tmp_path / "base" / "run", steps=3)
    folder = looked(tmp_path / "base")
    shutil.rmtree(tmp_path / "base" / "run")
    folder.look()
    assert folder.runs == {}
    shutil.rmtree(tmp_path / "base")
    folder.look()
    assert "No such file" in folder.problem


def test_files_are_read_as_data_alone() -> None:
    """Nothing that could run what it reads is imported by the readers."""
    folder = ROOT / "mindtorch" / "insight"
    texts = [path.read_text() for path in folder.rglob("*.py")]
    assert len(texts) > 15
    for word in ("pickle", "eval(", "exec(", "yaml", "subprocess", "os.system"):
        assert not [text for text in texts if word in text.replace("unsafe-eval", "")], word
    assert isinstance(Run("x", folder, folder).tags("scalars"), list)
