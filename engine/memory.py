"""How the C library hands out memory for arrays."""

from __future__ import annotations

import ctypes
import sys

_TRIM_THRESHOLD, _TOP_PAD, _MMAP_THRESHOLD = -1, -2, -3
_LARGEST = 32 << 20
_library: list[ctypes.CDLL] = []


def keep_freed_memory() -> bool:
    """Ask glibc to reuse freed blocks of up to 32 MiB instead of returning them to the system.

    A training step frees and takes the same sizes again and again; without this each one is
    mapped anew and cleared page by page. Returns whether it took effect (glibc only).
    """
    if not sys.platform.startswith("linux"):
        return False
    try:
        library = ctypes.CDLL(None)
        mallopt = library.mallopt
    except (OSError, AttributeError):
        return False
    _library.append(library)
    results = [
        mallopt(_MMAP_THRESHOLD, _LARGEST),
        mallopt(_TRIM_THRESHOLD, 1 << 30),
        mallopt(_TOP_PAD, 16 << 20),
    ]
    return all(results)


def make_room(size: int) -> None:
    """Return freed blocks to the system before memory is taken that none of them can become."""
    if size > _LARGEST and _library:
        _library[-1].malloc_trim(0)
