"""The switch of the fused path of transformer layers; there is one path here."""

from __future__ import annotations

_fastpath = True


def get_fastpath_enabled() -> bool:
    """What :func:`set_fastpath_enabled` was told."""
    return _fastpath


def set_fastpath_enabled(value: bool) -> None:
    """Remember ``value``; layers compute the same either way."""
    global _fastpath
    _fastpath = bool(value)
