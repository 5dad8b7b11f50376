"""Threads and processes that make rows of a stage, and what is told when they fail."""

from __future__ import annotations

import contextlib
import multiprocessing
import os
import pickle
import queue
import signal
import threading
import time
import traceback
import warnings
from multiprocessing import connection, reduction
from typing import Any

from mindtorch.torch.settings import set_num_threads

from ._blocks import SMALLEST, Blocks, BlockViews
from ._random import own_process
from .config import get_multiprocessing_start_method

__all__ = ["Failure", "Processes", "Threads", "WorkerTraceback"]

_PATIENCE = 2.0  # seconds that a worker has to end by itself


class WorkerTraceback(Exception):
    """The traceback of an error in a worker process, as text."""

    def __str__(self) -> str:
        return f'\n"""\n{self.args[0]}"""'


class Failure:
    """An error of a worker, with its traceback where that is in another process."""

    def __init__(self, error: BaseException, trace: str | None = None) -> None:
        self.error, self.trace = error, trace

    def reraise(self) -> None:
        if self.trace is None:
            raise self.error
        raise self.error from WorkerTraceback(self.trace)


def made(stage: Any, tasks: list[Any]) -> tuple[list[Any] | Failure, float]:
    """(rows of the tasks or what was raised, seconds that it took)."""
    started = time.perf_counter()
    try:
        rows: Any = [stage.perform(task) for task in tasks]
    except Exception as error:
        rows = Failure(error)
    return rows, time.perf_counter() - started


class Threads:
    """Worker threads: ``submit(ticket, tasks)``, then ``receive()`` gives (ticket, rows, seconds).

    ``limit`` is the number of them that may work at once, and can be changed.
    """

    def __init__(self, stage: Any, count: int) -> None:
        self.stage, self.closed, self.limit = stage, False, 0
        self.requests: queue.SimpleQueue[Any] = queue.SimpleQueue()
        self.answers: queue.SimpleQueue[Any] = queue.SimpleQueue()
        self.threads: list[threading.Thread] = []
        self.resize(count)

    def resize(self, count: int) -> None:
        """So many workers from now on."""
        while self.limit < count:
            number = len(self.threads)
            thread = threading.Thread(
                target=_thread_loop, args=(self.stage, self.requests, self.answers),
                name=f"dataset worker {number}", daemon=True,
            )  # fmt: skip
            thread.start()
            self.threads.append(thread)
            self.limit += 1
        while self.limit > count:
            self.requests.put(None)
            self.limit -= 1

    def submit(self, ticket: int, tasks: list[Any]) -> None:
        self.requests.put((ticket, tasks))

    def receive(self, limit: float | None = None) -> tuple[int, Any, float]:
        return self.answers.get(timeout=limit)

    def discard(self) -> None:
        """Forget what no worker has begun."""
        with contextlib.suppress(queue.Empty):
            while True:
                self.requests.get_nowait()
        for _ in range(sum(t.is_alive() for t in self.threads) - self.limit):
            self.requests.put(None)

    def close(self) -> None:
        if self.closed:
            return
        self.closed = True
        with contextlib.suppress(queue.Empty):
            while True:
                self.requests.get_nowait()
        for _ in self.threads:
            self.requests.put(None)


def _thread_loop(stage: Any, requests: Any, answers: Any) -> None:
    while (request := requests.get()) is not None:
        ticket, tasks = request
        answers.put((ticket, *made(stage, tasks)))
        del request, tasks


class _Worker:
    """A worker process as the main process sees it."""

    def __init__(self, context: Any, stage: Any, number: int, others: list[_Worker]) -> None:
        self.number, self.open = number, 0
        self.views = BlockViews()
        self.pipe, end = context.Pipe()
        ours = [self.pipe, *(each.pipe for each in others)]
        inherited = ours if context.get_start_method() == "fork" else []
        self.process = context.Process(
            target=_process_loop, args=(stage, end, number, inherited), daemon=True,
            name=f"dataset worker {number}",
        )  # fmt: skip
        with warnings.catch_warnings():  # a fork of a process with threads is meant
            warnings.simplefilter("ignore", DeprecationWarning)
            self.process.start()
        end.close()


class Processes:
    """Worker processes, with the methods of :class:`Threads`; rows come through shared memory."""

    def __init__(self, stage: Any, count: int) -> None:
        self.context: Any = multiprocessing.get_context(get_multiprocessing_start_method())
        self.stage, self.closed, self.owner = stage, False, os.getpid()
        self.workers: list[_Worker] = []
        self.limit = 0
        self.given: dict[int, _Worker] = {}
        self.resize(count)

    def resize(self, count: int) -> None:
        """So many workers from now on; those above are given nothing."""
        while len(self.workers) < count:
            try:
                worker = _Worker(self.context, self.stage, len(self.workers), self.workers)
            except (pickle.PicklingError, AttributeError, TypeError) as error:
                self.close()
                raise RuntimeError(
                    f"{self.stage.title}: worker processes that are started by "
                    f"{self.context.get_start_method()!r} get the pipeline as a pickle, which "
                    f"cannot be made ({error}). Start them by 'fork' "
                    "(config.set_multiprocessing_start_method), or use threads "
                    "(python_multiprocessing=False)."
                ) from error
            self.workers.append(worker)
        self.limit = count

    def submit(self, ticket: int, tasks: list[Any]) -> None:
        worker = min(self.workers[: self.limit], key=lambda w: w.open)
        released, worker.views.released = list(worker.views.released), worker.views.released
        del worker.views.released[: len(released)]
        try:
            content = pickle.dumps((ticket, tasks, released), 5)
        except (pickle.PicklingError, AttributeError, TypeError) as error:
            raise RuntimeError(
                f"{self.stage.title}: a row cannot be sent to a worker process ({error}); use "
                "threads (python_multiprocessing=False)"
            ) from error
        self.given[ticket] = worker
        worker.open += 1
        try:
            worker.pipe.send_bytes(content)
        except OSError:
            self._died(worker)

    def receive(self, limit: float | None = None) -> tuple[int, Any, float]:
        """(ticket, rows or what was raised, seconds).

        Raises:
            RuntimeError: a worker died.
            queue.Empty: nothing came within ``limit`` seconds.
        """
        busy = {w.pipe: w for w in self.workers if w.open}
        ready = connection.wait(list(busy), timeout=limit)
        if not ready:
            raise queue.Empty
        worker = busy[ready[0]]
        try:
            ticket, content, seconds, place = pickle.loads(worker.pipe.recv_bytes())
            if place is not None and place[2]:
                worker.views.receive(worker.pipe, place[0])
        except (EOFError, OSError):
            self._died(worker)
        worker.open -= 1
        del self.given[ticket]
        rows = pickle.loads(content) if place is None else worker.views.rows(content, *place[:2])
        return ticket, rows, seconds

    def _died(self, worker: _Worker) -> None:
        worker.process.join(_PATIENCE)
        code = worker.process.exitcode
        how = f"exited with code {code}"
        if code is not None and code < 0:
            how = f"was ended by {signal.Signals(-code).name}"
        self.close()
        raise RuntimeError(
            f"Worker process {worker.number} (pid {worker.process.pid}) of {self.stage.title} {how}"
            " before its rows were made."
        )

    def discard(self) -> None:
        """What is begun is finished and dropped."""

    def close(self) -> None:
        if self.closed or self.owner != os.getpid():
            return
        self.closed = True
        for worker in self.workers:
            with contextlib.suppress(OSError):
                worker.pipe.send_bytes(b"")
            worker.pipe.close()
        deadline = time.monotonic() + _PATIENCE
        for worker in self.workers:
            worker.process.join(max(deadline - time.monotonic(), 0))
            if worker.process.is_alive():
                worker.process.kill()
                worker.process.join()


def _reader(pipe: Any, requests: Any, stage: Any) -> None:
    """Take requests off the pipe at once, so that the main process never waits to send one."""
    try:
        while request := pipe.recv_bytes():
            requests.put(request)
    except (EOFError, OSError):
        """Nobody is left who would read."""
    stage.leave_process()
    os._exit(0)


def _process_loop(stage: Any, pipe: Any, number: int, inherited: list[Any]) -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the main process reports it
    for each in inherited:
        each.close()
    set_num_threads(1)
    own_process()
    stage.enter_process(number)
    requests: queue.SimpleQueue[bytes] = queue.SimpleQueue()
    threading.Thread(target=_reader, args=(pipe, requests, stage), daemon=True).start()
    blocks = Blocks()
    while True:
        ticket, tasks, released = pickle.loads(requests.get())
        blocks.free.update(released)
        rows, seconds = made(stage, tasks)
        del tasks
        _send(pipe, ticket, rows, seconds, blocks, f"worker process {number} (pid {os.getpid()})")
        del rows


def _send(pipe: Any, ticket: int, rows: Any, seconds: float, blocks: Blocks, who: str) -> None:
    if isinstance(rows, Failure):
        rows = _portable(rows.error, who)
    buffers: list[Any] = []
    try:
        content = pickle.dumps(rows, 5, buffer_callback=buffers.append)
    except Exception as error:
        error.add_note(f"a row cannot be sent from {who}; use python_multiprocessing=False")
        content, buffers = pickle.dumps(_portable(error, who), 5), []
    place, descriptor = None, None
    if sum(b.raw().nbytes for b in buffers) >= SMALLEST:
        block, parts, descriptor = blocks.put(buffers)
        place = (block, parts, descriptor is not None)
    elif buffers:
        content = pickle.dumps(rows, 5)
    pipe.send_bytes(pickle.dumps((ticket, content, seconds, place), 5))
    if descriptor is not None:
        reduction.send_handle(pipe, descriptor, os.getppid())
        os.close(descriptor)


def _portable(error: BaseException, who: str) -> Failure:
    """An error as the main process can read it: of its type where that can be pickled."""
    trace = f"In {who}:\n" + "".join(traceback.format_exception(error))
    error.__traceback__ = error.__cause__ = error.__context__ = None
    try:
        pickle.loads(pickle.dumps(error))
    except Exception:
        error = RuntimeError(f"{type(error).__name__}: {error}")
    return Failure(error, trace)
