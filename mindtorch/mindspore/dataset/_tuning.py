"""AutoTune: how many workers and rows ahead a stage has, by what was measured."""

from __future__ import annotations

import time

__all__ = ["Tuning"]

LARGEST_AHEAD = 128
_WAITING = 0.05  # of the time: more is worth another worker
_BETTER = 1.03  # rows per second: less is not worth what was changed
_IDLE = 0.95  # of the steps, everything ahead was ready: one worker less will do


class Tuning:
    """Climbs one step at a time, and goes back where a step gave nothing.

    A reader that waits more than 5 % of the time gets another worker, up to ``cores``, then twice
    the rows ahead, up to 128; a change that does not give 3 % more rows per second is undone and
    not tried again. A reader that never waits while all rows ahead are ready loses a worker.

    Args:
        workers, ahead: what to begin with.
        cores: the largest number of workers; ``workers`` where that is larger.
    """

    def __init__(self, workers: int, ahead: int, cores: int) -> None:
        self.workers, self.ahead = workers, ahead
        self.limit = max(cores, workers)
        self.before: tuple[int, int, float] | None = None  # what the last change is judged by
        self.refused: set[tuple[int, int]] = set()
        self._begin()

    def _begin(self) -> None:
        self.started, self.waited = time.perf_counter(), 0.0
        self.steps = self.rows = self.ready = 0

    def row(self, waited: float, rows: int, all_ready: bool) -> None:
        """A step was read: seconds of waiting, its rows, whether all rows ahead were ready."""
        self.steps += 1
        self.rows += rows
        self.waited += waited
        self.ready += all_ready and waited == 0.0

    def decide(self) -> tuple[int, int]:
        """(workers, rows ahead) from now on."""
        elapsed = max(time.perf_counter() - self.started, 1e-9)
        speed, share = self.rows / elapsed, self.waited / elapsed
        idle = self.steps > 0 and self.ready >= _IDLE * self.steps
        self._begin()
        if self.before is not None:
            workers, ahead, speed_before = self.before
            self.before = None
            grown = self.workers >= workers and self.ahead >= ahead
            if grown and speed < speed_before * _BETTER:
                self.refused.add((self.workers, self.ahead))
                self.workers, self.ahead = workers, ahead
                return workers, ahead
        wanted = (self.workers, self.ahead)
        if share > _WAITING:
            more = (min(self.workers + 1, self.limit), self.ahead)
            further = (self.workers, min(self.ahead * 2, LARGEST_AHEAD))
            untried = [c for c in (more, further) if c != wanted and c not in self.refused]
            wanted = untried[0] if untried else wanted
        elif idle and self.workers > 1:
            wanted = (self.workers - 1, self.ahead)
        if wanted != (self.workers, self.ahead):
            self.before = (self.workers, self.ahead, speed)
            self.workers, self.ahead = wanted
        return wanted
