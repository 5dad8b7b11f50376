"""Handlers of signals wait until a kernel is compiled.

One that raises in the middle (Ctrl-C, a timer) would leave numba with half of what it was making:
a registry that can never be read to its end, or machine code without the object it belongs to.
"""

from __future__ import annotations

import contextlib
import os
import signal
import threading
from collections.abc import Iterator
from typing import Any


class _Held:
    """The handlers that wait, and the signals that came meanwhile.

    A handler put back too late would be lost to the program, so what stands in its place calls it
    as soon as nothing is held any more.
    """

    def __init__(self) -> None:
        self.depth = 0
        self._came: list[int] = []

    def begin(self) -> dict[int, Any]:
        found = {number: signal.getsignal(number) for number in signal.valid_signals()}
        handlers: dict[int, Any] = {n: each for n, each in found.items() if callable(each)}
        try:
            for number, handler in handlers.items():
                signal.signal(number, self._instead_of(handler))
            self.depth = 1
        except BaseException:  # one that came before its handler was replaced
            self.end(handlers)
            raise
        return handlers

    def _instead_of(self, handler: Any) -> Any:
        def noted(number: int, frame: Any) -> Any:
            if not self.depth:
                return handler(number, frame)
            if number not in self._came:
                self._came.append(number)

        return noted

    def end(self, handlers: dict[int, Any]) -> None:
        self.depth = 0
        for number, handler in handlers.items():
            signal.signal(number, handler)
        self.deliver()

    def forget(self) -> None:
        """A child that another thread has forked holds nothing."""
        self.depth = 0
        self._came.clear()

    def deliver(self) -> None:
        """Let the handlers of what came run now."""
        if self._came:
            try:
                signal.raise_signal(self._came.pop(0))
            finally:
                self.deliver()


_held = _Held()
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_held.forget)


@contextlib.contextmanager
def held() -> Iterator[None]:
    """Signals' handlers run when the outermost of these blocks ends; in the main thread, where
    alone they run."""
    if _held.depth or threading.current_thread() is not threading.main_thread():
        yield
        return
    handlers = _held.begin()
    try:
        yield
    finally:
        _held.end(handlers)


def let_in() -> None:
    """Let the handlers of signals that came run here, in the middle of a block."""
    if _held.depth and threading.current_thread() is threading.main_thread():
        _held.depth = 0
        try:
            _held.deliver()
        finally:
            _held.depth = 1
