"""MindTorch's messages: ``torch.debug``, ``info``, ``warning``, ``error`` and ``critical``.

They go to Python's logger "MindTorch". The environment variable MSA_LOG is the first level that is
written: 0 debug, 1 info, 2 warning (unless it is set), 3 error, 4 critical.
"""

from __future__ import annotations

import functools
import logging
import os
from typing import Any

__all__ = ["critical", "debug", "error", "info", "warning"]

_LEVELS = (logging.DEBUG, logging.INFO, logging.WARNING, logging.ERROR, logging.CRITICAL)
_logger = logging.getLogger("MindTorch")


def first_level() -> int:
    """The first level that is written, as MSA_LOG says it, in Python's numbers.

    Raises:
        ValueError: MSA_LOG is none of 0 to 4.
    """
    given = os.environ.get("MSA_LOG", "2")
    if given not in ("0", "1", "2", "3", "4"):
        raise ValueError(f"MSA_LOG must be 0, 1, 2, 3 or 4, but got {given!r}")
    return _LEVELS[int(given)]


def _write(level: int, message: Any, *args: Any, **kwargs: Any) -> None:
    if not _logger.handlers:
        handler = logging.StreamHandler()
        text = "%(asctime)s [%(name)s %(levelname)s]: %(message)s"
        handler.setFormatter(logging.Formatter(text))
        _logger.addHandler(handler)
        _logger.propagate = False
    _logger.setLevel(first_level())
    _logger.log(level, message, *args, **kwargs)


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

