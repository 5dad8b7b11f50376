"""Pipes of batches, of groups, and of the samples in them."""

from __future__ import annotations

from collections import defaultdict
from typing import Any

from mindtorch.torch._api.public_names import own_names as _own_names

from .._decorator import functional_datapipe
from ..datapipe import DataChunk, IterDataPipe
from ..utils.common import check_function

__all__ = ["BatcherIterDataPipe", "GrouperIterDataPipe", "UnBatcherIterDataPipe"]


def check_batch_size(batch_size: int) -> None:
    """Raise AssertionError where batches would be empty."""
    if batch_size <= 0:
        raise AssertionError("Batch size is required to be larger than 0!")


@functional_datapipe("batch")
class BatcherIterDataPipe(IterDataPipe[Any]):
    """Several samples at a time.

    Args:
        datapipe: the samples.
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

    def __iter__(self) -> Any:
        batch: list[Any] = []
        for sample in self.datapipe:
            batch.append(sample)
            if len(batch) == self.batch_size:
                yield self.wrapper_class(batch)
                batch = []
        if batch and not self.drop_last:
            yield self.wrapper_class(batch)

    def __len__(self) -> int:
        count = self._length_of(self.datapipe)
        return count // self.batch_size if self.drop_last else -(-count // self.batch_size)


@functional_datapipe("unbatch")
class UnBatcherIterDataPipe(IterDataPipe[Any]):
    """The samples in batches.

    Args:
        datapipe: the batches.
        unbatch_level: how many levels of lists are taken away; -1 for all.
    """

    def __init__(self, datapipe: Any, unbatch_level: int = 1) -> None:
        self.datapipe = datapipe
        self.unbatch_level = unbatch_level

    def __iter__(self) -> Any:
        for element in self.datapipe:
            yield from self._samples(element, self.unbatch_level)

    def _samples(self, element: Any, level: int) -> Any:
        if level < -1:
            raise ValueError("unbatch_level must be -1 or >= 0")
        if level == 0 or (level == -1 and not isinstance(element, list)):
            yield element
        elif isinstance(element, list):
            for each in element:
                yield from self._samples(each, max(level - 1, -1))
        else:
            raise IndexError(
                f"unbatch_level {self.unbatch_level} exceeds the depth of the DataPipe"
            )


@functional_datapipe("groupby")
class GrouperIterDataPipe(IterDataPipe[Any]):
    """Samples of one key at a time.

    Args:
        datapipe: the samples.
        group_key_fn: the key of a sample.
        keep_key: give ``(key, group)``, not groups alone.
        buffer_size: how many samples are held; then the largest group is given.
        group_size: how many make a group that is given at once.
        guaranteed_group_size: the size below which a group is not given because of the buffer.
        drop_remaining: leave such a group out, instead of raising RuntimeError.
    """

    def __init__(
        self,
        datapipe: Any,
        group_key_fn: Any,
        *,
        keep_key: bool = False,
        buffer_size: int = 10000,
        group_size: int | None = None,
        guaranteed_group_size: int | None = None,
        drop_remaining: bool = False,
    ) -> None:
        check_function(group_key_fn)
        self.datapipe = datapipe
        self.group_key_fn = group_key_fn
        self.keep_key = keep_key
        self.max_buffer_size = buffer_size
        self.group_size = group_size
        self.guaranteed_group_size = None
        if group_size is not None and buffer_size is not None:
            if not 0 < group_size <= buffer_size:
                raise AssertionError("group_size must be > 0 and <= buffer_size")
            self.guaranteed_group_size = group_size
        if guaranteed_group_size is not None:
            if group_size is None or not 0 < guaranteed_group_size <= group_size:
                raise AssertionError("guaranteed_group_size must be > 0 and <= group_size and "
                                     "group_size must be set")
            self.guaranteed_group_size = guaranteed_group_size
        self.drop_remaining = drop_remaining
        self.wrapper_class = DataChunk
        self.reset()

    def reset(self) -> None:
        """Hold nothing."""
        self.buffer_elements: defaultdict[Any, list[Any]] = defaultdict(list)
        self.curr_buffer_size = 0

    def _group(self, key: Any, samples: list[Any]) -> Any:
        group = self.wrapper_class(samples)
        return (key, group) if self.keep_key else group

    def _take(self, key: Any) -> list[Any]:
        samples = self.buffer_elements.pop(key)
        self.curr_buffer_size -= len(samples)
        return samples

    def _largest(self) -> list[Any] | None:
        """The largest group, taken out; None where it is left out."""
        held = self.buffer_elements
        key = max(held, key=lambda each: len(held[each]))
        enough = self.guaranteed_group_size is None or len(held[key]) >= self.guaranteed_group_size
        if not enough and not self.drop_remaining:
            raise RuntimeError("Failed to group items", str(held[key]))
        samples = self._take(key)
        return samples if enough else None

    def __iter__(self) -> Any:
        for sample in self.datapipe:
            key = self.group_key_fn(sample)
            self.buffer_elements[key].append(sample)
            self.curr_buffer_size += 1
            if self.group_size == len(self.buffer_elements[key]):
                yield self._group(key, self._take(key))
            if self.curr_buffer_size == self.max_buffer_size:
                samples = self._largest()
                if samples is not None:
                    yield self._group(key, samples)
        for key in tuple(self.buffer_elements):
            yield self._group(key, self._take(key))


_own_names(globals())
