"""Where programs under the debugger report: one process for each rank, or several programs."""

from __future__ import annotations

import contextlib
import hmac
import itertools
import queue
import socket
import threading
from typing import Any

from .protocol import Lines, is_local

__all__ = ["Hub", "Training"]

_SECONDS = 30.0  # for a reply
_HELLO_SECONDS = 10.0


class Training:
    """One process under the debugger.

    Attributes:
        facts: its rank, world, pid and script.
        state: "running", "stopped" or "ended".
        stop: where it stands, or stood last.
    """

    def __init__(self, lines: Lines, facts: dict[str, Any]) -> None:
        self.lines = lines
        self.facts = facts
        self.state = "running"
        self.stop: dict[str, Any] | None = None
        self._replies: dict[int, queue.Queue[dict[str, Any]]] = {}
        self._numbers = itertools.count(1)

    @property
    def rank(self) -> int:
        return int(self.facts.get("rank", 0))

    def tell(self, request: dict[str, Any]) -> None:
        """Send a request whose reply nobody waits for."""
        self.lines.send({**request, "id": 0})

    def ask(self, request: dict[str, Any], seconds: float = _SECONDS) -> dict[str, Any]:
        """The reply to a request; `error` where none comes."""
        number = next(self._numbers)
        answers: queue.Queue[dict[str, Any]] = queue.Queue()
        self._replies[number] = answers
        try:
            if self.state == "ended" or not self.lines.send({**request, "id": number}):
                return {"error": "the program has ended"}
            return answers.get(timeout=seconds)
        except queue.Empty:
            return {"error": f"no answer within {seconds:g} s: it is running, or waits for others"}
        finally:
            del self._replies[number]

    def resume(self, request: dict[str, Any]) -> dict[str, Any]:
        """Ask it to go on. A stop that is told later is a new one, so it counts as running now."""
        self.state = "running"
        reply = self.ask(request)
        if "error" in reply and self.state == "running":
            self.state = "stopped"
        return reply

    def replied(self, message: dict[str, Any]) -> None:
        answers = self._replies.get(message.get("id") or 0)
        reply = message.get("reply")
        if answers is not None and isinstance(reply, dict):
            answers.put(reply)

    def ended(self) -> None:
        self.state = "ended"
        for answers in list(self._replies.values()):
            answers.put({"error": "the program has ended"})


class Hub:
    """Listens for programs under the debugger, and asks them on behalf of a front end.

    Args:
        host, port: where it listens; 0: a free port.
        token: that programs must show; needed where the host is not this machine's own.

    Attributes:
        trainings: all programs seen.
        events: what happens, in order: (what, training).

    Raises:
        OSError: it cannot listen there.
        ValueError: others could connect, and no token is set.
    """

    def __init__(self, host: str = "127.0.0.1", port: int = 0, token: str = "") -> None:
        if not is_local(host) and not token:
            raise ValueError(f"a debugger that listens at {host} needs a token")
        self.token = token
        self.trainings: list[Training] = []
        self.events: queue.Queue[tuple[str, Training]] = queue.Queue()
        self._server = socket.create_server((host, port))
        self.host, self.port = host, self._server.getsockname()[1]
        threading.Thread(target=self._accept, daemon=True, name="debugger hub").start()

    def _accept(self) -> None:
        while True:
            try:
                connection, _ = self._server.accept()
            except OSError:
                return
            threading.Thread(target=self._serve, args=(connection,), daemon=True).start()

    def _serve(self, connection: socket.socket) -> None:
        connection.settimeout(_HELLO_SECONDS)
        lines = Lines(connection)
        facts = lines.receive() or {}
        shown = str(facts.pop("token", ""))
        if facts.pop("event", "") != "hello" or not hmac.compare_digest(
            shown.encode(), self.token.encode()
        ):
            lines.close()
            return
        connection.settimeout(None)
        training = Training(lines, facts)
        self.trainings.append(training)
        self.events.put(("hello", training))
        while (message := lines.receive()) is not None:
            if "reply" in message:
                training.replied(message)
            elif message.get("event") == "stopped" and isinstance(message.get("stop"), dict):
                training.stop = {**message["stop"], "rank": training.rank}
                training.state = "stopped"
                self.events.put(("stopped", training))
        training.ended()
        lines.close()
        self.events.put(("ended", training))

    def next_event(self, seconds: float) -> tuple[str, Training] | None:
        """What has happened next; None where nothing does in that time."""
        with contextlib.suppress(queue.Empty):
            return self.events.get(timeout=seconds)
        return None

    def resume(self, request: dict[str, Any]) -> dict[str, Any]:
        """Let all that stand still go on; what is refused comes back."""
        stopped = [x for x in self.trainings if x.state == "stopped"]
        refused = [x for x in (each.resume(request) for each in stopped) if "error" in x]
        if request.get("do") == "terminate":
            for each in self.trainings:
                if each not in stopped and each.state == "running":
                    each.tell(request)
        return refused[0] if refused else {}

    def close(self) -> None:
        """Let all programs run on without a debugger."""
        self._server.close()
        for each in self.trainings:
            each.lines.close()
