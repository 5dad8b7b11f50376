"""The findings in a terminal, and as one page that needs no network."""

from __future__ import annotations

import html
import linecache
import math
from pathlib import Path

from rich.console import Console
from rich.text import Text

from mindtorch.kernels.support.atomic_file import write_whole

from .findings import CHECKS, Finding

__all__ = ["page", "print_findings", "sparkline", "write_page"]

_LEVELS = "▁▂▃▄▅▆▇█"
_WIDTH = 60
_STYLE = """
:root { color-scheme: light dark; }
body { font: 16px/1.5 system-ui, sans-serif; max-width: 60rem; margin: 2rem auto; padding: 0 1rem }
h2 { margin-bottom: 0 } pre { background: #8882; padding: .5rem; overflow: auto }
svg { width: 100%; height: 8rem; background: #8881 } polyline { fill: none; stroke: #36c;
stroke-width: 2; vector-effect: non-scaling-stroke } figcaption, .quiet { opacity: .75 }
figure { margin: 1rem 0 } @media (prefers-color-scheme: dark) { polyline { stroke: #8cf } }
"""


def _points(series: list[float]) -> list[float]:
    """A series of at most the width of a line; what is not finite is left out."""
    finite = [x for x in series if math.isfinite(x)]
    stride = -(-len(finite) // _WIDTH) or 1
    return finite[::stride]


def sparkline(series: list[float]) -> str:
    """A series as one line of blocks."""
    points = _points(series)
    if not points:
        return ""
    low, high = min(points), max(points)
    span = (high - low) or 1.0
    return "".join(_LEVELS[round((x - low) / span * (len(_LEVELS) - 1))] for x in points)


def _source(finding: Finding) -> str:
    return linecache.getline(finding.place.file, finding.place.line).strip()


def print_findings(findings: list[Finding], seen: str) -> None:
    """Show findings on standard output.

    Args:
        seen: how much was looked at.
    """
    console = Console(highlight=False, soft_wrap=True)
    for finding in findings:
        console.print(Text(f"{finding.check}: {CHECKS[finding.check]}", style="bold"))
        console.print(Text(f"    {finding.evidence}"))
        if finding.place.file:
            where = f", in {finding.place.layer}" if finding.place.layer else ""
            console.print(Text(f"    {finding.place.file}:{finding.place.line}{where}"))
            console.print(Text(f"        {_source(finding)}"))
        if finding.series:
            console.print(Text(f"    {sparkline(finding.series)}  {finding.title}"))
        console.print(Text(f"    {finding.advice}"))
    count = len(findings)
    said = "nothing was found" if not count else f"{count} finding{'s' * (count != 1)}"
    console.print(Text(f"mindtorch check: {said}; {seen}"))


def _plot(finding: Finding) -> str:
    points = _points(finding.series)
    if len(points) < 2:
        return ""
    low, high = min(points), max(points)
    span, last = (high - low) or 1.0, len(points) - 1
    line = " ".join(
        f"{100 * at / last:.2f},{95 - 90 * (x - low) / span:.2f}" for at, x in enumerate(points)
    )
    title = html.escape(f"{finding.title}: {low:.4g} to {high:.4g}")
    return (
        f'<figure><svg viewBox="0 0 100 100" preserveAspectRatio="none" role="img" '
        f'aria-label="{title}"><polyline points="{line}"/></svg>'
        f"<figcaption>{title}</figcaption></figure>"
    )


def page(script: str, findings: list[Finding], seen: str) -> str:
    """The report as HTML."""
    parts = []
    for finding in findings:
        place = f"{finding.place.file}:{finding.place.line}" if finding.place.file else ""
        parts.append(
            f"<section><h2>{html.escape(finding.check)}</h2>"
            f'<p class="quiet">{html.escape(CHECKS[finding.check])}</p>'
            f"<p>{html.escape(finding.evidence)}</p>"
            f"<pre>{html.escape(place)}\n    {html.escape(_source(finding))}</pre>"
            f"{_plot(finding)}<p>{html.escape(finding.advice)}</p></section>"
        )
    body = "".join(parts) or "<p>Nothing was found.</p>"
    title = html.escape(f"mindtorch check {script}")
    return (
        f'<!doctype html><html lang="en"><meta charset="utf-8"><title>{title}</title>'
        f'<meta name="viewport" content="width=device-width"><style>{_STYLE}</style>'
        f'<h1>{title}</h1><p class="quiet">{html.escape(seen)}</p>{body}</html>\n'
    )


def write_page(path: Path, script: str, findings: list[Finding], seen: str) -> None:
    """Write the report as HTML.

    Raises:
        OSError: it cannot be written.
    """
    write_whole(path, page(script, findings, seen))
