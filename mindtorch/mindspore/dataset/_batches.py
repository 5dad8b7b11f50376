"""Rows stacked into batches."""

from __future__ import annotations

import bisect
import itertools
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np

from ._operations import called, name_of, noted
from ._random import is_own, numbers_of_row
from ._rows import Over, Row, Rows, Streamed, array_of, zip_lists
from ._running import Run
from .transforms import Padding


class BatchInformation:
    """What the functions of a batch are told: which epoch and which batch it is, from 0."""

    def __init__(self, epoch: int, number: int) -> None:
        self._epoch, self._number = epoch, number

    def get_batch_num(self) -> int:
        return self._number

    def get_epoch_num(self) -> int:
        return self._epoch


class Paddings:
    """One padding for each column of a batch."""

    def __init__(self, paddings: list[Padding]) -> None:
        self.paddings = paddings

    def __call__(self, *columns: Any) -> tuple[Any, ...]:
        return tuple(f(c) for f, c in zip_lists(self.paddings, columns[:-1]))


class Batched(Over):
    """See :meth:`Dataset.batch`."""

    def __init__(
        self, source: Rows, size: Any, drop: bool, function: Callable[..., Any] | None,
        names: list[str], results: list[str] | None, workers: int | None = None,
        processes: bool = False,
    ) -> None:  # fmt: skip
        if not callable(size):
            if not isinstance(size, int) or isinstance(size, bool):
                raise TypeError("batch_size should either be an int or a callable.")
            if not 1 <= size <= 2**31 - 1:
                raise ValueError(
                    "Input batch_size is not within the required interval of [1, 2147483647]."
                )
        self.size, self.drop, self.function = size, drop, function
        self.places = source.check_columns(names)
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
        self.workers, self.processes, self.fresh = workers, processes, True

    def title(self) -> str:
        size = name_of(self.size) if callable(self.size) else self.size
        return f"batch({size})"

    def works(self) -> bool:
        return self.function is not None

    def is_own(self) -> bool:
        return self.function is None or is_own(self.function)

    def _size_of(self, epoch: int, number: int) -> int:
        if not callable(self.size):
            return int(self.size)
        size = self.size(BatchInformation(epoch, number))
        if not isinstance(size, int) or size < 1:
            raise RuntimeError(f"batch_size function should return a positive int, got {size!r}")
        return size

    def tasks(self, run: Run, epoch: int) -> Iterator[Any]:
        key = run.key(self, epoch)
        tasks = self.source.tasks(run, epoch)
        for number in itertools.count():
            wanted = self._size_of(epoch, number)
            held = list(itertools.islice(tasks, wanted))
            if not held or (len(held) < wanted and self.drop):
                return
            yield key, epoch, number, held

    def identity(self, task: Any) -> Any:
        parts = tuple(self.source.identity(each) for each in task[3])
        return None if None in parts else parts

    def perform(self, task: Any) -> Row:
        key, epoch, number, held = task
        rows = [self.source.perform(each) for each in held]
        columns: list[Any] = [list(column) for column in zip_lists(*rows)]
        if self.function is not None:
            columns = self._changed(columns, key, epoch, number)
        return tuple(_stack(name, c) for name, c in zip_lists(self.columns, columns))

    def _changed(self, columns: list[Any], key: Any, epoch: int, number: int) -> list[Any]:
        given = (*(columns[i] for i in self.places), BatchInformation(epoch, number))
        try:
            with numbers_of_row(key, number):
                changed = called(self.function, self.is_own(), given)
        except Exception as error:
            noted(error, number, self.title())
            raise
        changed = changed if isinstance(changed, tuple) else (changed,)
        if len(changed) != len(self.results):
            raise RuntimeError(
                f"Invalid per_batch_map, the number of results ({len(changed)}) should be that "
                f"of output_columns ({len(self.results)})"
            )
        if not self.in_place:
            return [*changed, *(c for i, c in enumerate(columns) if i not in self.places)]
        for i, column in zip_lists(self.places, changed):
            columns[i] = column
        return columns

    def get_dataset_size(self) -> int:
        if callable(self.size):
            return sum(1 for _ in self.rows(0))
        rows = self.source.get_dataset_size()
        return rows // self.size if self.drop else -(-rows // self.size)

    def get_batch_size(self) -> int:
        return self._size_of(0, 0)


class Bucketed(Streamed):
    """See :meth:`Dataset.bucket_batch_by_length`."""

    def __init__(
        self, source: Rows, names: Any, bounds: Sequence[int], sizes: Sequence[int],
        length: Callable[..., Any] | None, padding: dict[str, Any] | None, to_bound: bool,
        drop: bool,
    ) -> None:  # fmt: skip
        self.places = source.check_columns(names)
        if length is None and len(self.places) > 1:
            raise ValueError(
                "If element_length_function is not specified, exactly one column name should be "
                "passed."
            )
        for title, numbers in (("bucket_boundaries", bounds), ("bucket_batch_sizes", sizes)):
            if not all(isinstance(n, int) for n in numbers):
                raise TypeError(f"{title} should be a list of int.")
            if not numbers or any(n <= 0 for n in numbers):
                raise ValueError(f"{title} must be greater than 0.")
        if any(b >= a for b, a in itertools.pairwise(bounds)):
            raise ValueError("bucket_boundaries should be strictly increasing.")
        if len(sizes) != len(bounds) + 1:
            raise ValueError("bucket_batch_sizes must contain one element more than "
                             "bucket_boundaries.")  # fmt: skip
        super().__init__(source.columns, source)
        self.bounds, self.sizes, self.length = list(bounds), list(sizes), length
        self.padding = dict.fromkeys(self.columns, (None, None)) if padding is None else padding
        self.to_bound, self.drop = to_bound, drop

    def tasks(self, run: Run, epoch: int) -> Iterator[Any]:
        held: list[list[Row]] = [[] for _ in self.sizes]
        for row in run.rows(self.source, epoch):
            values = [row[i] for i in self.places]
            length = self.length(*values) if self.length else np.shape(values[0])[0]
            bucket = bisect.bisect_right(self.bounds, int(np.asarray(length).reshape(-1)[0]))
            held[bucket].append(row)
            if len(held[bucket]) == self.sizes[bucket]:
                yield held[bucket], bucket
                held[bucket] = []
        for bucket, rows in enumerate(held):
            if rows and not self.drop:
                yield rows, bucket

    def perform(self, task: Any) -> Row:
        rows, bucket = task
        columns: list[Any] = [list(column) for column in zip_lists(*rows)]
        for name, (shape, value) in self.padding.items():
            place = self.columns.index(name)
            if self.to_bound:
                if bucket == len(self.bounds):
                    raise RuntimeError(
                        "pad_to_bucket_boundary: a row is at least as long as the last bound"
                    )
                axes = np.ndim(columns[place][0])
                known = (None,) * axes if shape is None else shape
                shape = [self.bounds[bucket] - 1 if n is None else n for n in known]
            columns[place] = Padding(shape, value)(columns[place])
        return tuple(_stack(name, c) for name, c in zip_lists(self.columns, columns))

    def get_dataset_size(self) -> int:
        return sum(1 for _ in self.rows(0))


def _stack(name: str, column: Any) -> Any:
    arrays = [array_of(value) for value in column]
    if len({a.shape for a in arrays}) > 1:
        raise RuntimeError(
            "Inconsistent batch shapes, batch operation expects same shape for each data row, "
            f"but got inconsistent shape in column {name!r}: {sorted({a.shape for a in arrays})}"
        )
    return np.stack(arrays)
