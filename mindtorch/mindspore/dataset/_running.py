"""Making the rows of a pipeline: in turn, or by the workers of its stages, in the same order.

A data set describes each of its rows by a small *task* and makes the row from it, so that who makes
it changes nothing. A stage is a data set with all below it down to where rows must be known before
tasks can be told (a filter, a user's generator): a task of it goes to one worker as a whole.
"""

from __future__ import annotations

import itertools
import json
import os
import time
import weakref
from collections import deque
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from mindtorch.kernels.cpu.threads.thread_pool import available_cores
from mindtorch.torch import set_num_threads

from . import config
from ._random import Key, key_of
from ._tuning import Tuning
from ._workers import Failure, Processes, Threads

__all__ = ["Run"]

_LARGEST_AHEAD = 1 << 28  # bytes of rows that are made ahead, whatever prefetch_size says
_BRIEF = 0.002  # seconds: tasks are sent in groups that take about as long
_LARGEST_GROUP = 64


class Run:
    """What one iterator needs to make rows, epoch after epoch.

    Args:
        top: the data set.
        parallel: use workers where the data sets ask for them; otherwise rows are made in turn.
    """

    def __init__(self, top: Any, parallel: bool = True) -> None:
        self.seed, self.is_set = config.seed_now(), config.seed_is_set()
        self.parallel = parallel
        self.places = {id(node): place for place, node in enumerate(_nodes(top))}
        self.stages: dict[int, Stage | None] = {}

    def key(self, node: Any, epoch: int) -> Key:
        """Of the random numbers of the rows that enter ``node``."""
        return key_of(self.seed, self.is_set, self.places[id(node)], epoch)

    def rows(self, node: Any, epoch: int) -> Iterator[Any]:
        """The rows of one pass of ``node``."""
        stage = self._stage(node) if self.parallel else None
        if stage is not None:
            return stage.rows(self, epoch)
        return (node.perform(task) for task in node.tasks(self, epoch))

    def _stage(self, node: Any) -> Stage | None:
        if id(node) not in self.stages:
            count, processes = _wanted(node)
            made = Stage(node, count, processes) if count else None
            if made is not None:
                weakref.finalize(self, made.close)
            self.stages[id(node)] = made
        return self.stages[id(node)]

    def close(self) -> None:
        """End all workers."""
        for stage in self.stages.values():
            if stage is not None:
                stage.close()

    def settings(self) -> list[dict[str, Any]]:
        """Workers and rows ahead of each stage, as they are now."""
        stages = [stage for stage in self.stages.values() if stage is not None]
        return [stage.settings() for stage in stages]

    def save_settings(self) -> None:
        """Write :meth:`settings` where ``config.set_enable_autotune`` says."""
        prefix = config.autotune_file()
        if prefix is None or not config.get_enable_autotune():
            return
        rank = os.environ.get("RANK_ID", os.environ.get("RANK", "0"))
        text = {
            "remark": "Workers and rows made ahead, as AutoTune found them.",
            "summary": self.settings(),
        }
        path = Path(f"{prefix}_{rank}.json")
        part = path.with_name(f"{path.name}.{os.getpid()}")
        part.write_text(json.dumps(text, indent=1), encoding="utf-8")
        part.replace(path)


def _nodes(top: Any) -> list[Any]:
    """A pipeline's data sets, each once, sources first."""
    found: dict[int, Any] = {}

    def visit(node: Any) -> None:
        if id(node) not in found:
            for each in node.inputs():
                visit(each)
            found[id(node)] = node

    visit(top)
    return list(found.values())


def _members(node: Any) -> list[Any]:
    """The data sets that are one stage with ``node``."""
    found = [node]
    for each in node.within():
        found += _members(each)
    return found


def _wanted(node: Any) -> tuple[int, bool]:
    """(number of workers, 0 for none; whether they are processes)."""
    members = _members(node)
    told = [m for m in members if m.workers is not None]
    working = [m for m in members if m.works()]
    if told:
        return max(m.workers for m in told), any(m.processes for m in told)
    chosen = config.chosen_workers()
    if not working or (chosen is None and not all(m.is_own() for m in working)):
        return 0, False
    if chosen is None and not any(m.is_heavy() for m in working):
        return 0, False
    return chosen or min(config.get_num_parallel_workers(), available_cores()), False


class Work:
    """What a worker is given: a data set that makes rows from tasks."""

    def __init__(self, node: Any) -> None:
        self.node, self.title = node, " <- ".join(m.title() for m in _members(node))

    def perform(self, task: Any) -> Any:
        return self.node.perform(task)

    def leave_process(self) -> None:
        """What a process does after its last row."""
        for member in _members(self.node):
            if hasattr(member.cache, "flush"):
                member.cache.flush()

    def enter_process(self, number: int) -> None:
        """What a process does before its first row."""
        set_num_threads(1)
        for member in _members(self.node):
            member.enter_process(number)


class Stage:
    """The workers that make a data set's rows, kept from one epoch to the next."""

    def __init__(self, node: Any, count: int, processes: bool) -> None:
        self.work = Work(node)
        self.kind: Any = Processes if processes else Threads
        self.count, self.ahead = count, config.get_prefetch_size()
        self.idle: list[Any] = []  # workers that no pass uses
        self.pools: list[Any] = []
        self.tickets = itertools.count()
        self.size, self.bytes = 1, 0.0
        self.tuning: Tuning | None = None

    def settings(self) -> dict[str, Any]:
        kind = "processes" if self.kind is Processes else "threads"
        return {"operations": self.work.title, "workers": kind,
                "num_parallel_workers": self.count, "prefetch_size": self.ahead}  # fmt: skip

    def close(self) -> None:
        for pool in self.pools:
            pool.close()

    def _ready_pool(self) -> Any:
        """Workers for one pass: two passes at once, of a data set that is used twice, have their
        own."""
        self.pools = [pool for pool in self.pools if not pool.closed]
        self.idle = [pool for pool in self.idle if not pool.closed]
        if self.idle:
            pool = self.idle.pop()
        else:
            pool = self.kind(self.work, self.count)
            self.pools.append(pool)
        if config.get_enable_autotune() and self.tuning is None:
            self.tuning = Tuning(self.count, self.ahead, available_cores())
        return pool

    def _window(self) -> int:
        """How many groups of tasks may be under way."""
        groups = -(-self.ahead // self.size)
        if self.bytes:
            groups = min(groups, int(_LARGEST_AHEAD / (self.bytes * self.size)))
        return self.count + max(groups, 1)

    def rows(self, run: Run, epoch: int) -> Iterator[Any]:
        """The rows of an epoch, in the order of their tasks."""
        pool = self._ready_pool()
        tasks = self.work.node.tasks(run, epoch)
        under_way: deque[int] = deque()
        answers: dict[int, Any] = {}
        more = True
        try:
            while True:
                while more and len(under_way) < self._window():
                    group = list(itertools.islice(tasks, self.size))
                    more = bool(group)
                    if more:
                        ticket = next(self.tickets)
                        pool.submit(ticket, group)
                        under_way.append(ticket)
                if not under_way:
                    break
                ticket = under_way.popleft()
                waited = self._await(pool, ticket, under_way, answers)
                rows = answers.pop(ticket)
                if isinstance(rows, Failure):
                    rows.reraise()
                self._tuned(pool, waited, len(rows), len(answers) == len(under_way))
                yield from rows
                del rows
            self._tuned_after_epoch(pool)
            self.idle.append(pool)
        except GeneratorExit:
            pool.discard()
            self.idle.append(pool)
            raise
        except BaseException:
            pool.close()
            raise

    def _await(
        self, pool: Any, ticket: int, under_way: deque[int], answers: dict[int, Any]
    ) -> float:
        """Take answers until that of ``ticket`` is there; seconds of waiting."""
        if ticket in answers:
            return 0.0
        started = time.perf_counter()
        while ticket not in answers:
            number, rows, seconds = pool.receive()
            if number != ticket and number not in under_way:
                continue  # of an epoch that was not read to its end
            answers[number] = rows
            if not isinstance(rows, Failure):
                self._measure(rows, seconds)
        return time.perf_counter() - started

    def _measure(self, rows: list[Any], seconds: float) -> None:
        each = seconds / len(rows)
        if each * self.size < _BRIEF / 2:
            self.size = min(self.size * 2, _LARGEST_GROUP)
        elif each * self.size > _BRIEF * 4:
            self.size = max(self.size // 2, 1)
        self.bytes = sum(getattr(value, "nbytes", 64) for value in rows[0])

    def _tuned(self, pool: Any, waited: float, rows: int, all_ready: bool) -> None:
        if self.tuning is not None:
            self.tuning.row(waited, rows, all_ready)
            interval = config.get_autotune_interval()
            if interval and self.tuning.steps >= interval:
                self._apply(pool)

    def _tuned_after_epoch(self, pool: Any) -> None:
        if self.tuning is not None and not config.get_autotune_interval():
            self._apply(pool)

    def _apply(self, pool: Any) -> None:
        assert self.tuning is not None
        self.count, self.ahead = self.tuning.decide()
        pool.resize(self.count)
