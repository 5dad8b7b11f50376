"""`Cached`: a `torch.utils.data` data set whose rows are kept in a cache server."""

from __future__ import annotations

import functools
import operator
import os
import sys
import warnings
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

from .client import MISSING, RowCache
from .content import content_key, random_names
from .sequence import cached_sequence
from .session import DatasetCache

__all__ = ["Cached"]


class Cached:
    """A data set that makes each row once: later epochs, other processes and later runs read it
    from a cache server.

    Map-style and iterable data sets of PyTorch and of mindtorch can be wrapped; the result goes
    into a `DataLoader`, with workers or without. Of iterable ones each worker's rows are a sequence
    of their own, by the worker's number and their count and by ``RANK`` and ``WORLD_SIZE``.

    Rows are tuples, lists and dicts of arrays, tensors, numbers, texts, bytes and Pillow's images.
    Arrays come back as views of shared memory, read-only; tensors have memory of their own.

    Args:
        dataset: a data set; attributes that are not here are looked up in it.
        session: a session's number, as `mindtorch cache -g` prints it, or a :class:`DatasetCache`.
        transform: is applied to each row after the cache: what draws at random belongs here.
        key: a text that says what the rows are, in place of the content of ``dataset``.
        allow_random: accept transforms in ``dataset`` that draw at random; the first draw stays.

    Raises:
        TypeError: ``dataset`` is none, or its content cannot be seen and no ``key`` was given.
        ValueError: it has transforms that draw at random.
    """

    def __new__(
        cls, dataset: Any, session: Any, transform: Callable[[Any], Any] | None = None,
        key: str | None = None, allow_random: bool = False,
    ) -> Any:  # fmt: skip
        """An object of the class that goes with the data set's kind."""
        stream = _stream_class(type(dataset))
        if stream is not None:
            return object.__new__(_streams(stream, hasattr(type(dataset), "__len__")))
        if not hasattr(dataset, "__getitem__"):
            raise TypeError(
                f"{type(dataset).__name__} has no __getitem__ and is no IterableDataset"
            )
        return object.__new__(_Mapped)

    def __init__(
        self, dataset: Any, session: Any, transform: Callable[[Any], Any] | None = None,
        key: str | None = None, allow_random: bool = False,
    ) -> None:  # fmt: skip
        held = DatasetCache(session) if isinstance(session, int) else session
        if not isinstance(held, DatasetCache):
            raise TypeError(f"session should be an int or a DatasetCache, but got {session!r}")
        if key is None:
            random = [] if allow_random else random_names(dataset)
            if random:
                raise ValueError(
                    f"{', '.join(random)} in the data set would draw once, and each epoch would "
                    "get the same: give them to Cached(..., transform=), or allow_random=True"
                )
            key = content_key(dataset)
        elif not isinstance(key, str):
            raise TypeError(f"key should be a text, but got {key!r}")
        self.dataset, self.session, self.transform, self.key = dataset, held, transform, key
        self.allow_random = allow_random
        # what it warns of, writing to such memory, reaches neither the cache nor other processes
        warnings.filterwarnings("ignore", "The given NumPy array is not writable", UserWarning)
        held.reach()

    def __reduce__(self) -> Any:
        arguments = (self.dataset, self.session, self.transform, self.key, self.allow_random)
        return Cached, arguments

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__") or "dataset" not in self.__dict__:
            raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")
        return getattr(self.dataset, name)

    if TYPE_CHECKING:  # of the classes that __new__ chooses

        def __getitem__(self, index: Any) -> Any: ...
        def __len__(self) -> int: ...
        def __iter__(self) -> Iterator[Any]: ...

    def _open(self, *parts: Any) -> RowCache | None:
        return self.session.open(content_key("torch.utils.data", self.key, *parts))

    def _shown(self, row: Any) -> Any:
        return row if self.transform is None else self.transform(row)


class _Mapped(Cached):
    """Rows by number."""

    @functools.cached_property
    def _rows(self) -> RowCache | None:
        return self._open()

    def __len__(self) -> int:
        return len(self.dataset)

    def __getitem__(self, index: Any) -> Any:
        number, rows = operator.index(index), self._rows
        if rows is None or number < 0:  # only the data set knows what it counts from its end
            return self._shown(self.dataset[index])
        row = rows.get(number)
        if row is MISSING:
            row = self.dataset[index]
            rows.put(number, row)
        return self._shown(row)

    def __getitems__(self, indices: list[Any]) -> list[Any]:
        """Rows of several numbers; those that are missing are asked of the data set together."""
        rows = self._rows
        several = getattr(self.dataset, "__getitems__", None)
        numbers = [operator.index(index) for index in indices]
        if rows is None or several is None or min(numbers, default=0) < 0:
            return [self[index] for index in indices]
        found = [rows.get(number) for number in numbers]
        places = [place for place, row in enumerate(found) if row is MISSING]
        if places:
            made = several([indices[place] for place in places])
            for place, row in zip(places, made, strict=True):
                found[place] = row
                rows.put(numbers[place], row)
        return [self._shown(row) for row in found]


def _stream_class(kind: type) -> type | None:
    """The class `IterableDataset` that a class derives from; None for other classes."""
    for base in kind.__mro__:
        root = base.__module__.partition(".")[0]
        if base.__name__ == "IterableDataset" and root in ("torch", "mindtorch"):
            return base
    return None


def _length(self: Cached) -> int:
    return len(self.dataset)


@functools.cache
def _streams(base: Any, has_length: bool) -> type:
    """The class of cached data sets that iterate, under a framework's IterableDataset."""

    class Streamed(Cached, base):
        """Rows one after another."""

        def __iter__(self) -> Iterator[Any]:
            worker = sys.modules[base.__module__.rpartition(".")[0]].get_worker_info()
            place = (0, 1) if worker is None else (worker.id, worker.num_workers)
            ranks = [os.environ.get(name, "") for name in ("RANK", "WORLD_SIZE")]
            rows = self._open(place, ranks)
            if rows is None:
                return map(self._shown, self.dataset)
            return map(self._shown, cached_sequence(rows, lambda: iter(self.dataset)))

    if has_length:  # loaders ask whether there is one
        setattr(Streamed, "__len__", _length)  # noqa: B010
    return Streamed
