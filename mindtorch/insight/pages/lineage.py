"""Lineage: which hyperparameters, data and code gave which figures."""

from __future__ import annotations

from typing import Any

from nicegui import ui

from .charts import parallel
from .lineage_rows import facts, varying
from .registry import page
from .view import MOST_CHOSEN, View, figure, heading

__all__ = ["build"]

_MOST_AXES = 12
_LOW, _HIGH = (86, 180, 233), (213, 94, 0)
_NAME = """<q-td :props="props"><a :href="props.row.link" class="insight-link">{{ props.value }}</a>
</q-td>"""


def _mixed(share: float | None) -> str:
    if share is None:
        return "#888888"
    red, green, blue = (round(a + (b - a) * share) for a, b in zip(_LOW, _HIGH, strict=True))
    return f"rgb({red},{green},{blue})"


def _shares(values: list[Any]) -> list[float | None]:
    """Each number's place between the least and the greatest."""
    held = [x for x in values if isinstance(x, (int, float)) and x == x and abs(x) != float("inf")]
    low, high = min(held, default=0), max(held, default=0)
    span = (high - low) or 1
    return [(x - low) / span if x in held else None for x in values]


class LineageView:
    """The rows, columns and axes of the trainings there are."""

    def __init__(self, view: View) -> None:
        self.view = view
        self.metric = ""
        self.every = True

    def load(self) -> None:
        chosen = self.view.folder.runs.values() if self.every else self.view.runs
        self.runs = sorted(chosen, key=lambda run: run.name)
        self.facts = [facts(run) for run in self.runs]
        self.metrics = sorted({tag for each in self.facts for tag in each["metrics"]})
        if self.metric not in self.metrics:
            wanted = [x for word in ("acc", "loss") for x in self.metrics if word in x.lower()]
            self.metric = next(iter([*wanted, *self.metrics]), "")
        made = [{**each["parameters"], **each["data"]} for each in self.facts]
        code = [
            {key: str(value)[:12] for key, value in each["code"].items()} for each in self.facts
        ]
        self.causes = sorted(
            varying(made), key=lambda name: -sum(name in row for row in made)
        )  # what most of them tell comes first
        self.code = varying(code)
        self.made = [a | b for a, b in zip(made, code, strict=True)]

    def axes(self) -> dict[str, Any]:
        told = [x for x in self.causes if sum(x in row for row in self.made) > 1]
        names = told[: _MOST_AXES - 1]
        last = [self.metric] if self.metric else []
        rows = []
        values = [each["metrics"].get(self.metric) for each in self.facts]
        for made, value in zip(self.made, values, strict=True):
            rows.append([*(made.get(name) for name in names), *([value] if last else [])])
        colors = [_mixed(share) for share in _shares(values)]
        labels = [run.name for run in self.runs]
        return parallel([*names, *last], rows, labels, colors, self.view.dark)

    def table(self) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
        """(columns, rows); columns are counted, their titles alone come from files."""
        names = [*([self.metric] if self.metric else []), *self.causes, *self.code]
        columns = [{"name": "run", "label": "training", "field": "run", "align": "left",
                    "sortable": True}]  # fmt: skip
        columns += [
            {"name": f"c{at}", "label": name, "field": f"c{at}", "align": "left", "sortable": True}
            for at, name in enumerate(names)
        ]
        rows = []
        for run, each, made in zip(self.runs, self.facts, self.made, strict=True):
            link = self.view.address("scalars", [run.name])
            row: dict[str, Any] = {"run": run.name, "link": link}
            values = made | {self.metric: each["metrics"].get(self.metric)}
            for at, name in enumerate(names):
                value = values.get(name)
                row[f"c{at}"] = float(figure(value)) if isinstance(value, float) else value
            rows.append(row)
        return columns, rows


@page("lineage", "Lineage", "schema", choice="many")
def build(view: View) -> None:
    """Parallel coordinates and a table; a stretch of an axis that is dragged over is filtered."""
    lineage = LineageView(view)
    lineage.every = not view.query.get("runs")
    lineage.load()
    with ui.element("div").classes("insight-row"):
        metric = ui.select(
            lineage.metrics, value=lineage.metric or None, label="figure", with_input=True
        ).props("dense outlined").style("min-width: 16rem")  # fmt: skip
        every = ui.switch("all trainings", value=lineage.every)
    words = ui.label().classes("insight-note")
    heading("Parallel coordinates")
    chart = ui.echart({}).style("height: 420px; width: 100%")
    heading("Table")
    with ui.element("div").classes("insight-row"):
        search = ui.input("search").props("dense outlined clearable debounce=300")
    table = ui.table(columns=[], rows=[], row_key="run", pagination=25)
    table.classes("insight-table").props("flat bordered dense")
    table.add_slot("body-cell-run", _NAME)
    search.bind_value_to(table, "filter")

    def draw() -> None:
        lineage.load()
        if metric.options != lineage.metrics:
            metric.set_options(lineage.metrics, value=lineage.metric or None)
        options = lineage.axes()
        chart.options.clear()
        chart.options.update(options)
        chart.update()
        chart.visible = len(options["parallelAxis"]) > 1 and bool(lineage.runs)
        table.columns, table.rows = lineage.table()
        same = "" if len(lineage.runs) < 2 else "; columns that are the same in all are left out"
        shown = "all" if lineage.every else f"at most {MOST_CHOSEN} chosen"
        words.text = f"{len(lineage.runs)} trainings ({shown}){same}"

    def changed(name: str, value: Any) -> None:
        if getattr(lineage, name) != value:
            setattr(lineage, name, value)
            draw()

    metric.on_value_change(lambda event: changed("metric", event.value))
    every.on_value_change(lambda event: changed("every", event.value))
    view.live(draw)
