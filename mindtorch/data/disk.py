"""Rows on disk, in LMDB: the server writes them, clients open the same files for reading."""

from __future__ import annotations

import os
import weakref
from typing import Any

import lmdb

from .layout import disk_key

__all__ = ["DISK_ERRORS", "Disk", "environment"]

DISK_ERRORS = (lmdb.Error, OSError)
_MOST_READERS = 4096

# an environment may be opened once in a process, and not be used by its children
_open: weakref.WeakValueDictionary[str, Any] = weakref.WeakValueDictionary()


def _after_fork() -> None:
    for each in list(_open.values()):
        each.close()
    _open.clear()


os.register_at_fork(after_in_child=_after_fork)


def environment(folder: str, map_size: int, **settings: Any) -> Any:
    """The LMDB environment of a folder, which all in this process share.

    Args:
        map_size: bytes that its files may reach.
        settings: of `lmdb.open`.
    """
    found = _open.get(folder)
    if found is None:
        found = _open[folder] = lmdb.open(
            folder, map_size=map_size, mode=0o600, max_readers=_MOST_READERS, readahead=False,
            **settings,
        )  # fmt: skip
    return found


class Disk:
    """Reads the rows of a cache.

    Args:
        folder: of the environment.
        map_size: what the server opened it with.

    Raises:
        lmdb.Error: there is none.
    """

    def __init__(self, folder: str, map_size: int) -> None:
        self._data = os.path.join(folder, "data.mdb")
        self._size = 0
        self._environment = environment(folder, map_size, readonly=True, create=False)

    def get(self, row: int) -> bytes | None:
        """The bytes of a row; None where there are none.

        Raises:
            lmdb.Error, OSError: the files are damaged.
        """
        size = os.stat(self._data).st_size
        if size < self._size:  # its pages are mapped: touching those that are gone ends a process
            raise OSError(f"{self._data} has shrunk")
        self._size = size
        with self._environment.begin() as transaction:
            found: bytes | None = transaction.get(disk_key(row))
            return found
