"""How the C library hands out memory for arrays."""

from __future__ import annotations

import ctypes
import functools
import sys
from typing import Any

import numpy as np

_TRIM_THRESHOLD, _TOP_PAD, _MMAP_THRESHOLD = -1, -2, -3
_LARGEST = 32 << 20


@functools.cache
def _glibc() -> ctypes.CDLL | None:
    """The C library, where it is one that has these settings."""
    if not sys.platform.startswith("linux"):
        return None
    try:
        library = ctypes.CDLL(None)
    except OSError:
        return None
    return library if hasattr(library, "mallopt") else None


def keep_freed_memory() -> bool:
    """Ask glibc to reuse freed blocks of up to 32 MiB instead of returning them to the system.

    A training step frees and takes the same sizes again and again; without this each one is
    mapped anew and cleared page by page. Returns whether it took effect (glibc only).
    """
    library = _glibc()
    if library is None:
        return False
    results = [
        library.mallopt(_MMAP_THRESHOLD, _LARGEST),
        library.mallopt(_TRIM_THRESHOLD, 1 << 30),
        library.mallopt(_TOP_PAD, 16 << 20),
    ]
    return all(results)


def make_room(size: int) -> None:
    """Return freed blocks to the system before memory is taken that none of them can become."""
    library = _glibc() if size > _LARGEST else None
    if library is not None:
        library.malloc_trim(0)


def empty(size: int, dtype: Any) -> Any:
    """``np.empty(size, dtype)`` of one axis, apart from its neighbours.

    Of blocks of whole pages one after another, each begins 16 bytes (malloc's own) further into its
    page than the last one. Copies between such places took 13 times as long as others on an AMD
    EPYC, whose ``rep movsb`` (glibc's ``memcpy`` from 2 KiB on) is slow at distances of 1 to 31.
    """
    try:
        if size & 1023 or size < 4096:
            return np.empty(size, dtype)
        return np.empty(size + 32, dtype)[:size]
    except (MemoryError, ValueError):
        raise refusal(size, dtype) from None


def refusal(size: int, dtype: Any) -> RuntimeError:
    """PyTorch's error where there is no memory for an array, or no number for its bytes."""
    count = size * np.dtype(dtype).itemsize
    if count >= 1 << 63:
        return RuntimeError(f"Storage size calculation overflowed with sizes=[{size}]")
    return RuntimeError(
        "[enforce fail at alloc_cpu.cpp:127] err == 0. DefaultCPUAllocator: can't allocate "
        f"memory: you tried to allocate {count} bytes. Error code 12 (Cannot allocate memory)"
    )
