"""A pipe of what can be iterated."""

from __future__ import annotations

import copy
import warnings
from typing import Any

from mindtorch.torch._api.public_names import own_names as _own_names

from ..datapipe import IterDataPipe

__all__ = ["IterableWrapperIterDataPipe"]


class IterableWrapperIterDataPipe(IterDataPipe[Any]):
    """The elements of an iterable.

    Args:
        iterable: the elements.
        deepcopy: copy it before each iteration, so that nobody changes it.
    """

    def __init__(self, iterable: Any, deepcopy: bool = True) -> None:
        self.iterable = iterable
        self.deepcopy = deepcopy

    def __iter__(self) -> Any:
        source = self.iterable
        if self.deepcopy:
            try:
                source = copy.deepcopy(source)
            except TypeError:
                warnings.warn(
                    "The input iterable can not be deepcopied, please be aware of in-place "
                    "modification would affect source data.",
                    stacklevel=2,
                )
        yield from source

    def __len__(self) -> int:
        return self._length_of(self.iterable)


_own_names(globals())
