"""Messages through Python's loggers, from a level on that an environment variable says."""

from __future__ import annotations

import logging
import os
from typing import Any

_LEVELS = (logging.DEBUG, logging.INFO, logging.WARNING, logging.ERROR, logging.CRITICAL)


class Messages:
    """What a library writes to its logger.

    Args:
        logger: the logger's name.
        variable: 0 debug, 1 info, 2 warning (unless it is set), 3 error, 4 critical.
        text: of a line, for a logger that has no handler yet.
    """

    def __init__(self, logger: str, variable: str, text: str) -> None:
        self._logger = logging.getLogger(logger)
        self._variable = variable
        self._text = text

    def given(self) -> str:
        """What the variable says: "0" to "4".

        Raises:
            ValueError: it says something else.
        """
        level = os.environ.get(self._variable, "2")
        if level not in ("0", "1", "2", "3", "4"):
            raise ValueError(f"{self._variable} must be 0, 1, 2, 3 or 4, but got {level!r}")
        return level

    def first_level(self) -> int:
        """The same in Python's numbers."""
        return _LEVELS[int(self.given())]

    def write(self, level: int, message: Any, *args: Any, **kwargs: Any) -> None:
        """Write ``message % args`` at one of Python's levels, unless the variable's is higher."""
        if not self._logger.handlers:
            handler = logging.StreamHandler()
            handler.setFormatter(logging.Formatter(self._text))
            self._logger.addHandler(handler)
            self._logger.propagate = False
        self._logger.setLevel(self.first_level())
        self._logger.log(level, message, *args, **kwargs)
