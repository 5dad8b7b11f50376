"""Functions of ``torch`` that give what a network's layer keeps for its gradient too."""

from __future__ import annotations

import math
from typing import Any

from mindtorch.engine import dtypes
from mindtorch.engine.autograd import tape
from mindtorch.engine.ops import normalization as ops
from mindtorch.engine.ops import reduction

from .._api.arguments import require_tensor
from .._api.publish import FUNCTIONS, store_out
from ..nn import functional as F  # noqa: N812
from ..nn._functional_normalization import move_statistics

__all__ = [
    "native_batch_norm", "native_dropout", "native_dropout_backward", "native_group_norm",
    "native_layer_norm",
]  # fmt: skip


def native_batch_norm(
    input: Any, weight: Any, bias: Any, running_mean: Any, running_var: Any, training: bool,  # noqa: A002
    momentum: float, eps: float, *, out: Any = None,
) -> tuple[Any, Any, Any]:  # fmt: skip
    """(:func:`batch_norm`, the means, ``1 / sqrt(variance + eps)``).

    The statistics are empty where the running ones are used.
    """
    if out is not None:
        found = native_batch_norm(
            input, weight, bias, running_mean, running_var, training, momentum, eps
        )
        return store_out(found, out, "native_batch_norm")
    require_tensor(input, "native_batch_norm", "input", 1)
    if not training:
        if running_mean is None or running_var is None:
            raise RuntimeError("running_mean must be defined in evaluation mode")
        made = ops.batch_norm_inference(
            input, weight, bias, running_mean, running_var, eps=float(eps)
        )
        return made, input.new_empty((0,)), input.new_empty((0,))
    result, mean, spread, squares = ops.batch_norm_training(input, weight, bias, eps=float(eps))
    count = math.prod(input.shape) // max(input.shape[1], 1)
    move_statistics(running_mean, running_var, mean, squares, momentum, count)
    return result, mean.detach(), spread.detach()


def native_layer_norm(
    input: Any, normalized_shape: Any, weight: Any, bias: Any, eps: float  # noqa: A002
) -> tuple[Any, Any, Any]:
    """(:func:`layer_norm`, the means, ``1 / sqrt(variance + eps)``)."""
    result = F.layer_norm(input, normalized_shape, weight, bias, eps)
    mean, spread = _statistics(input.detach(), tuple(range(-len(normalized_shape), 0)), eps)
    return result, mean, spread


def native_group_norm(
    input: Any, weight: Any, bias: Any, N: int, C: int, HxW: int, group: int, eps: float  # noqa: A002, N803
) -> tuple[Any, Any, Any]:
    """(:func:`group_norm`, the means, ``1 / sqrt(variance + eps)``), these of each group."""
    if math.prod(input.shape) != N * C * HxW:
        raise RuntimeError(
            f"Expected X.numel() == N * C * HxW to be true, but got false for the shape "
            f"{list(input.shape)} and N={N}, C={C}, HxW={HxW}"
        )
    result = F.group_norm(input.reshape(N, C, HxW), group, weight, bias, eps)
    mean, spread = _statistics(input.reshape(N, group, C // group * HxW), (-1,), eps)
    shaped = result.reshape(input.shape), mean.reshape(N, group), spread.reshape(N, group)
    first, second, third = (tape.named(each, "NativeGroupNormBackward0") for each in shaped)
    return first, second, third


def _statistics(x: Any, axes: tuple[int, ...], eps: float) -> tuple[Any, Any]:
    """Mean and inverse standard deviation over ``axes``, rounded once."""
    wide = x.float() if x.aval.dtype in (dtypes.float16, dtypes.bfloat16) else x
    mean = wide.mean(axes, keepdim=True)
    places = tuple(axis % x.aval.ndim for axis in axes)
    variance = reduction.var(wide, axis=places, correction=0.0, keepdims=True)
    spread = (variance + eps).rsqrt()
    return mean.to(x.dtype), spread.to(x.dtype)


def native_dropout(input: Any, p: float, train: bool | None) -> tuple[Any, Any]:  # noqa: A002
    """(:func:`dropout`, which elements were kept)."""
    if train is False or p == 0:
        return input.clone(), FUNCTIONS["ones_like"](input).bool()
    kept = FUNCTIONS["empty_like"](input).bernoulli_(1 - p)
    factor = 0 if p == 1 else 1 / (1 - p)
    return tape.named(input * kept * factor, "NativeDropoutBackward0"), kept.bool()


def native_dropout_backward(grad_output: Any, mask: Any, scale: float) -> Any:
    """``grad_output * mask * scale``."""
    made = grad_output * (mask.to(grad_output.dtype) * scale)
    return tape.named(made, "NativeDropoutBackwardBackward0")
