"""What a first run waits for, on standard error: half a minute of silence looks like a hang.

``MINDTORCH_COMPILE_MESSAGES``: ``0`` says nothing, ``1`` says each function wherever standard error
goes. Else a terminal is told once two seconds have gone into compiling, on a line that goes away.
"""

from __future__ import annotations

import os
import sys
import time

_PATIENCE = 2.0  # seconds


class Message:
    """Counts what this process compiles, and says it.

    Attributes:
        done: functions that were compiled.
        seconds: the time that took.
    """

    def __init__(self) -> None:
        self.done = 0
        self.seconds = 0.0
        self._depth = 0
        self._began = 0.0
        self._shown = False

    def begin(self, name: str) -> None:
        """A function is being compiled; those that it calls may come meanwhile."""
        now = time.monotonic()
        if not self._depth:
            self._began = now
        self._depth += 1
        self._say(name, self.seconds + now - self._began)

    def end(self) -> None:
        """The function that began last is compiled, or cannot be."""
        self._depth -= 1
        self.done += 1
        if not self._depth:
            self.seconds += time.monotonic() - self._began
            if self._shown:
                self._shown = False
                print("\r\x1b[K", end="", file=sys.stderr, flush=True)

    def _say(self, name: str, seconds: float) -> None:
        asked = os.environ.get("MINDTORCH_COMPILE_MESSAGES")
        if asked == "0" or sys.stderr is None:
            return
        terminal = sys.stderr.isatty()
        if asked != "1" and (not terminal or seconds < _PATIENCE):
            return
        text = (
            f"mindtorch: compiling {name}, once for this machine; "
            f"{self.done} kernels before it took {seconds:.0f} s"
        )
        self._shown = terminal
        begin, end = ("\r\x1b[K", " ") if terminal else ("", "\n")
        print(f"{begin}{text}", end=end, file=sys.stderr, flush=True)


message = Message()
