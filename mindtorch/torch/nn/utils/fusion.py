"""Folding an evaluated batch norm into the layer before it."""

from __future__ import annotations

import copy
from typing import Any

from ..parameter import Parameter

__all__ = [
    "fuse_conv_bn_eval", "fuse_conv_bn_weights", "fuse_linear_bn_eval", "fuse_linear_bn_weights",
]  # fmt: skip


def _check_evaluated(layer: Any, bn: Any) -> None:
    if layer.training or bn.training:
        raise AssertionError("Fusion only for eval!")
    if bn.running_mean is None or bn.running_var is None:
        raise AssertionError("bn.running_mean and bn.running_var must not be None")


def _fold(
    weight: Any, bias: Any, mean: Any, var: Any, eps: float, scale: Any, shift: Any,
    shape: tuple[int, ...],
) -> tuple[Parameter, Parameter]:  # fmt: skip
    """Weight and bias of scale (w x + b - mean) / sqrt(var + eps) + shift."""
    factor = (var + eps).rsqrt()
    factor = factor if scale is None else factor * scale
    given = -mean if bias is None else bias - mean
    moved = given * factor
    moved = moved if shift is None else moved + shift
    dtype = weight.dtype if bias is None else bias.dtype
    learned = bias is not None and bias.requires_grad
    return (
        Parameter((weight * factor.reshape(shape)).to(weight.dtype), weight.requires_grad),
        Parameter(moved.to(dtype), learned),
    )


def fuse_conv_bn_weights(
    conv_w: Any, conv_b: Any, bn_rm: Any, bn_rv: Any, bn_eps: float, bn_w: Any, bn_b: Any,
    transpose: bool = False,
) -> tuple[Parameter, Parameter]:  # fmt: skip
    """Weight and bias of one convolution that does what a convolution and a batch norm do.

    Args:
        conv_w, conv_b: the convolution's; the bias may be None.
        bn_rm, bn_rv, bn_eps, bn_w, bn_b: running mean and variance, eps, weight and bias.
        transpose: whether the convolution is a transposed one.
    """
    ends = [1] * (conv_w.dim() - 2)
    shape = (1, -1, *ends) if transpose else (-1, 1, *ends)
    return _fold(conv_w, conv_b, bn_rm, bn_rv, bn_eps, bn_w, bn_b, shape)


def fuse_conv_bn_eval(conv: Any, bn: Any, transpose: bool = False) -> Any:
    """A copy of ``conv`` that also does what ``bn`` does; both must be in evaluation mode.

    Args:
        transpose: the convolution is a transposed one.
    """
    _check_evaluated(conv, bn)
    fused = copy.deepcopy(conv)
    fused.weight, fused.bias = fuse_conv_bn_weights(
        fused.weight, fused.bias, bn.running_mean, bn.running_var, bn.eps, bn.weight, bn.bias,
        transpose,
    )  # fmt: skip
    return fused


def fuse_linear_bn_weights(
    linear_w: Any, linear_b: Any, bn_rm: Any, bn_rv: Any, bn_eps: float, bn_w: Any, bn_b: Any
) -> tuple[Parameter, Parameter]:
    """As :func:`fuse_conv_bn_weights`, for a linear map.

    Args:
        linear_w, linear_b: weight and bias.
        bn_rm, bn_rv, bn_eps, bn_w, bn_b: running mean and variance, ``eps``, weight and bias of the
            normalisation.
    """
    return _fold(linear_w, linear_b, bn_rm, bn_rv, bn_eps, bn_w, bn_b, (-1, 1))


def fuse_linear_bn_eval(linear: Any, bn: Any) -> Any:
    """A copy of ``linear`` that also does what ``bn`` does; both must be in evaluation mode."""
    _check_evaluated(linear, bn)
    if bn.num_features not in (linear.out_features, 1):
        raise AssertionError(
            "To fuse, linear.out_features == bn.num_features or bn.num_features == 1, got "
            f"linear.out_features={linear.out_features} and bn.num_features={bn.num_features}"
        )
    fused = copy.deepcopy(linear)
    fused.weight, fused.bias = fuse_linear_bn_weights(
        fused.weight, fused.bias, bn.running_mean, bn.running_var, bn.eps, bn.weight, bn.bias
    )
    return fused
