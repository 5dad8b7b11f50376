"""What detection models do with boxes and regions of images: torchvision's compiled operators.

A region is a row (image, x1, y1, x2, y2); its gradient is zero, as torchvision's.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from .. import dtypes
from ..aval import Aval, Shape, aval
from ..op import Op
from ..tensor import constant
from .comparison import greater_equal, where
from .convolution import Ints, NetworkOp
from .elementwise import maximum
from .indexing import index_select
from .movement import cast, select
from .pooling import pick


def _once(name: str) -> Callable[..., Any]:
    """The rule of a gradient that has none itself; torchvision's have none, either."""

    def rule(g: Any) -> Any:
        raise RuntimeError(f"double backwards on {name} not supported")

    return rule


def _kept(boxes: Aval, order: Aval, *, iou_threshold: float) -> tuple[Aval, Aval]:
    count = aval((), dtypes.int64, None, boxes.device)
    return aval(order.shape, dtypes.int64, None, boxes.device), count


# the boxes, in ``order``, that overlap no better one by more than the threshold: their indices,
# filled up with -1, and how many they are
nms = Op("nms", _kept, "detection.nms")


def _pooled(x: Aval, rois: Aval, channels: int, size: Ints) -> Aval:
    return aval((rois.shape[0], channels, *size), x.dtype, None, x.device)


def _with_places(out: Aval) -> tuple[Aval, Aval]:
    return out, aval(out.shape, dtypes.int32, None, out.device)


def _by_position(x: Aval, rois: Aval, size: Ints) -> tuple[Aval, Aval]:
    channels, rest = divmod(x.shape[1], size[0] * size[1])
    if rest:
        raise RuntimeError("input channels must be a multiple of pooling height * pooling width")
    return _with_places(_pooled(x, rois, channels, size))


def _of_images(g: Aval, shape: Shape) -> Aval:
    return aval(shape, g.dtype, None, g.device)


# means of bilinear samples in the bins of each region
roi_align = NetworkOp(
    "roi_align",
    lambda x, rois, *, spatial_scale, size, sampling_ratio, aligned: _pooled(
        x, rois, x.shape[1], size
    ),
    "detection.roi_align",
    vjp=(
        lambda g, rois, avals, spatial_scale, sampling_ratio, aligned: roi_align_backward(
            g, rois, spatial_scale=spatial_scale, shape=avals[0].shape,
            sampling_ratio=sampling_ratio, aligned=aligned,
        ),
        None,
    ),
    checks_values=True,
)  # fmt: skip
roi_align_backward = NetworkOp(
    "roi_align_backward",
    lambda g, rois, *, spatial_scale, shape, sampling_ratio, aligned: _of_images(g, shape),
    "detection.roi_align_backward",
    vjp=(
        lambda g, rois, avals, spatial_scale, sampling_ratio, aligned: roi_align(
            g, rois, spatial_scale=spatial_scale, size=avals[0].shape[2:],
            sampling_ratio=sampling_ratio, aligned=aligned,
        ),
        None,
    ),
    checks_values=True,
)  # fmt: skip

# the largest pixels in the bins of each region, and their places in the image
roi_pool = NetworkOp(
    "roi_pool",
    lambda x, rois, *, spatial_scale, size: _with_places(_pooled(x, rois, x.shape[1], size)),
    "detection.roi_pool",
    vjp=(
        lambda g, rois, out1, avals: roi_pool_backward(g[0], rois, out1, shape=avals[0].shape),
        None,
    ),
    checks_values=True,
)


def _picked(x: Any, rois: Any, places: Any) -> Any:
    """The pixels at ``places`` of each region's image; 0 where there is none."""
    images = cast(select(rois, axis=1, index=0), dtype=dtypes.int64)
    there = greater_equal(places, constant(0))
    found = pick(index_select(x, images, axis=0), maximum(places, constant(0)))
    return where(there, found, constant(0))


roi_pool_backward = NetworkOp(
    "roi_pool_backward",
    lambda g, rois, argmax, *, shape: _of_images(g, shape),
    "detection.roi_pool_backward",
    vjp=(lambda g, rois, argmax: _picked(g, rois, argmax), None, None),
    checks_values=True,
)

# as roi_align, each bin from a channel of its own; and those channels
ps_roi_align = NetworkOp(
    "ps_roi_align",
    lambda x, rois, *, spatial_scale, size, sampling_ratio: _by_position(x, rois, size),
    "detection.ps_roi_align",
    vjp=(
        lambda g, rois, out1, avals, spatial_scale, sampling_ratio: ps_roi_align_backward(
            g[0], rois, out1, spatial_scale=spatial_scale, shape=avals[0].shape,
            sampling_ratio=sampling_ratio,
        ),
        None,
    ),
    checks_values=True,
)  # fmt: skip
ps_roi_align_backward = NetworkOp(
    "ps_roi_align_backward",
    lambda g, rois, source, *, spatial_scale, shape, sampling_ratio: _of_images(g, shape),
    "detection.ps_roi_align_backward",
    vjp=(
        lambda g, rois, avals, spatial_scale, sampling_ratio: ps_roi_align(
            g, rois, spatial_scale=spatial_scale, size=avals[0].shape[2:],
            sampling_ratio=sampling_ratio,
        )[0],
        None,
        None,
    ),
    checks_values=True,
)  # fmt: skip

# means of the pixels in the bins of each region, each bin from a channel of its own
ps_roi_pool = NetworkOp(
    "ps_roi_pool",
    lambda x, rois, *, spatial_scale, size: _by_position(x, rois, size),
    "detection.ps_roi_pool",
    vjp=(
        lambda g, rois, out1, avals, spatial_scale: ps_roi_pool_backward(
            g[0], rois, out1, spatial_scale=spatial_scale, shape=avals[0].shape
        ),
        None,
    ),
    checks_values=True,
)
ps_roi_pool_backward = NetworkOp(
    "ps_roi_pool_backward",
    lambda g, rois, source, *, spatial_scale, shape: _of_images(g, shape),
    "detection.ps_roi_pool_backward",
    vjp=(_once("ps_roi_pool"), None, None),
    checks_values=True,
)


def _require(holds: bool, message: str) -> None:
    if not holds:
        raise RuntimeError(message)


def _deformed(
    x: Aval, weight: Aval, offset: Aval, mask: Aval, bias: Aval, *, stride: Ints, padding: Ints,
    dilation: Ints, groups: int, offset_groups: int, use_mask: bool,
) -> Aval:  # fmt: skip
    images, channels = x.shape[:2]
    filters, per_group, *window = weight.shape
    sizes = tuple(
        (size + 2 * p - (d * (places - 1) + 1)) // s + 1
        for size, places, s, p, d in zip(
            x.shape[2:], window, stride, padding, dilation, strict=True
        )
    )
    _require(
        per_group * groups == channels and filters % groups == 0,
        f"weight of shape {weight.shape} does not fit {channels} channels in {groups} groups",
    )
    _require(
        channels % offset_groups == 0,
        f"{channels} channels do not divide into {offset_groups} offset groups",
    )
    for name, given, count in (("offset", offset, 2), ("mask", mask, 1))[: 1 + use_mask]:
        wanted = (images, offset_groups * count * window[0] * window[1], *sizes)
        _require(
            given.shape == wanted,
            f"{name}.shape is not valid: got {given.shape}, expected {wanted}",
        )
    return aval((images, filters, *sizes), x.dtype, None, x.device)


def _deformed_vjp(
    g: Any, x: Any, weight: Any, offset: Any, mask: Any, stride: Ints, padding: Ints,
    dilation: Ints, groups: int, offset_groups: int, use_mask: bool, needs: Any,
) -> Any:  # fmt: skip
    return deform_conv2d_backward(
        g, x, weight, offset, mask, stride=stride, padding=padding, dilation=dilation,
        groups=groups, offset_groups=offset_groups, use_mask=use_mask,
    )  # fmt: skip


# a convolution whose window's places are moved by ``offset`` and weighted by ``mask``
deform_conv2d = Op("deform_conv2d", _deformed, "detection.deform_conv2d", vjp=_deformed_vjp)


def _deformed_gradients(
    g: Aval, x: Aval, weight: Aval, offset: Aval, mask: Aval, *, stride: Ints, padding: Ints,
    dilation: Ints, groups: int, offset_groups: int, use_mask: bool,
) -> tuple[Aval, ...]:  # fmt: skip
    shapes = (*(each.shape for each in (x, weight, offset, mask)), weight.shape[:1])
    return tuple(aval(shape, g.dtype, None, g.device) for shape in shapes)


def _deformed_twice(g: Any, needs: Any) -> Any:
    raise RuntimeError("double backwards on deform_conv2d not supported")


# the gradients of its input, weight, offset, mask and bias
deform_conv2d_backward = Op(
    "deform_conv2d_backward", _deformed_gradients, "detection.deform_conv2d_backward",
    vjp=_deformed_twice,
)  # fmt: skip

# intersections over unions of boxes (x, y, width, height, degrees), each with each
box_iou_rotated = Op(
    "box_iou_rotated",
    lambda boxes1, boxes2: aval(
        (boxes1.shape[0], boxes2.shape[0]), dtypes.float32, None, boxes1.device
    ),
    "detection.box_iou_rotated",
)
