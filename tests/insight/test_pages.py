"""What pages compute before anything is drawn: charts, folded graphs, rows of lineage."""

from __future__ import annotations

import html
import math
import re
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import numpy as np
import pytest

pytest.importorskip("nicegui")

from mindtorch.insight.pages import charts, compare, performance
from mindtorch.insight.pages.distributions import DistributionCharts as DistributionCharts
from mindtorch.insight.pages.graph_layout import drawing, fold
from mindtorch.insight.pages.lineage import LineageView
from mindtorch.insight.pages.lineage_rows import facts, flat, varying
from mindtorch.insight.pages.registry import PAGES
from mindtorch.insight.pages.scalars import ScalarCharts
from mindtorch.insight.pages.trainings import training_row
from mindtorch.insight.pages.view import View, duration
from mindtorch.insight.reading.folder import RunFolder
from mindtorch.insight.reading.values import Graph, Node
from tests.support.insight_runs import EVIL, make_run, module_rows


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> RunFolder:
    base: Path = tmp_path_factory.mktemp("pages")
    for number in range(3):
        make_run(base / f"run{number}", number, steps=30, extra_tag="diverges" if number else "")
    found = RunFolder(base)
    found.look()
    return found


def view_of(folder: RunFolder, page: str, *runs: str) -> View:
    chosen = next(each for each in PAGES if each.name == page)
    return View(folder, chosen, {"runs": "\n".join(runs)}, dark=False)


def test_smoothing_is_a_mean_without_its_first_bias() -> None:
    """sum of w^(n-k) x_k over sum of w^(n-k); NaN is passed over."""
    y = np.array([3.0, 1.0, math.nan, 5.0])
    found = charts.smoothed(y, 0.5)
    assert found[0] == 3.0
    assert found[1] == pytest.approx((3 * 0.5 + 1) / 1.5)
    assert math.isnan(found[2])
    assert found[3] == pytest.approx((3 * 0.25 + 1 * 0.5 + 5) / 1.75)
    assert charts.smoothed(y[:2], 0.0).tolist() == [3.0, 1.0]


def test_thinned_series_keep_their_extremes() -> None:
    """Spikes of a long series stay to be seen, and gaps break nothing."""
    x, y = np.arange(10_000.0), np.zeros(10_000)
    y[1234], y[7777], y[5000:5100] = 9.0, -9.0, math.nan
    few_x, few_y = charts.thinned(x, y, 200)
    assert len(few_x) <= 204 and few_x[0] == 0 and few_x[-1] == 9999
    assert (np.nanmax(few_y), np.nanmin(few_y)) == (9.0, -9.0)
    assert few_x[np.nanargmax(few_y)] == 1234
    same, _ = charts.thinned(x[:50], y[:50], 200)
    assert len(same) == 50


def test_scalars_of_several_trainings_share_a_chart(folder: RunFolder) -> None:
    """A line and a faint one for each; what is NaN is told in words."""
    found = ScalarCharts(view_of(folder, "scalars", "run0", "run1"))
    assert set(found.names()) == {"loss", "accuracy", "diverges"}
    options, notes = found.chart("loss")
    assert [each["name"] for each in options["series"]] == ["run0", "run0", "run1", "run1"]
    assert [color for color, _ in notes] == [charts.PALETTE[0], charts.PALETTE[1]]
    options, notes = found.chart("diverges")
    assert "15 are NaN or infinite, the first at step 16" in notes[0][1]
    assert options["series"][0]["data"][-1] == [30.0, None]
    found.axis, found.weight = "minutes", 0
    options, _ = found.chart("loss")
    assert len(options["series"]) == 2 and options["series"][0]["data"][0][0] == 0.0


def test_distributions_show_quantiles_and_shares(folder: RunFolder) -> None:
    """Quantiles do not cross; shares of a step add up to all; the overview has every tensor."""
    found = DistributionCharts(view_of(folder, "distributions", "run0"))
    options, (note,) = found.chart("parameters/layer0.0.weight")
    rows = np.array([[point[1] for point in s["data"]] for s in options["series"]])
    assert rows.shape == (9, 10) and (np.diff(rows, axis=0) >= 0).all()
    assert "200 elements" in note[1]
    found.form = "shares"
    options, _ = found.chart("parameters/layer0.0.weight")
    cells = np.array(options["series"][0]["data"])
    for column in range(10):
        assert cells[cells[:, 0] == column, 2].sum() == pytest.approx(1, abs=0.01)
    overview, many = found.overview()
    assert many == 4 and len(overview["series"][0]["data"]) == 40


def graph_of(rows: list[dict[str, Any]]) -> Graph:
    nodes = [
        Node(row["path"], row["kind"], row.get("inputs", []), row.get("shape", ""),
             row.get("seconds"), row.get("parameters", 0))
        for row in rows
    ]  # fmt: skip
    return Graph({node.path: node for node in nodes})


def test_a_graph_is_folded_by_modules() -> None:
    """Edges between nodes become edges of the boxes around them."""
    graph = graph_of(module_rows(3))
    whole = fold(graph)
    assert {path: list(box.inputs) for path, box in whole.items()} == {
        "layer0": [], "layer1": ["layer0"], "layer2": ["layer1"]
    }  # fmt: skip
    assert (whole["layer0"].kind, whole["layer0"].nodes) == ("Sequential", 17)
    assert whole["layer0"].parameters == 12 * 432
    inner = fold(graph, "layer1")
    assert [box.path for box in inner.values() if box.inside] == [f"layer1/{n}" for n in range(4)]
    assert {box.path for box in inner.values() if not box.inside} == {"layer0", "layer2"}
    assert inner["layer1/0"].inputs == {"layer0": None}
    deeper = fold(graph, "layer1", depth=2)
    assert "layer1/0/conv" in deeper and deeper["layer1/0/conv"].shape == "8x16x32x32"
    assert len(fold(graph, depth=3)) == 3 * 4 * 3 + 3 * 4 + 3


def test_a_thousand_modules_and_circles_are_laid_out() -> None:
    """Boxes do not lie on each other, and a graph that leads back to itself ends."""
    boxes = fold(graph_of(module_rows(60)), depth=2)
    text = drawing(boxes, {})
    corners = re.findall(r'<rect x="(\d+)" y="(\d+)"', text)
    assert len(corners) == len(set(corners)) == len(boxes) == 300
    rows = [
        {"path": "a", "kind": "x", "inputs": ["b"]},
        {"path": "b", "kind": "x", "inputs": ["a"]},
    ]
    assert drawing(fold(graph_of(rows)), {}).count("<rect") == 2


def test_a_drawing_escapes_what_it_shows() -> None:
    """Names, kinds and words are texts."""
    rows = [{"path": EVIL, "kind": EVIL}, {"path": f"{EVIL}2/x", "kind": '" onload="x'}]
    text = drawing(fold(graph_of(rows)), {EVIL: EVIL})
    assert "<img" not in text and 'onload="x' not in text
    assert html.escape(EVIL[:20]) in text


def test_lineage_has_what_differs(folder: RunFolder) -> None:
    """Columns that are the same in all trainings are left out; texts make categories."""
    lineage = LineageView(view_of(folder, "lineage"))
    lineage.load()
    assert lineage.metric == "accuracy"
    assert lineage.causes == ["lr", "optimizer"] and lineage.code == ["commit"]
    options = lineage.axes()
    assert [axis["name"] for axis in options["parallelAxis"]] == ["lr", "optimizer", "accuracy"]
    assert options["parallelAxis"][1]["data"] == ["Adam", "SGD"]
    values = [row["value"] for row in options["series"][0]["data"]]
    assert [value[:2] for value in values] == [[0.1, "SGD"], [0.03, "Adam"], [0.01, "SGD"]]
    columns, rows = lineage.table()
    assert [each["label"] for each in columns] == [
        "training", "accuracy", "lr", "optimizer", "commit"
    ]  # fmt: skip
    assert all(re.fullmatch(r"run|link|c\d+", key) for row in rows for key in row)


def test_facts_are_flat() -> None:
    """Nested settings get dots; lists are joined."""
    assert flat({"a": {"b": 1, "c": [1, "x"]}, "d": None}) == {"a.b": 1, "a.c": "1, x", "d": "None"}
    assert varying([{"a": 1, "b": 2}, {"a": 1, "b": 3, "c": 0}]) == ["b", "c"]
    assert varying([{"a": 1}]) == ["a"]


def test_two_trainings_are_compared(folder: RunFolder) -> None:
    """What differs comes first; figures with their distance."""
    first, second = folder.runs["run0"], folder.runs["run1"]
    made = compare.settings(first, second)
    assert [row["name"] for row in made if row["same"] == "differs"] == [
        "lr", "optimizer", "commit"
    ]  # fmt: skip
    assert made[0]["same"] == "differs" and made[-1]["same"] == "same"
    reached = {row["name"]: row for row in compare.results(first, second)}
    a, b = (facts(run)["metrics"]["loss"] for run in (first, second))
    assert float(reached["loss"]["apart"]) == pytest.approx(b - a, rel=1e-4)
    assert reached["diverges"]["a"] == ""


def test_long_trainings_have_few_bars(folder: RunFolder) -> None:
    """Neighbouring steps are averaged; a long first step does not press the others down."""
    labels, rows = performance.step_parts(folder.runs["run0"].steps)
    assert len(labels) == 30
    assert dict(rows)["backward"] == pytest.approx([20.0] * 30)
    long = [("forward", [1000.0] + [10.0] * 29)]
    options = charts.bars(labels, long, False)
    assert "1 s" in performance._cut(options, long)
    assert options["yAxis"]["max"] == 20.0
    assert performance._cut(charts.bars(labels, rows, False), rows) == ""


def test_the_list_tells_a_training_in_a_row(folder: RunFolder) -> None:
    """Its loss is the tag called so, its other figures those named like accuracies."""
    row = training_row(folder.runs["run0"], "./scalars")
    assert (row["status"], row["step"], row["problems"]) == ("ended", 30, "whole")
    assert row["loss"] == pytest.approx(folder.runs["run0"].metrics()["loss"], rel=1e-5)
    assert row["metric"].startswith("accuracy ")


def test_addresses_hold_the_choice(folder: RunFolder) -> None:
    """Names of any kind are one line each, so that a comma in one does no harm."""
    view = view_of(folder, "scalars", "run2", "no such run", "run0")
    assert view.chosen == ["run2", "run0"]
    assert view.address("graph") == "./graph?runs=run2%0Arun0"
    assert view_of(folder, "graph", "run2", "run0").chosen == ["run2"]
    assert len(view_of(folder, "scalars").chosen) == 3


def test_lengths_of_time_are_in_words() -> None:
    """From milliseconds to hours."""
    assert [duration(x) for x in (0.0123, 1.5, 119, 600, 7260)] == [
        "12.3 ms", "1.5 s", "119 s", "10 min", "2 h 1 min"
    ]  # fmt: skip


def test_a_page_is_drawn_again_only_when_something_was_read() -> None:
    folder = SimpleNamespace(runs={}, version=3)
    view = View(cast(RunFolder, folder), PAGES[0], {}, dark=False)
    drawn: list[int] = []
    view.live(lambda: drawn.append(folder.version))
    view.tick()
    assert drawn == [3]
    folder.version = 4
    view.tick()
    view.tick()
    assert drawn == [3, 4]
