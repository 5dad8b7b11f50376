"""`mindtorch parallel plan script.py`: the command's arguments."""

from __future__ import annotations

import argparse
import re
import shlex
from pathlib import Path

from ..cli_types import count, size
from ..later import later

__all__ = ["DESCRIPTION", "add_arguments", "main"]

DESCRIPTION = """The script runs, in this process alone, until its optimizer has made a step. What
its model takes is measured then, and predicted for plans: DDP, FSDP, tensor and pipeline parallel.
Exit status 0: a plan fits; 1: none does; 2: the script cannot be read, or trains no model."""

_UNITS = {"": 1, "K": 10**3, "M": 10**6, "G": 10**9, "T": 10**12}
_BINARY = {"Ki": 2**10, "Mi": 2**20, "Gi": 2**30, "Ti": 2**40}


def memory_size(text: str) -> float:
    """Bytes of ``16GB``, ``512MiB`` and the like."""
    found = re.fullmatch(r"([0-9.]+)\s*([KMGT]i?)?B?(?:/s)?", text.strip(), re.IGNORECASE)
    try:
        if found is None:
            raise ValueError
        unit = (found[2] or "").capitalize()
        value = float(found[1]) * (_BINARY.get(unit) or _UNITS[unit])
    except ValueError:
        value = 0.0
    if value <= 0:
        raise argparse.ArgumentTypeError(f"must be a size as 16GB or 512MiB, but got {text!r}")
    return value


def seconds(text: str) -> float:
    """Seconds of ``5us``, ``1ms`` or a plain number."""
    found = re.fullmatch(r"([0-9.e-]+)\s*(us|ms|s)?", text.strip())
    try:
        if found is None:
            raise ValueError
        value = float(found[1]) * {"us": 1e-6, "ms": 1e-3}.get(found[2], 1.0)
    except ValueError:
        value = -1.0
    if value < 0:
        raise argparse.ArgumentTypeError(f"must be a time as 5us, but got {text!r}")
    return value


def _part(text: str) -> float:
    try:
        value = float(text)
    except ValueError:
        value = -1.0
    if not 0 <= value <= 1:
        raise argparse.ArgumentTypeError(f"must be a number from 0 to 1, but got {text!r}")
    return value


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The arguments of the command.

    Args:
        parser: gets them.
    """
    add = parser.add_argument
    add("action", choices=["plan"], help="predict plans, and print them, best first")
    add("--ranks", type=count, default=8, help="how many processes (%(default)s)")
    add("--memory", type=memory_size, metavar="SIZE", help="what one may take: 16GB, 512MiB (any)")
    add(
        "--batch", type=count, metavar="N",
        help="samples of a step of all processes (the script's batch for each process)",
    )
    add(
        "--bandwidth", type=memory_size, metavar="SIZE",
        help="bytes a second between two processes: 25GB (measured with two processes here)",
    )
    add("--latency", type=seconds, metavar="TIME", help="of a message: 5us (measured; 10us beside "
        "--bandwidth)")  # fmt: skip
    add(
        "--overlap", type=_part, default=0.0, metavar="PART",
        help="of the exchange of gradients and parameters, what computation hides (%(default)s)",
    )
    add("--speed", type=size, default=1.0, metavar="FACTOR",
        help="how many times as fast as here a process computes (%(default)s)")  # fmt: skip
    add("--all", action="store_true", help="list all plans that do not fit, too")
    add("--html", type=Path, metavar="FILE", help="write a page, too")
    add("--json", type=Path, metavar="FILE", help="write the numbers, too")
    add("--curve", type=Path, metavar="FILE", help="draw efficiency for 1, 2, 4, ... processes up "
        "to --ranks, too (SVG)")  # fmt: skip
    add("script", type=Path, help="the script to run")
    add(
        "--arguments", type=shlex.split, default=[], metavar="WORDS",
        help="the script's own, as one word: --arguments='--epochs 1'",
    )


def main(options: argparse.Namespace) -> int:
    """Run and report; the exit status."""
    status: int = later("parallel.run", "plan_script")(options)
    return status
