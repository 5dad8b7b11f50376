"""Rows that come one after another, and are numbered as they come."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from typing import Any

from .client import MISSING, RowCache

__all__ = ["cached_sequence"]


class _Source:
    """An iterator that is made when it is first needed, and goes forward only."""

    def __init__(self, make: Callable[[], Iterator[Any]]) -> None:
        self._make = make
        self._rows: Iterator[Any] | None = None
        self._next = 0

    def row(self, number: int) -> Any:
        """The row of a number that rises from call to call; :data:`MISSING` after the last."""
        if self._rows is None:
            self._rows = iter(self._make())
        found = MISSING
        while self._next <= number:
            found = next(self._rows, MISSING)
            if found is MISSING:
                break
            self._next += 1
        return found

    @property
    def rows_made(self) -> int:
        """How many rows have been asked of it."""
        return self._next


def cached_sequence(cache: RowCache, make: Callable[[], Iterator[Any]]) -> Iterator[Any]:
    """The rows of an iterator, those that the cache has without asking the iterator.

    Where a row is not there the iterator is run up to it. What follows it is looked for in the
    cache again.

    Args:
        cache: of these rows.
        make: makes the iterator; it gives the same rows each time.
    """
    cache.refresh()
    source = _Source(make)
    for number in itertools.count():
        total = cache.total()
        if total is not None and number >= total:
            break
        row = cache.get(number)
        if row is MISSING:
            row = source.row(number)
            if row is MISSING:
                cache.finish(source.rows_made)
                break
            cache.put(number, row)
        yield row
    cache.flush()
