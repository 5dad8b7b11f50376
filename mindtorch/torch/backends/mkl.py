"""Intel MKL: products go to OpenBLAS here."""

from __future__ import annotations


def is_available() -> bool:
    """False."""
    return False
