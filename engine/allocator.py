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


_LINE = 64  # bytes of a cache line, and of the widest vector register
_IN_LINE_FROM = 16384  # bytes from which loops gain more than finding a line costs
_first: Any = ctypes.c_char.from_buffer
_address_of = ctypes.addressof
_array, _new, _BYTE = np.ndarray, np.empty, np.dtype(np.uint8)


def empty(size: int, dtype: np.dtype[Any]) -> Any:
    """``np.empty(size, dtype)`` of one axis; large ones begin at a cache line.

    malloc's blocks begin anywhere in steps of 16 bytes. Vectors of 64 bytes then lie in two lines
    each, which takes loops up to twice as long. Copies between places 1 to 31 bytes apart, modulo
    pages, took 13 times as long as others on an AMD EPYC, whose ``rep movsb`` (glibc's ``memcpy``
    from 2 KiB on) is slow there.
    """
    try:
        count = size * dtype.itemsize
        if count < _IN_LINE_FROM:
            return _new(size, dtype)
        block = _new(count + _LINE, _BYTE)
        return _array(size, dtype, block, -_address_of(_first(block)) % _LINE)
    except (MemoryError, ValueError):
        raise refusal(size, dtype) from None


def empty_for(most: int) -> Any:
    """:func:`empty`, for so many bytes at most: without a look at how many, where they are few."""
    return np.empty if most < _IN_LINE_FROM else empty


def address_of(array: Any) -> int:
    """Where an array's first element is."""
    try:
        return int(_address_of(_first(array)))
    except (TypeError, ValueError):  # read only, or without elements
        return int(array.ctypes.data)


def line_of_bytes(size: int) -> Any:
    """So many bytes, few as they may be, that begin at a cache line."""
    return empty(max(size, _IN_LINE_FROM), np.dtype(np.uint8))[:size]


def refusal(size: int, dtype: Any) -> RuntimeError:
    """PyTorch's error where there is no memory for an array, or no number for its bytes."""
    count = size * np.dtype(dtype).itemsize
    if count >= 1 << 63:
        return RuntimeError(f"Storage size calculation overflowed with sizes=[{size}]")
    return RuntimeError(
        "[enforce fail at alloc_cpu.cpp:127] err == 0. DefaultCPUAllocator: can't allocate "
        f"memory: you tried to allocate {count} bytes. Error code 12 (Cannot allocate memory)"
    )
