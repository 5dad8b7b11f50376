"""How a training scales: the fastest plan of each kind for 1, 2, 4, ... processes, drawn."""

from __future__ import annotations

import html
import math
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from mindtorch.kernels.support.atomic_file import write_whole
from mindtorch.planning.costs import Plan, Planner
from mindtorch.planning.facts import Facts
from mindtorch.planning.link import Link

__all__ = ["Point", "curve_of", "write_curve"]

_COLORS = {"DDP": "#3366cc", "FSDP": "#dc3912", "TP": "#109618", "PP": "#990099"}
_DASHES = {"DDP": "", "FSDP": "6 3", "TP": "2 3", "PP": "9 3 2 3"}
_LEFT, _TOP, _WIDTH, _HEIGHT = 60, 30, 560, 300


@dataclass
class Point:
    """The fastest plan of a kind on a number of processes.

    Attributes:
        kind: "DDP", "FSDP", "TP" (with data parallel or without) or "PP" (the same).
        ranks: how many there are.
        efficiency: samples in a second, as a part of so many times what one process alone has.
        plan: the plan.
    """

    kind: str
    ranks: int
    efficiency: float
    plan: Plan


def _kind(plan: Plan) -> str:
    if plan.stages > 1:
        return "PP"
    if plan.cut > 1:
        return "TP"
    return "FSDP" if plan.sharded else "DDP"


def curve_of(
    facts: Facts, model: Any, link: Link, ranks: int, batch: int, limit: float | None = None,
    overlap: float = 0.0,
) -> list[Point]:  # fmt: skip
    """Points for 1, 2, 4, ... processes up to ``ranks``, with as many samples for each process.

    Args:
        facts, model, link, limit, overlap: as of :class:`.costs.Planner`.
        ranks: the largest number.
        batch: samples of a step for each process.
    """
    points = []
    alone = Planner(facts, model, link, 1, batch).plans()[0]
    for ranks_here in (2**k for k in range(int(math.log2(ranks)) + 1)):
        planner = Planner(facts, model, link, ranks_here, batch * ranks_here, limit, overlap)
        seen: set[str] = set()
        for plan in planner.plans():
            if plan.reason or _kind(plan) in seen:
                continue
            seen.add(_kind(plan))
            points.append(Point(_kind(plan), ranks_here, alone.seconds / plan.seconds, plan))
    return points


def _place(point: Point, ranks: int) -> tuple[float, float]:
    along = math.log2(point.ranks) / max(math.log2(ranks), 1)
    return _LEFT + along * _WIDTH, _TOP + (1 - min(point.efficiency, 1.1) / 1.1) * _HEIGHT


def _axes(ranks: int) -> list[str]:
    lines = []
    for part in range(0, 101, 20):
        y = _TOP + (1 - part / 110) * _HEIGHT
        lines.append(f'<path d="M{_LEFT} {y:.1f}h{_WIDTH}" stroke="#8886"/>'
                     f'<text x="{_LEFT - 8}" y="{y + 4:.1f}" text-anchor="end">{part} %</text>')
    steps = int(math.log2(ranks))
    for k in range(steps + 1):
        x = _LEFT + k / max(steps, 1) * _WIDTH
        lines.append(f'<text x="{x:.1f}" y="{_TOP + _HEIGHT + 18}" text-anchor="middle">'
                     f"{2**k}</text>")  # fmt: skip
    lines.append(f'<text x="{_LEFT + _WIDTH / 2}" y="{_TOP + _HEIGHT + 38}" text-anchor="middle">'
                 "processes</text>")  # fmt: skip
    return lines


def write_curve(path: Path, title: str, assumptions: list[str], points: list[Point]) -> None:
    """Draw the points into an SVG file: efficiency over the number of processes.

    Args:
        path: of the file.
        title: what is trained.
        assumptions: lines below the drawing.
        points: from :func:`curve_of`.
    """
    ranks = max((point.ranks for point in points), default=1)
    height = _TOP + _HEIGHT + 60 + 17 * len(assumptions)
    out = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 760 {height}" '
        'font-family="system-ui, sans-serif" font-size="13">',
        "<style>text { fill: #444 } @media (prefers-color-scheme: dark) { text { fill: #bbb } }"
        "</style>",
        f'<text x="{_LEFT}" y="18" font-size="15">{html.escape(title)}</text>',
        *_axes(ranks),
    ]
    for number, (kind, color) in enumerate(_COLORS.items()):
        own = [point for point in points if point.kind == kind]
        places = [_place(point, ranks) for point in own]
        line = " ".join(f"{x:.1f},{y:.1f}" for x, y in places)
        style = f'stroke="{color}" stroke-width="2" stroke-dasharray="{_DASHES[kind]}"'
        out.append(f'<polyline points="{line}" fill="none" {style}/>')
        for point, (x, y) in zip(own, places, strict=True):
            told = f"{point.plan.name}: {point.efficiency:.0%}"
            out.append(f'<circle cx="{x:.1f}" cy="{y:.1f}" r="3.5" fill="{color}"><title>'
                       f"{html.escape(told)}</title></circle>")  # fmt: skip
        y = _TOP + 20 + 22 * number
        words = {"TP": "TP, with DDP or FSDP", "PP": "PP, with DDP"}.get(kind, kind)
        x = _LEFT + _WIDTH + 12
        out.append(f'<path d="M{x} {y}h26" {style}/><text x="{x}" y="{y + 15}" font-size="11">'
                   f"{words}</text>")  # fmt: skip
    for number, line in enumerate(assumptions):
        y = _TOP + _HEIGHT + 62 + 17 * number
        out.append(f'<text x="{_LEFT}" y="{y}" font-size="12">{html.escape(line)}</text>')
    write_whole(path, "\n".join([*out, "</svg>", ""]).encode())
