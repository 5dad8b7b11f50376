"""FileWriter: MindRecord files from rows."""

from __future__ import annotations

import contextlib
import itertools
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from ._file import HEADER_SIZE, PAGE_SIZE, PageReader, PageWriter
from ._schema import Schema, is_plain
from .errors import MRMInvalidSchemaError, ParamTypeError, ParamValueError
from .reading import shards_of

__all__ = ["FileWriter"]


class FileWriter:
    """Writes rows into one MindRecord file, or ``shard_num`` of them with a number at the end.

    Nothing is at ``file_name`` before ``commit()``; then the whole file is.

    Args:
        overwrite: replace files that are there.

    Raises:
        RuntimeError: a file is there already.
    """

    def __init__(self, file_name: str, shard_num: int = 1, overwrite: bool = False) -> None:
        if not isinstance(file_name, str) or not file_name:
            raise ParamTypeError(f"file_name should be a str, but got {file_name!r}")
        if not isinstance(shard_num, int) or not 1 <= shard_num <= 1000:
            raise ParamValueError(f"Shard number should between 1 and 1000, got {shard_num!r}")
        if not isinstance(overwrite, bool):
            raise ParamTypeError(f"overwrite should be a bool, but got {overwrite!r}")
        width = len(str(shard_num - 1))
        self._paths = [
            Path(file_name if shard_num == 1 else f"{file_name}{i:0{width}d}")
            for i in range(shard_num)
        ]
        self._overwrite, self._sizes = overwrite, [HEADER_SIZE, PAGE_SIZE]
        self._schema: Schema | None = None
        self._description = ""
        self._index: list[str] | None = None
        self._writers: list[PageWriter] = []
        self._saved = 0

    @classmethod
    def open_for_append(cls, file_name: str) -> FileWriter:
        """A writer of more rows to a file; ``commit()`` replaces it by the longer one.

        Raises:
            MRMOpenError: the file is broken.
        """
        paths = shards_of(file_name)
        readers = [PageReader(path) for path in paths]
        header = readers[0].header
        entry = header["schema"][0]
        made = cls(str(file_name), 1, overwrite=True)
        made._paths = paths
        made._sizes = [header["header_size"], header["page_size"]]
        made.add_schema(entry["schema"], entry.get("desc"))
        made._schema = Schema(entry["schema"], entry["blob_fields"])
        made.add_index([each["index_field"] for each in header["index_fields"] or []])
        made._open()
        for number, reader in enumerate(readers):
            for row in range(len(reader.places)):
                fields, arrays = reader.row(row)
                values = made._schema.decoded(fields, arrays, list(entry["schema"]))
                made._write(number, values)
        return made

    def set_header_size(self, header_size: int) -> None:
        """The bytes that the header has at most, 16 KiB to 128 MiB."""
        self._set_size(0, header_size, 1 << 14, 1 << 27)

    def set_page_size(self, page_size: int) -> None:
        """The bytes of a page, 32 KiB to 256 MiB; a row fits into one."""
        self._set_size(1, page_size, 1 << 15, 1 << 28)

    def _set_size(self, place: int, size: int, least: int, most: int) -> None:
        if not isinstance(size, int) or not least <= size <= most or size % 4:
            raise ParamValueError(f"a size within {least} and {most}, a multiple of 4: {size!r}")
        self._sizes[place] = size

    def add_schema(self, content: dict[str, Any], desc: str | None = None) -> None:
        """Say what the columns are: {name: {"type": "int32", "shape": [-1]}}.

        Types are "string", "bytes", "int32", "int64", "float32" and "float64"; numbers with a
        "shape" are arrays, in which one axis may be -1.
        """
        if self._schema is not None:
            raise MRMInvalidSchemaError("there is a schema already")
        self._schema, self._description = Schema(content), desc or ""

    def add_index(self, index_fields: list[str]) -> None:
        """Say which texts and numbers rows can be looked up by; all without this."""
        schema = self._known()
        for name in index_fields:
            if name not in schema.content or not is_plain(schema.content[name]):
                raise MRMInvalidSchemaError(f"Field {name!r} cannot be an index.")
        self._index = list(index_fields)

    def _known(self) -> Schema:
        if self._schema is None:
            raise RuntimeError("call add_schema() first")
        return self._schema

    def _open(self) -> None:
        schema = self._known()
        if self._index is None:
            self._index = sorted(n for n, entry in schema.content.items() if is_plain(entry))
        for number, path in enumerate(self._paths):
            if path.exists() and not self._overwrite:
                raise RuntimeError(f"Invalid file, mindrecord files already exist: {path}. Please "
                                   "use overwrite=True to replace them.")  # fmt: skip
            if not path.absolute().parent.is_dir():
                raise RuntimeError(f"Invalid file, the folder of {path} does not exist.")
            self._writers.append(PageWriter(path, self._sizes[0], self._sizes[1], number))

    def write_raw_data(self, raw_data: list[dict[str, Any]], parallel_writer: bool = False) -> None:
        """Add rows. Those that do not fit the schema are left out, with a warning.

        Args:
            parallel_writer: one process writes in any case.

        Raises:
            RuntimeError: no row fits.
        """
        if not isinstance(raw_data, list):
            raise ParamTypeError(f"raw_data should be a list, but got {type(raw_data).__name__}")
        schema = self._known()
        rows = []
        for number, row in enumerate(raw_data):
            problem = schema.problem(row)
            if problem is None:
                rows.append(row)
            else:
                warnings.warn(f"row {number} is left out: {problem}", stacklevel=2)
        if not rows:
            raise RuntimeError(
                "There is no valid data which can be written by 'write_raw_data' to mindrecord "
                "file. Please check the abnormal input data indicated in the warning log above."
            )
        if not self._writers:
            self._open()
        count = len(self._paths)
        ends = [round(len(rows) * (i + 1) / count) for i in range(count)]
        with self._whole():
            for shard, (start, end) in enumerate(itertools.pairwise([0, *ends])):
                for row in rows[start:end]:
                    self._write(shard, row)

    def _write(self, shard: int, row: dict[str, Any]) -> None:
        fields, arrays, saved = self._known().encoded(row)
        index: list[Any] = []
        for name in self._index or []:
            value = row[name]
            index += [0, value.item() if isinstance(value, np.generic) else value]
        self._saved += saved
        self._writers[shard].write(fields, arrays, tuple(index))

    def commit(self) -> None:
        """Give the files their names: from here on they are there, and whole."""
        schema = self._known()
        if not self._writers:
            self._open()
        index = self._index or []
        kinds = [(name, schema.content[name]["type"]) for name in index]
        with self._whole():
            for writer in self._writers:
                writer.finish({
                    "index_fields": [{"index_field": n, "schema_id": 0} for n in index] or None,
                    "compression_size": self._saved,
                    "schema": [{"blob_fields": schema.arrays, "desc": self._description,
                                "schema": schema.plain}],
                    "shard_addresses": [path.name for path in self._paths],
                }, kinds)  # fmt: skip
        self._writers = []

    @contextlib.contextmanager
    def _whole(self) -> Iterator[None]:
        """What raises here leaves no part of a file."""
        try:
            yield
        except BaseException:
            self.__del__()
            self._writers = []
            raise

    def __del__(self) -> None:
        for writer in getattr(self, "_writers", ()):
            writer.discard()
