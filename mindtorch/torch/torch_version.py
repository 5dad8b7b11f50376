"""A version that compares with strings and tuples by number."""

from __future__ import annotations

import re
from typing import Any

__all__ = ["TorchVersion"]


def _release(version: Any) -> Any:
    """(release numbers, local part) of "2.13.0+cpu"; None for what is no version."""
    if isinstance(version, tuple):
        version = ".".join(str(part) for part in version)
    found = re.fullmatch(r"v?(\d+(?:\.\d+)*)([a-z.][\w.]*)?(?:\+(.*))?", str(version))
    if found is None:
        return None
    numbers = [int(part) for part in found[1].split(".")]
    while numbers and not numbers[-1]:
        numbers.pop()
    # a pre-release comes before the release; a release with a local part after the bare one
    return numbers, found[2] is None, found[2] or "", found[3] is not None, found[3] or ""


class TorchVersion(str):
    """A string; ``>``, ``>=``, ``<``, ``<=`` and ``==`` compare versions, as with tuples.

    ``TorchVersion("2.13.0+x") >= (2, 13)`` is true, and so is ``> "2.9"``. What is no version is
    compared as a string.
    """

    __slots__ = ()

    def _compare(self, other: Any, name: str) -> Any:
        mine, theirs = _release(str(self)), _release(other)
        if theirs is None:
            return getattr(str, name)(self, other)
        return {
            "__gt__": mine > theirs, "__ge__": mine >= theirs, "__lt__": mine < theirs,
            "__le__": mine <= theirs, "__eq__": mine == theirs,
        }[name]  # fmt: skip

    def __gt__(self, other: Any) -> Any:
        return self._compare(other, "__gt__")

    def __ge__(self, other: Any) -> Any:
        return self._compare(other, "__ge__")

    def __lt__(self, other: Any) -> Any:
        return self._compare(other, "__lt__")

    def __le__(self, other: Any) -> Any:
        return self._compare(other, "__le__")

    def __eq__(self, other: object) -> Any:
        return self._compare(other, "__eq__")

    def __ne__(self, other: object) -> bool:
        return not self == other

    def __hash__(self) -> int:
        return str.__hash__(self)
