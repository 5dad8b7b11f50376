"""`insight.jsonl`: what event files have no message for, a line of JSON for each record.

Every record has a "kind": "lineage" (parameters, code, data, environment, metrics), "graph" (nodes
of modules), "step" (seconds by part), "ops" (times of operations), "text" and "end".
"""

from __future__ import annotations

import json
import math
import threading
import time
from pathlib import Path
from typing import Any

__all__ = ["FILE_NAME", "RunFile"]

FILE_NAME = "insight.jsonl"


def _plain(value: Any) -> Any:
    """JSON's own types: numbers that JSON lacks and other objects as text."""
    if isinstance(value, dict):
        return {str(key): _plain(each) for key, each in value.items()}
    if isinstance(value, (list, tuple)):
        return [_plain(each) for each in value]
    if isinstance(value, float) and not math.isfinite(value):
        return str(value)
    return value if isinstance(value, (str, int, float, bool, type(None))) else str(value)


class RunFile:
    """Appends records; each is written whole, so that a reader sees it or does not.

    Args:
        folder: made where it is missing.
    """

    def __init__(self, folder: str | Path) -> None:
        self.path = Path(folder) / FILE_NAME
        self.path.parent.mkdir(parents=True, exist_ok=True)
        self._file = self.path.open("ab", buffering=0)
        self._lock = threading.Lock()

    def add(self, kind: str, **content: Any) -> None:
        """Write a record.

        Args:
            kind: what it is.
            content: its fields: numbers, texts, lists and dicts; others are written as text.
        """
        record = {"kind": kind, "time": time.time(), **_plain(content)}
        line = json.dumps(record, separators=(",", ":")).encode() + b"\n"
        with self._lock:
            if not self._file.closed:
                self._file.write(line)

    def close(self) -> None:
        """Write nothing more."""
        with self._lock:
            self._file.close()
