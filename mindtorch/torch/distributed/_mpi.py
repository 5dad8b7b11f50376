"""MPI, through mpi4py: whether it is there, and how it starts.

MPI starts once in a process. Under mpiexec its process manager is mpiexec's; in other processes it
is the store (`_process_manager.py`). Importing this module imports no MPI.
"""

from __future__ import annotations

import contextlib
import ctypes
import importlib.util
import os
import secrets
import socket
import threading
from collections.abc import Callable
from concurrent.futures import Future
from concurrent.futures import TimeoutError as FutureTimeout
from datetime import timedelta
from functools import cache
from typing import Any

from ._errors import DistStoreError
from ._process_manager import ProcessManager
from ._store import Store

__all__ = [
    "address_of_test", "available", "communicator", "finish", "launched", "must_finish", "share"
]  # fmt: skip

# what mpiexec tells a process: (rank, number of processes), of MPICH and of Open MPI
_LAUNCHERS = (("PMI_RANK", "PMI_SIZE"), ("OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE"))
_finished_by_us = False
_job = "mpiexec"


@cache
def available() -> bool:
    """Whether mpi4py and an MPI library for it are installed.

    Asking loads no MPI: a program that imports mpi4py itself finds it as it always does, started.
    """
    try:
        return importlib.util.find_spec("mpi4py.MPI") is not None
    except (ImportError, RuntimeError, OSError):
        return False


def _module() -> Any:
    import mpi4py

    mpi4py.rc.initialize = False
    mpi4py.rc.finalize = False
    from mpi4py import MPI

    return MPI


def launched() -> tuple[int, int] | None:
    """Rank and number of processes, when mpiexec has started this process."""
    for rank, size in _LAUNCHERS:
        if rank in os.environ and size in os.environ:
            return int(os.environ[rank]), int(os.environ[size])
    return None


def _start() -> Any:
    """The module mpi4py.MPI, started; MPI_Init runs without the interpreter lock."""
    global _finished_by_us
    mpi = _module()
    if not mpi.Is_initialized():
        got = ctypes.c_int()
        library = ctypes.CDLL(mpi.__file__)
        code = library.MPI_Init_thread(None, None, mpi.THREAD_MULTIPLE, ctypes.byref(got))
        if code or got.value != mpi.THREAD_MULTIPLE:
            raise RuntimeError(f"MPI_Init_thread failed: code {code}, thread level {got.value}")
        mpi.COMM_WORLD.Set_errhandler(mpi.ERRORS_RETURN)
        _finished_by_us = True
    return mpi


@cache
def address_of_test() -> int:
    """Where MPI_Test is, in a process that has MPI."""
    library = ctypes.CDLL(_module().__file__)
    return ctypes.cast(library.MPI_Test, ctypes.c_void_p).value or 0


def share(value: Any, timeout: timedelta) -> list[Any]:
    """Under mpiexec: the values of all processes, in all of them."""
    return list(_within(timeout, lambda: _start().COMM_WORLD.allgather(value)))


def _within(timeout: timedelta, function: Callable[[], Any]) -> Any:
    """The result of what MPI cannot give up; the thread stays in it when it does not come back."""
    done: Future[Any] = Future()

    def work() -> None:
        try:
            done.set_result(function())
        except BaseException as error:
            done.set_exception(error)

    threading.Thread(target=work, name="start of MPI", daemon=True).start()
    seconds = timeout.total_seconds()
    try:
        return done.result(seconds)
    except FutureTimeout:
        if done.done():
            raise
    rank, size = launched() or (os.environ.get("RANK", "?"), os.environ.get("WORLD_SIZE", "?"))
    raise DistStoreError(
        f"Timed out after {seconds:g} seconds waiting for clients: rank {rank} of {size} is in "
        "init_process_group, others did not come; they have ended or hang before it"
    )


def _offer(rank: int, size: int) -> str:
    """What this process can do: "none", "new" (MPI may start) or "started/<job>" (and fits)."""
    if os.environ.get("MINDTORCH_DISTRIBUTED") == "sockets" or not available():
        return "none"
    try:
        mpi = _module()
    except (ImportError, RuntimeError, OSError):
        return "none"
    if mpi.Is_finalized():
        return "none"
    if mpi.Is_initialized() or launched() is not None:
        world = _start().COMM_WORLD
        fits = mpi.Query_thread() == mpi.THREAD_MULTIPLE
        return f"started/{_job}" if fits and (world.rank, world.size) == (rank, size) else "none"
    return "new"


def communicator(store: Store, rank: int, size: int, timeout: timedelta) -> Any:
    """A communicator of all processes of the store; None when not all of them can have MPI."""
    global _job
    if size == 1:
        return None
    store.set(f"mpi/offer/{rank}", f"{_offer(rank, size)} {socket.gethostname()}")
    offers = [store.get(f"mpi/offer/{r}").decode().split() for r in range(size)]
    kinds = {kind for kind, _ in offers}
    if kinds == {"new"}:
        if rank == 0:
            store.set("mpi/job", secrets.token_hex(8))
        _job = store.get("mpi/job").decode()
        with ProcessManager(store, _job, rank, size, [host for _, host in offers]):
            return _within(timeout, _world)
    if len(kinds) == 1 and "none" not in kinds:
        return _within(timeout, _world)
    return None


def _world() -> Any:
    """A copy of MPI's world, made by all processes together.

    All of them have opened MPI's shared memory then, so its name can go, and none stays behind
    when processes are killed.
    """
    copy = _start().COMM_WORLD.Dup()
    paths: set[str] = set()
    with contextlib.suppress(FileNotFoundError), open("/proc/self/maps") as maps:
        paths = {line.split()[-1] for line in maps if "/dev/shm/mpich" in line}
    for path in paths:
        with contextlib.suppress(OSError):
            os.unlink(path)
    return copy


def must_finish() -> bool:
    """Whether mpiexec expects MPI_Finalize of us, and would take an exit without it as failure."""
    if not _finished_by_us or launched() is None:
        return False
    mpi = _module()
    return bool(mpi.Is_initialized() and not mpi.Is_finalized())


def finish() -> None:
    """MPI_Finalize, which waits for all processes."""
    _module().Finalize()
