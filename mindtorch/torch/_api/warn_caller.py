"""Warnings that name the line of the program, however many of our functions lie between."""

from __future__ import annotations

import sys
import warnings
from types import FrameType

from mindtorch._module_names import is_ours
from mindtorch.engine.dispatch import state


def warn_caller(text: str, category: type[Warning] = UserWarning) -> None:
    """``warnings.warn`` at the first frame that is not one of this package."""
    state.stop_recording_call()
    frame: FrameType | None = sys._getframe(1)
    level = 2
    while frame is not None and is_ours(frame.f_globals.get("__name__", "")):
        frame, level = frame.f_back, level + 1
    warnings.warn(text, category, stacklevel=level)


_told: set[str] = set()
always = [False]  # what torch.set_warn_always said


def warn_caller_once(text: str, key: str = "") -> None:
    """:func:`warn_caller`, of each text the first time in a process.

    Args:
        key: what texts have in common of which only one is given.
    """
    if always[0] or (key or text) not in _told:
        _told.add(key or text)
        warn_caller(text)
