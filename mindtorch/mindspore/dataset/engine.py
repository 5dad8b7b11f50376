"""Data sets: rows of numpy arrays that pass through a chain of operations."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np

from ..mindrecord.writing import FileWriter
from . import _batches, _operations
from ._description import Described
from ._iterators import DatasetIterator
from ._rows import Rows, Streamed, checked_workers, listed, refuse, zip_lists
from ._saving import save_rows
from .caching import CachedStream, keeps_by_number
from .config import seed_now
from .transforms import Padding

__all__ = ["Dataset", "StreamedDataset", "zip"]


class Dataset(Described, Rows):
    """Base of data sets. Each operation returns a new one over this; ``create_tuple_iterator()``
    and ``create_dict_iterator()`` run the chain, anew for each epoch.

    Args:
        columns: names of what a row holds.
        source: the data set below; None for none.
    """

    def __init__(self, columns: Sequence[str], source: Any = None) -> None:
        super().__init__(columns, source)
        self._epoch = 0

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
            num_parallel_workers: rows are made by so many threads, ahead of the reader; see
                ``config`` for what happens without it. Random numbers are the same for any number.
            python_multiprocessing: processes instead of threads; rows come through shared memory.
            cache: a :class:`DatasetCache`, which keeps rows as the functions leave them, or an
                object with ``fetch(data set, number, make)``.
            max_rowsize: of no effect: shared memory grows with the rows.
        """
        checked_workers(num_parallel_workers)
        refuse(callbacks=callbacks, column_order=column_order, offload=offload)
        functions = list(operations) if isinstance(operations, (list, tuple)) else [operations]
        names = self.columns[:1] if input_columns is None else listed(input_columns)
        results = names if output_columns is None else listed(output_columns)
        made = _Mapped(
            self, functions, names, results, num_parallel_workers, python_multiprocessing
        )
        if cache is None or keeps_by_number(made, cache):
            return made
        return _CachedStream(made, cache)

    def batch(
        self, batch_size: Any, drop_remainder: bool = False,
        num_parallel_workers: int | None = None, per_batch_map: Any = None,
        input_columns: Any = None, output_columns: Any = None,
        python_multiprocessing: bool = False, max_rowsize: Any = None,
    ) -> Dataset:  # fmt: skip
        """Stack ``batch_size`` rows into one; what is left at the end is a smaller one.

        Args:
            batch_size: a number, or ``f(information)`` that gives that of the next batch.
            drop_remainder: leave the smaller one out.
            per_batch_map: ``f(column lists..., information)`` before stacking.
            input_columns: what ``per_batch_map`` is given; all without it.
            output_columns: the names of its results, which take the place of what it is given.
            num_parallel_workers, python_multiprocessing, max_rowsize: as of :meth:`map`.
        """
        checked_workers(num_parallel_workers)
        return _Batched(
            self, batch_size, drop_remainder, per_batch_map,
            self.columns if input_columns is None else listed(input_columns),
            None if output_columns is None else listed(output_columns),
            num_parallel_workers, python_multiprocessing,
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
        paddings = _batches.Paddings([Padding(*each) for each in chosen.values()])
        return self.batch(
            batch_size, drop_remainder, num_parallel_workers, paddings, list(chosen)
        )

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
        return _Bucketed(
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
        """Without the first ``count`` rows, which are not made."""
        if count < 0:
            raise ValueError(f"count should not be negative, but got {count}")
        return _Skipped(self, count)

    def filter(
        self, predicate: Callable[..., Any], input_columns: Any = None,
        num_parallel_workers: int | None = None,
    ) -> Dataset:  # fmt: skip
        """The rows of which ``predicate(columns...)`` is true."""
        checked_workers(num_parallel_workers)
        names = self.columns if input_columns is None else listed(input_columns)
        return _Filtered(self, predicate, names, num_parallel_workers)

    def flat_map(self, func: Callable[..., Dataset]) -> Dataset:
        """The rows of the data sets ``func(columns...)`` of each row, one after another.

        Raises:
            TypeError: ``func`` is no function, or does not return a data set.
        """
        return _FlatMapped(self, func)

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
        self.check_columns(list(renamed))
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
    ) -> DatasetIterator:  # fmt: skip
        """An iterator over one epoch's rows as lists; iterating again begins the next epoch.

        Args:
            columns: which, in this order; all without it.
            num_epochs: how many times it may be iterated; -1 for as often as one likes.
            output_numpy: arrays and not tensors.
            do_copy: tensors with memory of their own, also where they could use that of a batch.
        """
        return DatasetIterator(self, columns, num_epochs, output_numpy, False, do_copy)

    def create_dict_iterator(
        self, num_epochs: int = -1, output_numpy: bool = False, do_copy: bool = False
    ) -> DatasetIterator:
        """:meth:`create_tuple_iterator` with {column: value} for each row."""
        return DatasetIterator(self, None, num_epochs, output_numpy, True, do_copy)

    def __iter__(self) -> Iterator[Any]:
        return iter(self.create_tuple_iterator())

    def save(self, file_name: str, num_files: int = 1, file_type: str = "mindrecord") -> None:
        """Write the rows of one epoch into MindRecord or TFRecord files.

        Args:
            file_name: of the file; with several files a number is put behind each.
            num_files: rows go to these in turn.
            file_type: "mindrecord" or "tfrecord".

        Raises:
            ValueError: another type, or not 1 to 1000 files.
            RuntimeError: a file is there already.
        """
        save_rows(self, file_name, num_files, file_type, FileWriter)


class StreamedDataset(Streamed, Dataset):
    """A source whose rows are known one after the other: subclasses define ``tasks``."""


def zip(datasets: Sequence[Dataset]) -> Dataset:  # noqa: A001
    """Rows of data sets beside each other; ends with the shortest.

    Args:
        datasets: a tuple of data sets.
    """
    if not isinstance(datasets, tuple):
        raise TypeError("datasets should be a tuple of data sets")
    return _Zipped(datasets)


# --- the operations, which are data sets too -----------------------------------------------------


class _Mapped(_operations.Mapped, Dataset):
    """See :meth:`Dataset.map`."""


class _CachedStream(CachedStream, Dataset):
    """Rows of a map with ``cache=`` that have no numbers."""


class _Batched(_batches.Batched, Dataset):
    """See :meth:`Dataset.batch`."""


class _Bucketed(_batches.Bucketed, Dataset):
    """See :meth:`Dataset.bucket_batch_by_length`."""


class _Shuffled(_operations.Shuffled, Dataset):
    """See :meth:`Dataset.shuffle`."""


class _Repeated(_operations.Repeated, Dataset):
    """See :meth:`Dataset.repeat`."""


class _Taken(_operations.Taken, Dataset):
    """See :meth:`Dataset.take`."""


class _Skipped(_operations.Skipped, Dataset):
    """See :meth:`Dataset.skip`."""


class _Filtered(_operations.Filtered, Dataset):
    """See :meth:`Dataset.filter`."""


class _FlatMapped(_operations.FlatMapped, Dataset):
    """See :meth:`Dataset.flat_map`."""


class _Zipped(_operations.Zipped, Dataset):
    """See :func:`zip`."""


class _Chained(_operations.Chained, Dataset):
    """See :meth:`Dataset.concat`."""


class _Projected(_operations.Projected, Dataset):
    """See :meth:`Dataset.project`."""


class _Renamed(_operations.Renamed, Dataset):
    """See :meth:`Dataset.rename`."""


class _Chosen(_operations.Chosen, Dataset):
    """See :meth:`Dataset.split`."""
