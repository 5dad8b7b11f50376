"""Intel MKL: products go to OpenBLAS here."""

from __future__ import annotations

VERBOSE_OFF, VERBOSE_ON = 0, 1


def is_available() -> bool:
    """False."""
    return False


class verbose:  # noqa: N801
    """A block in which MKL would print its calls; nothing calls it.

    Args:
        enable: VERBOSE_ON or VERBOSE_OFF.
    """

    def __init__(self, enable: int) -> None:
        self.enable = enable

    def __enter__(self) -> verbose:
        return self

    def __exit__(self, *exception: object) -> None:
        pass
