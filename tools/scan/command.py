"""`mindtorch scan PATH ...`."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from mindtorch._distribution import install_extra
from mindtorch.tools.cli_types import size

__all__ = ["DESCRIPTION", "add_arguments", "main"]

DESCRIPTION = """Read the Python files and notebooks below PATH, run none of them, and list the
names of torch, torchvision and mindspore that they use: not supported (and what to use instead),
supported with a difference, supported. Exit status 0: everything is supported; 1: a name is not; 2:
a path does not exist, or a file could not be read."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "paths", nargs="+", type=Path, metavar="PATH", help="a file, or a folder of files"
    )
    parser.add_argument("--all", action="store_true", help="list supported names and all places")
    parser.add_argument("--short", action="store_true", help="a line a file, and no names")
    parser.add_argument("--json", action="store_true", help="print JSON")
    parser.add_argument(
        "--exclude", action="append", default=[], metavar="PATTERN",
        help="leave out files or folders of this name, or path below PATH",
    )  # fmt: skip
    parser.add_argument(
        "--max-size", type=size, default=4.0, metavar="MIB", help="largest file read (4)"
    )
    parser.add_argument(
        "--fix", action="store_true", help="print the import line's patch for files that are run"
    )
    parser.add_argument(
        "--loops", action="store_true", help="with --fix: training loops by value_and_grad, too"
    )
    parser.add_argument("--apply", action="store_true", help="with --fix: change the files")


def _fix(options: argparse.Namespace) -> int:
    """Print (or apply) the patch: 0, or 2 where a file could not be read or written."""
    try:
        from . import fix
    except ImportError:
        hint = install_extra("scan")
        print(f"mindtorch scan --fix needs the package libcst: {hint}", file=sys.stderr)
        return 2
    from .files import UnreadableError, find_files, parse, read_source

    refused: dict[str, str] = {}
    for root in options.paths:
        for path in find_files(root, options.exclude, refused):
            if path.suffix == ".ipynb":
                if path == root:
                    refused[str(path)] = "is a notebook: put the import line in a cell by hand"
                continue
            try:
                source = read_source(path, int(options.max_size * 2**20))
                parse(source)
                if path != root and not fix.is_entry_point(source):
                    continue
                found = fix.fix_source(path, source, options.loops)
                print(fix.patch_of(found), end="")
                for line in found.told:
                    print(f"{path}: {line}", file=sys.stderr)
                if options.apply and found.after != source:
                    fix.apply(found)
            except UnreadableError as error:
                refused[str(path)] = str(error)
            except OSError as error:
                refused[str(path)] = error.strerror or str(error)
    for name, why in refused.items():
        print(f"mindtorch scan: {name}: {why}", file=sys.stderr)
    return 2 if refused else 0


def main(options: argparse.Namespace) -> int:
    """Scan and report; the exit status is the scan's."""
    if (options.loops or options.apply) and not options.fix:
        print("mindtorch scan: --loops and --apply go with --fix", file=sys.stderr)
        return 2
    if options.fix:
        return _fix(options)
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
        report.as_text(found, console, options.all, options.short)
    if not found.files:
        print("mindtorch scan: no Python file was read", file=sys.stderr)
    return found.status
