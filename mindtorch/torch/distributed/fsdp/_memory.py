"""Memory for unsharded parameters that goes back to the system and comes again at its place."""

from __future__ import annotations

import contextlib
import mmap
from typing import Any

import numpy as np

from mindtorch.engine.tensor import Storage

__all__ = ["LINE", "ReleasableMemory", "ReleasableStorage"]

LINE = 64  # bytes of a cache line, where every parameter begins
_HUGE = 1 << 21  # bytes of a huge page


class ReleasableMemory:
    """Bytes at a fixed address, whose pages can be given back while nobody needs them.

    What a backward pass has saved, and views, keep their address, so that nothing has to be told
    when the bytes are there again.

    Args:
        size: the number of bytes.
    """

    def __init__(self, size: int) -> None:
        flags = mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS
        huge = size >= _HUGE
        length = -(-size // _HUGE) * _HUGE if huge else max(size, 1)
        self._mapped = mmap.mmap(-1, length, flags=flags)
        if huge:  # a fault for 2 MiB in place of one for 4 KiB, where the system has that
            with contextlib.suppress(OSError):
                self._mapped.madvise(mmap.MADV_HUGEPAGE)
        self.bytes: Any = np.frombuffer(self._mapped, np.uint8)[:size]

    def release(self) -> None:
        """Give the pages back; the bytes are zeros until they are written again."""
        self._mapped.madvise(mmap.MADV_DONTNEED)


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
