"""`mindtorch warm`: its arguments. What it does is in :mod:`.running`."""

from __future__ import annotations

import argparse
from pathlib import Path

from ..cli_types import count

__all__ = ["DESCRIPTION", "add_arguments", "main"]

DESCRIPTION = """Kernels are compiled at their first use and kept on disk, for this processor and
these versions of Python and numba. This compiles the commonest ones now, or, with SCRIPT, those
that the script needs. With --installed they become part of this installation of Python, for all who
use it and whatever folder of kernels they have (an image, a cluster), and so does the byte code of
the package. Exit status 0: they are there; 1: some could not be compiled or written; 2: wrong
arguments."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--jobs", type=count, metavar="N", help="how many run at a time (one for each core)"
    )
    parser.add_argument(
        "--only", metavar="NAMES", help="some of the programs, joined by commas; see --list"
    )
    parser.add_argument("--list", action="store_true", help="say what is compiled, and stop")
    parser.add_argument(
        "--installed", action="store_true", help="for all who use this installation of Python"
    )
    parser.add_argument("script", type=Path, nargs="?", help="a script to run for its kernels")
    parser.add_argument("arguments", nargs=argparse.REMAINDER, help="the script's own arguments")


def main(options: argparse.Namespace) -> int:
    """The command; returns its exit status."""
    from .running import warm  # it loads numba, which no other command needs

    return warm(options)
