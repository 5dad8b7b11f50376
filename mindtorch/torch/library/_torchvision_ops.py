"""torchvision's compiled operators in kernels of ours: `torch.ops.torchvision.nms` and its like.

torchvision loads a library of C++ at import. That library cannot be loaded here; :func:`declare`
declares the operators that it would have declared, and torchvision registers its own gradient
formulas, shape rules and casts for them.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

import mindtorch.torch as torch
from mindtorch.engine.dtypes import scalar_type_name
from mindtorch.kernels.cpu import (
    deform_im2col,
    roi_ops,
    rotated_iou,
)
from mindtorch.kernels.cpu import (
    ps_roi_pool as ps_roi_pool_kernels,
)

from . import Library

__all__ = ["declare"]


def _array(tensor: Any) -> Any:
    return np.ascontiguousarray(tensor.detach().numpy())


def _computed(name: str, *tensors: Any) -> list[Any]:
    """The arrays of floating-point tensors; 16-bit ones as float32.

    Raises:
        NotImplementedError: a type that torchvision has no kernel for.
    """
    for tensor in tensors:
        if tensor.dtype not in (torch.float16, torch.float32, torch.float64):
            kind = scalar_type_name(tensor.dtype)
            raise NotImplementedError(f"\"{name}\" not implemented for '{kind}'")
    arrays = [_array(tensor) for tensor in tensors]
    return [each.astype(np.float32) if each.dtype == np.float16 else each for each in arrays]


def _tensor(array: Any, like: Any) -> Any:
    return torch.from_numpy(array).to(like.dtype)


def _require(condition: bool, message: str) -> None:
    if not condition:
        raise RuntimeError(message)


def nms(dets: Any, scores: Any, iou_threshold: float) -> Any:
    """Indices of the boxes [n, 4] that overlap no better one by more than the threshold.

    They come in the order of falling scores; of equal scores the earlier box goes first.

    Raises:
        RuntimeError: wrong shapes, or two types.
    """
    _require(dets.dim() == 2, f"boxes should be a 2d tensor, got {dets.dim()}D")
    _require(
        dets.shape[1] == 4,
        f"boxes should have 4 elements in dimension 1, got {dets.shape[1]}",
    )
    _require(scores.dim() == 1, f"scores should be a 1d tensor, got {scores.dim()}D")
    _require(
        dets.shape[0] == scores.shape[0],
        "boxes and scores should have same number of elements in dimension 0, got "
        f"{dets.shape[0]} and {scores.shape[0]}",
    )
    _require(dets.dtype == scores.dtype, "dets should have the same type as scores")
    (boxes,) = _computed("nms_kernel", dets)
    order = _array(torch.sort(scores.detach(), stable=True, descending=True)[1])
    kept = np.empty(order.shape, np.int64)
    count = roi_ops.suppress(kept, boxes, order, np.zeros(order.shape, np.bool_),
                             float(iou_threshold))  # fmt: skip
    return torch.from_numpy(kept[:count].copy())


def _checked_regions(name: str, x: Any, rois: Any) -> list[Any]:
    _require(rois.dim() == 2 and rois.shape[1] == 5, "rois must have shape as Tensor[K, 5]")
    _require(
        x.dtype == rois.dtype,
        "Expected tensor for argument #1 'input' to have the same type as tensor for argument #2 "
        f"'rois'; but type {x.type()} does not equal {rois.type()} (while checking arguments for "
        f"{name})",
    )
    arrays = _computed(name, x, rois)
    images = arrays[1][:, 0]
    if images.size and not (images.min() >= 0 and images.max() < x.shape[0]):
        raise IndexError(
            f"{name}: rois name images {int(images.min())} to {int(images.max())} of a batch of "
            f"{x.shape[0]}"
        )
    return arrays


def _channels_out(x: Any, pooled_height: int, pooled_width: int) -> int:
    channels, rest = divmod(x.shape[1], pooled_height * pooled_width)
    _require(not rest, "input channels must be a multiple of pooling height * pooling width")
    return int(channels)


def roi_align(
    input: Any, rois: Any, spatial_scale: float, pooled_height: int, pooled_width: int,  # noqa: A002
    sampling_ratio: int, aligned: bool,
) -> Any:  # fmt: skip
    """Means of bilinear samples in the bins of each region, [K, C, rows, columns]."""
    x, boxes = _checked_regions("roi_align_forward_kernel", input, rois)
    out = np.empty((len(boxes), x.shape[1], pooled_height, pooled_width), x.dtype)
    roi_ops.align(out, x, boxes, x.dtype.type(spatial_scale), sampling_ratio, aligned)
    return _tensor(out, input)


def _roi_align_backward(
    grad: Any, rois: Any, spatial_scale: float, pooled_height: int, pooled_width: int,
    batch_size: int, channels: int, height: int, width: int, sampling_ratio: int, aligned: bool,
) -> Any:  # fmt: skip
    g, boxes = _computed("roi_align_backward_kernel", grad, rois)
    gx = np.zeros((batch_size, channels, height, width), g.dtype)
    roi_ops.align_gradient(gx, g, boxes, g.dtype.type(spatial_scale), sampling_ratio, aligned)
    return _tensor(gx, grad)


def roi_pool(
    input: Any, rois: Any, spatial_scale: float, pooled_height: int, pooled_width: int  # noqa: A002
) -> tuple[Any, Any]:
    """The largest pixels in the bins of each region, and their places (int32)."""
    x, boxes = _checked_regions("roi_pool_forward_kernel", input, rois)
    out = np.empty((len(boxes), x.shape[1], pooled_height, pooled_width), x.dtype)
    places = np.empty(out.shape, np.int32)
    roi_ops.pool(out, places, x, boxes, x.dtype.type(spatial_scale))
    return _tensor(out, input), torch.from_numpy(places)


def _roi_pool_backward(
    grad: Any, rois: Any, argmax: Any, spatial_scale: float, pooled_height: int,
    pooled_width: int, batch_size: int, channels: int, height: int, width: int,
) -> Any:  # fmt: skip
    g, boxes = _computed("roi_pool_backward_kernel", grad, rois)
    gx = np.zeros((batch_size, channels, height, width), g.dtype)
    roi_ops.pool_gradient(gx, g, _array(argmax), boxes)
    return _tensor(gx, grad)


def ps_roi_align(
    input: Any, rois: Any, spatial_scale: float, pooled_height: int, pooled_width: int,  # noqa: A002
    sampling_ratio: int,
) -> tuple[Any, Any]:  # fmt: skip
    """As roi_align, each bin from a channel of its own; also returns those channels (int32)."""
    x, boxes = _checked_regions("ps_roi_align_forward_kernel", input, rois)
    channels = _channels_out(x, pooled_height, pooled_width)
    out = np.empty((len(boxes), channels, pooled_height, pooled_width), x.dtype)
    source = np.empty(out.shape, np.int32)
    scale = x.dtype.type(spatial_scale)
    roi_ops.align_by_position(out, source, x, boxes, scale, sampling_ratio)
    return _tensor(out, input), torch.from_numpy(source)


def _ps_roi_align_backward(
    grad: Any, rois: Any, channel_mapping: Any, spatial_scale: float, pooled_height: int,
    pooled_width: int, sampling_ratio: int, batch_size: int, channels: int, height: int,
    width: int,
) -> Any:  # fmt: skip
    g, boxes = _computed("ps_roi_align_backward_kernel", grad, rois)
    gx = np.zeros((batch_size, channels, height, width), g.dtype)
    scale = g.dtype.type(spatial_scale)
    roi_ops.align_by_position_gradient(gx, g, _array(channel_mapping), boxes, scale, sampling_ratio)
    return _tensor(gx, grad)


def ps_roi_pool(
    input: Any, rois: Any, spatial_scale: float, pooled_height: int, pooled_width: int  # noqa: A002
) -> tuple[Any, Any]:
    """Means of the pixels in the bins of each region, each bin from a channel of its own."""
    x, boxes = _checked_regions("ps_roi_pool_forward_kernel", input, rois)
    channels = _channels_out(x, pooled_height, pooled_width)
    out = np.empty((len(boxes), channels, pooled_height, pooled_width), x.dtype)
    source = np.empty(out.shape, np.int32)
    ps_roi_pool_kernels.pool(out, source, x, boxes, x.dtype.type(spatial_scale))
    return _tensor(out, input), torch.from_numpy(source)


def _ps_roi_pool_backward(
    grad: Any, rois: Any, channel_mapping: Any, spatial_scale: float, pooled_height: int,
    pooled_width: int, batch_size: int, channels: int, height: int, width: int,
) -> Any:  # fmt: skip
    g, boxes = _computed("ps_roi_pool_backward_kernel", grad, rois)
    gx = np.zeros((batch_size, channels, height, width), g.dtype)
    scale = g.dtype.type(spatial_scale)
    ps_roi_pool_kernels.pool_gradient(gx, g, _array(channel_mapping), boxes, scale)
    return _tensor(gx, grad)


class _Deformable:
    """The shapes of a deformable convolution, and its arrays in them.

    Raises:
        RuntimeError: the shapes do not fit together.
    """

    def __init__(
        self, x: Any, weight: Any, offset: Any, mask: Any, stride: Sequence[int],
        padding: Sequence[int], dilation: Sequence[int], groups: int, offset_groups: int,
        use_mask: bool,
    ) -> None:  # fmt: skip
        self.x, self.weight = x, weight
        images, channels, height, width = x.shape
        filters, per_group, high, wide = weight.shape
        sizes = [
            (size + 2 * p - (d * (window - 1) + 1)) // s + 1
            for size, window, s, p, d in zip(
                (height, width), (high, wide), stride, padding, dilation, strict=True
            )
        ]
        self.rows, self.columns = sizes
        self.places = high * wide
        self.groups, self.use_mask = groups, use_mask
        self.geometry = (wide, *stride, *padding, *dilation)
        _require(
            per_group * groups == channels and filters % groups == 0,
            f"weight of shape {tuple(weight.shape)} does not fit {channels} channels in "
            f"{groups} groups",
        )
        _require(
            channels % offset_groups == 0,
            f"{channels} channels do not divide into {offset_groups} offset groups",
        )
        wanted = (images, offset_groups * 2 * self.places, *sizes)
        _require(
            tuple(offset.shape) == wanted,
            f"offset.shape is not valid: got {tuple(offset.shape)}, expected {wanted}",
        )
        self.offset = offset.reshape(images, offset_groups, self.places, 2, *sizes)
        if use_mask:
            wanted = (images, offset_groups * self.places, *sizes)
            _require(
                tuple(mask.shape) == wanted,
                f"mask.shape is not valid: got {tuple(mask.shape)}, expected {wanted}",
            )
            self.mask = mask.reshape(images, offset_groups, self.places, *sizes)
        else:
            self.mask = np.zeros((1, 1, 1, 1, 1), x.dtype)

    def columns_of_windows(self) -> Any:
        """[N, groups, channels of a group * places, pixels]"""
        images, channels = self.x.shape[:2]
        out = np.empty((images, channels, self.places, self.rows, self.columns), self.x.dtype)
        deform_im2col.columns(out, self.x, self.offset, self.mask, self.use_mask, self.geometry)
        return out.reshape(images, self.groups, -1, self.rows * self.columns)

    def weights(self) -> Any:
        """[groups, filters of a group, channels of a group * places]"""
        filters = self.weight.shape[0]
        return self.weight.reshape(self.groups, filters // self.groups, -1)


def deform_conv2d(
    input: Any, weight: Any, offset: Any, mask: Any, bias: Any, stride_h: int, stride_w: int,  # noqa: A002
    pad_h: int, pad_w: int, dilation_h: int, dilation_w: int, groups: int, offset_groups: int,
    use_mask: bool,
) -> Any:  # fmt: skip
    """A convolution whose window's places are moved by `offset` and weighted by `mask`."""
    x, w, moved, weights, added = _computed("deform_conv2d", input, weight, offset, mask, bias)
    shapes = _Deformable(x, w, moved, weights, (stride_h, stride_w), (pad_h, pad_w),
                         (dilation_h, dilation_w), groups, offset_groups, use_mask)  # fmt: skip
    out = shapes.weights() @ shapes.columns_of_windows()
    out = out.reshape(len(x), len(w), shapes.rows, shapes.columns) + added[:, None, None]
    return _tensor(out, input)


def _deform_conv2d_backward(
    grad: Any, input: Any, weight: Any, offset: Any, mask: Any, bias: Any, stride_h: int,  # noqa: A002
    stride_w: int, pad_h: int, pad_w: int, dilation_h: int, dilation_w: int, groups: int,
    offset_groups: int, use_mask: bool,
) -> tuple[Any, ...]:  # fmt: skip
    """The gradients of input, weight, offset, mask and bias."""
    g, x, w, moved, weights = _computed("deform_conv2d", grad, input, weight, offset, mask)
    shapes = _Deformable(x, w, moved, weights, (stride_h, stride_w), (pad_h, pad_w),
                         (dilation_h, dilation_w), groups, offset_groups, use_mask)  # fmt: skip
    by_group = g.reshape(len(x), groups, len(w) // groups, -1)
    gw = (by_group @ shapes.columns_of_windows().swapaxes(-1, -2)).sum(0).reshape(w.shape)
    of_columns = np.ascontiguousarray(shapes.weights().swapaxes(-1, -2) @ by_group)
    of_columns = of_columns.reshape(*x.shape[:2], shapes.places, shapes.rows, shapes.columns)
    gx, g_offset, g_mask = (np.zeros_like(each) for each in (x, shapes.offset, shapes.mask))
    deform_im2col.columns_gradient(gx, g_offset, g_mask, of_columns, x, shapes.offset, shapes.mask,
                                use_mask, shapes.geometry)  # fmt: skip
    g_mask = g_mask.reshape(weights.shape) if use_mask else np.zeros_like(weights)
    found = (gx, gw, g_offset.reshape(moved.shape), g_mask, g.sum((0, 2, 3)))
    return tuple(map(_tensor, found, (input, weight, offset, mask, bias)))


def box_iou_rotated(boxes1: Any, boxes2: Any) -> Any:
    """Intersection over union of boxes (x, y, width, height, degrees), [N, 5] and [M, 5]."""
    _require(boxes1.dtype == boxes2.dtype, "boxes1 should have the same type as boxes2")
    first, second = _computed("box_iou_rotated", boxes1, boxes2)
    out = np.empty((len(first), len(second)), np.float32)
    rotated_iou.overlaps(out, first, second)
    return torch.from_numpy(out)


_SCALE = "float spatial_scale, SymInt pooled_height, SymInt pooled_width"
_SIZES = "SymInt batch_size, SymInt channels, SymInt height, SymInt width"
_WINDOW = (
    "SymInt stride_h, SymInt stride_w, SymInt pad_h, SymInt pad_w, SymInt dilation_h, "
    "SymInt dilation_w, SymInt groups, SymInt offset_groups, bool use_mask"
)
_DEFORMED = f"Tensor input, Tensor weight, Tensor offset, Tensor mask, Tensor bias, {_WINDOW}"
_OPERATORS: dict[Callable[..., Any], str] = {
    nms: "(Tensor dets, Tensor scores, float iou_threshold) -> Tensor",
    roi_align:
        f"(Tensor input, Tensor rois, {_SCALE}, int sampling_ratio, bool aligned) -> Tensor",
    _roi_align_backward: f"(Tensor grad, Tensor rois, {_SCALE}, {_SIZES}, int sampling_ratio, "
        "bool aligned) -> Tensor",
    roi_pool: f"(Tensor input, Tensor rois, {_SCALE}) -> (Tensor, Tensor)",
    _roi_pool_backward:
        f"(Tensor grad, Tensor rois, Tensor argmax, {_SCALE}, {_SIZES}) -> Tensor",
    ps_roi_align:
        f"(Tensor input, Tensor rois, {_SCALE}, int sampling_ratio) -> (Tensor, Tensor)",
    _ps_roi_align_backward: f"(Tensor grad, Tensor rois, Tensor channel_mapping, {_SCALE}, "
        f"int sampling_ratio, {_SIZES}) -> Tensor",
    ps_roi_pool: f"(Tensor input, Tensor rois, {_SCALE}) -> (Tensor, Tensor)",
    _ps_roi_pool_backward:
        f"(Tensor grad, Tensor rois, Tensor channel_mapping, {_SCALE}, {_SIZES}) -> Tensor",
    deform_conv2d: f"({_DEFORMED}) -> Tensor",
    _deform_conv2d_backward:
        f"(Tensor grad, {_DEFORMED}) -> (Tensor, Tensor, Tensor, Tensor, Tensor)",
    box_iou_rotated: "(Tensor boxes1, Tensor boxes2) -> Tensor",
}  # fmt: skip


def declare() -> None:
    """Declare the operators of the namespace `torchvision`, once."""
    if _libraries:
        return
    library = Library("torchvision", "DEF")
    for function, schema in _OPERATORS.items():
        name = library.define(f"{function.__name__}{schema}")
        library.impl(name, function, "CPU")
    # There are no quantized tensors to call these with; torchvision gives them shape rules.
    library.define("qnms(Tensor dets, Tensor scores, float iou_threshold) -> Tensor")
    library.define(
        "qroi_align(Tensor input, Tensor rois, float input_scale, int input_zero_point, float "
        f"rois_scale, int rois_zero_point, {_SCALE}, int sampling_ratio, bool aligned) -> Tensor"
    )
    # torchvision asks which CUDA its library was built for; -1 is none.
    library.define("_cuda_version() -> int")
    library.impl("_cuda_version", lambda: -1, "CompositeExplicitAutograd")
    _libraries.append(library)


_libraries: list[Library] = []
