"""Threads that are started while ops wait: they find what was computed and written before them.

A thread may read any tensor of the one that started it, so ops of that one run at once from then
on, until the thread has ended and an optimizer's step begins anew.
"""

from __future__ import annotations

import functools
import sys
import threading
from typing import Any

from ...tensor import captures, scripts
from ..guards.trace_rules import of_library, standard

# their threads look at no tensor
_BESIDE = {"tqdm", "tensorboard", "tensorboardX", "wandb"}


def hook_thread_starts() -> None:
    """Let captures know of each thread that is started, from now on."""
    start = threading.Thread.start
    if hasattr(start, "__wrapped__"):
        return

    @functools.wraps(start)
    def started(thread: threading.Thread) -> None:
        if (captures or scripts) and not _started_by_a_library():
            here = threading.get_ident()
            for capture in {each for each in (*captures, *scripts) if each.thread == here}:
                capture.thread_starts(thread)
        start(thread)

    threading.Thread.start = started  # type: ignore[method-assign,assignment]


def _started_by_a_library() -> bool:
    frame: Any = sys._getframe(2)
    while frame is not None and standard(frame):
        frame = frame.f_back
    name = "" if frame is None else frame.f_globals.get("__name__", "")
    return of_library(name) or name.split(".")[0] in _BESIDE
