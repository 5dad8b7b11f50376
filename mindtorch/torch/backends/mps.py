"""Apple's GPUs: not here."""

from __future__ import annotations

from typing import NoReturn


def is_available() -> bool:
    """False: there is no such device."""
    return False


def is_built() -> bool:
    return False


def is_macos_or_newer(major: int, minor: int) -> NoReturn:
    raise RuntimeError("Cannot execute isOnMacOSorNewer() without MPS backend.")


def is_macos13_or_newer(minor: int = 0) -> NoReturn:
    raise RuntimeError("Cannot execute isOnMacOSorNewer() without MPS backend.")


def get_core_count() -> NoReturn:
    raise RuntimeError("Cannot execute getCoreCount() without MPS backend.")


def get_name() -> NoReturn:
    raise RuntimeError("Cannot execute getName() without MPS backend.")
