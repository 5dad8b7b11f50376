"""Buffers that kernels use again and again, by name, for each thread its own."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Iterator
from typing import Any

import numpy as np

_buffers = threading.local()  # of each name: bytes, then size, type and array of the last call
_NOTHING: tuple[Any, ...] = (None, -1, None, None)


def workspace(size: int, dtype: Any, name: str) -> Any:
    """A flat buffer of ``size`` elements that this thread uses again and again."""
    held, last_size, last_dtype, view = getattr(_buffers, name, _NOTHING)
    if size == last_size and dtype is last_dtype:
        return view
    nbytes = max(size, 1) * np.dtype(dtype).itemsize
    if held is None or held.nbytes < nbytes:
        held = np.empty(nbytes, np.uint8)
    view = held[:nbytes].view(dtype)
    setattr(_buffers, name, (held, size, dtype, view))
    return view


LINE = 64  # bytes of a cache line


def workspace_of_lines(size: int, dtype: Any, name: str) -> Any:
    """The same, beginning on a cache line."""
    nbytes = size * np.dtype(dtype).itemsize
    held = workspace(nbytes + LINE, np.uint8, name)
    first = -held.ctypes.data % LINE
    return held[first : first + nbytes].view(dtype)


@contextlib.contextmanager
def other_workspaces() -> Iterator[None]:
    """A block in which kernels run inside of another one's call: their buffers are not its own."""
    buffers = vars(_buffers)
    outer = dict(buffers)
    buffers.clear()
    try:
        yield
    finally:
        buffers.clear()
        buffers.update(outer)
