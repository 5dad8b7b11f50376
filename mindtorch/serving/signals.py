"""Signals for the main thread, to whichever thread the system gives them."""

from __future__ import annotations

import signal
import socket
import threading
import time
from collections.abc import Callable, Iterable

__all__ = ["Signals"]

AGAIN = 0.1  # seconds until a signal that nobody has followed comes again


class Signals:
    """Gives signals to the main thread again and again. One that another thread has taken, or that
    came just before a wait for a lock, does not wake it. Where somebody's loop in the main thread
    looks after signals, nothing is done. For the main thread to make.

    Args:
        numbers: the signals, which have handlers.
        are_due: whether a signal that has come has not been followed yet.
    """

    def __init__(self, numbers: Iterable[int], are_due: Callable[[], bool]) -> None:
        self._numbers = frozenset(numbers)
        self._are_due = are_due
        self._here, self._there = socket.socketpair()
        self._there.setblocking(False)
        before = signal.set_wakeup_fd(self._there.fileno(), warn_on_full_buffer=False)
        self.is_on = before == -1
        if self.is_on:
            threading.Thread(target=self._run, name="signals", daemon=True).start()
        else:
            signal.set_wakeup_fd(before)
            self._here.close()
            self._there.close()

    def _run(self) -> None:
        main = threading.main_thread().ident
        assert main is not None
        while come := self._here.recv(64):  # what Python's handler in C writes
            for number in self._numbers.intersection(come):
                time.sleep(AGAIN)
                if self._are_due():
                    signal.pthread_kill(main, number)
        self._here.close()

    def close(self) -> None:
        """Leave signals alone from now on. Other threads than the main one cannot do that, and what
        Python writes to stays open."""
        if self.is_on and threading.current_thread() is threading.main_thread():
            signal.set_wakeup_fd(-1)
            self.is_on = False
            self._there.close()  # ends the thread
