"""Prove and measure CUDA on a machine that has a GPU; writes docs/gpu.md.

    python benchmarks/cuda.py [--quick | --full] [--anew] [--out docs/gpu.md] [--only NAMES]
                              [--budget SECONDS]

One command for a machine with numba, numba-cuda, and, where they are there, cupy and a CUDA build
of torch; no network. Its stages, by name:

    machine   versions, driver, NVVM; the first kernel is compiled and launched
    table     the op table on the GPU against the CPU's kernels in float64
    tensors   the checks of tensors, memory, streams and errors (``tests/programs/cuda_program.py``)
    models    training steps of the seven models against the CPU
    ceilings  a large copy and large matrix products by a vendor's library
    times     works and training steps against real torch on the same GPU, in turns, by device
              events: each side is a process of its own that waits while the other is timed
    sanitizer compute-sanitizer's memcheck and racecheck over kernels that share memory

Every stage runs in processes of its own, with a limit; what fails, hangs or kills its process is
written down and the rest goes on. The page, and the raw results beside it (``.json``), are written
after each row, model and work, so that whatever ends this program loses nothing: the same command
goes on where it ended, unless the sources have changed since or ``--anew`` is given (what was found
before is kept as ``.before.json``). One call ends within nine minutes, three have measured all;
``--quick`` is one call with smaller sizes. A call goes on with the ``.json`` beside ``--out``: on a
machine that keeps nothing, put it there first. ``--full`` takes every case and type of the table,
more turns, and hours. ``--only`` some stages measures these anew and keeps the others. ``--tiny``
is for numba's simulator: it proves this program.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import platform
import shutil
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
# in place of this folder, where this file would be found as NVIDIA's package "cuda"
sys.path = [str(ROOT), *[p for p in sys.path if Path(p or ".").resolve() != ROOT / "benchmarks"]]

from benchmarks import gpu_page  # noqa: E402
from benchmarks.cuda_side import SIDES  # noqa: E402
from benchmarks.processes import Ended, Program, output_of  # noqa: E402

SIZES = ("full", "usual", "quick", "tiny")
# seconds that a stage may take, by size, all calls together
LIMITS = {
    "machine": (120, 60, 60, 60), "table": (3600, 420, 160, 120), "tensors": (600, 100, 60, 120),
    "models": (900, 270, 90, 120), "ceilings": (120, 60, 40, 60), "times": (2400, 440, 160, 240),
    "sanitizer": (900, 120, 60, 20),
}  # fmt: skip
PIECE = 540.0  # seconds of one call
Tell = Callable[[Any], None]
ROW_LIMIT, ANSWER_LIMIT = 90.0, 180.0
SANITIZED = ("sum", "softmax", "layer_norm", "cumsum", "sort", "matmul", "max_pool2d")


class Context:
    """What the stages share: the options, and when they must end.

    Attributes:
        deadline, ends: of this call, and of the stage.
    """

    def __init__(self, options: argparse.Namespace) -> None:
        chosen = [s for s in SIZES if getattr(options, s, False)]
        self.size = chosen[0] if chosen else "usual"
        budget = options.budget or (PIECE if self.size in ("usual", "quick") else 1e9)
        self.deadline = time.monotonic() + budget
        self.ends = self.deadline

    def begin(self, stage: str, spent: float) -> bool:
        """Start a stage that has taken so many seconds in former calls: whether it may go on."""
        left = LIMITS[stage][SIZES.index(self.size)] - spent
        self.ends = min(time.monotonic() + left, self.deadline)
        return left >= 5

    def cut(self, most: float = 6.0) -> bool:
        """Whether the stage was ended by the end of this call, and goes on in the next one: fewer
        than ``most`` seconds are left, with which nothing is begun."""
        return self.ends == self.deadline and self.left() < most

    def left(self) -> float:
        return self.ends - time.monotonic()


# --- the stages ----------------------------------------------------------------------------------


def machine(context: Context, before: Any, tell: Tell) -> Any:
    """The last facts of ``benchmarks/gpu_probe.py``, and at which of them it ended."""
    found: dict[str, Any] = {"python": platform.python_version(), "system": platform.platform()}
    program = Program("benchmarks/gpu_probe.py")
    try:
        while "done" not in found:
            found.update(program.answer(context.left()))
    except Ended as end:
        found["error"] = str(end)
    finally:
        program.end()
    return found


class Table:
    """The op table, in several processes; one that hangs or dies begins again after that row.

    Args:
        before: what a former call has found; "at" says after which row each part goes on.
    """

    def __init__(self, context: Context, parts: int, before: Any, tell: Tell) -> None:
        self.context = context
        self.lock = threading.Lock()
        self.tell = tell
        self.told = 0.0
        none = {"rows": 0, "count": 0, "different": {}, "left": 0, "at": {}, "parts": parts}
        self.found: dict[str, Any] = {**none, **before}
        self.parts = int(self.found["parts"])

    def run(self) -> dict[str, Any]:
        threads = [threading.Thread(target=self._part, args=(k,)) for k in range(self.parts)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        ends = [self.found["at"].get(str(part), (-1, 0)) for part in range(self.parts)]
        self.found["left"] = sum(left for _, left in ends)
        if any(after == -1 for after, _ in ends):
            self.found["left"] = f"more than {self.found['left']}"
        return self.found

    def _part(self, part: int) -> None:
        after, left = self.found["at"].get(str(part), (-1, 0))
        while after is not None and self.context.left() > 5:
            after, left = self._from(part, after)
            with self.lock:
                self.found["at"][str(part)] = (after, left)

    def _from(self, part: int, after: int) -> tuple[Any, int]:
        """Run the rows after ``after``: (the row to go on after, how many rows are left)."""
        rows: dict[str, list[str]] = {"tiny": ["--kernels", "--every", "60"], "full": ["--all"]}
        program = Program(
            "tests/programs/cuda_table.py",
            "--lines", "--float64", "--part", f"{part}/{self.parts}",
            "--after", str(after), *rows.get(self.context.size, []),
        )  # fmt: skip
        row, name, left = after, "start", -1
        try:
            while True:
                told = program.answer(min(ROW_LIMIT, self.context.left()))
                if "done" in told:
                    return None, 0
                row, name, left = told["row"], told["name"], told["left"]
                if "count" in told:
                    self._note(told, part)
        except Ended as end:
            if self.context.left() <= 1:
                with self.lock:
                    return self.found["at"].get(str(part), (after, left))
            with self.lock:
                self.found["different"][f"{name} (part {part}, row {row})"] = str(end)[:300]
            return (None, left) if row == after else (row, left)
        finally:
            program.end()

    def _note(self, told: dict[str, Any], part: int) -> None:
        with self.lock:
            self.found["rows"] += 1
            self.found["count"] += told["count"]
            self.found["different"].update(told["different"])
            self.found["at"][str(part)] = (told["row"], told["left"])
            if time.monotonic() - self.told > 2:
                self.told = time.monotonic()
                self.tell(self.found)


def table(context: Context, before: Any, tell: Tell) -> Any:
    return Table(context, max(1, min(8, (os.cpu_count() or 2) // 2)), before, tell).run()


def lines_of(
    context: Context, program: str, *arguments: str, tell: Tell = lambda found: None
) -> dict[str, Any]:
    """Everything that a program tells, one object after another, until it says "done"."""
    found: dict[str, Any] = {}
    running = Program(program, *arguments)
    try:
        while "done" not in found:
            found.update(running.answer(context.left()))
            tell(found)
    except Ended as end:
        found["error"] = str(end)
    finally:
        running.end()
    found.pop("done", None)
    return found


def tensors(context: Context, before: Any, tell: Tell) -> Any:
    return lines_of(context, "tests/programs/cuda_program.py", "--lines", tell=tell)


COMPILED = ", compiled against eager"


def models(context: Context, before: Any, tell: Tell) -> Any:
    """Each model, and each compiled, in a process of its own: one that dies leaves the others."""
    from tests.support.models import MODELS

    found = {name: said for name, said in before.items() if name not in ("seconds", "complete")}
    for how in ("", COMPILED):
        for name in ("mlp",) if context.size == "tiny" else MODELS:
            if name + how in found or context.left() < 5:
                continue
            options = ["--compiled"] if how else []
            told = lines_of(context, "tests/programs/cuda_models.py", *options, name)
            if name in told or not context.cut(1.0):
                found[name + how] = told.get(name, told)
            tell(found)
    return found


def ceilings(context: Context, before: Any, tell: Tell) -> Any:
    small = ["--small"] if context.size == "tiny" else []
    return lines_of(context, "benchmarks/gpu_ceilings.py", *small)


class Side:
    """A process that times one namespace; started again when its device is lost."""

    def __init__(self, side: str, context: Context) -> None:
        self.side = side
        self.context = context
        self.program: Program | None = None
        self.hello = self._start()

    def _start(self) -> dict[str, Any]:
        size = {"usual": "full"}.get(self.context.size, self.context.size)
        self.program = Program("benchmarks/cuda_side.py", self.side, "--size", size)
        return self.program.answer(min(ANSWER_LIMIT, self.context.left()))

    def time(self, name: str) -> dict[str, Any]:
        try:
            if self.program is None:
                self._start()
            assert self.program is not None
            limit = min(ANSWER_LIMIT, self.context.left())
            answer = self.program.ask({"time": name}, limit)
        except Ended as end:
            answer = {"error": str(end), "dead": True}
        if answer.get("dead"):
            self.end()
        return answer

    def end(self) -> None:
        if self.program is not None:
            self.program.end()
        self.program = None


def times(context: Context, before: Any, tell: Tell) -> Any:
    """The median time of each work on each side, taken in turns."""
    sides: dict[str, Side] = {}
    found: dict[str, Any] = {"sides": {}, "works": dict(before.get("works", {}))}
    for side in SIDES:
        try:
            sides[side] = Side(side, context)
            found["sides"][side] = sides[side].hello["version"]
        except Ended as end:
            found["sides"][side] = f"not timed: {end}"
    rounds = {"full": 9, "usual": 5, "quick": 3, "tiny": 1}[context.size]
    names: list[str] = next((s.hello["names"] for s in sides.values()), [])
    todo = [name for name in names if name not in found["works"]]
    try:
        for place, name in enumerate(todo):
            found["not reached"] = todo[place:]
            if context.left() < 5:
                break
            timed = _in_turns(sides, name, rounds)
            if context.cut(1.0):
                break
            found["works"][name] = timed
            found["not reached"] = todo[place + 1 :]
            tell(found)
    finally:
        for each in sides.values():
            each.end()
    return found


def _in_turns(sides: dict[str, Side], name: str, rounds: int) -> dict[str, Any]:
    times: dict[str, list[float]] = {side: [] for side in sides}
    found: dict[str, Any] = {"errors": {}}
    for _ in range(rounds):
        for side, process in sides.items():
            if side in found["errors"]:
                continue
            answer = process.time(name)
            if "ms" not in answer:
                found["errors"][side] = answer["error"]
                continue
            times[side].append(answer["ms"])
            found["facts"] = [answer["moved"], answer["done"]]
            if answer["first"] is not None:
                found.setdefault("first", {})[side] = answer["first"]
    medians = {side: sorted(t)[len(t) // 2] for side, t in times.items() if t}
    return {**found, **medians}


def sanitizer(context: Context, before: Any, tell: Tell) -> Any:
    """The summaries of compute-sanitizer's tools over kernels that share memory."""
    tool = shutil.which("compute-sanitizer") or "/usr/local/cuda/bin/compute-sanitizer"
    if not Path(tool).exists():
        return {"error": "compute-sanitizer is not installed"}
    found: dict[str, Any] = {}
    for check in ("memcheck", "racecheck"):
        program = str(ROOT / "tests" / "programs" / "cuda_table.py")
        command = [tool, "--tool", check, sys.executable, "-P", program, "--few", *SANITIZED]
        try:
            said = output_of(command, max(context.left() / 2, 1))
            lines = [s for s in said.splitlines() if "SUMMARY" in s]
            found[check] = lines[-1] if lines else said[-300:]
        except Ended as end:
            found[check] = str(end)
        tell(found)
    return found


STAGES: dict[str, Callable[..., Any]] = {
    "machine": machine, "tensors": tensors, "models": models, "ceilings": ceilings,
    "times": times, "table": table, "sanitizer": sanitizer,
}  # fmt: skip


# --- the whole -----------------------------------------------------------------------------------


def replace(path: Path, text: str) -> None:
    """Write a file that is whole at any moment."""
    beside = path.with_name(f"{path.name}.{os.getpid()}")
    beside.write_text(text)
    beside.replace(path)


class Results:
    """What is known so far, written to the page and beside it after every change."""

    def __init__(self, place: Path) -> None:
        self.place = place
        self.raw = place.with_suffix(".json")
        self.found: dict[str, Any] = {}

    def load(self) -> None:
        try:
            self.found = dict(json.loads(self.raw.read_text()))
        except (OSError, ValueError):
            self.found = {}

    def begin(self, anew: bool) -> None:
        """Go on with what a former call has found by these sources, or keep it aside."""
        self.load()
        sources = digest()
        if self.found and (anew or self.found.get("sources") != sources):
            replace(self.raw.with_suffix(".before.json"), json.dumps(self.found, indent=1))
            self.found = {}
        self.found["sources"] = sources

    def take(self, stage: str, result: Any) -> None:
        self.found[stage] = result
        replace(self.raw, json.dumps(self.found, indent=1))
        replace(self.place, gpu_page.page(self.found))


def digest() -> str:
    """A number of the sources that are measured."""
    found = hashlib.sha256()
    for folder in ("kernels", "engine", "mindtorch", "benchmarks", "tests"):
        for path in sorted((ROOT / folder).rglob("*.py")):
            found.update(path.read_bytes())
    return found.hexdigest()[:16]


def attempt(function: Callable[..., Any], *arguments: Any) -> Any:
    """The function's result; {"error": ...} for whatever it raises."""
    try:
        return function(*arguments)
    except Exception as error:
        return {"error": f"{type(error).__name__}: {error}"[:600]}


def options_of(arguments: list[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--quick", action="store_true", help="one call, smaller sizes")
    parser.add_argument("--full", action="store_true", help="all cases and types; takes hours")
    parser.add_argument("--anew", action="store_true", help="do not go on with a former call")
    parser.add_argument("--tiny", action="store_true", help="for numba's simulator")
    parser.add_argument("--only", default=",".join(STAGES), help="stages, separated by commas")
    parser.add_argument("--budget", type=float, default=0, help="seconds of this call")
    parser.add_argument("--out", default=str(ROOT / "docs" / "gpu.md"))
    options = parser.parse_args(arguments)
    options.stages = options.only.split(",")
    unknown = set(options.stages) - set(STAGES)
    if unknown:
        parser.error(f"no stage {', '.join(sorted(unknown))}; there are {', '.join(STAGES)}")
    return options


def main(arguments: list[str] | None = None) -> int:
    options = options_of(arguments)
    simulated = os.environ.get("NUMBA_ENABLE_CUDASIM") == "1"
    if simulated != options.tiny:
        print("--tiny is for the simulator (NUMBA_ENABLE_CUDASIM=1), the rest for a GPU")
        return 2
    from mindtorch.engine.devices import cuda
    from mindtorch.kernels.cuda import streams

    if not simulated and not cuda.device_count():
        print(f"{streams.failure()}: nothing was measured, docs/gpu.md stays as it is")
        return 1
    results = Results(Path(options.out))
    results.begin(options.anew)
    for stage in options.stages if set(options.stages) != set(STAGES) else ():
        results.found.pop(stage, None)
    context = Context(options)
    todo = [s for s in options.stages if not results.found.get(s, {}).get("complete")]
    for stage in todo:
        if context.deadline - time.monotonic() < 5:
            break
        measure(stage, context, results)
    left = [s for s in options.stages if not results.found.get(s, {}).get("complete")]
    print(f"{options.out} written; " + (
        f"the same command goes on with: {', '.join(left)}" if left else "all is measured"
    ))  # fmt: skip
    return 0


def measure(stage: str, context: Context, results: Results) -> None:
    """Run a stage, or what former calls have left of it, and write down what it finds."""
    before = results.found.get(stage, {})
    begun, spent = time.monotonic(), float(before.get("seconds", 0))

    def stamped(found: Any, complete: bool) -> Any:
        seconds = round(spent + time.monotonic() - begun, 1)
        return {**found, "seconds": seconds, "complete": complete}

    def tell(found: Any) -> None:
        results.take(stage, stamped(found, False))

    known = {name: said for name, said in before.items() if name != "error"}
    if context.begin(stage, spent):
        tell(known)  # so that time is counted, too, when this program is killed
        found = attempt(STAGES[stage], context, known, tell)
        if not found.keys() - {"error"}:
            found = {**known, **found}
    else:
        found = {**known, "error": "no time was left"}
    found = stamped(found, not context.cut())
    results.take(stage, found)
    print(f"{stage}: {found['seconds']} s {found.get('error', '')[:200]}", flush=True)


if __name__ == "__main__":
    raise SystemExit(main())
