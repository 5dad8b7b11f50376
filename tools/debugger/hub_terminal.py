"""The terminal over several programs: what it asks goes to one of them, or to all."""

from __future__ import annotations

import subprocess
import sys
import time
from collections.abc import Callable
from typing import Any, TextIO

from .hub import Hub, Training
from .protocol import RESUMING
from .terminal import Terminal

__all__ = ["HubTerminal", "serve"]

_SETTINGS = frozenset(["watch", "unwatch", "enable", "level", "output_gradients"])
_START_SECONDS = 10.0  # for the other ranks to come to their start
_TICK = 0.25  # seconds between two looks at the command that was started


class HubTerminal(Terminal):
    """Commands for programs that report to a hub. What lets a program go on lets all go on, since
    ranks wait for one another; watchpoints and levels are set in all; the rest is asked of one.

    Args:
        hub: where they report.
        output, source: of the terminal.
    """

    def __init__(
        self, hub: Hub, output: TextIO | None = None, source: TextIO | None = None
    ) -> None:
        super().__init__(self._ask, output, source)
        self.hub = hub
        self.current: Training | None = None

    def _ask(self, request: dict[str, Any]) -> dict[str, Any]:
        name = request.get("do")
        if name in RESUMING:
            return self.hub.resume(request)
        if self.current is None:
            return {"error": "no program is there"}
        reply = self.current.ask(request)
        if name in _SETTINGS and "error" not in reply:
            for each in self.hub.trainings:
                if each is not self.current and each.state != "ended":
                    each.tell(request)
        return reply

    def do_rank(self, line: str) -> None:
        """rank [N]: look at the program of another rank; without N, list them."""
        if line.strip():
            found = [x for x in self.hub.trainings if x.rank == int(line) and x.state != "ended"]
            if not found:
                raise ValueError(f"no program has rank {line.strip()}")
            self.current = found[-1]
            if self.current.state == "stopped" and self.current.stop is not None:
                self.show_stop(self.current.stop)
            return
        for each in self.hub.trainings:
            here = "*" if each is self.current else " "
            facts = f"process {each.facts.get('pid')}, {each.facts.get('script')}"
            self.say(f"{here} rank {each.rank}: {each.state} ({facts})")


def serve(
    host: str, port: int, token: str, start: Callable[[int], subprocess.Popen[bytes]] | None
) -> int:
    """Listen, and show every stop, until the command that `start` began has ended, or, without
    one, all programs that were there have.

    Returns:
        The exit status: the command's; 2 where it cannot listen or start.
    """
    try:
        hub = Hub(host, port, token)
    except (OSError, ValueError) as error:
        print(f"mindtorch debugger: {error}", file=sys.stderr)
        return 2
    command: subprocess.Popen[bytes] | None = None
    terminal = HubTerminal(hub)
    try:
        if start is not None:
            command = start(hub.port)
        else:
            terminal.say(f"waiting for programs at {hub.host}:{hub.port}; Ctrl+C ends it")
        _follow(hub, terminal, command)
    except OSError as error:
        print(f"mindtorch debugger: {error}", file=sys.stderr)
        return 2
    finally:
        hub.close()
    return 0 if command is None else _status(command)


def _status(command: subprocess.Popen[bytes]) -> int:
    """The exit status of the command; 128 + n where a signal ended it."""
    try:
        status = command.wait()
    except KeyboardInterrupt:
        command.terminate()
        status = command.wait()
    return status if status >= 0 else 128 - status


def _follow(hub: Hub, terminal: HubTerminal, command: subprocess.Popen[bytes] | None) -> None:
    """Show stops until all has ended, or the terminal's input has."""
    seen = False
    while not terminal.gone:
        event = _next(hub, terminal)
        if event is None:
            over = seen and all(x.state == "ended" for x in hub.trainings)
            if over if command is None else command.poll() is not None:
                return
            continue
        what, training = event
        seen = True
        if what == "ended":
            terminal.say(f"rank {training.rank}: the program has ended")
        elif what == "stopped" and training.state == "stopped" and training.stop is not None:
            if training.stop["reason"] == "start":
                _wait_for_ranks(hub, training)
            terminal.current = training
            terminal.run(training.stop)


def _wait_for_ranks(hub: Hub, training: Training) -> None:
    """Until all ranks stand before their first call: what is said then reaches all."""
    limit = time.monotonic() + _START_SECONDS
    world = int(training.facts.get("world", 1))
    while time.monotonic() < limit:
        if sum(x.state != "running" for x in hub.trainings) >= world:
            return
        time.sleep(0.02)


def _next(hub: Hub, terminal: HubTerminal) -> tuple[str, Training] | None:
    """The next event; Ctrl+C asks running programs to stop."""
    try:
        return hub.next_event(_TICK)
    except KeyboardInterrupt:
        running = [x for x in hub.trainings if x.state == "running"]
        if not running:
            terminal.gone = True
        for each in running:
            each.tell({"do": "pause"})
        return None
