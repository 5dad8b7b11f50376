"""What torch says otherwise than of most functions: `texts_by_function.txt`, read when asked for.

A line has a subject, functions, and what is said of them; ``f(argument)`` is a function that is
given this argument. Functions of a module have its name in front: ``linalg_inv``.
"""

from __future__ import annotations

import functools
from collections import defaultdict
from pathlib import Path

__all__ = ["said_of"]

_FILE = Path(__file__).with_suffix(".txt")


@functools.cache
def _table() -> dict[str, dict[str, str]]:
    """What is said, by subject and function."""
    found: dict[str, dict[str, str]] = defaultdict(dict)
    for line in _FILE.read_text().splitlines():
        subject, _, rest = line.partition(": ")
        names, _, text = rest.partition(":")
        for name in names.split():
            found[subject][name] = text.strip()
    return found


def said_of(subject: str, name: str) -> str | None:
    """What is said of a function; None where it is as of most."""
    return _table().get(subject, {}).get(name)
