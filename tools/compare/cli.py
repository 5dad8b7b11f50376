"""`python -m mindtorch compare script.py`: the same script under real PyTorch and under us.

The two runs are processes of their own, one after the other, with the same seed, the same number
of threads and the same hash seed, each in a working directory of its own. What they did is recorded
(`recorder`) and compared (`compare_runs`). Where they differ, both are run again up to the first
step that does: each of its calls is made once more on the first side's exact values
(`rerun_event`), and each side is held against its own first run. `verdict` says what it comes to;
`report_text` and `report_html` show it.
"""

import argparse
import os
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, ExitStack
from dataclasses import replace
from itertools import islice
from pathlib import Path

from mindtorch.kernels.support.atomic_file import write_whole

from ..cli_types import count, seed, size
from ..progress import telling
from .compare_runs import compare_sides
from .distance import Side
from .findings import ENDINGS, EXACT, FOLLOWS, ROUNDING, SETTINGS, Agreement, Difference
from .record_format import LEFT, Record, Step, load_steps
from .report_html import write_page
from .report_text import print_report
from .repro_writer import write_reproduction
from .run_frameworks import Look, RunFailedError, missing_torch, run_both, say
from .step_times import time_steps
from .verdict import Outcome

__all__ = ["add_arguments", "diagnose", "main"]

FAILED = 2
GROWN = 10  # a difference that became so much larger is looked at again
MOST_LOOKS = 3
FULL_BYTES = 2**29
AROUND = 30

Runs = AbstractContextManager[tuple[tuple[Side, Side], list[RunFailedError]]]
Runner = Callable[[argparse.Namespace, Path, Look], Runs]
ITEM = {"float64": 8, "complex64": 8, "int64": 8, "float32": 4, "int32": 4, "bfloat16": 4}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The options of the command."""
    parser.add_argument("--seed", type=seed, default=0, help="for scripts that set none (0)")
    parser.add_argument(
        "--tolerance",
        type=positive,
        default=1e-4,
        help="relative difference allowed to a loss (default 1e-4); a tenth in the first step",
    )
    parser.add_argument("--steps", type=count, metavar="N", help="watch only the first N steps")
    parser.add_argument("--only", metavar="PATTERN", help="watch only modules named like path.*")
    dtypes = ("float32", "float64")
    parser.add_argument("--dtype", choices=dtypes, help="default dtype, batches and model inputs")
    parser.add_argument("--amp", action="store_true", help="call models under bfloat16 autocast")
    parser.add_argument("--graph", action="store_true", help="compile models in mindtorch's run")
    cores = len(os.sched_getaffinity(0))
    parser.add_argument(
        "--threads", type=count, default=cores, metavar="N", help="threads of both runs (the cores)"
    )
    parser.add_argument(
        "--time", action="store_true", help="also time the steps, both runs in turns, unrecorded"
    )
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the result as JSON")
    parser.add_argument("--html", type=Path, metavar="FILE", help="write the report as a page")
    parser.add_argument("--keep", type=Path, metavar="DIR", help="keep the records of both runs")
    parser.add_argument("--output", type=Path, metavar="FILE", help="write the report as text too")
    parser.add_argument(
        "--frameworks",
        type=two_frameworks,
        default="torch,mindtorch",
        metavar="A,B",
        help="what to run the script under: torch,mindtorch, or one of them twice",
    )
    parser.add_argument(
        "--timeout", type=size, metavar="SECONDS", help="end a run that takes longer"
    )
    parser.add_argument(
        "-m", "--module", action="store_true", help="SCRIPT is a module's name, as of python -m"
    )
    parser.add_argument("script", type=Path, help="the script that is run twice")
    parser.add_argument("arguments", nargs=argparse.REMAINDER, help="the script's own arguments")


def two_frameworks(text: str) -> str:
    """Two names of frameworks: the reference run's and the candidate's."""
    if text.count(",") != 1 or not set(text.split(",")) <= {"torch", "mindtorch"}:
        raise argparse.ArgumentTypeError(f"must be two of torch and mindtorch, but got {text}")
    return text


def positive(text: str) -> float:
    value = float(text)
    if not 0 < value < 1:
        raise argparse.ArgumentTypeError(f"must lie between 0 and 1, but got {text}")
    return value


def steps_until(folder: Path, last: int) -> Iterator[Step]:
    """The steps in a folder, up to number `last`, without what was run again in them."""
    for step in islice(load_steps(folder), last + 1):
        yield replace(step, events=[replace(event, reruns=[]) for event in step.events])


def agreement_of(sides: tuple[Side, Side], tolerance: float) -> Agreement:
    first, second = (load_steps(side.folder) for side in sides)
    return compare_sides(sides, (first, second), tolerance)


# -- looking closer --------------------------------------------------------------------------------


def next_step(outcome: Outcome) -> int | None:
    """The step to look at closely: that of the first difference that nothing explains yet; where
    all of them come from smaller ones before, that of the first."""
    if outcome.unstable or (outcome.real is not None and outcome.real.step in outcome.examined):
        return None
    last = max(outcome.examined, default=-1)
    later = [
        each
        for each in outcome.agreement.differences
        if each.step > last and each.what not in ENDINGS
    ]
    cleared: dict[tuple[str, str], float] = {}  # how far apart what was found to be rounding is
    for each in outcome.agreement.differences:
        if each.step in outcome.judged:
            key = (each.what, each.name)
            cleared[key] = max(cleared.get(key, 0.0), each.value)
    open_ones = [
        each
        for each in later
        if each.cause not in (FOLLOWS, ROUNDING)
        and not each.value <= GROWN * cleared.get((each.what, each.name), 0.0)
    ]
    if open_ones or (later and not outcome.examined):
        return (open_ones or later)[0].step
    # All others follow from the first.
    every = [each.step for each in outcome.agreement.differences if each.what not in ENDINGS]
    return every[0] if outcome.real is None and every and every[0] not in outcome.examined else None


def window_of(difference: Difference, sides: tuple[Side, Side]) -> tuple[int, int] | None:
    """The events to keep in full where those of a whole step are too many; None for all."""
    steps = islice(load_steps(sides[0].folder), difference.step, difference.step + 1)
    step = next(steps, None)
    event = difference.first or difference.second
    if step is None or event is None:
        return None
    size = 0
    for each in step.events:
        for recorded in (*each.inputs, *each.outputs, *filter(None, each.gradients)):
            count = 1
            for length in recorded.shape:
                count *= length
            size += count * ITEM.get(recorded.dtype, 4)
    return None if size <= FULL_BYTES else (event.index - AROUND, event.index + AROUND)


def instability(
    sides: tuple[Side, Side], again: tuple[Side, Side], last: int, tolerance: float
) -> list[tuple[str, Difference]]:
    """What each side did otherwise in its second run, up to step `last`."""
    found = []
    for before, now in zip(sides, again, strict=True):
        record = replace(now.record, status="stopped")
        # What was first used in a later step is not seen in a run that is stopped before.
        own = before.record
        parameters = {x: y for x, y in own.parameters.items() if x in record.parameters}
        buffers = {x: y for x, y in own.buffers.items() if x in record.buffers}
        own = replace(own, parameters=parameters, buffers=buffers)
        pair = (
            replace(before, name="the first run", record=own),
            replace(now, name="the second run", record=record),
        )
        steps = (steps_until(before.folder, last), steps_until(now.folder, last))
        result = compare_sides(pair, steps, tolerance)
        differences = [x for x in result.differences if x.what not in ENDINGS]
        if differences:
            found.append((now.name, differences[0]))
    return found


def examine(
    outcome: Outcome,
    sides: tuple[Side, Side],
    options: argparse.Namespace,
    folder: Path,
    run: Runner,
) -> None:
    """Run both sides again, up to the first step that differs, and judge what differs there."""
    for _ in range(MOST_LOOKS):
        step = next_step(outcome)
        if step is None:
            return
        first = next(each for each in outcome.differences if each.step == step)
        say(f"running again, to look at step {step + 1} in detail")
        look = Look(step, rerun=True, stop=True, window=window_of(first, sides))
        place = folder / f"step{step + 1}"
        with run(options, place, look) as (again, failures):
            if failures:
                outcome.failures = failures
                return
            outcome.unstable = instability(sides, again, step, options.tolerance)
            outcome.detail = agreement_of(again, options.tolerance)
            differences = outcome.detail.differences
            outcome.judged[step] = [each for each in differences if each.step == step]
            if outcome.real is not None and not outcome.unstable:
                outcome.reproduction = reproduce(outcome, again, options)


def reproduce(
    outcome: Outcome, sides: tuple[Side, Side], options: argparse.Namespace
) -> Path | None:
    """The files for the first real difference that belongs to a call."""
    found = [each for each in outcome.detail.differences if each.is_real and each.first]
    if not found:
        return None
    folder = options.keep or Path.cwd()
    return write_reproduction(found[0], sides, outcome.script, folder)


def layers_that_differ(first: Record, second: Record) -> list[Difference]:
    """Layers of torch's own that are made with other settings, where nothing that the runs gave
    shows it: in 16 bits another epsilon is less than a rounding."""
    from mindtorch.torch import nn

    found = []
    for path, a in first.modules.items():
        b, name = second.modules.get(path, a), a.partition("(")[0]
        if a != b and b.startswith(f"{name}(") and name in vars(nn):
            note = f"{a} against {b}"
            found.append(Difference("forward", SETTINGS, path, path, 0, note=note, cause=EXACT))
    return found


# -- the command -----------------------------------------------------------------------------------


def diagnose(options: argparse.Namespace, folder: Path, run: Runner = run_both) -> Outcome:
    """Run both sides (with `run`), compare, and look closer where they differ."""
    with run(options, folder, Look()) as (sides, failures):
        with telling(lambda: "mindtorch compare: comparing the two records"):
            agreement = agreement_of(sides, options.tolerance)
        written = [set(side.record.written_outside) for side in sides]
        chosen = ("only", "dtype", "amp", "graph", "seed")
        outcome = Outcome(
            script=str(options.script),
            names=(sides[0].name, sides[1].name),
            versions=(sides[0].record.version, sides[1].record.version),
            threads=options.threads,
            model=sides[0].record.model,
            agreement=agreement,
            detail=agreement,
            failures=failures,
            written=sorted(written[0] & written[1]),
            left=[side.name for side in sides if side.record.status == LEFT],
            overheads=(sides[0].record.overhead, sides[1].record.overhead),
            settings={name: getattr(options, name) for name in chosen},
        )
        if not failures and not agreement.is_empty:
            examine(outcome, sides, options, folder, run)
            if outcome.kind in ("agree", "rounding"):
                agreement.differences += layers_that_differ(sides[0].record, sides[1].record)
    return outcome


def compare(options: argparse.Namespace, folder: Path) -> int:
    """Run, compare, report; the exit status."""
    outcome = diagnose(options, folder)
    if options.time and not outcome.failures:
        outcome.load = os.getloadavg()[0]
        outcome.times = time_steps(options)
        if not outcome.times:
            print("mindtorch compare: too few steps with an optimizer to time", file=sys.stderr)
    print_report(outcome, options.output)
    if options.json is not None:
        write_whole(options.json, outcome.as_json())
    if options.html is not None:
        write_page(outcome, options.html)
    show_failures(outcome.failures)
    return outcome.status


def show_failures(failures: list[RunFailedError]) -> None:
    for failure in failures:
        head = f"the script failed under {failure.framework} ({failure.status}):"
        print(f"mindtorch compare: {head}", file=sys.stderr)
        print("\n".join(f"  {line}" for line in failure.tail), file=sys.stderr)


def refused(options: argparse.Namespace) -> str:
    """Why nothing can be run, or ''."""
    if not options.module and not options.script.is_file():
        return f"there is no script {str(options.script)!r}"
    for path in (options.json, options.html, options.output):
        if path is not None and (path.is_dir() or not path.absolute().parent.is_dir()):
            return f"cannot write {str(path)!r}: it is a folder, or its folder is not there"
    if options.keep is not None and options.keep.exists() and not options.keep.is_dir():
        return f"cannot keep records in {str(options.keep)!r}: it is a file"
    return missing_torch() if "torch" in options.frameworks.split(",") else ""


def main(options: argparse.Namespace) -> int:
    """0: the runs agree, if need be but for rounding. 1: they differ, and where is printed. 2:
    there was nothing to compare, because a run failed, does not do the same twice, or nothing was
    seen."""
    refusal = refused(options)
    if refusal:
        print(f"mindtorch compare: {refusal}", file=sys.stderr)
        return FAILED
    with ExitStack() as stack:
        folder = options.keep
        if folder is None:
            temporary = tempfile.TemporaryDirectory(prefix="mindtorch-compare-")
            folder = Path(stack.enter_context(temporary))
        try:
            return compare(options, folder)
        except RunFailedError as failure:
            show_failures([failure])
        except OSError as error:  # e.g. no room for the working directories
            print(f"mindtorch compare: {error}", file=sys.stderr)
        return FAILED
