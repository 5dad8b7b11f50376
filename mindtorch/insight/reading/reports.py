"""Files of JSON beside a training: results of compare, certify and verify, profilers' traces."""

from __future__ import annotations

from typing import Any

from .values import Finding

__all__ = ["findings_of", "operation_times"]

_MOST_LINES = 40
_MOST_EVENTS = 2_000_000


def findings_of(report: Any, name: str) -> list[Finding]:
    """What a report says; [] where it is none that is known."""
    if not isinstance(report, dict):
        return []
    if {"verdict", "words", "agree", "script"} <= report.keys():
        return [_compared(report, name)]
    if {"agrees", "told", "steps"} <= report.keys():
        return [_verified(report, name)]
    if {"format", "sha256", "allowed", "steps"} <= report.keys():
        return [_certificate(report, name)]
    return []


def _texts(values: Any) -> list[str]:
    lines = values.splitlines() if isinstance(values, str) else values
    return [str(each) for each in lines or []][:_MOST_LINES]


def _compared(report: dict[str, Any], name: str) -> Finding:
    lines = _texts(report["words"])
    for phase, difference in dict(report.get("phases") or {}).items():
        text = difference.get("text", "differs") if isinstance(difference, dict) else "agrees"
        lines.append(f"{phase}: {text}")
    for each in list(report.get("differences") or [])[:_MOST_LINES]:
        if isinstance(each, dict):
            place = each.get("line") or ""
            lines.append(f"step {each.get('step')}: {each.get('text')} {place}".strip())
    origin = f"compare, {report['script']} ({name})"
    return Finding(origin, str(report["verdict"]), bool(report["agree"]), lines)


def _verified(report: dict[str, Any], name: str) -> Finding:
    agrees = bool(report["agrees"])
    verdict = "agrees with PyTorch" if agrees else "differs from PyTorch"
    lines = [f"{len(report['steps'])} steps were checked", *_texts(report["told"])]
    return Finding(f"verify ({name})", verdict, agrees, lines)


def _certificate(report: dict[str, Any], name: str) -> Finding:
    arguments = " ".join(map(str, report.get("arguments") or []))
    lines = [
        f"script {report.get('script')} {arguments}".strip(),
        f"PyTorch {report.get('torch')}, seed {report.get('seed')}, {len(report['steps'])} steps",
        f"sha256 of the script {report['sha256']}",
    ]
    return Finding(f"certify ({name})", "certified", True, lines)


def operation_times(report: Any) -> list[dict[str, Any]]:
    """Times of operations in a profiler's trace (Chrome's format), the longest first.

    [] for what is no such trace.
    """
    events = report.get("traceEvents") if isinstance(report, dict) else None
    if not isinstance(events, list):
        return []
    lanes: dict[Any, list[tuple[float, float, str]]] = {}
    for each in events[:_MOST_EVENTS]:
        if not isinstance(each, dict) or each.get("ph") != "X" or each.get("cat") != "cpu_op":
            continue
        start, took = float(each["ts"]), float(each.get("dur", 0))
        lanes.setdefault((each.get("pid"), each.get("tid")), []).append(
            (start, took, str(each.get("name")))
        )
    rows: dict[str, dict[str, Any]] = {}
    for lane in lanes.values():
        _add_self_times(sorted(lane, key=lambda each: (each[0], -each[1])), rows)
    return sorted(rows.values(), key=lambda row: -row["self_seconds"])


def _add_self_times(lane: list[tuple[float, float, str]], rows: dict[str, dict[str, Any]]) -> None:
    """Sum up one thread's events; an event within another takes its time from that one's own."""
    open_events: list[tuple[float, dict[str, Any]]] = []
    for start, took, name in lane:
        seconds = took / 1e6
        row = rows.setdefault(name, {"name": name, "calls": 0, "seconds": 0.0, "self_seconds": 0.0})
        while open_events and open_events[-1][0] <= start:
            open_events.pop()
        if open_events:
            open_events[-1][1]["self_seconds"] -= seconds
        row["calls"] += 1
        row["seconds"] += seconds
        row["self_seconds"] += seconds
        open_events.append((start + took, row))
