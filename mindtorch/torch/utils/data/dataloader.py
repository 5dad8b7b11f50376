"""The DataLoader: batches in order, loaded here or by worker processes."""

from __future__ import annotations

import itertools
import multiprocessing
import multiprocessing.context
import os
import warnings
import weakref
from collections.abc import Callable, Iterator, Mapping
from typing import TYPE_CHECKING, Any, Generic, Protocol, TypeVar

from mindtorch.engine.devices.cuda import device_count
from mindtorch.engine.tensor import Tensor
from mindtorch.kernels.cpu.threads.thread_pool import available_cores

from ._team import Team
from ._worker import Ended, ExceptionWrapper, Resume, StreamFetcher, fetch
from ._worker_info import get_worker_info as get_worker_info
from .collate import default_collate, default_convert
from .datapipes.datapipe import IterDataPipe
from .dataset import Dataset, IterableDataset
from .graph_settings import Reading, apply_shuffle_settings
from .sampler import BatchSampler, RandomSampler, SequentialSampler, draw_seed

__all__ = ["DataLoader", "default_collate", "default_convert", "get_worker_info"]

T_co = TypeVar("T_co", covariant=True)
_T = TypeVar("_T")
# the types of arguments, by the names that packages import them under
_worker_init_fn_t = Callable[[int], None]
_collate_fn_t = Callable[[list[_T]], Any]


class _InfiniteSampler:
    """Nothing to choose from a stream."""

    def __iter__(self) -> Iterator[None]:
        while True:
            yield None


class _DatasetKind:
    """How samples are found: by their number, or one after the other. Libraries compare these."""

    Map = 0
    Iterable = 1


def _check_batching(
    batch_size: int | None, shuffle: bool, sampler: Any, batch_sampler: Any, drop_last: bool
) -> None:
    """torch's errors for options that exclude each other, in its order."""
    if sampler is not None and shuffle:
        raise ValueError("sampler option is mutually exclusive with shuffle")
    if batch_sampler is not None:
        if batch_size != 1 or shuffle or sampler is not None or drop_last:
            raise ValueError(
                "batch_sampler option is mutually exclusive with batch_size, shuffle, "
                "sampler, and drop_last"
            )
    elif batch_size is None and drop_last:
        raise ValueError(
            "batch_size=None option disables auto-batching and is mutually exclusive with "
            "drop_last"
        )


def _usual_sampler(dataset: Any, kind: int, shuffle: bool, generator: Any) -> Any:
    if kind == _DatasetKind.Iterable:
        return _InfiniteSampler()
    return RandomSampler(dataset, generator=generator) if shuffle else SequentialSampler(dataset)


if TYPE_CHECKING:

    class _Indexed(Protocol[T_co]):
        def __getitem__(self, index: Any, /) -> T_co: ...


class DataLoader(Generic[T_co]):
    """Iterates over a data set in batches.

    Args:
        dataset: with ``__getitem__`` and ``__len__``, or an IterableDataset.
        batch_size: samples in a batch; None for single samples.
        shuffle: draw the samples in random order.
        sampler, batch_sampler: give the order, or the batches, instead.
        num_workers: processes that load; 0 loads in this one.
        collate_fn: makes a batch of a list of samples.
        pin_memory: pinned memory needs an accelerator; without one a warning says so.
        drop_last: leave out a last batch that is smaller.
        timeout: seconds to wait for a batch of a worker; 0 waits without limit.
        worker_init_fn: called with the worker's number in each worker.
        generator: where the order and the workers' seeds are drawn from.
        prefetch_factor: batches each worker prepares ahead (2).
        persistent_workers: keep the workers from one epoch to the next.
        in_order: give batches in the sampler's order; False gives them as they come.
        multiprocessing_context: None, or how workers are started: a name or a context.
        pin_memory_device: of no effect.
    """

    _initialized = False

    def __init__(
        self,
        dataset: Dataset[T_co] | _Indexed[T_co],
        batch_size: int | None = 1,
        shuffle: bool | None = None,
        sampler: Any = None,
        batch_sampler: Any = None,
        num_workers: int = 0,
        collate_fn: Any = None,
        pin_memory: bool = False,
        drop_last: bool = False,
        timeout: float = 0,
        worker_init_fn: Any = None,
        multiprocessing_context: Any = None,
        generator: Any = None,
        *,
        prefetch_factor: int | None = None,
        persistent_workers: bool = False,
        pin_memory_device: str = "",
        in_order: bool = True,
    ) -> None:
        _check_workers(num_workers, timeout, prefetch_factor, persistent_workers)
        if num_workers > 0 and prefetch_factor is None:
            prefetch_factor = 2
        self.dataset: Any = dataset
        self.num_workers = num_workers
        self.prefetch_factor = prefetch_factor
        self.pin_memory = pin_memory
        self.pin_memory_device = pin_memory_device
        self.timeout = timeout
        self.worker_init_fn = worker_init_fn
        self.multiprocessing_context = _check_context(multiprocessing_context, num_workers)
        self.in_order = in_order
        kind = _DatasetKind.Iterable if isinstance(dataset, IterableDataset) else _DatasetKind.Map
        self._dataset_kind = kind
        if kind == _DatasetKind.Iterable:
            _check_stream(dataset, shuffle, sampler, batch_sampler)
        shuffle = bool(shuffle)
        _check_batching(batch_size, shuffle, sampler, batch_sampler, drop_last)
        if batch_sampler is not None:
            batch_size, drop_last = None, False
        if sampler is None:
            sampler = _usual_sampler(dataset, kind, shuffle, generator)
        if batch_size is not None and batch_sampler is None:
            batch_sampler = BatchSampler(sampler, batch_size, drop_last)
        self.batch_size = batch_size
        self.drop_last = drop_last
        self.sampler = sampler
        self.batch_sampler = batch_sampler
        self.generator = generator
        self.collate_fn = collate_fn or (
            default_collate if self._auto_collation else default_convert
        )
        self.persistent_workers = persistent_workers
        self._initialized = True
        self._IterableDataset_len_called: int | None = None
        self._iterator: Any = None
        _warn_of_many_workers(num_workers)

    def __setattr__(self, name: str, value: Any) -> None:
        fixed = ("batch_size", "batch_sampler", "sampler", "drop_last", "dataset",
                 "persistent_workers")  # fmt: skip
        if self._initialized and name in fixed:
            raise ValueError(
                f"{name} attribute should not be set after {type(self).__name__} is initialized"
            )
        if self._initialized and name == "multiprocessing_context":
            value = _check_context(value, self.num_workers)
        super().__setattr__(name, value)

    @property
    def _auto_collation(self) -> bool:
        return self.batch_sampler is not None

    @property
    def _index_sampler(self) -> Any:
        return self.batch_sampler if self._auto_collation else self.sampler

    def __iter__(self) -> Any:
        if self.num_workers == 0:
            return _SingleProcessDataLoaderIter(self)
        if self.persistent_workers:
            if self._iterator is None:
                self._iterator = _MultiProcessingDataLoaderIter(self)
            else:
                self._iterator.restart()
            return self._iterator
        return _MultiProcessingDataLoaderIter(self)

    def __len__(self) -> int:
        if self._dataset_kind == _DatasetKind.Iterable:
            count = self._IterableDataset_len_called = len(self.dataset)
            if self.batch_size is None:
                return count
            return count // self.batch_size if self.drop_last else -(-count // self.batch_size)
        return len(self._index_sampler)


def _check_workers(
    num_workers: int, timeout: float, prefetch_factor: int | None, persistent_workers: bool
) -> None:
    if num_workers < 0:
        raise ValueError(
            "num_workers option should be non-negative; use num_workers=0 to disable "
            "multiprocessing."
        )
    if timeout < 0:
        raise ValueError("timeout option should be non-negative")
    if num_workers == 0 and prefetch_factor is not None:
        raise ValueError(
            "prefetch_factor option could only be specified in multiprocessing.let num_workers > 0 "
            "to enable multiprocessing, otherwise set prefetch_factor to None."
        )
    if prefetch_factor is not None and prefetch_factor < 0:
        raise ValueError("prefetch_factor option should be non-negative")
    if persistent_workers and num_workers == 0:
        raise ValueError("persistent_workers option needs num_workers > 0")


def _check_context(given: Any, num_workers: int) -> Any:
    """The multiprocessing context by its name, or as given."""
    if given is None:
        return None
    if num_workers == 0:
        raise ValueError(
            "multiprocessing_context can only be used with multi-process loading "
            f"(num_workers > 0), but got num_workers={num_workers}"
        )
    if isinstance(given, str):
        known = multiprocessing.get_all_start_methods()
        if given not in known:
            raise ValueError(
                "multiprocessing_context option should specify a valid start method in "
                f"{known!r}, but got multiprocessing_context={given!r}"
            )
        return multiprocessing.get_context(given)
    if not isinstance(given, multiprocessing.context.BaseContext):
        raise TypeError(
            "multiprocessing_context option should be a valid context object or a string "
            f"specifying the start method, but got multiprocessing_context={given}"
        )
    return given


def _warn_of_many_workers(num_workers: int) -> None:
    cores = available_cores()
    if num_workers > cores:
        known = hasattr(os, "sched_getaffinity")
        checked = "" if known else " (`cpuset` is not taken into account)"
        warnings.warn(
            f"This DataLoader will create {num_workers} worker processes in total. Our suggested "
            f"max number of worker in current system is {cores}{checked}, which is smaller than "
            "what this DataLoader is going to create. Please be aware that excessive worker "
            "creation might get DataLoader running slow or even freeze, lower the worker number "
            "to avoid potential slowness/freeze if necessary.",
            stacklevel=3,
        )


def _check_stream(dataset: Any, shuffle: Any, sampler: Any, batch_sampler: Any) -> None:
    """torch's errors for options that a stream has no use for; a pipe takes ``shuffle``."""
    if isinstance(dataset, IterDataPipe):
        apply_shuffle_settings(dataset, shuffle)  # one that it adds is not read, as in PyTorch
        shuffle = None
    for name, value in (("shuffle", shuffle or None), ("sampler", sampler),
                        ("batch_sampler", batch_sampler)):  # fmt: skip
        if value is not None:
            raise ValueError(
                f"DataLoader with IterableDataset: expected unspecified {name} option, but got "
                f"{name}={value}"
            )


def pinned_copy(data: Any) -> Any:
    """A batch with its tensors in memory that a device copies by itself."""
    if isinstance(data, Tensor):
        return data.pin_memory()
    if isinstance(data, Mapping):
        made: Any = type(data)
        return made({key: pinned_copy(value) for key, value in data.items()})
    if isinstance(data, tuple) and hasattr(data, "_fields"):
        return type(data)(*map(pinned_copy, data))
    if isinstance(data, (list, tuple)):
        return type(data)(map(pinned_copy, data))
    return data.pin_memory() if hasattr(data, "pin_memory") else data


def _is_stream(loader: Any) -> bool:
    """Whether the samples come one after the other."""
    return bool(loader._dataset_kind == _DatasetKind.Iterable)


class _BaseDataLoaderIter:
    """What iterators with and without workers share."""

    def __init__(self, loader: DataLoader[Any]) -> None:
        self._loader = loader
        self._yielded = 0
        self._pins = loader.pin_memory and device_count() > 0
        if loader.pin_memory:
            if loader.pin_memory_device:
                warnings.warn(
                    "pin_memory_device is deprecated, the current accelerator will be used as the "
                    f"device,ignore pin_memory_device='{loader.pin_memory_device}'.",
                    stacklevel=4,
                )
            if not self._pins:
                warnings.warn(
                    "'pin_memory' argument is set as true but no accelerator is found, then device "
                    "pinned memory won't be used.",
                    stacklevel=4,
                )
        self._reading = Reading(loader.dataset, loader.generator)
        self._indices = iter(loader._index_sampler)
        self._base_seed = draw_seed(loader.generator)

    def __iter__(self) -> Any:
        return self

    def __len__(self) -> int:
        return len(self._loader._index_sampler)

    def __getstate__(self) -> Any:
        raise NotImplementedError("{} cannot be pickled", type(self).__name__)

    def _next_data(self) -> Any:
        raise NotImplementedError

    def __next__(self) -> Any:
        data = self._next_data()
        self._yielded += 1
        loader = self._loader
        told = loader._IterableDataset_len_called
        if _is_stream(loader) and told is not None and self._yielded > told:
            warnings.warn(self._too_many(loader), stacklevel=2)
        return pinned_copy(data) if self._pins else data

    def _too_many(self, loader: DataLoader[Any]) -> str:
        text = (
            f"Length of IterableDataset {loader.dataset} was reported to be "
            f"{loader._IterableDataset_len_called}"
            f"(when accessing len(dataloader)), but {self._yielded} samples have been fetched. "
        )
        if loader.num_workers == 0:
            return text
        return text + (
            "For multiprocessing data-loading, this could be caused by not properly configuring "
            "the IterableDataset replica at each worker. Please see "
            "https://pytorch.org/docs/stable/data.html#torch.utils.data.IterableDataset for "
            "examples."
        )


class _SingleProcessDataLoaderIter(_BaseDataLoaderIter):
    """Loads each batch when it is asked for."""

    def __init__(self, loader: DataLoader[Any]) -> None:
        super().__init__(loader)
        if loader.timeout != 0:
            raise AssertionError("_SingleProcessDataLoaderIter requires timeout == 0")
        self._reading.begin()
        self._stream = (
            StreamFetcher(
                loader.dataset, loader._auto_collation, loader.collate_fn, loader.drop_last
            )
            if _is_stream(loader)
            else None
        )

    def _next_data(self) -> Any:
        indices = next(self._indices)
        if self._stream is not None:
            return self._stream.fetch(indices)
        loader = self._loader
        return fetch(loader.dataset, indices, loader._auto_collation, loader.collate_fn)


class _MultiProcessingDataLoaderIter(_BaseDataLoaderIter):
    """Batches from worker processes, given out in the order of the sampler."""

    def __init__(self, loader: DataLoader[Any]) -> None:
        super().__init__(loader)
        facts = {
            "dataset": loader.dataset,
            "auto_collation": loader._auto_collation,
            "collate_fn": loader.collate_fn,
            "drop_last": loader.drop_last,
            "iterable": _is_stream(loader),
            "base_seed": self._base_seed,
            "reading": self._reading,
            "num_workers": loader.num_workers,
            "worker_init_fn": loader.worker_init_fn,
        }
        self._team = Team(loader.multiprocessing_context, loader.num_workers, facts)
        weakref.finalize(self, self._team.close)
        # as PyTorch does, a seed is drawn once more for an epoch that has one
        self._reading = Reading(loader.dataset, loader.generator)
        self._begin()

    def _begin(self) -> None:
        loader = self._loader
        self._indices = iter(loader._index_sampler)
        self._sent = 0
        self._yielded = 0
        self._held: dict[int, Any] = {}
        self._owner: dict[int, int] = {}
        self._open = [True] * loader.num_workers
        self._next_worker = itertools.cycle(range(loader.num_workers))
        for _ in range((loader.prefetch_factor or 1) * loader.num_workers):
            self._request()

    def restart(self) -> None:
        """Begin another epoch with the same workers."""
        self._reading = Reading(self._loader.dataset, self._loader.generator)
        for requests in self._team.requests:
            requests.put(Resume(self._reading.seed))
        waiting = len(self._team.workers)
        while waiting:
            index, _ = self._receive()
            waiting -= isinstance(index, Resume)
        self._begin()

    def _request(self) -> None:
        try:
            indices = next(self._indices)
        except StopIteration:
            return
        for _ in self._team.workers:
            worker = next(self._next_worker)
            if self._open[worker]:
                break
        else:
            return
        self._team.requests[worker].put((self._sent, indices))
        self._owner[self._sent] = worker
        self._sent += 1

    def _next_data(self) -> Any:
        while True:
            if not self._owner:
                if not self._loader.persistent_workers:
                    self._team.close()
                raise StopIteration
            index = self._next_index()
            answer = self._held.pop(index)
            del self._owner[index]
            if isinstance(answer, Ended):
                self._open[answer.worker] = False
            self._request()
            if isinstance(answer, Ended):
                continue
            if isinstance(answer, ExceptionWrapper):
                answer.reraise()
            return answer

    def _next_index(self) -> int:
        """The number of the next batch to give out, once it is here."""
        first = next(iter(self._owner))
        in_order = self._loader.in_order
        while first not in self._held if in_order else not self._held:
            index, answer = self._receive()
            self._held[index] = answer
        return first if in_order else next(iter(self._held))

    def _receive(self) -> Any:
        return self._team.receive(self._open, self._loader.timeout)
