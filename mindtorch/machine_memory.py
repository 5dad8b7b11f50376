"""How much memory this machine, or the container, has."""

from __future__ import annotations

import errno
import os
from pathlib import Path

__all__ = ["gigabytes", "memory_of_machine"]


def _number_in(path: str) -> int | None:
    try:
        text = Path(path).read_text().strip()
    except OSError:
        return None
    return int(text) if text.isdigit() else None


def _of_meminfo(name: str) -> int:
    for line in Path("/proc/meminfo").read_text().splitlines():
        if line.startswith(f"{name}:"):
            return int(line.split()[1]) << 10
    raise OSError(errno.ENOENT, f"/proc/meminfo has no {name}")


def memory_of_machine() -> tuple[int, int]:
    """(bytes in all, bytes that are free or can be freed): the machine's or the container's.

    Where the system does not tell what is free (Linux does), all counts as free.
    """
    try:
        total, free = _of_meminfo("MemTotal"), _of_meminfo("MemAvailable")
    except OSError:
        total = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
        return total, total
    limit = _number_in("/sys/fs/cgroup/memory.max")
    used = _number_in("/sys/fs/cgroup/memory.current")
    if limit is not None and used is not None and limit < total:
        return limit, min(free, max(limit - used, 0))
    return total, free


def gigabytes(size: float) -> str:
    """A number of bytes, for a message.

    Args:
        size: the bytes.
    """
    return f"{size / (1 << 30):,.1f} GiB"
