"""`mindtorch scan PATH ...`."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

__all__ = ["DESCRIPTION", "add_arguments", "main"]

DESCRIPTION = """Read the Python files below PATH, run none of them, and list the names of torch,
torchvision and mindspore that they use: not supported (and what to use instead), supported with a
difference, supported. Exit status 0: everything is supported; 1: a name is not; 2: a path does not
exist, or a file could not be read."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("paths", nargs="+", type=Path, metavar="PATH")
    parser.add_argument("--all", action="store_true", help="list supported names and all places")
    parser.add_argument("--json", action="store_true", help="print JSON")
    parser.add_argument(
        "--exclude", action="append", default=[], metavar="PATTERN",
        help="leave out files or folders of this name, or path below PATH",
    )  # fmt: skip
    parser.add_argument(
        "--max-size", type=float, default=4.0, metavar="MIB", help="largest file read (4)"
    )


def main(options: argparse.Namespace) -> int:
    """Scan and report; the exit status is the scan's."""
    from rich.console import Console

    from . import report
    from .scanning import scan

    try:
        found = scan(options.paths, options.exclude, int(options.max_size * 2**20))
    except FileNotFoundError as error:
        print(f"mindtorch scan: {error}", file=sys.stderr)
        return 2
    if options.json:
        print(report.as_json(found))
    else:
        console = Console(highlight=False, markup=False)
        report.as_text(found, console, options.all)
    if not found.files:
        print("mindtorch scan: no Python file was read", file=sys.stderr)
    return found.status
