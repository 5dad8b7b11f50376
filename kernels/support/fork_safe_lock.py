"""Locks that a forked child finds open: the thread that held them does not exist there."""

from __future__ import annotations

import os
import threading
import weakref
from typing import Any

_known: weakref.WeakSet[Any] = weakref.WeakSet()


def lock() -> Any:
    """A ``threading.Lock``."""
    return known(threading.Lock())


def reentrant_lock() -> Any:
    """A ``threading.RLock``."""
    return known(threading.RLock())


def known(made: Any) -> Any:
    """``made``, a lock that children of forks find open from now on."""
    _known.add(made)
    return made


def _open_all() -> None:
    for each in _known:
        each._at_fork_reinit()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_open_all)
