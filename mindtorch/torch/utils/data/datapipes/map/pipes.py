"""Steps of pipes that are indexed."""

from __future__ import annotations

import copy
import warnings
from typing import Any

from mindtorch.torch._api.public_names import own_names as _own_names

from .._decorator import functional_datapipe
from ..datapipe import DataChunk, IterDataPipe, MapDataPipe
from ..iter.combinatorics import Shuffles
from ..iter.combining import all_pipes
from ..iter.grouping import check_batch_size
from ..utils.common import check_function

__all__ = [
    "BatcherMapDataPipe", "ConcaterMapDataPipe", "MapperMapDataPipe",
    "SequenceWrapperMapDataPipe", "ShufflerIterDataPipe", "ZipperMapDataPipe", "default_fn",
]  # fmt: skip


def default_fn(data: Any) -> Any:
    """``data`` as it is."""
    return data


def _check_several(pipes: Any) -> None:
    if not pipes:
        raise ValueError("Expected at least one DataPipe, but got nothing")
    all_pipes(pipes, MapDataPipe, "Expected all inputs to be `MapDataPipe`")
    if not all(hasattr(type(pipe), "__len__") for pipe in pipes):
        raise TypeError("Expected all inputs to be `Sized`")


class SequenceWrapperMapDataPipe(MapDataPipe[Any]):
    """The elements of a sequence or a mapping.

    Args:
        sequence: the elements.
        deepcopy: copy it, so that nobody changes it.
    """

    def __init__(self, sequence: Any, deepcopy: bool = True) -> None:
        self.sequence = sequence
        if deepcopy:
            try:
                self.sequence = copy.deepcopy(sequence)
            except TypeError:
                warnings.warn(
                    "The input sequence can not be deepcopied, please be aware of in-place "
                    "modification would affect source data",
                    stacklevel=2,
                )

    def __getitem__(self, index: Any) -> Any:
        return self.sequence[index]

    def __len__(self) -> int:
        return len(self.sequence)


@functional_datapipe("map")
class MapperMapDataPipe(MapDataPipe[Any]):
    """A function of each sample.

    Args:
        datapipe: the samples.
        fn: the function.
    """

    def __init__(self, datapipe: Any, fn: Any = default_fn) -> None:
        super().__init__()
        self.datapipe = datapipe
        check_function(fn)
        self.fn = fn

    def __getitem__(self, index: Any) -> Any:
        return self.fn(self.datapipe[index])

    def __len__(self) -> int:
        return len(self.datapipe)


@functional_datapipe("concat")
class ConcaterMapDataPipe(MapDataPipe[Any]):
    """One pipe after the other; keys are from 0 on.

    Args:
        datapipes: the pipes.
    """

    def __init__(self, *datapipes: Any) -> None:
        _check_several(datapipes)
        self.datapipes = datapipes

    def __getitem__(self, index: Any) -> Any:
        place = index
        for pipe in self.datapipes:
            if place < len(pipe):
                return pipe[place]
            place -= len(pipe)
        raise IndexError(f"Index {index} is out of range.")

    def __len__(self) -> int:
        return sum(map(len, self.datapipes))


@functional_datapipe("zip")
class ZipperMapDataPipe(MapDataPipe[Any]):
    """Tuples of a sample of each pipe.

    Args:
        datapipes: the pipes.
    """

    def __init__(self, *datapipes: Any) -> None:
        _check_several(datapipes)
        self.datapipes = datapipes

    def __getitem__(self, index: Any) -> Any:
        found = []
        for pipe in self.datapipes:
            try:
                found.append(pipe[index])
            except IndexError as error:
                raise IndexError(
                    f"Index {index} is out of range for one of the input MapDataPipes {pipe}."
                ) from error
        return tuple(found)

    def __len__(self) -> int:
        return min(map(len, self.datapipes))


@functional_datapipe("batch")
class BatcherMapDataPipe(MapDataPipe[Any]):
    """Several samples at a time.

    Args:
        datapipe: the samples, by numbers from 0 on.
        batch_size: how many.
        drop_last: leave out a last batch that is smaller.
        wrapper_class: what is made of a list of samples.
    """

    def __init__(
        self,
        datapipe: Any,
        batch_size: int,
        drop_last: bool = False,
        wrapper_class: Any = DataChunk,
    ) -> None:
        check_batch_size(batch_size)
        super().__init__()
        self.datapipe = datapipe
        self.batch_size = batch_size
        self.drop_last = drop_last
        self.wrapper_class = wrapper_class

    def __getitem__(self, index: Any) -> Any:
        batch: list[Any] = []
        try:
            for place in range(index * self.batch_size, (index + 1) * self.batch_size):
                batch.append(self.datapipe[place])
        except IndexError as error:
            if self.drop_last or not batch:
                raise IndexError(f"Index {index} is out of bound.") from error
        return self.wrapper_class(batch)

    def __len__(self) -> int:
        count = self._length_of(self.datapipe)
        return count // self.batch_size if self.drop_last else -(-count // self.batch_size)


class ShufflerIterDataPipe(Shuffles, IterDataPipe[Any]):
    """The samples of an indexed pipe in random order, as a stream.

    Args:
        datapipe: the samples.
        indices: their keys; numbers from 0 on without.
    """

    def __init__(self, datapipe: Any, *, indices: list[Any] | None = None) -> None:
        super().__init__()
        self.datapipe = datapipe
        self.indices = list(range(len(datapipe))) if indices is None else indices
        self._begin_shuffling()
        self._order = self.indices

    def __iter__(self) -> Any:
        if not self._enabled:
            for key in self.indices:
                yield self.datapipe[key]
            return
        while self._order:
            yield self.datapipe[self._order.pop()]

    def reset(self) -> None:
        """Begin another order."""
        if self._enabled:
            self._take_seed()
        self._order = self._rng.sample(self.indices, len(self.indices))

    def __len__(self) -> int:
        return len(self.datapipe)


MapDataPipe.register_datapipe_as_function("shuffle", ShufflerIterDataPipe)
_own_names(globals())
