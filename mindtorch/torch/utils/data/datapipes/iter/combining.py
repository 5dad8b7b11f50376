"""Pipes made of several, and several made of one."""

from __future__ import annotations

import copy as copying
import warnings
from collections import deque
from collections.abc import Callable, Iterator
from typing import Any

from mindtorch.torch._api.public_names import own_names as _own_names

from .._decorator import functional_datapipe
from .._hook_iterator import FEEDBACK, shown
from ..datapipe import IterDataPipe
from ..utils.common import StreamWrapper, check_function

__all__ = [
    "ConcaterIterDataPipe", "DemultiplexerIterDataPipe", "ForkerIterDataPipe",
    "MultiplexerIterDataPipe", "ZipperIterDataPipe",
]  # fmt: skip


def all_pipes(pipes: Any, kind: Any, text: str) -> None:
    """Raise TypeError with ``text`` where one of ``pipes`` is not of ``kind``."""
    if not all(isinstance(pipe, kind) for pipe in pipes):
        raise TypeError(text)


@functional_datapipe("concat")
class ConcaterIterDataPipe(IterDataPipe[Any]):
    """One pipe after the other.

    Args:
        datapipes: the pipes.
    """

    def __init__(self, *datapipes: Any) -> None:
        if not datapipes:
            raise ValueError("Expected at least one DataPipe, but got nothing")
        all_pipes(datapipes, IterDataPipe, "Expected all inputs to be `IterDataPipe`")
        self.datapipes = datapipes

    def __iter__(self) -> Any:
        for pipe in self.datapipes:
            yield from pipe

    def __len__(self) -> int:
        return sum(map(self._length_of, self.datapipes))


@functional_datapipe("mux")
class MultiplexerIterDataPipe(IterDataPipe[Any]):
    """A sample of each pipe in turn, until one of them ends.

    Args:
        datapipes: the pipes.
    """

    def __init__(self, *datapipes: Any) -> None:
        self.datapipes = datapipes

    def __iter__(self) -> Any:
        if self.datapipes:
            for samples in zip(*map(iter, self.datapipes), strict=False):
                yield from samples

    def __len__(self) -> int:
        return min(map(self._length_of, self.datapipes)) * len(self.datapipes)


@functional_datapipe("zip")
class ZipperIterDataPipe(IterDataPipe[Any]):
    """Tuples of a sample of each pipe, until one of them ends.

    Args:
        datapipes: the pipes.
    """

    def __init__(self, *datapipes: Any) -> None:
        all_pipes(datapipes, IterDataPipe,
                  "All inputs are required to be `IterDataPipe` for `ZipIterDataPipe`.")
        super().__init__()
        self.datapipes = datapipes

    def __iter__(self) -> Any:
        yield from zip(*map(iter, self.datapipes), strict=False)

    def __len__(self) -> int:
        return min(map(self._length_of, self.datapipes))


class _Shared(IterDataPipe[Any]):
    """A pipe that several others read, each from a queue of its own."""

    _name: str

    def __init__(self, datapipe: Any, num_instances: int, buffer_size: int) -> None:
        self.main_datapipe = datapipe
        self.num_instances = num_instances
        self.buffer_size = buffer_size
        if buffer_size < 0:
            warnings.warn(f"Unlimited buffer size is set for `{self._name}`, please be aware of "
                          "OOM at random places", UserWarning, stacklevel=4)
        self.reset()

    def reset(self) -> None:
        """Read from the beginning."""
        self._source: Iterator[Any] | None = None
        self._ended = False
        self._queues: list[deque[Any]] = [deque() for _ in range(self.num_instances)]
        self._stopped = [True] * self.num_instances

    def __getstate__(self) -> Any:
        running = ("_source", "_ended", "_queues", "_stopped")
        return self._hooked({k: v for k, v in self.__dict__.items() if k not in running})

    def __setstate__(self, state: Any) -> None:
        self.__dict__.update(state)
        self.reset()

    def _share(self, value: Any, reader: int) -> None:
        raise NotImplementedError

    def _given(self, value: Any) -> Any:
        return value

    def _check_size(self, held: int) -> None:
        if 0 <= self.buffer_size < held:
            raise BufferError(f"{type(self).__name__.removeprefix('_')} buffer overflow,"
                              f"{self._gap}buffer size {self.buffer_size} is insufficient.")

    _gap = ""

    def _read(self, reader: int) -> bool:
        """Read until a reader has a sample; False where there is none."""
        while not self._queues[reader]:
            if self._source is None:
                return False
            try:
                value = next(self._source)
            except StopIteration:
                self._ended, self._source = True, None
                return False
            self._share(value, reader)
        return True

    def get_next_element_by_instance(self, instance_id: int) -> Any:
        """Iterates over what one of the readers gets.

        Args:
            instance_id: its number.
        """
        if self._source is None and self._stopped[instance_id]:
            self._source, self._ended = iter(self.main_datapipe), False
            self._stopped[:] = [False] * self.num_instances
        queue, stopped = self._queues[instance_id], self._stopped
        try:
            while not stopped[instance_id] and self._read(instance_id):
                yield self._given(queue.popleft())
        finally:
            stopped[instance_id] = True
            if all(stopped) and stopped is self._stopped:
                self._source = None
            StreamWrapper.close_streams(list(queue))
            queue.clear()

    def is_every_instance_exhausted(self) -> bool:
        """Whether the pipe ended, and every reader has all of it."""
        return self._ended and all(self._stopped)


_COPIES: dict[Any, Callable[[Any], Any] | None] = {
    None: None, "shallow": copying.copy, "deep": copying.deepcopy,
}  # fmt: skip


class _ForkerIterDataPipe(_Shared):
    _name = "fork"
    def __init__(
        self, datapipe: Any, num_instances: int, buffer_size: int = 1000, copy: Any = None
    ) -> None:
        super().__init__(datapipe, num_instances, buffer_size)
        if copy not in _COPIES:
            raise ValueError(f"Unknown copy method `{copy}` requested, choose one of None, "
                             "`shallow` or `deep`.")
        self.copy_fn = _COPIES[copy]

    def _share(self, value: Any, reader: int) -> None:
        for queue in self._queues:
            queue.append(value)
        self._check_size(max(map(len, self._queues)))

    def _given(self, value: Any) -> Any:
        return value if self.copy_fn is None else self.copy_fn(value)

    def __len__(self) -> int:
        return len(self.main_datapipe)

    def get_length_by_instance(self, instance_id: int) -> int:
        """How many samples each reader gets, ``instance_id`` or another."""
        return len(self.main_datapipe)


class _DemultiplexerIterDataPipe(_Shared):
    _name = "demux"
    _gap = " "

    def __init__(
        self,
        datapipe: Any,
        num_instances: int,
        classifier_fn: Any,
        drop_none: bool,
        buffer_size: int,
    ) -> None:
        super().__init__(datapipe, num_instances, buffer_size)
        self.classifier_fn = classifier_fn
        self.drop_none = drop_none

    def _share(self, value: Any, reader: int) -> None:
        place = self.classifier_fn(value)
        if place is None and self.drop_none:
            StreamWrapper.close_streams(value)
            return
        if place is None or not 0 <= place < self.num_instances:
            raise ValueError("Output of the classification fn should be between 0 and "
                             f"{self.num_instances - 1}. {place} is returned.")
        self._queues[place].append(value)
        if place != reader:
            self._check_size(sum(map(len, self._queues)))

    def get_length_by_instance(self, instance_id: int) -> int:
        """Raises TypeError: nobody knows how many samples reader ``instance_id`` gets."""
        raise TypeError


class _ChildDataPipe(IterDataPipe[Any]):
    """One of the readers of a pipe; a second iterator of one ends those of all."""

    def __init__(self, main_datapipe: _Shared, instance_id: int) -> None:
        self.main_datapipe: Any = main_datapipe
        self.instance_id = instance_id

    def __iter__(self) -> Any:
        return self.main_datapipe.get_next_element_by_instance(self.instance_id)

    def __len__(self) -> int:
        return int(self.main_datapipe.get_length_by_instance(self.instance_id))

    def _begin_iterator(self) -> int:
        main = self.main_datapipe
        if main._valid_iterator_id is None:
            main._valid_iterator_id = 0
        elif main._valid_iterator_id == self._valid_iterator_id:
            main._valid_iterator_id += 1
            if not main.is_every_instance_exhausted():
                warnings.warn(
                    "Some child DataPipes are not exhausted when __iter__ is called. We are "
                    "resetting the buffer and each child DataPipe will read from the start again.",
                    UserWarning,
                    stacklevel=3,
                )
            main.reset()
        self._valid_iterator_id = number = int(main._valid_iterator_id)
        return number

    def _check_iterator(self, number: int) -> None:
        if not number == self._valid_iterator_id == self.main_datapipe._valid_iterator_id:
            raise RuntimeError(
                "This iterator has been invalidated, because a new iterator has been created from "
                f"one of the ChildDataPipes of {shown(self.main_datapipe)}.{FEEDBACK}"
            )


def _check_count(num_instances: int) -> None:
    if num_instances < 1:
        raise ValueError(
            f"Expected `num_instances` larger than 0, but {num_instances} is found"
        )


@functional_datapipe("fork")
class ForkerIterDataPipe(IterDataPipe[Any]):
    """Several pipes of the same samples, as a list.

    Args:
        datapipe: the samples.
        num_instances: how many pipes; for 1 it is ``datapipe``.
        buffer_size: how many samples one may be behind another; -1 for any number.
        copy: None, "shallow" or "deep": how samples are copied.
    """

    def __new__(
        cls, datapipe: Any, num_instances: int, buffer_size: int = 1000, copy: Any = None
    ) -> Any:
        _check_count(num_instances)
        if num_instances == 1:
            return datapipe
        shared = _ForkerIterDataPipe(datapipe, num_instances, buffer_size, copy)
        return [_ChildDataPipe(shared, i) for i in range(num_instances)]


@functional_datapipe("demux")
class DemultiplexerIterDataPipe(IterDataPipe[Any]):
    """Several pipes, each of those samples that a function gives it, as a list.

    Args:
        datapipe: the samples.
        num_instances: how many pipes.
        classifier_fn: the number of a sample's pipe, or None.
        drop_none: leave out samples of None, instead of raising ValueError.
        buffer_size: how many samples may wait; -1 for any number.
    """

    def __new__(
        cls,
        datapipe: Any,
        num_instances: int,
        classifier_fn: Any,
        drop_none: bool = False,
        buffer_size: int = 1000,
    ) -> Any:
        _check_count(num_instances)
        check_function(classifier_fn)
        shared = _DemultiplexerIterDataPipe(
            datapipe, num_instances, classifier_fn, drop_none, buffer_size
        )
        return [_ChildDataPipe(shared, i) for i in range(num_instances)]


_own_names(globals())
