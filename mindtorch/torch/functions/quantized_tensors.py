"""What is asked of quantised tensors alone; plain tensors refuse.

Their class implements these (:mod:`mindtorch.torch._quantized`).
"""

from __future__ import annotations

from typing import Any, NoReturn

from .._api.publish import function


def _refused(name: str) -> NoReturn:
    raise NotImplementedError(
        f"Could not run 'aten::{name}' with arguments from the 'CPU' backend. Only quantized "
        "tensors have it; torch.quantize_per_tensor makes them."
    )


@function(checked=True)
def int_repr(input: Any) -> Any:  # noqa: A002
    """The levels of a quantised tensor, as int8, uint8 or int32."""
    _refused("int_repr")


@function(checked=True)
def q_scale(input: Any) -> float:  # noqa: A002
    """What lies between two levels of a tensor that was quantised with one scale."""
    _refused("q_scale")


@function(checked=True)
def q_zero_point(input: Any) -> int:  # noqa: A002
    """The level that stands for 0 in a tensor that was quantised with one scale."""
    _refused("q_zero_point")


@function(checked=True)
def q_per_channel_scales(input: Any) -> Any:  # noqa: A002
    """The scale for each index of the axis by which a tensor was quantised."""
    _refused("q_per_channel_scales")


@function(checked=True)
def q_per_channel_zero_points(input: Any) -> Any:  # noqa: A002
    """The level that stands for 0, for each index of the axis by which a tensor was quantised."""
    _refused("q_per_channel_zero_points")


@function(checked=True)
def q_per_channel_axis(input: Any) -> int:  # noqa: A002
    """The axis by which a tensor was quantised."""
    _refused("q_per_channel_axis")


@function(namespace=False)
def qscheme(self: Any) -> Any:
    """How a quantised tensor's numbers are put on levels."""
    _refused("qscheme")
