"""Run a script while somebody looks: watchpoints, the debugger, dumps."""

from __future__ import annotations

import argparse
import random
import sys
from collections.abc import Callable

import numpy as np

from mindtorch import torch

from .debugger.attach import attach
from .debugger.conditions import checked
from .debugger.dump import DumpingFront
from .debugger.local import LocalFront, pausing
from .debugger.protocol import ObservationError, asked_for
from .debugger.remote import RemoteFront
from .debugger.session import Debugger
from .debugger.tensor_view import Reference
from .debugger.terminal import parse_watch
from .watchpoints.watcher import watch

__all__ = ["run_observed"]


def run_observed(options: argparse.Namespace, run: Callable[[], None]) -> None:
    """Call `run` under what the command's options ask for.

    Raises:
        ObservationError: it cannot be done so; the text says why.
    """
    if options.watch is not None:
        _run_watched(options, run)
    elif options.debugger or asked_for():
        _run_debugged(options, run)
    else:
        session = Debugger(DumpingFront(options.dump, options.dump_steps), stop_at_start=False)
        session.go(steps=1)
        with session:
            run()


def _run_watched(options: argparse.Namespace, run: Callable[[], None]) -> None:
    """The watch that `--watch` asks for; what it saw is summed up at the end."""
    if options.debugger or options.dump:
        raise ObservationError("--watch goes with neither --debugger nor --dump")
    try:
        seen = watch(*options.watch.split(","), on_hit=options.watch_on)
    except ValueError as error:
        raise ObservationError(str(error)) from None
    try:
        with seen:
            run()
    finally:
        print(seen.summary(), file=sys.stderr)


def _seed(number: int = 0) -> None:
    """Seed the generators as `mindtorch compare` does before a script."""
    random.seed(number)
    np.random.seed(number)  # noqa: NPY002 (the generator that scripts use)
    torch.manual_seed(number)


def _run_debugged(options: argparse.Namespace, run: Callable[[], None]) -> None:
    if options.dump:
        raise ObservationError("--dump does not go with --debugger, which has a command `dump`")
    try:
        for words in options.watchpoint:
            given = parse_watch(words)
            checked(given["condition"], given["parameters"])
        reference = None if options.torch_record is None else Reference(options.torch_record)
        remote = RemoteFront(str(options.script), reference) if asked_for() else None
    except (OSError, ValueError) as error:
        raise ObservationError(str(error)) from None
    if reference is not None:
        _seed()
    front = LocalFront(reference) if remote is None else remote
    try:
        with attach(front, options.level, options.watchpoint) as session, pausing(session):
            run()
    finally:
        for each in (remote, reference):
            if each is not None:
                each.close()
