"""Iterators over a pipeline's rows."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from ..common.tensor import Tensor
from ._rows import Row, array_of, listed, zip_lists
from ._running import Run

__all__ = ["DatasetIterator"]


class DatasetIterator:
    """See :meth:`Dataset.create_tuple_iterator`. Its workers end with it."""

    def __init__(
        self, dataset: Any, columns: Any, num_epochs: int, numpy: bool, as_dict: bool, copy: bool
    ) -> None:
        self.dataset, self.left, self.numpy, self.as_dict = dataset, num_epochs, numpy, as_dict
        names = dataset.columns if columns is None else listed(columns)
        self.names, self.places = names, dataset.check_columns(names)
        self.copy = copy or not dataset.fresh
        self.run = Run(dataset)
        self._running: Iterator[Any] | None = None

    def __iter__(self) -> Iterator[Any]:
        if self.left == 0:
            raise RuntimeError("the iterator has made the number of epochs it was created for")
        self.left -= 1 if self.left > 0 else 0
        epoch = self.dataset._epoch
        self.dataset._epoch += 1
        self._running = self._rows(epoch, last=self.left == 0)
        return self._running

    def __next__(self) -> Any:
        return next(self._running if self._running is not None else iter(self))

    def _rows(self, epoch: int, last: bool) -> Iterator[Any]:
        for row in self.run.rows(self.dataset, epoch):
            yield self._shown(row)
        self.run.save_settings()
        if last:
            self.run.close()

    def _shown(self, row: Row) -> Any:
        values = [array_of(row[i]) for i in self.places]
        if not self.numpy:
            values = [v if v.dtype.kind in "US" else self._tensor(v) for v in values]
        return dict(zip_lists(self.names, values)) if self.as_dict else values

    def _tensor(self, value: Any) -> Any:
        shared = not self.copy and isinstance(value, np.ndarray) and value.flags.writeable
        return Tensor.from_numpy(value) if shared else Tensor(value)
