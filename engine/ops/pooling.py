"""Pooling over windows of the last axes; inputs are ``[batch, channels, *spatial]``."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from .. import dtypes
from ..aval import Aval, Shape, aval
from ..dtype_support import WHOLE, Check, require_floats
from ..result_strides import follow_images, follow_pictures, follow_pictures_and_points
from ..tensor import full_flat
from .convolution import Ints, NetworkOp
from .indexing import gather, scatter
from .movement import in_format_of, reshape


def pooled_length(
    n: int, kernel: int, stride: int, padding: int, dilation: int, ceil_mode: bool
) -> int:
    """How many windows an axis of length ``n`` has; the last begins inside it or its padding."""
    reach = n + 2 * padding - dilation * (kernel - 1) - 1
    count = (reach + (stride - 1 if ceil_mode else 0)) // stride + 1
    if ceil_mode and (count - 1) * stride >= n + padding:
        count -= 1
    return count


def pooled_shape(
    x: Aval, kernel: Ints, stride: Ints, padding: Ints, dilation: Ints, ceil_mode: bool
) -> Shape:
    """The shape of the windows; torch's errors where there are none."""
    if 0 in stride:
        raise RuntimeError("stride should not be zero")
    for what, letter, given in (("kernel size", "k", kernel), ("stride", "d", stride)):
        if any(n <= 0 for n in given):
            planes = (1, *given)[-max(len(given), 2) :]  # signals are planes of one row
            axes = "THW"[-len(planes) :]
            shown = " ".join(f"{letter}{a}: {n}" for a, n in zip(axes, planes, strict=True))
            raise RuntimeError(f"{what} should be greater than zero, but got {shown}")
    if any(d <= 0 for d in dilation):
        names = ("dilationT: ", "dilationH: ", "dilationW: ")[-len(dilation) :]
        listed = " ".join(f"{name}{d}" for name, d in zip(names, dilation, strict=True))
        raise RuntimeError(f"dilation should be greater than zero, but got {listed}")
    for k, p, d in zip(kernel, padding, dilation, strict=True):
        if p < 0:
            raise RuntimeError(f"pad must be non-negative, but got pad: {p}")
        if p > (d * (k - 1) + 1) // 2:
            raise RuntimeError(
                "pad should be at most half of effective kernel size, but got "
                f"pad={p}, kernel_size={k} and dilation={d}"
            )
    spatial = x.shape[2:]
    result = tuple(
        pooled_length(*each, ceil_mode)
        for each in zip(spatial, kernel, stride, padding, dilation, strict=True)
    )
    if any(n < 1 for n in result):
        sizes = "x".join(map(str, x.shape[1:]))
        counts = "x".join(map(str, (x.shape[1], *result)))
        raise RuntimeError(
            f"Given input size: ({sizes}). Calculated output size: ({counts}). Output size is too "
            "small"
        )
    return (*x.shape[:2], *result)


def _max_pool_aval(
    x: Aval, *, kernel_size: Ints, stride: Ints, padding: Ints, dilation: Ints, ceil_mode: bool
) -> tuple[Aval, Aval]:
    shape = pooled_shape(x, kernel_size, stride, padding, dilation, ceil_mode)
    return aval(shape, x.dtype, None, x.device), aval(shape, dtypes.int64, None, x.device)


def pick(x: Any, places: Any) -> Any:
    """The elements of ``x`` at ``places``, counted within the spatial axes of one channel."""
    flat = reshape(x, (*x.aval.shape[:2], _count(x.aval.shape[2:])))
    index = reshape(places, (*places.aval.shape[:2], _count(places.aval.shape[2:])))
    return reshape(gather(flat, index, axis=2), places.aval.shape)


def _count(shape: Shape) -> int:
    count = 1
    for n in shape:
        count *= n
    return count


def _axes(x: Aval) -> int:
    """How many spatial axes there are, as torch has kernels."""
    return min(max(x.ndim - 2, 1), 3)


def _floats(one: str, two: str, three: str, *others: Any) -> Check:
    """torch's kernel, by the number of spatial axes, takes floats and ``others``."""
    return lambda x: require_floats(x, (one, two, three)[_axes(x) - 1], *others)


def _max_pool_types(x: Aval) -> None:
    kernel = ("max_pool1d_impl", "max_pool2d", "max_pool3d")[_axes(x) - 1]
    require_floats(x, kernel, *[WHOLE] * (_axes(x) > 1))


def _node_name(kind: str) -> Callable[[Any, Any], str]:
    """torch's name of the node, by the number of spatial axes."""
    return lambda avals, params: f"{kind.format(len(avals[0].shape) - 2)}Backward0"


# the largest element of each window, and its place within the spatial axes
max_pool = NetworkOp(
    "max_pool",
    _max_pool_aval,
    "pooling.max_pool",
    layout=follow_images,
    vjp=lambda g, out1, avals: max_pool_gradient(g[0], out1, shape=avals[0].shape),
    dtypes=_max_pool_types,
    grad_name=_node_name("MaxPool{}DWithIndices"),
)

# ``y`` added at ``places`` of zeros
max_pool_gradient = NetworkOp(
    "max_pool_gradient",
    lambda y, places, *, shape: aval(shape, y.dtype, None, y.device),
    "pooling.max_pool_gradient",
    layout=follow_images,
    vjp=(lambda g, places: pick(g, places), None),
)


def _avg_pool_aval(
    x: Aval, *, kernel_size: Ints, stride: Ints, padding: Ints, ceil_mode: bool,
    count_include_pad: bool, divisor_override: int | None,
) -> Aval:  # fmt: skip
    if divisor_override == 0:
        raise RuntimeError("divisor must be not zero")
    shape = pooled_shape(x, kernel_size, stride, padding, (1,) * len(kernel_size), ceil_mode)
    return aval(shape, x.dtype, None, x.device)




# the mean of each window; the divisor counts padding when ``count_include_pad``
avg_pool = NetworkOp(
    "avg_pool",
    _avg_pool_aval,
    "pooling.avg_pool",
    layout=follow_pictures,
    vjp=(
        lambda g, avals, kernel_size, stride, padding, ceil_mode, count_include_pad,
        divisor_override: avg_pool_gradient(
            g, shape=avals[0].shape, kernel_size=kernel_size, stride=stride, padding=padding,
            ceil_mode=ceil_mode, count_include_pad=count_include_pad,
            divisor_override=divisor_override,
        )
    ),
    dtypes=_floats("avg_pool2d", "avg_pool2d", "avg_pool3d_out_frame", dtypes.int64),
    grad_name=_node_name("AvgPool{}D"),
)  # fmt: skip


def _avg_pool_gradient_aval(
    y: Aval, *, shape: Shape, kernel_size: Ints, stride: Ints, padding: Ints, ceil_mode: bool,
    count_include_pad: bool, divisor_override: int | None,
) -> Aval:  # fmt: skip
    return aval(shape, y.dtype, None, y.device)


avg_pool_gradient = NetworkOp(
    "avg_pool_gradient",
    _avg_pool_gradient_aval,
    "pooling.avg_pool_gradient",
    layout=follow_pictures,
    vjp=(
        lambda g, kernel_size, stride, padding, ceil_mode, count_include_pad,
        divisor_override: avg_pool(
            g, kernel_size=kernel_size, stride=stride, padding=padding, ceil_mode=ceil_mode,
            count_include_pad=count_include_pad, divisor_override=divisor_override,
        )
    ),
)  # fmt: skip


def _adaptive_aval(x: Aval, *, output_size: Ints) -> Aval:
    return aval((*x.shape[:2], *output_size), x.dtype, None, x.device)


# means over ``output_size`` windows from floor(i * n / m) up to ceil((i + 1) * n / m)
adaptive_avg_pool = NetworkOp(
    "adaptive_avg_pool",
    _adaptive_aval,
    "pooling.adaptive_avg_pool",
    layout=follow_pictures_and_points,
    vjp=lambda g, avals: adaptive_avg_pool_gradient(g, shape=avals[0].shape),
    dtypes=_floats("adaptive_avg_pool2d", "adaptive_avg_pool2d", "adaptive_avg_pool3d_cpu"),
    grad_name=_node_name("AdaptiveAvgPool{}D"),
)
adaptive_avg_pool_gradient = NetworkOp(
    "adaptive_avg_pool_gradient",
    lambda y, *, shape: aval(shape, y.dtype, None, y.device),
    "pooling.adaptive_avg_pool_gradient",
    layout=follow_pictures,
    vjp=lambda g, avals: adaptive_avg_pool(g, output_size=avals[0].shape[2:]),
)

# the largest element of each such window, and its place within the spatial axes
adaptive_max_pool = NetworkOp(
    "adaptive_max_pool",
    lambda x, *, output_size: (
        _adaptive_aval(x, output_size=output_size),
        aval((*x.shape[:2], *output_size), dtypes.int64, None, x.device),
    ),
    "pooling.adaptive_max_pool",
    layout=follow_pictures,
    vjp=lambda g, out1, avals: max_pool_gradient(g[0], out1, shape=avals[0].shape),
    dtypes=_floats("adaptive_max_pool2d", "adaptive_max_pool2d", "adaptive_max_pool3d_cpu"),
    grad_name=_node_name("AdaptiveMaxPool{}D"),
)


def unpool(x: Any, places: Any, *, shape: Shape) -> Any:
    """``x`` written at ``places`` of zeros; where places repeat, the last one stays."""
    flat_shape = (*shape[:2], _count(shape[2:]))
    zeros = full_flat(flat_shape, x.aval.dtype, 0, x.aval.device)
    index = reshape(places, (*places.aval.shape[:2], _count(places.aval.shape[2:])))
    values = reshape(x, index.aval.shape)
    return in_format_of(x, reshape(scatter(zeros, index, values, axis=2), shape))
