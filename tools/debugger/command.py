"""`mindtorch debugger`: a terminal that programs under the debugger report to."""

from __future__ import annotations

import argparse
import os
import secrets
import subprocess
import sys

from ..later import later
from .protocol import DEFAULT_PORT, ENABLE, HOST, PORT, TOKEN

__all__ = ["DESCRIPTION", "add_arguments", "main"]

DESCRIPTION = """With COMMAND, that is run, and its processes report here: `mindtorch debugger
mindtorch torchrun --nproc-per-node 2 train.py`. Without, programs started elsewhere with
ENABLE_MS_DEBUGGER=1 do (and MS_DEBUGGER_HOST, MS_DEBUGGER_PORT). Exit status: the command's."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The arguments of the command.

    Args:
        parser: gets them.
    """
    add = parser.add_argument
    add("--debugger-host", default="127.0.0.1", metavar="HOST",
        help="where it listens; another than this machine's own needs a token in "
        f"{TOKEN} (%(default)s)")
    add("--debugger-port", type=int, default=None, metavar="PORT",
        help=f"({DEFAULT_PORT}; with COMMAND a free one)")
    add("command_line", nargs=argparse.REMAINDER, metavar="COMMAND",
        help="what to run under the debugger")  # fmt: skip


def main(options: argparse.Namespace) -> int:
    """Serve until what reports here has ended; the exit status."""
    serve = later("debugger.hub_terminal", "serve")
    command = options.command_line
    port = options.debugger_port
    if port is None:
        port = 0 if command else DEFAULT_PORT
    token = os.environ.get(TOKEN, "")
    if command and not token:
        token = secrets.token_hex(16)
    status: int
    if not command:
        status = serve(options.debugger_host, port, token, None)
        return status

    def start(port: int) -> subprocess.Popen[bytes]:
        own = {ENABLE: "1", HOST: options.debugger_host, PORT: str(port), TOKEN: token}
        words = [sys.executable, "-m", *command] if command[0] == "mindtorch" else command
        return subprocess.Popen(words, env={**os.environ, **own}, stdin=subprocess.DEVNULL)

    status = serve(options.debugger_host, port, token, start)
    return status
