"""Checks of arguments, with MindSpore Serving's kind of error."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

__all__ = ["check_bool", "check_int", "check_str", "integers", "names"]


def check_str(name: str, value: Any) -> None:
    """Raises RuntimeError unless `value` is a text that is not empty."""
    if not isinstance(value, str):
        raise RuntimeError(f"Parameter '{name}' should be str, but actually {type(value)}")
    if not value:
        raise RuntimeError(f"Parameter '{name}' should not be empty str")


def check_bool(name: str, value: Any) -> None:
    """Raises RuntimeError unless `value` is True or False."""
    if not isinstance(value, bool):
        raise RuntimeError(f"Parameter '{name}' should be bool, but actually {type(value)}")


def check_int(name: str, value: Any, lowest: int | None = None, highest: int | None = None) -> None:
    """Raises RuntimeError unless `value` is a whole number between the bounds."""
    if isinstance(value, bool) or not isinstance(value, int):
        raise RuntimeError(f"Parameter '{name}' should be int, but actually {type(value)}")
    too_low = lowest is not None and value < lowest
    if too_low or (highest is not None and value > highest):
        allowed = f">= {lowest}" if highest is None else f"in range [{lowest},{highest}]"
        raise RuntimeError(f"Parameter '{name}' should be {allowed}")


def names(name: str, value: Any) -> tuple[str, ...]:
    """A text, or a tuple or list of different texts, as a tuple."""
    values = _sequence(name, (value,) if isinstance(value, str) else value, "str")
    for each in values:
        check_str(name, each)
    return values


def integers(name: str, value: Any, lowest: int = 0) -> tuple[int, ...]:
    """A whole number, or a tuple or list of different ones, as a tuple."""
    values = _sequence(name, (value,) if isinstance(value, int) else value, "int")
    for each in values:
        check_int(name, each, lowest)
    return values


def _sequence(name: str, value: Iterable[Any], kind: str) -> tuple[Any, ...]:
    if not isinstance(value, tuple | list):
        raise RuntimeError(
            f"Parameter '{name}' should be {kind} or tuple/list of {kind}, "
            f"but actually {type(value)}"
        )
    for position, each in enumerate(value):
        if each in value[:position]:
            raise RuntimeError(
                f"The item value '{each}' in parameter '{name}' should not be repeated"
            )
    return tuple(value)
