"""Primitives of volumes, windows with their places, grids, and sizes of images."""

from __future__ import annotations

from typing import Any

from .. import nn
from ..common.tensor import F, t
from ..ops import function
from .errors import UnsupportedPrimitiveError
from .primitives import reads, whole, whole_numbers
from .primitives_networks import cropped_transposition, inner, pad_mode_of
from .primitives_shapes import element_type

# --- convolutions of volumes ----------------------------------------------------------------------


def _in_order(name: str, given: Any) -> None:
    if given not in ("NCDHW", "NCHW", 0, 14):
        raise UnsupportedPrimitiveError(f"{name} in the order {given!r}")


@reads("Conv3D")
def _conv3d(
    x: Any, weight: Any, *, out_channel: Any = 0, kernel_size: Any = 1, mode: Any = 1,
    pad_mode: Any = "valid", pad: Any = 0, pad_list: Any = None, stride: Any = 1,
    strides: Any = None, dilation: Any = 1, dilations: Any = None, group: Any = 1,
    groups: Any = None, data_format: Any = "NCDHW", offset_x: Any = 0,
) -> Any:  # fmt: skip
    _in_order("Conv3D", data_format)
    kind = pad_mode_of(pad_mode)
    return function.conv3d(
        x, weight, None, stride=inner(stride, 3), pad_mode=kind,
        padding=_six(pad) if kind == "pad" else 0, dilation=inner(dilation, 3), groups=group,
    )  # fmt: skip


def _six(pad: Any) -> tuple[int, ...]:
    """What is before and after each of three axes."""
    numbers = whole_numbers(pad)
    return numbers * 6 if len(numbers) == 1 else numbers


@reads("Conv3DTranspose")
def _conv3d_transpose(
    y: Any, weight: Any, *, in_channel: Any = 0, out_channel: Any = 0, kernel_size: Any = 1,
    mode: Any = 1, pad_mode: Any = "valid", pad: Any = 0, pad_list: Any = None, stride: Any = 1,
    strides: Any = None, dilation: Any = 1, dilations: Any = None, group: Any = 1,
    groups: Any = None, output_padding: Any = 0, input_size: Any = (), data_format: Any = "NCDHW",
) -> Any:  # fmt: skip
    _in_order("Conv3DTranspose", data_format)
    kind, pads = pad_mode_of(pad_mode), _six(pad)
    stride, dilation, beyond = inner(stride, 3), inner(dilation, 3), inner(output_padding, 3)
    sizes = whole_numbers(input_size)[2:] if input_size else [
        _transposed_length(n, (k - 1) * d + 1, s, kind, pads[2 * i : 2 * i + 2], more)
        for i, (n, k, d, s, more) in enumerate(
            zip(y.shape[2:], weight.shape[2:], dilation, stride, beyond, strict=True)
        )
    ]  # fmt: skip
    return cropped_transposition(y, weight, sizes, stride, dilation, group, kind, pads)


def _transposed_length(n: int, reach: int, step: int, kind: str, pads: Any, more: int) -> int:
    """How long an axis of n elements becomes; each has its whole step without padding."""
    if kind == "pad":
        return int((n - 1) * step + reach - sum(pads) + more)
    return n * step + (max(reach - step, 0) if kind == "valid" else 0)


# --- pooling --------------------------------------------------------------------------------------


def _volume_pooling(name: str, layer: Any, **plain: Any) -> None:
    def run(
        x: Any, *, kernel_size: Any = 1, strides: Any = 1, pad_mode: Any = "valid", pad: Any = 0,
        pad_list: Any = 0, ceil_mode: Any = False, count_include_pad: Any = True,
        divisor_override: Any = 0, data_format: Any = "NCDHW",
    ) -> Any:  # fmt: skip
        _in_order(name, data_format)
        kind = pad_mode_of(pad_mode)
        options: dict[str, Any] = {"ceil_mode": bool(ceil_mode)} if kind == "pad" else {}
        if layer is nn.AvgPool3d:
            options |= {"count_include_pad": bool(count_include_pad),
                        "divisor_override": divisor_override or None}  # fmt: skip
        padding = _six(pad_list) if kind == "pad" else 0
        return layer(inner(kernel_size, 3), inner(strides, 3), kind, padding, **options)(x)

    reads(name)(run)


_volume_pooling("MaxPool3D", nn.MaxPool3d)
_volume_pooling("AvgPool3D", nn.AvgPool3d)


def _with_places(name: str, pool: Any, count: int) -> None:
    def run(
        x: Any, *, kernel_size: Any = None, ksize: Any = None, strides: Any = 1, pads: Any = 0,
        dilation: Any = 1, ceil_mode: Any = False, argmax_type: Any = "int64",
        data_format: Any = "NCHW",
    ) -> Any:  # fmt: skip
        _in_order(name, data_format)
        window = kernel_size if ksize is None else ksize
        made, places = pool(
            x, inner(window, count), inner(strides, count), inner(pads, count),
            inner(dilation, count), bool(ceil_mode), True,
        )  # fmt: skip
        kind = {3: "int32", 4: "int64"}.get(argmax_type, argmax_type)
        return made, places.to(element_type(kind))

    reads(name)(run)


_with_places("MaxPoolWithArgmaxV2", F.max_pool2d, 2)
_with_places("MaxPool3DWithArgmax", F.max_pool3d, 3)


def _unpooling(name: str, unpool: Any, count: int) -> None:
    def run(
        x: Any, places: Any, *, ksize: Any, strides: Any = 0, pads: Any = 0, output_shape: Any = (),
        data_format: Any = "NCHW",
    ) -> Any:  # fmt: skip
        _in_order(name, data_format)
        size = [int(n) for n in whole_numbers(output_shape)] or None
        window, step = inner(ksize, count), inner(strides, count)
        return unpool(x, places.long(), window, step if any(step) else None, inner(pads, count),
                      size)  # fmt: skip

    reads(name)(run)


_unpooling("MaxUnpool2D", F.max_unpool2d, 2)
_unpooling("MaxUnpool3D", F.max_unpool3d, 3)


def _lengths(size: Any) -> list[int | None]:
    """Lengths of results; None, which MindSpore writes as -1, keeps that of the input."""
    return [None if n in (None, -1) else whole(n) for n in size]


@reads("AdaptiveAvgPool2D", "AdaptiveAvgPool2DExt")
def _adaptive_avg_pool(x: Any, *, output_size: Any) -> Any:
    return F.adaptive_avg_pool2d(x, _lengths(output_size))


@reads("AdaptiveAvgPool3D", "AdaptiveAvgPool3DExt")
def _adaptive_avg_pool3d(x: Any, *, output_size: Any) -> Any:
    return F.adaptive_avg_pool3d(x, _lengths(output_size))


@reads("AdaptiveMaxPool2D")
def _adaptive_max_pool(x: Any, output_size: Any) -> Any:
    return F.adaptive_max_pool2d(x, _lengths(output_size), True)


# --- grids and sizes ------------------------------------------------------------------------------


@reads("AffineGrid")
def _affine_grid(theta: Any, size: Any, *, align_corners: Any = False) -> Any:
    return F.affine_grid(theta, list(whole_numbers(size)), bool(align_corners))


@reads("GridSampler2D", "GridSampler3D")
def _grid_sampler(x: Any, grid: Any, mode: Any = 0, border: Any = 0, corners: Any = False) -> Any:
    mode = mode if isinstance(mode, str) else ("bilinear", "nearest", "bicubic")[whole(mode)]
    if not isinstance(border, str):
        border = ("zeros", "border", "reflection")[whole(border)]
    return F.grid_sample(x, grid, mode, border, bool(corners))


@reads("ResizeLinear1D")
def _resize_linear(x: Any, size: Any, *, coordinate_transformation_mode: Any = 1) -> Any:
    if coordinate_transformation_mode not in (0, 1, "half_pixel", "align_corners"):
        raise UnsupportedPrimitiveError(
            f"ResizeLinear1D with coordinates {coordinate_transformation_mode!r}"
        )
    corners = coordinate_transformation_mode in (1, "align_corners")
    return F.interpolate(x, whole_numbers(size), mode="linear", align_corners=corners)


@reads("ResizeBicubic")
def _resize_bicubic(
    x: Any, size: Any, *, align_corners: Any = False, half_pixel_centers: Any = False
) -> Any:
    wanted = whole_numbers(size)
    if align_corners:
        return F.interpolate(x, wanted, mode="bicubic", align_corners=True)
    if not half_pixel_centers or any(m < n for m, n in zip(wanted, x.shape[2:], strict=True)):
        raise UnsupportedPrimitiveError("ResizeBicubic to fewer pixels, or by their corners")
    # by the cubic curve that antialiasing has, which is 1 pixel wide in a larger image
    return F.interpolate(x, wanted, mode="bicubic", align_corners=False, antialias=True)


@reads("UpsampleTrilinear3D")
def _upsample_trilinear(
    x: Any, size: Any, scales: Any = None, *, align_corners: Any = False
) -> Any:
    given = None if size is None else whole_numbers(size)
    return F.interpolate(x, given, None if given else scales, "trilinear", bool(align_corners))


@reads("UpsampleNearest1D", "UpsampleNearest2D", "UpsampleNearest3D")
def _upsample_nearest(x: Any, size: Any, scales: Any = None) -> Any:
    given = None if size is None else whole_numbers(size)
    return F.interpolate(x, given, None if given else scales, "nearest")


# --- windows as rows, blocks as images ------------------------------------------------------------


@reads("Im2Col")
def _im2col(
    x: Any, *, ksizes: Any, strides: Any = 1, dilations: Any = 1, pads: Any = 0,
    padding_mode: Any = "CALCULATED",
) -> Any:  # fmt: skip
    if padding_mode != "CALCULATED":
        raise UnsupportedPrimitiveError(f"Im2Col with padding_mode {padding_mode!r}")
    window = inner(ksizes)
    rows = F.unfold(x, window, inner(dilations), inner(pads), inner(strides))
    return t.reshape(rows, (x.shape[0], x.shape[1], window[0] * window[1], -1))


@reads("Col2Im")
def _col2im(
    x: Any, size: Any, *, kernel_size: Any, dilation: Any = 1, padding: Any = 0, stride: Any = 1
) -> Any:
    rows = t.reshape(x, (x.shape[0], -1, x.shape[-1]))
    return F.fold(rows, whole_numbers(size), inner(kernel_size), inner(dilation), inner(padding),
                  inner(stride))  # fmt: skip


@reads("SpaceToBatchND")
def _space_to_batch(x: Any, *, block_shape: Any, paddings: Any) -> Any:
    blocks, count = whole_numbers(block_shape), len(paddings)
    x = F.pad(x, [whole(n) for pair in reversed(list(paddings)) for n in pair])
    first = x.aval.ndim - count
    shape = list(x.shape[:first])
    for n, b in zip(x.shape[first:], blocks, strict=True):
        shape += [n // b, b]
    inside = range(first + 1, first + 2 * count, 2)
    order = [*inside, *range(first), *range(first, first + 2 * count, 2)]
    moved = t.permute(t.reshape(x, shape), order)
    sizes = [n // b for n, b in zip(x.shape[first:], blocks, strict=True)]
    return t.reshape(moved, (-1, *x.shape[1:first], *sizes))


@reads("BatchToSpaceND")
def _batch_to_space(x: Any, *, block_shape: Any, crops: Any) -> Any:
    blocks, count = whole_numbers(block_shape), len(crops)
    first = x.aval.ndim - count
    y = t.reshape(x, (*blocks, -1, *x.shape[1:]))
    order = list(range(count, count + first))
    for i in range(count):
        order += [count + first + i, i]
    sizes = [n * b for n, b in zip(x.shape[first:], blocks, strict=True)]
    y = t.reshape(t.permute(y, order), (-1, *x.shape[1:first], *sizes))
    for axis, (before, after) in enumerate(crops, first):
        y = t.narrow(y, axis, whole(before), y.shape[axis] - whole(before) - whole(after))
    return y


@reads("ChannelShuffle")
def _channel_shuffle(x: Any, *, group: Any) -> Any:
    return F.channel_shuffle(x, whole(group))
