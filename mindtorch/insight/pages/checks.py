"""What checks found: compare, certify and verify, watchpoints."""

from __future__ import annotations

from typing import Any

from nicegui import ui

from .registry import page
from .view import View, heading

__all__ = ["build"]


@page("checks", "Checks", "fact_check", choice="many")
def build(view: View) -> None:
    """A card for each finding."""
    words = ui.label().classes("insight-note")
    area = ui.element("div")
    state: dict[str, Any] = {"shown": None}

    def draw() -> None:
        found = [
            (run.name, finding)
            for run in view.runs
            for each in list(run.findings.values())
            for finding in each
        ]
        if found == state["shown"]:
            return
        state["shown"] = found
        words.text = (
            f"{len(found)} found"
            if found
            else "nothing in these folders; `mindtorch compare --json FILE`, `certify -o FILE` and "
            "`verify --json > FILE` write what is shown"
        )
        area.clear()
        with area:
            for name in dict.fromkeys(each[0] for each in found):
                heading(name)
                with ui.element("div").classes("insight-grid"):
                    for owner, finding in found:
                        if owner == name:
                            _card(finding)

    view.live(draw)


def _card(finding: Any) -> None:
    with ui.element("section").classes("insight-card"):
        ui.label(finding.origin).classes("insight-tag")
        sign = "" if finding.good else "insight-bad"
        mark = "✓" if finding.good else "✗"
        ui.label(f"{mark} {finding.verdict}").classes(sign)
        ui.label("\n".join(finding.lines)).classes("insight-text")
