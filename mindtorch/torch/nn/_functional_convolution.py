"""Convolutions, transposed ones, and the sliding blocks of which they are made."""

from __future__ import annotations

import operator
from typing import Any

from mindtorch.engine import dtype_support, dtypes
from mindtorch.engine.autograd import tape
from mindtorch.engine.aval import contiguous_strides
from mindtorch.engine.dtype_support import require_floats
from mindtorch.engine.ops import convolution as ops
from mindtorch.engine.ops import elementwise as pointwise
from mindtorch.engine.ops import movement
from mindtorch.engine.tensor import constant
from mindtorch.engine.transforms.autocast import LOWER

from .._api.arguments import as_int, require_tensor
from .._api.publish import functional
from .._api.warn_caller import warn_caller_once

__all__ = [
    "conv1d", "conv2d", "conv3d", "conv_transpose1d", "conv_transpose2d", "conv_transpose3d",
    "fold", "unfold",
]  # fmt: skip


def as_ints(value: Any, count: int, name: str) -> tuple[int, ...]:
    """``count`` ints from one, from one in a list, or from as many."""
    if value.__class__ is int:
        return (value,) * count
    if isinstance(value, bool):
        raise TypeError(f"{name} must be an int, not bool")
    if isinstance(value, (tuple, list)):
        listed = tuple(operator.index(v) for v in value)
        if len(listed) == 1:
            return listed * count
        if len(listed) != count:
            raise RuntimeError(
                f"expected {name} to be a single integer value or a list of {count} values to "
                f"match the convolution dimensions, but got {name}={list(listed)}"
            )
        return listed
    return (operator.index(value),) * count


def _batched(x: Any, spatial: int, name: str) -> tuple[Any, bool]:
    """``x`` with a batch axis, and whether it had one."""
    require_tensor(x, name, "input", 1)
    ndim = x.aval.ndim
    if ndim == spatial + 2:
        return x, True
    if ndim == spatial + 1:
        return movement.unsqueeze(x, axis=0), False
    raise RuntimeError(
        f"Expected {spatial + 1}D (unbatched) or {spatial + 2}D (batched) input to {name}, but "
        f"got input of size: {list(x.aval.shape)}"
    )


def _same_padding(
    x: Any, weight: Any, stride: Any, dilation: Any
) -> tuple[Any, tuple[int, ...]]:
    """``x`` padded at the end where the padding is uneven, and the even part of it."""
    if any(s != 1 for s in stride):
        raise RuntimeError("padding='same' is not supported for strided convolutions")
    total = [d * (k - 1) for d, k in zip(dilation, weight.aval.shape[2:], strict=True)]
    if any(t % 2 for t in total):
        warn_caller_once(
            "Using padding='same' with even kernel lengths and odd dilation may require a "
            "zero-padded copy of the input be created"
        )
        uneven = ((0, 0), (0, 0), *((0, t % 2) for t in total))
        x = movement.pad(x, constant(0), padding=uneven)
    return x, tuple(t // 2 for t in total)


def _convolve(
    name: str, spatial: int, x: Any, weight: Any, bias: Any, stride: Any, padding: Any,
    dilation: Any, groups: int,
) -> Any:  # fmt: skip
    x, batched = _batched(x, spatial, name)
    require_tensor(weight, name, "weight", 2)
    if weight.aval.ndim < 3:
        raise RuntimeError("weight should have at least three dimensions")
    if weight.aval.ndim != x.aval.ndim:
        rank = weight.aval.ndim
        space = "" if padding == "same" else " "
        raise RuntimeError(
            f"Expected {rank}-dimensional input for {rank}-dimensional weight{space}"
            f"{list(weight.aval.shape)}, but got {x.aval.ndim}-dimensional input of size "
            f"{list(x.aval.shape)} instead"
        )
    stride = as_ints(stride, spatial, "stride")
    groups = as_int(groups)
    dilation = as_ints(dilation, spatial, "dilation")
    if isinstance(padding, str):
        others = weight.aval, None if bias is None else bias.aval
        ops.require_same_dtype(x.aval, *others, stride, dilation, groups, False, False)
        if padding == "same":
            x, padding = _same_padding(x, weight, stride, dilation)
        elif padding == "valid":
            padding = (0,) * spatial
        else:
            raise RuntimeError(f"Invalid padding string: '{padding}'")
    padding = as_ints(padding, spatial, "padding")
    result = ops.convolution(
        x, weight, bias, stride=stride, padding=padding, dilation=dilation, groups=groups
    )
    if batched:
        return result
    return tape.named(movement.squeeze(result, axes=(0,)), "SqueezeBackward1")


@functional(explained=True, cacheable=True)
def conv1d(
    input: Any, weight: Any, bias: Any = None, stride: Any = 1, padding: Any = 0,  # noqa: A002
    dilation: Any = 1, groups: int = 1,
) -> Any:  # fmt: skip
    """Convolution of (N, C, L) with weight (O, C / groups, K).

    Along each axis there are (length + 2 padding - dilation (kernel - 1) - 1) // stride + 1 places.

    Args:
        input: (N, C, L) or (C, L).
        weight: (O, C / groups, K).
        bias: (O,), added to each channel.
        stride, dilation: steps of the window and within it, one number or one for each axis.
        padding: zeros on both sides, one number or one for each axis; "valid" is 0, "same" keeps
            the lengths and asks for a stride of 1.
        groups: channels are convolved in so many groups, which must divide C and O.

    Raises:
        RuntimeError: for shapes that do not fit and a window larger than the padded input.
    """
    return _convolve("conv1d", 1, input, weight, bias, stride, padding, dilation, groups)


@functional(explained=True, cacheable=True)
def conv2d(
    input: Any, weight: Any, bias: Any = None, stride: Any = 1, padding: Any = 0,  # noqa: A002
    dilation: Any = 1, groups: int = 1,
) -> Any:  # fmt: skip
    """Convolution of (N, C, H, W) with weight (O, C / groups, KH, KW).

    Along each axis there are (length + 2 padding - dilation (kernel - 1) - 1) // stride + 1 places.

    Args:
        input: (N, C, H, W) or (C, H, W).
        weight: (O, C / groups, KH, KW).
        bias: (O,), added to each channel.
        stride, dilation: steps of the window and within it, one number or one for each axis.
        padding: zeros on both sides, one number or one for each axis; "valid" is 0, "same" keeps
            the lengths and asks for a stride of 1.
        groups: channels are convolved in so many groups, which must divide C and O.

    Raises:
        RuntimeError: for shapes that do not fit and a window larger than the padded input.
    """
    return _convolve("conv2d", 2, input, weight, bias, stride, padding, dilation, groups)


@functional(explained=True, cacheable=True)
def conv3d(
    input: Any, weight: Any, bias: Any = None, stride: Any = 1, padding: Any = 0,  # noqa: A002
    dilation: Any = 1, groups: int = 1,
) -> Any:  # fmt: skip
    """Convolution of (N, C, D, H, W) with weight (O, C / groups, KD, KH, KW).

    Along each axis there are (length + 2 padding - dilation (kernel - 1) - 1) // stride + 1 places.

    Args:
        input: (N, C, D, H, W) or (C, D, H, W).
        weight: (O, C / groups, KD, KH, KW).
        bias: (O,), added to each channel.
        stride, dilation: steps of the window and within it, one number or one for each axis.
        padding: zeros on both sides, one number or one for each axis; "valid" is 0, "same" keeps
            the lengths and asks for a stride of 1.
        groups: channels are convolved in so many groups, which must divide C and O.

    Raises:
        RuntimeError: for shapes that do not fit and a window larger than the padded input.
    """
    return _convolve("conv3d", 3, input, weight, bias, stride, padding, dilation, groups)


def _check_output_padding(output_padding: Any, stride: Any, dilation: Any) -> None:
    for o, s, d in zip(output_padding, stride, dilation, strict=True):
        if o < 0 or (o >= s and o >= d):
            axes = ("depth", "height", "width")[-max(len(stride), 2) :]
            full = [((0,) if n == "output_padding" else (1,)) * (len(axes) - len(v)) + tuple(v)
                    for n, v in (("output_padding", output_padding), ("stride", stride),
                                 ("dilation", dilation))]  # fmt: skip
            listed = " ".join(
                f"{name}_{axis}: {value}"
                for name, values in zip(("output_padding", "stride", "dilation"), full, strict=True)
                for axis, value in zip(axes, values, strict=True)
            )
            raise RuntimeError(
                "output padding must be smaller than either stride or dilation, but got " + listed
            )


def _check_lengths(shape: tuple[int, ...], lengths: tuple[int, ...]) -> None:
    """torch's errors where nothing is left of an axis of a transposed convolution."""
    if min(lengths) > 0:
        return
    short = [1][len(lengths) - 1 :]  # torch adds an axis to signals
    if 0 in shape:
        i = next(i for i, n in enumerate(lengths) if n < 0) + len(short) + 2
        whole = [*shape[:2], *short, *lengths]
        raise RuntimeError(f"invalid shape dimension {whole[i]} at index {i} of shape {whole}")
    given, found = (" x ".join(map(str, [*short, *each])) for each in (shape[2:], lengths))
    raise RuntimeError(
        f"Given input size per channel: ({given}). Calculated output size per channel: "
        f"({found}). Output size is too small"
    )


def _convolve_transposed(
    name: str, spatial: int, x: Any, weight: Any, bias: Any, stride: Any, padding: Any,
    output_padding: Any, groups: int, dilation: Any,
) -> Any:  # fmt: skip
    x, batched = _batched(x, spatial, name)
    require_tensor(weight, name, "weight", 2)
    if weight.aval.ndim < 3:
        raise RuntimeError("weight should have at least three dimensions")
    if weight.aval.ndim != x.aval.ndim:
        rank = weight.aval.ndim
        raise RuntimeError(
            f"Expected {rank}-dimensional input for {rank}-dimensional weight "
            f"{list(weight.aval.shape)}, but got {x.aval.ndim}-dimensional input of size "
            f"{list(x.aval.shape)} instead"
        )
    stride = as_ints(stride, spatial, "stride")
    groups = as_int(groups)
    padding = as_ints(padding, spatial, "padding")
    output_padding = as_ints(output_padding, spatial, "output_padding")
    dilation = as_ints(dilation, spatial, "dilation")
    ops.check_convolution(
        x.aval, weight.aval, None if bias is None else bias.aval, stride, padding, dilation,
        groups, True,
    )  # fmt: skip
    _check_output_padding(output_padding, stride, dilation)
    if x.aval.dtype.category < dtypes.FLOAT and x.aval.dtype is not dtypes.int64:
        dtype_support.refuse(f"slow_conv_transpose{max(spatial, 2)}d_out_cpu", x.aval.dtype)
    lengths = tuple(
        ops.transposed_length(*each)
        for each in zip(
            x.aval.shape[2:], weight.aval.shape[2:], stride, padding, output_padding, dilation,
            strict=True,
        )
    )  # fmt: skip
    _check_lengths(x.aval.shape, lengths)
    channels = weight.aval.shape[1] * groups
    dtype = x.aval.dtype
    if bias is not None and dtype in (dtypes.float16, dtypes.bfloat16):  # rounded after the sum
        x, weight, bias = (movement.cast(v, dtype=dtypes.float32) for v in (x, weight, bias))
    result = ops.convolution_input_gradient(
        x, weight, shape=(x.aval.shape[0], channels, *lengths), stride=stride, padding=padding,
        dilation=dilation, groups=groups,
    )  # fmt: skip
    if bias is not None:
        result = pointwise.add(result, movement.reshape(bias, (channels, *[1] * spatial)))
    if result.aval.dtype is not dtype:
        result = movement.cast(result, dtype=dtype)
    if batched:
        return tape.named(result, "ConvolutionBackward0")
    return tape.named(movement.squeeze(result, axes=(0,)), "SqueezeBackward1")


@functional(autocast=LOWER, autocast_cuda=LOWER, explained=True, cacheable=True)
def conv_transpose1d(
    input: Any, weight: Any, bias: Any = None, stride: Any = 1, padding: Any = 0,  # noqa: A002
    output_padding: Any = 0, groups: int = 1, dilation: Any = 1,
) -> Any:  # fmt: skip
    """The transpose of :func:`conv1d`; weight is (C, O / groups, K).

    Along each axis: (length - 1) stride - 2 padding + dilation (kernel - 1) + output_padding + 1.

    Args:
        input: (N, C, L) or (C, L).
        weight: (C, O / groups, K).
        bias: (O,), added to each channel.
        stride, padding, dilation: those of the convolution whose transpose this is.
        output_padding: further length on one side, less than the stride or the dilation.
        groups: channels are convolved in so many groups, which must divide C and O.

    Raises:
        RuntimeError: for shapes that do not fit and too large an ``output_padding``.
    """
    return _convolve_transposed(
        "conv_transpose1d", 1, input, weight, bias, stride, padding, output_padding, groups,
        dilation,
    )  # fmt: skip


@functional(autocast=LOWER, autocast_cuda=LOWER, explained=True, cacheable=True)
def conv_transpose2d(
    input: Any, weight: Any, bias: Any = None, stride: Any = 1, padding: Any = 0,  # noqa: A002
    output_padding: Any = 0, groups: int = 1, dilation: Any = 1,
) -> Any:  # fmt: skip
    """The transpose of :func:`conv2d`; weight is (C, O / groups, KH, KW).

    Along each axis: (length - 1) stride - 2 padding + dilation (kernel - 1) + output_padding + 1.

    Args:
        input: (N, C, H, W) or (C, H, W).
        weight: (C, O / groups, KH, KW).
        bias: (O,), added to each channel.
        stride, padding, dilation: those of the convolution whose transpose this is.
        output_padding: further length on one side, less than the stride or the dilation.
        groups: channels are convolved in so many groups, which must divide C and O.

    Raises:
        RuntimeError: for shapes that do not fit and too large an ``output_padding``.
    """
    return _convolve_transposed(
        "conv_transpose2d", 2, input, weight, bias, stride, padding, output_padding, groups,
        dilation,
    )  # fmt: skip


@functional(autocast=LOWER, autocast_cuda=LOWER, explained=True, cacheable=True)
def conv_transpose3d(
    input: Any, weight: Any, bias: Any = None, stride: Any = 1, padding: Any = 0,  # noqa: A002
    output_padding: Any = 0, groups: int = 1, dilation: Any = 1,
) -> Any:  # fmt: skip
    """The transpose of :func:`conv3d`; weight is (C, O / groups, KD, KH, KW).

    Along each axis: (length - 1) stride - 2 padding + dilation (kernel - 1) + output_padding + 1.

    Args:
        input: (N, C, D, H, W) or (C, D, H, W).
        weight: (C, O / groups, KD, KH, KW).
        bias: (O,), added to each channel.
        stride, padding, dilation: those of the convolution whose transpose this is.
        output_padding: further length on one side, less than the stride or the dilation.
        groups: channels are convolved in so many groups, which must divide C and O.

    Raises:
        RuntimeError: for shapes that do not fit and too large an ``output_padding``.
    """
    return _convolve_transposed(
        "conv_transpose3d", 3, input, weight, bias, stride, padding, output_padding, groups,
        dilation,
    )  # fmt: skip


_BESIDE_FLOATS = (dtypes.bool_, dtypes.complex64, dtypes.complex128)


def _check_windows(kernel: Any, dilation: Any, stride: Any) -> None:
    """torch's errors for windows without elements or without a way to the next one."""
    named = (("kernel size", "kernel", kernel), ("stride", "stride", stride),
             ("dilation", "dilation", dilation))  # fmt: skip
    for title, name, (height, width) in named:
        if height <= 0 or width <= 0:
            raise RuntimeError(
                f"{title} should be greater than zero, but got {name}_height: {height} "
                f"{name}_width: {width}"
            )


@functional(cacheable=True)
def unfold(
    input: Any, kernel_size: Any, dilation: Any = 1, padding: Any = 0, stride: Any = 1  # noqa: A002
) -> Any:
    """The windows of (N, C, H, W) as columns: (N, C * KH * KW, windows).

    Args:
        input: (N, C, H, W) or (C, H, W).
        kernel_size: (KH, KW), or one number.
        dilation, padding, stride: as in :func:`conv2d`, one number or two.

    Raises:
        RuntimeError: for other shapes, and where no window fits.
    """
    kernel, dilation, padding, stride = (
        as_ints(v, 2, n)
        for v, n in ((kernel_size, "kernel_size"), (dilation, "dilation"),
                     (padding, "padding"), (stride, "stride"))
    )  # fmt: skip
    require_floats(input.aval, "im2col_out_cpu", *_BESIDE_FLOATS)
    _check_windows(kernel, dilation, stride)
    batched = input.dim() == 4
    if input.dim() not in (3, 4) or 0 in input.aval.shape[batched:]:
        raise RuntimeError(
            "Expected 3D or 4D (batch mode) tensor with possibly 0 batch size and other non-zero "
            f"dimensions for input, but got: {list(input.aval.shape)}"
        )
    x = input if batched else movement.unsqueeze(input, axis=0)
    around = ((0, 0), (0, 0), *((p, p) for p in padding))
    x = movement.contiguous(movement.pad(x, constant(0), padding=around))
    n, channels, height, width = x.aval.shape
    rows = ops.output_length(height, kernel[0], stride[0], 0, dilation[0])
    columns = ops.output_length(width, kernel[1], stride[1], 0, dilation[1])
    if rows < 1 or columns < 1:
        raise RuntimeError(
            f"Given input with spatial size ({input.aval.shape[-2]}, {input.aval.shape[-1]}), "
            f"kernel_size=({kernel[0]}, {kernel[1]}), dilation=({dilation[0]}, {dilation[1]}), "
            f"padding=({padding[0]}, {padding[1]}), calculated shape of the array of sliding "
            f"blocks as ({rows}, {columns}), but its components must be at least one."
        )
    windows = movement.as_strided(
        x,
        shape=(n, channels, *kernel, rows, columns),
        strides=(
            channels * height * width, height * width, dilation[0] * width, dilation[1],
            stride[0] * width, stride[1],
        ),
        offset=0,
    )  # fmt: skip
    result = movement.reshape(windows, (n, channels * kernel[0] * kernel[1], rows * columns))
    return tape.named(result if batched else movement.squeeze(result, axes=(0,)), "Im2ColBackward0")


@functional(cacheable=True)
def fold(
    input: Any, output_size: Any, kernel_size: Any, dilation: Any = 1, padding: Any = 0,  # noqa: A002
    stride: Any = 1,
) -> Any:  # fmt: skip
    """Columns (N, C * KH * KW, windows) summed at their places: (N, C, *output_size).

    Args:
        input: (N, C * KH * KW, windows), or without N.
        output_size: (H, W), or one number.
        kernel_size: (KH, KW), or one number.
        dilation, padding, stride: those of the :func:`unfold` that makes such columns.

    Raises:
        RuntimeError: where the columns are not those of such an image.
    """
    size, kernel, dilation, padding, stride = (
        as_ints(v, 2, n)
        for v, n in ((output_size, "output_size"), (kernel_size, "kernel_size"),
                     (dilation, "dilation"), (padding, "padding"), (stride, "stride"))
    )  # fmt: skip
    _check_windows(kernel, dilation, stride)
    batched = input.dim() == 3
    if input.dim() not in (2, 3) or 0 in input.aval.shape[batched:]:
        raise RuntimeError(
            "Expected 2D or 3D (batch mode) tensor for input with possibly 0 batch size and "
            f"non-zero dimensions for input, but got: {list(input.aval.shape)}"
        )
    x = input if batched else movement.unsqueeze(input, axis=0)
    n, planes, blocks = x.aval.shape
    if planes % (kernel[0] * kernel[1]):
        raise RuntimeError(
            "Expected size of input's dimension 1 to be divisible by the product of kernel_size, "
            f"but got input.size(1)={planes} and kernel_size=({kernel[0]}, {kernel[1]})."
        )
    channels = planes // (kernel[0] * kernel[1])
    height, width = size[0] + 2 * padding[0], size[1] + 2 * padding[1]
    rows = ops.output_length(height, kernel[0], stride[0], 0, dilation[0])
    columns = ops.output_length(width, kernel[1], stride[1], 0, dilation[1])
    given = (
        f"Given output_size=({size[0]}, {size[1]}), kernel_size=({kernel[0]}, {kernel[1]}), "
        f"dilation=({dilation[0]}, {dilation[1]}), padding=({padding[0]}, {padding[1]}), "
        f"stride=({stride[0]}, {stride[1]}), "
    )
    if rows < 1 or columns < 1:
        raise RuntimeError(
            f"{given}calculated shape of the array of sliding blocks as ({rows}, {columns}), which "
            "is too small (non-positive)"
        )
    if rows * columns != blocks:
        raise RuntimeError(
            f"{given}expected size of input's dimension 2 to match "
            f"the calculated number of sliding blocks {rows} * {columns} = {rows * columns}, but "
            f"got input.size(2)={blocks}."
        )
    require_floats(input.aval, "col2im_out_cpu", *_BESIDE_FLOATS)
    shape = (n, channels, height, width)
    windows = movement.reshape(x, (n, channels, *kernel, rows, columns))
    summed = movement.as_strided_gradient(
        windows,
        input_shape=shape,
        input_strides=contiguous_strides(shape),
        shape=windows.aval.shape,
        strides=(
            channels * height * width, height * width, dilation[0] * width, dilation[1],
            stride[0] * width, stride[1],
        ),
        offset=0,
    )  # fmt: skip
    around = ((0, 0), (0, 0), *((-p, -p) for p in padding))
    result = movement.pad(summed, constant(0), padding=around)
    return tape.named(result if batched else movement.squeeze(result, axes=(0,)), "Col2ImBackward0")
