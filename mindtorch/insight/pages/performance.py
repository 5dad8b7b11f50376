"""Where the time goes: parts of steps, operations, modules."""

from __future__ import annotations

from typing import Any

import numpy as np
from nicegui import ui

from ..reading.run import Run
from ..reading.values import Series
from .charts import bars
from .registry import page
from .view import View, duration, heading

__all__ = ["build"]

_MOST_BARS = 120
_MOST_ROWS = 500
_LONGEST = 15
_OPERATION_COLUMNS = (
    ("name", "operation"), ("calls", "calls"), ("own", "own ms"), ("whole", "ms with those inside"),
    ("each", "own µs a call"), ("share", "share %"),
)  # fmt: skip
_MODULE_COLUMNS = (("name", "module"), ("kind", "class"), ("shape", "result"), ("time", "ms"))


def step_parts(steps: Series) -> tuple[list[str], list[tuple[str, list[float]]]]:
    """Milliseconds of each part by step; neighbours are averaged where there are many."""
    items = steps.items
    names = list(dict.fromkeys(name for item in items for name in item.parts))
    groups = np.array_split(np.arange(len(items)), min(len(items), _MOST_BARS)) if items else []
    labels = [str(items[group[0]].step) for group in groups]
    rows = [
        (name, [1e3 * float(np.mean([items[at].parts.get(name, 0.0) for at in group]))
                for group in groups])
        for name in names
    ]  # fmt: skip
    return labels, rows


def _cut(options: dict[str, Any], rows: list[tuple[str, list[float]]]) -> str:
    """Let long bars (the first step's) run out of the chart; says so."""
    totals = np.sum([row for _, row in rows], axis=0)
    usual = 2 * float(np.quantile(totals, 0.9))
    if totals.max() <= 1.5 * usual:
        return ""
    options["yAxis"]["max"] = float(f"{usual:.2g}")
    return f"the longest took {duration(totals.max() / 1e3)}, more than is shown"


def _average(rows: list[tuple[str, list[float]]]) -> list[dict[str, Any]]:
    means = {name: float(np.median(row)) for name, row in rows}
    total = sum(means.values()) or 1.0
    return [
        {"name": name, "time": duration(mean / 1e3), "share": f"{100 * mean / total:.1f} %"}
        for name, mean in means.items()
    ]


def _operations(run: Run) -> list[dict[str, Any]]:
    rows = []
    held = run.operations.get("ops", [])
    total = sum(float(row.get("self_seconds", 0)) for row in held) or 1.0
    for at, row in enumerate(held[:_MOST_ROWS]):
        own, calls = float(row.get("self_seconds", 0)), int(row.get("calls", 0))
        rows.append({
            "id": at, "name": str(row.get("name")), "calls": calls,
            "own": round(1e3 * own, 4), "whole": round(1e3 * float(row.get("seconds", 0)), 4),
            "each": round(1e6 * own / max(calls, 1), 2), "share": round(100 * own / total, 2),
        })  # fmt: skip
    return rows


def _modules(run: Run) -> list[dict[str, Any]]:
    timed = [node for node in list(run.graph.nodes.values()) if node.seconds is not None]
    timed.sort(key=lambda node: -(node.seconds or 0))
    return [
        {"id": at, "name": node.path, "kind": node.kind, "shape": node.shape,
         "time": round(1e3 * (node.seconds or 0), 4)}
        for at, node in enumerate(timed[:_MOST_ROWS])
    ]  # fmt: skip


def _table(columns: tuple[tuple[str, str], ...], key: str) -> ui.table:
    return (
        ui.table(
            columns=[
                {"name": name, "label": label, "field": name, "align": "left", "sortable": True}
                for name, label in columns
            ],
            rows=[], row_key=key, pagination=15,
        )
        .classes("insight-table")
        .props("flat bordered dense")
    )  # fmt: skip


@page("performance", "Step trace and op times", "timer")
def build(view: View) -> None:
    """Parts of steps as bars, operations and modules as tables."""
    heading("Step trace: milliseconds of each step")
    words = ui.label().classes("insight-note")
    trace = ui.echart({}).style("height: 300px; width: 100%")
    parts = _table((("name", "part"), ("time", "median"), ("share", "share")), "name")
    heading("Operations")
    origin = ui.label().classes("insight-note")
    chart = ui.echart({}).style("height: 380px; width: 100%")
    operations = _table(_OPERATION_COLUMNS, "id")
    heading("Modules, forward pass")
    modules = _table(_MODULE_COLUMNS, "id")

    def draw() -> None:
        run = view.run
        labels, rows = step_parts(run.steps) if run else ([], [])
        options = bars(labels, rows, view.dark, unit="ms")
        words.text = _cut(options, rows) if labels else "no times of steps are recorded"
        _show(trace, options, bool(labels))
        parts.rows = _average(rows) if labels else []
        found = _operations(run) if run else []
        operations.rows = found
        top = found[:_LONGEST]
        names, own = [row["name"] for row in top], [row["own"] for row in top]
        _show(chart, bars(names, [("own time", own)], view.dark, True, "ms"), bool(top))
        if run and found:
            step = run.operations["step"]
            told = f"step {step}" if step is not None else str(run.operations["source"])
            origin.text = f"of {told}"
        else:
            origin.text = (
                "no times of operations are recorded: `mindtorch run --insight --insight-ops`, or "
                "a profiler's trace (*.json) in the training's folder"
            )
        modules.rows = _modules(run) if run else []

    view.live(draw)


def _show(chart: Any, options: dict[str, Any], visible: bool) -> None:
    chart.options.clear()
    chart.options.update(options)
    chart.update()
    chart.visible = visible
