"""What a program and a front end in another process say to each other: lines of JSON.

The program connects, and says `hello`. It says `stopped` with where it stands, and answers requests
until one of `RESUMING` lets it go on. A front end sends requests, each with an `id` that is in its
reply. Either may end the connection: the program then runs on.
"""

from __future__ import annotations

import contextlib
import json
import os
import socket
import threading
from typing import Any

__all__ = [
    "DEFAULT_PORT", "ENABLE", "HOST", "LEVELS", "PORT", "RESUMING", "TOKEN", "Lines",
    "ObservationError", "asked_for", "is_local",
]  # fmt: skip

ENABLE, HOST, PORT = "ENABLE_MS_DEBUGGER", "MS_DEBUGGER_HOST", "MS_DEBUGGER_PORT"
TOKEN = "MINDTORCH_DEBUGGER_TOKEN"
DEFAULT_PORT = 50051
RESUMING = frozenset(["continue", "step", "node", "terminate"])
LEVELS = ("steps", "modules", "ops")
_LONGEST = 16 * 2**20  # bytes of a line


class ObservationError(Exception):
    """A script cannot be observed as it was asked for; the text says why."""


def asked_for() -> bool:
    """Whether the environment asks for a debugger that listens elsewhere."""
    return os.environ.get(ENABLE, "").strip().lower() in ("1", "true", "on")


def is_local(host: str) -> bool:
    """Whether a host's name is this machine's own loopback."""
    return host in ("localhost", "::1") or host.startswith("127.")


class Lines:
    """A socket that lines of JSON go through. Several threads may send."""

    def __init__(self, connection: socket.socket) -> None:
        self._socket = connection
        self._reader = connection.makefile("rb")
        self._lock = threading.Lock()

    def send(self, message: dict[str, Any]) -> bool:
        """Whether the other side was still there."""
        data = json.dumps(message).encode() + b"\n"
        try:
            with self._lock:
                self._socket.sendall(data)
        except OSError:
            return False
        return True

    def receive(self) -> dict[str, Any] | None:
        """The next message; None where there will be no more, or what came is none."""
        try:
            line = self._reader.readline(_LONGEST)
            message = json.loads(line) if line.endswith(b"\n") else None
        except (OSError, ValueError):
            message = None
        if isinstance(message, dict):
            return message
        with contextlib.suppress(OSError):
            self._reader.close()
        return None

    def close(self) -> None:
        with contextlib.suppress(OSError):
            self._socket.shutdown(socket.SHUT_RDWR)
        self._socket.close()

    def let_go(self) -> None:
        """Close this process's copy alone: the connection is another one's."""
        number = self._socket.detach()
        if number >= 0:
            os.close(number)
