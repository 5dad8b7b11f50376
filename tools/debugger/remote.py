"""A program under the debugger whose front end is another process: a terminal, or the page."""

from __future__ import annotations

import os
import queue
import socket
import sys
import threading
import weakref
from typing import Any

from .dump import write_dump
from .protocol import DEFAULT_PORT, HOST, PORT, RESUMING, TOKEN, Lines
from .requests import Requests
from .session import Debugger, Stop, TerminatedError
from .tensor_view import Reference

__all__ = ["RemoteFront"]

_SECONDS = 10.0  # to connect


class RemoteFront:
    """Asks the front end at the other end of a connection. Where that ends, the program runs on.

    Args:
        script: its name, for those who look.
        reference: what PyTorch had.

    Raises:
        ConnectionError: nobody listens there.
    """

    def __init__(self, script: str, reference: Reference | None = None) -> None:
        host = os.environ.get(HOST) or "127.0.0.1"
        port = int(os.environ.get(PORT) or DEFAULT_PORT)
        try:
            connection = socket.create_connection((host, port), _SECONDS)
        except OSError as error:
            raise ConnectionError(
                f"no debugger listens at {host}:{port} ({error}); start `mindtorch debugger`"
            ) from None
        connection.settimeout(None)
        self.lines = Lines(connection)
        self.reference = reference
        self.requests: Requests | None = None
        self.waiting: queue.Queue[dict[str, Any] | None] = queue.Queue()
        self._session: Debugger | None = None
        self.lines.send({
            "event": "hello", "token": os.environ.get(TOKEN, ""), "pid": os.getpid(),
            "script": script, "rank": int(os.environ.get("RANK") or 0),
            "world": int(os.environ.get("WORLD_SIZE") or 1),
        })  # fmt: skip
        # A copy of the connection in a worker of a loader would keep it open.
        lines = weakref.ref(self.lines)
        os.register_at_fork(after_in_child=lambda: _let_go(lines()))
        threading.Thread(target=self._read, daemon=True, name="debugger").start()

    def _read(self) -> None:
        while (message := self.lines.receive()) is not None:
            if message.get("do") == "pause" and self._session is not None:
                self._session.pause_requested = True
            self.waiting.put(message)
        self.waiting.put(None)

    def _begin(self, session: Debugger) -> Requests:
        self._session = session
        if self.requests is None:
            self.requests = Requests(session, self.reference, write_dump)
        return self.requests

    def _answer(self, requests: Requests, message: dict[str, Any]) -> bool:
        """Whether the program may go on."""
        number = message.get("id")
        try:
            reply = requests.answer(message)
        except TerminatedError:
            self.lines.send({"id": number, "reply": {}})
            self.lines.close()
            raise
        self.lines.send({"id": number, "reply": reply})
        return message.get("do") in RESUMING and "error" not in reply

    def stopped(self, session: Debugger, stop: Stop) -> None:
        requests = self._begin(session)
        sys.stdout.flush()
        self.lines.send({"event": "stopped", "stop": stop.described()})
        while True:
            message = self.waiting.get()
            if message is None:
                self._gone(session)
                return
            if self._answer(requests, message):
                return

    def poll(self, session: Debugger) -> None:
        requests = self._begin(session)
        while not self.waiting.empty():
            message = self.waiting.get()
            if message is None:
                self._gone(session)
                return
            if message.get("do") in RESUMING - {"terminate"}:
                self.lines.send({"id": message.get("id"), "reply": {"error": "it is running"}})
            else:
                self._answer(requests, message)

    def _gone(self, session: Debugger) -> None:
        print("mindtorch: the debugger has gone; the program runs on", file=sys.stderr)
        self.lines.close()
        session.detach()

    def close(self) -> None:
        """Leave."""
        self.lines.close()


def _let_go(lines: Lines | None) -> None:
    if lines is not None:
        lines.let_go()
