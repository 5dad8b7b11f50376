"""Convolution of any number of spatial axes, its two gradients, and its transpose.

Layout: input ``[batch, channels, *spatial]``, weight ``[out channels, in channels / groups,
*kernel]``. The gradient for the input is also the forward pass of a transposed convolution.
"""

from __future__ import annotations

import functools
import inspect
import math
from collections.abc import Callable
from typing import Any, NoReturn

from .. import dtypes
from ..aval import Aval, Shape, aval
from ..dtype_support import refuse, without
from ..op import Op, find_kernel
from ..result_strides import follow_images
from .elementwise import conj
from .movement import expand, reshape, slice_

Ints = tuple[int, ...]


class NetworkOp(Op):
    """An op whose kernel takes only those params that say more than the results' shapes do."""

    def bind(self, avals: Any, in_avals: Any, params: dict[str, Any]) -> Callable[..., Any]:
        known = _named(find_kernel(self, avals[0].device.type))
        if known is not None:
            params = {name: value for name, value in params.items() if name in known}
        return super().bind(avals, in_avals, params)


@functools.cache
def _named(kernel: Any) -> frozenset[str] | None:
    """The names that a kernel takes; None for one that takes any."""
    known = inspect.signature(kernel).parameters
    return None if any(p.kind is p.VAR_KEYWORD for p in known.values()) else frozenset(known)


def require_same_dtype(
    x: Aval, weight: Aval, bias: Aval | None, stride: Ints, dilation: Ints, groups: int,
    transposed: bool, bias_first: bool,
) -> None:  # fmt: skip
    """Input and parameters have one element type: torch's errors otherwise.

    Args:
        bias_first: the bias's type is compared before all others.
    """
    if x.dtype is weight.dtype and (bias is None or bias.dtype is x.dtype):
        return
    in_library = _in_library(x, weight, stride, dilation, groups)
    if bias is not None and bias.dtype is not x.dtype and bias_first:
        raise RuntimeError(
            f"Input type ({dtypes.c_name(x.dtype)}) and bias type ({dtypes.c_name(bias.dtype)}) "
            "should be the same"
        )
    for name, other in (("weight", weight), ("bias", bias)):
        if other is None or other.dtype is x.dtype:
            continue
        if x.dtype.is_complex or in_library:
            end = " or input should be a MKLDNN tensor and weight is a dense tensor"
            raise RuntimeError(
                f"Input type ({dtypes.tensor_type_name(x.dtype)}) and {name} type "
                f"({dtypes.tensor_type_name(other.dtype)}) should be the same"
                f"{'' if x.dtype.is_complex else end}"
            )
        spatial = x.ndim - 2
        if transposed and x.dtype.category < dtypes.FLOAT and x.dtype is not dtypes.int64:
            refuse(f"slow_conv_transpose{max(spatial, 2)}d_out_cpu", x.dtype)
        if x.dtype is dtypes.bool_:
            refuse("slow_conv2d_cpu" if spatial < 3 else "compute_columns3d", x.dtype)
        raise RuntimeError(
            f"expected scalar type {dtypes.scalar_type_name(x.dtype)} but found "
            f"{dtypes.scalar_type_name(other.dtype)}"
        )


def _in_library(x: Aval, weight: Aval, stride: Ints, dilation: Ints, groups: int) -> bool:
    """Whether torch leaves a convolution to oneDNN, on one thread."""
    if x.dtype in (dtypes.float16, dtypes.bfloat16):
        return True
    images = (*x.shape[:2], *[1] * (x.ndim == 3), *x.shape[2:])  # signals are images of one row
    kernel = (1, *weight.shape[2:])[-2:]
    stepped = any(s != 1 for s in (*stride, *dilation))
    large = math.prod(images[:4]) > 20480 or min(kernel) > 3
    return (
        x.dtype is dtypes.float32
        and (stepped or x.shape[0] >= 16 or kernel != (1, 1))
        and (groups > 1 or large or x.shape[0] > 1)
    )


def output_length(n: int, kernel: int, stride: int, padding: int, dilation: int) -> int:
    """How many places a window of ``kernel`` taps has along an axis of length ``n``."""
    return (n + 2 * padding - dilation * (kernel - 1) - 1) // stride + 1


def check_convolution(
    x: Aval, weight: Aval, bias: Aval | None, stride: Ints, padding: Ints, dilation: Ints,
    groups: int, transposed: bool,
) -> None:  # fmt: skip
    """torch's errors for shapes that do not fit together."""
    if groups <= 0:
        raise RuntimeError("non-positive groups is not supported")
    if any(p < 0 for p in padding):
        raise RuntimeError("negative padding is not supported")
    if any(s <= 0 for s in stride):
        raise RuntimeError("non-positive stride is not supported")
    if any(d <= 0 for d in dilation):
        got = f", but got {list(dilation)}" if min(dilation) == 0 else ""
        raise RuntimeError(f"dilation should be greater than zero{got}")
    if weight.ndim != x.ndim:
        raise RuntimeError(
            f"Expected {weight.ndim}-dimensional input for {weight.ndim}-dimensional weight "
            f"{list(weight.shape)}, but got {x.ndim}-dimensional input of size {list(x.shape)} "
            "instead"
        )
    if weight.shape[0] < groups:
        raise RuntimeError(
            f"Given groups={groups}, expected weight to be at least {groups} at dimension 0, but "
            f"got weight of size {list(weight.shape)} instead"
        )
    if weight.shape[0] % groups:
        raise RuntimeError(
            f"Given groups={groups}, expected weight to be divisible by {groups} at dimension 0, "
            f"but got weight of size [{list(weight.shape)}] instead"
        )
    expected = weight.shape[0] if transposed else weight.shape[1] * groups
    given = f"transposed={int(transposed)}" if transposed else f"groups={groups}"
    if x.shape[1] != expected:
        raise RuntimeError(
            f"Given {given}, weight of size {list(weight.shape)}, expected input{list(x.shape)} "
            f"to have {expected} channels, but got {x.shape[1]} channels instead"
        )
    channels = weight.shape[1] * groups if transposed else weight.shape[0]
    if bias is not None and bias.shape != (channels,):
        given = f"transposed={int(transposed)}, " if transposed else ""
        raise RuntimeError(
            f"Given {given}weight of size {list(weight.shape)}, expected bias to be 1-dimensional "
            f"with {channels} elements, but got bias of size {list(bias.shape)} instead"
        )
    if transposed and x.size and 0 in weight.shape[2:]:
        _refuse_kernel(weight.shape, transposed)
    require_same_dtype(x, weight, bias, stride, dilation, groups, transposed, not transposed)


def _refuse_kernel(shape: Shape, transposed: bool) -> NoReturn:
    """torch's errors for kernels of no elements."""
    kernel = shape[2:]
    if len(kernel) < 3:
        sizes = "kernel_height: {} kernel_width: {}".format(*[1][len(kernel) - 1 :], *kernel)
        raise RuntimeError(f"kernel size should be greater than zero, but got {sizes}")
    if transposed:
        raise RuntimeError(
            "non-empty 5D (n_output_plane x n_input_plane x kernel_depth x kernel_height x "
            f"kernel_width) tensor expected for weight, but got: {list(shape)}"
        )
    raise RuntimeError(
        "kernel size should be greater than zero, but got: "
        f"{' x '.join(map(str, kernel))} (TxHxW)"
    )


def _convolution_aval(
    x: Aval, weight: Aval, bias: Aval | None,
    *, stride: Ints, padding: Ints, dilation: Ints, groups: int,
) -> Aval:  # fmt: skip
    check_convolution(x, weight, bias, stride, padding, dilation, groups, False)
    kernel = weight.shape[2:]
    padded = tuple(n + 2 * p for n, p in zip(x.shape[2:], padding, strict=True))
    spread = tuple(d * (k - 1) + 1 for k, d in zip(kernel, dilation, strict=True))
    if any(n < k for n, k in zip(padded, spread, strict=True)):
        raise RuntimeError(
            "Calculated padded input size per channel: "
            f"({' x '.join(map(str, padded))}). Kernel size: ({' x '.join(map(str, spread))}). "
            "Kernel size can't be greater than actual input size"
        )
    if x.size and 0 in kernel:
        _refuse_kernel(weight.shape, False)
    spatial = tuple(
        output_length(*each)
        for each in zip(x.shape[2:], kernel, stride, padding, dilation, strict=True)
    )
    return aval((x.shape[0], weight.shape[0], *spatial), x.dtype, None, x.device)


def _channel_sum_aval(g: Aval, *, inner: int, groups: int) -> Aval:
    return aval((g.shape[1],), g.dtype, None, g.device)


def _channel_sum_gradient(g: Any, avals: Any) -> Any:
    shape = avals[0].shape
    return expand(reshape(g, shape=(1, shape[1], *[1] * (len(shape) - 2))), shape=shape)


# the gradient for a convolution's bias: a sum over all axes but the channels'
channel_sum = NetworkOp(
    "channel_sum",
    _channel_sum_aval,
    "convolution.channel_sum",
    compiled=("convolution_few.channel_sum",),
    vjp=(_channel_sum_gradient,),
    grad_name="ConvolutionBackwardBackward0",
)


_VOLUMES = (dtypes.float32, dtypes.bfloat16, dtypes.float16, dtypes.complex64)


def _follow_images(result: Aval, inputs: Any, params: Any) -> Shape | None:
    """:func:`follow_images`, but volumes of float64 and of whole numbers lie in C order."""
    if result.ndim == 5 and result.dtype not in _VOLUMES:
        return None
    return follow_images(result, inputs, params)


def _forward_of_shape(x: Any, weight: Any, shape: Shape, **params: Any) -> Any:
    """The convolution's first elements of each axis: output_padding may leave room for more."""
    y = convolution(x, weight, None, **params)
    for axis in range(2, len(shape)):
        if y.aval.shape[axis] != shape[axis]:
            y = slice_(y, axis=axis, start=0, length=shape[axis], step=1)
    return y


convolution = NetworkOp(
    "convolution",
    _convolution_aval,
    "convolution.convolution",
    compiled=("amx_convolution.convolution", "winograd.convolution"),
    layout=_follow_images,
    vjp=(
        lambda g, weight, avals, stride, padding, dilation, groups: convolution_input_gradient(
            g, conj(weight), shape=avals[0].shape, stride=stride, padding=padding,
            dilation=dilation, groups=groups,
        ),
        lambda g, x, avals, stride, padding, dilation, groups: convolution_weight_gradient(
            g, conj(x), shape=avals[1].shape, stride=stride, padding=padding,
            dilation=dilation, groups=groups,
        ),
        lambda g, avals, groups: channel_sum(g, inner=avals[1].shape[1], groups=groups),
    ),
    autocast="lower",
    autocast_cuda="lower",
    dtypes=without("bool", "slow_conv2d_cpu"),
    leading=0,
)  # fmt: skip


def _input_gradient_aval(
    y: Aval, weight: Aval,
    *, shape: Shape, stride: Ints, padding: Ints, dilation: Ints, groups: int,
) -> Aval:  # fmt: skip
    return aval(shape, y.dtype, None, y.device)


# sum of the kernels that ``y``'s elements weigh: the gradient for convolution's input, and the
# forward pass of a transposed convolution
convolution_input_gradient = NetworkOp(
    "convolution_input_gradient",
    _input_gradient_aval,
    "convolution.convolution_input_gradient",
    compiled=("amx_convolution.convolution_input_gradient", "winograd.convolution_input_gradient"),
    layout=_follow_images,
    vjp=(
        lambda g, weight, avals, stride, padding, dilation, groups: _forward_of_shape(
            g, conj(weight), avals[0].shape, stride=stride, padding=padding,
            dilation=dilation, groups=groups,
        ),
        lambda g, y, avals, stride, padding, dilation, groups: convolution_weight_gradient(
            conj(y), g, shape=avals[1].shape, stride=stride, padding=padding,
            dilation=dilation, groups=groups,
        ),
    ),
    grad_name="ConvolutionBackward0",
)  # fmt: skip


def _weight_gradient_aval(
    y: Aval, x: Aval,
    *, shape: Shape, stride: Ints, padding: Ints, dilation: Ints, groups: int,
) -> Aval:  # fmt: skip
    return aval(shape, y.dtype, None, y.device)


convolution_weight_gradient = NetworkOp(
    "convolution_weight_gradient",
    _weight_gradient_aval,
    "convolution.convolution_weight_gradient",
    compiled=(
        "amx_convolution.convolution_weight_gradient", "winograd.convolution_weight_gradient",
        "convolution_few.convolution_weight_gradient",
    ),
    layout=_follow_images,
    vjp=(
        lambda g, x, avals, stride, padding, dilation, groups: _forward_of_shape(
            conj(x), g, avals[0].shape, stride=stride, padding=padding, dilation=dilation,
            groups=groups,
        ),
        lambda g, y, avals, stride, padding, dilation, groups: convolution_input_gradient(
            conj(y), g, shape=avals[1].shape, stride=stride, padding=padding,
            dilation=dilation, groups=groups,
        ),
    ),
    grad_name="ConvolutionBackwardBackward0",
)  # fmt: skip


def transposed_length(
    n: int, kernel: int, stride: int, padding: int, output_padding: int, dilation: int
) -> int:
    """The length of an axis of a transposed convolution's result."""
    return (n - 1) * stride - 2 * padding + dilation * (kernel - 1) + output_padding + 1
