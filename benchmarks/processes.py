"""A program that answers in lines of JSON, with a limit on each wait."""

from __future__ import annotations

import contextlib
import json
import os
import queue
import signal
import subprocess
import sys
import tempfile
import threading
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent


class Ended(Exception):
    """The program has ended, or did not answer in time; the text says which."""


def output_of(command: list[str], limit: float) -> str:
    """What a command has printed when it ended; one that takes longer is stopped, and what it has
    started, too.

    Raises:
        Ended: it took more than ``limit`` seconds.
    """
    with tempfile.TemporaryFile() as told:
        process = subprocess.Popen(
            command, stdin=subprocess.DEVNULL, stdout=told, stderr=told, cwd=ROOT,
            env=dict(os.environ, PYTHONPATH=str(ROOT)), start_new_session=True,
        )  # fmt: skip
        try:
            process.wait(limit)
        except subprocess.TimeoutExpired:
            raise Ended(f"not done in {limit:.0f} s") from None
        finally:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
            process.wait()
        told.seek(0)
        return told.read().decode(errors="replace")


class Program:
    """A Python program of this repository in a process of its own.

    The program's own folder is not searched for modules (``-P``): ``cuda.py`` here would stand in
    the way of NVIDIA's package. Lines that are not JSON objects are passed over.
    """

    def __init__(self, program: str, *arguments: str) -> None:
        self._errors = tempfile.TemporaryFile()  # noqa: SIM115
        self._process = subprocess.Popen(
            [sys.executable, "-P", str(ROOT / program), *arguments], stdin=subprocess.PIPE,
            stdout=subprocess.PIPE, stderr=self._errors, text=True, cwd=ROOT,
            env=dict(os.environ, PYTHONPATH=str(ROOT)), start_new_session=True,
        )  # fmt: skip
        self._lines: queue.Queue[Any] = queue.Queue()
        threading.Thread(target=self._read, daemon=True).start()

    def _read(self) -> None:
        assert self._process.stdout is not None
        for line in self._process.stdout:
            with contextlib.suppress(ValueError):
                found = json.loads(line)
                if isinstance(found, dict):
                    self._lines.put(found)
        self._lines.put(None)

    def answer(self, limit: float) -> dict[str, Any]:
        """The next object that it prints.

        Raises:
            Ended: it has ended, or printed nothing for ``limit`` seconds.
        """
        try:
            found: dict[str, Any] | None = self._lines.get(timeout=max(limit, 0))
        except queue.Empty:
            raise Ended(f"no answer after {limit:.0f} s") from None
        if found is None:
            self._lines.put(None)
            raise Ended(f"ended with {self._process.wait()}: {self.errors()}")
        return found

    def ask(self, question: dict[str, Any], limit: float) -> dict[str, Any]:
        """The answer to a line."""
        assert self._process.stdin is not None
        try:
            self._process.stdin.write(json.dumps(question) + "\n")
            self._process.stdin.flush()
        except OSError:
            raise Ended(f"ended with {self._process.wait()}: {self.errors()}") from None
        return self.answer(limit)

    def errors(self) -> str:
        """The last line that it wrote to stderr."""
        self._errors.seek(0)
        lines = self._errors.read().decode(errors="replace").strip().splitlines()
        return lines[-1][-400:] if lines else "it said nothing"

    def end(self) -> None:
        """Stop it and what it has started."""
        if self._process.poll() is None:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(self._process.pid, signal.SIGKILL)
        self._process.wait()
        for stream in (self._process.stdin, self._process.stdout):
            assert stream is not None
            with contextlib.suppress(OSError):
                stream.close()
        self._errors.close()
