"""A whole script in lazy mode: what repeats in it runs compiled, without a decorator.

``begin()`` makes one :class:`.lazy_tracer.LazyTracer` the interpreter of this thread's ops. Forward
and backward passes are pending until data is needed: an optimizer's step, ``item()``, ``print``,
``numpy()``. What differs from what was seen runs as it is; results are those of eager execution.
"""

from __future__ import annotations

import atexit
import functools
import os
from collections.abc import Callable

from ...dispatch import state
from ...switches import switches
from ...tensor import captures, scripts
from .lazy_tracer import LazyTracer
from .trace_tree import TraceTree

_active: list[LazyTracer] = []
_registered: list[bool] = []


def begin(seen: TraceTree | None = None) -> None:
    """Let the ops of this thread wait and run compiled from now on; `seen`: before a pause."""
    if _active or state.interpreters or not switches.lazy:
        return
    run = LazyTracer(seen or TraceTree(), whole_script=True)
    run.pause = _pause
    _active.append(run)
    scripts[:] = [run]
    captures.insert(0, run)
    run.enter()
    if not _registered:
        _registered.append(True)
        atexit.register(end)
        os.register_at_fork(after_in_child=_forget)


def end() -> None:
    """Run what waits, and ops one by one again."""
    while _active:
        run = _active.pop()
        scripts.clear()
        try:
            run.sync()
        finally:
            run.end()


def trace_tree() -> TraceTree | None:
    """What was seen of the script; None while ops run one by one."""
    return _active[-1].tree if _active else None


def _pause(run: LazyTracer) -> Callable[[], None]:
    """What :func:`.pause.pause` does where a script is in lazy mode."""
    if not (run.disabled or run in state.interpreters):
        return _nothing
    end()
    return functools.partial(begin, run.tree)


def _nothing() -> None:
    """This thread's ops ran one by one before."""


def _forget() -> None:
    """A forked child works op by op: what waits is the parent's."""
    while _active:
        run = _active.pop()
        run.exit()
        scripts.clear()
        captures.clear()
