"""Normalisation layers as functions."""

from __future__ import annotations

import math
import operator
from functools import partial
from typing import Any

from mindtorch.engine import dtype_support, dtypes
from mindtorch.engine.autograd.inplace import apply_in_place
from mindtorch.engine.call_cache.call_cache import cached
from mindtorch.engine.ops import elementwise as pointwise
from mindtorch.engine.ops import movement
from mindtorch.engine.ops import normalization as ops
from mindtorch.engine.tensor import constant as c

from .._api.kernel_signatures import Kernel
from .._api.publish import functional
from .._api.warn_caller import warn_caller_once
from .._tensor.size_and_formats import finfo
from ..autograd.grad_mode import no_grad
from . import _functional_pooling as pooling
from ._half import in_float32

__all__ = [
    "batch_norm", "group_norm", "instance_norm", "layer_norm", "local_response_norm", "rms_norm",
]  # fmt: skip


@functional(
    kernel=Kernel(
        "batch_norm", "input weight bias running_mean running_var training momentum eps training"
    )
)
def batch_norm(
    input: Any,  # noqa: A002
    running_mean: Any,
    running_var: Any,
    weight: Any = None,
    bias: Any = None,
    training: bool = False,
    momentum: float = 0.1,
    eps: float = 1e-5,
) -> Any:
    """(x - mean) / sqrt(var + eps) * weight + bias for each channel (axis 1).

    In training the statistics are the batch's own, and the running ones are moved towards them by
    ``momentum``; else the running ones are used.
    """
    if not training:
        return _by_averages(input, running_mean, running_var, weight, bias, eps)
    result, mean, spread = _by_batch(input, running_mean, running_var, weight, bias, eps)
    if mean is not None:
        count = input.aval.size // max(mean.aval.size, 1)
        move_statistics(running_mean, running_var, mean, spread, momentum, count)
    return result


@cached
def _by_averages(
    input: Any, running_mean: Any, running_var: Any, weight: Any, bias: Any, eps: float  # noqa: A002
) -> Any:
    result = _checked(input, running_mean, running_var, weight, bias, False, eps)
    if result is not None:
        return result
    return ops.batch_norm_inference(input, weight, bias, running_mean, running_var, eps=float(eps))


@cached
def _by_batch(
    input: Any, running_mean: Any, running_var: Any, weight: Any, bias: Any, eps: float  # noqa: A002
) -> tuple[Any, Any, Any]:
    """The result, and of each channel the mean and the sum of the squared distances from it, which
    are None where there are no elements."""
    result = _checked(input, running_mean, running_var, weight, bias, True, eps)
    if result is not None:
        return result, None, None
    if running_mean is not None or running_var is not None:
        known = [None if x is None else x.aval for x in (weight, bias, running_mean, running_var)]
        ops.batch_norm_inference.check_dtypes(input.aval, *known)
    result, mean, _, spread = ops.batch_norm_training(input, weight, bias, eps=float(eps))
    return result, mean, spread


def _checked(
    input: Any, running_mean: Any, running_var: Any, weight: Any, bias: Any,  # noqa: A002
    training: bool, eps: float,
) -> Any:  # fmt: skip
    """torch's errors; the result, where it is empty."""
    if training and eps <= 0.0:
        raise ValueError(f"batch_norm eps must be positive during training, but got {eps}")
    if eps < 0.0:
        raise ValueError(f"batch_norm eps must be non-negative, but got {eps}")
    _check_batch_norm(input, running_mean, running_var, weight, bias, training)
    shape = input.aval.shape
    if input.aval.size == 0 and len(shape) == 1:
        return input.clone()
    if input.aval.size == 0 and shape[1]:  # of any types, and with gradients of zeros
        result = input.clone()
        result = result if weight is None else result * weight[0]
        return result if bias is None else result + bias[0]
    return None


def move_statistics(
    running_mean: Any, running_var: Any, mean: Any, squares: Any, momentum: float, count: int
) -> None:
    """Move the running statistics towards those of ``count`` elements; no gradient sees it.

    Args:
        squares: the sums of the squared distances from ``mean``.
    """
    if count > 0 and not (running_mean is None is running_var):
        _move_both(running_mean, running_var, mean, squares, momentum, count)


@no_grad()
def _move_both(
    running_mean: Any, running_var: Any, mean: Any, squares: Any, momentum: float, count: int
) -> None:
    if running_mean is not None:
        _move(running_mean, mean, momentum, 1)
    if running_var is not None:
        _move(running_var, squares, momentum, count - 1)


@partial(cached, writes=True)
def _move(running: Any, new: Any, momentum: float, divisor: int) -> Any:
    """Move a running statistic towards ``new / divisor``."""
    return apply_in_place(
        ops.move_average, running, running, new, momentum=float(momentum), divisor=divisor
    )


def _check_batch_norm(
    x: Any, running_mean: Any, running_var: Any, weight: Any, bias: Any, training: bool
) -> None:
    """torch's checks; an input of one axis has 0 channels for them, and then no axis of channels.

    Nothing but the error is left to such an input, unless it is empty.
    """
    shape = x.aval.shape
    if training:
        if not shape:
            raise IndexError("tuple index out of range")
        if shape[0] * math.prod(shape[2:]) == 1:
            raise ValueError(
                f"Expected more than 1 value per channel when training, got input size {x.shape}"
            )
    if shape == (0,):
        return
    channels = shape[1] if len(shape) > 1 else 0
    named = (("running_mean", running_mean), ("running_var", running_var), ("weight", weight),
             ("bias", bias))  # fmt: skip
    for name, value in named:
        if value is None:
            if not training and name.startswith("running"):
                raise RuntimeError(f"{name} must be defined in evaluation mode")
        elif value.aval.size != channels:
            raise RuntimeError(f"{name} should contain {channels} elements not {value.aval.size}")
    if len(shape) < 2:
        raise IndexError(
            f"Dimension out of range (expected to be in range of [-{max(len(shape), 1)}, "
            f"{max(len(shape), 1) - 1}], but got 1)"
        )


@functional(cacheable=True)
def instance_norm(
    input: Any,  # noqa: A002
    running_mean: Any = None,
    running_var: Any = None,
    weight: Any = None,
    bias: Any = None,
    use_input_stats: bool = True,
    momentum: float = 0.1,
    eps: float = 1e-5,
) -> Any:
    """:func:`batch_norm` with the statistics of each sample's channels."""
    n, channels, *spatial = input.aval.shape
    if not use_input_stats:
        input = movement.contiguous(input)  # noqa: A001
        return batch_norm(input, running_mean, running_var, weight, bias, False, momentum, eps)
    if math.prod(spatial) == 1:
        raise ValueError(
            "Expected more than 1 spatial element when training, got input size "
            f"{input.shape}"
        )
    flat = movement.reshape(input, (1, n * channels, *spatial))
    each = [None if v is None else v.repeat(n) for v in (weight, bias)]
    result, mean, _, spread = ops.batch_norm_training(flat, *each, eps=float(eps))
    for running, new, divisor in (
        (running_mean, mean, 1), (running_var, spread, math.prod(spatial) - 1)
    ):  # fmt: skip
        if running is not None:
            repeated = running.detach().repeat(n)
            with no_grad():
                _move(repeated, new, momentum, divisor)
            running.copy_(repeated.view(n, channels).mean(0))
    return movement.reshape(result, input.aval.shape)


def _check_normalized(x: Any, shape: tuple[int, ...], named: Any, star: str) -> None:
    if not shape:
        raise RuntimeError(
            "Expected normalized_shape to be at least 1-dimensional, i.e., containing at least "
            "one element, but got normalized_shape = []"
        )
    for name, value in named:
        if value is not None and tuple(value.aval.shape) != shape:
            raise RuntimeError(
                f"Expected {name} to be of same shape as normalized_shape, but got {name} of "
                f"shape {list(value.aval.shape)} and normalized_shape = {list(shape)}"
            )
    if tuple(x.aval.shape[-len(shape) :]) != shape:
        listed = ", ".join(map(str, shape))
        raise RuntimeError(
            f"Given normalized_shape={list(shape)}, expected input with shape [*{star}{listed}], "
            f"but got input of size{list(x.aval.shape)}"
        )


_LAYER_NORM = Kernel("layer_norm", "input normalized_shape weight bias eps")


@functional(cacheable=True, kernel=_LAYER_NORM, explained=False)
def layer_norm(
    input: Any, normalized_shape: Any, weight: Any = None, bias: Any = None, eps: float = 1e-5  # noqa: A002
) -> Any:
    """(x - mean) / sqrt(var + eps) * weight + bias over the last axes."""
    try:
        shape = tuple(normalized_shape)
        _check_normalized(input, shape, (("weight", weight), ("bias", bias)), ", ")
        return ops.layer_norm(
            input, weight, bias, eps=float(eps), normalized_ndim=len(shape)
        )[0]
    except Exception as error:
        raise _LAYER_NORM.wrong(
            error, input=input, normalized_shape=normalized_shape, weight=weight, bias=bias, eps=eps
        ) from None


@functional(
    cacheable=True, kernel=Kernel("rms_norm", "input normalized_shape weight eps"),
    around=in_float32,
)  # fmt: skip
def rms_norm(input: Any, normalized_shape: Any, weight: Any = None, eps: Any = None) -> Any:  # noqa: A002
    """x / sqrt(mean(x**2) + eps) * weight over the last axes."""
    shape = tuple(normalized_shape)
    _check_normalized(input, shape, (("weight", weight),), "")
    if input.aval.dtype.category < dtypes.FLOAT:
        dtype_support.refuse("rms_norm", input.aval.dtype)
    if weight is not None and weight.aval.dtype is not input.aval.dtype:
        kinds = [dtypes.c_name(x.aval.dtype) for x in (input, weight)]
        warn_caller_once(
            f"Mismatch dtype between input and weight: input dtype = {kinds[0]}, weight dtype = "
            f"{kinds[1]}, Cannot dispatch to fused implementation.",
            "rms_norm",
        )
    if eps is None:
        eps = finfo(input.aval.dtype).eps
    return ops.rms_norm(input, weight, eps=float(eps), normalized_ndim=len(shape))[0]


@functional(cacheable=True, kernel=Kernel(
    "group_norm", "input num_groups weight bias eps", asked="dim"
))
def group_norm(
    input: Any, num_groups: int, weight: Any = None, bias: Any = None, eps: float = 1e-5  # noqa: A002
) -> Any:
    """(x - mean) / sqrt(var + eps) * weight + bias over groups of channels of each sample."""
    shape = input.aval.shape
    if len(shape) < 2:
        raise RuntimeError(
            f"Expected at least 2 dimensions for input tensor but received {len(shape)}"
        )
    num_groups = operator.index(num_groups)
    if num_groups < 0:
        raise RuntimeError(f"Expected num groups to be greater than 0, got {num_groups}")
    sizes = [shape[0] * shape[1] // num_groups, num_groups, *shape[2:]]
    if math.prod(sizes) // max(sizes[1], 1) == 1:
        raise ValueError(
            "Expected more than 1 value per channel when training, got input size "
            f"{sizes}"
        )
    if shape[1] % num_groups:
        raise RuntimeError(
            "Expected number of channels in input to be divisible by num_groups, but got input of "
            f"shape {list(shape)} and num_groups={num_groups}"
        )
    for name, value in (("weight", weight), ("bias", bias)):
        if value is not None and value.aval.shape != (shape[1],):
            shown = value if weight is None else weight  # torch names the weight's for both
            raise RuntimeError(
                f"Expected {name} to be a vector of size equal to the number of channels in "
                f"input, but got {name} of shape {list(shown.aval.shape)} and input of "
                f"shape {list(shape)}"
            )
    return ops.group_norm(input, weight, bias, groups=num_groups, eps=float(eps))[0]


@functional(cacheable=True)
def local_response_norm(
    input: Any, size: int, alpha: float = 1e-4, beta: float = 0.75, k: float = 1.0  # noqa: A002
) -> Any:
    """x / (k + alpha * mean of x**2 over ``size`` neighbouring channels) ** beta."""
    if input.dim() < 3:
        raise ValueError(
            "Expected 3D or higher dimensionality                          input (got "
            f"{input.dim()} dimensions)"
        )
    shape = input.aval.shape
    if input.aval.size == 0:
        return input
    squares = movement.reshape(
        pointwise.multiply(input, input), (shape[0], 1, shape[1], math.prod(shape[2:]))
    )
    around = ((0, 0), (0, 0), (size // 2, (size - 1) // 2), (0, 0))
    padded = movement.pad(squares, c(0), padding=around)
    mean = pooling.avg_pool2d(padded, (size, 1), stride=1)
    divisor = pointwise.add(pointwise.multiply(mean, c(float(alpha))), c(float(k)))
    divisor = pointwise.power(divisor, c(float(beta)))
    return pointwise.divide(input, movement.reshape(divisor, shape))
