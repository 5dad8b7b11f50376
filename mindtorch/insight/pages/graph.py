"""The compute graph, folded by modules."""

from __future__ import annotations

from typing import Any

from nicegui import ui

from ..reading.values import Graph
from .graph_layout import Box, drawing, fold
from .registry import page
from .view import View, duration

__all__ = ["build"]

_MOST_DRAWN = 300
_ENDS = ("input", "output", "parameters", "constants")
_MOST_ROWS = 2000
_MOST_FOUND = 30
_LINK = """<q-td :props="props">
<a v-if="props.row.opens" href="#" class="insight-link"
 @click.prevent="$parent.$emit('open', props.row.path)">{{ props.value }}</a>
<span v-else>{{ props.value }}</span></q-td>"""
_EMIT = """(event) => {
  const box = event.target.closest('[data-box]');
  if (!box) return;
  if (event.type === 'keydown' && event.key !== 'Enter' && event.key !== ' ') return;
  event.preventDefault();
  emit(box.dataset.box);
}"""
_COLUMNS = (
    ("name", "name"), ("kind", "class or operation"), ("shape", "result"),
    ("parameters", "parameters"), ("nodes", "nodes"), ("time", "forward ms"),
)  # fmt: skip
_NUMBERS = ("parameters", "nodes", "time")


def _words(box: Box) -> str:
    parts = [box.kind] if box.kind != box.name else []
    if box.shape:
        parts.append(box.shape)
    if box.seconds is not None:
        parts.append(duration(box.seconds))
    return ", ".join(parts)


def _row(box: Box) -> dict[str, Any]:
    return {
        "path": box.path, "name": box.name, "kind": box.kind, "shape": box.shape,
        "parameters": box.parameters or None, "nodes": box.nodes,
        "time": None if box.seconds is None else round(box.seconds * 1e3, 4),
        "opens": box.nodes > 1,
    }  # fmt: skip


class _GraphPage:
    def __init__(self, view: View) -> None:
        self.view = view
        self.opened = ""
        self.depth = 1
        self.boxes: dict[str, Box] = {}
        self.shown: Any = None
        self.words = ui.label().classes("insight-note").props('role="status"')
        with ui.element("div").classes("insight-row"):
            self.trail = ui.element("nav").classes("insight-row").props('aria-label="open module"')
        with ui.element("div").classes("insight-row"):
            ui.label("levels")
            ui.toggle([1, 2, 3], value=1, on_change=self._deeper).props("dense")
            ui.input("find a module", on_change=self._find).props(
                "dense outlined clearable debounce=300"
            )
        self.found = ui.element("div").classes("insight-row")
        self.area = ui.html("", sanitize=False).classes("insight-graph")
        self.area.on("click", self._clicked, js_handler=_EMIT)
        self.area.on("keydown", self._clicked, js_handler=_EMIT)
        self.table = (
            ui.table(
                columns=[
                    {"name": name, "label": label, "field": name, "sortable": True,
                     "align": "right" if name in _NUMBERS else "left"}
                    for name, label in _COLUMNS
                ],
                rows=[], row_key="path", pagination=25,
            )
            .classes("insight-table")
            .props("flat bordered dense")
        )  # fmt: skip
        self.table.add_slot("body-cell-name", _LINK)
        self.table.on("open", lambda event: self.open(str(event.args)))
        view.live(self.draw)

    def _deeper(self, event: Any) -> None:
        self.depth = int(event.value)
        self.draw()

    def _clicked(self, event: Any) -> None:
        at = str(event.args)
        paths = list(self.boxes)
        if at.isdecimal() and int(at) < len(paths):
            self.open(paths[int(at)])

    def open(self, path: str) -> None:
        """Show what is in a module; a node's own box opens the module around it."""
        graph = self.view.run.graph if self.view.run else None
        if graph is None or (path and not any(x.startswith(f"{path}/") for x in graph.nodes)):
            path = path.rpartition("/")[0]
        self.opened = path
        self.draw()

    def _find(self, event: Any) -> None:
        self.found.clear()
        wanted = (event.value or "").lower()
        graph = self.view.run.graph if self.view.run else None
        if not wanted or graph is None:
            return
        paths = [path for path in list(graph.nodes) if wanted in path.lower()]
        with self.found:
            for path in paths[:_MOST_FOUND]:
                ui.button(path, on_click=lambda path=path: self.open(path)).props(
                    "flat dense no-caps"
                )
            ui.label(f"{len(paths)} found").classes("insight-note")

    def draw(self) -> None:
        run = self.view.run
        key = (run.name if run else "", run.graph.version if run else 0, self.opened, self.depth)
        if key == self.shown:
            return
        if self.shown is not None and key[0] != self.shown[0]:
            self.opened = ""
            key = (key[0], key[1], "", self.depth)
        if run is not None and (self.shown is None or key[0] != self.shown[0]):
            self._open_first(run.graph)
            key = (key[0], key[1], self.opened, self.depth)
        self.shown = key
        if run is None or not run.graph.nodes:
            self.boxes = {}
            self.words.text = (
                "no graph is recorded; `mindtorch run --insight`, SummaryWriter.add_graph and "
                "SummaryCollector write one"
            )
        else:
            self.boxes = fold(run.graph, self.opened, self.depth)
            self.words.text = f"{len(run.graph.nodes)} nodes, {len(self.boxes)} boxes here"
        if len(self.boxes) > _MOST_DRAWN:
            self.words.text += f"; more than {_MOST_DRAWN} are not drawn, the table has them"
            self.area.content = ""
        else:
            words = {path: _words(box) for path, box in self.boxes.items()}
            self.area.content = drawing(self.boxes, words) if self.boxes else ""
        inside = [box for box in self.boxes.values() if box.inside]
        self.table.rows = [_row(box) for box in inside[:_MOST_ROWS]]
        self._draw_trail()

    def _open_first(self, graph: Graph) -> None:
        """Begin within the model, where there is one alone."""
        for _ in range(5):
            boxes = [box for box in fold(graph, self.opened).values() if box.inside]
            opens = [box for box in boxes if box.nodes > 1 and box.path not in _ENDS]
            if len(opens) != 1 or any(b.nodes == 1 and b.path not in _ENDS for b in boxes):
                return
            self.opened = opens[0].path

    def _draw_trail(self) -> None:
        self.trail.clear()
        parts = self.opened.split("/") if self.opened else []
        with self.trail:
            for at in range(len(parts) + 1):
                path = "/".join(parts[:at])
                label = parts[at - 1] if at else "whole graph"
                ui.button(label, on_click=lambda path=path: self.open(path)).props(
                    "flat dense no-caps"
                )


@page("graph", "Graph", "account_tree")
def build(view: View) -> None:
    """Boxes of the open module; a click, or Enter, opens what is in one."""
    _GraphPage(view)
