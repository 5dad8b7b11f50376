"""`cache=` of data sets: their rows in a cache server, see :mod:`mindtorch.data`."""

from __future__ import annotations

import weakref
from collections.abc import Callable, Iterator
from typing import Any

from mindtorch._distribution import install_extra

from ._description import content_of
from ._rows import Row, Rows, Streamed, array_of
from ._running import Run

try:
    from mindtorch.data.client import MISSING
    from mindtorch.data.content import content_key, random_names
    from mindtorch.data.sequence import cached_sequence
    from mindtorch.data.session import DatasetCache as _Session
except ImportError as error:  # only this needs lmdb and xxhash
    _missing: str | None = error.name

    class _Session:  # type: ignore[no-redef]
        """Says what is missing."""

        def __init__(self, *args: Any, **kwargs: Any) -> None:
            raise ImportError(f"DatasetCache needs {_missing}: {install_extra('cache')}")


__all__ = ["CachedStream", "DatasetCache", "checked_cache", "keeps_by_number"]

_SLOTS, _TRIES = 1 << 18, 16


class DatasetCache(_Session):
    __doc__ = _Session.__doc__

    def fetch(self, node: Rows, identity: Any, make: Callable[[], Row]) -> Row:
        """The row of a data set that ``make()`` makes, if it is not kept.

        Args:
            node: the data set; its content says whose rows they are.
            identity: what tells the row from others: its number, or numbers in tuples.
        """
        rows = self._rows_of(node)
        if rows is None:
            return make()
        if not isinstance(identity, int):
            return _by_name(rows, repr(identity), make)
        row = rows.get(identity)
        if row is MISSING:
            row = _arrays(make())
            rows.put(identity, row)
        return row

    def rows(self, node: Rows, make: Callable[[], Iterator[Row]]) -> Iterator[Row]:
        """The rows of a data set that have no numbers, in the order of ``make()``."""
        rows = self._rows_of(node)
        if rows is None:
            return make()
        return cached_sequence(rows, lambda: map(_arrays, make()))

    def flush(self) -> None:
        """Send rows that wait."""
        for each in self._opened.values():
            each.flush()

    def _rows_of(self, node: Rows) -> Any:
        key = _keys.get(node)
        if key is None:
            key = _keys[node] = content_key("mindspore.dataset", content_of(node))
        return self.open(key)


_keys: weakref.WeakKeyDictionary[Rows, str] = weakref.WeakKeyDictionary()


def _arrays(row: Row) -> Row:
    return tuple(array_of(value) for value in row)


def _by_name(rows: Any, name: str, make: Callable[[], Row]) -> Row:
    """A row that is kept with its name, in one of some places that follow from it."""
    first, place = int(content_key(name), 16), None
    for step in range(_TRIES):
        number = (first + step) % _SLOTS
        found = rows.get(number)
        if found is MISSING:
            place = number
            break
        if found[0] == name:
            return found[1]
    row = _arrays(make())
    if place is not None:
        rows.put(place, (name, row))
    return row


def checked_cache(cache: Any) -> Any:
    """A cache whose session there is, or None.

    Raises:
        TypeError: something without a method ``fetch``.
        RuntimeError: there is no server, or no such session.
    """
    if cache is None:
        return None
    if not hasattr(cache, "fetch"):
        raise TypeError(
            f"Argument cache with value {cache} is not of type [<class 'DatasetCache'>], but got "
            f"{type(cache)}."
        )
    if isinstance(cache, DatasetCache):
        cache.reach()
    return cache


def keeps_by_number(node: Any, cache: Any) -> bool:
    """Put a cache over a data set whose rows have numbers; False where they have none.

    Raises:
        RuntimeError: something below draws at random, for each epoch anew.
    """
    checked_cache(cache)
    random = random_names([each.functions for each in _below(node) if hasattr(each, "functions")])
    if random:
        raise RuntimeError(
            f"MapNode containing random operation is not supported as a descendant of cache: "
            f"{', '.join(random)} would give each epoch what the first one drew"
        )
    if all(map(_has_numbers, _below(node))):
        node.cache = cache
        return True
    orders = [each.title() for each in _below(node) if _is_shuffled(each)]
    if orders:
        raise RuntimeError(
            f"cache: rows of {node.title()} have no numbers, and {orders[0]} shuffles them: each "
            "epoch would get the order of the first one"
        )
    return False


def _below(node: Rows) -> list[Any]:
    found: list[Any] = [node]
    for each in node.inputs():
        found += _below(each)
    return found


def _has_numbers(node: Rows) -> bool:
    return not isinstance(node, Streamed) and bool(getattr(node, "by_number", True))


def _is_shuffled(node: Any) -> bool:
    return bool(getattr(node, "shuffled", False)) or node.title() == "Shuffled"


class CachedStream(Streamed):
    """Rows that have no numbers, kept in the order in which they come."""

    def __init__(self, source: Rows, cache: Any) -> None:
        super().__init__(source.columns, source)
        self.cache = cache

    def tasks(self, run: Run, epoch: int) -> Iterator[Any]:
        return self.cache.rows(self.source, lambda: run.rows(self.source, epoch))

    def get_dataset_size(self) -> int:
        return int(self.source.get_dataset_size())
