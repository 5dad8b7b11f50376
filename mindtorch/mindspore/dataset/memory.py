"""Data sets of arrays and of a user's own source, and the base of those that know their rows."""

from __future__ import annotations

import copy
import inspect
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import numpy as np

from ..common.dtype import as_dtype
from ._rows import Row, array_of, checked_workers, listed, refuse, zip_lists
from ._running import Run
from .caching import checked_cache
from .config import seed_now
from .engine import Dataset
from .samplers import Sampler

__all__ = ["GeneratorDataset", "MappableDataset", "NumpySlicesDataset"]


class MappableDataset(Dataset):
    """A source that knows its rows by number: subclasses define ``row(i)`` and ``length``.

    Args:
        shuffle: another order in each epoch; on unless given.
        sampler: an order: a sampler, numbers, or an object that can be iterated for them.
        num_shards, shard_id: every ``num_shards``-th row, from ``shard_id``; rows of the beginning
            fill up so that all shards have the same number.
        num_samples: how many rows are used.
        workers, processes, cache: see :class:`~mindtorch.mindspore.dataset._rows.Rows`.
    """

    def __init__(
        self, columns: Sequence[str], shuffle: bool | None = None, sampler: Any = None,
        num_shards: int | None = None, shard_id: int | None = None, num_samples: int | None = None,
        workers: int | None = None, processes: bool = False, cache: Any = None,
    ) -> None:  # fmt: skip
        super().__init__(columns)
        self.workers, self.processes = checked_workers(workers), processes
        self.cache = checked_cache(cache)
        if sampler is not None and (shuffle is not None or num_shards is not None):
            raise RuntimeError("sampler and shuffle or num_shards cannot be specified together.")
        if (num_shards is None) != (shard_id is None):
            raise RuntimeError("num_shards and shard_id need to be passed in together.")
        if num_shards is not None and not 0 <= shard_id < num_shards:  # type: ignore[operator]
            raise ValueError(f"shard_id {shard_id} is not within 0 and num_shards {num_shards}")
        if num_samples is not None and num_samples < 0:
            raise ValueError(f"num_samples should not be negative, but got {num_samples}")
        self.shuffled = shuffle is not False and sampler is None
        self.sampler, self.num_shards, self.shard_id = sampler, num_shards, shard_id
        self.num_samples, self.seed = num_samples or None, seed_now()

    length = 0
    by_files = False  # whether only the order of files is random
    file_of_row: list[int] = []  # noqa: RUF012

    def num_classes(self) -> int | None:
        """How many labels there are, where the source knows them by name."""
        return None

    def row(self, place: int) -> Row:
        """The row of a number."""
        raise NotImplementedError

    def _order(self, epoch: int) -> Any:
        if isinstance(self.sampler, Sampler):
            order = self.sampler.order(self, epoch)
        elif self.sampler is not None:
            order = np.asarray(list(self.sampler), np.int64).reshape(-1)
        else:
            order = np.arange(self.length)
        if self.shuffled:
            draw = np.random.default_rng([self.seed, epoch])
            order = self._files_shuffled(draw) if self.by_files else draw.permutation(order)
        if self.num_shards is not None:
            each = -(-len(order) // self.num_shards)
            order = np.resize(order, each * self.num_shards)[self.shard_id :: self.num_shards]
        return order[: self.num_samples]

    def _files_shuffled(self, draw: Any) -> Any:
        """All rows, file after file in random order."""
        files = np.asarray(self.file_of_row)
        return np.concatenate(
            [np.flatnonzero(files == n) for n in draw.permutation(max(files, default=-1) + 1)]
            or [np.arange(0)]
        )

    def works(self) -> bool:
        return True

    def tasks(self, run: Run, epoch: int) -> Iterator[Any]:
        return (int(place) for place in self._order(epoch))

    def perform(self, task: Any) -> Row:
        if self.cache is not None:
            return self.cache.fetch(self, task, lambda: self.row(task))
        return self.row(task)

    def identity(self, task: Any) -> Any:
        return task

    def get_dataset_size(self) -> int:
        return len(self._order(0))


class NumpySlicesDataset(MappableDataset):
    """The slices along axis 0 of an array, of a tuple of arrays, or of a dict of them.

    Args:
        column_names: the dict's keys, or "column_0", "column_1", ..., unless given.
    """

    def __init__(
        self, data: Any, column_names: Any = None, num_samples: int | None = None,
        num_parallel_workers: int = 1, shuffle: bool | None = None, sampler: Any = None,
        num_shards: int | None = None, shard_id: int | None = None,
    ) -> None:  # fmt: skip
        checked_workers(num_parallel_workers)
        if isinstance(data, dict):
            names, arrays = list(data), [np.asarray(v) for v in data.values()]
        else:
            parts = data if isinstance(data, tuple) else (data,)
            arrays = [array_of(part) for part in parts]
            names = [f"column_{i}" for i in range(len(arrays))]
        if column_names is not None:
            names = listed(column_names)
        if len(names) != len(arrays):
            raise ValueError(f"{len(names)} column_names for {len(arrays)} columns")
        if len({len(a) for a in arrays}) != 1:
            raise ValueError(f"the columns have lengths {[len(a) for a in arrays]}")
        super().__init__(names, shuffle, sampler, num_shards, shard_id, num_samples)
        self.arrays, self.length = arrays, len(arrays[0])

    def works(self) -> bool:
        return False

    def row(self, place: int) -> Row:
        return tuple(array[place] for array in self.arrays)


class GeneratorDataset(MappableDataset):
    """Rows of a user's source.

    Args:
        source: a function that returns an iterator of rows, an iterable, or an object with
            ``__getitem__`` and ``__len__``; each row an array or a tuple of them.
        column_names: one for each.
        column_types: element types to which the columns are cast.
        shuffle: only for sources with ``__getitem__``; on for these unless given.
        num_parallel_workers: of sources with ``__getitem__``, if more than 1: rows are made ahead
            by so many workers.
        python_multiprocessing: these are processes, not threads.
        max_rowsize: of no effect: shared memory grows with the rows.
    """

    def __init__(
        self, source: Any, column_names: Any = None, column_types: Any = None, schema: Any = None,
        num_samples: int | None = None, num_parallel_workers: int = 1,
        shuffle: bool | None = None, sampler: Any = None, num_shards: int | None = None,
        shard_id: int | None = None, python_multiprocessing: bool = True,
        max_rowsize: Any = None,
    ) -> None:  # fmt: skip
        checked_workers(num_parallel_workers)
        refuse(schema=schema)
        if column_names is None:
            raise ValueError("Neither columns_names nor schema are provided.")
        self.by_number = hasattr(source, "__getitem__") and hasattr(source, "__len__")
        if not self.by_number:
            if sampler is not None or num_shards is not None or shuffle:
                raise RuntimeError(
                    "sampler, shuffle and num_shards need a source with __getitem__ and __len__"
                )
            if not callable(source) and not isinstance(source, Iterable):
                raise TypeError(f"source {source!r} is neither a function nor can be iterated")
            shuffle = False
        workers = num_parallel_workers if num_parallel_workers > 1 and self.by_number else None
        super().__init__(
            listed(column_names), shuffle, sampler, num_shards, shard_id, num_samples, workers,
            python_multiprocessing,
        )  # fmt: skip
        self.given = source
        self.types = (
            None
            if column_types is None
            else [None if kind is None else _numpy_type(kind) for kind in column_types]
        )
        self.length = len(source) if self.by_number else 0

    def _row_of(self, values: Any) -> Row:
        row = tuple(values) if isinstance(values, (tuple, list)) else (values,)
        if len(row) != len(self.columns):
            raise RuntimeError(
                f"Invalid columns, the source gave {len(row)} columns, column_names has "
                f"{len(self.columns)}."
            )
        arrays = [array_of(value) for value in row]
        if self.types is not None:
            arrays = [
                a if kind is None else a.astype(kind) for a, kind in zip_lists(arrays, self.types)
            ]
        return tuple(arrays)

    def row(self, place: int) -> Row:
        return self._row_of(self.given[place])

    def works(self) -> bool:
        return self.by_number

    def is_own(self) -> bool:
        return False

    def tasks(self, run: Run, epoch: int) -> Iterator[Any]:
        return super().tasks(run, epoch) if self.by_number else self._stream()

    def perform(self, task: Any) -> Row:
        return super().perform(task) if self.by_number else self._row_of(task)

    def identity(self, task: Any) -> Any:
        return task if self.by_number else None

    def _stream(self) -> Iterator[Any]:
        if callable(self.given):
            source = self.given()
        elif isinstance(self.given, Iterator) and not inspect.isgenerator(self.given):
            source = copy.copy(self.given)
        else:
            source = self.given
        for number, values in enumerate(source):
            if number == self.num_samples:
                return
            yield values

    def get_dataset_size(self) -> int:
        return super().get_dataset_size() if self.by_number else sum(1 for _ in self.rows(0))


def _numpy_type(kind: Any) -> Any:
    return as_dtype(kind).np
