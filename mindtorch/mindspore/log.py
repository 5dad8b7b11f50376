"""MindSpore's messages: ``from mindspore import log as logger``.

They go to Python's logger "mindspore". The environment variable GLOG_v is the first level that is
written: 0 debug, 1 info, 2 warning (unless it is set), 3 error, 4 critical.
"""

from __future__ import annotations

import logging
import os
from typing import Any

__all__ = ["critical", "debug", "error", "get_level", "info", "warning"]

_LEVELS = (logging.DEBUG, logging.INFO, logging.WARNING, logging.ERROR, logging.CRITICAL)
_logger = logging.getLogger("mindspore")


def get_level() -> str:
    """The first level that is written, as GLOG_v says it: "0" to "4".

    Raises:
        ValueError: GLOG_v is something else.
    """
    level = os.environ.get("GLOG_v", "2")  # noqa: SIM112
    if level not in ("0", "1", "2", "3", "4"):
        raise ValueError(f"GLOG_v must be 0, 1, 2, 3 or 4, but got {level!r}")
    return level


def _write(place: int, message: str, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
    if not _logger.handlers:
        handler = logging.StreamHandler()
        text = "[%(levelname)s] ME(%(process)d):%(asctime)s %(message)s"
        handler.setFormatter(logging.Formatter(text))
        _logger.addHandler(handler)
        _logger.propagate = False
    _logger.setLevel(_LEVELS[int(get_level())])
    _logger.log(_LEVELS[place], message, *args, **kwargs)


def debug(msg: str, *args: Any, **kwargs: Any) -> None:
    """Write ``msg % args`` where GLOG_v is 0."""
    _write(0, msg, args, kwargs)


def info(msg: str, *args: Any, **kwargs: Any) -> None:
    """Write ``msg % args`` where GLOG_v is 1 or lower."""
    _write(1, msg, args, kwargs)


def warning(msg: str, *args: Any, **kwargs: Any) -> None:
    """Write ``msg % args`` unless GLOG_v is 3 or higher."""
    _write(2, msg, args, kwargs)


def error(msg: str, *args: Any, **kwargs: Any) -> None:
    """Write ``msg % args`` unless GLOG_v is 4."""
    _write(3, msg, args, kwargs)


def critical(msg: str, *args: Any, **kwargs: Any) -> None:
    """Write ``msg % args``."""
    _write(4, msg, args, kwargs)
