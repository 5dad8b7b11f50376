"""`DatasetCache`: a session of a cache server, as MindSpore's data sets and ours take it."""

from __future__ import annotations

import contextlib
import os
import threading
from collections.abc import Iterator
from typing import Any

from .client import CacheWarning, RowCache, say_once
from .connection import Connection, RefusedError, UnreachableError
from .places import address

__all__ = ["CacheWarning", "DatasetCache", "Statistics"]

_ROWS_SENT_AT_ONCE = 20


_opening = threading.Lock()


def _after_fork() -> None:
    global _opening
    _opening = threading.Lock()


os.register_at_fork(after_in_child=_after_fork)


def is_off() -> bool:
    """Whether ``MINDTORCH_DATA_CACHE=0`` says that all rows come from their source."""
    return os.environ.get("MINDTORCH_DATA_CACHE", "").strip() == "0"


class Statistics:
    """What a session holds of the pipelines that a :class:`DatasetCache` was given to.

    Attributes:
        avg_cache_sz: bytes of a row, on average.
        num_mem_cached: rows in memory.
        num_disk_cached: rows on disk.
    """

    def __init__(self, in_memory: int, on_disk: int, size: int) -> None:
        self.num_mem_cached, self.num_disk_cached = in_memory, on_disk
        self.avg_cache_sz = size // max(in_memory + on_disk, 1)

    def __repr__(self) -> str:
        return (
            f"Statistics(avg_cache_sz={self.avg_cache_sz}, num_mem_cached={self.num_mem_cached}, "
            f"num_disk_cached={self.num_disk_cached})"
        )


def _check(name: str, value: Any, lowest: int, highest: int) -> None:
    if not isinstance(value, int) or isinstance(value, bool):
        raise TypeError(
            f"Argument {name} with value {value} is not of type [<class 'int'>], but got "
            f"{type(value)}."
        )
    if not lowest <= value <= highest:
        raise ValueError(
            f"Input {name} is not within the required interval of [{lowest}, {highest}]."
        )


class DatasetCache:
    """A session of a cache server, which keeps the rows of pipelines.

    The server is looked for when a pipeline first runs, and is told the pipeline's content: its
    rows are shared by all processes and runs that have the same in the same session.

    Args:
        session_id: what `mindtorch cache -g` printed.
        size: MiB of memory for the rows of one pipeline; 0 for as much as the server may use.
        spilling: rows that do not fit are written to disk; the server needs `-s` for it.
        hostname: this machine: 127.0.0.1, or ``MS_CACHE_HOST``.
        port: of the server: 50052, or ``MS_CACHE_PORT``.
        num_connections: of no effect, as a warning says: a process has one connection for the rows
            that it adds, and rows are read without any.
        prefetch_size: how many rows are sent to the server at once; 20 unless given.

    Raises:
        TypeError, ValueError: an argument is not of its type or range.
    """

    def __init__(
        self, session_id: int, size: int = 0, spilling: bool = False, hostname: str | None = None,
        port: int | None = None, num_connections: int | None = None,
        prefetch_size: int | None = None,
    ) -> None:  # fmt: skip
        _check("session_id", session_id, 1, 2**32 - 1)
        _check("size", size, 0, 2**64 - 1)
        if not isinstance(spilling, bool):
            raise TypeError(
                f"Argument spilling with value {spilling} is not of type [<class 'bool'>], but got "
                f"{type(spilling)}."
            )
        if hostname is not None and not isinstance(hostname, str):
            raise TypeError(
                f"Argument hostname with value {hostname} is not of type [<class 'str'>], but got "
                f"{type(hostname)}."
            )
        if port is not None:
            _check("port", port, 1025, 65535)
        for name, value in (("num_connections", num_connections), ("prefetch_size", prefetch_size)):
            if value is not None:
                _check(name, value, 1, 2**31 - 1)
        if num_connections is not None:
            say_once(
                "num_connections",
                "num_connections has no effect: rows are read from shared memory, and a process "
                "adds rows over one connection",
            )
        self.session_id, self.size, self.spilling = session_id, size, spilling
        self.hostname, self.port = address(hostname, port)
        self.num_connections, self.prefetch_size = num_connections, prefetch_size
        self._opened: dict[str, RowCache] = {}
        self._instance = ""

    def open(self, key: str) -> RowCache | None:
        """The rows of a pipeline; None where ``MINDTORCH_DATA_CACHE=0`` turns caches off.

        Args:
            key: its content, as :func:`mindtorch.data.content.content_key` gives it.

        Raises:
            RuntimeError: there is no server, no such session, or it cannot do what was asked.
        """
        if is_off():
            return None
        found = self._opened.get(key)
        if found is not None:
            return found
        with _opening, self._errors():
            found = self._opened.get(key)
            if found is None:
                found = self._opened[key] = RowCache(
                    self.port, self.session_id, key, self.size, self.spilling,
                    self.prefetch_size or _ROWS_SENT_AT_ONCE, self._instance,
                )  # fmt: skip
                self._instance = found.instance
        return found

    def reach(self) -> None:
        """Look for the server and the session now; a server that ends later is no error.

        Raises:
            RuntimeError: there is no server, or no such session.
        """
        if self._instance or is_off():
            return
        with self._errors():
            connection = Connection(self.port)
            try:
                connection.ask({"kind": "session", "session": self.session_id})
                self._instance = connection.instance
            finally:
                connection.close()

    @contextlib.contextmanager
    def _errors(self) -> Iterator[None]:
        try:
            yield
        except UnreachableError as error:
            raise RuntimeError(
                f"Network error. Cache server with port {self.port} is unreachable. Make sure the "
                f"server is running or started under the same user as the client. ({error})"
            ) from None
        except RefusedError as error:
            raise RuntimeError(str(error)) from None

    def get_stat(self) -> Statistics:
        """What the session holds of the pipelines that this object was given to.

        Raises:
            RuntimeError: no pipeline has run, or the server has ended.
        """
        if not self._opened:
            raise RuntimeError("Cannot get statistics before a pipeline has used the cache.")
        with self._errors():
            each = [cache.statistics() for cache in self._opened.values()]
        return Statistics(*(sum(column) for column in zip(*each, strict=True)))

    def close(self) -> None:
        """Send rows that wait and end the connections. Rows that are in use stay valid."""
        for cache in self._opened.values():
            cache.close()
        self._opened = {}

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "_opened": {}}

    def __deepcopy__(self, memo: dict[int, Any]) -> DatasetCache:
        copied = object.__new__(type(self))
        copied.__dict__.update(self.__dict__)  # the connections, too, as MindSpore's
        return copied
