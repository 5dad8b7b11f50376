"""The operations on rows: what their tasks are, and how a row is made from one."""

from __future__ import annotations

import builtins
import itertools
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np

from ._random import all_own, is_own, numbers_of_row, seeded_globals
from ._rows import Over, Row, Rows, Streamed
from ._running import Run
from .config import seed_now
from .vision._fusing import fused

__all__ = ["Chained", "Chosen", "Filtered", "FlatMapped", "Mapped", "Projected", "Renamed",
           "Repeated", "Shuffled", "Skipped", "Taken", "Zipped", "called"]  # fmt: skip


def called(function: Any, is_ours: bool, values: tuple[Any, ...]) -> Any:
    """What a function returns; a user's one finds the common generators seeded by the row."""
    if is_ours:
        return function(*values)
    with seeded_globals():
        return function(*values)


def name_of(function: Any) -> str:
    """A function's name, or that of an object's class."""
    named = getattr(function, "__qualname__", None)
    return str(named if named is not None else type(function).__name__)


def noted(error: Exception, number: int, title: str) -> None:
    """Say at an error which row it was."""
    if not any("of the input of" in note for note in getattr(error, "__notes__", ())):
        error.add_note(f"in row {number} of the input of {title}")


class Mapped(Over):
    """See :meth:`Dataset.map`."""

    def __init__(
        self, source: Rows, functions: list[Any], names: list[str], results: list[str],
        workers: int | None = None, processes: bool = False, cache: Any = None,
    ) -> None:  # fmt: skip
        self.places = source.check_columns(names)
        kept = list(source.columns)
        first = self.places[0]
        for name in names:
            kept.remove(name)
        self.others = [i for i, c in enumerate(source.columns) if i not in self.places]
        at = sum(1 for i in self.others if i < first)
        super().__init__(source, [*kept[:at], *results, *kept[at:]])
        for function in functions:
            if not callable(function):
                raise TypeError(f"operations should be functions, but got {function!r}")
        self.at, self.count, self.functions = at, len(results), functions
        self.calls = [(function, is_own(function)) for function in fused(functions)]
        self.workers, self.processes, self.cache, self.fresh = workers, processes, cache, False

    def title(self) -> str:
        return f"map({', '.join(name_of(f) for f in self.functions)})"

    def works(self) -> bool:
        return True

    def is_own(self) -> bool:
        return all_own(self.functions)

    def is_heavy(self) -> bool:
        return any(getattr(f, "is_heavy", False) for f in self.functions)

    def tasks(self, run: Run, epoch: int) -> Iterator[Any]:
        key = run.key(self, epoch)
        for number, below in enumerate(self.source.tasks(run, epoch)):
            yield key, number, below

    def identity(self, task: Any) -> Any:
        return self.source.identity(task[2])

    def perform(self, task: Any) -> Row:
        if self.cache is not None:
            return self.cache.fetch(self, self.identity(task), lambda: self._made(task))
        return self._made(task)

    def _made(self, task: Any) -> Row:
        key, number, below = task
        row = self.source.perform(below)
        values: Any = tuple(row[i] for i in self.places)
        try:
            with numbers_of_row(key, number):
                for function, is_ours in self.calls:
                    values = called(function, is_ours, values)
                    values = values if isinstance(values, tuple) else (values,)
        except Exception as error:
            noted(error, number, self.title())
            raise
        if len(values) != self.count:
            raise RuntimeError(
                f"the operations returned {len(values)} values for {self.count} columns"
            )
        kept = [row[i] for i in self.others]
        return (*kept[: self.at], *values, *kept[self.at :])


class Shuffled(Over):
    """Tasks in random order, drawn from a buffer."""

    def __init__(self, source: Rows, size: int) -> None:
        super().__init__(source)
        self.size, self.seed = size, seed_now()

    def tasks(self, run: Run, epoch: int) -> Iterator[Any]:
        draw = np.random.default_rng([self.seed, epoch])
        held: list[Any] = []
        for task in self.source.tasks(run, epoch):
            if len(held) < self.size:
                held.append(task)
                continue
            place = int(draw.integers(self.size))
            yield held[place]
            held[place] = task
        for place in draw.permutation(len(held)):
            yield held[place]


class Repeated(Over):
    """Several passes as one."""

    def __init__(self, source: Rows, count: int) -> None:
        super().__init__(source)
        self.count = count

    def tasks(self, run: Run, epoch: int) -> Iterator[Any]:
        made = 0
        while made != self.count:
            number = epoch * max(self.count, 1) + made
            empty = True
            for task in self.source.tasks(run, number):
                empty = False
                yield task
            if empty:
                return
            made += 1

    def get_dataset_size(self) -> int:
        return self.source.get_dataset_size() * max(self.count, 1)

    def get_repeat_count(self) -> int:
        return self.count


class Taken(Over):
    """The first rows."""

    def __init__(self, source: Rows, count: int) -> None:
        super().__init__(source)
        self.count = count

    def tasks(self, run: Run, epoch: int) -> Iterator[Any]:
        tasks = self.source.tasks(run, epoch)
        return tasks if self.count < 0 else itertools.islice(tasks, self.count)

    def get_dataset_size(self) -> int:
        rows = self.source.get_dataset_size()
        return rows if self.count < 0 else min(rows, self.count)


class Skipped(Over):
    """Without the first rows, which are not made."""

    def __init__(self, source: Rows, count: int) -> None:
        super().__init__(source)
        self.count = count

    def tasks(self, run: Run, epoch: int) -> Iterator[Any]:
        return itertools.islice(self.source.tasks(run, epoch), self.count, None)

    def get_dataset_size(self) -> int:
        return max(self.source.get_dataset_size() - self.count, 0)


class Judged(Over):
    """(what a function says of a row, the row)."""

    def __init__(
        self, source: Rows, function: Callable[..., Any], names: list[str], workers: int | None
    ) -> None:
        super().__init__(source)
        self.function, self.places = function, source.check_columns(names)
        self.is_ours, self.workers = is_own(function), workers

    def title(self) -> str:
        return f"filter({name_of(self.function)})"

    def works(self) -> bool:
        return True

    def is_own(self) -> bool:
        return self.is_ours

    def tasks(self, run: Run, epoch: int) -> Iterator[Any]:
        key = run.key(self, epoch)
        for number, below in enumerate(self.source.tasks(run, epoch)):
            yield key, number, below

    def perform(self, task: Any) -> Row:
        key, number, below = task
        row = self.source.perform(below)
        try:
            with numbers_of_row(key, number):
                said = called(self.function, self.is_ours, tuple(row[i] for i in self.places))
        except Exception as error:
            noted(error, number, self.title())
            raise
        return bool(said), row


class Filtered(Streamed):
    """The rows of which a function is true."""

    def __init__(
        self, source: Rows, predicate: Any, names: list[str], workers: int | None = None
    ) -> None:
        self.judged = Judged(source, predicate, names, workers)
        super().__init__(source.columns, source)

    def inputs(self) -> list[Rows]:
        return [self.judged]

    def tasks(self, run: Run, epoch: int) -> Iterator[Any]:
        for keep, row in run.rows(self.judged, epoch):
            if keep:
                yield row

    def get_dataset_size(self) -> int:
        return sum(1 for _ in self.rows(0))


class FlatMapped(Streamed):
    """The rows of the data sets that a function makes of each row."""

    def __init__(self, source: Rows, function: Callable[..., Any]) -> None:
        if not callable(function):
            raise TypeError("func should be a function.")
        self.function = function
        first = self._made(next(iter(source.rows(0)))) if source.get_dataset_size() else None
        super().__init__(source.columns if first is None else first.columns, source)

    def _made(self, row: Row) -> Rows:
        made = self.function(*row)
        if not isinstance(made, Rows):
            raise TypeError("flat_map: The type of return dataset is not Dataset or its subclass.")
        return made

    def tasks(self, run: Run, epoch: int) -> Iterator[Any]:
        for row in run.rows(self.source, epoch):
            yield from self._made(row).rows(epoch)

    def get_dataset_size(self) -> int:
        return sum(1 for _ in self.rows(0))


class Zipped(Rows):
    """Rows beside each other."""

    def __init__(self, datasets: Sequence[Rows]) -> None:
        names = [name for each in datasets for name in each.columns]
        if len(set(names)) != len(names):
            raise ValueError(f"zipped data sets have columns of the same name: {names}")
        super().__init__(names)
        self.datasets = list(datasets)

    def inputs(self) -> list[Rows]:
        return list(self.datasets)

    def tasks(self, run: Run, epoch: int) -> Iterator[Any]:
        return builtins.zip(*(each.tasks(run, epoch) for each in self.datasets), strict=False)

    def perform(self, task: Any) -> Row:
        parts = [each.perform(t) for each, t in zip(self.datasets, task, strict=True)]
        return tuple(value for part in parts for value in part)

    def identity(self, task: Any) -> Any:
        parts = [each.identity(t) for each, t in zip(self.datasets, task, strict=True)]
        return None if None in parts else tuple(parts)

    def get_dataset_size(self) -> int:
        return min(each.get_dataset_size() for each in self.datasets)


class Chained(Rows):
    """Rows one after another."""

    def __init__(self, datasets: Sequence[Rows]) -> None:
        super().__init__(datasets[0].columns)
        if any(each.columns != self.columns for each in datasets):
            raise RuntimeError("concatenated data sets have the same columns")
        self.datasets = list(datasets)

    def inputs(self) -> list[Rows]:
        return list(self.datasets)

    def tasks(self, run: Run, epoch: int) -> Iterator[Any]:
        for place, each in enumerate(self.datasets):
            for task in each.tasks(run, epoch):
                yield place, task

    def perform(self, task: Any) -> Row:
        return self.datasets[task[0]].perform(task[1])

    def identity(self, task: Any) -> Any:
        below = self.datasets[task[0]].identity(task[1])
        return None if below is None else (task[0], below)

    def get_dataset_size(self) -> int:
        return sum(each.get_dataset_size() for each in self.datasets)


class Projected(Over):
    """Some columns."""

    def __init__(self, source: Rows, names: list[str]) -> None:
        self.places = source.check_columns(names)
        super().__init__(source, names)

    def perform(self, task: Any) -> Row:
        row = self.source.perform(task)
        return tuple(row[i] for i in self.places)


class Renamed(Over):
    """Other names for columns."""


class Chosen(Over):
    """The rows of some places, in their order."""

    def __init__(self, source: Rows, places: Any) -> None:
        super().__init__(source)
        self.places = places

    def tasks(self, run: Run, epoch: int) -> Iterator[Any]:
        held = list(self.source.tasks(run, epoch))
        for place in self.places:
            yield held[place]

    def get_dataset_size(self) -> int:
        return len(self.places)
