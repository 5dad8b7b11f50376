"""Sealed pieces of shared memory, and the rows and entries of one cache in them."""

from __future__ import annotations

import errno
import fcntl
import mmap
import os
from typing import Any

from mindtorch.machine_memory import memory_of_machine

from ..layout import (
    BLOCK_BYTES,
    BLOCK_SHIFT,
    ENTRY,
    ENTRY_BYTES,
    HEADER,
    HEADER_BYTES,
    ROWS_PER_BLOCK,
)
from ..rows import ALIGNMENT

__all__ = ["Index", "MemoryBudget", "Segments", "SharedPiece"]

_SEAL_FUTURE_WRITE = 0x0010  # fcntl has no name for it; Linux 5.1
_SMALLEST, _LARGEST = 4 << 20, 256 << 20
_NO_MORE = (errno.ENOSPC, errno.ENOMEM, errno.EFBIG, errno.EMFILE, errno.ENFILE)
_KEPT_FREE = 0.05  # of the machine's memory, for everybody else


class MemoryBudget:
    """How much memory all caches of a server may take.

    Args:
        share: of the machine's memory, above 0 and at most 1.
    """

    def __init__(self, share: float) -> None:
        self.total, _ = memory_of_machine()
        self.limit, self.used = int(self.total * share), 0

    def room(self) -> int:
        """Bytes that may still be taken."""
        _, free = memory_of_machine()
        return min(self.limit - self.used, free - int(self.total * _KEPT_FREE))


class SharedPiece:
    """Memory that this process alone writes and others can map.

    Args:
        size: in bytes; all of them are allocated now.

    Raises:
        OSError: there is no such memory left.
    """

    def __init__(self, name: str, size: int) -> None:
        self.size = size
        self.descriptor = os.memfd_create(name, os.MFD_CLOEXEC | os.MFD_ALLOW_SEALING)
        try:
            os.posix_fallocate(self.descriptor, 0, size)
            self.memory = mmap.mmap(self.descriptor, size)
        except BaseException:
            os.close(self.descriptor)
            raise
        seals = fcntl.F_SEAL_SHRINK | fcntl.F_SEAL_GROW
        try:
            fcntl.fcntl(self.descriptor, fcntl.F_ADD_SEALS, seals | _SEAL_FUTURE_WRITE)
        except OSError:  # an older kernel: clients map it for reading all the same
            fcntl.fcntl(self.descriptor, fcntl.F_ADD_SEALS, seals)

    def close(self) -> None:
        """Let go of it; it is gone when no client maps it any more."""
        self.memory.close()
        os.close(self.descriptor)


def _new_piece(name: str, size: int) -> SharedPiece | None:
    """A piece; None where the machine has no memory or no descriptor left."""
    try:
        return SharedPiece(name, size)
    except OSError as error:
        if error.errno in _NO_MORE:
            return None
        raise


class Segments:
    """The memory of a cache's rows. Rows are added and never moved.

    Args:
        budget: of all caches.
        limit: bytes of this one; 0 for no limit of its own.
    """

    def __init__(self, budget: MemoryBudget, limit: int) -> None:
        self.budget, self.limit = budget, limit
        self.pieces: list[SharedPiece] = []
        self.allocated, self._end = 0, 0

    def add(self, row: Any) -> tuple[int, int] | None:
        """(number of the segment from 1, offset / 64) of a new row; None: there is no room."""
        size = -(-len(row) // ALIGNMENT) * ALIGNMENT
        if not self.pieces or self._end + size > self.pieces[-1].size:
            if not self._grow(size):
                return None
        place, self._end = self._end, self._end + size
        self.pieces[-1].memory[place : place + len(row)] = row
        return len(self.pieces), place // ALIGNMENT

    def _grow(self, size: int) -> bool:
        room = self.budget.room()
        if self.limit:
            room = min(room, self.limit - self.allocated)
        least = -(-size // mmap.PAGESIZE) * mmap.PAGESIZE
        wanted = max(least, min(max(self.allocated, _SMALLEST), _LARGEST))
        wanted = min(wanted, room // mmap.PAGESIZE * mmap.PAGESIZE)
        piece = None if wanted < least else _new_piece("mindtorch-cache-rows", wanted)
        if piece is None:
            return False
        self.pieces.append(piece)
        self.allocated += wanted
        self.budget.used += wanted
        self._end = 0
        return True

    def close(self) -> None:
        """Let go of all rows."""
        self.budget.used -= self.allocated
        self.allocated = 0
        for piece in self.pieces:
            piece.close()
        self.pieces = []


class Index:
    """The entries of a cache's rows."""

    def __init__(self, budget: MemoryBudget) -> None:
        self.budget = budget
        self.blocks: dict[int, SharedPiece] = {}
        self.count = 0

    def block(self, number: int) -> SharedPiece | None:
        """A block, which is made when it is first asked for; None where there is no memory."""
        found = self.blocks.get(number)
        if found is None and self.budget.room() >= BLOCK_BYTES:
            found = _new_piece("mindtorch-cache-index", BLOCK_BYTES)
            if found is not None:
                self.blocks[number] = found
                self.budget.used += BLOCK_BYTES
                self.count = max(self.count, number + 1)
        return found

    def holds(self, row: int) -> bool:
        """Whether a row is there."""
        piece = self.blocks.get(row >> BLOCK_SHIFT)
        return piece is not None and ENTRY.unpack_from(piece.memory, _place(row))[0] != 0

    def publish(self, row: int, segment: int, offset: int, length: int, checksum: int) -> None:
        """Make a row visible, whose block there is; the segment is written last."""
        memory, place = self.blocks[row >> BLOCK_SHIFT].memory, _place(row)
        ENTRY.pack_into(memory, place, 0, offset, length, checksum)
        memory[place : place + 4] = segment.to_bytes(4, "little")

    def withdraw(self, row: int) -> tuple[int, int]:
        """Make a row absent; (its segment, its length) before."""
        piece = self.blocks.get(row >> BLOCK_SHIFT)
        if piece is None:
            return 0, 0
        segment, _, length, _ = ENTRY.unpack_from(piece.memory, _place(row))
        piece.memory[_place(row) : _place(row) + ENTRY_BYTES] = bytes(ENTRY_BYTES)
        return segment, length

    def describe(self, total: int | None, segments: int) -> None:
        """Write the header: how many rows there are in all, how many blocks and segments."""
        if 0 in self.blocks:
            known = 0 if total is None else total + 1
            HEADER.pack_into(self.blocks[0].memory, 0, known, self.count, segments)

    def close(self) -> None:
        """Take all entries away, so that clients see none, and let go."""
        for piece in self.blocks.values():
            piece.memory[:] = bytes(BLOCK_BYTES)
            piece.close()
        self.budget.used -= BLOCK_BYTES * len(self.blocks)
        self.blocks = {}


def _place(row: int) -> int:
    return HEADER_BYTES + (row & (ROWS_PER_BLOCK - 1)) * ENTRY_BYTES
