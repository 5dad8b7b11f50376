"""torchvision's compiled operators in kernels of ours: `torch.ops.torchvision.nms` and its like.

torchvision loads a library of C++ at import. That library cannot be loaded here; :func:`declare`
declares the operators that it would have declared, and torchvision registers its own gradient
formulas, shape rules and casts for them.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import mindtorch.torch as torch
from mindtorch.engine.dtypes import scalar_type_name
from mindtorch.engine.ops import detection

from . import Library

__all__ = ["declare"]


def _computed(name: str, *tensors: Any) -> list[Any]:
    """Floating-point tensors; 16-bit ones as float32.

    Raises:
        NotImplementedError: a type that torchvision has no kernel for.
    """
    for tensor in tensors:
        if tensor.dtype not in (torch.float16, torch.float32, torch.float64):
            kind = scalar_type_name(tensor.dtype)
            raise NotImplementedError(f"\"{name}\" not implemented for '{kind}'")
    return [each.float() if each.dtype == torch.float16 else each for each in tensors]


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
    order = torch.sort(scores.detach(), stable=True, descending=True)[1]
    kept, count = detection.nms(boxes, order, iou_threshold=float(iou_threshold))
    return kept[: count.item()]


def _checked_regions(name: str, x: Any, rois: Any) -> list[Any]:
    _require(rois.dim() == 2 and rois.shape[1] == 5, "rois must have shape as Tensor[K, 5]")
    _require(
        x.dtype == rois.dtype,
        "Expected tensor for argument #1 'input' to have the same type as tensor for argument #2 "
        f"'rois'; but type {x.type()} does not equal {rois.type()} (while checking arguments for "
        f"{name})",
    )
    return _computed(name, x, rois)


def roi_align(
    input: Any, rois: Any, spatial_scale: float, pooled_height: int, pooled_width: int,  # noqa: A002
    sampling_ratio: int, aligned: bool,
) -> Any:  # fmt: skip
    """Means of bilinear samples in the bins of each region, [K, C, rows, columns]."""
    x, boxes = _checked_regions("roi_align_forward_kernel", input, rois)
    out = detection.roi_align(
        x, boxes, spatial_scale=spatial_scale, size=(pooled_height, pooled_width),
        sampling_ratio=sampling_ratio, aligned=aligned,
    )  # fmt: skip
    return out.to(input.dtype)


def _roi_align_backward(
    grad: Any, rois: Any, spatial_scale: float, pooled_height: int, pooled_width: int,
    batch_size: int, channels: int, height: int, width: int, sampling_ratio: int, aligned: bool,
) -> Any:  # fmt: skip
    g, boxes = _computed("roi_align_backward_kernel", grad, rois)
    gx = detection.roi_align_backward(
        g, boxes, spatial_scale=spatial_scale, shape=(batch_size, channels, height, width),
        sampling_ratio=sampling_ratio, aligned=aligned,
    )  # fmt: skip
    return gx.to(grad.dtype)


def roi_pool(
    input: Any, rois: Any, spatial_scale: float, pooled_height: int, pooled_width: int  # noqa: A002
) -> tuple[Any, Any]:
    """The largest pixels in the bins of each region, and their places (int32)."""
    x, boxes = _checked_regions("roi_pool_forward_kernel", input, rois)
    size = pooled_height, pooled_width
    out, places = detection.roi_pool(x, boxes, spatial_scale=spatial_scale, size=size)
    return out.to(input.dtype), places


def _roi_pool_backward(
    grad: Any, rois: Any, argmax: Any, spatial_scale: float, pooled_height: int,
    pooled_width: int, batch_size: int, channels: int, height: int, width: int,
) -> Any:  # fmt: skip
    g, boxes = _computed("roi_pool_backward_kernel", grad, rois)
    shape = batch_size, channels, height, width
    return detection.roi_pool_backward(g, boxes, argmax, shape=shape).to(grad.dtype)


def ps_roi_align(
    input: Any, rois: Any, spatial_scale: float, pooled_height: int, pooled_width: int,  # noqa: A002
    sampling_ratio: int,
) -> tuple[Any, Any]:  # fmt: skip
    """As roi_align, each bin from a channel of its own; also returns those channels (int32)."""
    x, boxes = _checked_regions("ps_roi_align_forward_kernel", input, rois)
    out, source = detection.ps_roi_align(
        x, boxes, spatial_scale=spatial_scale, size=(pooled_height, pooled_width),
        sampling_ratio=sampling_ratio,
    )  # fmt: skip
    return out.to(input.dtype), source


def _ps_roi_align_backward(
    grad: Any, rois: Any, channel_mapping: Any, spatial_scale: float, pooled_height: int,
    pooled_width: int, sampling_ratio: int, batch_size: int, channels: int, height: int,
    width: int,
) -> Any:  # fmt: skip
    g, boxes = _computed("ps_roi_align_backward_kernel", grad, rois)
    gx = detection.ps_roi_align_backward(
        g, boxes, channel_mapping, spatial_scale=spatial_scale,
        shape=(batch_size, channels, height, width), sampling_ratio=sampling_ratio,
    )  # fmt: skip
    return gx.to(grad.dtype)


def ps_roi_pool(
    input: Any, rois: Any, spatial_scale: float, pooled_height: int, pooled_width: int  # noqa: A002
) -> tuple[Any, Any]:
    """Means of the pixels in the bins of each region, each bin from a channel of its own."""
    x, boxes = _checked_regions("ps_roi_pool_forward_kernel", input, rois)
    size = pooled_height, pooled_width
    out, source = detection.ps_roi_pool(x, boxes, spatial_scale=spatial_scale, size=size)
    return out.to(input.dtype), source


def _ps_roi_pool_backward(
    grad: Any, rois: Any, channel_mapping: Any, spatial_scale: float, pooled_height: int,
    pooled_width: int, batch_size: int, channels: int, height: int, width: int,
) -> Any:  # fmt: skip
    g, boxes = _computed("ps_roi_pool_backward_kernel", grad, rois)
    gx = detection.ps_roi_pool_backward(
        g, boxes, channel_mapping, spatial_scale=spatial_scale,
        shape=(batch_size, channels, height, width),
    )  # fmt: skip
    return gx.to(grad.dtype)


def deform_conv2d(
    input: Any, weight: Any, offset: Any, mask: Any, bias: Any, stride_h: int, stride_w: int,  # noqa: A002
    pad_h: int, pad_w: int, dilation_h: int, dilation_w: int, groups: int, offset_groups: int,
    use_mask: bool,
) -> Any:  # fmt: skip
    """A convolution whose window's places are moved by `offset` and weighted by `mask`."""
    tensors = _computed("deform_conv2d", input, weight, offset, mask, bias)
    out = detection.deform_conv2d(
        *tensors, stride=(stride_h, stride_w), padding=(pad_h, pad_w),
        dilation=(dilation_h, dilation_w), groups=groups, offset_groups=offset_groups,
        use_mask=use_mask,
    )  # fmt: skip
    return out.to(input.dtype)


def _deform_conv2d_backward(
    grad: Any, input: Any, weight: Any, offset: Any, mask: Any, bias: Any, stride_h: int,  # noqa: A002
    stride_w: int, pad_h: int, pad_w: int, dilation_h: int, dilation_w: int, groups: int,
    offset_groups: int, use_mask: bool,
) -> tuple[Any, ...]:  # fmt: skip
    """The gradients of input, weight, offset, mask and bias."""
    tensors = _computed("deform_conv2d", grad, input, weight, offset, mask)
    found = detection.deform_conv2d_backward(
        *tensors, stride=(stride_h, stride_w), padding=(pad_h, pad_w),
        dilation=(dilation_h, dilation_w), groups=groups, offset_groups=offset_groups,
        use_mask=use_mask,
    )  # fmt: skip
    given = input, weight, offset, mask, bias
    return tuple(g.to(like.dtype) for g, like in zip(found, given, strict=True))


def box_iou_rotated(boxes1: Any, boxes2: Any) -> Any:
    """Intersection over union of boxes (x, y, width, height, degrees), [N, 5] and [M, 5]."""
    _require(boxes1.dtype == boxes2.dtype, "boxes1 should have the same type as boxes2")
    return detection.box_iou_rotated(*_computed("box_iou_rotated", boxes1, boxes2))


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
        for device in ("CPU", "CUDA"):
            library.impl(name, function, device)
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
