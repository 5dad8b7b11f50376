"""What a profiler saw: events, their sums by name, tables and trace files."""

from __future__ import annotations

import json
import os
from collections import OrderedDict
from typing import Any

from mindtorch.engine.transforms.profiler import COMPILE, USER, Record
from mindtorch.kernels.support.atomic_file import write_whole

__all__ = ["EventList", "FunctionEvent", "FunctionEventAvg", "Interval"]


def format_time(microseconds: float) -> str:
    """"1.500ms" for 1500."""
    if microseconds >= 1e6:
        return f"{microseconds / 1e6:.3f}s"
    if microseconds >= 1e3:
        return f"{microseconds / 1e3:.3f}ms"
    return f"{microseconds:.3f}us"


def format_memory(count: int) -> str:
    """"3.52 KB" for 3600."""
    for power, unit in ((3, "GB"), (2, "MB"), (1, "KB")):
        if abs(count) >= 1024**power:
            return f"{count / 1024**power:.2f} {unit}"
    return f"{count} B"


class Interval:
    """From ``start`` to ``end``, in microseconds."""

    def __init__(self, start: float, end: float) -> None:
        self.start = start
        self.end = end

    def elapsed_us(self) -> float:
        return self.end - self.start


class _Times:
    """Times in words, and those of devices, of which there are none."""

    cpu_time_total: float
    self_cpu_time_total: float
    count: int
    device_time_total = self_device_time_total = device_time = cuda_time = 0.0
    device_memory_usage = self_device_memory_usage = 0

    @property
    def cpu_time(self) -> float:
        return self.cpu_time_total / self.count if self.count else 0.0

    cpu_time_str = property(lambda self: format_time(self.cpu_time))
    cpu_time_total_str = property(lambda self: format_time(self.cpu_time_total))
    self_cpu_time_total_str = property(lambda self: format_time(self.self_cpu_time_total))
    device_time_str = device_time_total_str = self_device_time_total_str = property(
        lambda self: format_time(0)
    )


class FunctionEvent(_Times):
    """One call of an op, a node's backward, or a named block."""

    def __init__(self, index: int, record: Record, origin: int) -> None:
        self.id = index
        self.name = _name(record)
        self.key = "ProfilerStep*" if self.name.startswith("ProfilerStep#") else self.name
        self.thread = record.thread
        self.count = 1
        self.time_range = Interval((record.start - origin) / 1e3, (record.end - origin) / 1e3)
        self.cpu_children: list[FunctionEvent] = []
        self.cpu_parent: FunctionEvent | None = None
        self.input_shapes = tuple(record.shapes)
        self.input_dtypes = record.types
        self.stack = record.stack
        self.own_memory = record.memory
        self._compiling = record.compiling / 1e3  # no time of the op's
        self.is_user_annotation = record.kind == USER
        self.is_async = self.is_remote = self.is_legacy = False

    @property
    def cpu_time_total(self) -> float:  # type: ignore[override]
        return self.time_range.elapsed_us() - self._compiling

    @property
    def self_cpu_time_total(self) -> float:  # type: ignore[override]
        return self.cpu_time_total - sum(c.cpu_time_total for c in self.cpu_children)

    @property
    def cpu_memory_usage(self) -> int:
        return self.own_memory + sum(c.cpu_memory_usage for c in self.cpu_children)

    @property
    def self_cpu_memory_usage(self) -> int:
        return self.own_memory

    def __repr__(self) -> str:
        return (
            f"<FunctionEvent id={self.id} name={self.name} cpu_time={self.cpu_time_str} "
            f"start_us={self.time_range.start:.3f} end_us={self.time_range.end:.3f} "
            f"cpu_children={[c.id for c in self.cpu_children]} thread={self.thread} "
            f"input_shapes={list(self.input_shapes)} cpu_memory_usage={self.cpu_memory_usage}>"
        )


def _name(record: Record) -> str:
    special = record.kind in (USER, COMPILE) or record.name[:1].isupper()
    return record.name if special else f"aten::{record.name}"


class FunctionEventAvg(_Times):
    """The sums of several events under one key."""

    def __init__(self, key: str = "Total") -> None:
        self.key = key
        self.count = 0
        self.cpu_time_total = self.self_cpu_time_total = 0.0
        self.cpu_memory_usage = self.self_cpu_memory_usage = 0
        self.input_shapes: Any = None
        self.stack: list[str] = []
        self.is_user_annotation = False

    def add(self, other: FunctionEvent | FunctionEventAvg) -> FunctionEventAvg:
        """Count ``other`` in."""
        self.count += other.count
        self.cpu_time_total += other.cpu_time_total
        self.self_cpu_time_total += other.self_cpu_time_total
        self.cpu_memory_usage += other.cpu_memory_usage
        self.self_cpu_memory_usage += other.self_cpu_memory_usage
        return self

    def __repr__(self) -> str:
        return (
            f"<FunctionEventAvg key={self.key} self_cpu_time={self.self_cpu_time_total_str} "
            f"cpu_time={self.cpu_time_str}  self_cuda_time=0.000us cuda_time=0.000us "
            f"input_shapes={self.input_shapes or ''} cpu_memory_usage={self.cpu_memory_usage} "
            "cuda_memory_usage=0>"
        )


class EventList(list[Any]):
    """Events, or sums of events."""

    profile_memory = False

    @classmethod
    def of(cls, records: list[Record], origin: int, memory: bool = False) -> EventList:
        """The events of records, each knowing its children."""
        made: dict[int, FunctionEvent] = {}
        events = cls()
        events.profile_memory = memory
        for index, record in enumerate(records):
            event = made[id(record)] = FunctionEvent(index + 1, record, origin)
            parent = made.get(id(record.parent))
            if parent is not None:
                event.cpu_parent = parent
                parent.cpu_children.append(event)
            events.append(event)
        return events

    @property
    def self_cpu_time_total(self) -> float:
        """The time of all events, each without its children."""
        return float(sum(e.self_cpu_time_total for e in self))

    def total_average(self) -> FunctionEventAvg:
        """The sum of all."""
        total = FunctionEventAvg()
        for event in self:
            total.add(event)
        return total

    def key_averages(
        self, group_by_input_shapes: bool = False, group_by_stack_n: int = 0,
        group_by_overload_name: bool = False,
    ) -> EventList:  # fmt: skip
        """Sums by name, and by shapes of inputs or by the innermost lines of Python."""
        sums: OrderedDict[Any, FunctionEventAvg] = OrderedDict()
        for event in self:
            shapes = [list(s) for s in event.input_shapes] if group_by_input_shapes else None
            stack = event.stack[:group_by_stack_n]
            key = (event.key, repr(shapes), tuple(stack))
            if key not in sums:
                sums[key] = FunctionEventAvg(event.key)
                sums[key].input_shapes = shapes
                sums[key].stack = stack
                sums[key].is_user_annotation = event.is_user_annotation
            sums[key].add(event)
        averages = EventList(sums.values())
        averages.profile_memory = self.profile_memory
        return averages

    def table(
        self, sort_by: str | None = None, row_limit: int = 100, max_src_column_width: int = 75,
        max_name_column_width: int = 55, max_shapes_column_width: int = 80,
        header: str | None = None, top_level_events_only: bool = False,
        time_unit: str | None = None,
    ) -> str:  # fmt: skip
        """The events as a table of text, the largest ``sort_by`` first."""
        rows = list(self)
        if sort_by is not None:
            field = sort_by.replace("cuda", "device")
            rows.sort(key=lambda e: getattr(e, field), reverse=True)
        if top_level_events_only:
            rows = [e for e in rows if getattr(e, "cpu_parent", None) is None]
        rows = rows[: row_limit if row_limit >= 0 else None]
        widths = (max_name_column_width, max_shapes_column_width, max_src_column_width)
        return _Table(self, rows, widths, header, time_unit).text()

    def __str__(self) -> str:
        return self.table()

    def export_chrome_trace(self, path: str | os.PathLike[str]) -> None:
        """Write a file for chrome://tracing or Perfetto."""
        write_whole(path, self.chrome_trace())

    def chrome_trace(self) -> str:
        """The content of such a file."""
        events = [_as_trace(e) for e in self]
        return json.dumps({"traceEvents": events, "displayTimeUnit": "ms"})

    def export_stacks(self, path: str, metric: str) -> None:
        """Write a line for each stack of calls with its time, as flame graphs take it."""
        if metric not in ("self_cpu_time_total", "self_device_time_total"):
            raise ValueError(
                "metric should be one of: ['self_cpu_time_total', 'self_device_time_total']"
            )
        lines = []
        for event in self:
            spent = int(getattr(event, metric))
            if event.stack and spent > 0:
                line = ";".join(
                    frame.translate(str.maketrans(" ;\t\n", "____"))
                    for frame in reversed(event.stack)
                )
                lines.append(f"{line} {spent}\n")
        write_whole(path, "".join(lines))


def _as_trace(event: FunctionEvent) -> dict[str, Any]:
    return {
        "ph": "X", "cat": "user_annotation" if event.is_user_annotation else "cpu_op",
        "name": event.name, "pid": os.getpid(), "tid": event.thread,
        "ts": event.time_range.start, "dur": event.time_range.elapsed_us(),
        "args": {"Input Dims": list(event.input_shapes), "Input type": event.input_dtypes,
                 "External id": event.id},
    }  # fmt: skip


class _Table:
    """Columns of text: names on the left of their column, as everything on its right edge."""

    def __init__(
        self, events: EventList, rows: list[Any], widths: tuple[int, int, int],
        header: str | None, unit: str | None,
    ) -> None:  # fmt: skip
        self.total = events.self_cpu_time_total
        self.rows = rows
        self.header = header
        self.unit = unit
        self.columns: list[tuple[str, int, list[str]]] = []
        name, shapes, stacks = widths
        self._text("Name", [e.key for e in rows], name)
        for title, field in (("Self CPU", "self_cpu_time_total"), ("CPU total", "cpu_time_total")):
            self._add(f"{title} %", [self._share(getattr(e, field)) for e in rows])
            self._add(title, [self._time(getattr(e, field)) for e in rows])
        self._add("CPU time avg", [self._time(e.cpu_time) for e in rows])
        if events.profile_memory:
            self._add("CPU Mem", [format_memory(e.cpu_memory_usage) for e in rows])
            self._add("Self CPU Mem", [format_memory(e.self_cpu_memory_usage) for e in rows])
        self._add("# of Calls", [str(e.count) for e in rows])
        if any(e.input_shapes for e in rows):
            self._text("Input Shapes", [str(list(e.input_shapes or [])) for e in rows], shapes)
        if any(e.stack for e in rows):
            self._text("Source Location", [e.stack[0] if e.stack else "" for e in rows], stacks)

    def _add(self, title: str, cells: list[str], width: int = 12) -> None:
        self.columns.append((title, width, cells))

    def _text(self, title: str, cells: list[str], limit: int) -> None:
        width = min(max([len(c) for c in cells], default=0) + 4, limit)
        cells = [c if len(c) <= width else c[: max(width - 3, 0)] + "..." for c in cells]
        self._add(title, cells, width)

    def _time(self, microseconds: float) -> str:
        if self.unit is None:
            return format_time(microseconds)
        scale = {"us": 1.0, "ms": 1e3, "s": 1e6}
        if self.unit not in scale:
            raise ValueError(f"Unrecognized unit {self.unit}")
        return f"{microseconds / scale[self.unit]:.3f}{self.unit}"

    def _share(self, microseconds: float) -> str:
        return f"{microseconds * 100 / self.total:.2f}%" if self.total else "NaN"

    def text(self) -> str:
        rule = "  ".join("-" * width for _, width, _ in self.columns) + "  "
        lines = []
        if self.header is not None:
            lines += ["=" * len(rule), self.header]
        titles = "  ".join(title.rjust(width) for title, width, _ in self.columns) + "  "
        lines += [rule, titles, rule]
        for row in range(len(self.rows)):
            cells = [cells[row].rjust(width) for _, width, cells in self.columns]
            lines.append("  ".join(cells) + "  ")
        lines += [rule, f"Self CPU time total: {self._time(self.total)}", ""]
        return "\n".join(lines)
