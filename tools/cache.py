"""`mindtorch cache`, `dataset-cache` and `cache_admin`: the server that keeps rows of data sets."""

from __future__ import annotations

import argparse
import importlib
import os
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any, NoReturn

from mindtorch._distribution import install_extra

__all__ = ["DESCRIPTION", "add_arguments", "dataset_cache", "main"]

DESCRIPTION = """Programs give it rows through DatasetCache and mindtorch.data.Cached
(docs/data-cache.md). Give one of --start, --stop, -g, -d, --list_sessions and --server_info. Exit
status 0: done; 1: the server said no, or cannot be reached; 2: wrong arguments."""


class _Once(argparse.Action):
    """An option that may be given once."""

    def __call__(
        self, parser: argparse.ArgumentParser, options: argparse.Namespace, value: Any,
        name: str | None = None,
    ) -> None:  # fmt: skip
        given = options.__dict__.setdefault("given_once", set())
        if self.dest in given:
            parser.error(f"The {name} argument was given more than once.")
        given.add(self.dest)
        setattr(options, self.dest, value)


class _Command(argparse.Action):
    """What to do; one of these."""

    def __call__(
        self, parser: argparse.ArgumentParser, options: argparse.Namespace, value: Any,
        name: str | None = None,
    ) -> None:  # fmt: skip
        if options.cache_command is not None:
            parser.error(f"Only one command at a time is allowed.  Invalid command: {name}")
        options.cache_command, options.session = self.const, value


def _number(text: str) -> int:
    try:
        return int(text)
    except ValueError:
        raise argparse.ArgumentTypeError(f"Invalid numeric value: {text}") from None


def _between(lowest: int, highest: int, text_of: str) -> Callable[[str], int]:
    def parse(text: str) -> int:
        value = _number(text)
        if not lowest <= value <= highest:
            raise argparse.ArgumentTypeError(text_of)
        return value

    return parse


def _share(text: str) -> float:
    try:
        value = float(text)
    except ValueError:
        raise argparse.ArgumentTypeError(f"Invalid numeric value: {text}") from None
    if not 0 < value <= 1:
        raise argparse.ArgumentTypeError(
            "Memory cap ratio should be positive and no greater than 1"
        )
    return value


_MOST_WORKERS = max(os.cpu_count() or 1, 100)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The arguments of the command.

    Args:
        parser: gets them. `-h` is the host, as of MindSpore's command.
    """
    parser.conflict_handler = "resolve"
    commands = parser.add_argument_group("what to do")
    add = parser.add_argument_group("settings").add_argument
    for names, what, text in (
        (["--start"], "start", "start a server"),
        (["--stop"], "stop", "end it; all rows are gone"),
        (["-g", "--generate_session"], "generate_session", "make a session and print its number"),
        (["--list_sessions"], "list_sessions", "print sessions and what they hold"),
        (["--server_info"], "server_info", "print how the server was started"),
    ):
        commands.add_argument(*names, action=_Command, nargs=0, const=what, help=text,
                              dest="cache_command", default=None)  # fmt: skip
    commands.add_argument("-d", "--destroy_session", action=_Command, const="destroy_session",
                          type=_number, metavar="ID", dest="cache_command",
                          help="end a session")  # fmt: skip
    add("-h", "--hostname", action=_Once, metavar="HOST", help="this machine (127.0.0.1)")
    add("-p", "--port", action=_Once, metavar="PORT", help="1025 to 65535 (50052)",
        type=_between(1025, 65535, "Port must be in range (1025..65535)."))  # fmt: skip
    add("-w", "--workers", action=_Once, default=1, metavar="N",
        help="clients whose rows are stored at once (%(default)s)",
        type=_between(1, _MOST_WORKERS, "Number of workers must be in range of 1 and "
                      f"{_MOST_WORKERS}."))  # fmt: skip
    add("-s", "--spilldir", action=_Once, metavar="DIR",
        help="an absolute path: rows that do not fit into memory (none: they are not kept)")
    add("-l", "--loglevel", "--minloglevel", action=_Once, default=1, metavar="LEVEL",
        help="0 debug to 4 critical (%(default)s)",
        type=_between(0, 4, "Log level must be in range (0..4)."))  # fmt: skip
    add("-r", "--memory_cap_ratio", action=_Once, default=0.8, metavar="SHARE", type=_share,
        help="of the machine's memory that rows may take (%(default)s)")  # fmt: skip


def main(options: argparse.Namespace) -> int:
    """Do what one of the commands says.

    Args:
        options: of the command line.
    """
    try:
        # gRPC is not for programs that `mindtorch run` runs, which may fork
        commands = importlib.import_module("mindtorch.data.commands")
    except ImportError as error:
        print(f"mindtorch cache: {error.name} is missing: {install_extra('cache')}",
              file=sys.stderr)  # fmt: skip
        return 2
    if options.cache_command is None:
        print("No command provided: --start, --stop, -g, -d ID, --list_sessions or --server_info",
              file=sys.stderr)  # fmt: skip
        return 2
    status: int = commands.run(options.cache_command, options)
    return status


class _Parser(argparse.ArgumentParser):
    """argparse's, with MindSpore's exit status for wrong arguments."""

    def error(self, message: str) -> NoReturn:
        self.exit(1, f"{message}\nPlease try `{self.prog} --help` for more information\n")


def dataset_cache() -> int:
    """The commands `dataset-cache` and `cache_admin`: wrong arguments end with status 1."""
    parser = _Parser(prog=Path(sys.argv[0]).name, description=DESCRIPTION.replace("2: ", "1: "))
    add_arguments(parser)
    if len(sys.argv) == 1:
        parser.print_help()
        return 1
    return min(main(parser.parse_args()), 1)
