"""A pipe that leaves samples out."""

from __future__ import annotations

from typing import Any

from mindtorch.torch._api.public_names import own_names as _own_names

from .._decorator import functional_datapipe
from ..datapipe import IterDataPipe
from ..utils.common import StreamWrapper, check_function, validate_input_col
from .callable import called_with

__all__ = ["FilterIterDataPipe"]


@functional_datapipe("filter")
class FilterIterDataPipe(IterDataPipe[Any]):
    """The samples for which a function is True; streams in the others are closed.

    Args:
        datapipe: the samples.
        filter_fn: the function.
        input_col: the columns that it takes instead.

    Raises:
        ValueError: the function's result is no bool.
    """

    def __init__(self, datapipe: Any, filter_fn: Any, input_col: Any = None) -> None:
        super().__init__()
        self.datapipe = datapipe
        check_function(filter_fn)
        self.filter_fn = filter_fn
        self.input_col = input_col
        validate_input_col(filter_fn, input_col)

    def __iter__(self) -> Any:
        for sample in self.datapipe:
            wanted = called_with(self.filter_fn, sample, self.input_col)
            if not isinstance(wanted, bool):
                raise ValueError("Boolean output is required for `filter_fn` of FilterIterDataPipe,"
                                 " got", type(wanted))
            if wanted:
                yield sample
            else:
                StreamWrapper.close_streams(sample)


_own_names(globals())
