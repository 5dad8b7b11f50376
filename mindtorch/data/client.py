"""The rows of one pipeline as a process sees them: read from shared memory, sent to the server."""

from __future__ import annotations

import contextlib
import mmap
import os
import threading
import time
import warnings
import weakref
from multiprocessing import util
from typing import Any

from .connection import Connection, RefusedError, UnreachableError
from .disk import DISK_ERRORS, Disk
from .layout import (
    BLOCK_SHIFT,
    ENTRY,
    ENTRY_BYTES,
    HEADER,
    HEADER_BYTES,
    ON_DISK,
    ROW_LIMIT,
    ROWS_PER_BLOCK,
    checksum,
)
from .rows import ALIGNMENT, Reader, encode

__all__ = ["MISSING", "CacheWarning", "RowCache", "say_once"]

MISSING: Any = object()
_IN_BLOCK = ROWS_PER_BLOCK - 1
_BATCH_BYTES, _BATCH_SECONDS = 4 << 20, 0.5
_RETRY_SECONDS = 5.0
_MAP_NORESERVE = 0x4000  # mmap has a name for it since Python 3.13


class CacheWarning(UserWarning):
    """A cache does less than was asked: rows come from their source."""


_said: set[str] = set()


def say_once(kind: str, text: str) -> None:
    """Warn, once in a process for each kind of trouble."""
    if kind not in _said:
        _said.add(kind)
        warnings.warn(text, CacheWarning, stacklevel=3)


class RowCache:
    """The cache of one pipeline in one session.

    After a fork it goes on in the child: memory stays mapped, the connection is made anew.

    Args:
        port: of the server.
        session: its number.
        key: the pipeline's content, 32 hexadecimal digits.
        megabytes: what its rows may take in memory; 0 for all that the server may.
        spilling: write to disk what does not fit.
        batch: how many rows are sent at once.
        instance: of the server that had the session; "" where none was asked yet. With it, a server
            that is not there is no error.

    Raises:
        UnreachableError: no server answers.
        RefusedError: there is no such session, or the server cannot spill.
    """

    def __init__(
        self, port: int, session: int, key: str, megabytes: int, spilling: bool, batch: int,
        instance: str = "",
    ) -> None:  # fmt: skip
        self.port, self.session, self.key = port, session, key
        self.megabytes, self.spilling, self.batch = megabytes, spilling, batch
        self.instance = instance
        self._reader = Reader()
        self._lock = threading.RLock()
        self._pending: dict[int, bytearray] = {}
        self._sending: dict[int, bytearray] = {}  # of them, those that are under way
        self._pending_bytes, self._pending_since = 0, 0.0
        self._connection: Connection | None = None
        self._retry_at = 0.0
        self._forget_rows()
        _all.add(self)
        if instance:
            self._connected()
        else:
            self._connect()

    def _forget_rows(self) -> None:
        self._blocks: list[Any] = []
        self._segments: list[Any] = []
        self._disk: Disk | None = None
        self._folder, self._map_size = "", 0
        self._salt, self._number, self.full = 0, 0, ""

    # --- reading ---------------------------------------------------------------------------------

    def get(self, row: int) -> Any:
        """The row of a number, or :data:`MISSING`. Arrays are read-only views of shared memory."""
        try:
            segment, place, length, expected = ENTRY.unpack_from(
                self._blocks[row >> BLOCK_SHIFT], HEADER_BYTES + (row & _IN_BLOCK) * ENTRY_BYTES
            )
            if segment == 0:
                return self._waiting(row)
            if segment == ON_DISK:
                return self._from_disk(row, expected)
            data, start = self._segments[segment - 1], place * ALIGNMENT
        except (IndexError, TypeError):  # a block or a segment that is not mapped yet
            return self._after_mapping(row)
        if checksum(data[start : start + length], self._salt + row) != expected:
            return self._mapped_again(row, segment, start, length, expected)
        return self._reader.read(data, start)

    def _waiting(self, row: int) -> Any:
        """A row that is not sent yet, or is being sent by another thread."""
        data = self._pending.get(row) or self._sending.get(row)
        if data is not None:
            return self._reader.read(memoryview(data).toreadonly(), 0)
        return self.get(row) if self._segment_of(row) else MISSING  # it was sent just now

    def _mapped_again(self, row: int, segment: int, start: int, length: int, expected: int) -> Any:
        """A row whose bytes are wrong here: a program that wrote into an array in spite of its flag
        has changed a page of this process alone, and the server's is as it was."""
        with self._lock, contextlib.suppress(UnreachableError, RefusedError, IndexError):
            if self._connected():
                data = self._segments[segment - 1] = self._mapped("rows", segment - 1)
                if checksum(data[start : start + length], self._salt + row) == expected:
                    return self._reader.read(data, start)
        return self._damaged(row)

    def _after_mapping(self, row: int) -> Any:
        """A row whose segment another process's row made necessary."""
        if not self._segment_of(row):
            return self._waiting(row)
        self.refresh()
        segment = self._segment_of(row)
        if segment == 0:
            return MISSING
        if segment != ON_DISK and segment > len(self._segments):
            return self._damaged(row, "it is in no segment") if self._connected() else MISSING
        return self.get(row)

    def _from_disk(self, row: int, expected: int) -> Any:
        try:
            if self._disk is None:
                self._disk = Disk(self._folder, self._map_size)
            data = self._disk.get(row)
        except DISK_ERRORS as error:  # of this process perhaps, and not of the rows
            say_once("disk", f"cached rows on disk cannot be read ({error}): they are made again")
            return MISSING
        if data is None or checksum(data, self._salt + row) != expected:
            return self._damaged(row)
        return self._reader.read(data, 0)

    def _damaged(self, row: int, why: str = "its checksum is wrong") -> Any:
        """Tell the server, which takes the row away; it is made from the source again."""
        if self._segment_of(row):  # else it was taken away meanwhile
            say_once("damaged", f"a cached row was damaged and is made again: row {row}, {why}")
            with self._lock, contextlib.suppress(UnreachableError, RefusedError):
                if self._connected():
                    self._ask({"kind": "withdraw", "row": row})
        return MISSING

    def total(self) -> int | None:
        """How many rows there are; None where no client has seen the last one."""
        try:
            known = HEADER.unpack_from(self._blocks[0], 0)[0]
        except (IndexError, TypeError):
            return None
        return None if known == 0 else int(known) - 1

    # --- writing ---------------------------------------------------------------------------------

    def put(self, row: int, value: Any) -> None:
        """Keep a row, sooner or later; nothing is done while there is no server.

        Raises:
            TypeError: the row holds what cannot be cached.
        """
        if self.full or not self._connected():
            return
        data = encode(value)
        if len(data) > ROW_LIMIT:
            say_once("large", f"rows of more than {ROW_LIMIT >> 20} MiB are not cached: row {row}")
            return
        with self._lock:
            now = time.monotonic()
            if not self._pending:
                self._pending_since = now
                _sender.wake()
            self._pending[row] = data
            self._pending_bytes += len(data)
            due = len(self._pending) >= self.batch or self._pending_bytes >= _BATCH_BYTES
            if due or now - self._pending_since > _BATCH_SECONDS:
                self.flush()

    def flush(self) -> None:
        """Send what waits."""
        with self._lock:
            waiting = self._sending = self._pending
            self._pending, self._pending_bytes = {}, 0
            try:
                self._send(waiting)
            finally:
                self._sending = {}

    def _send(self, waiting: dict[int, bytearray]) -> None:
        rows = [(number, data) for number, data in waiting.items()
                if not self._segment_of(number)]  # fmt: skip
        if not rows or not self._connected():
            return
        described = [
            [number, len(data), checksum(data, self._salt + number)] for number, data in rows
        ]
        with self._going_on():
            self._ask({"kind": "put", "rows": described}, [data for _, data in rows])

    def finish(self, total: int) -> None:
        """Say that there are so many rows."""
        with self._lock:
            self.flush()
            if self.total() != total and self._connected():
                with self._going_on():
                    self._ask({"kind": "finish", "total": total})

    def statistics(self) -> tuple[int, int, int]:
        """(rows in memory, rows on disk, bytes of both), of all clients.

        Raises:
            UnreachableError: the server has ended.
            RefusedError: the session has.
        """
        with self._lock:
            self.flush()
            if not self._connected():
                raise UnreachableError("the cache server has ended")
            connection: Any = self._connection
            answer, _ = connection.ask({"kind": "stat", "cache": self._number})
            return answer["in_memory"], answer["on_disk"], answer["bytes"]

    def _segment_of(self, row: int) -> int:
        """The segment in the entry of a row; 0 where it is absent."""
        place = HEADER_BYTES + (row & _IN_BLOCK) * ENTRY_BYTES
        try:
            return int(ENTRY.unpack_from(self._blocks[row >> BLOCK_SHIFT], place)[0])
        except (IndexError, TypeError):  # no such block yet, or no server any more
            return 0

    # --- the server ------------------------------------------------------------------------------

    def refresh(self) -> None:
        """See what other processes added, and whether a server is there again."""
        with self._lock, self._going_on():
            if self._connected():
                self._ask({"kind": "put", "rows": []})

    @contextlib.contextmanager
    def _going_on(self) -> Any:
        """Where the server is gone or does not know us any more: say so, and do without it."""
        try:
            yield
        except UnreachableError as error:
            self._lost("server", f"the cache server on port {self.port} has ended ({error})")
        except RefusedError as error:
            if error.kind == "session":
                self._forget_rows()  # its memory is the server's to give back
            self._lost(error.kind, str(error))

    def _lost(self, kind: str, text: str) -> None:
        if self._connection is not None:
            self._connection.close()
        self._connection = None
        self._retry_at = time.monotonic() + (_RETRY_SECONDS if kind == "server" else float("inf"))
        say_once(kind, f"{text}; rows that are not in memory come from their source")

    def _connected(self) -> bool:
        """Whether a server can be asked; one that was started again is looked for now and then."""
        if self._connection is not None:
            return True
        with self._lock:
            if self._connection is None and time.monotonic() >= self._retry_at:
                with self._going_on():
                    self._connect()
            return self._connection is not None

    def after_fork(self) -> None:
        """In a child: what it shares with its parent is memory alone."""
        self._lock = threading.RLock()
        self._pending, self._sending, self._pending_bytes = {}, {}, 0
        self._disk = None
        if self._connection is not None:
            self._connection.close()
            self._connection = None

    def _connect(self) -> None:
        made = Connection(self.port)
        try:
            answer, _ = made.ask({
                "kind": "open", "session": self.session, "key": self.key,
                "instance": self.instance, "megabytes": self.megabytes, "spilling": self.spilling,
            })  # fmt: skip
        except BaseException:
            made.close()
            raise
        if made.instance != self.instance or answer["salt"] != self._salt:
            self._forget_rows()
            self.instance, self._salt = made.instance, answer["salt"]
            self._folder, self._map_size = answer["folder"] or "", answer["map_size"]
        self._connection, self._number = made, answer["number"]
        self._learn(answer)

    def _ask(self, request: dict[str, Any], payload: Any = ()) -> None:
        connection: Any = self._connection
        answer, _ = connection.ask({**request, "cache": self._number}, payload)
        self._learn(answer)

    def _learn(self, answer: dict[str, Any]) -> None:
        """Map what is new, and say that nothing more is kept where that is so."""
        for number in answer["blocks"]:
            if number >= len(self._blocks):
                self._blocks += [None] * (number + 1 - len(self._blocks))
            if self._blocks[number] is None:
                self._blocks[number] = self._mapped("index", number)
        while len(self._segments) < answer["segments"]:
            self._segments.append(self._mapped("rows", len(self._segments)))
        if answer["full"] and not self.full:
            self.full = answer["full"]
            say_once("full", f"{self.full} Other rows come from their source")

    def _mapped(self, of: str, number: int) -> memoryview:
        connection: Any = self._connection
        answer, descriptors = connection.ask(
            {"kind": "piece", "of": of, "cache": self._number, "number": number}
        )
        try:
            if len(descriptors) != 1:
                raise UnreachableError("no shared memory came with the server's answer")
            size = os.fstat(descriptors[0]).st_size
            if size != answer["size"]:
                raise UnreachableError(f"shared memory of {size} bytes and not {answer['size']}")
            if of == "index":
                return memoryview(mmap.mmap(descriptors[0], size, mmap.MAP_SHARED, mmap.PROT_READ))
            # private: what writes into rows changes this process's copy of a page
            flags = mmap.MAP_PRIVATE | _MAP_NORESERVE
            memory = mmap.mmap(descriptors[0], size, flags, mmap.PROT_READ | mmap.PROT_WRITE)
            return memoryview(memory).toreadonly()
        finally:
            for each in descriptors:
                os.close(each)

    def close(self) -> None:
        """Send what waits and end the connection; memory is unmapped when no row is used."""
        with self._lock:
            if self._connection is not None:
                self.flush()
            if self._connection is not None:  # flush may have found that the server has ended
                self._connection.close()
                self._connection = None
            self._retry_at = float("inf")


_all: weakref.WeakSet[RowCache] = weakref.WeakSet()


class _Sender:
    """Sends rows that have waited, in a thread: a worker that gets nothing more to do puts none."""

    def __init__(self) -> None:
        self._wanted = threading.Event()
        self._thread: threading.Thread | None = None

    def wake(self) -> None:
        """Rows wait from now on."""
        if self._thread is None:
            self._thread = threading.Thread(target=self._run, name="cache sender", daemon=True)
            self._thread.start()
        self._wanted.set()

    def _run(self) -> None:
        while self._wanted.wait():
            self._wanted.clear()
            time.sleep(_BATCH_SECONDS)
            for each in list(_all):
                each.flush()


_sender = _Sender()


def _after_fork() -> None:
    global _sender
    _sender = _Sender()
    for each in list(_all):
        each.after_fork()


def _flush_all() -> None:
    for each in list(_all):
        with contextlib.suppress(Exception), warnings.catch_warnings():
            warnings.simplefilter("ignore")  # the process ends: nothing may keep it
            each.flush()


def _flush_at_exit(_: object = None) -> None:
    # workers of loaders end by multiprocessing's way, which knows nothing of atexit
    util.Finalize(None, _flush_all, exitpriority=10)


os.register_at_fork(after_in_child=_after_fork)
util.register_after_fork(RowCache, _flush_at_exit)
_flush_at_exit()
