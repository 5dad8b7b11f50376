"""Marks for NVIDIA's profilers, by cupy's binding of NVTX."""

from __future__ import annotations

import importlib
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from . import device_count

__all__ = ["mark", "range", "range_end", "range_pop", "range_push", "range_start"]


def _library() -> Any:
    if device_count():
        try:
            return importlib.import_module("cupy.cuda.nvtx")
        except ImportError:
            pass
    raise RuntimeError("NVTX functions not installed. Are you sure you have a CUDA build?")


def mark(msg: str) -> None:
    """A moment with a name.

    Raises:
        RuntimeError: there is no device, or cupy is not installed; so do the others.
    """
    _library().Mark(msg)


def range_push(msg: str) -> int:
    """A span begins inside of the one before; how many are open around it, which is not known."""
    _library().RangePush(msg)
    return 0


def range_pop() -> int:
    """The latest span of this thread ends."""
    _library().RangePop()
    return 0


def range_start(msg: str) -> int:
    """A span begins that may end in another thread; cupy has none such."""
    _library()
    raise NotImplementedError("range_start() needs a binding of NVTX that cupy lacks")


def range_end(range_id: int) -> None:
    """A span of :func:`range_start` ends."""
    _library()
    raise NotImplementedError("range_end() needs a binding of NVTX that cupy lacks")


@contextmanager
def range(msg: str, *args: Any, **kwargs: Any) -> Iterator[None]:  # noqa: A001
    """A block with a name."""
    range_push(msg.format(*args, **kwargs))
    try:
        yield
    finally:
        range_pop()
