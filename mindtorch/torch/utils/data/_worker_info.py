"""What a process of a DataLoader knows of itself."""

from __future__ import annotations

from typing import Any

LARGE = 1 << 16  # bytes of a tensor that leaves a worker by shared memory, not through the pipe
_current: WorkerInfo | None = None


class WorkerInfo:
    """What a worker knows of itself: ``id``, ``num_workers``, ``seed``, ``dataset``."""

    id: int

    def __init__(self, **facts: Any) -> None:
        self.__dict__.update(facts)
        self.__dict__["_keys"] = tuple(facts)

    def __setattr__(self, name: str, value: Any) -> None:
        raise RuntimeError(f"Cannot assign attributes to {type(self).__name__} objects")

    def __repr__(self) -> str:
        facts = ", ".join(f"{key}={getattr(self, key)}" for key in self.__dict__["_keys"])
        return f"{type(self).__name__}({facts})"


def get_worker_info() -> WorkerInfo | None:
    """The current worker's facts; None in the main process."""
    return _current


def begin_worker(**facts: Any) -> None:
    """Say that this process is a worker from now on."""
    global _current
    _current = WorkerInfo(**facts)
