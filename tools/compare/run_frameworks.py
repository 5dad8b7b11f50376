"""Run a script under each framework, in a process and a working directory of its own."""

import argparse
import importlib.util
import os
import re
import shutil
import signal
import subprocess
import sys
import threading
from collections import deque
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, Any

import mindtorch
from mindtorch._distribution import install_extra

from ..progress import telling
from .distance import Side
from .record_format import ARRAYS, LEFT, UNWRITTEN, ArrayReader, load_record

__all__ = ["Look", "RunFailedError", "labels", "run_both", "say"]

RUNS = ("reference", "candidate")
TAIL = 20
KEPT_OUTPUT = 2**20
COPIED_FILE, COPIED_ALL, COPIED_COUNT = 2**20, 2**26, 5000
LINKED = {".git", ".venv", "venv", "node_modules", "__pycache__", ".mypy_cache", ".pytest_cache"}
# What PyTorch says where there is no GPU, and what scripts say that look for one themselves.
NO_GPU = re.compile(
    r"found no nvidia driver|not compiled with cuda|cuda error|no cuda-capable device|"
    r"no (cuda )?gpus? |assert torch\.cuda\.is_available|torch\.cuda\.is_available\(\) is false|"
    r"cuda (is )?(not available|unavailable|required|needed)|"
    r"gpus? (is |are )?(not available|not found|unavailable|required|needed)|"
    r"\b(needs?|requires?|without) (an? )?(nvidia|cuda|gpu)"
)


@dataclass
class RunFailedError(Exception):
    """The script did not come to its end under one framework."""

    framework: str
    status: str
    tail: list[str]
    where: str = ""

    @property
    def needs_gpu(self) -> bool:
        return NO_GPU.search("\n".join(self.tail).lower()) is not None

    @property
    def reads_input(self) -> bool:
        return self.tail[-1].startswith("EOFError")


@dataclass(frozen=True)
class Look:
    """What one recording is to look at; see `recorder.Options`."""

    full_step: int = 0
    rerun: bool = False
    stop: bool = False
    window: tuple[int, int] | None = None
    extra: Sequence[str] = field(default_factory=tuple)

    def arguments(self) -> list[str]:
        found = ["--full-step", str(self.full_step), *self.extra]
        if self.window is not None:
            found += ["--window", *map(str, self.window)]
        return found + ["--rerun"] * self.rerun + ["--stop"] * self.stop


def say(text: str) -> None:
    """Progress, for someone who watches."""
    if sys.stderr.isatty():
        print(f"mindtorch compare: {text}", file=sys.stderr, flush=True)


def labels(frameworks: str, graph: bool = False) -> list[tuple[str, str]]:
    """(label, framework) of both runs; labels differ even where the framework is the same."""
    first, second = frameworks.split(",")
    label = f"{second}#2" if first == second else second
    return [(first, first), (f"{label}-graph" if graph else label, second)]


def environment(framework: str, run: str, threads: int) -> dict[str, str]:
    """What a run's process sees of the environment; the same for both but for its name."""
    variables = dict(os.environ)
    for name in ("OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS"):
        variables[name] = str(threads)
    variables.setdefault("PYTHONHASHSEED", "0")
    variables["MINDTORCH_COMPARE_RUN"] = run
    variables.pop("MINDTORCH_ENABLE", None)
    if framework == "torch":  # a migrated script's own `mstorch_enable` does nothing here
        variables["MINDTORCH_ENABLE"] = "0"
    here = str(Path(mindtorch.__file__).resolve().parents[1])
    known = variables.get("PYTHONPATH", "")
    path = [str(Path(each).resolve()) for each in known.split(os.pathsep) if each]
    variables["PYTHONPATH"] = os.pathsep.join([*path, here])
    return variables


# -- a working directory for each run --------------------------------------------------------------


def make_place(source: Path, place: Path, avoid: Path) -> None:
    """Fill `place` with what is in `source`, so that a script finds its files, and two runs that
    write a file of one name do not write the same one: small files are copied, the rest are
    links."""
    shutil.rmtree(place, ignore_errors=True)
    place.mkdir(parents=True)
    left = [COPIED_ALL, COPIED_COUNT]

    def fill(folder: Path, target: Path) -> None:
        for entry in sorted(os.scandir(folder), key=lambda each: each.name):
            own = target / entry.name
            if Path(entry.path).resolve() == avoid:
                continue
            left[1] -= 1
            if entry.is_dir(follow_symlinks=False) and entry.name not in LINKED and left[1] > 0:
                own.mkdir()
                fill(Path(entry.path), own)
            elif entry.is_file(follow_symlinks=False) and _small(entry, left):
                left[0] -= entry.stat().st_size
                shutil.copy2(entry.path, own)
            else:
                own.symlink_to(Path(entry.path).absolute())

    fill(source, place)


def _small(entry: os.DirEntry[str], left: list[int]) -> bool:
    size = entry.stat().st_size
    return size <= min(COPIED_FILE, left[0]) and left[1] > 0


# -- running ---------------------------------------------------------------------------------------


def keep_ends(stream: IO[bytes], kept: list[str]) -> None:
    """Read a stream to its end and keep its beginning and its end, however long it is."""
    head, size, dropped = b"", 0, 0
    tail: deque[bytes] = deque()
    while block := stream.read1(2**16):  # type: ignore[attr-defined]
        if len(head) < KEPT_OUTPUT:
            head += block
            continue
        tail.append(block)
        size += len(block)
        while size - len(tail[0]) > KEPT_OUTPUT:
            size -= len(tail[0])
            dropped += len(tail.popleft())
    middle = f"\n[{dropped} bytes left out]\n".encode() if dropped else b""
    kept.append((head + middle + b"".join(tail)).decode(errors="replace"))


def run_process(
    command: list[str], seconds: float | None = None, **kwargs: Any
) -> tuple[int | None, str, str]:
    """Exit status (None: it was ended after `seconds`), output and errors of a process. What it
    started ends with it."""
    outputs: tuple[list[str], list[str]] = ([], [])
    status: int | None = None
    with subprocess.Popen(
        command,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        process_group=0,
        **kwargs,
    ) as process:
        streams = zip((process.stdout, process.stderr), outputs, strict=True)
        readers = [threading.Thread(target=keep_ends, args=pair, daemon=True) for pair in streams]
        for reader in readers:
            reader.start()
        try:
            with suppress(subprocess.TimeoutExpired):
                status = process.wait(seconds)
        finally:
            with suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
        for reader in readers:
            reader.join()
    return status, outputs[0][0], outputs[1][0]


def ending_of(status: int | None, seconds: float | None) -> str:
    """How a process ended, in words."""
    if status is None:
        return f"not at its end after {seconds:g} s"
    if status < 0:
        return f"killed by {signal.Signals(-status).name}"
    return "no room for its record" if status == UNWRITTEN else f"exit status {status}"


def missing_torch() -> str:
    """What to do where real PyTorch is not installed; '' where it is."""
    if importlib.util.find_spec("torch") is not None:
        return ""
    return f"real PyTorch is not installed; {install_extra('compare')}"


def run_one(
    options: argparse.Namespace, side: tuple[str, str], position: int, folder: Path, look: Look
) -> tuple[str, RunFailedError | None]:
    """Run the script under one framework, its record in `folder`: its output, and how it failed."""
    label, library = side
    folder.mkdir(parents=True, exist_ok=True)
    for name in ("record.json", "steps.jsonl", ARRAYS):
        (folder / name).unlink(missing_ok=True)
    place = folder / "work"
    make_place(Path.cwd(), place, (options.keep or folder.parent).resolve())
    # -P: nothing of what is in the working directory stands in for what PyTorch imports
    command = [sys.executable, "-P", "-m", "mindtorch.tools.compare.child", "--framework", library]
    command += ["--record", str(folder.resolve()), "--seed", str(options.seed)]
    command += ["--threads", str(options.threads), *look.arguments()]
    if options.module:
        command += ["--module", str(Path.cwd()), str(options.script)]
    else:
        command.append(str(options.script.resolve()))
    command += options.arguments
    variables = environment(library, RUNS[position - 1], options.threads)

    def done() -> str:
        count = steps_in(folder) if (folder / "steps.jsonl").exists() else 0
        return f"mindtorch compare: under {label}: {count} step{'' if count == 1 else 's'}"

    with telling(done):
        status, output, errors = run_process(command, options.timeout, env=variables, cwd=place)
    (folder / "stdout.txt").write_text(output)
    (folder / "stderr.txt").write_text(errors)
    known = (folder / "record.json").exists()
    if status == 0 and known:
        return output, None
    where = load_record(folder).where if known else ""
    steps = folder / "steps.jsonl"
    if not where and steps.exists():  # it was killed
        count = steps_in(folder)
        where = f"after {count} step{'' if count == 1 else 's'}"
    lines = [line for line in errors.splitlines() if line.strip()]
    what = "left no record" if status == 0 else ending_of(status, options.timeout)
    return output, RunFailedError(label, what, lines[-TAIL:] or ["no message"], where)


def steps_in(folder: Path) -> int:
    """How many steps a run wrote, whatever became of it."""
    return (folder / "steps.jsonl").read_bytes().count(b"\n")


@contextmanager
def run_both(
    options: argparse.Namespace, folder: Path, look: Look
) -> Iterator[tuple[tuple[Side, Side], list[RunFailedError]]]:
    """Run the script twice, one after the other, and open the records."""
    with ExitStack() as open_files:
        sides: list[Side] = []
        failures: list[RunFailedError] = []
        both = labels(options.frameworks, options.graph)
        for position, side in enumerate(both, start=1):
            say(f"running {options.script} under {side[0]}")
            place = folder / side[0]
            extra = run_arguments(options, position)
            if position == 2 and look.rerun:
                extra += ["--against", str((folder / both[0][0]).resolve())]
            here = Look(look.full_step, look.rerun, look.stop, look.window, extra)
            output, failure = run_one(options, side, position, place, here)
            failures += [failure] if failure else []
            if not (place / "record.json").exists():
                continue
            arrays = ArrayReader(place)
            open_files.callback(arrays.close)
            record = load_record(place)
            if failure is None and record.status == "running":
                record.status, record.steps = LEFT, steps_in(place)
            sides.append(Side(side[0], record, arrays, output, place))
        if len(sides) < 2:
            raise failures[0]
        yield (sides[0], sides[1]), failures


def run_arguments(options: argparse.Namespace, position: int) -> list[str]:
    """What the options mean for the recording of one run."""
    found: list[str] = []
    for name in ("steps", "only", "dtype"):
        value = getattr(options, name)
        found += [f"--{name}", str(value)] if value is not None else []
    if options.amp:
        found.append("--amp")
    if options.graph:  # a compiled model is one call, so it must be in the other run
        found += ["--shallow"] + ["--graph"] * (position == 2)
    return found
