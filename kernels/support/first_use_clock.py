"""The time that first calls take beside their work: kernels are found, compiled or loaded.

A profiler takes it off the times of the calls in which it was spent.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable

__all__ = ["clock"]


class Clock(threading.local):
    """Entered (again and again) around what only a first call does; of each thread its own.

    Attributes:
        watchers: called with the begin and the end of each time in ``time.perf_counter_ns()``.
    """

    def __init__(self) -> None:
        self.depth = 0
        self.begun = 0
        self.watchers: list[Callable[[int, int], None]] = []

    def __enter__(self) -> None:
        if not self.depth:
            self.begun = time.perf_counter_ns()
        self.depth += 1

    def __exit__(self, *error: object) -> None:
        self.depth -= 1
        if not self.depth and self.watchers:
            end = time.perf_counter_ns()
            for watcher in tuple(self.watchers):
                watcher(self.begun, end)


clock = Clock()
