"""The worker processes of one iterator, as the main process sees them."""

from __future__ import annotations

import contextlib
import multiprocessing
import os
import time
import warnings
from multiprocessing import connection
from typing import Any

from ._worker import STATUS_CHECK, Results, worker_loop


class Team:
    """Worker processes, the queues to them, and the way to end them.

    It knows nothing of the iterator that uses it, so that a finalizer of the iterator can hold it.
    """

    def __init__(self, context: Any, count: int, facts: dict[str, Any]) -> None:
        fork = os.environ.get("ENABLE_FORK_UTILS") != "0"  # MindTorch's switch
        self.context = context or multiprocessing.get_context(None if fork else "spawn")
        self.owner = os.getpid()
        self.closed = False
        self.results = Results(ctx=self.context)
        stopped, stop = self.context.Pipe(duplex=False)
        self._stop: Any = stop
        self.requests: list[Any] = []
        self.workers: list[Any] = []
        for number in range(count):
            requests = self.context.Queue()
            requests.cancel_join_thread()  # a dead worker reads no more: do not wait for it
            worker = self.context.Process(
                target=worker_loop,
                args=(facts, requests, self.results, (stopped, stop), number, self.owner),
                daemon=True,
            )
            with warnings.catch_warnings():  # a fork of a process with threads is meant
                warnings.simplefilter("ignore", DeprecationWarning)
                worker.start()
            self.requests.append(requests)
            self.workers.append(worker)
        stopped.close()

    def receive(self, busy: list[bool], limit: float) -> Any:
        """The next answer of any worker.

        Args:
            busy: for each worker, whether an answer of it may be awaited.
            limit: seconds to wait; 0 waits as long as the workers live.

        Raises:
            RuntimeError: a busy worker died, or the time is over.
        """
        deadline = time.monotonic() + limit if limit else None
        reader = self.results._reader  # type: ignore[attr-defined]
        sentinels = [w.sentinel for w, is_busy in zip(self.workers, busy, strict=True) if is_busy]
        while True:
            wait = STATUS_CHECK
            if deadline is not None:
                wait = min(wait, max(deadline - time.monotonic(), 0.001))
            ready = connection.wait([reader, *sentinels], timeout=wait)
            if reader in ready:
                try:
                    return self.results.get()
                except (ConnectionError, FileNotFoundError, EOFError):
                    # its memory cannot be asked for any more
                    self._check_alive([True] * len(self.workers))
                    raise
            if ready:
                self._check_alive(busy)
            if deadline is not None and time.monotonic() >= deadline:
                self.close(patience=0)
                raise RuntimeError(f"DataLoader timed out after {limit} seconds")

    def _check_alive(self, busy: list[bool]) -> None:
        dead = [
            w for w, is_busy in zip(self.workers, busy, strict=True)
            if is_busy and not w.is_alive()
        ]  # fmt: skip
        if dead:
            pids = ", ".join(str(w.pid) for w in dead)
            self.close()
            raise RuntimeError(f"DataLoader worker (pid(s) {pids}) exited unexpectedly")

    def close(self, patience: float = STATUS_CHECK) -> None:
        """End the workers; those that take longer than ``patience`` seconds are killed."""
        if self.closed or self.owner != os.getpid():
            return
        self.closed = True
        with contextlib.suppress(BrokenPipeError):  # nobody is left
            self._stop.send_bytes(b"stop")
        deadline = time.monotonic() + patience
        for worker in self.workers:
            worker.join(timeout=max(deadline - time.monotonic(), 0))
            if worker.is_alive():
                worker.terminate()
                worker.join(timeout=1)
                worker.kill()  # also one that was stopped, and one that holds the signal
                worker.join()
        self._stop.close()
        self.results.cancel_join_thread()
        for queue in (self.results, *self.requests):
            queue.close()
