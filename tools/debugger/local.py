"""A program under the debugger whose front end is the terminal that it runs in."""

from __future__ import annotations

import signal
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, TextIO

from .dump import write_dump
from .requests import Requests
from .session import Debugger, Stop
from .tensor_view import Reference
from .terminal import Terminal

__all__ = ["LocalFront", "pausing"]


class LocalFront:
    """Asks in the terminal; where its input has ended the program runs on.

    Args:
        reference: what PyTorch had.
        output, source: of the terminal.
    """

    def __init__(
        self, reference: Reference | None = None, output: TextIO | None = None,
        source: TextIO | None = None,
    ) -> None:  # fmt: skip
        self.reference = reference
        self.terminal = Terminal(self._ask, output, source)
        self.requests: Requests | None = None

    def _ask(self, request: dict[str, Any]) -> dict[str, Any]:
        assert self.requests is not None
        return self.requests.answer(request)

    def stopped(self, session: Debugger, stop: Stop) -> None:
        if self.requests is None or self.requests.session is not session:
            self.requests = Requests(session, self.reference, write_dump)
        sys.stdout.flush()
        self.terminal.run(stop.described())
        if self.terminal.gone:
            self.terminal.say("the input has ended: the program runs on without the debugger")
            session.detach()

    def poll(self, session: Debugger) -> None:
        """Nobody asks while the program runs."""


@contextmanager
def pausing(session: Debugger) -> Iterator[None]:
    """The first Ctrl+C stops the program at its next module or step, a second one interrupts it."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = signal.getsignal(signal.SIGINT)

    def interrupted(number: int, frame: Any) -> None:
        if session.inside or session.pause_requested or session.detached:
            raise KeyboardInterrupt
        session.pause_requested = True
        print("mindtorch: pausing; Ctrl+C again interrupts", file=sys.stderr)

    signal.signal(signal.SIGINT, interrupted)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)
