"""What `mindtorch warm` does: the kernels that most programs need are compiled, or a script's.

Each of :mod:`.programs` runs in a process of its own, several at a time. What they compile lies in
the cache of kernels (docs/design/018-first-run.md) as if a user's program had compiled it: a kernel
is written as a whole, by one process, and once. So the command may be interrupted, run twice at a
time, and run again, which finds everything there.
"""

from __future__ import annotations

import argparse
import compileall
import json
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor, as_completed
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from mindtorch.kernels.codegen.jit import cache_directory, installed_root, statistics
from mindtorch.kernels.cpu.threads.thread_pool import available_cores
from mindtorch.module_hooker import torch_disable

from ..progress import progress
from ..run_script import ScriptNotFoundError, execute, report_failure, switch_in_spawned_processes
from .programs import PROGRAMS

__all__ = ["warm"]

_PROGRAM = ("-m", "mindtorch.tools.warm.one_program")
_TAIL = 12  # lines of what a program wrote that failed
_GRACE = 20.0  # seconds that a program has to end with the kernel it is compiling


@dataclass
class _Outcome:
    """What became of a program: how many functions it compiled, and what went wrong."""

    compiled: int = 0
    failure: str = ""
    unwritten: str = ""


class _Processes:
    """The processes that run programs. Once ended, no other one is started."""

    def __init__(self) -> None:
        self._running: set[subprocess.Popen[str]] = set()
        self._lock = threading.Lock()
        self._ended = False

    def run(self, name: str) -> _Outcome:
        """Run a program to its end."""
        # the package is found where this one is, whatever the folder
        here = str(Path(__file__).resolve().parents[2])
        path = os.pathsep.join(filter(None, [here, os.environ.get("PYTHONPATH")]))
        with self._lock:
            if self._ended:
                return _Outcome()
            process = subprocess.Popen(
                [sys.executable, *_PROGRAM, name],
                stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                errors="replace", env={**os.environ, "PYTHONPATH": path}, start_new_session=True,
            )  # fmt: skip
            self._running.add(process)
        written, errors = process.communicate()
        self._running.discard(process)
        if process.returncode:
            why = "\n".join(errors.strip().splitlines()[-_TAIL:])
            return _Outcome(failure=f"{name} failed (status {process.returncode}):\n{why}")
        found = json.loads(written.splitlines()[-1])
        return _Outcome(found["compiled"], unwritten=found["unwritten"])

    def end(self) -> None:
        """Interrupt those that run: each writes the kernel that it is at, and ends."""
        with self._lock:
            self._ended = True
            running = list(self._running)
        for process in running:
            process.send_signal(signal.SIGINT)
        end = time.monotonic() + _GRACE
        for process in running:
            try:
                process.wait(max(end - time.monotonic(), 0))
            except subprocess.TimeoutExpired:
                process.kill()


def warm(options: argparse.Namespace) -> int:
    """The command; returns its exit status."""
    names = list(PROGRAMS) if options.only is None else options.only.split(",")
    unknown = [name for name in names if name not in PROGRAMS]
    if unknown:
        print(f"mindtorch warm: there is no program {unknown[0]!r}; there are: "
              f"{', '.join(PROGRAMS)}", file=sys.stderr)  # fmt: skip
        return 2
    if options.list:
        width = max(map(len, PROGRAMS))
        for name in names:
            print(f"{name:{width}}  {PROGRAMS[name].covers}")
        return 0
    if options.installed and not _for_all():
        return 2
    if options.script is not None:
        return _warm_script(options)
    return _warm(names, options.jobs or available_cores())


def _for_all() -> bool:
    """Have kernels and byte code written to where all find them who use this installation."""
    root = installed_root()
    if root is None:
        print("mindtorch warm: MINDTORCH_INSTALLED_KERNELS=0 is set, so nobody would read kernels "
              "of the installation", file=sys.stderr)  # fmt: skip
        return False
    os.environ["MINDTORCH_CACHE_DIR"] = str(root)
    package = Path(__file__).parents[2]
    for folder in (package, *(each for each in package.iterdir() if each.is_symlink())):
        # not where PYTHONDONTWRITEBYTECODE is heeded; what cannot be written does no harm
        compileall.compile_dir(folder, quiet=2)
    return True


def _warm(names: list[str], jobs: int) -> int:
    began, compiled, wrong = time.monotonic(), 0, False
    with _started(names, jobs) as ended:
        for outcome in progress(ended, "programs run for their kernels", len(names)):
            compiled += outcome.compiled
            if outcome.failure or outcome.unwritten:
                wrong = True
                print(f"mindtorch warm: {outcome.failure or outcome.unwritten}", file=sys.stderr)
            if outcome.unwritten:  # the next one could not be written either
                break
    _tell(compiled, time.monotonic() - began)
    return int(wrong)


@contextmanager
def _started(names: list[str], jobs: int) -> Iterator[Iterator[_Outcome]]:
    """What becomes of the programs, as they end; none of them outlives the block."""
    processes = _Processes()
    with ThreadPoolExecutor(jobs) as threads:
        try:
            running = [threads.submit(processes.run, name) for name in names]
            yield (each.result() for each in as_completed(running))
        finally:
            processes.end()


def _warm_script(options: argparse.Namespace) -> int:
    """Run a script as `mindtorch run` does, and say what was compiled for it."""
    torch_disable()
    switch_in_spawned_processes()
    began = time.monotonic()
    try:
        execute(options.script, options.arguments)
    except ScriptNotFoundError as error:
        print(f"mindtorch warm: {error}", file=sys.stderr)
        return 2
    except SystemExit as error:
        if error.code:
            raise
    except BaseException as error:
        return report_failure(error)
    if statistics.unwritten:
        print(f"mindtorch warm: {statistics.unwritten}", file=sys.stderr)
    _tell(statistics.compiled, time.monotonic() - began)
    return 1 if statistics.unwritten else 0


def _tell(compiled: int, seconds: float) -> None:
    folder = cache_directory()
    files = list(folder.glob("*.nbc"))
    size = sum(file.stat().st_size for file in files) / 2**20
    print(f"{compiled} functions compiled in {seconds:.0f} s; {len(files)} ({size:.0f} MB) are in "
          f"{folder}", file=sys.stderr)  # fmt: skip
