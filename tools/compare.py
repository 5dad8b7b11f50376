"""`python -m mindtorch compare script.py`: the same script under real PyTorch and under us.

The two runs are processes of their own, one after the other, with the same seed, the same number
of threads and the same hash seed. What they did is recorded (`recorder`), compared (`agreement`)
and printed (`report`). The first layer that differs is named, with a file that holds what it was
given and what it made of it on both sides.
"""

import argparse
import json
import os
import re
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np

from .agreement import Agreement, Difference, Side, compare_sides
from .records import ArrayReader, LayerCall, Recorded, load_record, write_text_atomically

__all__ = ["add_arguments", "main"]

AGREE, DIFFER, FAILED = 0, 1, 2
TAIL = 20


@dataclass
class SideFailedError(Exception):
    """One side's script did not come to its end."""

    side: str
    status: str
    tail: list[str]


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The options of the command."""
    parser.add_argument("--seed", type=int, default=0, help="for scripts that set none (default 0)")
    parser.add_argument(
        "--tolerance",
        type=positive,
        default=1e-4,
        help="relative difference allowed to a loss (default 1e-4); a tenth in the first step",
    )
    parser.add_argument("--steps", type=int, metavar="N", help="watch only the first N steps")
    parser.add_argument("--threads", type=int, default=len(os.sched_getaffinity(0)), metavar="N")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the result as JSON")
    parser.add_argument("--keep", type=Path, metavar="DIR", help="keep the records of both sides")
    parser.add_argument("--output", type=Path, metavar="FILE", help="write the report as text too")
    # Two runs of one library must agree: that is how the comparison itself is tested.
    parser.add_argument("--sides", default="torch,mindtorch", help=argparse.SUPPRESS)
    parser.add_argument("script", type=Path)
    parser.add_argument("arguments", nargs=argparse.REMAINDER, help="the script's own arguments")


def positive(text: str) -> float:
    value = float(text)
    if not 0 < value < 1:
        raise argparse.ArgumentTypeError(f"must lie between 0 and 1, but got {text}")
    return value


# -- running ---------------------------------------------------------------------------------------


def environment(side: str, position: int, threads: int) -> dict[str, str]:
    """What a side's process sees of the environment; the same on both but for its name."""
    variables = dict(os.environ)
    for name in ("OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS"):
        variables[name] = str(threads)
    variables.setdefault("PYTHONHASHSEED", "0")
    variables["MINDTORCH_COMPARE_SIDE"] = str(position)
    variables.pop("MINDTORCH_ENABLE", None)
    if side == "torch":  # a migrated script's own `mstorch_enable` does nothing here
        variables["MINDTORCH_ENABLE"] = "0"
    return variables


def tail_of(errors: str, status: int) -> list[str]:
    """The last lines of what a failed side said."""
    lines = [line for line in errors.splitlines() if line.strip()]
    ending = f"killed by signal {-status}" if status < 0 else f"exit status {status}"
    return lines[-TAIL:] or [f"no message; {ending}"]


def run_side(
    options: argparse.Namespace, side: str, position: int, folder: Path, detail_step: int
) -> str:
    """Run the script on one side, its record in `folder`; returns what it printed."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "record.json").unlink(missing_ok=True)
    command = [sys.executable, "-m", "mindtorch.tools.recorder", "--side", side]
    command += ["--record", str(folder), "--seed", str(options.seed)]
    command += ["--threads", str(options.threads), "--detail-step", str(detail_step)]
    if options.steps is not None:
        command += ["--steps", str(options.steps)]
    command += [str(options.script), *options.arguments]
    result = subprocess.run(
        command,
        env=environment(side, position, options.threads),
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        errors="replace",
        check=False,
    )
    (folder / "stdout.txt").write_text(result.stdout)
    (folder / "stderr.txt").write_text(result.stderr)
    if result.returncode != 0:
        tail = tail_of(result.stderr, result.returncode)
        raise SideFailedError(side, f"exit status {result.returncode}", tail)
    if not (folder / "record.json").exists():
        raise SideFailedError(side, "left no record", tail_of(result.stderr, 0))
    return result.stdout


def labels(sides: str) -> list[tuple[str, str]]:
    """(label, library) of both sides; labels differ even where the library is the same."""
    first, second = sides.split(",")
    return [(first, first), (f"{second}#2" if first == second else second, second)]


@contextmanager
def both_sides(
    options: argparse.Namespace, folder: Path, detail_step: int
) -> Iterator[tuple[Side, Side]]:
    """Run both sides, in turns, and open their records."""
    with ExitStack() as open_files:
        sides = []
        for position, (label, library) in enumerate(labels(options.sides), start=1):
            say(f"running {options.script} under {label}")
            place = folder / label
            output = run_side(options, library, position, place, detail_step)
            arrays = ArrayReader(place)
            open_files.callback(arrays.close)
            sides.append(Side(label, load_record(place), arrays, output))
        yield sides[0], sides[1]


def say(text: str) -> None:
    """Progress, for someone who watches."""
    if sys.stderr.isatty():
        print(f"mindtorch compare: {text}", file=sys.stderr, flush=True)


# -- the file that reproduces a difference ---------------------------------------------------------


def layer_arrays(side: Side, call: LayerCall) -> dict[str, np.ndarray]:
    """What a layer was given and what it made of it, under names that say so."""
    found: dict[str, Recorded] = {}
    groups: dict[str, Sequence[Recorded | None]] = {
        "input": call.inputs,
        "output": call.outputs,
        "output_gradient": call.gradients,
    }
    for kind, group in groups.items():
        found |= {f"{kind}_{at}": each for at, each in enumerate(group) if each is not None}
    tables = {
        "parameter": side.record.parameters,
        "buffer": side.record.buffers,
        "parameter_gradient": side.record.parameter_gradients,
    }
    for kind, table in tables.items():
        for name, each in table.items():
            module, _, own = name.rpartition(".")
            if (module or side.record.model) == call.name:
                found[f"{kind}_{own}"] = each
    return {f"{side.name}_{name}": side.arrays[x] for name, x in found.items() if x.stored}


def write_reproduction(difference: Difference, sides: tuple[Side, Side], folder: Path) -> Path:
    """Write `repro_<layer>.npz` for a difference that has a layer."""
    content: dict[str, np.ndarray] = {}
    for side, call in zip(sides, (difference.layer, difference.other), strict=True):
        if call is not None:
            content |= layer_arrays(side, call)
    assert difference.layer is not None
    content["description"] = np.array(difference.layer.description)
    path = folder / f"repro_{re.sub(r'[^A-Za-z0-9_.-]+', '_', difference.layer.name)}.npz"
    partial = path.with_name(f".{path.name}.partial.npz")
    np.savez(partial, allow_pickle=False, **content)
    os.replace(partial, path)
    return path


# -- the verdict -----------------------------------------------------------------------------------


def step_to_look_at(agreement: Agreement) -> int | None:
    """The step to record in detail in a second run: the first that differs, where it was not the
    one that was looked at."""
    if not agreement.differences:
        return None
    step = agreement.differences[0].step
    return step if step > agreement.detail_step else None


def layer_at_fault(agreement: Agreement) -> Difference | None:
    """The first difference that belongs to a layer whose arrays were recorded."""
    return next((each for each in agreement.differences if each.layer is not None), None)


def as_json(agreement: Agreement, reproduction: Path | None) -> str:
    """The result for programs: everything in the report, and every difference."""
    content: dict[str, Any] = asdict(agreement)
    for plain, difference in zip(content["differences"], agreement.differences, strict=True):
        plain["text"] = str(difference)
        plain["layer"] = difference.layer.name if difference.layer else None
        del plain["other"]
    content["agree"] = not agreement.differences
    content["largest_loss_difference"] = agreement.largest_loss_difference
    content["reproduction"] = str(reproduction) if reproduction else None
    return json.dumps(content, indent=1)


def compare(options: argparse.Namespace, folder: Path) -> int:
    """Run, compare, report; the exit status."""
    from .report import print_report

    with both_sides(options, folder, 0) as sides:
        agreement = compare_sides(*sides, options.tolerance)
        detail, later = agreement, step_to_look_at(agreement)
        reproduction = None
        if later is None:
            reproduction = reproduce(agreement, sides, options)
    if later is not None:
        say(f"running again, to look at step {later + 1} in detail")
        with both_sides(options, folder / "again", later) as again:
            detail = compare_sides(*again, options.tolerance)
            reproduction = reproduce(detail, again, options)
    print_report(agreement, detail, sides, options, reproduction)
    if options.json is not None:
        write_text_atomically(options.json, as_json(agreement, reproduction))
    if agreement.is_empty:
        return FAILED
    return DIFFER if agreement.differences else AGREE


def reproduce(
    agreement: Agreement, sides: tuple[Side, Side], options: argparse.Namespace
) -> Path | None:
    fault = layer_at_fault(agreement)
    if fault is None:
        return None
    return write_reproduction(fault, sides, options.keep or Path.cwd())


def main(options: argparse.Namespace) -> int:
    """0: the sides agree. 1: they differ, and where is printed. 2: there was nothing to compare,
    because a side failed or because nothing was seen."""
    if not options.script.is_file():
        print(f"mindtorch compare: there is no script {str(options.script)!r}", file=sys.stderr)
        return FAILED
    if options.steps is not None and options.steps < 1:
        print(f"mindtorch compare: --steps must be positive, got {options.steps}", file=sys.stderr)
        return FAILED
    with tempfile.TemporaryDirectory(prefix="mindtorch-compare-") as temporary:
        try:
            return compare(options, options.keep or Path(temporary))
        except SideFailedError as failure:
            head = f"the script failed under {failure.side} ({failure.status}):"
            print(f"mindtorch compare: {head}", file=sys.stderr)
            print("\n".join(f"  {line}" for line in failure.tail), file=sys.stderr)
            return FAILED
