"""One thread count for BLAS and for our own kernels, and the pool that runs pieces of a loop."""

from __future__ import annotations

import os
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

_count: int | None = None
_pool: ThreadPoolExecutor | None = None


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
    global _count, _pool
    if count == _count:
        return
    _count = count
    if _pool is not None:
        _pool.shutdown(wait=True)
        _pool = None
    from . import blas

    blas.set_threads(count)


def parallel_for(size: int, part: Callable[[int, int], None], smallest: int = 1) -> None:
    """Call ``part(start, stop)`` on pieces of ``range(size)``, one for each thread.

    ``part`` must release the interpreter lock (compiled kernels do) to gain anything. The last
    piece runs on the calling thread; an exception in any piece is raised here.
    """
    global _pool
    pieces = min(get_num_threads(), max(size // max(smallest, 1), 1))
    if pieces <= 1:
        part(0, size)
        return
    if _pool is None:
        _pool = ThreadPoolExecutor(get_num_threads() - 1, thread_name_prefix="mindtorch")
    bounds = [size * i // pieces for i in range(pieces + 1)]
    waiting = [_pool.submit(part, bounds[i], bounds[i + 1]) for i in range(pieces - 1)]
    part(bounds[-2], bounds[-1])
    for piece in waiting:
        piece.result()


def _forget_pool() -> None:
    """A forked child has none of its parent's threads."""
    global _pool
    _pool = None


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forget_pool)
