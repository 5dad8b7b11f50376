"""Sessions, and the caches in them: what the server keeps, whoever asks for it."""

from __future__ import annotations

import os
import secrets
import shutil
import tempfile
import threading
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from ..layout import ON_DISK, ROW_LIMIT, checksum
from .memory import Index, MemoryBudget, Segments
from .spill import Spill

__all__ = ["Cache", "Refused", "Row", "Store"]

_LAST_ROW = 1 << 40


class Refused(Exception):
    """What was asked for cannot be done; the text says why.

    Args:
        kind: a word by which clients tell cases apart.
        text: for people.
    """

    def __init__(self, kind: str, text: str) -> None:
        super().__init__(text)
        self.kind, self.text = kind, text


@dataclass(frozen=True)
class Row:
    """A row that a client sends: its number, its bytes and their checksum."""

    number: int
    data: Any
    checksum: int


@dataclass
class Counts:
    """Rows and bytes of a cache."""

    in_memory: int = 0
    on_disk: int = 0
    bytes: int = 0


@dataclass
class Cache:
    """The rows of one pipeline.

    Attributes:
        key: says what the rows are made of.
        number: what lists show; the lowest 32 bits of the key.
        salt: the checksums' seed, to which a row's number is added.
        total: how many rows there are; None until a client has seen the last.
        full: why no more rows are taken; "" while they are.
    """

    key: str
    index: Index
    segments: Segments
    spill: Spill | None
    salt: int = field(default_factory=lambda: secrets.randbits(62))
    total: int | None = None
    full: str = ""
    counts: Counts = field(default_factory=Counts)
    lock: threading.Lock = field(default_factory=threading.Lock)
    closed: bool = False

    @property
    def number(self) -> int:
        return int(self.key[-8:], 16)

    def put(self, rows: Sequence[Row]) -> int:
        """Take rows that are not there; how many were taken. A row whose checksum is wrong, which
        was damaged on its way, is left out."""
        taken, for_disk = 0, []
        with self.lock:
            if self.closed:
                raise Refused("session", "A destroy request came for this cache.")
            for row in rows:
                if self._is_sound(row) and not self.index.holds(row.number):
                    if self._keep(row):
                        taken += 1
                    elif self.spill is not None and not self.full:
                        for_disk.append(row)
                    elif not self.full:
                        self.full = (
                            "Memory usage will exceed the upper bound limit of: "
                            f"{self.segments.limit or self.segments.budget.limit}. The cache "
                            "server will not cache any more data."
                        )
            taken += self._write(for_disk)
            self.index.describe(self.total, len(self.segments.pieces))
        return taken

    def _is_sound(self, row: Row) -> bool:
        return (
            0 <= row.number < _LAST_ROW
            and 0 < len(row.data) <= ROW_LIMIT
            and checksum(row.data, self.salt + row.number) == row.checksum
        )

    def _keep(self, row: Row) -> bool:
        if self.index.block(row.number >> 16) is None:
            return False
        place = self.segments.add(row.data)
        if place is None:
            return False
        self.index.publish(row.number, *place, len(row.data), row.checksum)
        self.counts.in_memory += 1
        self.counts.bytes += len(row.data)
        return True

    def _write(self, rows: list[Row]) -> int:
        """Rows to disk: how many."""
        rows = [row for row in rows if self.index.block(row.number >> 16) is not None]
        if not rows or self.spill is None:
            return 0
        distinct = {row.number: row for row in rows}
        trouble = self.spill.add((row.number, row.data) for row in distinct.values())
        if trouble is not None:
            self.full = f"No enough storage for cache server to cache data: {trouble}."
            return 0
        for row in distinct.values():
            self.index.publish(row.number, ON_DISK, 0, len(row.data), row.checksum)
            self.counts.bytes += len(row.data)
        self.counts.on_disk += len(distinct)
        return len(distinct)

    def withdraw(self, number: int) -> None:
        """Make a row absent that a client found damaged."""
        with self.lock:
            segment, length = self.index.withdraw(number)
            if segment:
                self.counts.bytes -= length
                self.counts.on_disk -= segment == ON_DISK
                self.counts.in_memory -= segment != ON_DISK

    def finish(self, total: int) -> None:
        """Keep how many rows there are."""
        with self.lock:
            if not self.closed and self.index.block(0) is not None:
                self.total = total
                self.index.describe(total, len(self.segments.pieces))

    def close(self) -> None:
        """Let go of everything."""
        with self.lock:
            self.closed = True
            self.index.close()
            self.segments.close()
            if self.spill is not None:
                self.spill.close()


class Store:
    """All sessions of a server.

    Args:
        share: of the machine's memory that rows may take.
        spill_folder: where folders for rows on disk are made; None for no spilling.
        disk_limit: bytes of the files of one cache; the disk's size unless given.

    Raises:
        Refused: ``spill_folder`` is relative, or cannot be written.
    """

    def __init__(
        self, share: float = 0.8, spill_folder: str | None = None, disk_limit: int | None = None
    ) -> None:
        self.budget = MemoryBudget(share)
        self.spill_root = spill_folder
        self.spill_folder = None if spill_folder is None else _own_folder(spill_folder)
        self.disk_limit = disk_limit
        self.sessions: dict[int, dict[str, Cache]] = {}
        self._lock = threading.Lock()
        self._made = 0

    def new_session(self) -> int:
        """A session of a new number, 1 to 2**32 - 1."""
        with self._lock:
            while True:
                number = secrets.randbits(32)
                if number and number not in self.sessions:
                    self.sessions[number] = {}
                    return number

    def restore_session(self, number: int) -> None:
        """A session that a server before this one had."""
        with self._lock:
            self.sessions.setdefault(number, {})

    def check_session(self, number: int) -> None:
        """Raises :class:`Refused` where there is no session of this number."""
        with self._lock:
            self._session(number)

    def destroy_session(self, number: int) -> None:
        """Let go of a session and of its rows.

        Raises:
            Refused: there is none of this number.
        """
        with self._lock:
            caches = self._session(number)
            del self.sessions[number]
        for cache in caches.values():
            cache.close()

    def _session(self, number: int) -> dict[str, Cache]:
        if number not in self.sessions:
            raise Refused(
                "session",
                "A cache creation has been requested but the session was not found! Session id "
                f"{number}",
            )
        return self.sessions[number]

    def open(self, session: int, key: str, megabytes: int, spilling: bool) -> Cache:
        """The cache of a pipeline; made where there is none.

        Args:
            megabytes: what its rows may take in memory; 0 for all that the server may.
            spilling: write to disk what does not fit.

        Raises:
            Refused: no such session, or the server has no folder to spill into.
        """
        if spilling and self.spill_folder is None:
            raise Refused("spilling", "Server is not set up with spill support.")
        with self._lock:
            caches = self._session(session)
            if key not in caches:
                spill = None
                if spilling and self.spill_folder is not None:
                    self._made += 1
                    spill = Spill(self.spill_folder / str(self._made), self.disk_limit)
                caches[key] = Cache(
                    key, Index(self.budget), Segments(self.budget, megabytes << 20), spill
                )
                caches[key].index.block(0)  # so that clients see each other's rows at once
            found = caches[key]
        limit, spills = found.segments.limit, found.spill is not None
        if (limit, spills) != (megabytes << 20, spilling):
            raise Refused(
                "settings",
                f"this pipeline is in session {session} already, with size={limit >> 20} and "
                f"spilling={spills}: give the same, or another session",
            )
        return found

    def caches(self) -> list[tuple[int, Cache | None]]:
        """(session, cache) of each cache; (session, None) of a session without one."""
        with self._lock:
            found: list[tuple[int, Cache | None]] = []
            for number, held in self.sessions.items():
                found += [(number, cache) for cache in held.values()] or [(number, None)]
            return found

    def close(self) -> None:
        """Let go of all sessions and remove what is on disk."""
        for number in list(self.sessions):
            self.destroy_session(number)
        if self.spill_folder is not None:
            shutil.rmtree(self.spill_folder, ignore_errors=True)


def _own_folder(root: str) -> Path:
    if not os.path.isabs(root):
        raise Refused("spilling", "Spilling directory must be an absolute path")
    try:
        return Path(tempfile.mkdtemp(prefix="mindtorch-cache-", dir=root))
    except OSError as error:
        raise Refused("spilling", f"Spilling directory is not writable: {error}") from None
