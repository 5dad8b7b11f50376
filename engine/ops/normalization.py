"""Normalisation by mean and variance: of a batch, of the last axes, of groups of channels."""

from __future__ import annotations

import operator
from typing import Any

from .. import dtypes
from ..aval import Aval, Shape, aval
from ..dispatch import state
from ..dtype_support import require_floats, require_one_type
from ..result_strides import follow_images
from ..tensor import constant
from . import elementwise as pointwise
from .complex import conj
from .convolution import NetworkOp
from .movement import cast, reshape
from .reduction import mean, sum_


def _like(x: Aval, shape: Shape | None = None) -> Aval:
    return aval(x.shape if shape is None else shape, x.dtype, None, x.device)


def _held(x: Aval, shape: Shape, *parameters: Aval | None) -> Aval:
    """Statistics, and the parameters' gradients, of a type with the parameters' precision."""
    wide = any(p is not None and p.dtype.itemsize > x.dtype.itemsize for p in parameters)
    kind = dtypes.float32 if wide and x.dtype.itemsize < 4 else x.dtype
    return aval(shape, kind, None, x.device)


def _given(gradients: Any, needs: Any) -> list[Any]:
    """The gradients for those inputs that need one; absent inputs have none."""
    return [v if need else None for v, need in zip(gradients, needs, strict=True)]


# The gradients of the parameters are sums over the axes that the parameters do not have. While a
# second order is recorded, the gradient is made of differentiable ops instead of its own kernel.


def _formula(
    g: Any, x: Any, weight: Any, axes: tuple[int, ...], eps: float, centered: bool = True
) -> tuple[Any, Any]:
    """The gradient of x, and that of the weight before it is summed, of y = n * weight with
    n = (x - mean) / sqrt(mean((x - mean)**2) + eps) over ``axes`` (mean = 0 unless
    ``centered``): (gw - mean(gw) - n mean(gw n)) / sqrt(...), gw = g * weight; and g * n."""

    def average(value: Any) -> Any:
        return mean(value, axis=axes, keepdims=True)

    if x.aval.dtype.itemsize < 4:
        g, x = cast(g, dtype=dtypes.float32), cast(x, dtype=dtypes.float32)
    deviation = pointwise.subtract(x, average(x)) if centered else x
    variance = average(pointwise.multiply(deviation, deviation))
    scale = pointwise.rsqrt(pointwise.add(variance, constant(eps)))
    normal = pointwise.multiply(deviation, scale)
    weighed = g if weight is None else pointwise.multiply(g, weight)
    along = pointwise.multiply(normal, average(pointwise.multiply(weighed, normal)))
    across = pointwise.subtract(weighed, average(weighed)) if centered else weighed
    return (
        pointwise.multiply(pointwise.subtract(across, along), scale),
        pointwise.multiply(g, normal),
    )


def _total(value: Any, kept: tuple[int, ...]) -> Any:
    """The sum over all axes but ``kept``."""
    axes = tuple(i for i in range(value.aval.ndim) if i not in kept)
    return sum_(value, axis=axes, keepdims=False) if axes else value


def _with_one_type(kernel: str) -> Any:
    def check(x: Aval, *parameters: Aval | None) -> None:
        require_one_type(x, *parameters)
        require_floats(x, kernel)

    return check


# --- over the batch --------------------------------------------------------------------------


def _batch_norm_aval(
    x: Aval, weight: Aval | None, bias: Aval | None, *, eps: float
) -> tuple[Aval, ...]:
    statistics = _held(x, (x.shape[1],), weight, bias)
    return _like(x), statistics, statistics, statistics


def _batch_norm_types(x: Aval, *parameters: Aval | None) -> None:
    require_floats(x, "batch_norm")
    require_one_type(x, *parameters)


def _batch_norm_vjp(
    g: Any, out1: Any, out2: Any, x: Any, weight: Any, needs: Any, eps: float
) -> Any:
    if not state.grad_enabled:
        return _given(batch_norm_gradient(g[0], x, weight, out1, out2), needs)
    axes = tuple(i for i in range(x.aval.ndim) if i != 1)
    if weight is not None:
        weight = reshape(weight, (x.aval.shape[1], *[1] * (x.aval.ndim - 2)))
    gradient, slope = _formula(g[0], x, weight, axes, eps)
    return _given((gradient, _total(slope, (1,)), _total(g[0], (1,))), needs)


# (x - mean) / sqrt(variance + eps) * weight + bias over all axes but 1, the mean, the inverse
# standard deviation, and the sum of squared deviations
batch_norm_training = NetworkOp(
    "native_batch_norm",
    _batch_norm_aval,
    "normalization.batch_norm_training",
    layout=follow_images,
    vjp=_batch_norm_vjp,
    dtypes=_batch_norm_types,
)
batch_norm_gradient = NetworkOp(
    "native_batch_norm_backward",
    lambda y, x, weight, mean, invstd: (
        _like(x), _held(x, (x.shape[1],), weight), _held(x, (x.shape[1],), weight),
    ),
    "normalization.batch_norm_gradient",
    layout=follow_images,
)  # fmt: skip


def _batch_norm_inference_vjp(
    g: Any, x: Any, weight: Any, mean: Any, variance: Any, needs: Any, eps: float
) -> Any:
    """Statistics that are given have no gradient, as in torch."""
    shape = (x.aval.shape[1], *[1] * (x.aval.ndim - 2))
    scale = reshape(pointwise.rsqrt(pointwise.add(variance, constant(eps))), shape)
    factor = scale if weight is None else pointwise.multiply(scale, reshape(weight, shape))
    normal = pointwise.multiply(pointwise.subtract(x, reshape(mean, shape)), scale)
    gradients = (
        lambda: pointwise.multiply(g, factor),
        lambda: _total(pointwise.multiply(g, normal), (1,)),
        lambda: _total(g, (1,)),
        lambda: None,
        lambda: None,
    )
    return [made() if need else None for made, need in zip(gradients, needs, strict=True)]


# the same by a mean and a variance that are given
batch_norm_inference = NetworkOp(
    "batch_norm_inference",
    lambda x, weight, bias, mean, variance, *, eps: _like(x),
    "normalization.batch_norm_inference",
    layout=follow_images,
    vjp=_batch_norm_inference_vjp,
    grad_name="NativeBatchNormBackward0",
    dtypes=_batch_norm_types,
)

# momentum * new / divisor + (1 - momentum) * old
move_average = NetworkOp(
    "move_average",
    lambda old, new, *, momentum, divisor: old,
    "normalization.move_average",
    in_place_safe=True,
)

# --- over the last axes ----------------------------------------------------------------------


def _layer_norm_aval(
    x: Aval, weight: Aval | None, bias: Aval | None, *, eps: float, normalized_ndim: int
) -> tuple[Aval, ...]:
    kept = x.shape[: x.ndim - normalized_ndim]
    return _like(x), _held(x, kept, weight, bias), _held(x, kept, weight, bias)


def _layer_norm_vjp(
    g: Any, out1: Any, out2: Any, x: Any, weight: Any, needs: Any, eps: float, normalized_ndim: int
) -> Any:
    if not state.grad_enabled:
        gradients = layer_norm_gradient(
            g[0], x, weight, out1, out2, normalized_ndim=normalized_ndim
        )
        return _given(gradients, needs)
    axes = tuple(range(x.aval.ndim - normalized_ndim, x.aval.ndim))
    gradient, slope = _formula(g[0], x, weight, axes, eps)
    return _given((gradient, _total(slope, axes), _total(g[0], axes)), needs)


# the last axes normalised, times weight, plus bias; the means and inverse deviations
layer_norm = NetworkOp(
    "native_layer_norm",
    _layer_norm_aval,
    "normalization.layer_norm",
    vjp=_layer_norm_vjp,
    autocast_cuda="full",
    dtypes=_with_one_type("LayerNormKernelImpl"),
)
layer_norm_gradient = NetworkOp(
    "native_layer_norm_backward",
    lambda y, x, weight, mean, rstd, *, normalized_ndim: (
        _like(x),
        _held(x, x.shape[x.ndim - normalized_ndim :], weight),
        _held(x, x.shape[x.ndim - normalized_ndim :], weight),
    ),
    "normalization.layer_norm_gradient",
)

# --- over groups of channels -----------------------------------------------------------------


def _group_norm_aval(
    x: Aval, weight: Aval | None, bias: Aval | None, *, groups: int, eps: float
) -> tuple[Aval, ...]:
    statistics = _held(x, (x.shape[0], operator.index(groups)), weight, bias)
    return _like(x), statistics, statistics


def _group_norm_vjp(
    g: Any, out1: Any, out2: Any, x: Any, weight: Any, needs: Any, groups: int, eps: float
) -> Any:
    if not state.grad_enabled:
        return _given(group_norm_gradient(g[0], x, weight, out1, out2, groups=groups), needs)
    shape = x.aval.shape
    each = shape[1] // groups
    parts = (shape[0], groups, each, *shape[2:])
    if weight is not None:
        weight = reshape(weight, (groups, each, *[1] * (len(shape) - 2)))
    axes = tuple(range(2, len(parts)))
    gradient, slope = _formula(reshape(g[0], parts), reshape(x, parts), weight, axes, eps)
    slope = reshape(_total(slope, (1, 2)), (shape[1],))
    return _given((reshape(gradient, shape), slope, _total(g[0], (1,))), needs)


# each of ``groups`` groups of channels of each sample normalised, times weight, plus bias
group_norm = NetworkOp(
    "native_group_norm",
    _group_norm_aval,
    "normalization.group_norm",
    layout=follow_images,
    vjp=_group_norm_vjp,
    autocast_cuda="full",
    dtypes=_with_one_type("GroupNormKernelImpl"),
)
group_norm_gradient = NetworkOp(
    "native_group_norm_backward",
    lambda y, x, weight, mean, rstd, *, groups: (
        _like(x), _held(x, (x.shape[1],), weight), _held(x, (x.shape[1],), weight),
    ),
    "normalization.group_norm_gradient",
    layout=follow_images,
)  # fmt: skip

# --- by the root of the mean square ----------------------------------------------------------


def _rms_norm_vjp(
    g: Any, out1: Any, x: Any, weight: Any, needs: Any, eps: float, normalized_ndim: int
) -> Any:
    if x.aval.dtype.is_complex:  # all of it is holomorphic: the real formula of the conjugates
        x, weight = conj(x), None if weight is None else conj(weight)
    elif not state.grad_enabled:
        gradients = rms_norm_gradient(g[0], x, weight, out1, normalized_ndim=normalized_ndim)
        return _given(gradients, needs)
    axes = tuple(range(x.aval.ndim - normalized_ndim, x.aval.ndim))
    gradient, slope = _formula(g[0], x, weight, axes, eps, centered=False)
    return _given((gradient, _total(slope, axes)), needs)


# x / sqrt(mean(x**2) + eps) over the last axes, times weight; the inverse roots
rms_norm = NetworkOp(
    "rms_norm",
    lambda x, weight, *, eps, normalized_ndim: (
        _like(x), _like(x, x.shape[: x.ndim - normalized_ndim]),
    ),
    "normalization.rms_norm",
    layout=follow_images,
    vjp=_rms_norm_vjp,
    grad_name="MulBackward0",
)  # fmt: skip
rms_norm_gradient = NetworkOp(
    "rms_norm_backward",
    lambda y, x, weight, rstd, *, normalized_ndim: (
        _like(x), _like(x, x.shape[x.ndim - normalized_ndim :]),
    ),
    "normalization.rms_norm_gradient",
    layout=follow_images,
)  # fmt: skip
