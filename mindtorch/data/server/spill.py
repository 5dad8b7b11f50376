"""The rows of a cache that are on disk: an LMDB environment of their own."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from ..disk import DISK_ERRORS, environment
from ..layout import disk_key

__all__ = ["Spill"]

_LARGEST_MAP = 1 << 40


class Spill:
    """Writes rows; clients open the same files for reading.

    Nothing is forced to disk: the files are of use only as long as the server lives.

    Args:
        folder: is made, for this user alone.
        map_size: bytes that the files may reach; the size of the disk unless given.
    """

    def __init__(self, folder: Path, map_size: int | None = None) -> None:
        folder.mkdir(mode=0o700)
        self.folder = folder
        self.map_size = map_size or min(shutil.disk_usage(folder).total, _LARGEST_MAP)
        self._environment = environment(
            os.fspath(folder), self.map_size, sync=False, metasync=False, meminit=False
        )

    def add(self, rows: Iterable[tuple[int, Any]]) -> str | None:
        """Write rows, all or none of them; the text of what went wrong, None where nothing did."""
        try:
            with self._environment.begin(write=True) as transaction:
                for number, row in rows:
                    transaction.put(disk_key(number), row, overwrite=True)
        except DISK_ERRORS as error:
            return str(error) or type(error).__name__
        return None

    def close(self) -> None:
        """Remove the files; clients that have them open may read on."""
        self._environment.close()
        shutil.rmtree(self.folder, ignore_errors=True)
