"""The AttributeError of a name that is not here: why, where the table of gaps says so."""

from __future__ import annotations

import difflib
import re
from collections.abc import Callable, Iterable

from mindtorch.known_gaps import GAPS

__all__ = ["missing", "reason_of"]


def reason_of(path: str) -> str | None:
    """The reason in the table of gaps for a dotted name, or for what it lies in."""
    parts = path.split(".")
    for end in range(len(parts), 1, -1):
        wanted = re.compile(rf"(?<![\w.]){re.escape('.'.join(parts[:end]))}(?![\w.]*\w)")
        for gap in GAPS:
            if wanted.search(gap.name):
                return gap.reason
    return None


class _MissingError(AttributeError):
    """Its text is worked out when somebody reads it: programs ask for names they can do without."""

    def __init__(self, module: str, name: str, known: Callable[[], Iterable[str]]) -> None:
        super().__init__(f"module '{module}' has no attribute '{name}'")
        self._asked = module, name, known

    def __str__(self) -> str:
        module, name, known = self._asked
        text = f"module '{module}' has no attribute '{name}'"
        reason = reason_of(f"{module}.{name}")
        if reason is not None:
            return (
                f"{text}: it is not available in mindtorch ({reason}); `mindtorch scan` lists all "
                "that a script uses of such names"
            )
        close = difflib.get_close_matches(name, known(), 1, 0.75)
        return f"{text}. Did you mean: '{close[0]}'?" if close else text


_MissingError.__name__ = _MissingError.__qualname__ = "AttributeError"
_MissingError.__module__ = "builtins"


def missing(module: str, name: str, known: Callable[[], Iterable[str]]) -> AttributeError:
    """The error for ``module.name``.

    Args:
        module: as torch calls it.
        known: gives the module's names.
    """
    return _MissingError(module, name, known)
