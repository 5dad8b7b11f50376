"""Pipes that call a function with each sample."""

from __future__ import annotations

from typing import Any

from mindtorch.torch._api.public_names import own_names as _own_names

from ...collate import default_collate
from .._decorator import functional_datapipe
from ..datapipe import IterDataPipe
from ..utils.common import check_function, validate_input_col

__all__ = ["CollatorIterDataPipe", "MapperIterDataPipe"]


def called_with(fn: Any, data: Any, columns: Any) -> Any:
    """``fn`` of a sample, or of one or several of its columns."""
    if columns is None:
        return fn(data)
    if isinstance(columns, (list, tuple)):
        return fn(*(data[column] for column in columns))
    return fn(data[columns])


@functional_datapipe("map")
class MapperIterDataPipe(IterDataPipe[Any]):
    """A function of each sample.

    Args:
        datapipe: the samples.
        fn: the function.
        input_col: the columns that it takes instead: an index or key, or several.
        output_col: where its result goes, -1 for a new column; else to the first of ``input_col``,
            and the others are left out.
    """

    def __init__(
        self, datapipe: Any, fn: Any, input_col: Any = None, output_col: Any = None
    ) -> None:
        super().__init__()
        self.datapipe = datapipe
        check_function(fn)
        self.fn = fn
        self.input_col = input_col
        if input_col is None and output_col is not None:
            raise ValueError("`output_col` must be None when `input_col` is None.")
        if isinstance(output_col, (list, tuple)):
            if len(output_col) > 1:
                raise ValueError("`output_col` must be a single-element list or tuple")
            (output_col,) = output_col
        self.output_col = output_col
        validate_input_col(fn, input_col)

    def _changed(self, sample: Any) -> Any:
        result = called_with(self.fn, sample, self.input_col)
        if self.input_col is None:
            return result
        columns = list(sample) if isinstance(sample, tuple) else sample
        place = self.output_col
        if place == -1:
            columns.append(result)
        elif place is not None:
            columns[place] = result
        elif isinstance(self.input_col, (list, tuple)):
            columns[self.input_col[0]] = result
            for column in sorted(self.input_col[1:], reverse=True):
                del columns[column]
        else:
            columns[self.input_col] = result
        return tuple(columns) if isinstance(sample, tuple) else columns

    def __iter__(self) -> Any:
        for sample in self.datapipe:
            yield self._changed(sample)

    def __len__(self) -> int:
        return self._length_of(self.datapipe)


@functional_datapipe("collate")
class CollatorIterDataPipe(MapperIterDataPipe):
    """Each sample, a batch, as tensors.

    Args:
        datapipe: the batches.
        conversion: a function of a batch; functions of columns of data frames raise.
        collate_fn: a function of a batch that is taken instead.
    """

    def __init__(
        self, datapipe: Any, conversion: Any = default_collate, collate_fn: Any = None
    ) -> None:
        if collate_fn is None and not callable(conversion):
            raise NotImplementedError(
                "collate(conversion=...) with functions of columns is not available in mindtorch: "
                "data frames of torcharrow are not there"
            )
        super().__init__(datapipe, conversion if collate_fn is None else collate_fn)


_own_names(globals())
