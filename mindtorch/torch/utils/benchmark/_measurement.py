"""What a timer found, and tables of it."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Iterable
from typing import Any

import numpy as np

__all__ = [
    "Compare", "Measurement", "TaskSpec", "select_unit", "trim_sigfig", "unit_to_english",
]  # fmt: skip
_UNITS = {"ns": ("nanosecond", 1e-9), "us": ("microsecond", 1e-6), "ms": ("millisecond", 1e-3),
          "s": ("second", 1.0)}  # fmt: skip


@dataclasses.dataclass(frozen=True)
class TaskSpec:
    """What was timed."""

    stmt: str
    setup: str
    global_setup: str = ""
    label: str | None = None
    sub_label: str | None = None
    description: str | None = None
    env: str | None = None
    num_threads: int = 1

    @property
    def title(self) -> str:
        """The label, or the statement's first line."""
        if self.label is not None:
            return self.label + (f": {self.sub_label}" if self.sub_label else "")
        lines = self.stmt.splitlines()
        return lines[0] if len(lines) == 1 else "\n".join(f"  {line}" for line in lines)


def select_unit(t: float) -> tuple[str, float]:
    """The unit in which a time is read most easily, and its seconds."""
    power = int(math.log10(t) // 3)
    unit = {-1: "ms", -2: "us", -3: "ns"}.get(power, "s")
    return unit, _UNITS[unit][1]


def unit_to_english(u: str) -> str:
    """The unit's whole name."""
    return _UNITS[u][0]


def trim_sigfig(x: float, n: int) -> float:
    """``x`` rounded to ``n`` significant figures."""
    if n != int(n):
        raise ValueError("Number of significant figures must be integer")
    if not x:
        return x
    scale = 10 ** (math.ceil(math.log10(abs(x))) - int(n))
    return float(round(x / scale) * scale)


@dataclasses.dataclass(init=True, repr=False)
class Measurement:
    """Times of blocks of ``number_per_run`` runs; statistics are of one run."""

    number_per_run: int
    raw_times: list[float]
    task_spec: TaskSpec
    metadata: dict[Any, Any] | None = None

    def __getattr__(self, name: str) -> Any:
        if name in ("task_spec", "__setstate__") or not hasattr(self.task_spec, name):
            raise AttributeError(name)
        return getattr(self.task_spec, name)

    @property
    def times(self) -> list[float]:
        """Seconds of a run, block by block."""
        return [t / self.number_per_run for t in self.raw_times]

    @property
    def mean(self) -> float:
        """The mean of :attr:`times`."""
        return float(np.mean(self.times))

    @property
    def median(self) -> float:
        """The median of :attr:`times`."""
        return float(np.median(self.times))

    @property
    def iqr(self) -> float:
        """The width of the middle half of :attr:`times`."""
        low, high = np.quantile(self.times, (0.25, 0.75))
        return float(high - low)

    @property
    def significant_figures(self) -> int:
        """How many figures of the median the spread leaves; at most 5."""
        mean, deviation = np.mean(self.times), np.std(self.times)
        if len(self.times) < 3 or not deviation:
            return 3
        return max(1, min(5, int(math.log10(mean / (deviation / math.sqrt(len(self.times)))))))

    @property
    def has_warnings(self) -> bool:
        """Whether the spread is more than a tenth of the median."""
        return not self.meets_confidence()

    def meets_confidence(self, threshold: float = 0.1) -> bool:
        """Whether the middle half is within ``threshold`` of the median."""
        return self.iqr / self.median < threshold

    @property
    def title(self) -> str:
        """What was timed."""
        return self.task_spec.title

    @staticmethod
    def merge(measurements: Iterable[Measurement]) -> list[Measurement]:
        """The measurements of equal tasks together."""
        groups: dict[Any, list[Measurement]] = {}
        for each in measurements:
            groups.setdefault(each.task_spec, []).append(each)
        return [
            Measurement(1, [t for each in group for t in each.times], task)
            for task, group in groups.items()
        ]

    def __repr__(self) -> str:
        unit, seconds = select_unit(self.median)
        count, threads = len(self.times), self.task_spec.num_threads
        name = f"{type(self).__module__.removeprefix('mindtorch.')}.{type(self).__name__}"
        lines = [f"<{name} object at {id(self):#x}>", self.title]
        if self.task_spec.setup not in ("", "pass"):
            lines.append(f"setup: {self.task_spec.setup}")
        if count > 1:
            lines.append(f"  Median: {self.median / seconds:.2f} {unit}")
            lines.append(f"  IQR:    {self.iqr / seconds:.2f} {unit}")
        else:
            lines.append(f"  {self.median / seconds:.2f} {unit}")
        runs = f"{self.number_per_run} runs per measurement, "
        lines.append(
            f"  {count} measurement{'s' * (count > 1)}, {runs if self.number_per_run > 1 else ''}"
            f"{threads} thread{'s' * (threads > 1)}"
        )
        return "\n".join(lines)

    __str__ = __repr__


class Compare:
    """A table of measurements: rows by ``sub_label`` (or statement), columns by ``description``.

    Args:
        results: measurements; those of equal tasks are put together.
    """

    def __init__(self, results: list[Measurement]) -> None:
        self._results: list[Measurement] = []
        self._figures = False
        self.extend_results(results)

    def extend_results(self, results: Iterable[Measurement]) -> None:
        """Add measurements."""
        for each in results:
            if not isinstance(each, Measurement):
                raise ValueError(
                    f"Expected an instance of `Measurement`, got {type(each)} instead."
                )
            self._results.append(each)

    def trim_significant_figures(self) -> None:
        """Show no more figures than the spread of the times leaves."""
        self._figures = True

    def print(self) -> None:
        """Print the table."""
        print(str(self))

    def __str__(self) -> str:
        merged = Measurement.merge(self._results)
        labels = list(dict.fromkeys(m.task_spec.label for m in merged))
        return "\n".join(self._table([m for m in merged if m.task_spec.label == x]) for x in labels)

    def _table(self, group: list[Measurement]) -> str:
        unit, seconds = select_unit(min(m.median for m in group))
        columns = list(dict.fromkeys(m.task_spec.description or "" for m in group))
        lines = [f"[ {group[0].task_spec.label or group[0].task_spec.stmt} ]"]
        rows: dict[tuple[int, str], dict[str, str]] = {}
        for m in group:
            key = (m.task_spec.num_threads, m.task_spec.sub_label or m.task_spec.stmt)
            value = m.median / seconds
            if self._figures:
                value = trim_sigfig(value, m.significant_figures)
            rows.setdefault(key, {})[m.task_spec.description or ""] = f"{value:.1f}"
        wide = max(len(label) for _, label in rows)
        widths = [max(len(c), *(len(r.get(c, "")) for r in rows.values())) for c in columns]
        pairs = list(zip(columns, widths, strict=True))
        lines.append(" " * wide + "".join(f"  |  {c:^{w}}" for c, w in pairs))
        for threads in dict.fromkeys(number for number, _ in rows):
            lines.append(f"{threads} threads: " + "-" * wide)
            for (number, label), cells in rows.items():
                if number == threads:
                    cell_text = "".join(f"  |  {cells.get(c, ''):>{w}}" for c, w in pairs)
                    lines.append(f"{label:<{wide}}{cell_text}")
        return "\n".join([*lines, "", f"Times are in {unit_to_english(unit)}s ({unit})."])
