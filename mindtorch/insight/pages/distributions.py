"""Distributions of parameters and gradients over time."""

from __future__ import annotations

from typing import Any

import numpy as np
from nicegui import ui

from ..reading.values import Histogram
from .charts import bands, heatmap, number
from .registry import page
from .view import Grid, View, figure, heading

__all__ = ["build"]

# those of a normal distribution at whole deviations from its middle, and the ends
_SHARES = np.array([0.0, 0.0668, 0.1587, 0.3085, 0.5, 0.6915, 0.8413, 0.9332, 1.0])
_NAMES = ("least", "6.7%", "15.9%", "30.9%", "middle", "69.1%", "84.1%", "93.3%", "most")
_ROWS, _SQUARES, _LABELS = 350, 3500, 30  # of the overview, which has a row for each pixel
_CELLS = 30


def _some(items: list[Any], most: int) -> list[Any]:
    """At most so many, evenly spread, the last included."""
    if len(items) <= most:
        return items
    return [items[round(at)] for at in np.linspace(0, len(items) - 1, most)]


def _size(item: Histogram) -> float | None:
    """The logarithm of the root of the mean square."""
    square = item.mean**2 + item.deviation**2
    return float(np.log10(square) / 2) if np.isfinite(square) and square > 0 else None


def _cells(items: list[Histogram]) -> tuple[list[int], list[str], list[list[Any]]]:
    """Shares of the elements in common buckets, over steps."""
    low = min(item.least for item in items)
    high = max(item.most for item in items)
    if not (np.isfinite(low) and np.isfinite(high)):
        return [], [], []
    edges = np.linspace(low, high if high > low else low + 1e-12, _CELLS + 1)
    cells: list[list[Any]] = []
    for at, item in enumerate(items):
        sums = np.concatenate([[0.0], np.cumsum(item.counts)])
        shares = np.diff(np.interp(edges, item.edges, sums)) / max(sums[-1], 1.0)
        cells += [[at, row, number(round(float(x), 4))] for row, x in enumerate(shares)]
    centers = (edges[1:] + edges[:-1]) / 2
    return [item.step for item in items], [f"{x:.3g}" for x in centers], cells


class DistributionCharts:
    def __init__(self, view: View) -> None:
        self.view = view
        self.form = "bands"

    def names(self) -> list[str]:
        return self.view.run.tags("histograms") if self.view.run else []

    def chart(self, tag: str) -> tuple[dict[str, Any], list[tuple[str, str]]]:
        items = self.view.run.series("histograms", tag) if self.view.run else []
        items = _some(items, 60)
        if not items:
            return bands([], [[]] * len(_SHARES), _NAMES, self.view.dark, ""), []
        last = items[-1]
        words = (
            f"step {last.step}: {last.number} elements, mean {figure(float(last.mean))}, "
            f"deviation {figure(float(last.deviation))}, {figure(float(last.least))} to "
            f"{figure(float(last.most))}"
        )
        odd = [item for item in items if item.odd]
        if odd:
            words += f"; {odd[-1].odd} NaN or infinite, the first time at step {odd[0].step}"
        if self.form == "shares":
            steps, rows, cells = _cells(items)
            return heatmap(steps, rows, cells, self.view.dark, words="share"), [("", words)]
        columns = np.array([item.quantiles(_SHARES) for item in items]).T
        options = bands(
            [item.step for item in items], columns.tolist(), _NAMES, self.view.dark,
            self.view.color(self.view.run.name if self.view.run else ""),
        )  # fmt: skip
        return options, [("", words)]

    def overview(self) -> tuple[dict[str, Any], int]:
        """Every tensor a row, in the model's order of names; how many rows there are."""
        run = self.view.run
        tags = self.names()
        shown = _some(tags, _ROWS)
        cells: list[list[Any]] = []
        steps: list[int] = []
        if run is not None:
            table = {tag: run.series("histograms", tag) for tag in shown}
            every = sorted({item.step for row in table.values() for item in row})
            steps = _some(every, max(8, _SQUARES // max(len(shown), 1)))
            places = {step: at for at, step in enumerate(steps)}
            for row, tag in enumerate(shown):
                for item in table[tag]:
                    if item.step in places and (size := _size(item)) is not None:
                        cells.append([places[item.step], row, round(size, 2)])
        options = heatmap(steps, shown, cells, self.view.dark, words="log10")
        options["yAxis"]["inverse"] = True
        options["yAxis"]["axisLabel"]["interval"] = max(0, -(-len(shown) // _LABELS) - 1)
        options["dataZoom"] = [
            {"type": "slider", "yAxisIndex": 0, "left": 4, "width": 14, "showDataShadow": False}
        ]
        options["grid"] |= {"left": 250}
        return options, len(tags)


@page("distributions", "Distributions", "equalizer")
def build(view: View) -> None:
    """All tensors at a glance, and one chart for each."""
    charts = DistributionCharts(view)
    heading("Size of all tensors: log10 of the root mean square")
    words = ui.label().classes("insight-note")
    overview = ui.echart({}).style("height: 420px; width: 100%")

    def draw() -> None:
        options, many = charts.overview()
        overview.options.clear()
        overview.options.update(options)
        overview.update()
        overview.visible = many > 0
        words.text = f"{many} tensors" + (f"; {_ROWS} of them are shown" if many > _ROWS else "")

    view.live(draw)
    heading("One by one")

    def changed(event: Any) -> None:
        charts.form = event.value
        view.draw()

    with ui.element("div").classes("insight-row"):
        ui.toggle(
            {"bands": "quantiles", "shares": "shares"}, value="bands", on_change=changed
        ).props("no-caps dense")
    Grid(view, charts.names, charts.chart)
