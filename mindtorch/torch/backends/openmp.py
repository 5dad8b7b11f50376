"""OpenMP: kernels run on threads of their own."""

from __future__ import annotations


def is_available() -> bool:
    """False."""
    return False
