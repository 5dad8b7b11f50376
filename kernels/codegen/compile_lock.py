"""Processes that share a directory of kernels compile each of them once.

A process that is about to compile holds the lock of a file beside the one it will write; others
wait for that, and then find the kernel. The system drops a dead process's lock.
"""

from __future__ import annotations

import contextlib
import os
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, ClassVar

from .signal_guard import let_in

try:
    import fcntl
except ImportError:  # not on Windows: each process compiles for itself there
    fcntl = None  # type: ignore[assignment]

PATIENCE = 60.0  # seconds until a process that holds a lock is taken for stopped
_PAUSE = 0.003


class Busy(Exception):
    """Another process is compiling the kernel."""


class Compiling:
    """What happens when this process is about to compile.

    Attributes:
        begins: called before a kernel is compiled; helping processes start there.
        waits: called while another process compiles what is needed here: compiles something else,
            or says False.
        expected: functions that each compile a kernel that no graph names and that will be needed,
            by what it is.
        patience: seconds to wait for a process that compiles the same kernel.
    """

    begins: Callable[[], None] | None = None
    waits: Callable[[], bool] | None = None
    expected: ClassVar[dict[Any, Callable[[], Any]]] = {}
    patience = PATIENCE


class Claim:
    """The right to compile what ``path`` will hold, until :meth:`release`.

    Where no lock can be had (a folder that cannot be written) there is none, and no waiting.

    Args:
        path: the file that is written in the end.
        wait: seconds to wait for another process; :attr:`refused` says that it was in vain.
        alone: no other kernel is being compiled around this one, so signals may end the waiting.
    """

    def __init__(self, path: Path, wait: float = PATIENCE, alone: bool = False) -> None:
        self.refused = False
        self._alone = alone
        self._name = f"{path}.lock"
        self._file = -1
        if fcntl is None:
            return
        with contextlib.suppress(OSError):
            self._file = os.open(self._name, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o666)
        if self._file >= 0:
            self._take(time.monotonic() + wait)

    def _take(self, end: float) -> None:
        try:
            while not self._taken():
                if time.monotonic() >= end:
                    self.refused = True
                    return
                if not (self._alone and Compiling.waits is not None and Compiling.waits()):
                    time.sleep(_PAUSE)
                if self._alone:
                    let_in()
        except BaseException:  # a signal's handler
            self.refused = True
            self.release()
            raise

    def _taken(self) -> bool:
        try:
            fcntl.flock(self._file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return False
        except OSError:  # a folder without locks
            return True
        return True

    def release(self) -> None:
        """Let others go on."""
        if self._file < 0:
            return
        with contextlib.suppress(OSError):
            if not self.refused:
                os.unlink(self._name)
        with contextlib.suppress(OSError):
            if not self.refused:
                fcntl.flock(self._file, fcntl.LOCK_UN)
            os.close(self._file)
        self._file = -1
