"""`mindtorch certify script.py` and `mindtorch verify FILE`."""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import sys
import tempfile
from pathlib import Path
from typing import Any

import mindtorch

from ..cli_types import count, count_or_none, seed
from ..compare.run_frameworks import make_place, missing_torch, run_process
from ..progress import progress, telling
from .certificate import (
    FLOOR,
    GRADIENT_FLOOR,
    MARGIN,
    Certificate,
    Difference,
    check,
    compare_step,
)

__all__ = ["add_certify_arguments", "add_verify_arguments", "certify", "verify"]

CERTIFY = """Run a script under real PyTorch and keep its losses, gradient norms and digests in a
file, with how far rounding may move them: the script is run again with every parameter moved by
one unit in the last place. Exit status 0: written; 1: the script failed; 2: it has no steps, or
cannot be run."""
VERIFY = """Run a certified script under mindtorch; PyTorch need not be installed. Exit status 0:
it does what PyTorch did; 1: it does not; 2: the certificate or the script cannot be read."""


class _FailedError(Exception):
    """A run that came to nothing; the exit status and what to print."""

    def __init__(self, status: int, text: str) -> None:
        super().__init__(text)
        self.status = status


def add_certify_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--steps", type=count, default=10, help="steps to certify (10)")
    parser.add_argument("--seed", type=seed, default=0, help="of the run (0)")
    parser.add_argument("--threads", type=count, default=1, help="of the run (1)")
    parser.add_argument(
        "--runs", type=count_or_none, default=2, help="moved runs that measure rounding (2)"
    )
    parser.add_argument(
        "-o", "--output", type=Path, help="the file; SCRIPT.certificate.json unless given"
    )
    parser.add_argument("script", type=Path, help="the script to certify")
    parser.add_argument("arguments", nargs=argparse.REMAINDER, help="the script's own arguments")


def add_verify_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--script", type=Path, help="where the script is now")
    parser.add_argument("--json", action="store_true", help="print JSON")
    parser.add_argument("certificate", type=Path, metavar="FILE", help="what certify wrote")


def _record(
    framework: str, settings: dict[str, Any], script: Path, arguments: list[str]
) -> Certificate:
    """Run a script in a process of its own, in a copy of the working directory: what it writes is
    not there for the next run.

    Raises:
        _FailedError: it did not end well.
    """
    with tempfile.TemporaryDirectory(prefix="mindtorch-certify-") as folder:
        record, place = Path(folder) / "record.json", Path(folder) / "work"
        make_place(Path.cwd(), place, Path(folder))
        command = [sys.executable, "-P", "-m", "mindtorch.tools.certify.child"]
        command += ["--framework", framework, "--record", str(record)]
        for name, value in settings.items():
            if value is not None:
                command += [f"--{name}", str(value)]
        path = os.pathsep.join(filter(None, [_home(), os.environ.get("PYTHONPATH")]))
        shown = "real PyTorch" if framework == "torch" else "mindtorch"
        with telling(lambda: f"mindtorch: {script} under {shown}"):
            ended, _, errors = run_process(
                [*command, str(script.resolve()), *arguments],
                env={**os.environ, "PYTHONPATH": path},
                cwd=place,
            )
        if ended or not record.exists():
            tail = "\n".join(errors.splitlines()[-30:])
            status = 2 if ended == 2 else 1
            raise _FailedError(status, f"{script} failed under {shown}:\n{tail}")
        return Certificate.load(record)


def _home() -> str:
    return str(Path(mindtorch.__file__).resolve().parent.parent)


def _allowed(certificate: Certificate, moved: list[Certificate]) -> list[tuple[float, float]]:
    """For each step, how far rounding may move losses and norms; never less than before."""
    limits = []
    worst = [FLOOR, GRADIENT_FLOOR]
    for place, step in enumerate(certificate.steps):
        for other in moved:
            if place >= len(other.steps):
                continue
            for each in compare_step(place + 1, other.steps[place], step, (0, 0)):
                kind = 0 if each.what.startswith("loss") else 1
                worst[kind] = max(worst[kind], MARGIN * each.distance)
        limits.append((worst[0], worst[1]))
    return limits


def certify(options: argparse.Namespace) -> int:
    """Write a certificate; the exit status."""
    output = options.output or options.script.with_suffix(".certificate.json")
    if output.is_dir() or not output.absolute().parent.is_dir():
        print(f"mindtorch certify: cannot write {output}: it is a folder, or its folder is not "
              "there", file=sys.stderr)  # fmt: skip
        return 2
    refusal = missing_torch()
    if refusal:
        print(f"mindtorch certify: {refusal}", file=sys.stderr)
        return 2
    settings = {name: getattr(options, name) for name in ("steps", "seed", "threads")}
    runs = [None, *range(1, options.runs + 1)]
    try:
        found = [
            _record("torch", {**settings, "perturb": run}, options.script, options.arguments)
            for run in progress(runs, f"running {options.script.name}")
        ]
    except _FailedError as error:
        print(f"mindtorch certify: {error}", file=sys.stderr)
        return error.status
    except OSError as error:  # e.g. no room for the working directory
        print(f"mindtorch certify: {error}", file=sys.stderr)
        return 2
    certificate, *moved = found
    if not certificate.steps:
        print(f"mindtorch certify: {options.script} makes no step: there is nothing to certify",
              file=sys.stderr)  # fmt: skip
        return 2
    certificate.allowed = _allowed(certificate, moved)
    certificate.script = os.path.relpath(options.script, output.resolve().parent)
    try:
        certificate.save(output)
    except OSError as error:
        print(f"mindtorch certify: cannot write {output}: {error.strerror}", file=sys.stderr)
        return 2
    size = output.stat().st_size / 1024
    print(f"{output}: {len(certificate.steps)} steps of {options.script} under PyTorch "
          f"{certificate.torch} ({size:.1f} KiB)")  # fmt: skip
    return 0


def _text(each: Difference) -> str:
    return (
        f"step {each.step}, {each.what}: {each.ours:.9g} against {each.theirs:.9g}, "
        f"{each.distance:.4g} ulp apart, {each.allowed:.4g} allowed"
    )


def _rows(found: list[Difference], certificate: Certificate) -> list[tuple[str, ...]]:
    """One row for each step: loss, distances of loss and gradients, the largest named."""
    rows: list[tuple[str, ...]] = []
    for number in range(1, len(certificate.steps) + 1):
        own = [each for each in found if each.step == number]
        losses = [each for each in own if each.what.startswith("loss")]
        others = [each for each in own if not each.what.startswith("loss")]
        largest = max(own, key=lambda e: e.distance / e.allowed, default=None)
        rows.append((
            str(number),
            f"{losses[-1].theirs:.9g}" if losses else "-",
            f"{max(e.distance for e in losses):.4g}" if losses else "-",
            f"{max(e.distance for e in others):.4g}" if others else "-",
            largest.what if largest is not None and largest.distance else "none" if own else "-",
            "no" if any(each.wrong for each in own) else "yes" if own else "-",
        ))  # fmt: skip
    return rows


def _print_rows(rows: list[tuple[str, ...]]) -> None:
    table = [("step", "PyTorch's loss", "loss ulp", "gradient ulp", "largest", "agrees"), *rows]
    widths = [max(len(row[at]) for row in table) for at in range(6)]
    for row in table:
        cells = [cell.ljust(width) for cell, width in zip(row, widths, strict=True)]
        print("  ".join(cells).rstrip())


def _as_json(found: list[Difference], told: list[str], certificate: Certificate) -> str:
    steps = [
        {
            "step": number,
            "differences": [
                {**each._asdict(), "wrong": each.wrong} for each in found if each.step == number
            ],
        }
        for number in range(1, len(certificate.steps) + 1)
    ]
    wrong = bool(told) or any(each.wrong for each in found)
    return json.dumps({"format": 1, "agrees": not wrong, "told": told, "steps": steps}, indent=1)


def verify(options: argparse.Namespace) -> int:
    """Run a certified script under mindtorch and compare; the exit status."""
    try:
        certificate = Certificate.load(options.certificate)
        if not certificate.steps or not certificate.allowed:
            raise ValueError(f"{options.certificate} is no certificate: it has no steps")
        script = options.script or options.certificate.resolve().parent / certificate.script
        digest = hashlib.sha256(script.read_bytes()).hexdigest()
    except (OSError, ValueError) as error:
        print(f"mindtorch verify: {error}", file=sys.stderr)
        return 2
    if digest != certificate.sha256:
        print(f"mindtorch verify: {script} has changed since it was certified", file=sys.stderr)
    settings = {
        "seed": certificate.seed, "threads": certificate.threads, "steps": len(certificate.steps)
    }  # fmt: skip
    try:
        ours = _record("mindtorch", settings, script, certificate.arguments)
    except _FailedError as error:
        print(f"mindtorch verify: {error}", file=sys.stderr)
        return error.status
    except OSError as error:  # e.g. no room for the working directory
        print(f"mindtorch verify: {error}", file=sys.stderr)
        return 2
    found, told = check(ours, certificate)
    if options.json:
        print(_as_json(found, told, certificate))
    else:
        _print_rows(_rows(found, certificate))
        _verdict(found, told)
    return 1 if told or any(each.wrong for each in found) else 0


def _verdict(found: list[Difference], told: list[str]) -> None:
    wrong = [each for each in found if each.wrong]
    for line in told[:10]:
        print(line)
    if wrong:
        first = [each for each in wrong if each.step == wrong[0].step]
        print("first wrong:", _text(max(first, key=lambda e: e.distance / e.allowed)))
    elif not told:
        largest = max(found, key=lambda e: e.distance, default=None)
        print("agrees with PyTorch; largest:", _text(largest) if largest else "nothing compared")
