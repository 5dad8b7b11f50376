"""The debugger's page in `mindtorch insight --enable-debugger`."""

from __future__ import annotations

import functools
import os
import sys
from collections.abc import Callable
from typing import Any

from nicegui import run, ui

from mindtorch.insight.pages import charts
from mindtorch.insight.pages.registry import page
from mindtorch.insight.pages.view import View, heading

from .conditions import CONDITIONS
from .hub import Hub, Training
from .protocol import TOKEN
from .terminal import figures, parse_watch, shape_of, values_text, watchpoint_words

__all__ = ["DebuggerPage", "register", "serve"]

_SECONDS = 1.0  # between two looks at the programs
_ROWS = 200


def register(hub: Hub) -> None:
    """Let the application have the page, for the programs that report to a hub."""

    @page("debugger", "Debugger", "bug_report", choice="none")
    def build(view: View) -> None:
        DebuggerPage(hub, view.dark).build()


def serve(port: int, pages: Callable[[], int]) -> int:
    """Listen for programs on loopback while `pages` serves; its exit status, 2 where that fails.

    Args:
        port: of the programs.
        pages: serves until a signal comes.
    """
    try:
        hub = Hub(port=port, token=os.environ.get(TOKEN, ""))
    except OSError as error:
        print(f"mindtorch insight: port {port}: {error.strerror or error}", file=sys.stderr)
        return 2
    register(hub)
    try:
        return pages()
    finally:
        hub.close()


def stop_words(stop: dict[str, Any]) -> str:
    """Where a program stands, in words."""
    place = f", {stop['file']}:{stop['line']}" if stop.get("file") else ""
    layer = f" in {stop['layer']}" if stop.get("layer") else ""
    return f"step {stop['step']}: {stop['reason']}{layer}{place}"


def histogram_options(found: dict[str, Any], dark: bool) -> dict[str, Any]:
    """The chart of a tensor's histogram."""
    edges = found["edges"]
    names = [f"{low:.3g}" for low in edges[:-1]]
    options = charts.base(dark)
    return options | {
        "xAxis": {"type": "category", "data": names}, "yAxis": {"type": "value"},
        "series": [{"type": "bar", "data": found["counts"]}], "tooltip": {"trigger": "axis"},
    }  # fmt: skip


class DebuggerPage:
    """One browser's view of the programs.

    Args:
        hub: where they report.
        dark: whether the page is dark.
    """

    def __init__(self, hub: Hub, dark: bool) -> None:
        self.hub = hub
        self.dark = dark
        self.rank: Training | None = None
        self._shown: Any = None
        self._tensors: list[str] = []

    # -- asking -----------------------------------------------------------------------------------

    async def ask(self, do: str, **arguments: Any) -> dict[str, Any] | None:
        """What the chosen program answers; an error is shown."""
        if self.rank is None:
            ui.notify("no program is there", type="warning")
            return None
        return self._checked(await run.io_bound(self.rank.ask, {"do": do, **arguments}))

    @staticmethod
    def _checked(found: dict[str, Any] | None) -> dict[str, Any] | None:
        if found is None:  # the server ends
            return None
        if "error" in found:
            ui.notify(str(found["error"]), type="negative")
            return None
        return found

    async def resume(self, do: str, **arguments: Any) -> None:
        """Let all programs that stand still go on."""
        self._checked(await run.io_bound(self.hub.resume, {"do": do, **arguments}))
        self.tick()

    async def change(self, do: str, **arguments: Any) -> None:
        """Change watchpoints or settings of all programs."""
        if await self.ask(do, **arguments) is None:
            return
        for each in self.hub.trainings:
            if each is not self.rank and each.state != "ended":
                each.tell({"do": do, **arguments})
        await self.show_watchpoints()

    # -- building ---------------------------------------------------------------------------------

    def build(self) -> None:
        """Put the elements in place."""
        where = f"{self.hub.host}:{self.hub.port}"
        ui.label(
            f"Programs report to {where}: ENABLE_MS_DEBUGGER=1 MS_DEBUGGER_PORT={self.hub.port} "
            "mindtorch run train.py"
        ).classes("insight-note")
        self.choice = ui.select({}, label="program", on_change=self._chosen).props(
            "dense outlined"
        ).style("min-width: 20rem")  # fmt: skip
        self.stand = ui.label().classes("insight-tag")
        self.source = ui.label().classes("insight-text")
        self._build_controls()
        self.hits = ui.element("div").classes("insight-main")
        heading("Watchpoints")
        self._build_watch()
        self.points = ui.element("div").classes("insight-main")
        heading("Tensors")
        self._build_tensors()
        ui.timer(_SECONDS, self.tick)
        self.tick()

    def _build_controls(self) -> None:
        with ui.element("div").classes("insight-row"):
            self.steps = ui.number("steps", value=1, min=1, format="%d").props("dense outlined")
            self._button("Step", lambda: self.resume("step", count=int(self.steps.value or 1)))
            self.node = ui.input("node", value="*").props("dense outlined")
            self._button("To node", lambda: self.resume("node", pattern=self.node.value or "*"))
            self._button("Continue", lambda: self.resume("continue"))
            self._button("Pause", self.pause)
            self._button("Recheck", self.recheck)
            self._button("Terminate", lambda: self.resume("terminate"))

    @staticmethod
    def _button(text: str, act: Callable[[], Any]) -> None:
        ui.button(text, on_click=act).props("dense outline no-caps")

    def _build_watch(self) -> None:
        with ui.element("div").classes("insight-row"):
            self.condition = ui.select(list(CONDITIONS), value="tensor_overflow", with_input=True,
                                       label="condition").props("dense outlined")  # fmt: skip
            self.words = ui.input("parameters", placeholder="max_gt=10 at conv*").props(
                "dense outlined"
            )
            self._button("Watch", self.watch)

    def _build_tensors(self) -> None:
        with ui.element("div").classes("insight-row"):
            self.pattern = ui.input("pattern", value="*").props("dense outlined")
            self._button("List", self.list_tensors)
            self.tensor = ui.select([], label="tensor", with_input=True).props(
                "dense outlined"
            ).style("min-width: 24rem")  # fmt: skip
            self.part = ui.input("slice", placeholder="[0, :, 2:5]").props("dense outlined")
            self._button("Show", self.show_tensor)
        self.detail = ui.element("div").classes("insight-main")

    # -- following the programs -------------------------------------------------------------------

    def _chosen(self, event: Any) -> None:
        if event.value is not None and event.value < len(self.hub.trainings):
            self.rank = self.hub.trainings[event.value]
            self._shown = None
            self.tick()

    def tick(self) -> None:
        """Show what has changed."""
        every = self.hub.trainings
        names = {
            at: f"rank {x.rank}, {x.facts.get('script')}, process {x.facts.get('pid')}: {x.state}"
            for at, x in enumerate(every)
        }
        if names != self.choice.options:
            self.choice.set_options(names, value=self.choice.value)
        if self.rank is None and every:
            stopped = [at for at, x in enumerate(every) if x.state == "stopped"]
            self.choice.value = (stopped or [len(every) - 1])[0]
        state = None if self.rank is None else (self.rank, self.rank.state, self.rank.stop)
        if state != self._shown:
            self._shown = state
            self._show_stop()

    def _show_stop(self) -> None:
        self.hits.clear()
        if self.rank is None:
            self.stand.text, self.source.text = "no program has reported yet", ""
            return
        stop = self.rank.stop
        if self.rank.state != "stopped" or stop is None:
            self.stand.text, self.source.text = self.rank.state, ""
            return
        self.stand.text, self.source.text = stop_words(stop), str(stop.get("source", ""))
        self._list_hits(stop.get("hits", []))

    def _list_hits(self, hits: list[dict[str, Any]]) -> None:
        self.hits.clear()
        with self.hits:
            for hit in hits[:_ROWS]:
                place = f" ({hit['file']}:{hit['line']})" if hit.get("file") else ""
                ui.label(f"step {hit['step']}: {hit['text']}{place}").classes("insight-bad")

    def pause(self) -> None:
        """Ask running programs to stop."""
        for each in self.hub.trainings:
            if each.state == "running":
                each.tell({"do": "pause"})

    async def recheck(self) -> None:
        """This step's tensors again."""
        found = await self.ask("recheck")
        if found is not None:
            self._list_hits(found["hits"])
            if not found["hits"]:
                ui.notify("nothing is met")

    async def watch(self) -> None:
        """A new watchpoint in all programs."""
        try:
            given = parse_watch(f"{self.condition.value} {self.words.value or ''}")
        except ValueError as error:
            ui.notify(str(error), type="negative")
            return
        await self.change("watch", **given)

    async def show_watchpoints(self) -> None:
        """List the watchpoints of the chosen program."""
        found = await self.ask("watchpoints")
        if found is None:
            return
        self.points.clear()
        with self.points:
            for each in found["watchpoints"]:
                with ui.element("div").classes("insight-row"):
                    ui.label(watchpoint_words(each))
                    number = each["number"]
                    self._button(
                        "Remove", functools.partial(self.change, "unwatch", number=number)
                    )

    async def list_tensors(self) -> None:
        """The names that fit the pattern."""
        found = await self.ask("tensors", pattern=self.pattern.value or "*")
        if found is not None:
            names = [each["tensor"] for each in found["tensors"]]
            self.tensor.set_options(names, value=names[0] if names else None)

    async def show_tensor(self) -> None:
        """Values, statistics, histogram and differences of the chosen tensor."""
        if not self.tensor.value:
            return
        found = await self.ask("tensor", name=self.tensor.value, part=self.part.value or "")
        if found is None:
            return
        self.detail.clear()
        with self.detail:
            heading(f"{found['tensor']} {shape_of(found)} {found['dtype']}")
            for line in tensor_lines(found):
                ui.label(line).classes("insight-text")
            if found.get("histogram", {}).get("counts"):
                with ui.element("div").classes("insight-card"):
                    ui.echart(histogram_options(found["histogram"], self.dark))


def tensor_lines(found: dict[str, Any]) -> list[str]:
    """What a tensor's reply says, a line each."""
    lines = [str(found["note"])] if "note" in found else []
    if "statistics" in found:
        lines.append(figures(found["statistics"]))
    for other, title in (("before", "the step before"), ("torch", "PyTorch")):
        if other in found:
            said = {x: y for x, y in found[other].items() if x != "statistics"}
            lines.append(f"against {title}: {figures(said)}")
    if "values" in found:
        lines.append(values_text(found))
    return lines
