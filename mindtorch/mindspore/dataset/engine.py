"""Data sets: rows of numpy arrays that pass through a chain of operations."""

from __future__ import annotations

import builtins
import warnings
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np

from mindtorch.engine.tensor import Tensor as EngineTensor

from ..common.tensor import Tensor
from .config import seed_now
from .transforms import Padding

__all__ = ["Dataset", "Row", "array_of", "listed", "refuse", "zip", "zip_lists"]

Row = tuple[Any, ...]


def array_of(value: Any) -> Any:
    if isinstance(value, EngineTensor):
        return value.asnumpy()
    array = np.asarray(value)
    if array.dtype == object:
        raise TypeError(f"a column holds {type(value).__name__}, which is no array of numbers")
    return array


def listed(names: Any) -> list[str]:
    return [names] if isinstance(names, str) else list(names)


class Dataset:
    """Base of data sets. Each operation returns a new one over this; ``create_tuple_iterator()``
    and ``create_dict_iterator()`` run the chain, anew for each epoch.

    Args:
        source: the data set below; None for none.

    Attributes:
        columns: names of what a row holds.
    """

    def __init__(self, columns: Sequence[str], source: Dataset | None = None) -> None:
        self.columns = list(columns)
        self.source = source
        self._epoch = 0

    # --- to be defined -----------------------------------------------------------------------

    def rows(self, epoch: int) -> Iterator[Row]:
        """The rows of one pass."""
        raise NotImplementedError

    def get_dataset_size(self) -> int:
        """The number of rows of one pass."""
        raise NotImplementedError

    # --- operations --------------------------------------------------------------------------

    def map(
        self, operations: Any, input_columns: Any = None, output_columns: Any = None,
        column_order: Any = None, num_parallel_workers: int | None = None,
        python_multiprocessing: bool = False, cache: Any = None, callbacks: Any = None,
        max_rowsize: Any = None, offload: bool | None = None,
    ) -> Dataset:  # fmt: skip
        """Pass columns through functions, one after another.

        Args:
            operations: a function or a list of them. The first gets the input columns, each other
                what the one before returned; the last one's results become the output columns.
            input_columns: the first column unless given.
            output_columns: the input columns' names unless given.
            num_parallel_workers, python_multiprocessing: named in a warning: rows are made in turn.
        """
        in_turn(num_parallel_workers, python_multiprocessing)
        refuse(cache=cache, callbacks=callbacks, column_order=column_order)
        functions = list(operations) if isinstance(operations, (list, tuple)) else [operations]
        names = self.columns[:1] if input_columns is None else listed(input_columns)
        results = names if output_columns is None else listed(output_columns)
        return _Mapped(self, functions, names, results)

    def batch(
        self, batch_size: Any, drop_remainder: bool = False,
        num_parallel_workers: int | None = None, per_batch_map: Any = None,
        input_columns: Any = None, output_columns: Any = None, **kwargs: Any,
    ) -> Dataset:  # fmt: skip
        """Stack ``batch_size`` rows into one; what is left at the end is a smaller one.

        Args:
            batch_size: a number, or ``f(information)`` that gives that of the next batch.
            drop_remainder: leave the smaller one out.
            per_batch_map: ``f(column lists..., information)`` before stacking.
            input_columns: what ``per_batch_map`` is given; all without it.
            output_columns: the names of its results, which take the place of what it is given.
        """
        from .batches import Batched

        in_turn(num_parallel_workers)
        refuse(**kwargs)
        return Batched(
            self, batch_size, drop_remainder, per_batch_map,
            self.columns if input_columns is None else listed(input_columns),
            None if output_columns is None else listed(output_columns),
        )  # fmt: skip

    def padded_batch(
        self, batch_size: Any, drop_remainder: bool = False,
        num_parallel_workers: int | None = None, pad_info: dict[str, Any] | None = None,
    ) -> Dataset:  # fmt: skip
        """:meth:`batch` of rows that are filled up to one shape first.

        Args:
            pad_info: {column: (shape, value)}; None for a shape, or in it, is the largest length
                of the batch, and for the value 0. Without it, or empty: all columns are filled so.
        """
        chosen = pad_info or dict.fromkeys(self.columns, (None, None))
        paddings = [Padding(*each) for each in chosen.values()]
        return self.batch(
            batch_size, drop_remainder, num_parallel_workers,
            lambda *columns: tuple(f(c) for f, c in zip_lists(paddings, columns[:-1])),
            list(chosen),
        )  # fmt: skip

    def bucket_batch_by_length(
        self, column_names: Sequence[str], bucket_boundaries: Sequence[int],
        bucket_batch_sizes: Sequence[int],
        element_length_function: Callable[..., Any] | None = None,
        pad_info: dict[str, Any] | None = None, pad_to_bucket_boundary: bool = False,
        drop_remainder: bool = False,
    ) -> Dataset:  # fmt: skip
        """Batches of rows of about one length, filled up to one shape.

        Args:
            column_names: what the length is of.
            bucket_boundaries: rising lengths; a row is in the first bucket whose bound is above.
            bucket_batch_sizes: rows of a batch of each bucket, one more than there are bounds.
            element_length_function: gives the length from these columns; len() without it.
            pad_info: as of :meth:`padded_batch`; without it all columns are filled with zeros.
            pad_to_bucket_boundary: fill up to the bucket's bound less one, not to the longest row.
            drop_remainder: leave out what does not fill a batch.

        Raises:
            TypeError: a bound or a size is no whole number.
            ValueError: bounds that do not rise, or sizes of another number than buckets.
        """
        from .batches import Bucketed

        return Bucketed(
            self, column_names, bucket_boundaries, bucket_batch_sizes, element_length_function,
            pad_info, pad_to_bucket_boundary, drop_remainder,
        )  # fmt: skip

    def shuffle(self, buffer_size: int) -> Dataset:
        """Rows in random order, drawn from a buffer of ``buffer_size``; another order in each
        epoch."""
        if not isinstance(buffer_size, int) or buffer_size < 2:
            raise ValueError(f"buffer_size must be an int of 2 or more, but got {buffer_size!r}")
        return _Shuffled(self, buffer_size)

    def repeat(self, count: int | None = None) -> Dataset:
        """``count`` passes as one; without end for -1 and None."""
        if count == 0 or (count is not None and count < -1):
            raise ValueError(f"count should be -1 or positive, but got {count}")
        return _Repeated(self, -1 if count is None else count)

    def take(self, count: int = -1) -> Dataset:
        """The first ``count`` rows; all for -1."""
        if count == 0 or count < -1:
            raise ValueError(f"count should be -1 or positive, but got {count}")
        return _Taken(self, count)

    def skip(self, count: int) -> Dataset:
        """Without the first ``count`` rows."""
        if count < 0:
            raise ValueError(f"count should not be negative, but got {count}")
        return _Skipped(self, count)

    def filter(
        self, predicate: Callable[..., Any], input_columns: Any = None,
        num_parallel_workers: int | None = None,
    ) -> Dataset:  # fmt: skip
        """The rows of which ``predicate(columns...)`` is true."""
        in_turn(num_parallel_workers)
        names = self.columns if input_columns is None else listed(input_columns)
        return _Filtered(self, predicate, names)

    def zip(self, datasets: Any) -> Dataset:
        """Rows beside those of other data sets; ends with the shortest."""
        others = datasets if isinstance(datasets, (tuple, list)) else (datasets,)
        return _Zipped((self, *others))

    def concat(self, datasets: Any) -> Dataset:
        """The rows of this, then those of others."""
        others = datasets if isinstance(datasets, (tuple, list)) else (datasets,)
        return _Chained((self, *others))

    __add__ = concat

    def project(self, columns: Any) -> Dataset:
        """Only these columns, in this order."""
        return _Projected(self, listed(columns))

    def rename(self, input_columns: Any, output_columns: Any) -> Dataset:
        """Other names for columns."""
        renamed = dict(zip_lists(listed(input_columns), listed(output_columns)))
        self._check_columns(list(renamed))
        return _Renamed(self, [renamed.get(c, c) for c in self.columns])

    def split(self, sizes: Sequence[Any], randomize: bool = True) -> list[Dataset]:
        """Parts of so many rows, or of these shares; drawn at random with ``randomize``."""
        total = self.get_dataset_size()
        counts = [round(s * total) if isinstance(s, float) else int(s) for s in sizes]
        if all(isinstance(s, float) for s in sizes):
            counts[-1] = total - sum(counts[:-1])
        if sum(counts) != total:
            raise RuntimeError(f"sizes {list(sizes)} do not make up the {total} rows")
        order = np.arange(total)
        if randomize:
            order = np.random.default_rng(seed_now()).permutation(total)
        ends = np.cumsum(counts)
        return [_Chosen(self, order[e - n : e]) for e, n in zip_lists(ends, counts)]

    def apply(self, apply_func: Callable[[Dataset], Dataset]) -> Dataset:
        """``apply_func(self)``."""
        result = apply_func(self)
        if not isinstance(result, Dataset):
            raise TypeError(f"apply_func must return a data set, but got {type(result)}")
        return result

    # --- running -----------------------------------------------------------------------------

    def create_tuple_iterator(
        self, columns: Any = None, num_epochs: int = -1, output_numpy: bool = False,
        do_copy: bool = False,
    ) -> _Iterator:  # fmt: skip
        """An iterator over one epoch's rows as lists; iterating again begins the next epoch.

        Args:
            num_epochs: how many times it may be iterated; -1 for as often as one likes.
            output_numpy: arrays and not tensors.
        """
        return _Iterator(self, columns, num_epochs, output_numpy, as_dict=False)

    def create_dict_iterator(
        self, num_epochs: int = -1, output_numpy: bool = False, do_copy: bool = False
    ) -> _Iterator:
        """:meth:`create_tuple_iterator` with {column: value} for each row."""
        return _Iterator(self, None, num_epochs, output_numpy, as_dict=True)

    def __iter__(self) -> Iterator[Any]:
        return iter(self.create_tuple_iterator())

    def __len__(self) -> int:
        return self.get_dataset_size()

    # --- descriptions ------------------------------------------------------------------------

    def get_col_names(self) -> list[str]:
        """Names of what a row holds."""
        return list(self.columns)

    def get_batch_size(self) -> int:
        """How many rows were stacked into one."""
        return 1 if self.source is None else self.source.get_batch_size()

    def get_repeat_count(self) -> int:
        """How many passes are one."""
        return 1 if self.source is None else self.source.get_repeat_count()

    def output_shapes(self) -> list[list[int]]:
        """The shape of each column of the first row."""
        return [list(np.shape(value)) for value in next(self.rows(0))]

    def output_types(self) -> list[Any]:
        """The numpy type of each column of the first row."""
        return [array_of(value).dtype for value in next(self.rows(0))]

    def _check_columns(self, names: list[str]) -> list[int]:
        unknown = [n for n in names if n not in self.columns]
        if unknown:
            raise RuntimeError(
                f"Invalid parameter, input column name: {unknown[0]} doesn't exist in the dataset "
                f"columns {self.columns}."
            )
        return [self.columns.index(n) for n in names]


def zip_lists(*lists: Any) -> Any:
    """Elements side by side; the lists have one length."""
    return _pairs(*lists, strict=True)


_pairs = builtins.zip


def zip(datasets: Sequence[Dataset]) -> Dataset:  # noqa: A001
    """Rows of data sets beside each other; ends with the shortest.

    Args:
        datasets: a tuple of data sets.
    """
    if not isinstance(datasets, tuple):
        raise TypeError("datasets should be a tuple of data sets")
    return _Zipped(datasets)


def refuse(**given: Any) -> None:
    for name, value in given.items():
        if value is not None and value is not False:
            raise NotImplementedError(f"{name}={value!r} is not supported")


_told: set[str] = set()


def in_turn(num_parallel_workers: Any, python_multiprocessing: Any = False) -> None:
    """Says once that rows are made by the caller's thread alone.

    Raises:
        TypeError: the number of workers is not a whole number.
        ValueError: it is not positive.
    """
    workers = num_parallel_workers
    if workers is not None and (not isinstance(workers, int) or isinstance(workers, bool)):
        raise TypeError(f"num_parallel_workers must be an int, but got {workers!r}")
    if workers is not None and workers < 1:
        raise ValueError(f"num_parallel_workers must be positive, but got {workers}")
    if (workers or 1) > 1 and "num_parallel_workers" not in _told:
        _told.add("num_parallel_workers")
        warnings.warn(
            "num_parallel_workers has no effect: rows are made in turn, in the calling thread",
            stacklevel=4,
        )
    if python_multiprocessing and "python_multiprocessing" not in _told:
        _told.add("python_multiprocessing")
        warnings.warn(
            "python_multiprocessing has no effect: rows are made in the calling process",
            stacklevel=4,
        )


class _Iterator:
    """See :meth:`Dataset.create_tuple_iterator`."""

    def __init__(
        self, dataset: Dataset, columns: Any, num_epochs: int, numpy: bool, as_dict: bool
    ) -> None:
        self.dataset, self.left, self.numpy, self.as_dict = dataset, num_epochs, numpy, as_dict
        names = dataset.columns if columns is None else listed(columns)
        self.names, self.places = names, dataset._check_columns(names)
        self._running: Iterator[Any] | None = None

    def __iter__(self) -> Iterator[Any]:
        if self.left == 0:
            raise RuntimeError("the iterator has made the number of epochs it was created for")
        self.left -= 1 if self.left > 0 else 0
        epoch = self.dataset._epoch
        self.dataset._epoch += 1
        self._running = map(self._shown, self.dataset.rows(epoch))
        return self._running

    def __next__(self) -> Any:
        return next(self._running if self._running is not None else iter(self))

    def _shown(self, row: Row) -> Any:
        values = [array_of(row[i]) for i in self.places]
        if not self.numpy:
            values = [v if v.dtype.kind in "US" else Tensor(v) for v in values]
        return dict(zip_lists(self.names, values)) if self.as_dict else values


# --- operations --------------------------------------------------------------------------------


class DatasetOver(Dataset):
    """A data set over another one, which is never None."""

    source: Dataset

    def __init__(self, source: Dataset, columns: Sequence[str] | None = None) -> None:
        super().__init__(source.columns if columns is None else columns, source)

    def get_dataset_size(self) -> int:
        return self.source.get_dataset_size()


class _Mapped(DatasetOver):
    def __init__(
        self, source: Dataset, functions: list[Any], names: list[str], results: list[str]
    ) -> None:
        self.places = source._check_columns(names)
        kept = list(source.columns)
        first = self.places[0]
        for name in names:
            kept.remove(name)
        self.others = [i for i, c in enumerate(source.columns) if i not in self.places]
        at = sum(1 for i in self.others if i < first)
        super().__init__(source, [*kept[:at], *results, *kept[at:]])
        self.at, self.count, self.functions = at, len(results), functions
        for function in functions:
            if not callable(function):
                raise TypeError(f"operations should be functions, but got {function!r}")

    def rows(self, epoch: int) -> Iterator[Row]:
        for row in self.source.rows(epoch):
            values: Any = tuple(row[i] for i in self.places)
            for function in self.functions:
                values = function(*values)
                values = values if isinstance(values, tuple) else (values,)
            if len(values) != self.count:
                raise RuntimeError(
                    f"the operations returned {len(values)} values for {self.count} columns"
                )
            kept = [row[i] for i in self.others]
            yield (*kept[: self.at], *values, *kept[self.at :])


class _Shuffled(DatasetOver):
    def __init__(self, source: Dataset, size: int) -> None:
        super().__init__(source)
        self.size, self.seed = size, seed_now()

    def rows(self, epoch: int) -> Iterator[Row]:
        draw = np.random.default_rng([self.seed, epoch])
        held: list[Row] = []
        for row in self.source.rows(epoch):
            if len(held) < self.size:
                held.append(row)
                continue
            place = int(draw.integers(self.size))
            yield held[place]
            held[place] = row
        for place in draw.permutation(len(held)):
            yield held[place]


class _Repeated(DatasetOver):
    def __init__(self, source: Dataset, count: int) -> None:
        super().__init__(source)
        self.count = count

    def rows(self, epoch: int) -> Iterator[Row]:
        made = 0
        while made != self.count:
            number = epoch * max(self.count, 1) + made
            empty = True
            for row in self.source.rows(number):
                empty = False
                yield row
            if empty:
                return
            made += 1

    def get_dataset_size(self) -> int:
        return self.source.get_dataset_size() * max(self.count, 1)

    def get_repeat_count(self) -> int:
        return self.count


class _Taken(DatasetOver):
    def __init__(self, source: Dataset, count: int) -> None:
        super().__init__(source)
        self.count = count

    def rows(self, epoch: int) -> Iterator[Row]:
        if self.count < 0:
            yield from self.source.rows(epoch)
            return
        for number, row in enumerate(self.source.rows(epoch), 1):
            yield row
            if number == self.count:
                return

    def get_dataset_size(self) -> int:
        rows = self.source.get_dataset_size()
        return rows if self.count < 0 else min(rows, self.count)


class _Skipped(DatasetOver):
    def __init__(self, source: Dataset, count: int) -> None:
        super().__init__(source)
        self.count = count

    def rows(self, epoch: int) -> Iterator[Row]:
        for number, row in enumerate(self.source.rows(epoch)):
            if number >= self.count:
                yield row

    def get_dataset_size(self) -> int:
        return max(self.source.get_dataset_size() - self.count, 0)


class _Filtered(DatasetOver):
    def __init__(self, source: Dataset, predicate: Any, names: list[str]) -> None:
        super().__init__(source)
        self.predicate, self.places = predicate, source._check_columns(names)

    def rows(self, epoch: int) -> Iterator[Row]:
        for row in self.source.rows(epoch):
            if bool(self.predicate(*(row[i] for i in self.places))):
                yield row

    def get_dataset_size(self) -> int:
        return sum(1 for _ in self.rows(0))


class _Zipped(Dataset):
    def __init__(self, datasets: Sequence[Dataset]) -> None:
        names = [name for each in datasets for name in each.columns]
        if len(set(names)) != len(names):
            raise ValueError(f"zipped data sets have columns of the same name: {names}")
        super().__init__(names)
        self.datasets = list(datasets)

    def rows(self, epoch: int) -> Iterator[Row]:
        for row in _pairs(*(each.rows(epoch) for each in self.datasets), strict=False):
            yield tuple(value for part in row for value in part)

    def get_dataset_size(self) -> int:
        return min(each.get_dataset_size() for each in self.datasets)


class _Chained(Dataset):
    def __init__(self, datasets: Sequence[Dataset]) -> None:
        super().__init__(datasets[0].columns)
        if any(each.columns != self.columns for each in datasets):
            raise RuntimeError("concatenated data sets have the same columns")
        self.datasets = list(datasets)

    def rows(self, epoch: int) -> Iterator[Row]:
        for each in self.datasets:
            yield from each.rows(epoch)

    def get_dataset_size(self) -> int:
        return sum(each.get_dataset_size() for each in self.datasets)


class _Projected(DatasetOver):
    def __init__(self, source: Dataset, names: list[str]) -> None:
        self.places = source._check_columns(names)
        super().__init__(source, names)

    def rows(self, epoch: int) -> Iterator[Row]:
        for row in self.source.rows(epoch):
            yield tuple(row[i] for i in self.places)


class _Renamed(DatasetOver):
    def rows(self, epoch: int) -> Iterator[Row]:
        return self.source.rows(epoch)


class _Chosen(DatasetOver):
    """The rows of some places, in their order."""

    def __init__(self, source: Dataset, places: Any) -> None:
        super().__init__(source)
        self.places = places

    def rows(self, epoch: int) -> Iterator[Row]:
        held = list(self.source.rows(0))
        for place in self.places:
            yield held[place]

    def get_dataset_size(self) -> int:
        return len(self.places)
