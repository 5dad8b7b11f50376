"""A process's connection to the server: requests and answers, in turn."""

from __future__ import annotations

import os
import socket
import threading
import weakref
from collections.abc import Sequence
from typing import Any

import mindtorch

from .layout import PROTOCOL
from .messages import receive, send
from .places import server_file

__all__ = ["Connection", "RefusedError", "UnreachableError"]

_ANSWER_SECONDS = 60.0


class UnreachableError(Exception):
    """There is no server, or it ended."""


class RefusedError(Exception):
    """The server does not do what was asked.

    Attributes:
        kind: "session", "spilling", "settings", "version" or "protocol".
    """

    def __init__(self, kind: str, text: str) -> None:
        super().__init__(text)
        self.kind = kind


class Connection:
    """A connection to the server of a port.

    Raises:
        UnreachableError: no server answers.
        RefusedError: it is of another protocol.
    """

    def __init__(self, port: int) -> None:
        self.port = port
        self._lock = threading.Lock()
        self._socket = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        weakref.finalize(self, self._socket.close).atexit = False  # rows are sent at the end, too
        self._socket.settimeout(_ANSWER_SECONDS)
        try:
            self._socket.connect(os.fspath(server_file(port, "socket")))
            answer, _ = self.ask(
                {"kind": "hello", "protocol": PROTOCOL, "version": mindtorch.__version__}
            )
        except OSError as error:
            self.close()
            raise UnreachableError(str(error)) from None
        except BaseException:
            self.close()
            raise
        self.instance = str(answer["instance"])

    def close(self) -> None:
        """End the connection."""
        self._socket.close()

    def ask(
        self, header: dict[str, Any], payload: Sequence[Any] = ()
    ) -> tuple[dict[str, Any], list[int]]:
        """The answer to a request, and the descriptors that came with it.

        Raises:
            UnreachableError: the server ended, or does not answer.
            RefusedError: it says no.
        """
        with self._lock:
            try:
                send(self._socket, header, payload)
                frame = receive(self._socket)
            except OSError as error:  # also FrameError, and a time that is over
                self.close()
                raise UnreachableError(str(error) or type(error).__name__) from None
            if frame is None:
                self.close()
                raise UnreachableError("the server closed the connection")
        answer, _, descriptors = frame
        if "refused" in answer:
            raise RefusedError(answer["refused"], answer["text"])
        return answer, descriptors
