"""The levels of forward-mode differentiation that are open in this thread."""

from __future__ import annotations

import threading
from typing import Any


class _Open(threading.local):
    def __init__(self) -> None:
        self.levels: list[Any] = []


_open = _Open()


def levels() -> list[Any]:
    """The open levels; torch has at most one."""
    return _open.levels


def current() -> Any:
    """The open level, or None."""
    return _open.levels[-1] if _open.levels else None
