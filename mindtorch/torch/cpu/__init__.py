"""torch.cpu: the CPU as a device like others; its ops have ended when they return."""

from __future__ import annotations

from typing import Any


class Stream:
    """The CPU's only stream: ops run one after another."""

    def __init__(self, priority: int = -1) -> None:
        self.priority = priority

    def wait_stream(self, stream: Any) -> None:
        """What was issued before has ended."""


class Event:
    """A moment; on the CPU everything before it has ended."""

    def query(self) -> bool:
        return True

    def record(self, stream: Any = None) -> None:
        """Nothing is pending."""

    def synchronize(self) -> None:
        """Nothing is pending."""

    def wait(self, stream: Any = None) -> None:
        """Nothing is pending."""


class StreamContext:
    """A block on a stream; there is one stream."""

    def __init__(self, stream: Any) -> None:
        self.stream = stream

    def __enter__(self) -> None:
        """There is one stream."""

    def __exit__(self, *exception: object) -> None:
        """There is one stream."""


_current = Stream()


def is_available() -> bool:
    return True


def is_initialized() -> bool:
    return True


def device_count() -> int:
    return 1


def current_device() -> str:
    return "cpu"


def set_device(device: Any) -> None:
    """There is one CPU device."""


def synchronize(device: Any = None) -> None:
    """Ops have ended when they return."""


def current_stream(device: Any = None) -> Stream:
    return _current


def stream(stream: Any) -> StreamContext:
    """A block on ``stream``."""
    return StreamContext(stream)


def __getattr__(name: str) -> Any:
    if name == "amp":
        import importlib

        return importlib.import_module(f"{__package__}.amp")
    raise AttributeError(f"module 'torch.cpu' has no attribute '{name}'")
