"""Run a function in several processes and fail when one of them fails."""

from __future__ import annotations

import multiprocessing
import multiprocessing.connection
import signal
import sys
from collections.abc import Callable
from typing import Any

from mindtorch import traceback_filtering

# seconds in which other processes may fail, too: one that fails since it lost another is no cause
_ECHO = 0.3
_CONSEQUENCE = "Connection closed by peer"


class ProcessException(Exception):
    """A process failed.

    Args:
        msg: the text.
        error_index, error_pid: which process, and its number for the system.
        pid: its number for the system.

    Attributes:
        error_index: which one.
        error_pid: its process id.
    """

    def __init__(self, msg: str, error_index: int, pid: int) -> None:
        super().__init__(msg)
        self.msg = msg
        self.error_index = error_index
        self.pid = self.error_pid = pid

    def __reduce__(self) -> Any:
        return type(self), (self.msg, self.error_index, self.pid)


class ProcessRaisedException(ProcessException):
    """A process raised an exception.

    Args:
        msg: its traceback.
        error_index, error_pid: which process, and its number for the system.
    """

    def __init__(self, msg: str, error_index: int, error_pid: int) -> None:
        super().__init__(msg, error_index, error_pid)


class ProcessExitedException(ProcessException):
    """A process ended with a code or a signal.

    Args:
        msg: the text.
        error_index, error_pid: which process, and its number for the system.
        exit_code, signal_name: how it ended.
    """

    def __init__(
        self, msg: str, error_index: int, error_pid: int, exit_code: int,
        signal_name: str | None = None,
    ) -> None:  # fmt: skip
        super().__init__(msg, error_index, error_pid)
        self.exit_code = exit_code
        self.signal_name = signal_name

    def __reduce__(self) -> Any:
        return type(self), (
            self.msg, self.error_index, self.pid, self.exit_code, self.signal_name
        )  # fmt: skip


def _run(function: Callable[..., Any], index: int, args: tuple[Any, ...], errors: Any) -> None:
    try:
        function(index, *args)
    except KeyboardInterrupt:
        """The parent was interrupted, too."""
    except Exception as error:
        errors.send(traceback_filtering.format_exception(type(error), error, error.__traceback__))
        failure = sys.modules.get("mindtorch.torch.distributed._failure")
        if failure is not None:
            failure.tell_current(error)
        sys.exit(1)


class ProcessContext:
    """Processes that were started together.

    Args:
        processes: those.
        errors: files with what they raised.
    """

    def __init__(self, processes: list[Any], errors: list[Any]) -> None:
        self.processes = processes
        self.errors = errors
        self.sentinels = {p.sentinel: i for i, p in enumerate(processes)}

    def pids(self) -> list[int]:
        return [int(process.pid) for process in self.processes]

    def join(self, timeout: float | None = None, grace_period: float | None = None) -> bool:
        """Wait until one or more have ended; True when all have.

        Raises:
            ProcessRaisedException, ProcessExitedException: one failed; the others are ended.
        """
        if not self.sentinels:
            return True
        ready = multiprocessing.connection.wait(list(self.sentinels), timeout=timeout)
        failed = [index for sentinel in ready if (index := self._ended(sentinel)) is not None]
        if not failed:
            return not self.sentinels
        more = multiprocessing.connection.wait(list(self.sentinels), _ECHO)
        failed += [index for sentinel in more if (index := self._ended(sentinel)) is not None]
        for process in self.processes:
            if process.is_alive():
                process.terminate()
        for process in self.processes:
            process.join(grace_period if grace_period is not None else 5)
            if process.is_alive():
                process.kill()
                process.join()
        texts = {index: self._text(index) for index in failed}
        cause = min(failed, key=lambda index: _CONSEQUENCE in texts[index])
        raise self._failure(cause, texts[cause])

    def _ended(self, sentinel: Any) -> int | None:
        """Which process has ended, where it has failed."""
        index = self.sentinels.pop(sentinel)
        self.processes[index].join()
        return index if self.processes[index].exitcode != 0 else None

    def _text(self, index: int) -> str:
        """The traceback of a process that has raised; "" of others."""
        try:
            return str(self.errors[index].recv()) if self.errors[index].poll() else ""
        except EOFError:
            return ""

    def _failure(self, index: int, text: str) -> ProcessException:
        process = self.processes[index]
        if text:
            told = f"\n\n-- Process {index} terminated with the following error:\n{text}"
            return ProcessRaisedException(told, index, process.pid)
        code = process.exitcode
        if code < 0:
            name = signal.Signals(-code).name
            return ProcessExitedException(
                f"process {index} terminated with signal {name}", index, process.pid, code, name
            )
        return ProcessExitedException(
            f"process {index} terminated with exit code {code}", index, process.pid, code
        )


SpawnContext = ProcessContext


def start_processes(
    fn: Callable[..., Any],
    args: tuple[Any, ...] = (),
    nprocs: int = 1,
    join: bool = True,
    daemon: bool = False,
    start_method: str = "spawn",
) -> ProcessContext | None:
    """Run ``fn(i, *args)`` in ``nprocs`` processes; wait for them unless ``join`` is False.

    Args:
        daemon: they end with this process.
        start_method: "spawn", "fork" or "forkserver".
    """
    context: Any = multiprocessing.get_context(start_method)
    processes, errors = [], []
    for index in range(nprocs):
        here, there = context.Pipe(duplex=False)
        process = context.Process(target=_run, args=(fn, index, args, there), daemon=daemon)
        process.start()
        there.close()
        processes.append(process)
        errors.append(here)
    started = ProcessContext(processes, errors)
    if not join:
        return started
    while not started.join():
        pass
    return None


def spawn(
    fn: Callable[..., Any],
    args: tuple[Any, ...] = (),
    nprocs: int = 1,
    join: bool = True,
    daemon: bool = False,
    start_method: str = "spawn",
) -> ProcessContext | None:
    """Run ``fn(i, *args)`` in ``nprocs`` fresh processes.

    Args:
        join: wait until all have ended, and raise what one raised.
        daemon: they end with this process.
        start_method: "spawn"; others are for :func:`start_processes`.

    Raises:
        ProcessRaisedException, ProcessExitedException: one of them failed.
    """
    return start_processes(fn, args, nprocs, join, daemon, start_method)
