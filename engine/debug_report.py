"""What ``MINDTORCH_DEBUG`` says at its levels 1 and 2, on standard error.

Level 1: on what the program runs. Level 2: at its end, how much time each op has taken in the main
thread; functions are not compiled then, so that each op is seen, and levels above do without it.
"""

from __future__ import annotations

import atexit
import importlib.metadata
import os
import platform
import sys
import time
from typing import Any

from mindtorch.kernels.cpu.matrix_products import openblas
from mindtorch.kernels.cpu.threads import thread_pool

from .devices import cuda
from .switches import DESCRIPTIONS, debug, switches, variable
from .transforms.profiler import Record, Recorder

_MOST_ROWS = 40
_begun: list[Any] = []


class OpTimes(Recorder):
    """Adds up the time of each op instead of keeping a record of each call.

    Attributes:
        totals: calls, nanoseconds in all, and nanoseconds without the ops within, by name.
    """

    def __init__(self) -> None:
        super().__init__()
        self.totals: dict[str, list[int]] = {}
        self._within: list[int] = []  # for each open record, the time of the ones within

    def enter(self, name: str, kind: str) -> Record:
        """Begin to take the time of an op or node."""
        record = super().enter(name, kind)
        self.records.clear()
        self._within.append(0)
        return record

    def compiled(self, begin: int, end: int) -> None:
        """Kernels were found or compiled: a line of its own."""
        super().compiled(begin, end)
        total = self.totals.setdefault(self.records.pop().name, [0, 0, 0])
        for i, value in enumerate((1, end - begin, end - begin)):
            total[i] += value

    def leave_record(self, record: Record) -> None:
        """The op or node has ended."""
        super().leave_record(record)
        spent = record.end - record.start - record.compiling
        within = self._within.pop()
        if self._within:
            self._within[-1] += spent
        total = self.totals.setdefault(record.name, [0, 0, 0])
        for i, value in enumerate((1, spent, spent - within)):
            total[i] += value

    def report(self, seconds: float) -> str:
        """A line for each op, those that took longest first."""
        rows = sorted(self.totals.items(), key=lambda row: -row[1][2])
        own = sum(total[2] for _, total in rows)
        lines = [
            f"ops took {own / 1e9:.3f} s of {seconds:.3f} s",
            f"{'op':<32} {'calls':>9} {'own ms':>11} {'all ms':>11} {'us a call':>10}",
        ]
        for name, (calls, spent, alone) in rows[:_MOST_ROWS]:
            lines.append(
                f"{name:<32} {calls:>9} {alone / 1e6:>11.3f} {spent / 1e6:>11.3f} "
                f"{spent / calls / 1e3:>10.1f}"
            )
        if len(rows) > _MOST_ROWS:
            lines.append(f"and {len(rows) - _MOST_ROWS} others")
        return "\n".join(lines)


def machine() -> str:
    """Versions, processor, threads, devices, and the mechanisms that are off."""
    packages = ", ".join(f"{p} {importlib.metadata.version(p)}" for p in ("numpy", "numba"))
    off = [f"{variable(name)}=0" for name in DESCRIPTIONS if not getattr(switches, name)]
    return "\n".join([
        f"Python {platform.python_version()}, {packages}, {platform.platform()}",
        f"processor {platform.machine()}, {thread_pool.available_cores()} cores, "
        f"{thread_pool.get_num_threads()} threads, OpenBLAS's kernels for {openblas.core_name()}",
        f"CUDA devices: {cuda.device_count()}",
        "turned off: " + (", ".join(off) or "nothing"),
    ])  # fmt: skip


def begin() -> None:
    """Say what the level of :data:`.switches.debug` asks for; once in a process."""
    if _begun or debug.level < 1:
        return
    _begun.append(True)
    _say(machine())
    if debug.level == 2:
        times = OpTimes()
        times.start()
        atexit.register(_end, times, time.perf_counter(), os.getpid())


def _end(times: OpTimes, started: float, process: int) -> None:
    if os.getpid() == process and times in Recorder.active:
        times.stop()
        _say(times.report(time.perf_counter() - started))


def _say(text: str) -> None:
    for line in text.splitlines():
        print(f"mindtorch: {line}", file=sys.stderr)
