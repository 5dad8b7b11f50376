"""`mindtorch check script.py`: the command's arguments."""

from __future__ import annotations

import argparse
from pathlib import Path

from ..cli_types import count
from ..later import later

__all__ = ["DESCRIPTION", "add_arguments", "main"]

DESCRIPTION = """It runs with mindtorch in torch's place, op by op, until so many steps of its
optimizers are seen. Exit status 0: nothing was found; 1: something was, or the script failed; 2: it
cannot be read, or has no model. docs/debugger.md lists what is looked for."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The arguments of the command.

    Args:
        parser: gets them.
    """
    add = parser.add_argument
    add("--steps", type=count, default=50, help="end the script after so many (%(default)s)")
    add("--html", type=Path, metavar="FILE", help="write the report as a page, too")
    add("-m", "--module", action="store_true", help="SCRIPT is a module's name")
    add("script", type=Path, help="the script to run")
    add("arguments", nargs=argparse.REMAINDER, help="the script's own arguments")


def main(options: argparse.Namespace) -> int:
    """Run and report; the exit status."""
    status: int = later("check.run", "check")(options)
    return status
