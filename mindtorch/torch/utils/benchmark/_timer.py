"""Running a statement many times."""

from __future__ import annotations

import enum
import textwrap
import time
import timeit
from collections.abc import Callable
from typing import Any

from mindtorch import torch
from mindtorch.torch import cuda

from ._measurement import Measurement, TaskSpec

__all__ = ["Language", "Timer", "timer"]


def timer() -> float:
    """Seconds since some moment; waits for a GPU if there is one."""
    if cuda.is_available():
        cuda.synchronize()
    return time.perf_counter()


class Language(enum.Enum):
    """What a statement is written in."""

    PYTHON = 0
    CPP = 1


class Timer:
    """Times a statement of Python.

    Args:
        stmt, setup: the code, and what is run before it once.
        timer: seconds since some moment.
        globals: names that the code may use; ``torch`` is there as well.
        label, sub_label, description, env: words for tables.
        num_threads: of the statement's kernels.
        language: Python only.
    """

    def __init__(
        self, stmt: str = "pass", setup: str = "pass", global_setup: str = "",
        timer: Callable[[], float] = timer, globals: dict[str, Any] | None = None,  # noqa: A002
        label: str | None = None, sub_label: str | None = None, description: str | None = None,
        env: str | None = None, num_threads: int = 1, language: Any = Language.PYTHON,
    ) -> None:  # fmt: skip
        if not isinstance(stmt, str):
            raise ValueError("Currently only a `str` stmt is supported.")
        if language not in (Language.PYTHON, "py", "python"):
            raise NotImplementedError("benchmark.Timer: C++ is not compiled in mindtorch")
        if global_setup:
            raise ValueError(
                f"global_setup is C++ only, got `{global_setup}`. Most likely this code can simply "
                "be moved to `setup`."
            )
        stmt, setup = (textwrap.dedent(code).strip() for code in (stmt, setup))
        names = {"torch": torch, **(globals or {})}
        self._timer = timeit.Timer(stmt, setup, timer, names)
        self._task_spec = TaskSpec(
            stmt, setup, "", label, sub_label, description, env, num_threads
        )

    def _timeit(self, number: int) -> float:
        return max(self._timer.timeit(number), 1e-9)

    def _measured(self, number: int, times: list[float]) -> Measurement:
        return Measurement(number, times, self._task_spec)

    def _with_threads(self, run: Callable[[], Measurement]) -> Measurement:
        before = torch.get_num_threads()
        torch.set_num_threads(self._task_spec.num_threads)
        try:
            return run()
        finally:
            torch.set_num_threads(before)

    def timeit(self, number: int = 1000000) -> Measurement:
        """One time for ``number`` runs, after some to warm up."""

        def run() -> Measurement:
            self._timeit(max(number // 100, 2))
            return self._measured(number, [self._timeit(number)])

        return self._with_threads(run)

    def repeat(self, repeat: int = -1, number: int = -1) -> Any:
        """Not available, as in torch."""
        raise NotImplementedError("See `Timer.blocked_autorange.`")

    def autorange(self, callback: Callable[[int, float], Any] | None = None) -> Any:
        """Not available, as in torch."""
        raise NotImplementedError("See `Timer.blocked_autorange.`")

    def _block(self, least: float) -> int:
        """How many runs take a thousandth of the time, or long enough for the clock."""
        overhead = min(self._timer.timeit(0) for _ in range(5))
        number = 1
        while True:
            taken = self._timeit(number)
            if (overhead / taken <= 1e-4 and taken >= least / 1000) or taken >= least:
                return number
            number *= 10

    def blocked_autorange(
        self, callback: Callable[[int, float], Any] | None = None, min_run_time: float = 0.2
    ) -> Measurement:
        """Times of blocks of runs, for at least ``min_run_time`` seconds.

        Args:
            callback: called with the runs of a block and their time.
        """

        def run() -> Measurement:
            number = self._block(min_run_time)
            times: list[float] = []
            while sum(times) < min_run_time:
                times.append(self._timeit(number))
                if callback is not None:
                    callback(number, times[-1])
            return self._measured(number, times)

        return self._with_threads(run)

    def adaptive_autorange(
        self, threshold: float = 0.1, *, min_run_time: float = 0.01, max_run_time: float = 10.0,
        callback: Callable[[int, float], Any] | None = None,
    ) -> Measurement:  # fmt: skip
        """As :meth:`blocked_autorange`, until the middle half of the times is within
        ``threshold`` of the median, or ``max_run_time`` seconds."""

        def run() -> Measurement:
            number = self._block(min_run_time)
            times: list[float] = []
            while sum(times) < max_run_time:
                times.append(self._timeit(number))
                if callback is not None:
                    callback(number, times[-1])
                found = self._measured(number, times)
                if sum(times) > min_run_time and found.meets_confidence(threshold):
                    break
            return self._measured(number, times)

        return self._with_threads(run)
