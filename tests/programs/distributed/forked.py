"""Forked processes: a program that has imported all starts them, and sees how they end."""

from __future__ import annotations

import os
import signal
import time
import traceback
from collections.abc import Callable
from pathlib import Path

__all__ = ["ended", "forked", "wait_for"]


def forked(function: Callable[[], None], errors: Path | None = None) -> int:
    """The number of a new process that calls ``function``: its status is 0, or 1 if that raises.

    Args:
        errors: where it writes what it would print; nothing is kept by default.
    """
    child = os.fork()
    if child:
        return child
    code = 1
    try:
        into = os.open(errors or os.devnull, os.O_WRONLY | os.O_CREAT | os.O_APPEND)
        os.dup2(into, 1)
        os.dup2(into, 2)
        try:
            function()
            code = 0
        except BaseException:  # a status is all that another process sees of it
            traceback.print_exc()
    finally:
        os._exit(code)


def ended(children: list[int], limit: float) -> tuple[list[int], float]:
    """Statuses of processes (-9 for one that was killed), and the seconds until the last had ended.

    Args:
        limit: after so many seconds those that still run are killed, and have status -99.
    """
    begun = time.monotonic()
    codes: dict[int, int] = {}
    while len(codes) < len(children) and time.monotonic() < begun + limit:
        for child in children:
            if child not in codes:
                found, status = os.waitpid(child, os.WNOHANG)
                if found:
                    codes[child] = os.waitstatus_to_exitcode(status)
        time.sleep(0.005)
    seconds = time.monotonic() - begun
    for child in children:
        if child not in codes:
            os.kill(child, signal.SIGKILL)
            os.waitpid(child, 0)
    return [codes.get(child, -99) for child in children], seconds


def wait_for(condition: Callable[[], bool], limit: float) -> None:
    """Return when the condition holds, or after ``limit`` seconds."""
    end = time.monotonic() + limit
    while time.monotonic() < end and not condition():
        time.sleep(0.002)
