"""Gradients of convolutions, given the gradient of their result."""

from __future__ import annotations

from typing import Any

from .._compat.aten_private import convolution_backward

__all__ = [
    "conv1d_input", "conv1d_weight", "conv2d_input", "conv2d_weight", "conv3d_input",
    "conv3d_weight",
]  # fmt: skip


def _several(value: Any, axes: int) -> tuple[int, ...]:
    return (value,) * axes if isinstance(value, int) else tuple(value)


def _gradient(
    axes: int, of: int, grad_output: Any, pair: tuple[Any, Any], stride: Any, padding: Any,
    dilation: Any, groups: int,
) -> Any:  # fmt: skip
    """The gradient for the input (``of`` 0) or the weight (1)."""
    stride, padding, dilation = (_several(value, axes) for value in (stride, padding, dilation))
    return convolution_backward(
        grad_output, pair[0], pair[1], None, stride, padding, dilation, False, (0,) * axes, groups,
        (of == 0, of == 1, False),
    )[of]  # fmt: skip


def _define(axes: int) -> tuple[Any, Any]:
    def for_input(
        input_size: Any, weight: Any, grad_output: Any, stride: Any = 1, padding: Any = 0,
        dilation: Any = 1, groups: int = 1,
    ) -> Any:  # fmt: skip
        pair = (grad_output.new_empty(1).expand(tuple(input_size)), weight)
        return _gradient(axes, 0, grad_output, pair, stride, padding, dilation, groups)

    def for_weight(
        input: Any, weight_size: Any, grad_output: Any, stride: Any = 1, padding: Any = 0,  # noqa: A002
        dilation: Any = 1, groups: int = 1,
    ) -> Any:  # fmt: skip
        pair = (input, grad_output.new_empty(1).expand(tuple(weight_size)))
        return _gradient(axes, 1, grad_output, pair, stride, padding, dilation, groups)

    for what, body in (("input", for_input), ("weight", for_weight)):
        body.__name__ = body.__qualname__ = f"conv{axes}d_{what}"
        body.__doc__ = f"The gradient of ``conv{axes}d`` for its {what}, of the given size."
    return for_input, for_weight


conv1d_input, conv1d_weight = _define(1)
conv2d_input, conv2d_weight = _define(2)
conv3d_input, conv3d_weight = _define(3)
