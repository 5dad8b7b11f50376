"""`mindtorch run --insight`: what a script's training does, written while it runs.

Hooks and stand-ins only look, and no random numbers are drawn: the script computes the same bits as
without. What goes wrong in here is told once and ends the recording, never the training.
"""

from __future__ import annotations

import argparse
import contextlib
import importlib
import os
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from mindtorch._distribution import install_extra

from ..cli_types import count as positive

__all__ = ["add_arguments", "recording"]


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The options of `run` that record.

    Args:
        parser: gets them.
    """
    add = parser.add_argument
    add(
        "--insight",
        action="store_true",
        help="record losses, distributions, the graph, samples, times and lineage for `mindtorch "
        "insight`",
    )
    add(
        "--summary-dir",
        type=Path,
        default=Path("summary"),
        metavar="DIR",
        help="with --insight: a folder for this run is made in it (%(default)s)",
    )
    add(
        "--insight-every",
        type=positive,
        default=20,
        metavar="N",
        help="with --insight: distributions and samples of every N-th step (%(default)s)",
    )
    add(
        "--insight-ops",
        action="store_true",
        help="with --insight: also times of operations, in these steps, which run op by op",
    )


@contextlib.contextmanager
def recording(options: argparse.Namespace) -> Iterator[None]:
    """Record what runs in the block, if the command's options say so."""
    if not options.insight:
        yield
        return
    recorder = _started(options)
    if recorder is None:
        yield
        return
    error = ""
    try:
        yield
    except SystemExit as left:
        error = "" if left.code in (None, 0) else f"the script ended with {left.code}"
        raise
    except BaseException as raised:
        error = f"{type(raised).__name__}: {raised}"[:2000]
        raise
    finally:
        recorder.end(error)
        print(f"mindtorch insight --summary-base-dir {options.summary_dir}", file=sys.stderr)


def _started(options: argparse.Namespace) -> Any:
    """The recorder at work; None, with a message, where it cannot write."""
    name = f"{options.script.stem}-{time.strftime('%Y%m%d-%H%M%S')}-{os.getpid()}"
    rank = os.environ.get("RANK")
    folder = options.summary_dir / (name if rank is None else f"{name}-rank{rank}")
    try:
        module = importlib.import_module(f"{__package__}.recorder")
        recorder = module.Recorder(folder, options)
        recorder.start()
    except (OSError, ImportError) as error:
        words = str(error)
        if isinstance(error, ImportError):
            words = f"{error.name} is missing: {install_extra('insight')}"
        print(f"mindtorch run: nothing is recorded: {words}", file=sys.stderr)
        return None
    return recorder
