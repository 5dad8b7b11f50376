"""The start: all trainings of the folder."""

from __future__ import annotations

import functools
from typing import Any

from nicegui import ui

from ..reading.run import Run
from .registry import page
from .view import View, duration, figure, moment

__all__ = ["build"]

_NAME = """<q-td :props="props">
<a :href="props.row.link" class="insight-link">{{ props.value }}</a></q-td>"""
_STATUS = """<q-td :props="props">
<span :class="props.row.bad ? 'insight-bad' : ''">{{ props.value }}</span></q-td>"""
_COLUMNS = (
    ("name", "training", True), ("status", "state", True), ("started", "started", True),
    ("took", "time", False), ("step", "step", True), ("pace", "steps/s", True),
    ("loss", "loss", True), ("metric", "further figures", False), ("problems", "files", False),
)  # fmt: skip

_NUMBERS = ("took", "step", "pace", "loss")
_STYLES = {
    **dict.fromkeys(("started", "took", "loss", "pace"), "white-space: nowrap"),
    "name": "min-width: 11rem", "problems": "min-width: 16rem",
}  # fmt: skip


def _loss(metrics: dict[str, float]) -> tuple[str, float | None]:
    tags = [tag for tag in metrics if "loss" in tag.lower()]
    tag = min(tags, key=lambda each: (each.lower() != "loss", len(each)), default="")
    return tag, metrics.get(tag)


def training_row(run: Run, link: str) -> dict[str, Any]:
    metrics = run.metrics()
    tag, loss = _loss(metrics)
    length = run.last_time - run.first_time
    wanted = [t for t in metrics if t != tag and any(w in t.lower() for w in ("acc", "metric/"))]
    problems = run.problems()
    return {
        "name": run.name, "link": link, "status": run.status,
        "bad": run.status == "failed" or bool(problems),
        "started": moment(run.first_time), "took": duration(length) if length else "",
        "step": run.last_step, "pace": round(run.last_step / length, 3) if length else None,
        "loss": None if loss is None else float(figure(float(loss))),
        "metric": ", ".join(f"{t} {figure(float(metrics[t]))}" for t in sorted(wanted)[:3]),
        "problems": "; ".join(problems) or "whole",
    }  # fmt: skip


@page("", "Trainings", "list", choice="none")
def build(view: View) -> None:
    """A table; those that are ticked are shown together."""
    words = ui.label().classes("insight-note").props('role="status"')
    columns = [
        {
            "name": name,
            "label": label,
            "field": name,
            "sortable": sortable,
            "align": "right" if name in _NUMBERS else "left",
            "style": _STYLES.get(name, ""),
        }
        for name, label, sortable in _COLUMNS
    ]
    with ui.element("div").classes("insight-row"):
        search = ui.input("search").props("dense outlined clearable debounce=300")

        def show(target: str) -> None:
            names = [row["name"] for row in table.selected]
            ui.navigate.to(view.address(target, names))

        for target in ("scalars", "lineage", "compare"):
            ui.button(
                f"{target.title()} of those ticked", on_click=functools.partial(show, target)
            ).props("outline no-caps")
    table = ui.table(
        columns=columns, rows=[], row_key="name", selection="multiple",
        pagination={"rowsPerPage": 25, "sortBy": "started", "descending": True},
    ).classes("insight-table").props("flat bordered dense")  # fmt: skip
    table.add_slot("body-cell-name", _NAME)
    table.add_slot("body-cell-status", _STATUS)
    table.add_slot("body-cell-problems", _STATUS)
    search.bind_value_to(table, "filter")

    def draw() -> None:
        runs = list(view.folder.runs.values())
        table.rows = [training_row(run, view.address("scalars", [run.name])) for run in runs]
        if view.folder.problem:
            words.text = view.folder.problem
        elif not runs:
            words.text = (
                "No training is here yet. `mindtorch run --insight script.py`, SummaryWriter, "
                "SummaryRecord and SummaryCollector write what is shown."
            )
        else:
            running = sum(run.status == "running" for run in runs)
            words.text = f"{len(runs)} trainings, {running} running"

    view.live(draw)
