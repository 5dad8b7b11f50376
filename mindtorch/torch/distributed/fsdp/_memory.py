"""Memory for unsharded parameters that goes back to the system and comes again at its place."""

from __future__ import annotations

import contextlib
import ctypes
import mmap
from typing import Any

import numpy as np

from mindtorch.engine.switches import switches
from mindtorch.engine.tensor import Storage

__all__ = ["LINE", "ReleasableMemory", "ReleasableStorage", "pages"]

LINE = 64  # bytes of a cache line, where every parameter begins
_HUGE = 1 << 21  # bytes of a huge page


_MOVE = 1 | 2 | 4  # Linux's mremap: to this address, and the old one stays mapped, without pages


def _mapped(size: int) -> mmap.mmap:
    """Addresses of this process; with large pages where the system has them."""
    made = mmap.mmap(-1, size, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
    if size >= _HUGE:  # a fault for 2 MiB in place of one for 4 KiB
        with contextlib.suppress(OSError, AttributeError):
            made.madvise(mmap.MADV_HUGEPAGE)
    return made


class _Pages:
    """Pages that were released: whoever needs as many next gets them, where the system would have
    to find others and to fill them with zeros. They move to other addresses without being copied.

    Attributes:
        used: bytes that are in use.
        most: the most there ever were; with the spare ones there are never more.
    """

    def __init__(self) -> None:
        self.used = self.most = 0
        self.full: list[mmap.mmap] = []  # the oldest first
        self.empty: list[mmap.mmap] = []
        self.move: Any = None
        with contextlib.suppress(OSError, AttributeError):
            self.move = ctypes.CDLL(None).mremap
            word, place = ctypes.c_size_t, ctypes.c_void_p
            self.move.restype = place
            self.move.argtypes = [place, word, word, ctypes.c_int, place]

    def take(self, target: mmap.mmap) -> None:
        """``target`` is used from now on; put pages there, if there are as many."""
        self.used += len(target)
        self.most = max(self.most, self.used)
        for i, source in enumerate(self.full):
            if len(source) == len(target):
                if self._moved(source, target):
                    self.empty.append(self.full.pop(i))
                break
        while self.full and self.used + sum(map(len, self.full)) > self.most:
            self._return(self.full.pop(0))

    def release(self, source: mmap.mmap) -> None:
        """``source`` is not used any more, and reads as zeros."""
        self.used -= len(source)
        if self.move is not None and switches.grad_buffer_reuse:
            place = next((each for each in self.empty if len(each) == len(source)), None)
            if place is None:
                place = _mapped(len(source))
                self.empty.append(place)
            if self._moved(source, place):
                self.empty.remove(place)
                self.full.append(place)
                return
        source.madvise(mmap.MADV_DONTNEED)

    def _return(self, place: mmap.mmap) -> None:
        place.madvise(mmap.MADV_DONTNEED)
        self.empty.append(place)

    def _moved(self, source: mmap.mmap, target: mmap.mmap) -> bool:
        begin, end = (
            ctypes.addressof(ctypes.c_char.from_buffer(each)) for each in (source, target)
        )
        return bool(self.move(begin, len(source), len(source), _MOVE, end) == end)


pages = _Pages()


class ReleasableMemory:
    """Bytes at a fixed address, whose pages can be given back while nobody needs them.

    What a backward pass has saved, and views, keep their address, so that nothing has to be told
    when the bytes are there again.

    Args:
        size: the number of bytes.
    """

    def __init__(self, size: int) -> None:
        unit = _HUGE if size >= _HUGE else mmap.PAGESIZE
        self._mapped = _mapped(max(-(-size // unit), 1) * unit)
        self._in_use = False
        self.bytes: Any = np.frombuffer(self._mapped, np.uint8)[:size]

    def take(self) -> None:
        """Before all of the bytes that count are written: what they are until then is not known."""
        if not self._in_use:
            self._in_use = True
            pages.take(self._mapped)

    def release(self) -> None:
        """Give the pages back; the bytes are zeros until they are taken or written."""
        if self._in_use:
            self._in_use = False
            pages.release(self._mapped)
        else:
            self._mapped.madvise(mmap.MADV_DONTNEED)

    def __del__(self) -> None:
        if self._in_use:
            pages.used -= len(self._mapped)


class ReleasableStorage(Storage):
    """The storage of an unsharded parameter: while it is released, nothing may be saved of it, and
    nothing that was saved may be read.

    Args:
        buffer: a part of :class:`ReleasableMemory`.
        name: of the parameter, for the error.
    """

    __slots__ = ("_count", "name", "released")

    def __init__(self, buffer: Any, name: str) -> None:
        self._count = 0
        self.released = True
        self.name = name
        super().__init__(buffer)
        self.resizable = False

    @property
    def version(self) -> int:
        if self.released:
            raise RuntimeError(
                f"the unsharded parameter {self.name} was read after its memory had been freed: "
                "its module's forward hooks, or the hooks on its output in backward, did not run. "
                "Call unshard() before, or register_fsdp_forward_method() for methods other than "
                "forward"
            )
        return self._count

    @version.setter
    def version(self, value: int) -> None:
        self._count = value

    @property
    def kept_version(self) -> int:  # type: ignore[override]
        return self.version
