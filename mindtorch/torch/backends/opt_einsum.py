"""The order of contractions in einsum: from left to right; opt_einsum is not used."""

from __future__ import annotations

enabled = False
strategy = None


def is_available() -> bool:
    """False."""
    return False


def get_opt_einsum() -> None:
    """None: the package is not used."""
