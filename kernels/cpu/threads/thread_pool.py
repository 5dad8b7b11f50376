"""One thread count for BLAS and for our own kernels, and the pool that runs pieces of a loop."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable
from queue import SimpleQueue
from typing import Any

import numpy as np

from mindtorch.kernels.support import fork_safe_lock

Part = Callable[[int, int], None]
Bell = SimpleQueue[None]
_MANNERS = 4000  # cycles in which a thread that gave a piece comes to its own one
_count: int | None = None


class _Worker:
    """A thread that runs one piece after another, for one thread that gives them."""

    def __init__(self, number: int) -> None:
        from .spin_barrier import Meeting  # with numba, which not every import needs

        self._meeting = Meeting(_MANNERS * (number + 1))
        self._piece: tuple[Part, int, int] | None = None
        self._error: BaseException | None = None
        self._at_work = False
        self._bell: Bell = SimpleQueue()  # rings when the worker has to wake up
        self._ended: Bell = SimpleQueue()  # rings when who waits for it has to
        thread = threading.Thread(target=self._serve, name=f"mindtorch-{number}", daemon=True)
        thread.start()

    def run(self, part: Part, start: int, stop: int) -> None:
        """Begin with a piece."""
        if self._at_work:  # an interrupt has kept somebody from waiting for the last one
            self.end()
        self._at_work = True
        self._give((part, start, stop))

    def end(self) -> BaseException | None:
        """Wait until the piece is done; what it raised."""
        interrupt: BaseException | None = None
        while self._at_work:
            try:
                while self._meeting.fetch():
                    self._ended.get()
                self._at_work = False
            except BaseException as error:  # the piece must not be left at work
                interrupt = error
        found, self._error = self._error, None
        return interrupt or found

    def leave(self) -> None:
        self._give(None)

    def _give(self, piece: tuple[Part, int, int] | None) -> None:
        self._piece = piece
        asleep = True
        try:
            asleep = self._meeting.give()
        finally:
            if asleep:
                self._bell.put(None)

    def _serve(self) -> None:
        _inside.here = True
        self._rest(first=True)
        while self._piece is not None:
            part, start, stop = self._piece
            try:
                part(start, stop)
            except BaseException as error:  # raised again in the thread that waits for it
                self._error = error
            del part
            self._piece = None
            self._rest()

    def _rest(self, first: bool = False) -> None:
        """Say that the last piece is done, and wait for the next one."""
        meeting = self._meeting
        found = meeting.rest(first)
        while found != meeting.there:
            if found == meeting.asleep:
                self._bell.get()
            else:
                self._ended.put(None)
            found = meeting.rest(first=True)


_workers: list[_Worker] = []
_taken = fork_safe_lock.lock()  # by the thread whose pieces the workers run


class _Local(threading.local):
    """What is said of one thread.

    Attributes:
        limit: how many threads the kernels that it calls may use; 0: as the process is set to.
    """

    limit = 0


_inside = _Local()


def available_cores() -> int:
    """How many cores this process may run on."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def get_num_threads() -> int:
    """The thread count: what was set, else OMP_NUM_THREADS, else one for each core."""
    global _count
    if _inside.limit:
        return _inside.limit
    if _count is None:
        given = os.environ.get("OMP_NUM_THREADS", "")
        _count = int(given) if given.isdigit() and int(given) > 0 else available_cores()
    return _count


def limit_of_this_thread(count: int) -> int:
    """Let kernels that this thread calls use ``count`` threads, 0: as the process is set to; what
    it was before. Packages' own libraries stay as they are."""
    before, _inside.limit = _inside.limit, count
    return before


def set_num_threads(count: int) -> None:
    """Let kernels and BLAS use ``count`` threads."""
    global _count
    if count == _count:
        return
    _count = count
    while len(_workers) > count - 1:
        _workers.pop().leave()
    from ..matrix_products import openblas  # with numba, which not every import needs

    openblas.set_threads_of_packages(count)


def parallel_for(size: int, part: Part, smallest: int = 1) -> None:
    """Call ``part(start, stop)`` on pieces of ``range(size)``, one for each thread.

    ``part`` must release the interpreter lock (compiled kernels do) to gain anything. Each piece
    has a thread of its own, the last one the calling thread; when all have ended, an exception in
    any of them is raised here. A piece that calls this itself runs its loop alone.
    """
    pieces = min(get_num_threads(), size // max(smallest, 1))
    if pieces <= 1 or getattr(_inside, "here", False):
        part(0, size)
        return
    if not _taken.acquire(blocking=False):  # the workers are another thread's
        part(0, size)
        return
    try:
        while len(_workers) < pieces - 1:
            _workers.append(_Worker(len(_workers)))
        workers = _workers[: pieces - 1]
        bounds = [size * i // pieces for i in range(pieces + 1)]
        for i, worker in enumerate(workers):
            worker.run(part, bounds[i], bounds[i + 1])
        try:
            part(bounds[-2], bounds[-1])
        finally:
            errors = [worker.end() for worker in workers]
    finally:
        _taken.release()
    for error in errors:
        if error is not None:
            raise error


def parallel_sum(size: int, part: Callable[[int, int], Any]) -> Any:
    """The sum of the arrays that ``part(start, stop)`` makes of pieces of ``range(size)``, one for
    each thread: added to the first of them in their order, whichever is ready first."""
    held: dict[int, Any] = {}

    def piece(start: int, stop: int) -> None:
        held[start] = part(start, stop)

    parallel_for(size, piece)
    total = held.pop(0)
    with np.errstate(all="ignore"):  # what a sum has no use for may be anything
        for start in sorted(held):
            total += held[start]
    return total


def _forget_workers() -> None:
    """A forked child has none of its parent's threads."""
    _workers.clear()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forget_workers)
