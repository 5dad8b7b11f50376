"""What all data sets have: columns, tasks from which rows are made, and a description."""

from __future__ import annotations

import builtins
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import numpy as np

from mindtorch.engine.tensor import Tensor as EngineTensor

from ._running import Run

__all__ = ["Over", "Row", "Rows", "Streamed", "array_of", "checked_workers", "listed", "refuse",
           "zip_lists"]  # fmt: skip

Row = tuple[Any, ...]


def array_of(value: Any) -> Any:
    if isinstance(value, np.ndarray) and value.dtype != object:
        return value
    if isinstance(value, EngineTensor):
        return value.asnumpy()
    array = np.asarray(value)
    if array.dtype == object:
        raise TypeError(f"a column holds {type(value).__name__}, which is no array of numbers")
    return array


def listed(names: Any) -> list[str]:
    return [names] if isinstance(names, str) else list(names)


def zip_lists(*lists: Any) -> Any:
    """Elements side by side; the lists have one length."""
    return builtins.zip(*lists, strict=True)


def refuse(**given: Any) -> None:
    for name, value in given.items():
        if value is not None and value is not False:
            raise NotImplementedError(f"{name}={value!r} is not supported")


def checked_workers(count: Any) -> int | None:
    """The number of workers asked for, or None.

    Raises:
        TypeError: it is not a whole number.
        ValueError: it is not positive.
    """
    if count is not None and (not isinstance(count, int) or isinstance(count, bool)):
        raise TypeError(f"num_parallel_workers must be an int, but got {count!r}")
    if count is not None and count < 1:
        raise ValueError(f"num_parallel_workers must be positive, but got {count}")
    return count


class Rows:
    """Base of data sets.

    Subclasses define :meth:`tasks` and :meth:`perform`: a task is all that is needed to make a row,
    small enough to be sent to a worker. Both together are the rows in turn.

    Args:
        columns: names of what a row holds.
        source: the data set below; None for none.

    Attributes:
        workers: the number of workers asked for; None for the usual.
        processes: whether they should be processes.
        cache: an object with ``fetch(data set, number, make)``, which gives the row that ``make()``
            makes; ``number`` is that of :meth:`identity`. Where it has ``flush()``, this is called
            in a worker process after its last row.
    """

    workers: int | None = None
    processes = False
    cache: Any = None
    fresh = False  # whether the arrays of a row belong to nobody else

    def __init__(self, columns: Sequence[str], source: Any = None) -> None:
        self.columns = list(columns)
        self.source = source

    def inputs(self) -> list[Rows]:
        """The data sets that this one is made from."""
        return [] if self.source is None else [self.source]

    # --- rows --------------------------------------------------------------------------------

    def tasks(self, run: Run, epoch: int) -> Iterator[Any]:
        """What the rows of one pass are made from."""
        raise NotImplementedError

    def perform(self, task: Any) -> Row:
        """The row of a task."""
        raise NotImplementedError

    def identity(self, task: Any) -> Any:
        """What tells a row from the others in every epoch: numbers, or None if nothing does."""
        return None

    def within(self) -> list[Rows]:
        """The inputs whose rows are made together with those of this one."""
        return self.inputs()

    def works(self) -> bool:
        """Whether rows need more than moving."""
        return False

    def is_own(self) -> bool:
        """Whether nothing of a user's is called."""
        return True

    def is_heavy(self) -> bool:
        """Whether a row takes long enough for workers of its own."""
        return False

    def enter_process(self, number: int) -> None:
        """Called in each worker process before its first row."""

    def rows(self, epoch: int) -> Iterator[Row]:
        """The rows of one pass, in turn."""
        return Run(self, parallel=False).rows(self, epoch)

    def get_dataset_size(self) -> int:
        """The number of rows of one pass."""
        raise NotImplementedError

    # --- descriptions ------------------------------------------------------------------------

    def title(self) -> str:
        """The name of the operation for messages."""
        return type(self).__name__.removeprefix("_")

    def __len__(self) -> int:
        return self.get_dataset_size()

    def get_col_names(self) -> list[str]:
        """Names of what a row holds."""
        return list(self.columns)

    def get_batch_size(self) -> int:
        """How many rows were stacked into one."""
        return 1 if self.source is None else int(self.source.get_batch_size())

    def get_repeat_count(self) -> int:
        """How many passes are one."""
        return 1 if self.source is None else int(self.source.get_repeat_count())

    def output_shapes(self) -> list[list[int]]:
        """The shape of each column of the first row."""
        return [list(np.shape(value)) for value in next(iter(self.rows(0)))]

    def output_types(self) -> list[Any]:
        """The numpy type of each column of the first row."""
        return [array_of(value).dtype for value in next(iter(self.rows(0)))]

    def check_columns(self, names: Iterable[str]) -> list[int]:
        """The places of columns.

        Raises:
            RuntimeError: one of them there is not.
        """
        unknown = [n for n in names if n not in self.columns]
        if unknown:
            raise RuntimeError(
                f"Invalid parameter, input column name: {unknown[0]} doesn't exist in the dataset "
                f"columns {self.columns}."
            )
        return [self.columns.index(n) for n in names]


class Over(Rows):
    """A data set over another one, whose tasks it gives on unless a subclass says otherwise."""

    source: Rows

    def __init__(self, source: Rows, columns: Sequence[str] | None = None) -> None:
        super().__init__(source.columns if columns is None else columns, source)
        self.fresh = source.fresh

    def tasks(self, run: Run, epoch: int) -> Iterator[Any]:
        return self.source.tasks(run, epoch)

    def perform(self, task: Any) -> Row:
        return self.source.perform(task)

    def identity(self, task: Any) -> Any:
        return self.source.identity(task)

    def get_dataset_size(self) -> int:
        return self.source.get_dataset_size()


class Streamed(Rows):
    """A data set whose tasks are its rows: they are known only one after the other."""

    def perform(self, task: Any) -> Row:
        return task

    def within(self) -> list[Rows]:
        return []
