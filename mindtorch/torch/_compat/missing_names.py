"""The AttributeError of a name that is not here: why, where the table of gaps says so."""

from __future__ import annotations

import difflib
import re
import sys
from typing import Any

from mindtorch.known_gaps import GAPS

__all__ = ["give_reasons", "missing", "reason_of", "refuse_import"]

_SCAN = "`mindtorch scan` lists all that a script uses of such names"


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

    def __init__(self, module: str, name: str) -> None:
        text = f"module '{module}' has no attribute '{name}'"
        super().__init__(text, name=name, obj=sys.modules.get(f"mindtorch.{module}"))
        self._asked = module, name

    def __str__(self) -> str:
        text = str(self.args[0])
        reason = reason_of(".".join(self._asked))
        if reason is not None:
            return f"{text}: it is not available in mindtorch ({reason}); {_SCAN}"
        return text

    @property
    def __notes__(self) -> list[str]:  # type: ignore[override]
        """What Python prints below the error; it suggests nothing itself in so large a module."""
        if reason_of(".".join(self._asked)) is not None:
            return []
        close = difflib.get_close_matches(self._asked[1], dir(self.obj), 1, 0.75)
        return [f"Did you mean: '{close[0]}'?"] if close else []


_MissingError.__name__ = _MissingError.__qualname__ = "AttributeError"
_MissingError.__module__ = "builtins"


def missing(module: str, name: str) -> AttributeError:
    """The error for ``module.name``, by torch's name of the module."""
    return _MissingError(module, name)


def give_reasons(namespace: dict[str, Any]) -> None:
    """Let a module say why it lacks a name."""
    found = namespace.get("__getattr__")

    def other(name: str) -> Any:
        if found is not None:
            try:
                return found(name)
            except AttributeError as error:
                if isinstance(error, _MissingError) or name.startswith("__"):
                    raise
        raise missing(namespace["__name__"].removeprefix("mindtorch."), name) from None

    namespace["__getattr__"] = other


def refuse_import(path: str) -> None:
    """Raise the error for an import of a module or name that the table of gaps has.

    A finder calls it. Where a program only asks whether there is such a module
    (`importlib.util.find_spec`), nothing is raised. The error names no module, so that
    `from torch.ao import pruning` ends with this text, not Python's.
    """
    asked = sys._getframe(3).f_code.co_name  # of the import system, behind the finder
    reason = reason_of(path) if asked == "_find_and_load_unlocked" else None
    if reason is not None:
        raise ModuleNotFoundError(f"{path} is not available in mindtorch ({reason}); {_SCAN}")
