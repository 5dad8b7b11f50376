"""Two trainings side by side."""

from __future__ import annotations

from typing import Any

from nicegui import ui

from ..reading.run import Run
from .lineage_rows import facts
from .registry import page
from .scalars import ScalarCharts
from .view import Grid, View, figure, heading

__all__ = ["build"]

_MOST_LINES = 500


def settings(first: Run, second: Run) -> list[dict[str, Any]]:
    """Rows of what the two were made of, those that differ before the others."""
    left, right = facts(first), facts(second)
    rows: list[dict[str, Any]] = []
    for section in ("parameters", "data", "code", "environment"):
        for name in dict.fromkeys([*left[section], *right[section]]):
            a, b = left[section].get(name), right[section].get(name)
            rows.append({
                "id": len(rows), "section": section, "name": name,
                "a": "" if a is None else figure(a), "b": "" if b is None else figure(b),
                "same": "same" if str(a) == str(b) else "differs",
            })  # fmt: skip
    return sorted(rows, key=lambda row: row["same"] == "same")[:_MOST_LINES]


def results(first: Run, second: Run) -> list[dict[str, Any]]:
    """Rows of the last scalars and of the sizes of tensors that both have."""
    left, right = first.metrics(), second.metrics()
    for run, found in ((first, left), (second, right)):
        for tag in run.tags("histograms"):
            items = run.series("histograms", tag)
            found[f"deviation of {tag}"] = float(items[-1].deviation)
    rows: list[dict[str, Any]] = []
    for name in dict.fromkeys([*left, *right]):
        a, b = left.get(name), right.get(name)
        apart = None if a is None or b is None else b - a
        share = apart / abs(a) if apart is not None and a else None
        rows.append({
            "id": len(rows), "name": name, "a": "" if a is None else figure(float(a)),
            "b": "" if b is None else figure(float(b)),
            "apart": "" if apart is None else figure(float(apart)),
            "share": None if share is None else round(100 * share, 3),
        })  # fmt: skip
    return rows[:_MOST_LINES]


def _table(columns: tuple[tuple[str, str], ...]) -> ui.table:
    described = [
        {"name": name, "label": label, "field": name, "align": "left", "sortable": True}
        for name, label in columns
    ]
    table = ui.table(columns=described, rows=[], row_key="id", pagination=15)
    return table.classes("insight-table").props("flat bordered dense")


@page("compare", "Compare two", "compare_arrows", choice="none")
def build(view: View) -> None:
    """What differs in their making, in their figures, and their curves together."""
    names = sorted(view.folder.runs)
    view.chosen = (view.chosen + [name for name in names if name not in view.chosen])[:2]
    chosen = [*view.chosen, None, None][:2]

    def changed(at: int, value: Any) -> None:
        chosen[at] = value
        view.choose([name for name in chosen if name])

    with ui.element("div").classes("insight-row"):
        for at, label in enumerate(("first", "second")):
            ui.select(
                names, value=chosen[at], label=label, with_input=True,
                on_change=lambda event, at=at: changed(at, event.value),
            ).props("dense outlined").style("min-width: 18rem")  # fmt: skip
    words = ui.label().classes("insight-note").props('role="status"')
    heading("What they were made of")
    made = _table((("section", "of"), ("name", "name"), ("a", "first"), ("b", "second"),
                   ("same", "")))  # fmt: skip
    heading("What they reached")
    reached = _table((("name", "figure"), ("a", "first"), ("b", "second"),
                      ("apart", "second - first"), ("share", "in %")))  # fmt: skip

    def draw() -> None:
        if len(view.runs) < 2:
            words.text = "two trainings are needed"
            made.rows, reached.rows = [], []
            return
        first, second = view.runs[:2]
        made.rows, reached.rows = settings(first, second), results(first, second)
        differ = sum(row["same"] == "differs" for row in made.rows)
        words.text = f"{differ} of {len(made.rows)} settings differ"

    view.live(draw)
    heading("Curves")
    charts = ScalarCharts(view)
    Grid(view, charts.names, charts.chart)
