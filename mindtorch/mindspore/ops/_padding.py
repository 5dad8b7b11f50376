"""Pad modes: how many elements "same", "valid" and "pad" add before and after each axis."""

from __future__ import annotations

from typing import Any

__all__ = ["before_and_after", "check_pad_mode", "explicit", "spread"]


def check_pad_mode(owner: str, mode: str, padding: Any) -> str:
    """The mode in lower case.

    Raises:
        ValueError: not "same", "valid" or "pad", or a padding with another mode than "pad".
    """
    lowered = str(mode).lower()
    if lowered not in ("same", "valid", "pad"):
        raise ValueError(
            f"For '{owner}', the 'pad_mode' must be one of ['same', 'valid', 'pad'], but got "
            f"{mode!r}."
        )
    given = padding if isinstance(padding, (tuple, list)) else (padding,)
    if any(n < 0 for n in given):
        raise ValueError(f"For '{owner}', 'padding' must not be negative, but got {padding}.")
    if lowered != "pad" and any(n != 0 for n in given):
        raise ValueError(
            f"For '{owner}', the 'padding' must be zero when 'pad_mode' is not 'pad', but got "
            f"'padding': {padding} and 'pad_mode': {mode!r}."
        )
    return lowered


def spread(owner: str, name: str, value: Any, count: int) -> tuple[int, ...]:
    """An int for all axes, or one for each.

    Raises:
        ValueError: another number of them, or one that is not positive.
    """
    listed = tuple(value) if isinstance(value, (tuple, list)) else (value,) * count
    if len(listed) != count or any(not isinstance(n, int) or n < 1 for n in listed):
        raise ValueError(
            f"For '{owner}', the '{name}' should be a positive int number or {count} of them, but "
            f"got {value}."
        )
    return listed


def explicit(owner: str, padding: Any, count: int) -> list[tuple[int, int]]:
    """(before, after) for each axis, of one number, one for each axis, or two for each axis."""
    listed = list(padding) if isinstance(padding, (tuple, list)) else [padding] * (2 * count)
    if len(listed) == count and count > 1:
        listed = [n for n in listed for _ in range(2)]
    elif len(listed) == 1:
        listed = listed * (2 * count)
    if len(listed) != 2 * count:
        raise ValueError(f"For '{owner}', 'padding' needs 1 or {2 * count} numbers, got {padding}.")
    return [(listed[2 * i], listed[2 * i + 1]) for i in range(count)]


def before_and_after(
    mode: str, sizes: Any, kernel: Any, stride: Any, dilation: Any, given: Any
) -> list[tuple[int, int]]:
    """The padding of each axis. "same": the result has ceil(size / stride) elements, and what is
    odd goes after."""
    if mode == "pad":
        return list(given)
    if mode == "valid":
        return [(0, 0)] * len(kernel)
    padding = []
    for n, k, s, d in zip(sizes, kernel, stride, dilation, strict=True):
        total = max((-(-n // s) - 1) * s + (k - 1) * d + 1 - n, 0)
        padding.append((total // 2, total - total // 2))
    return padding
