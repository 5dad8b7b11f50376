"""NNPACK: not used; its switch is remembered."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

_enabled = True


def is_available() -> bool:
    """False."""
    return False


def set_flags(_enabled: bool) -> tuple[bool]:
    """Set the switch; returns its former value.

    Args:
        _enabled: convolutions may use the library.
    """
    known = globals()
    if not isinstance(_enabled, bool):
        raise RuntimeError(f"set_enabled_NNPACK expects a bool, but got {type(_enabled).__name__}")
    before, known["_enabled"] = known["_enabled"], _enabled
    return (before,)


@contextmanager
def flags(enabled: bool = False) -> Iterator[None]:
    """A block in which the switch has another value.

    Args:
        enabled: convolutions may use the library.
    """
    (before,) = set_flags(enabled)
    try:
        yield
    finally:
        set_flags(before)
