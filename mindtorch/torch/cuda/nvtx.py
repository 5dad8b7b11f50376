"""Marks for NVIDIA's profiler: as in a build of torch without CUDA, each raises RuntimeError."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, NoReturn

__all__ = ["mark", "range", "range_end", "range_pop", "range_push", "range_start"]


def _missing(*args: Any, **kwargs: Any) -> NoReturn:
    raise RuntimeError("NVTX functions not installed. Are you sure you have a CUDA build?")


mark = range_end = range_pop = range_push = range_start = _missing


@contextmanager
def range(msg: str, *args: Any, **kwargs: Any) -> Iterator[None]:  # noqa: A001
    """A block with a name."""
    range_push(msg.format(*args, **kwargs))
    yield
