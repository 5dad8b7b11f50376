"""What loops need to know of a scalar function beside its formula, stated where it is defined."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Literal, NamedTuple, TypeVar

Function = TypeVar("Function", bound=Callable[..., Any])


class Facts(NamedTuple):
    """Properties of a scalar function.

    Attributes:
        cheap: takes less time than reading its result from memory; fusion may compute it twice.
        light: from how many operands on whose elements lie apart its loop is as fast as on dense
            copies of them: LLVM makes vectors of it or has no need to. 0 for never.
        rounds: which operands torch rounds to their common 16-bit type first: none, "all", or
            "tensors", where a second operand that is one number is taken as it is.
        of_complex: the formula holds for complex numbers as it stands.
        of_whole: the function that it is for whole numbers, where the formula does not hold.
    """

    cheap: bool = False
    light: int = 0
    rounds: Literal["", "all", "tensors"] = ""
    of_complex: bool = False
    of_whole: str = ""


_NONE = Facts()
_STATED: dict[str, Facts] = {}


def facts(**stated: Any) -> Callable[[Function], Function]:
    """State :class:`Facts` of the function that is defined below."""

    def state(function: Function) -> Function:
        _STATED[function.__name__] = Facts(**stated)
        return function

    return state


def facts_of(name: str) -> Facts:
    """What is stated of the scalar function of this name."""
    return _STATED.get(name, _NONE)
