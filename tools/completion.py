"""`mindtorch completion SHELL`: the text that makes a shell complete our commands.

argcomplete (the extra `completion`) asks the parser itself, so options are never listed twice.
"""

import argparse
import importlib.util
import os
import sys

from mindtorch._distribution import install_extra

__all__ = ["add_arguments", "complete", "main", "watchpoints"]

_SHELLS = ("bash", "zsh", "fish", "tcsh", "powershell")
_MISSING = f"completion needs the package argcomplete: {install_extra('completion')}"


def complete(parser: argparse.ArgumentParser) -> None:
    """Answer a shell that asks for completions (and exit); nothing in an ordinary run."""
    if "_ARGCOMPLETE" in os.environ and importlib.util.find_spec("argcomplete") is not None:
        import argcomplete

        argcomplete.autocomplete(parser)


def watchpoints(prefix: str, **_: object) -> list[str]:
    """What `--watch` may be: the last of some names joined by commas is completed."""
    from .watchpoints.conditions import CHECKS

    before = prefix[: prefix.rfind(",") + 1]
    return [f"{before}{name}" for name in ("all", *CHECKS)]


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("shell", choices=_SHELLS, metavar="SHELL", help=", ".join(_SHELLS))


def main(options: argparse.Namespace) -> int:
    """Print what the shell has to evaluate; 2 where argcomplete is not installed."""
    if importlib.util.find_spec("argcomplete") is None:
        print(f"mindtorch completion: {_MISSING}", file=sys.stderr)
        return 2
    from argcomplete.shell_integration import shellcode

    print(shellcode(["mindtorch"], shell=options.shell))
    return 0
