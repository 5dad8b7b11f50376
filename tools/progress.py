"""Progress bars for long work: on a terminal, and nowhere else."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator
from typing import TypeVar

__all__ = ["progress"]

T = TypeVar("T")


def progress(items: Iterable[T], description: str, total: int | None = None) -> Iterator[T]:
    """The items, while a bar on standard error tells how many are done.

    Nothing is written where standard error is no terminal; the bar is taken away at the end.

    Args:
        description: what is being done.
        total: how many there are, where `items` has no length.
    """
    if not sys.stderr.isatty():
        yield from items
        return
    from rich.console import Console
    from rich.progress import track

    console = Console(stderr=True)
    yield from track(items, description, total=total, console=console, transient=True)
