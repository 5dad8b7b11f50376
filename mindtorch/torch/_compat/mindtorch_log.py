"""MindTorch's messages: ``torch.debug``, ``info``, ``warning``, ``error`` and ``critical``.

They go to Python's logger "MindTorch". The environment variable MSA_LOG is the first level that is
written: 0 debug, 1 info, 2 warning (unless it is set), 3 error, 4 critical.
"""

from __future__ import annotations

import functools
import logging
from typing import Any

from mindtorch._messages import Messages

__all__ = ["critical", "debug", "error", "info", "warning"]

_messages = Messages("MindTorch", "MSA_LOG", "%(asctime)s [%(name)s %(levelname)s]: %(message)s")
first_level = _messages.first_level
_write = _messages.write


def debug(message: Any, *args: Any, **kwargs: Any) -> None:
    """Write ``message % args`` where MSA_LOG is 0."""
    _write(logging.DEBUG, message, *args, **kwargs)


def info(message: Any, *args: Any, **kwargs: Any) -> None:
    """Write ``message % args`` where MSA_LOG is 1 or lower."""
    _write(logging.INFO, message, *args, **kwargs)


@functools.lru_cache(None)
def warning(message: Any, *args: Any, **kwargs: Any) -> None:
    """Write ``message % args`` unless MSA_LOG is 3 or higher; the same warning once only."""
    _write(logging.WARNING, message, *args, **kwargs)


def error(message: Any, *args: Any, **kwargs: Any) -> None:
    """Write ``message % args`` unless MSA_LOG is 4."""
    _write(logging.ERROR, message, *args, **kwargs)


def critical(message: Any, *args: Any, **kwargs: Any) -> None:
    """Write ``message % args``."""
    _write(logging.CRITICAL, message, *args, **kwargs)

