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
_SHOWN_FILES = 20


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


def _by_name(scan: Scan) -> dict[str, list[Finding]]:
    """Each name with the uses that there is most to say of: it stands in one list only."""
    worst = {name: verdict.status for name, verdict in scan.names().items()}
    found: dict[str, list[Finding]] = defaultdict(list)
    for each in scan.findings:
        if each.verdict.status == worst[each.verdict.name]:
            found[each.verdict.name].append(each)
    return dict(sorted(found.items()))


def _section(scan: Scan, status: str, every: bool) -> Text | None:
    """A heading and, for each name, what there is to say and where it is used."""
    groups = {k: v for k, v in _by_name(scan).items() if v[0].verdict.status == status}
    if not groups:
        return None
    title, style = _TITLES[status]
    text = Text(f"{title}\n", style=style)
    for name, findings in groups.items():
        reasons = [x for x in dict.fromkeys(each.verdict.reason for each in findings) if x]
        text.append(f"  {name}\n", style="bold" if reasons else "none")
        for reason in reasons:
            text.append(f"      {reason}\n", style="none")
        text.append(f"      {_places(findings, every)}\n", style="dim")
    return text


def _files(scan: Scan, every: bool) -> Text | None:
    """A line for each file that there is something to say of: how many names, and of what kind."""
    uses: dict[str, list[Finding]] = defaultdict(list)
    for each in scan.findings:
        uses[each.file].append(each)
    said = {}
    for file, findings in uses.items():
        kinds = {each.verdict.name: each.verdict.status for each in findings
                 if each.verdict.status != SUPPORTED}  # fmt: skip
        if kinds:
            counts = [list(kinds.values()).count(x) for x in (MISSING, UNKNOWN, DIFFERENT)]
            said[file] = (counts, len({each.verdict.name for each in findings}))
    if not said or scan.files < 2:
        return None
    ranked = sorted(said.items(), key=lambda row: ([-n for n in row[1][0]], row[0]))
    shown = ranked if every else ranked[:_SHOWN_FILES]
    text = Text("files\n", style="bold")
    words = ("not supported", "known only at run time", "with a difference")
    for file, (counts, names) in shown:
        parts = ", ".join(f"{n} {word}" for n, word in zip(counts, words, strict=True) if n)
        text.append(f"  {os.path.relpath(file)}: {parts}, of {names} names\n", style="none")
    others = scan.files - len(shown)
    if len(ranked) > len(shown):
        text.append(f"  and {len(ranked) - len(shown)} more of such files\n", style="none")
        others = scan.files - len(ranked)
    if others:
        rest = f"{others} other file{'s' * (others != 1)}"
        text.append(f"  {rest}: all names are supported\n", style="none")
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


def as_text(scan: Scan, console: Console, every: bool, short: bool = False) -> None:
    """Print the scan; `every`: with supported names and all places; `short`: without names."""
    shown = (MISSING, UNKNOWN, DIFFERENT, *([SUPPORTED] if every else []))
    for status in () if short else shown:
        section = _section(scan, status, every)
        if section is not None:
            console.print(section, soft_wrap=True)
    files = _files(scan, every)
    if files is not None:
        console.print(files, soft_wrap=True)
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
