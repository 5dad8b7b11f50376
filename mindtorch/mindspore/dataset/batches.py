"""Rows stacked into batches."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from .engine import Dataset, Row, _Over, array_of, zip_lists


class BatchInformation:
    """What the functions of a batch are told: which epoch and which batch it is, from 0."""

    def __init__(self, epoch: int, number: int) -> None:
        self._epoch, self._number = epoch, number

    def get_batch_num(self) -> int:
        return self._number

    def get_epoch_num(self) -> int:
        return self._epoch


class Batched(_Over):
    """See :meth:`Dataset.batch`."""

    def __init__(
        self, source: Dataset, size: Any, drop: bool, function: Callable[..., Any] | None,
        names: list[str], results: list[str] | None,
    ) -> None:  # fmt: skip
        if not callable(size):
            if not isinstance(size, int) or isinstance(size, bool):
                raise TypeError("batch_size should either be an int or a callable.")
            if not 1 <= size <= 2**31 - 1:
                raise ValueError(
                    "Input batch_size is not within the required interval of [1, 2147483647]."
                )
        self.size, self.drop, self.function = size, drop, function
        self.places = source._check_columns(names)
        self.results = names if results is None else results
        self.in_place = len(self.results) == len(self.places)
        columns = list(source.columns)
        if self.in_place:
            for place, name in zip_lists(self.places, self.results):
                columns[place] = name
        else:
            others = [c for i, c in enumerate(columns) if i not in self.places]
            columns = [*self.results, *others]
        super().__init__(source, columns)

    def _size_of(self, epoch: int, number: int) -> int:
        if not callable(self.size):
            return int(self.size)
        size = self.size(BatchInformation(epoch, number))
        if not isinstance(size, int) or size < 1:
            raise RuntimeError(f"batch_size function should return a positive int, got {size!r}")
        return size

    def rows(self, epoch: int) -> Iterator[Row]:
        held: list[Row] = []
        number = 0
        wanted = self._size_of(epoch, number)
        for row in self.source.rows(epoch):
            held.append(row)
            if len(held) == wanted:
                yield self._stacked(held, epoch, number)
                held, number = [], number + 1
                wanted = self._size_of(epoch, number)
        if held and not self.drop:
            yield self._stacked(held, epoch, number)

    def _stacked(self, rows: list[Row], epoch: int, number: int) -> Row:
        columns: list[Any] = [list(column) for column in zip_lists(*rows)]
        if self.function is not None:
            given = [columns[i] for i in self.places]
            changed = self.function(*given, BatchInformation(epoch, number))
            changed = changed if isinstance(changed, tuple) else (changed,)
            if len(changed) != len(self.results):
                raise RuntimeError(
                    f"Invalid per_batch_map, the number of results ({len(changed)}) should be that "
                    f"of output_columns ({len(self.results)})"
                )
            if self.in_place:
                for i, column in zip_lists(self.places, changed):
                    columns[i] = column
            else:
                others = [c for i, c in enumerate(columns) if i not in self.places]
                columns = [*changed, *others]
        return tuple(_stack(name, c) for name, c in zip_lists(self.columns, columns))

    def get_dataset_size(self) -> int:
        if callable(self.size):
            return sum(1 for _ in self.rows(0))
        rows = self.source.get_dataset_size()
        return rows // self.size if self.drop else -(-rows // self.size)

    def get_batch_size(self) -> int:
        return self._size_of(0, 0)


def _stack(name: str, column: Any) -> Any:
    arrays = [array_of(value) for value in column]
    if len({a.shape for a in arrays}) > 1:
        raise RuntimeError(
            "Inconsistent batch shapes, batch operation expects same shape for each data row, "
            f"but got inconsistent shape in column {name!r}: {sorted({a.shape for a in arrays})}"
        )
    return np.stack(arrays)
