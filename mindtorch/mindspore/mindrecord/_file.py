"""One MindRecord file: a header, then pages of plain fields and pages of arrays and bytes.

The header is a length and JSON in the first ``header_size`` bytes; page i begins at ``header_size +
i * page_size``. A row group is a page of arrays ("BLOB_DATA") and the plain fields of the same rows
in a page "RAW_DATA"; each row has its length in 8 bytes before it. A small SQLite file beside it
says where each row is.
"""

from __future__ import annotations

import contextlib
import json
import os
import sqlite3
import struct
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

from mindtorch.kernels.support.atomic_file import name_beside, remove_leftovers

from .errors import MRMOpenError

HEADER_SIZE, PAGE_SIZE = 1 << 24, 1 << 25

_TABLE = """ROW_ID INT NOT NULL, PAGE_ID_RAW INT NOT NULL, PAGE_OFFSET_RAW INT NOT NULL,
PAGE_OFFSET_RAW_END INT NOT NULL, ROW_GROUP_ID INT NOT NULL, PAGE_ID_BLOB INT NOT NULL,
PAGE_OFFSET_BLOB INT NOT NULL, PAGE_OFFSET_BLOB_END INT NOT NULL"""
_SQL_TYPES = {"string": "TEXT", "int32": "INTEGER", "int64": "INTEGER"}


class Place(NamedTuple):
    """Where a row's plain fields and its arrays are in the file, and how long they are."""

    fields: int
    fields_size: int
    arrays: int
    arrays_size: int


class PageWriter:
    """Writes a file page by page beside its final name, and moves it there when it is whole."""

    def __init__(self, path: Path, header_size: int, page_size: int, number: int) -> None:
        self.path, self.header_size, self.page_size, self.number = (
            path, header_size, page_size, number
        )  # fmt: skip
        target = os.path.realpath(path)
        remove_leftovers(target)
        self._beside = Path(name_beside(target))
        self._file = self._beside.open("wb")
        self.pages: list[dict[str, Any]] = []
        self.table: list[tuple[Any, ...]] = []
        self._fields: list[bytes] = []
        self._arrays: list[bytes] = []
        self._sizes = [0, 0]
        self._group, self._first = 0, 0
        # the fields of groups that end, and what the page of them is told
        self._raw: list[bytes] = []
        self._raw_groups: list[dict[str, int]] = []
        self._starts: list[tuple[int, int, int]] = []

    def write(self, fields: bytes, arrays: bytes, index: tuple[Any, ...]) -> None:
        """Add a row.

        Raises:
            ValueError: it is longer than a page.
        """
        both = [struct.pack("<Q", len(part)) + part for part in (fields, arrays)]
        if max(map(len, both)) > self.page_size:
            raise ValueError(
                f"a row of {max(map(len, both))} bytes does not fit into a page of "
                f"{self.page_size}: set_page_size() before add_schema()"
            )
        if any(self._sizes[i] + len(both[i]) > self.page_size for i in range(2)):
            self._end_group()
        starts, ends = list(self._sizes), [self._sizes[i] + len(both[i]) for i in range(2)]
        page = len(self.pages)
        self.table.append((len(self.table), page, starts[0], ends[0], self._group, page,
                           starts[1], ends[1], *index))  # fmt: skip
        self._fields.append(both[0])
        self._arrays.append(both[1])
        self._sizes = ends

    def _end_group(self) -> None:
        """Write the rows of a group: their arrays are a page, their fields may share one."""
        if not self._fields:
            return
        self._page("BLOB_DATA", self._arrays, [{"id": 0, "offset": 0}])
        offset = sum(map(len, self._raw))
        if offset + self._sizes[0] > self.page_size:
            self._end_fields()
            offset = 0
        self._raw += self._fields
        self._raw_groups.append({"id": self._group, "offset": offset})
        self._starts.append((self._first, len(self.table), offset))
        self._first = len(self.table)
        self._group += 1
        self._fields, self._arrays, self._sizes = [], [], [0, 0]

    def _end_fields(self) -> None:
        if self._raw:
            page = len(self.pages)
            for first, last, offset in self._starts:
                for number in range(first, last):
                    row, _, start, end, *rest = self.table[number]
                    self.table[number] = (row, page, start + offset, end + offset, *rest)
            self._page("RAW_DATA", self._raw, self._raw_groups)
            self._raw, self._raw_groups, self._starts = [], [], []

    def _page(self, kind: str, rows: list[bytes], groups: list[dict[str, int]]) -> None:
        blob = kind == "BLOB_DATA"
        self.pages.append({
            "end_row_id": len(self.table) if blob else 0, "page_id": len(self.pages),
            "page_size": sum(map(len, rows)), "page_type": kind,
            "page_type_id": sum(page["page_type"] == kind for page in self.pages),
            "row_group_ids": groups, "shard_id": self.number,
            "start_row_id": self._first if blob else 0,
        })  # fmt: skip
        self._file.seek(self.header_size + self.pages[-1]["page_id"] * self.page_size)
        self._file.write(b"".join(rows))

    def finish(self, header: dict[str, Any], index: list[tuple[str, str]]) -> None:
        """Write the last pages, the header and the table of places; the file takes its name."""
        self._end_group()
        self._end_fields()
        whole = {"header_size": self.header_size, "index_fields": header["index_fields"],
                 "page": self.pages, "page_size": self.page_size, **header,
                 "shard_id": self.number, "statistics": None, "version": "3.0"}  # fmt: skip
        text = json.dumps(whole, separators=(",", ":"), ensure_ascii=False).encode()
        if len(text) + 8 > self.header_size:
            raise ValueError(f"a header of {len(text)} bytes: set_header_size() to a larger one")
        self._file.seek(0)
        self._file.write(struct.pack("<Q", len(text)) + text)
        self._file.flush()
        os.fsync(self._file.fileno())
        self._file.close()
        table = self._beside.with_name(self._beside.name + ".db")
        table.unlink(missing_ok=True)
        _write_table(table, self.path.name, index, self.table)
        table.replace(self.path.with_name(self.path.name + ".db"))
        self._beside.replace(self.path)

    def discard(self) -> None:
        """Remove what was written."""
        with contextlib.suppress(OSError):  # it writes what it holds, and the disk may be full
            self._file.close()
        for ending in ("", ".db", ".db-journal"):
            Path(f"{self._beside}{ending}").unlink(missing_ok=True)


def _write_table(path: Path, name: str, index: list[tuple[str, str]], rows: list[Any]) -> None:
    columns, keys = "", "ROW_ID"
    for i, (field, kind) in enumerate(index):
        columns += f", INC_{i} INT, {field}_0 {_SQL_TYPES.get(kind, 'REAL')}"
        keys += f", INC_{i}"
    database = sqlite3.connect(path)
    try:
        with database:
            database.execute(f"CREATE TABLE INDEXES({_TABLE}{columns}, PRIMARY KEY({keys}))")
            places = ",".join("?" * (8 + 2 * len(index)))
            database.executemany(f"INSERT INTO INDEXES VALUES({places})", rows)
            database.execute("CREATE TABLE SHARD_NAME(NAME TEXT NOT NULL)")
            database.execute("INSERT INTO SHARD_NAME VALUES(?)", (name,))
    finally:
        database.close()


class PageReader:
    """Reads a file, and knows where its rows are.

    Raises:
        MRMOpenError: it is no MindRecord file, or a part of one, or its rows do not fit together.
    """

    def __init__(self, path: Path) -> None:
        self.path, self.size = path, path.stat().st_size
        with path.open("rb") as file:
            self.header = self._read_header(file)
            self.places = list(self._read_places(file))

    def _broken(self, why: str) -> MRMOpenError:
        return MRMOpenError(
            f"Invalid file, {self.path}: {why}. Please use 'FileWriter' to generate valid "
            "mindrecord files."
        )

    def _read_header(self, file: Any) -> dict[str, Any]:
        if self.size < 8:
            raise self._broken(f"the size of {self.size} bytes is smaller than the lower limit 8")
        length = struct.unpack("<Q", file.read(8))[0]
        if not 0 < length <= min(1 << 28, self.size - 8):
            raise self._broken(f"a header of {length} bytes in a file of {self.size}")
        try:
            header = json.loads(file.read(length))
            sizes = [header["header_size"], header["page_size"]]
            known = {page["page_type"]: int(page["page_size"]) for page in header["page"]}
            schemas = [each["schema"] for each in header["schema"]]
        except (ValueError, KeyError, TypeError) as error:
            raise self._broken(f"the header cannot be read ({error!r})") from None
        if min(sizes) <= 0 or set(known) - {"BLOB_DATA", "RAW_DATA"} or len(schemas) != 1:
            raise self._broken("the header is not that of one schema")
        return dict(header)

    def _read_places(self, file: Any) -> Iterator[Place]:
        found: dict[str, list[tuple[int, int]]] = {"RAW_DATA": [], "BLOB_DATA": []}
        for page in sorted(self.header["page"], key=lambda page: page["page_id"]):
            start = self.header["header_size"] + page["page_id"] * self.header["page_size"]
            at, end = start, start + page["page_size"]
            if end > self.size:
                raise self._broken(f"page {page['page_id']} ends at {end}, the file at {self.size}")
            while at < end:
                file.seek(at)
                length = struct.unpack("<Q", file.read(8))[0]
                if at + 8 + length > end:
                    raise self._broken(f"a row of page {page['page_id']} is longer than the page")
                found[page["page_type"]].append((at + 8, length))
                at += 8 + length
        fields, arrays = found["RAW_DATA"], found["BLOB_DATA"]
        if len(fields) != len(arrays):
            raise self._broken(f"{len(fields)} rows of fields, and {len(arrays)} of arrays")
        for (a, b), (c, d) in zip(fields, arrays, strict=True):
            yield Place(a, b, c, d)

    def row(self, number: int) -> tuple[bytes, bytes]:
        """A row's plain fields and its arrays, as they were written."""
        place = self.places[number]
        with self.path.open("rb") as file:
            file.seek(place.fields)
            fields = file.read(place.fields_size)
            file.seek(place.arrays)
            return fields, file.read(place.arrays_size)
