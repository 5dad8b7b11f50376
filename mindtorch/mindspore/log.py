"""MindSpore's messages: ``from mindspore import log as logger``.

They go to Python's logger "mindspore". The environment variable GLOG_v is the first level that is
written: 0 debug, 1 info, 2 warning (unless it is set), 3 error, 4 critical.
"""

from __future__ import annotations

import logging
from typing import Any

from mindtorch._messages import Messages

__all__ = ["critical", "debug", "error", "get_level", "info", "warning"]

_messages = Messages(
    "mindspore", "GLOG_v", "[%(levelname)s] ME(%(process)d):%(asctime)s %(message)s"
)
_write = _messages.write


def get_level() -> str:
    """The first level that is written, as GLOG_v says it: "0" to "4".

    Raises:
        ValueError: GLOG_v is something else.
    """
    return _messages.given()


def debug(msg: str, *args: Any, **kwargs: Any) -> None:
    """Write ``msg % args`` where GLOG_v is 0."""
    _write(logging.DEBUG, msg, *args, **kwargs)


def info(msg: str, *args: Any, **kwargs: Any) -> None:
    """Write ``msg % args`` where GLOG_v is 1 or lower."""
    _write(logging.INFO, msg, *args, **kwargs)


def warning(msg: str, *args: Any, **kwargs: Any) -> None:
    """Write ``msg % args`` unless GLOG_v is 3 or higher."""
    _write(logging.WARNING, msg, *args, **kwargs)


def error(msg: str, *args: Any, **kwargs: Any) -> None:
    """Write ``msg % args`` unless GLOG_v is 4."""
    _write(logging.ERROR, msg, *args, **kwargs)


def critical(msg: str, *args: Any, **kwargs: Any) -> None:
    """Write ``msg % args``."""
    _write(logging.CRITICAL, msg, *args, **kwargs)
