"""`mindtorch insight`: pages that show trainings while they run."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from mindtorch._distribution import install_extra

from ..cli_types import size
from ..debugger.protocol import DEFAULT_PORT

__all__ = ["DESCRIPTION", "add_arguments", "main"]

DESCRIPTION = """Scalars, distributions, graphs, samples, times, lineage and checks of all trainings
below a folder, read on while they are written: files of SummaryRecord and SummaryCollector,
TensorBoard's event files, and those of `mindtorch run --insight`. Exit status 0: ended by Ctrl+C;
2: wrong arguments, or the address is taken."""


def _port(text: str) -> int:
    value = int(text)
    if not 0 <= value <= 65535:
        raise argparse.ArgumentTypeError(f"must be 0 to 65535, but got {text}")
    return value


def _prefix(text: str) -> str:
    strange = any(sign in text for sign in "?#%\\ ") or ".." in text
    if strange or (text and not text.startswith("/")):
        raise argparse.ArgumentTypeError(f"must be a path that begins with /, but got {text!r}")
    return text.rstrip("/")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The arguments of the command.

    Args:
        parser: gets them.
    """
    add = parser.add_argument
    add(
        "action",
        nargs="?",
        choices=["start", "parse_summary"],
        default="start",
        help="start: serve the pages; parse_summary: write scalars and pictures as files (start)",
    )
    add(
        "--summary-base-dir",
        "--summary-dir",
        type=Path,
        default=Path(),
        metavar="DIR",
        help="the folder that trainings are in, at any depth (.)",
    )
    add("--port", type=_port, default=8080, help="0: a free one (%(default)s)")
    add(
        "--host",
        default="127.0.0.1",
        metavar="ADDRESS",
        help="others than this machine's own ask for a token (%(default)s)",
    )
    add(
        "--token",
        default="",
        help="what the address must bring; for others than loopback one is made up",
    )
    add(
        "--url-path-prefix",
        type=_prefix,
        default="",
        metavar="PATH",
        help="what addresses begin with, behind a proxy",
    )
    add(
        "--reload-interval",
        type=size,
        default=2.0,
        metavar="SECONDS",
        help="how often files are looked at (%(default)s)",
    )
    add(
        "--enable-debugger",
        nargs="?",
        const="true",
        default="false",
        type=str.lower,
        choices=["true", "false", "1", "0"],
        help="also a page for programs under the debugger (ENABLE_MS_DEBUGGER=1)",
    )
    add("--debugger-port", type=_port, default=DEFAULT_PORT, help="theirs (%(default)s)")
    add("--output", type=Path, metavar="DIR", help="parse_summary: the folder that is written to")


def main(options: argparse.Namespace) -> int:
    """Serve until a signal comes, or write files.

    Args:
        options: of the command line.
    """
    folder = options.summary_base_dir
    if not folder.is_dir():
        print(f"mindtorch insight: there is no folder {folder}", file=sys.stderr)
        return 2
    try:
        from mindtorch.insight import app, export

        from ..debugger import insight_page
    except ImportError as error:
        print(f"mindtorch insight: {error.name} is missing: {install_extra('insight')}",
              file=sys.stderr)  # fmt: skip
        return 2
    if options.action == "parse_summary":
        return export.write(folder, options.output or folder / "parsed")
    place = app.Place(options.host, options.port, options.token, options.url_path_prefix)
    if options.enable_debugger in ("false", "0"):
        return app.serve(folder, place, options.reload_interval)
    return insight_page.serve(
        options.debugger_port, lambda: app.serve(folder, place, options.reload_interval)
    )
