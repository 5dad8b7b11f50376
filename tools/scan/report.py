"""A scan as text for people and as JSON for programs."""

from __future__ import annotations

import json
import os
from collections import defaultdict
from typing import Any

from rich.console import Console
from rich.text import Text

from .namespace import DIFFERENT, MISSING, SUPPORTED, UNKNOWN
from .scanning import Finding, Scan

__all__ = ["as_json", "as_text"]

_TITLES = {
    MISSING: ("not supported", "red"),
    UNKNOWN: ("known only when the program runs", "magenta"),
    DIFFERENT: ("supported with a difference", "yellow"),
    SUPPORTED: ("supported", "green"),
}
_SHOWN_PLACES = 3


def _percent(part: int, whole: int) -> float:
    """Rounded down, so that 100 means all."""
    return int(1000 * part / whole) / 10 if whole else 100.0


def _places(findings: list[Finding], every: bool) -> str:
    """`file:line, line; file:line`, a `?` after a line that is ready for the name to be missing."""
    by_file: dict[str, list[str]] = defaultdict(list)
    shown = findings if every else findings[:_SHOWN_PLACES]
    for each in shown:
        mark = "?" if each.use.guarded and each.verdict.status == MISSING else ""
        line = f"{each.use.line}{mark}"
        file = os.path.relpath(each.file) + (f" cell {each.cell}" if each.cell else "")
        if line not in by_file[file]:
            by_file[file].append(line)
    text = "; ".join(f"{file}:{', '.join(at)}" for file, at in by_file.items())
    left = len(findings) - len(shown)
    return f"{text} and {left} more" if left else text


def _grouped(scan: Scan, status: str) -> dict[tuple[str, str], list[Finding]]:
    groups: dict[tuple[str, str], list[Finding]] = defaultdict(list)
    for each in scan.findings:
        if each.verdict.status == status:
            groups[each.verdict.name, each.verdict.reason].append(each)
    return dict(sorted(groups.items()))


def _section(scan: Scan, status: str, every: bool) -> Text | None:
    """A heading and, for each name, what there is to say and where it is used."""
    groups = _grouped(scan, status)
    if not groups:
        return None
    title, style = _TITLES[status]
    text = Text(f"{title}\n", style=style)
    for (name, reason), findings in groups.items():
        places = _places(findings, every)
        text.append(f"  {name}\n", style="bold" if reason else "none")
        if reason:
            text.append(f"      {reason}\n", style="none")
        text.append(f"      {places}\n", style="dim")
    return text


def _summary(scan: Scan) -> str:
    uses, all_uses = scan.share()
    names = [verdict.status for verdict in scan.names().values()]
    known = names.count(SUPPORTED) + names.count(DIFFERENT)
    lines = [
        f"{scan.files} files, {scan.lines} lines read",
        f"supported: {known} of {len(names)} names ({_percent(known, len(names)):.1f} %), "
        f"{uses} of {all_uses} uses ({_percent(uses, all_uses):.1f} %); "
        f"{names.count(DIFFERENT)} names with a difference",
    ]
    guarded = sum(f.verdict.status == MISSING and f.use.guarded for f in scan.findings)
    if guarded:
        lines.append(f"{guarded} uses of missing names are in branches that expect it (marked ?)")
    return "\n".join(lines)


def as_text(scan: Scan, console: Console, every: bool) -> None:
    """Print the scan; `every`: with supported names and all places."""
    shown = (MISSING, UNKNOWN, DIFFERENT, *([SUPPORTED] if every else []))
    for status in shown:
        section = _section(scan, status, every)
        if section is not None:
            console.print(section, soft_wrap=True)
    if scan.refused:
        console.print(Text("not read", style="bold red"))
        for path, why in sorted(scan.refused.items()):
            console.print(Text(f"  {os.path.relpath(path)}: {why}"), soft_wrap=True)
        console.print()
    console.print(Text(_summary(scan)), soft_wrap=True)


def as_json(scan: Scan) -> str:
    """The scan with every use."""
    uses, all_uses = scan.share()
    names = scan.names()
    known = sum(verdict.status in (SUPPORTED, DIFFERENT) for verdict in names.values())
    content: dict[str, Any] = {
        "format": 1,
        "files": scan.files,
        "lines": scan.lines,
        "names": {"supported": known, "all": len(names), "percent": _percent(known, len(names))},
        "uses": {"supported": uses, "all": all_uses, "percent": _percent(uses, all_uses)},
        "status": scan.status,
        "findings": [
            {
                "name": each.verdict.name,
                "status": each.verdict.status,
                "reason": each.verdict.reason,
                "file": each.file,
                **({"cell": each.cell} if each.cell else {}),
                "line": each.use.line,
                "column": each.use.column,
                "kind": each.use.kind,
                "guarded": each.use.guarded,
            }
            for each in scan.findings
        ],
        "not_read": scan.refused,
    }
    return json.dumps(content, indent=1)
