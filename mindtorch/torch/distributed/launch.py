"""The older launcher, ``python -m torch.distributed.launch``: scripts get ``--local-rank``."""

from __future__ import annotations

import argparse
import sys
import warnings

from .run import exit_status, get_args_parser, run
from .run import parse_args as _parsed

__all__ = ["launch", "main", "parse_args"]

_DEPRECATED = (
    "The module torch.distributed.launch is deprecated\n"
    "and will be removed in future. Use torchrun.\n"
    "Note that --use-env is set by default in torchrun.\n"
    "If your script expects `--local-rank` argument to be set, please\n"
    "change it to read from `os.environ['LOCAL_RANK']` instead. See \n"
    "https://pytorch.org/docs/stable/distributed.html#launch-utility for \n"
    "further instructions\n"
)


def parse_args(args: list[str] | None) -> argparse.Namespace:
    """Torchrun's options, and ``--use-env``.

    Args:
        args: the command line's, without the program; None for this process's.
    """
    parser = get_args_parser()
    parser.add_argument("--use-env", action="store_true", help="scripts read LOCAL_RANK alone")
    return _parsed(args, parser)


def launch(args: argparse.Namespace) -> int:
    """Start the processes; the exit status.

    Raises:
        ValueError: a program that is no Python has no arguments of ours.
    """
    if args.no_python and not args.use_env:
        raise ValueError(
            "When using the '--no-python' flag, you must also set the '--use-env' flag."
        )
    return run(args)


def main(args: list[str] | None = None) -> int:
    """The exit status: 0, 1 when a process failed, 2 for options that are not understood."""
    warnings.warn(_DEPRECATED, FutureWarning, stacklevel=2)
    return exit_status("torch.distributed.launch", lambda: launch(parse_args(args)))


if __name__ == "__main__":
    sys.exit(main())
