"""What every page has: the frame, the choice of trainings, and drawing again when files grow."""

from __future__ import annotations

import datetime
import html
import os
from collections.abc import Callable, Sequence
from typing import Any
from urllib.parse import quote

from nicegui import ui

from ..reading.folder import RunFolder
from ..reading.run import Run
from .charts import PALETTE
from .registry import PAGES, Page

__all__ = ["Grid", "View", "duration", "figure", "frame", "heading", "moment"]

MOST_CHOSEN = 20
FIRST_CHOSEN = 5
PER_SHEET = 12

_STYLE = """
body { font-family: system-ui, sans-serif; }
h1 { font-size: 1.4rem; margin: 0 0 .6rem; line-height: 1.3; font-weight: 600; }
h2 { font-size: 1.05rem; margin: 1rem 0 .3rem; line-height: 1.3; font-weight: 600; }
.insight-menu a { display: flex; gap: .6rem; align-items: center; padding: .5rem .8rem;
  color: inherit; text-decoration: none; border-radius: .3rem; }
.insight-menu a:hover, .insight-menu a[aria-current] { background: rgba(128,128,128,.18); }
.insight-menu a[aria-current] { font-weight: 600; }
a:focus-visible, button:focus-visible, [tabindex]:focus-visible, .q-focusable:focus-visible {
  outline: 2px solid #56b4e9; outline-offset: 2px; }
.insight-main { width: 100%; display: flex; flex-direction: column; gap: .6rem; }
.insight-legend span { display: inline-block; width: .8rem; height: .8rem; margin-right: .4rem;
  border-radius: 2px; vertical-align: -1px; }
.insight-row { display: flex; flex-wrap: wrap; gap: .8rem 1.2rem; align-items: center; width: 100%; }
.insight-grid { display: grid; grid-template-columns: repeat(auto-fill, minmax(min(420px, 100%), 1fr));
  gap: 1rem; width: 100%; }
.insight-card { border: 1px solid rgba(128,128,128,.35); border-radius: .4rem; padding: .6rem .8rem;
  min-width: 0; overflow: hidden; }
.insight-card .nicegui-echart { height: 240px; width: 100%; }
.insight-tag { font-weight: 600; overflow-wrap: anywhere; }
.insight-note { font-size: .85rem; opacity: .85; overflow-wrap: anywhere; white-space: pre-wrap; }
.insight-bad { color: #b3261e; } .body--dark .insight-bad { color: #ff8a80; }
.insight-text { white-space: pre-wrap; overflow-wrap: anywhere; font-family: monospace;
  max-height: 24rem; overflow: auto; }
.insight-table { width: 100%; } .insight-table td { overflow-wrap: anywhere; white-space: normal; }
.insight-table a, .insight-link { color: #0b5fae; } .body--dark .insight-table a,
.body--dark .insight-link { color: #82b7ff; }
.insight-graph { overflow: auto; max-height: 75vh; width: 100%; }
.insight-graph g[role=button] { cursor: pointer; }
.insight-graph text { fill: currentColor; font-size: 12px; }
.insight-graph .small { font-size: 10px; opacity: .8; }
.insight-graph g:focus-visible { outline: 2px solid #56b4e9; }
.body--dark .bg-primary, .body--dark .bg-primary * { color: #10233d !important; }
.insight-skip { position: absolute; left: -999px; }
.insight-skip:focus { left: 8px; top: 8px; z-index: 9999; background: #fff; color: #000; padding: 4px; }
"""  # noqa: E501
# The first visit takes the system's theme; charts need to know it when they are made.
_THEME = """<script>
if (!/(^|; )insight_theme=/.test(document.cookie)) {
  const dark = matchMedia('(prefers-color-scheme: dark)').matches;
  document.cookie = 'insight_theme=' + (dark ? 'dark' : 'light') + ';path=/;SameSite=Strict';
  if (dark && /insight_theme=/.test(document.cookie)) location.reload();
}
</script>"""


def moment(seconds: float) -> str:
    """A time in words; "" for 0."""
    if not seconds:
        return ""
    try:
        return datetime.datetime.fromtimestamp(seconds).strftime("%Y-%m-%d %H:%M:%S")
    except (ValueError, OverflowError, OSError):
        return "no date"


def duration(seconds: float) -> str:
    """A length of time in words."""
    if seconds < 1:
        return f"{seconds * 1000:.3g} ms"
    if seconds < 120:
        return f"{seconds:.3g} s"
    minutes = int(seconds // 60)
    return f"{minutes} min" if minutes < 120 else f"{minutes // 60} h {minutes % 60} min"


def figure(value: Any) -> str:
    """A number with six digits; texts as they are."""
    return f"{value:.6g}" if isinstance(value, float) else str(value)


def heading(text: str, level: int = 2) -> None:
    """A heading, as readers of screens expect it."""
    ui.html(f"<h{level}>{html.escape(text)}</h{level}>", sanitize=False)


class View:
    """A browser's window on the summary folder.

    Attributes:
        folder: the trainings.
        page: which page this is.
        dark: whether the page is dark.
        chosen: names of the trainings that are shown.
        query: what the address said.
    """

    def __init__(self, folder: RunFolder, page: Page, query: dict[str, str], dark: bool) -> None:
        self.folder, self.page, self.query, self.dark = folder, page, query, dark
        names = [name for name in query.get("runs", "").split("\n") if name in folder.runs]
        most = 1 if page.choice == "one" else MOST_CHOSEN
        self.asked = bool(names)
        self.chosen = names[:most] or self._newest()
        self._drawn: list[Callable[[], None]] = []
        self._links: list[tuple[Any, Page]] = []
        self._version = folder.version  # of what is drawn
        self.picker: Any = None

    def _newest(self) -> list[str]:
        runs = sorted(self.folder.runs.values(), key=lambda run: -run.last_write)
        return [run.name for run in runs[: 1 if self.page.choice == "one" else FIRST_CHOSEN]]

    @property
    def runs(self) -> list[Run]:
        """The chosen trainings that are there."""
        held = [self.folder.runs.get(name) for name in self.chosen]
        return [run for run in held if run is not None]

    @property
    def run(self) -> Run | None:
        """The chosen training."""
        return next(iter(self.runs), None)

    def color(self, name: str) -> str:
        """A training's colour, the same on all pages while no training is added."""
        names = sorted(self.folder.runs)
        return PALETTE[names.index(name) % len(PALETTE)] if name in names else PALETTE[0]

    def address(self, page: str, names: Sequence[str] | None = None) -> str:
        """A link to a page, with these trainings (or the chosen ones)."""
        chosen = self.chosen if names is None else names
        return f"./{page}?runs={quote(chr(10).join(chosen), safe='')}" if chosen else f"./{page}"

    def live(self, draw: Callable[[], None]) -> None:
        """Call `draw` now, when the choice changes, and when the files have grown."""
        self._drawn.append(draw)
        draw()

    def choose(self, names: Sequence[str]) -> None:
        """Show these trainings."""
        self.chosen = [name for name in names if name in self.folder.runs][:MOST_CHOSEN]
        self.asked = True
        ui.navigate.history.replace(self.address(self.page.name))
        for link, page in self._links:
            link.props["href"] = self.address(page.name)
            link.update()
        self.draw()

    def draw(self) -> None:
        """Draw everything that is live."""
        self._version = self.folder.version
        for draw in self._drawn:
            draw()

    def tick(self) -> None:
        """Draw where there is something new."""
        if self._version == self.folder.version:
            return
        if self.picker is not None:
            names = sorted(self.folder.runs)
            if names != self.picker.options:
                self.picker.set_options(names)
        if not self.asked and not self.runs:
            self.chosen = self._newest()
            if self.picker is not None:
                self.picker.value = self._picked()
        self.draw()

    def _picked(self) -> Any:
        if self.page.choice == "many":
            return self.chosen
        return self.chosen[0] if self.chosen else None

    def pick(self) -> None:
        """The field that chooses trainings."""
        if self.page.choice == "none":
            return

        def changed(event: Any) -> None:
            value = event.value
            names = value if isinstance(value, list) else [value] if value else []
            if names != self.chosen:
                self.choose(names)

        many = self.page.choice == "many"
        self.picker = (
            ui.select(
                sorted(self.folder.runs), value=self._picked(), multiple=many, with_input=True,
                label="trainings" if many else "training", on_change=changed,
            )
            .props("dense outlined use-chips" if many else "dense outlined")
            .style("min-width: 20rem; max-width: 100%")
        )  # fmt: skip


def frame(view: View) -> None:
    """The page: menu, choice of trainings, and what the page's function puts there."""
    ui.add_css(_STYLE)
    ui.add_head_html(_THEME)
    ui.dark_mode(view.dark)
    ui.page_title(f"{view.page.title} - mindtorch insight")
    ui.colors(primary="#82b7ff" if view.dark else "#0b5fae")
    drawer = ui.left_drawer(value=False, bordered=True)
    drawer.props("width=210 breakpoint=700 show-if-above")
    with drawer, ui.element("nav").classes("insight-menu").props('aria-label="Pages"'):
        for each in PAGES:
            with ui.element("a") as link:
                ui.icon(each.icon).props('aria-hidden="true"')
                ui.label(each.title)
            link.props["href"] = view.address(each.name)
            if each is view.page:
                link.props["aria-current"] = "page"
            view._links.append((link, each))
    with ui.header().classes("q-py-xs items-center").style("background: #1f3a5f"):
        skip = '<a class="insight-skip" href="#content">Skip to the content</a>'
        ui.html(skip, sanitize=False).style("position: absolute")
        ui.button(icon="menu", on_click=drawer.toggle).props(
            'flat dense color=white aria-label="Menu"'
        )
        ui.label("mindtorch insight").style("font-weight: 600; align-self: center")
        ui.space()
        base = os.fsencode(view.folder.base).decode("utf-8", "replace")
        ui.label(base).style("opacity: .85; font-size: .85rem; align-self: center")
        other = "light" if view.dark else "dark"
        script = (
            f"document.cookie = 'insight_theme={other};path=/;SameSite=Strict'; location.reload()"
        )
        ui.button(icon="contrast", on_click=lambda: ui.run_javascript(script)).props(
            f'flat dense color=white aria-label="{other} theme"'
        )
    with ui.element("main").props('id="content" tabindex="-1"').classes("insight-main"):
        heading(view.page.title, 1)
        view.pick()
        view.page.build(view)
    ui.timer(view.folder.interval, view.tick)


def _legend(rows: list[tuple[str, str]]) -> str:
    """Lines of text, each behind a square of its colour, which is one of ours."""
    parts = []
    for color, words in rows:
        square = f'<span style="background:{color}"></span>' if color else ""
        parts.append(f"<div>{square}{html.escape(words)}</div>")
    return "".join(parts)


class Grid:
    """Cards with a chart each, some to a sheet, made anew only when other ones are to be shown.

    Args:
        view: whose page it is.
        names: `names()` lists what may be shown.
        chart: `chart(name)` gives options, and lines below with their colours ("" for none).
    """

    def __init__(
        self, view: View, names: Callable[[], list[str]],
        chart: Callable[[str], tuple[dict[str, Any], list[tuple[str, str]]]],
    ) -> None:  # fmt: skip
        self.names, self.chart = names, chart
        self.filter = ""
        self.shown: list[str] | None = None
        self.cards: dict[str, tuple[Any, Any]] = {}
        with ui.element("div").classes("insight-row"):
            ui.input("filter", on_change=self._filtered).props(
                "dense outlined clearable debounce=300"
            )
            self.pages = ui.pagination(1, 1, direction_links=True, on_change=self.draw)
            self.pages.props("max-pages=7 boundary-numbers")
            self.words = ui.label().classes("insight-note").props('role="status"')
        self.area = ui.element("div").classes("insight-grid")
        view.live(self.draw)

    def _filtered(self, event: Any) -> None:
        self.filter = (event.value or "").lower()
        self.pages.value = 1
        self.draw()

    def draw(self) -> None:
        """Bring everything up to date."""
        every = [name for name in self.names() if self.filter in name.lower()]
        sheets = max(1, -(-len(every) // PER_SHEET))
        if self.pages.max != sheets:
            self.pages.max = sheets
        at = min(self.pages.value or 1, sheets)
        shown = every[(at - 1) * PER_SHEET : at * PER_SHEET]
        plural = "" if len(every) == 1 else "s"
        found = f"{len(every)} chart{plural}"
        self.words.text = found if every else "nothing is recorded that fits"
        if shown != self.shown:
            self.area.clear()
            self.cards, self.shown = {}, shown
        for name in shown:
            options, note = self.chart(name)
            if name in self.cards:
                chart, label = self.cards[name]
                chart.options.clear()
                chart.options.update(options)
                chart.update()
                label.content = _legend(note)
                continue
            with self.area, ui.element("section").classes("insight-card"):
                ui.label(name).classes("insight-tag")
                chart = ui.echart(options)
                label = ui.html(_legend(note), sanitize=False)
                label.classes("insight-note insight-legend")
            self.cards[name] = (chart, label)
