"""Lineage as rows: what each training was made of, and what it reached."""

from __future__ import annotations

from typing import Any

from ..reading.run import Run

__all__ = ["facts", "flat", "varying"]


def flat(value: Any, name: str = "", depth: int = 0) -> dict[str, Any]:
    """{"a.b": leaf} of nested dicts; lists are joined."""
    if isinstance(value, dict) and depth < 8:
        found: dict[str, Any] = {}
        for key, each in value.items():
            found |= flat(each, f"{name}.{key}" if name else str(key), depth + 1)
        return found
    if isinstance(value, list):
        return {name: ", ".join(map(str, value))}
    if isinstance(value, bool) or value is None:
        return {name: str(value)}
    return {name: value}


def facts(run: Run) -> dict[str, dict[str, Any]]:
    """What a run was made of, and its figures, by section.

    Returns:
        "parameters", "code", "data", "environment" and "metrics": a flat dict each.
    """
    with run.lock:
        held = dict(run.lineage)
        found = {
            section: flat(dict(held.get(section, {})))
            for section in ("parameters", "code", "environment")
        }
        data: dict[str, Any] = {}
        for each in held.get("data", []):
            for key, value in each.items():
                if key != "name" and value not in ("", None):
                    data[f"{each.get('name', 'data')} {key}"] = value
        found["data"] = flat(data)
    found["metrics"] = dict(run.metrics())
    return found


def varying(rows: list[dict[str, Any]]) -> list[str]:
    """The names of what differs between rows, or of all where there is one row."""
    names = list(dict.fromkeys(name for row in rows for name in row))
    if len(rows) < 2:
        return names
    return [name for name in names if len({str(row.get(name)) for row in rows}) > 1]
