"""Tensors with random values to test with."""

from __future__ import annotations

import math
import warnings
from collections.abc import Sequence
from typing import Any

import mindtorch.torch as torch

__all__ = ["make_tensor"]

_UNSIGNED = (torch.uint8, torch.uint16, torch.uint32, torch.uint64)
_INTEGERS = (*_UNSIGNED, torch.int8, torch.int16, torch.int32, torch.int64)


def _limits(
    dtype: Any, low: Any, high: Any, least: Any, most: Any, defaults: tuple[Any, Any]
) -> tuple[Any, Any]:
    """The ends, within what the type holds."""
    low = defaults[0] if low is None else low
    high = defaults[1] if high is None else high
    if any(isinstance(v, float) and math.isnan(v) for v in (low, high)):
        raise ValueError(f"`low` and `high` cannot be NaN, but got {low=} and {high=}")
    if low == high and (dtype.is_floating_point or dtype.is_complex):
        warnings.warn(
            "Passing `low==high` to `torch.testing.make_tensor` for floating or complex types is "
            "deprecated since 2.1 and will be removed in 2.3. Use `torch.full(...)` instead.",
            FutureWarning,
            stacklevel=4,
        )
    elif low >= high:
        raise ValueError(f"`low` must be less than `high`, but got {low} >= {high}")
    elif high < least or low >= most:
        raise ValueError(
            f"The value interval specified by `low` and `high` is [{low}, {high}), but {dtype} "
            f"only supports [{least}, {most})"
        )
    return min(max(low, least), most), min(max(high, least), most)


def make_tensor(
    *shape: Any, dtype: Any, device: Any, low: Any = None, high: Any = None,
    requires_grad: bool = False, noncontiguous: bool = False, exclude_zero: bool = False,
    memory_format: Any = None,
) -> Any:  # fmt: skip
    """A tensor of numbers drawn evenly from [low, high).

    Args:
        shape: sizes, or one sequence of them.
        dtype, device: of the tensor.
        low, high: the ends; [-9, 9) by default, [0, 2) for bool and [0, 10) for unsigned types.
        requires_grad: for types of real and complex numbers only.
        noncontiguous: every other element of a larger tensor.
        exclude_zero: replace zeros by 1, or by the type's least normal number.
        memory_format: of the result; not together with ``noncontiguous``.

    Raises:
        ValueError: for ends or options that make no sense.
        TypeError: for another type.
    """
    sizes = tuple(shape[0]) if len(shape) == 1 and isinstance(shape[0], Sequence) else shape
    if noncontiguous and memory_format is not None:
        raise ValueError(
            "The parameters `noncontiguous` and `memory_format` are mutually exclusive, but got "
            f"{noncontiguous=} and {memory_format=}"
        )
    continuous = dtype.is_floating_point or dtype.is_complex
    if requires_grad and not continuous:
        raise ValueError(
            "`requires_grad=True` is not supported for boolean and integral dtypes, but got "
            f"{dtype=}"
        )
    spread = noncontiguous and math.prod(sizes) > 1
    whole = (*sizes[:-1], 2 * sizes[-1]) if spread else sizes
    result = _drawn(whole, dtype, device, low, high)
    if spread:
        result = result[..., 1::2]
    elif memory_format is not None:
        result = result.clone(memory_format=memory_format)
    if exclude_zero:
        result[result == 0] = torch.finfo(dtype).tiny if continuous else 1
    if continuous:
        result.requires_grad_(requires_grad)
    return result


def _drawn(shape: Any, dtype: Any, device: Any, low: Any, high: Any) -> Any:
    if dtype in _INTEGERS or dtype == getattr(torch, "bool"):  # noqa: B009
        if dtype in _INTEGERS:
            info = torch.iinfo(dtype)
            most = min(info.max + 1, torch.iinfo(torch.int64).max)  # randint's bounds are int64
            low, high = _limits(dtype, low, high, info.min, most, (-9, 10))
        else:
            low, high = _limits(dtype, low, high, 0, 2, (0, 2))
        return torch.randint(
            math.ceil(low), math.ceil(high), shape, dtype=dtype, device=device)
    if not (dtype.is_floating_point or dtype.is_complex):
        raise TypeError(
            f"The requested dtype '{dtype}' is not supported by torch.testing.make_tensor(). To "
            "request support, file an issue at: https://github.com/pytorch/pytorch/issues"
        )
    limits = torch.finfo(dtype)
    low, high = _limits(dtype, low, high, limits.min, limits.max, (-9, 9))
    result = torch.empty(shape, dtype=dtype, device=device)
    _fill(torch.view_as_real(result) if dtype.is_complex else result, low, high)
    return result


def _fill(target: Any, low: Any, high: Any) -> None:
    """Even numbers; ends that are too far apart for one draw are drawn at half the size."""
    if high - low >= torch.finfo(target.dtype).max:
        target.uniform_(low / 2, high / 2).mul_(2)
    else:
        target.uniform_(low, high)
