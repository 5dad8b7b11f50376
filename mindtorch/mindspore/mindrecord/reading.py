"""FileReader: rows of MindRecord files; and the files that belong together."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from ._file import PageReader
from ._schema import Schema
from .errors import MRMUnsupportedSchemaError, ParamValueError, PathNotExistsError

__all__ = ["FileReader", "Rows", "shards_of"]


def shards_of(file_name: Any) -> list[Path]:
    """All files that were written together with this one; a list of names is what it says.

    Raises:
        PathNotExistsError: one is missing.
    """
    if isinstance(file_name, (list, tuple)):
        paths = [Path(each) for each in file_name]
    else:
        path = Path(file_name)
        if not path.is_file():
            raise PathNotExistsError(f"The file {path} does not exist or permission denied!")
        names = PageReader(path).header.get("shard_addresses") or [path.name]
        paths = [path] if len(names) == 1 else [path.with_name(Path(n).name) for n in names]
    for path in paths:
        if not path.is_file():
            raise PathNotExistsError(f"The file {path} does not exist or permission denied!")
    return paths


class Rows:
    """The rows of files with one schema, by number."""

    def __init__(self, file_name: Any) -> None:
        self.readers = [PageReader(path) for path in shards_of(file_name)]
        entries = [reader.header["schema"][0] for reader in self.readers]
        if any(entry["schema"] != entries[0]["schema"] for entry in entries):
            raise MRMUnsupportedSchemaError("the files have different schemas")
        self.schema = Schema(entries[0]["schema"], entries[0]["blob_fields"])
        self._rows = [(reader, i) for reader in self.readers for i in range(len(reader.places))]

    def __len__(self) -> int:
        return len(self._rows)

    def columns(self, names: list[str] | None) -> list[str]:
        """The names that are asked for; all, sorted, without any.

        Raises:
            ValueError: there is no such column.
        """
        if names is None:
            return sorted(self.schema.content)
        for name in names:
            if name not in self.schema.content:
                raise ParamValueError(
                    f"Invalid data, column name: {name} can not found in schema. Please check the "
                    "'column_list'."
                )
        return list(names)

    def row(self, number: int, names: list[str]) -> dict[str, Any]:
        """The columns of a row."""
        reader, place = self._rows[number]
        return self.schema.decoded(*reader.row(place), names)


class FileReader:
    """The rows of MindRecord files one after another, as dicts.

    Args:
        file_name: a file, whose shards are read with it, or a list of them.
        num_consumer: kept as it is: one thread reads.
        columns: which columns.
        operator: not supported: refused.
    """

    def __init__(
        self, file_name: Any, num_consumer: int = 1, columns: list[str] | None = None,
        operator: Any = None,
    ) -> None:  # fmt: skip
        if not isinstance(num_consumer, int) or num_consumer < 1:
            raise ParamValueError(f"Consumer number should be positive, got {num_consumer!r}")
        if operator is not None:
            raise ParamValueError("operator is not supported")
        self._rows: Rows | None = Rows(file_name)
        self._columns = self._rows.columns(columns)

    def _open(self) -> Rows:
        if self._rows is None:
            raise RuntimeError("the reader is closed")
        return self._rows

    def get_next(self) -> Iterator[dict[str, Any]]:
        """The rows, {column: value}: arrays in their shapes, bytes, texts and numbers."""
        rows = self._open()
        for number in range(len(rows)):
            yield rows.row(number, self._columns)

    def len(self) -> int:
        """The number of rows."""
        return len(self._open())

    def schema(self) -> dict[str, Any]:
        """The columns with their types and shapes."""
        return dict(self._open().schema.plain)

    def close(self) -> None:
        """Read no more."""
        self._rows = None
