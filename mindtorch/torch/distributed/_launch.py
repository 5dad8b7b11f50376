"""The processes of a job on one machine: started, watched, and ended together."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, Any

__all__ = ["Failure", "Interrupted", "Job", "Output", "Place", "leave_report", "report"]

# seconds that processes get between being asked to end and being ended
_PATIENCE = 3.0
# seconds in which the others may fail, too, before they are ended: the first cause is told apart
_ECHO = 0.5
_CONSEQUENCES = ("Connection closed by peer", "this process was ended, because")


class Interrupted(Exception):
    """The processes were ended, since they have to be started again."""


@dataclass
class Place:
    """Which processes of the job are this machine's, and where all of them meet.

    Args:
        node: number of this machine.
        counts: number of processes on each machine.
        address, port: the meeting place; port 0 stands for a free one.
    """

    node: int
    counts: list[int]
    address: str
    port: int

    def environment(self, local: int, port: int) -> dict[str, str]:
        """What a process is told."""
        return {
            "MASTER_ADDR": self.address, "MASTER_PORT": str(port),
            "RANK": str(self.first + local), "LOCAL_RANK": str(local),
            "WORLD_SIZE": str(sum(self.counts)), "LOCAL_WORLD_SIZE": str(self.counts[self.node]),
            "GROUP_RANK": str(self.node), "GROUP_WORLD_SIZE": str(len(self.counts)),
            "ROLE_RANK": str(self.first + local), "ROLE_WORLD_SIZE": str(sum(self.counts)),
        }  # fmt: skip

    @property
    def first(self) -> int:
        """The rank of this machine's first process."""
        return sum(self.counts[: self.node])


@dataclass
class Output:
    """Where the output of each process goes: bit 1 stdout, bit 2 stderr."""

    redirects: dict[int, int]
    tee: dict[int, int]
    folder: str | None
    shown: set[int]

    @classmethod
    def parse(cls, redirects: str, tee: str, folder: str | None, shown: str, count: int) -> Output:
        """From torchrun's options: "3" for all processes, "0:1,1:3" for some of them."""
        ranks = {int(r) for r in shown.split(",")} if shown else set(range(count))
        parts = _by_rank(redirects, count), _by_rank(tee, count)
        if not folder and any(k for part in parts for k in part.values()):
            folder = tempfile.mkdtemp(prefix="torchrun_")
        return cls(*parts, folder, ranks)

    def streams(self, local: int, where: str) -> Iterator[tuple[str, bool]]:
        """For stdout and stderr: the file ("" for the console), and whether it is shown, too."""
        for bit, name in ((1, "stdout"), (2, "stderr")):
            if (self.redirects[local] | self.tee[local]) & bit:
                assert self.folder is not None
                folder = Path(self.folder, where, str(local))
                folder.mkdir(parents=True, exist_ok=True)
                yield str(folder / f"{name}.log"), bool(self.tee[local] & bit)
            elif local in self.shown:
                yield "", False
            else:
                yield os.devnull, False


def _by_rank(text: str, count: int) -> dict[int, int]:
    if ":" in text:
        given = dict(part.split(":") for part in text.split(","))
        found = {int(rank): int(kind) for rank, kind in given.items()}
    else:
        found = dict.fromkeys(range(count), int(text))
    if any(kind not in range(4) for kind in found.values()):
        raise ValueError(f"invalid redirects {text!r}: kinds are 0, 1, 2 and 3")
    return {rank: found.get(rank, 0) for rank in range(count)}


@dataclass
class Failure:
    """A process that ended with something else than 0."""

    rank: int
    local: int
    pid: int
    code: int
    time: float
    text: str

    @property
    def is_cause(self) -> bool:
        """Whether it did not fail because another did."""
        return not any(each in self.text for each in _CONSEQUENCES)


LOCAL_RANK = "--local-rank={}"  # in a command: an argument that has the process's number


@dataclass
class Job:
    """The command, run in all processes of this machine."""

    command: list[str]
    place: Place
    role: str
    pause: float
    name: str
    restarts: int
    output: Output
    _started: list[subprocess.Popen[Any]] = field(default_factory=list)
    _copying: list[threading.Thread] = field(default_factory=list)

    def attempt(
        self, number: int, port: int, changed: Callable[[], str] = lambda: "", folder: str = ""
    ) -> list[Failure]:
        """Run all processes to their end; those that failed, the cause first.

        Args:
            number: how often they were started before.
            port: of the meeting place.
            changed: asked again and again; a reason to end them.
            folder: of what they print; by default one for each number.

        Raises:
            Interrupted: there was a reason.
        """
        where = f"{self.name}/{folder or f'attempt_{number}'}"
        count = self.place.counts[self.place.node]
        self._started, self._copying = [], []
        with tempfile.TemporaryDirectory(prefix="torchrun_") as told_in, _signals(self._started):
            for local in range(count):
                told = {
                    **self.place.environment(local, port), "ROLE_NAME": self.role,
                    "TORCHELASTIC_RUN_ID": self.name, "TORCHELASTIC_USE_AGENT_STORE": "False",
                    "TORCHELASTIC_RESTART_COUNT": str(number),
                    "TORCHELASTIC_MAX_RESTARTS": str(self.restarts),
                    "TORCHELASTIC_ERROR_FILE": os.path.join(told_in, str(local)),
                }  # fmt: skip
                self._start(local, told, where)
            try:
                return self._watch(told_in, changed)
            finally:
                _end(self._started)
                for thread in self._copying:
                    thread.join(1)

    def _start(self, local: int, told: dict[str, str], where: str) -> None:
        environment = {**os.environ, **told}
        if self.place.counts[self.place.node] > 1:
            environment.setdefault("OMP_NUM_THREADS", "1")
        opened: list[IO[bytes] | None] = []
        shown: list[bool] = []
        for path, tee in self.output.streams(local, where):
            opened.append(Path(path).open("wb") if path else None)  # noqa: SIM115
            shown.append(tee)
        process = subprocess.Popen(
            [LOCAL_RANK.format(local) if each == LOCAL_RANK else each for each in self.command],
            env=environment, start_new_session=True,
            stdout=subprocess.PIPE if shown[0] else opened[0],
            stderr=subprocess.PIPE if shown[1] else opened[1],
        )  # fmt: skip
        self._started.append(process)
        consoles = (sys.stdout, sys.stderr)
        for file, tee, pipe, console in zip(
            opened, shown, (process.stdout, process.stderr), consoles, strict=True
        ):
            if file is not None and tee:
                prefix = f"[{self.role}{local}]:"
                thread = threading.Thread(target=_copy, args=(pipe, file, console, prefix))
                thread.start()
                self._copying.append(thread)
            elif file is not None:
                file.close()

    def _watch(self, folder: str, changed: Callable[[], str]) -> list[Failure]:
        """Wait for all; when one has failed, give the others a moment and look again."""
        while True:
            codes = [process.poll() for process in self._started]
            if any(codes):
                time.sleep(_ECHO)
                return self._failures(folder)
            if all(code == 0 for code in codes):
                return []
            if why := changed():
                raise Interrupted(why)
            time.sleep(self.pause)

    def _failures(self, folder: str) -> list[Failure]:
        found = []
        for local, process in enumerate(self._started):
            code = process.poll()
            if code:
                text, when = _read_report(os.path.join(folder, str(local)))
                rank = self.place.first + local
                found.append(Failure(rank, local, process.pid, code, when, text))
        return sorted(found, key=lambda failure: (not failure.is_cause, failure.time))


def _read_report(path: str) -> tuple[str, float]:
    """A process's traceback and when it was written."""
    try:
        with open(path) as file:
            return json.load(file)["message"]["message"], os.stat(path).st_mtime
    except (OSError, ValueError):
        return "", time.time()


def _copy(source: IO[bytes], file: IO[bytes], console: Any, prefix: str) -> None:
    with file:
        for line in source:
            file.write(line)
            console.write(prefix + line.decode(errors="replace"))
            console.flush()


def _send(process: subprocess.Popen[Any], number: int) -> None:
    """A signal to a process and all that it has started."""
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(process.pid, number)


def _end(processes: list[subprocess.Popen[Any]]) -> None:
    """Ask what still runs to end, and end what does not."""
    for process in processes:
        if process.poll() is None:
            _send(process, signal.SIGTERM)
    end = time.monotonic() + _PATIENCE
    for process in processes:
        with contextlib.suppress(subprocess.TimeoutExpired):
            process.wait(max(end - time.monotonic(), 0.01))
        _send(process, signal.SIGKILL)
        process.wait()


@contextlib.contextmanager
def _signals(processes: list[subprocess.Popen[Any]]) -> Iterator[None]:
    """While the job runs, the launcher's end is the end of all processes."""

    def stop(number: int, frame: Any) -> None:
        _end(processes)
        raise SystemExit(128 + number)

    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = {n: signal.signal(n, stop) for n in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP)}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def report(failures: list[Failure], script: str, again: bool) -> str:
    """Which processes failed, and how the first of them did."""
    first, *others = failures
    lines = [f"{script} FAILED" + (", all processes are started again" if again else "")]
    lines.append(f"first failure: rank {first.rank} (local_rank {first.local}, pid {first.pid}), "
                 f"{_ending(first.code)}")  # fmt: skip
    lines += [f"  {line}" for line in (first.text or "it left no traceback").rstrip().split("\n")]
    lines += [
        f"then: rank {each.rank} (local_rank {each.local}, pid {each.pid}), {_ending(each.code)}"
        for each in others
    ]
    rule = "=" * 60
    return "\n".join([rule, *lines, rule, ""])


def leave_report(failures: list[Failure]) -> None:
    """Leave what the first of them told where a launcher of this launcher looks for it."""
    path = os.environ.get("TORCHELASTIC_ERROR_FILE")
    if path:
        first = failures[0]
        text = first.text or f"{_ending(first.code)}, rank {first.rank}"
        told = {"message": text, "errorCode": first.code,
                "extraInfo": {"timestamp": str(int(first.time))}}  # fmt: skip
        Path(path).write_text(json.dumps({"message": told}))


def _ending(code: int) -> str:
    if code < 0:
        with contextlib.suppress(ValueError):
            return f"signal {signal.Signals(-code).name}"
    return f"exit code {code}"


