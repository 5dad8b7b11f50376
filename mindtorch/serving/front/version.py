"""A version of a servable that runs: its workers, its queue, and how batches are made of it."""

from __future__ import annotations

import asyncio
import base64
import logging
import math
import time
from collections import deque
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from mindtorch.serving.columns import Column
from mindtorch.serving.errors import (
    EXHAUSTED,
    FAILED,
    INVALID,
    NOT_FOUND,
    TIMEOUT,
    UNAVAILABLE,
    ServingError,
)

from .metrics import Metrics
from .requests import Answer, Deadlines, Part, Request
from .worker import COLLECT, Batch, Worker, WorkerStartError

__all__ = ["Limits", "MethodInfo", "TensorInfo", "Version", "VersionConfig"]

logger = logging.getLogger("mindtorch.serving")

AHEAD = 2  # batches a worker may have: one that runs and one that waits for it
TURNS = 64  # of the loop at most, before what has arrived is sent
QUIET = 8  # turns without an arrival; gRPC needs some to hand over what is there
DEATHS = 3  # of workers with the same part, until it is given up


@dataclass
class Limits:
    """What is allowed.

    Attributes:
        max_enqueued_requests: how many requests of a version may wait or run.
        request_seconds: how long a request may take.
        batch_seconds: how long a worker may run one batch, until it is killed.
        max_wait_ms: how long a request may wait for others to fill a batch while a worker is free.
        grace_seconds: how long what waits may still take when the server ends.
        load_seconds: how long a worker may load its version, until it is killed.
    """

    max_enqueued_requests: int = 10_000
    request_seconds: float = 60.0
    batch_seconds: float = 60.0
    max_wait_ms: float = 0.0
    grace_seconds: float = 10.0
    load_seconds: float = 600.0


@dataclass(frozen=True)
class VersionConfig:
    """Which version of what is served, and by how many processes."""

    directory: Path
    name: str
    number: int
    workers: int = 1
    key: bytes | None = None
    mode: str = "AES-GCM"

    def for_worker(self) -> dict[str, Any]:
        """What a worker is told."""
        key = base64.b64encode(self.key).decode() if self.key else ""
        return {"directory": str(self.directory), "name": self.name, "version": self.number,
                "workers": self.workers, "key": key, "mode": self.mode}  # fmt: skip


@dataclass
class TensorInfo:
    """What is known of an input or output of a method.

    Attributes:
        name: its name.
        dtype: numpy's name of its type; None: not known.
        shape: of one instance; None: not known.
    """

    name: str
    dtype: str | None = None
    shape: tuple[int, ...] | None = None


@dataclass(frozen=True)
class MethodInfo:
    """A method, as a worker describes it."""

    name: str
    inputs: tuple[TensorInfo, ...]
    outputs: tuple[TensorInfo, ...]
    stages: tuple[str, ...]
    input_names: frozenset[str]
    output_names: tuple[str, ...]

    @classmethod
    def of(cls, description: Mapping[str, Any]) -> MethodInfo:
        """The method of a worker's description."""
        inputs, outputs = (
            tuple(TensorInfo(name, dtype, None if shape is None else tuple(shape))
                  for name, dtype, shape in description[kind])
            for kind in ("inputs", "outputs")
        )  # fmt: skip
        return cls(description["name"], inputs, outputs, tuple(description["stages"]),
                   frozenset(info.name for info in inputs),
                   tuple(info.name for info in outputs))  # fmt: skip

    def learn(self, answer: Answer) -> None:
        """Note the outputs' types and shapes from an answer, where nobody has told them."""
        for info in self.outputs:
            if info.dtype is None and answer.columns:
                block = answer.columns[info.name][0]
                info.dtype, info.shape = block.dtype, tuple(block.shape)


class Version:
    """Serves one version.

    Args:
        config: which one.
        limits: what is allowed.
        metrics: where is counted.
    """

    def __init__(self, config: VersionConfig, limits: Limits, metrics: Metrics) -> None:
        self.config = config
        self.limits = limits
        self.metrics = metrics.of_version(config.name, config.number)
        self.methods: dict[str, MethodInfo] = {}
        self.formats: list[str] = []
        self.batch_size = 1
        self.workers: list[Worker] = []
        self.restarts = 0
        self.trouble = ""  # why no worker is there
        self.stopping = False
        self._closed = False  # no worker starts any more
        self._deadline = math.inf  # of what waits, once the version is stopping
        self._ending: asyncio.Task[None] | None = None
        self._queue: deque[Part] = deque()
        self._requests: set[Request] = set()
        self._deadlines = Deadlines()
        self._dispatching = False
        self._arrivals = 0
        self._restarting: set[asyncio.Task[None]] = set()
        self._watching: asyncio.Task[None] | None = None
        self._timer: asyncio.TimerHandle | None = None

    # -- workers

    async def start(self) -> None:
        """Start the workers; returns when all are ready.

        Raises:
            WorkerStartError: one cannot load the version.
        """
        workers = [self._new_worker(i) for i in range(self.config.workers)]
        try:
            given = await asyncio.gather(*(w.start() for w in workers), return_exceptions=True)
            for each in given:
                if isinstance(each, BaseException):
                    raise each
        except BaseException:  # also where the server ends meanwhile
            self.stopping = self._closed = True
            for worker in workers:
                worker.kill()
            raise
        self._describe(given[0])  # type: ignore[arg-type]
        self.workers = workers
        self._watching = asyncio.get_running_loop().create_task(self._watch())

    def _describe(self, description: Mapping[str, Any]) -> None:
        self.batch_size = description["batch_size"]
        self.formats = description["models"]
        self.methods = {each["name"]: MethodInfo.of(each) for each in description["methods"]}

    def _new_worker(self, number: int) -> Worker:
        label = f"{self.config.name}/{self.config.number}#{number}"
        return Worker(label, self.config.for_worker(), self._batch_done, self._worker_ended,
                      self.limits.load_seconds)  # fmt: skip

    def _worker_ended(self, worker: Worker, batches: Sequence[Batch]) -> None:
        self.workers = [each for each in self.workers if each is not worker]
        if worker.stopping and not batches:
            return
        logger.warning("worker %s (pid %d) has ended with %d batches", worker.label, worker.pid,
                       len(batches))  # fmt: skip
        for number, batch in enumerate(reversed(batches)):
            was_running = number == len(batches) - 1
            self._again(batch, was_running, worker.timed_out)
        if self._wants_workers:
            self.restarts += 1
            self.metrics.restarts.inc()
            task = asyncio.get_running_loop().create_task(self._restart(worker.label))
            self._restarting.add(task)
            task.add_done_callback(self._restarting.discard)
        self._soon()

    @property
    def _wants_workers(self) -> bool:
        """Whether a worker that is gone is missed: also at the end, while requests wait."""
        return not self._closed and (not self.stopping or bool(self._requests))

    def _again(self, batch: Batch, was_running: bool, timed_out: bool) -> None:
        """Back to the head of the queue, but for what has had its chances."""
        for part in reversed(batch.parts):
            if was_running and timed_out:
                text = f"a batch took longer than {self.limits.batch_seconds:g} seconds"
                part.request.fail(ServingError(TIMEOUT, text))
                continue
            part.deaths += was_running
            if part.deaths >= DEATHS:
                text = f"the worker process died {part.deaths} times while it ran this request"
                part.fail(ServingError(FAILED, text))
            else:
                self._queue.appendleft(part)

    async def _restart(self, label: str) -> None:
        pause = 0.0
        number = int(label.rpartition("#")[2])
        while self._wants_workers:
            worker = self._new_worker(number)
            try:
                await worker.start()
            except WorkerStartError as error:
                self.trouble = str(error)
                logger.error("worker %s: %s", label, error)
                if not self.workers:
                    self._refuse(str(error))
                pause = min(30.0, pause * 2 or 0.5)
                await asyncio.sleep(pause)
                continue
            if not self._wants_workers:
                worker.kill()
                return
            self.trouble = ""
            self.workers.append(worker)
            self._soon()
            return

    def _refuse(self, text: str) -> None:
        while self._queue:
            self._queue.popleft().request.fail(ServingError(UNAVAILABLE, text))

    async def _watch(self) -> None:
        """Kill workers whose batch takes too long."""
        while True:
            await asyncio.sleep(min(1.0, self.limits.batch_seconds / 4))
            for worker in self.workers:
                if worker.overdue(self.limits.batch_seconds):
                    logger.error("worker %s: a batch takes too long, it is killed", worker.label)
                    worker.timed_out = True
                    worker.kill()

    # -- requests

    @property
    def pending(self) -> int:
        """How many requests wait or run."""
        return len(self._requests)

    @property
    def ready(self) -> bool:
        """Whether a worker is there."""
        return not self.stopping and any(worker.ready for worker in self.workers)

    def method(self, name: str) -> MethodInfo:
        """The method of this name; of an empty name the only or first one."""
        if not name:
            return next(iter(self.methods.values()))
        try:
            return self.methods[name]
        except KeyError:
            known = ", ".join(self.methods)
            text = f"servable {self.config.name} has no method '{name}' (it has {known})"
            raise ServingError(NOT_FOUND, text) from None

    async def run(
        self, method: MethodInfo, columns: Mapping[str, Column], rows: int, seconds: float | None
    ) -> Answer:
        """The answer to a request.

        Args:
            method: which method.
            columns: its inputs, by name.
            rows: how many instances there are.
            seconds: how long whoever asks will wait.

        Raises:
            ServingError: it cannot be answered.
        """
        self._check(method, columns, rows)
        limit = self.limits.request_seconds
        request = Request(method.name, columns, rows, self.batch_size)
        self._requests.add(request)
        self._queue.extend(request.parts)
        self._arrivals += 1
        self._soon()
        self._deadlines.add(request, limit if seconds is None else min(seconds, limit))
        try:
            answer = await request.future
        finally:
            self._requests.discard(request)
            self._deadlines.discard(request)
            request.future.cancel()
        answer.outputs = method.output_names
        answer.version = self.config.number
        method.learn(answer)
        self.metrics.answered(request, answer)
        return answer

    def _check(self, method: MethodInfo, columns: Mapping[str, Column], rows: int) -> None:
        if self.stopping:
            raise ServingError(UNAVAILABLE, f"servable {self.config.name} is ending")
        if not self.workers and self.trouble:
            raise ServingError(UNAVAILABLE, self.trouble)
        if len(self._requests) >= self.limits.max_enqueued_requests:
            raise ServingError(EXHAUSTED, f"{len(self._requests)} requests wait already")
        if rows == 0:
            raise ServingError(INVALID, "Instances count of request cannot be 0")
        if columns.keys() != method.input_names:
            raise ServingError(
                INVALID,
                f"method {method.name} takes the inputs {sorted(method.input_names)}, "
                f"given {sorted(columns)}",
            )

    # -- batches

    def _soon(self) -> None:
        """Make batches when what is being read just now has arrived, too."""
        if not self._dispatching:
            self._dispatching = True
            asyncio.get_running_loop().call_soon(self._dispatch, 0, 0, self._arrivals)

    def _dispatch(self, turns: int, quiet: int, arrivals: int) -> None:
        """Send batches to workers that are free. While other requests run, so that more may come
        at once, first let the loop go round until several turns bring none, or a batch is full."""
        quiet = quiet + 1 if arrivals == self._arrivals else 0
        full = bool(self._queue) and self._queue[0].rows >= self.batch_size
        if not full and len(self._requests) > 1 and turns < TURNS and quiet < QUIET:
            loop = asyncio.get_running_loop()
            loop.call_soon(self._dispatch, turns + 1, quiet, self._arrivals)
            return
        self._dispatching = False
        while self._queue:
            worker = min((w for w in self.workers if w.ready and len(w.batches) < AHEAD),
                         key=lambda w: len(w.batches), default=None)  # fmt: skip
            if worker is None:
                return
            waiting = self._waiting_rows()
            if waiting < self.batch_size and (worker.batches or self._may_wait()):
                return
            batch = self._next_batch()
            if batch is not None:
                worker.send(batch)

    def _waiting_rows(self) -> int:
        """The rows that could make the next batch, as far as it matters."""
        while self._queue and self._queue[0].request.is_over:
            self._queue.popleft()
        found = 0
        for part in self._queue:
            if part.deaths > 1 or found >= self.batch_size:
                break
            found += part.rows
        return found

    def _may_wait(self) -> bool:
        """Whether the first part may wait for others, by the limit."""
        if not self.limits.max_wait_ms or not self._queue or self._queue[0].deaths > 1:
            return False
        arrived = self._queue[0].request.arrived
        left = arrived + self.limits.max_wait_ms / 1000 - time.perf_counter()
        if left <= 0:
            return False
        if self._timer is None:
            self._timer = asyncio.get_running_loop().call_later(left, self._waited)
        return True

    def _waited(self) -> None:
        """A loop's clock is coarse: it may be too early, and `_may_wait` asks again."""
        self._timer = None
        self._soon()

    def _next_batch(self) -> Batch | None:
        """Parts from the head of the queue, of one method, as many as fit."""
        chosen: list[Part] = []
        others: list[Part] = []
        rows = 0
        while self._queue:
            part = self._queue.popleft()
            if part.request.is_over:
                continue
            alone = part.deaths > 1  # it may be what kills workers
            if chosen and (part.request.method != chosen[0].request.method or alone):
                others.append(part)
                if len(others) >= self.batch_size:
                    break
                continue
            if rows + part.rows > self.batch_size:
                self._queue.appendleft(part)
                break
            chosen.append(part)
            rows += part.rows
            if alone:
                break
        self._queue.extendleft(reversed(others))
        return Batch(chosen[0].request.method, chosen) if chosen else None

    def _batch_done(self, worker: Worker, batch: Batch, seconds: float) -> None:
        self.metrics.batch(batch.rows, seconds)
        self._soon()

    # -- the end

    async def stop(self, grace: float) -> None:
        """Answer what waits, and end the workers; goes on where the caller is cancelled.

        Args:
            grace: seconds for what waits; a second call may give it less than the first.
        """
        self.stopping = True
        self._deadline = min(self._deadline, time.perf_counter() + grace)
        if self._ending is None:
            self._ending = asyncio.get_running_loop().create_task(self._end())
        await asyncio.shield(self._ending)

    async def _end(self) -> None:
        text = f"servable {self.config.name} has ended"
        while self._requests and time.perf_counter() < self._deadline:
            await asyncio.sleep(0.01)
        self._closed = True
        self._refuse(text)
        given_up = [*self._restarting, *filter(None, [self._watching])]
        for task in given_up:
            task.cancel()
        if given_up:
            await asyncio.wait(given_up, timeout=COLLECT + 1.0)
        workers = list(self.workers)
        for worker in workers:
            worker.stop()
        least = time.perf_counter() + 1.0
        while not await _have_ended(workers, 0.05):
            if time.perf_counter() < max(self._deadline, least):
                continue
            for worker in workers:
                worker.kill()
            await _have_ended(workers, COLLECT + 1.0)
            break
        self._refuse(text)
        for request in self._requests:
            request.fail(ServingError(UNAVAILABLE, text))


async def _have_ended(workers: Sequence[Worker], seconds: float) -> bool:
    """Whether all have ended, perhaps after some time."""
    return all(await asyncio.gather(*(worker.wait(seconds) for worker in workers)))
