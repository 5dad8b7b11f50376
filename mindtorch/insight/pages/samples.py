"""Samples of the data: pictures, sounds, texts and small tensors."""

from __future__ import annotations

from typing import Any
from urllib.parse import quote

from nicegui import ui

from .registry import page
from .view import View, heading

__all__ = ["build"]

_MOST_TAGS = 24


class _Sample:
    """One tag, at a step that a slider chooses."""

    def __init__(self, view: View, table: str, tag: str) -> None:
        self.view, self.table, self.tag = view, table, tag
        self.at: int | None = None  # None follows the newest
        self.last = 1
        with ui.element("section").classes("insight-card"):
            ui.label(tag).classes("insight-tag")
            self.words = ui.label().classes("insight-note")
            with ui.element("div").props('role="group"') as group:
                group.props["aria-label"] = f"step of {tag}"
                self.slider = ui.slider(min=0, max=1, value=1, on_change=self._moved)
                self.slider.props("markers snap")
            self.area = ui.element("div")
        self._shown: Any = None

    def _moved(self, event: Any) -> None:
        if event.value is not None:
            newest = event.value >= self.last
            self.at = None if newest else int(event.value)
            self.draw()

    def draw(self) -> None:
        run = self.view.run
        items = run.series(self.table, self.tag) if run else []
        if run is None or not items:
            return
        last = len(items) - 1
        if self.last != max(last, 1):
            self.last = max(last, 1)
            self.slider.props["max"] = self.last
        at = last if self.at is None else min(self.at, last)
        if self.at is None and self.slider.value != self.last:
            self.slider.value = self.last
        item = items[at]
        if item == self._shown:
            return
        self._shown = item
        self.area.clear()
        with self.area:
            if self.table == "texts":
                self.words.text = f"step {item.step}"
                ui.label(item.text).classes("insight-text")
                return
            self.words.text = f"step {item.step}, {item.words}"
            source = (
                f"./stored?run={quote(run.name, safe='')}&tag={quote(self.tag, safe='')}"
                f"&step={item.step}&time={item.time}"
            )
            sound = item.media.startswith("audio/")
            element = ui.element("audio" if sound else "img")
            if sound:
                element.props("controls")
            else:
                element.props["alt"] = f"{self.tag} at step {item.step}"
                element.style("width: 100%; max-width: 480px; image-rendering: pixelated")
            element.props["src"] = source


@page("samples", "Data samples", "image")
def build(view: View) -> None:
    """What the training was given, and what it wrote."""
    words = ui.label().classes("insight-note")
    area = ui.element("div")
    state: dict[str, Any] = {"tags": None, "samples": []}

    def draw() -> None:
        run = view.run
        tags = {table: run.tags(table) if run else [] for table in ("stored", "texts")}
        key = (run.name if run else "", {k: tuple(v) for k, v in tags.items()})
        if key != state["tags"]:
            state.update(tags=key, samples=[])
            area.clear()
            with area:
                for table, title in (("stored", "Pictures and sounds"), ("texts", "Texts")):
                    if not tags[table]:
                        continue
                    heading(title)
                    with ui.element("div").classes("insight-grid"):
                        state["samples"] += [
                            _Sample(view, table, tag) for tag in tags[table][:_MOST_TAGS]
                        ]
            many = sum(map(len, tags.values()))
            shown = len(state["samples"])
            words.text = f"{shown} of {many} tags" if many else "no samples are recorded"
        for sample in state["samples"]:
            sample.draw()

    view.live(draw)
