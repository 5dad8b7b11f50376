"""Numbers that commands take, with what argparse says of others (exit status 2)."""

from __future__ import annotations

import argparse

__all__ = ["count", "count_or_none", "seed", "size", "step_range"]


def _whole(text: str, lowest: int, highest: float = float("inf")) -> int:
    value = int(text)  # argparse tells what a ValueError is about
    if not lowest <= value <= highest:
        most = f"to {highest:.0f}" if highest < float("inf") else "at least"
        raise argparse.ArgumentTypeError(f"must be {lowest} {most}, but got {text}")
    return value


def count(text: str) -> int:
    """A whole number, 1 at least."""
    return _whole(text, 1)


def count_or_none(text: str) -> int:
    """A whole number, 0 at least."""
    return _whole(text, 0)


def seed(text: str) -> int:
    """A seed that torch, numpy and random take: 0 to 2**32 - 1."""
    return _whole(text, 0, 2**32 - 1)


def size(text: str) -> float:
    """A finite number above zero."""
    value = float(text)
    if not 0 < value < float("inf"):
        raise argparse.ArgumentTypeError(f"must be above 0 and finite, but got {text}")
    return value


def step_range(text: str) -> range:
    """Steps from 1: "3", or "2-5"."""
    first, _, last = text.partition("-")
    begin = _whole(first, 1)
    return range(begin, _whole(last or first, begin) + 1)
