"""One thread count for BLAS and for our own kernels, and the pool that runs pieces of a loop."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable
from queue import SimpleQueue

Part = Callable[[int, int], None]
Ends = SimpleQueue[BaseException | None]

_count: int | None = None


class _Worker:
    """A thread that runs pieces, one after another, and reports each piece's exception or None."""

    def __init__(self, number: int) -> None:
        self._pieces: SimpleQueue[tuple[Part, int, int, Ends] | None]
        self._pieces = SimpleQueue()
        thread = threading.Thread(target=self._serve, name=f"mindtorch-{number}", daemon=True)
        thread.start()

    def run(self, part: Part, start: int, stop: int, ends: Ends) -> None:
        self._pieces.put((part, start, stop, ends))

    def leave(self) -> None:
        self._pieces.put(None)

    def _serve(self) -> None:
        _inside.here = True
        while (piece := self._pieces.get()) is not None:
            part, start, stop, ends = piece
            try:
                part(start, stop)
            except BaseException as error:  # raised again in the thread that waits for it
                ends.put(error)
            else:
                ends.put(None)
            del part, piece, ends


_workers: list[_Worker] = []
_inside = threading.local()


def available_cores() -> int:
    """How many cores this process may run on."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def get_num_threads() -> int:
    """The thread count: what was set, else OMP_NUM_THREADS, else one for each core."""
    global _count
    if _count is None:
        given = os.environ.get("OMP_NUM_THREADS", "")
        _count = int(given) if given.isdigit() and int(given) > 0 else available_cores()
    return _count


def set_num_threads(count: int) -> None:
    """Let kernels and BLAS use ``count`` threads."""
    global _count
    if count == _count:
        return
    _count = count
    while len(_workers) > count - 1:
        _workers.pop().leave()
    from . import blas

    blas.set_threads(count)
    blas.set_threads_of_packages(count)


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
    while len(_workers) < pieces - 1:
        _workers.append(_Worker(len(_workers)))
    ends: Ends = SimpleQueue()
    bounds = [size * i // pieces for i in range(pieces + 1)]
    for i in range(pieces - 1):
        _workers[i].run(part, bounds[i], bounds[i + 1], ends)
    try:
        part(bounds[-2], bounds[-1])
    finally:
        errors = [ends.get() for _ in range(pieces - 1)]
    for error in errors:
        if error is not None:
            raise error


def _forget_workers() -> None:
    """A forked child has none of its parent's threads."""
    _workers.clear()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forget_workers)
