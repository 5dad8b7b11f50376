"""One training: what its files have said so far."""

from __future__ import annotations

import functools
import json
import os
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from google.protobuf.message import DecodeError

from ..run_file import FILE_NAME
from . import mindspore_events, tensorboard_events
from .record_files import RecordFile, open_regular, read_content
from .reports import findings_of, operation_times
from .values import Finding, Graph, Histogram, Node, Scalar, Series, StepTimes, Stored, Text

__all__ = ["Run", "kind_of_file"]

MOST = {Scalar: 5000, Histogram: 100, Stored: 50, Text: 50}
MOST_STEPS = 2000
_LIVE = 60.0  # seconds since the last byte
_LONGEST_LINE = 64 << 20
_LARGEST_REPORT = 64 << 20


def kind_of_file(name: str) -> str:
    """What a file of this name is read as; "" for nothing."""
    if name == FILE_NAME:
        return "lines"
    if "tfevents" in name:
        return "tensorboard"
    if ".summary." in name and name.endswith("_lineage"):
        return "mindspore lineage"
    if ".summary." in name and not name.endswith((".csv", ".json")):
        return "mindspore"
    if name.endswith(".json"):
        return "report"
    return ""


LARGEST_WHOLE = 2**53  # what a browser's numbers hold exactly


def plain(value: Any) -> Any:
    """JSON's values as pages can send them: whole numbers of a size that browsers know, texts
    without halves of characters."""
    if isinstance(value, dict):
        return {plain(str(key)): plain(each) for key, each in value.items()}
    if isinstance(value, list):
        return [plain(each) for each in value]
    if isinstance(value, str):
        return value.encode("utf-8", "replace").decode()
    if isinstance(value, int) and abs(value) > LARGEST_WHOLE:
        return f"{value:.6e}" if abs(value) < 10**300 else "a number beyond 1e300"
    return value


def _whole(value: Any) -> int:
    found = int(value)
    if abs(found) > LARGEST_WHOLE:
        raise ValueError(f"{found:.6e} is too large a number")
    return found


def _seconds(value: Any) -> float:
    found = float(value)
    if not 0 <= found < 1e15:
        raise ValueError(f"{found} is no length of time")
    return found


class Lines:
    """A growing file of lines of JSON; `damage` and `offset` as of a RecordFile."""

    def __init__(self, path: Path, base: Path) -> None:
        self.path, self.base, self.offset, self.damage = path, base, 0, ""

    def was_replaced(self) -> bool:
        try:
            replaced = os.stat(self.path, follow_symlinks=False).st_size < self.offset
        except OSError:
            return False
        if replaced:
            self.offset, self.damage = 0, ""
        return replaced

    def read(self) -> Iterator[dict[str, Any]]:
        with open_regular(self.path, self.base) as file:
            file.seek(self.offset)
            for line in iter(lambda: file.readline(_LONGEST_LINE), b""):
                if not line.endswith(b"\n"):
                    if len(line) >= _LONGEST_LINE:
                        self.damage = f"byte {self.offset}: the line is too long; reading ends"
                    return
                at, self.offset = self.offset, self.offset + len(line)
                try:
                    record = plain(json.loads(line))
                except (ValueError, RecursionError):
                    record = None
                if isinstance(record, dict):
                    yield record
                else:
                    self.damage = f"byte {at}: a line is no record and was left out"

    def unfinished(self) -> int:
        return 0


class Run:
    """What is known of one folder's training. Read by one thread, looked at by others.

    Attributes:
        name: the folder below the base, "." for the base itself.
        scalars, histograms, stored, texts: a Series for each tag.
        lineage: sections of what the training was made of.
        steps, operations: the last times that were written.
        findings: of checks, by file.
        version: rises with everything that is read.
        damage: by file, what could not be read.
    """

    def __init__(self, name: str, folder: Path, base: Path) -> None:
        self.name, self.folder, self.base = name, folder, base
        self.lock = threading.Lock()
        self.version = 0
        self.files: dict[str, Any] = {}
        self.kinds: dict[str, str] = {}
        self.damage: dict[str, str] = {}
        self.last_write = 0.0
        self.reading = True
        self._reports: dict[str, tuple[int, int]] = {}
        self._forget()

    def _forget(self) -> None:
        self.scalars: dict[str, Series] = {}
        self.histograms: dict[str, Series] = {}
        self.stored: dict[str, Series] = {}
        self.texts: dict[str, Series] = {}
        self.graph = Graph()
        self.lineage: dict[str, Any] = {}
        self.steps: Series = Series(MOST_STEPS)
        self.operations: dict[str, Any] = {}
        self.findings: dict[str, list[Finding]] = {}
        self.end: dict[str, Any] | None = None
        self.first_time = self.last_time = 0.0
        self.last_step = 0
        self._reports = {}

    # --- reading -----------------------------------------------------------------------------

    def read(self, names: dict[str, str]) -> None:
        """Take in what the files of these names (and kinds) have got since the last time."""
        for name, kind in names.items():
            if name not in self.files and kind != "report":
                path = self.folder / name
                self.files[name] = (Lines if kind == "lines" else RecordFile)(path, self.base)
                self.kinds[name] = kind
        if any(file.was_replaced() for file in self.files.values()):
            for file in self.files.values():
                file.offset, file.damage = 0, ""
            with self.lock:
                self._forget()
        for name, file in list(self.files.items()):
            self._guarded(name, functools.partial(self._read_file, name, file))
        for name, kind in names.items():
            if kind == "report":
                self._guarded(name, functools.partial(self._read_report, name))
        self.reading = False

    def _guarded(self, name: str, read: Callable[[], None]) -> None:
        """One bad file does not keep the others from being read."""
        try:
            read()
        except FileNotFoundError:
            self._note(name, "the file is gone")
        except Exception as error:  # whatever is in other people's files
            self._note(name, f"{type(error).__name__}: {error}"[:500])

    def _note(self, name: str, words: str) -> None:
        if words and self.damage.get(name) != words:
            self.damage[name] = words
            self.version += 1

    def _read_file(self, name: str, file: Any) -> None:
        before = file.offset
        kind = self.kinds[name]
        for record in file.read():
            if kind == "lines":
                values: Any = [record]
            else:
                place, content = record
                values = self._decoded(name, kind, content, file.path, place)
            with self.lock:
                for value in values:
                    try:
                        self._take(value)
                    except (LookupError, TypeError, ValueError, AttributeError) as error:
                        self._note(name, f"a record was left out: {error!r}"[:300])
        self._note(name, file.damage)
        if file.offset != before:
            self.version += 1
        with open_regular(file.path, self.base) as opened:
            self.last_write = max(self.last_write, os.fstat(opened.fileno()).st_mtime)

    def _decoded(self, name: str, kind: str, content: bytes, path: Path, place: int) -> list[Any]:
        try:
            if kind == "mindspore lineage":
                return list(mindspore_events.lineage_of(content))
            module = tensorboard_events if kind == "tensorboard" else mindspore_events
            return list(module.values_of(content, path, place))
        except (DecodeError, ValueError) as error:
            self._note(name, f"byte {place}: {error}"[:300])
            return []

    def _read_report(self, name: str) -> None:
        path = self.folder / name
        with open_regular(path, self.base) as file:
            found = os.fstat(file.fileno())
            stamp = (found.st_size, found.st_mtime_ns)
            if self._reports.get(name) == stamp:
                return
            self._reports[name] = stamp
            if found.st_size > _LARGEST_REPORT:
                self._note(name, f"{found.st_size} bytes are too many to be read")
                return
            content = file.read()
        try:
            report = plain(json.loads(content))
        except (ValueError, RecursionError):
            return  # somebody's own file, or one that is being written
        with self.lock:
            times = operation_times(report)
            if times:
                self.operations = {"step": None, "source": name, "ops": times}
            found_here = findings_of(report, name)
            if found_here:
                self.findings[name] = found_here
        self.version += 1

    def _take(self, value: Any) -> None:
        if isinstance(value, dict):
            self._take_record(value)
            return
        if isinstance(value, Graph):
            value.version = self.graph.version + 1
            self.graph = value
            return
        table: dict[str, Series]
        if isinstance(value, Scalar):
            table = self.scalars
        elif isinstance(value, Histogram):
            table = self.histograms
        else:
            table = self.stored if isinstance(value, Stored) else self.texts
        series = table.get(value.tag)
        if series is None:
            series = table[value.tag] = Series(MOST[type(value)])
        series.add(value)
        self._seen(value.step, value.time)

    def _seen(self, step: int, when: float) -> None:
        self.first_time = min(self.first_time or when, when)
        self.last_time = max(self.last_time, when)
        self.last_step = max(self.last_step, step)

    def _take_record(self, record: dict[str, Any]) -> None:
        kind = record.get("kind")
        if kind == "lineage":
            for section, content in record.items():
                if isinstance(content, dict):
                    held = self.lineage.setdefault(section, {})
                    held.update({str(k): v for k, v in content.items()})
                elif isinstance(content, list):
                    held = self.lineage.setdefault(section, [])
                    held += [x for x in content if isinstance(x, dict) and x not in held]
        elif kind == "step":
            parts = {str(k): _seconds(v) for k, v in record["parts"].items()}
            self.steps.add(StepTimes(_whole(record["step"]), parts))
        elif kind == "ops":
            rows = [
                {"name": str(row["name"]), "calls": _whole(row["calls"]),
                 "seconds": _seconds(row["seconds"]), "self_seconds": _seconds(row["self_seconds"])}
                for row in record["ops"]
            ]  # fmt: skip
            self.operations = {"step": _whole(record["step"]), "source": FILE_NAME, "ops": rows}
        elif kind == "graph":
            self.graph = Graph(_nodes(record["nodes"]), self.graph.version + 1)
        elif kind == "finding":
            lines = [str(line) for line in record["lines"]]
            found = Finding(
                str(record["origin"]), str(record["verdict"]), bool(record["good"]), lines
            )
            self.findings.setdefault(FILE_NAME, []).append(found)
        elif kind == "end":
            self.end = record
        when = record.get("time")
        if isinstance(when, float) and kind in ("lineage", "end"):
            self._seen(0, when)

    # --- looking -----------------------------------------------------------------------------

    @property
    def status(self) -> str:
        """ "reading", "running", "ended", "failed", or "quiet": no end, but nothing is written."""
        if self.reading:
            return "reading"
        if self.end is not None:
            return "failed" if self.end.get("error") else "ended"
        return "running" if time.time() - self.last_write < _LIVE else "quiet"

    def problems(self) -> list[str]:
        """What is wrong with the files."""
        found = [f"{name}: {words}" for name, words in sorted(self.damage.items())]
        if self.status in ("quiet", "ended", "failed"):
            for name, file in self.files.items():
                if (left := file.unfinished()) and name not in self.damage:
                    found.append(f"{name}: the last {left} bytes are no whole record")
        return found

    def series(self, table: str, tag: str) -> list[Any]:
        """The values of a tag, by step; [] where there are none."""
        with self.lock:
            held = getattr(self, table).get(tag)
            return held.items if held is not None else []

    def tags(self, table: str) -> list[str]:
        """The tags of "scalars", "histograms", "stored" or "texts", as they were first written."""
        with self.lock:
            return list(getattr(self, table))

    def metrics(self) -> dict[str, float]:
        """The last value of each scalar, and what lineage tells."""
        with self.lock:
            told = self.lineage.get("metrics", {})
            found = {k: float(v) for k, v in told.items() if isinstance(v, (int, float))}
            return found | {tag: held.last.value for tag, held in self.scalars.items()}

    def content_of(self, stored: Stored) -> bytes:
        """A picture's or a sound's bytes, from its file.

        Raises:
            OSError, DecodeError: the file has changed.
        """
        record = read_content(stored.file, self.base, stored.place, stored.length)
        tensorboard = self.kinds[stored.file.name] == "tensorboard"
        module = tensorboard_events if tensorboard else mindspore_events
        return module.stored_content(record, stored.position)


def _nodes(rows: Any) -> dict[str, Node]:
    found: dict[str, Node] = {}
    for row in rows:
        seconds = row.get("seconds")
        node = Node(
            str(row["path"]), str(row.get("kind", "")), [str(x) for x in row.get("inputs", [])],
            str(row.get("shape", "")), None if seconds is None else _seconds(seconds),
            _whole(row.get("parameters", 0)), str(row.get("words", "")),
        )  # fmt: skip
        found[node.path] = node
    return found
