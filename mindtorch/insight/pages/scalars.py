"""Scalars over steps or time, several trainings in one chart."""

from __future__ import annotations

from typing import Any

import numpy as np
from nicegui import ui

from .charts import Line, lines, smoothed, thinned
from .registry import page
from .view import Grid, View, figure

__all__ = ["ScalarCharts", "build"]

_POINTS = 4000  # of a chart


class ScalarCharts:
    """What a chart of scalars shows, by its settings."""

    def __init__(self, view: View) -> None:
        self.view = view
        self.weight = 0.6
        self.axis = "step"
        self.log = False

    def names(self) -> list[str]:
        """The tags of all trainings that are shown."""
        return sorted({tag for run in self.view.runs for tag in run.tags("scalars")})

    def chart(self, tag: str) -> tuple[dict[str, Any], list[tuple[str, str]]]:
        """The chart of a tag, and its last values in words, by colour."""
        given: list[Line] = []
        notes: list[tuple[str, str]] = []
        most = max(50, _POINTS // max(len(self.view.runs), 1))
        for run in self.view.runs:
            items = run.series("scalars", tag)
            if not items:
                continue
            y = np.array([each.value for each in items], float)
            x = self._places(items)
            color = self.view.color(run.name)
            if self.weight and len(y) > 2:
                given.append(Line(run.name, color, *thinned(x, y, most), faint=True))
                given.append(Line(run.name, color, *thinned(x, smoothed(y, self.weight), most)))
            else:
                given.append(Line(run.name, color, *thinned(x, y, most)))
            notes.append((color, _words(run.name, items, y)))
        names = {"step": "step", "minutes": "minutes since its start", "clock": "time of day"}
        options = lines(given, self.view.dark, names[self.axis], self.log, self.axis == "clock")
        return options, notes

    def _places(self, items: list[Any]) -> np.ndarray:
        if self.axis == "step":
            return np.array([each.step for each in items], float)
        times = np.array([each.time for each in items], float)
        return times * 1000 if self.axis == "clock" else (times - times[0]) / 60


def _words(name: str, items: list[Any], y: np.ndarray) -> str:
    words = f"{name}: {figure(float(y[-1]))} at step {items[-1].step}"
    finite = y[np.isfinite(y)]
    if finite.size:
        words += f", least {figure(float(finite.min()))}, most {figure(float(finite.max()))}"
    if finite.size < y.size:
        first = items[int(np.flatnonzero(~np.isfinite(y))[0])].step
        words += f"; {y.size - finite.size} are NaN or infinite, the first at step {first}"
    return words


@page("scalars", "Scalars", "show_chart", choice="many")
def build(view: View) -> None:
    """Charts with smoothing; the unsmoothed lines are behind, faint."""
    charts = ScalarCharts(view)

    def changed(name: str, value: Any) -> None:
        setattr(charts, name, value)
        view.draw()

    with ui.element("div").classes("insight-row"):
        ui.label("smoothing").props('aria-hidden="true"')
        with ui.element("div").props('role="group" aria-label="smoothing"'):
            ui.slider(
                min=0, max=0.99, step=0.01, value=charts.weight,
                on_change=lambda event: changed("weight", event.value),
            ).props("label").style("width: 12rem")  # fmt: skip
        ui.toggle(
            {"step": "steps", "minutes": "minutes", "clock": "clock"}, value="step",
            on_change=lambda event: changed("axis", event.value),
        ).props("no-caps dense")  # fmt: skip
        ui.switch("logarithmic", on_change=lambda event: changed("log", event.value))
    Grid(view, charts.names, charts.chart)
