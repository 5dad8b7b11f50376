"""What processes of a job leave when they fail, and the errors that say so."""

from __future__ import annotations

import faulthandler
import functools
import json
import os
import signal
import time
import traceback
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from mindtorch.torch.distributed._failure import write_report

__all__ = [
    "ChildFailedError", "ErrorHandler", "ProcessFailure", "get_error_handler", "record",
]  # fmt: skip


class ErrorHandler:
    """Leaves tracebacks in the file that TORCHELASTIC_ERROR_FILE names."""

    def initialize(self) -> None:
        """Before the function runs: a crash of native code prints where Python was."""
        faulthandler.enable(all_threads=True)

    def record_exception(self, e: BaseException) -> None:
        """Write an exception's traceback, unless there is one already.

        Args:
            e: the exception.
        """
        write_report("".join(traceback.format_exception(e)))


def get_error_handler() -> ErrorHandler:
    """A new :class:`ErrorHandler`."""
    return ErrorHandler()


def record(fn: Callable[..., Any], error_handler: ErrorHandler | None = None) -> Callable[..., Any]:
    """``fn``, whose exceptions are written for torchrun to show, and raised.

    Args:
        fn: the main function of a program.
        error_handler: writes them; :func:`get_error_handler`'s by default.
    """
    handler = get_error_handler() if error_handler is None else error_handler

    @functools.wraps(fn)
    def call(*args: Any, **kwargs: Any) -> Any:
        handler.initialize()
        try:
            return fn(*args, **kwargs)
        except SystemExit as error:
            if error.code:
                handler.record_exception(error)
            raise
        except Exception as error:
            handler.record_exception(error)
            raise

    return call


@dataclass
class ProcessFailure:
    """A process that failed.

    Args:
        local_rank: its number on its machine.
        pid: of the process.
        exitcode: its status; of one that a signal ended the negative number.
        error_file: what it left.

    Attributes:
        message: what it told, or the signal.
        timestamp: when it did, in seconds; now, where there is no file.
        error_file_data: the content of the file.
    """

    local_rank: int
    pid: int
    exitcode: int
    error_file: str
    error_file_data: dict[str, Any] = field(init=False)
    message: Any = field(init=False)
    timestamp: int = field(init=False)

    def __post_init__(self) -> None:
        try:
            with open(self.error_file) as file:
                self.error_file_data = json.load(file)
            told = self.error_file_data["message"]
            self.message = told if isinstance(told, str) else told["message"]
            extra = {} if isinstance(told, str) else told["extraInfo"]
            self.timestamp = int(extra.get("timestamp", 0))
            return
        except (OSError, ValueError, KeyError):
            self.error_file, self.error_file_data = "<N/A>", {}
        self.timestamp = int(time.time())
        if self.exitcode < 0:
            name = self.signal_name()
            self.message = f"Signal {-self.exitcode} ({name}) received by PID {self.pid}"
        else:
            self.message = "it left no traceback: use torch.distributed.elastic's record"

    def signal_name(self) -> str:
        """The signal that ended it, "<N/A>" where none did."""
        if self.exitcode >= 0:
            return "<N/A>"
        try:
            return signal.Signals(-self.exitcode).name
        except ValueError:
            return f"<Unknown signal {-self.exitcode}>"

    def timestamp_isoformat(self) -> str:
        """The time as "2026-01-31_12:00:00"."""
        return time.strftime("%Y-%m-%d_%H:%M:%S", time.localtime(self.timestamp))


class ChildFailedError(Exception):
    """Processes of a job failed.

    Args:
        name: of the program.
        failures: by rank.
    """

    def __init__(self, name: str, failures: dict[int, ProcessFailure]) -> None:
        self.name, self.failures = name, failures
        if not failures:
            raise AssertionError("ChildFailedError needs at least one failure")
        super().__init__(self.format_msg())

    def get_first_failure(self) -> tuple[int, ProcessFailure]:
        """(rank, failure) of the earliest one."""
        rank = min(self.failures, key=lambda r: self.failures[r].timestamp)
        return rank, self.failures[rank]

    def format_msg(self) -> str:
        """A text that names all of them, the earliest first."""
        first, _ = self.get_first_failure()
        lines = [f"{self.name} FAILED", "Root Cause (first observed failure):"]
        for rank in [first, *(r for r in self.failures if r != first)]:
            each = self.failures[rank]
            lines += [
                f"  time      : {each.timestamp_isoformat()}",
                f"  host      : {os.uname().nodename}",
                f"  rank      : {rank} (local_rank: {each.local_rank})",
                f"  exitcode  : {each.exitcode} (pid: {each.pid})",
                f"  error_file: {each.error_file}", f"  traceback : {each.message}",
            ]  # fmt: skip
            if rank == first and len(self.failures) > 1:
                lines.append("Other Failures:")
        return "\n".join(lines)
