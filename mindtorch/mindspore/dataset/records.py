"""Data sets in files of records: MindRecord and TFRecord."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from ..mindrecord.reading import Rows, shards_of
from ._rows import Row, listed
from .memory import MappableDataset
from .schema import Schema
from .text_sources import Shuffle, files_of, shuffles
from .tfrecord import content_of, features_of, record_at, records_of

__all__ = ["MindDataset", "TFRecordDataset"]


class MindDataset(MappableDataset):
    """The rows of MindRecord files.

    Texts and single numbers have no axes, bytes are one element of numpy's type S.

    Args:
        dataset_files: a file, whose shards are read with it, or a list of them.
        columns_list: which columns; all, sorted, without it.
        padded_sample, num_padded: so many rows {column: value} at the end, which make the rows a
            multiple of ``num_shards``.

    Raises:
        ValueError: a missing file, or a column that there is not.
        MRMOpenError: a file that is broken.
    """

    def __init__(
        self, dataset_files: Any, columns_list: Any = None, num_parallel_workers: int | None = None,
        shuffle: Any = None, num_shards: int | None = None, shard_id: int | None = None,
        sampler: Any = None, padded_sample: dict[str, Any] | None = None,
        num_padded: int | None = None, num_samples: int | None = None, cache: Any = None,
    ) -> None:  # fmt: skip
        self.records, self.given_files = Rows(dataset_files), dataset_files
        columns = self.records.columns(None if columns_list is None else listed(columns_list))
        super().__init__(
            columns, shuffle, sampler, num_shards, shard_id, num_samples,
            num_parallel_workers, cache=cache,
        )  # fmt: skip
        if (padded_sample is None) != (num_padded is None):
            raise RuntimeError("padded_sample and num_padded need to be specified together.")
        if padded_sample is not None and set(padded_sample) != set(columns):
            raise ValueError("columns_list of MindDataset should be those of padded_sample")
        self.padding, self.length = padded_sample, len(self.records) + (num_padded or 0)
        if num_padded and (num_shards is None or self.length % num_shards):
            raise RuntimeError(
                "Invalid data, the number of padded samples should make the rows a multiple of "
                f"num_shards: {self.length} rows, num_shards {num_shards}"
            )

    def files(self) -> list[Path]:
        """The files that rows are read from."""
        given = self.given_files
        named = [given] if isinstance(given, (str, Path)) else given
        return [path for name in named for path in shards_of(str(name))]

    def row(self, place: int) -> Row:
        if place < len(self.records):
            values = self.records.row(place, self.columns)
        else:
            values = self.padding or {}
        types = self.records.schema.content
        return tuple(_column(values[name], types[name]["type"]) for name in self.columns)


def _column(value: Any, kind: str) -> Any:
    if kind == "bytes":
        return np.array([value])
    return np.asarray(value) if kind == "string" else np.asarray(value, kind)


class TFRecordDataset(MappableDataset):
    """The examples of TFRecord files: columns of bytes, float32 and int64, each of one axis unless
    a schema says otherwise. Checksums are checked.

    Args:
        dataset_files: a path, a pattern as of a shell, or a list of them.
        schema: a :class:`Schema`, or the path of its file; without it columns are those of the
            first example, sorted.
        columns_list: which columns.
        shuffle: another order in each epoch, of rows (True, ``Shuffle.GLOBAL``) or of files only
            (``Shuffle.FILES``).
        shard_equal_rows: of no effect: shards always have equal numbers of rows.
        compression_type: None, "GZIP" or "ZLIB".

    Raises:
        ValueError: no such file, or another compression.
        RuntimeError: a file that is broken, or an example without one of the columns.
    """

    def __init__(
        self, dataset_files: Any, schema: Any = None, columns_list: Any = None,
        num_samples: int | None = None, num_parallel_workers: int | None = None,
        shuffle: Any = Shuffle.GLOBAL, num_shards: int | None = None, shard_id: int | None = None,
        shard_equal_rows: bool = False, cache: Any = None, compression_type: str | None = None,
    ) -> None:  # fmt: skip
        if compression_type not in (None, "", "GZIP", "ZLIB"):
            raise ValueError(
                f"Input compression_type can only be '', 'ZLIB', or 'GZIP', got {compression_type}"
            )
        self.paths = files_of(dataset_files)
        self.contents = [content_of(path, compression_type) for path in self.paths]
        self.records = [
            (number, place, length)
            for number, (path, content) in enumerate(zip(self.paths, self.contents, strict=True))
            for place, length in records_of(content, path)
        ]
        if not isinstance(schema, Schema) and schema is not None:
            schema = Schema(schema)
        self.schema: Schema | None = schema
        self.length = len(self.records)
        known = [] if schema is None else [c["name"] for c in schema.columns]
        if schema is None and self.records:
            known = sorted(self._features(0))
        self.described = {c["name"]: c for c in schema.columns} if schema else {}
        names = known if columns_list is None else listed(columns_list)
        super().__init__(
            names, shuffles(shuffle), None, num_shards, shard_id, num_samples,
            num_parallel_workers, cache=cache,
        )  # fmt: skip
        self.file_of_row = [number for number, _, _ in self.records]
        self.by_files = shuffle is Shuffle.FILES

    def files(self) -> list[Path]:
        """The files that rows are read from."""
        return self.paths

    def _features(self, place: int) -> dict[str, Any]:
        number, start, length = self.records[place]
        path = self.paths[number]
        return features_of(record_at(self.contents[number], start, length, path), path)

    def row(self, place: int) -> Row:
        found = self._features(place)
        missing = [name for name in self.columns if name not in found]
        if missing:
            raise RuntimeError(
                f"{self.paths[self.records[place][0]]}: the example of row {place} has no "
                f"{missing[0]!r}, only {sorted(found)}"
            )
        if self.schema is None:
            return tuple(found[name] for name in self.columns)
        return tuple(
            self.schema.array_of(self.described[name], found[name])
            if name in self.described else found[name]
            for name in self.columns
        )  # fmt: skip
