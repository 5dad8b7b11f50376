"""What a traced function must not ask for, and the line of the user's code that asks."""

from __future__ import annotations

import sys
import types
from typing import NoReturn

from ..guards.trace_rules import is_own, own_code


class TracingError(RuntimeError):
    """A traced function asks for something that only real data can answer.

    Fails::

        trace(lambda x: x if x.sum() > 0 else -x, x)

    Works::

        trace(lambda x: where(x.sum() > 0, x, -x), x)

    Attributes:
        large: in lazy mode: what is read is a large array that others see.
    """

    large = False


def ours(frame: types.FrameType) -> bool:
    """Whether a frame runs code of the library."""
    return id(frame.f_code) in own_code or is_own(frame.f_code, frame.f_globals)


def user_line() -> str:
    """The innermost line outside of the library."""
    frame: types.FrameType | None = sys._getframe(1)
    while frame is not None and ours(frame):
        frame = frame.f_back
    if frame is None:
        return "an unknown line"
    return f"{frame.f_code.co_filename}:{frame.f_lineno}"


def refuse_data(name: str) -> NoReturn:
    """The data of a traced tensor is asked for."""
    if name.startswith("__"):
        raise AttributeError(name)
    raise TracingError(
        f"a traced tensor has no data yet, and {user_line()} needs it (for {name!r}): item(), "
        "numpy(), bool(), printing, and drawing random numbers into a tensor are not traced"
    )
