"""Checks that libraries write into their code, and numbers that a compiler of torch's would keep
as symbols: here a number is a number."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from mindtorch.engine import dtypes

from .._tensor.tensor import Tensor
from .unsupported_names import absent_class

_WHY = "sizes are Python's integers"
_DEFAULT = (
    "Expected cond to be True, but got False. (Could this error message be improved? If so, "
    "please report an enhancement request to PyTorch.)"
)
_NUMBERS = (np.integer, np.floating, int, float)

SymInt = absent_class("torch", "SymInt", _WHY)
SymFloat = absent_class("torch", "SymFloat", _WHY)
PyTorchFileReader = absent_class(
    "torch", "PyTorchFileReader", "archives are read by torch.load, in Python"
)
SymBool = absent_class("torch", "SymBool", _WHY)

Message = Callable[[], object] | None


def _check_with(error_type: type[BaseException], cond: bool, message: Message = None) -> None:
    """Raise ``error_type(message())`` where ``cond`` is False.

    Raises:
        TypeError: ``cond`` is no bool, or the message no function.
    """
    if isinstance(cond, Tensor):
        raise TypeError(
            "cond must be a bool, but got a Tensor. For tensor conditions, use "
            "torch._check_tensor_all() to assert that all elements are true."
        )
    if not isinstance(cond, bool):
        raise TypeError(f"cond must be a bool, but got {type(cond)}")
    if cond:
        return
    if message is None:
        raise error_type(_DEFAULT)
    if not callable(message):
        raise TypeError("message must be a callable")
    raise error_type(str(message()))


def _check(cond: bool, message: Message = None) -> None:
    """RuntimeError where ``cond`` is False; ``message`` makes the text."""
    _check_with(RuntimeError, cond, message)


def _check_index(cond: bool, message: Message = None) -> None:
    """IndexError where ``cond`` is False."""
    _check_with(IndexError, cond, message)


def _check_value(cond: bool, message: Message = None) -> None:
    """ValueError where ``cond`` is False."""
    _check_with(ValueError, cond, message)


def _check_type(cond: bool, message: Message = None) -> None:
    """TypeError where ``cond`` is False."""
    _check_with(TypeError, cond, message)


def _check_not_implemented(cond: bool, message: Message = None) -> None:
    """NotImplementedError where ``cond`` is False."""
    _check_with(NotImplementedError, cond, message)


def _check_is_size(
    i: int,
    message: Message = None,
    *,
    max: int | None = None,  # noqa: A002
) -> None:
    """RuntimeError where ``i`` is negative, or larger than ``max``."""
    _check(i >= 0, message)
    if max is not None:
        _check(i <= max, message)


def _check_tensor_all_with(
    error_type: type[BaseException], cond: Tensor, message: Message = None
) -> None:
    """Raise ``error_type`` where an element of the boolean tensor is False."""
    if not isinstance(cond, Tensor):
        raise TypeError(f"cond must be a tensor, but got {type(cond)}")
    if cond.dtype is not dtypes.bool_:
        raise TypeError(f"cond tensor must have dtype torch.bool, but got {cond.dtype}")
    _check_with(error_type, bool(cond.all().item()), message)


def _check_tensor_all(cond: Tensor, message: Message = None) -> None:
    """RuntimeError where an element of the boolean tensor is False."""
    _check_tensor_all_with(RuntimeError, cond, message)


def _assert(condition: Any, message: str) -> None:
    """AssertionError where ``condition`` is false."""
    if not condition:
        raise AssertionError(message)


_assert.__module__ = "mindtorch.torch"  # graphs of torch.fx print it as torch._assert


def _assert_async(input: Tensor, assert_msg: str | None = None) -> None:  # noqa: A002
    """RuntimeError where the tensor's one element is zero."""
    if not bool(input):
        text = "Expected Tensor with single nonzero value, but got zero"
        raise RuntimeError(text if assert_msg is None else assert_msg)


def sym_int(a: Any) -> int:
    """``a`` as an integer, rounded toward zero."""
    return math.trunc(a)


def _check_range(size: Any, least: int, most: int) -> None:
    if most < least:
        raise RuntimeError(
            f"Max must be greater than or equal to min. Got min={least} max={most}"
        )
    if not least <= size <= most:
        raise RuntimeError(f"Invalid value range for {size} between [{least}, {most}].")


def sym_constrain_range(
    size: Any, *, min: int | None = None, max: int | None = None  # noqa: A002
) -> None:
    """Raise RuntimeError where a number is not within bounds.

    Args:
        size: the number; cut to a whole one.
        min, max: the bounds, which are allowed; None for those of 64 bits.
    """
    limits = np.iinfo(np.int64)
    least, most = limits.min if min is None else min, limits.max if max is None else max
    _check_range(int(size), int(least), int(most))


def sym_constrain_range_for_size(
    size: Any, *, min: int | None = None, max: int | None = None  # noqa: A002
) -> None:
    """Raise RuntimeError where a size is not within bounds, from zero where ``min`` is None.

    Args:
        size: the size.
        min, max: the bounds, which are allowed.
    """
    if max is not None and max <= 2:
        raise RuntimeError(
            f"Max value to constrain_range_for_size must be greater than 2. got: {max}"
        )
    sym_constrain_range(size, min=0 if min is None else min, max=max)


def sym_float(a: Any) -> float:
    """``a`` as a float."""
    return float(a)


def sym_not(a: Any) -> bool:
    """Whether ``a`` is false."""
    return not a


def _chosen(a: Any, b: Any, choose: Callable[[Any, Any], Any]) -> Any:
    for each in (a, b):
        if not isinstance(each, _NUMBERS):
            raise AssertionError(f"expected {_NUMBERS}, got {type(each)}")
    real = isinstance(a, (float, np.floating)) or isinstance(b, (float, np.floating))
    chosen = choose(a, b)
    return float(chosen) if real else chosen


def sym_max(a: Any, b: Any) -> Any:
    """The larger number; a float where one of them is.

    Args:
        b: the second number.
    """
    return _chosen(a, b, max)


def sym_min(a: Any, b: Any) -> Any:
    """The smaller number; a float where one of them is.

    Args:
        b: the second number.
    """
    return _chosen(a, b, min)


def sym_sum(args: Sequence[Any] | int = (), *rest: Any) -> Any:
    """The sum of the numbers, given as one list or one by one.

    Args:
        rest: further numbers.
    """
    if not isinstance(args, (list, tuple)):
        args = (args, *rest)
    return sum(args)


def sym_ite(b: bool, t: Any, f: Any) -> Any:
    """``t`` where ``b`` is true, else ``f``; both of one type."""
    if type(t) is not type(f):
        raise AssertionError(f"type mismatch: {type(t)} vs {type(f)}")
    return t if b else f


def sym_sqrt(a: Any) -> float:
    """The square root of ``a``."""
    return math.sqrt(a)
