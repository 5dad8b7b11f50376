"""Memory that a worker process fills and the main process reads, without a name in any folder.

A worker makes a block (``memfd_create``), sends its descriptor once, and fills it again after the
main process has told that no array lies in it any more. The kernel frees it with its last user,
also where a process was killed.
"""

from __future__ import annotations

import mmap
import os
import pickle
import weakref
from multiprocessing import reduction
from typing import Any

import numpy as np

__all__ = ["SMALLEST", "BlockViews", "Blocks"]

SMALLEST = 1 << 14  # bytes; less travels in the message itself
_ALIGNMENT = 64


def _aligned(size: int) -> int:
    return -(-size // _ALIGNMENT) * _ALIGNMENT


class Blocks:
    """The blocks of a worker: those that are free, and those in use by their number."""

    def __init__(self) -> None:
        self.all: dict[int, mmap.mmap] = {}
        self.free: set[int] = set()

    def put(self, buffers: list[Any]) -> tuple[int, list[tuple[int, int]], int | None]:
        """(number of the block, [(begin, end) of each buffer], descriptor if the block is new)."""
        parts, end = [], 0
        for buffer in buffers:
            size = buffer.raw().nbytes
            parts.append((end, end + size))
            end += _aligned(size)
        fitting = [n for n in self.free if end <= len(self.all[n]) <= 4 * end + (1 << 20)]
        descriptor = None
        if fitting:
            number = min(fitting, key=lambda n: len(self.all[n]))
            self.free.discard(number)
        else:
            number, descriptor = self._new(end + end // 8)
        memory = memoryview(self.all[number])
        for buffer, (start, stop) in zip(buffers, parts, strict=True):
            memory[start:stop] = buffer.raw()
        return number, parts, descriptor

    def _new(self, size: int) -> tuple[int, int]:
        descriptor = os.memfd_create("mindtorch rows", os.MFD_CLOEXEC)
        os.ftruncate(descriptor, -(-size // mmap.PAGESIZE) * mmap.PAGESIZE)
        number = len(self.all)
        self.all[number] = mmap.mmap(descriptor, 0)
        return number, descriptor


class BlockViews:
    """A worker's blocks as the main process sees them."""

    def __init__(self) -> None:
        self.all: dict[int, mmap.mmap] = {}
        self.released: list[int] = []

    def receive(self, connection: Any, number: int) -> None:
        """Take over the descriptor of a new block."""
        descriptor = reduction.recv_handle(connection)
        try:
            self.all[number] = mmap.mmap(descriptor, 0)
        finally:
            os.close(descriptor)

    def rows(self, content: bytes, number: int, parts: list[tuple[int, int]]) -> Any:
        """The object whose arrays lie in a block, which is released with the last of them."""
        whole = np.frombuffer(self.all[number], np.uint8)
        weakref.finalize(whole, self.released.append, number).atexit = False
        return pickle.loads(content, buffers=[whole[a:b].data for a, b in parts])
