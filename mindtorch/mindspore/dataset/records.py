"""Data sets in files of records: MindRecord and TFRecord."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..mindrecord.reading import Rows
from .engine import Row, in_turn, listed, refuse
from .memory import MappableDataset

__all__ = ["MindDataset"]


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
        in_turn(num_parallel_workers)
        refuse(cache=cache)
        self.records = Rows(dataset_files)
        columns = self.records.columns(None if columns_list is None else listed(columns_list))
        super().__init__(columns, shuffle, sampler, num_shards, shard_id, num_samples)
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
