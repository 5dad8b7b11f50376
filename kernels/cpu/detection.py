"""What detection models do with boxes and regions of images, on arrays of any layout.

The loops are those of ``roi_ops``, ``ps_roi_pool``, ``deform_im2col`` and ``rotated_iou``.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from .regions import deform_im2col, roi_ops, rotated_iou
from .regions import ps_roi_pool as ps_roi_pool_loops

_dense = np.ascontiguousarray


def nms(outs: Any, boxes: Any, order: Any, *, iou_threshold: float) -> None:
    """The indices in ``order`` that are kept, at the beginning of the first result, and how many;
    the rest of that result is -1."""
    kept, count = outs
    kept[...] = -1
    dropped = np.zeros(order.shape, np.bool_)
    count[...] = roi_ops.suppress(kept, _dense(boxes), _dense(order), dropped, iou_threshold)


def _regions(name: str, rois: Any, images: int) -> Any:
    """The regions, whose images there are; torchvision's C++ would read another tensor's memory."""
    places = rois[:, 0]
    if places.size and not (places.min() >= 0 and places.max() < images):
        raise IndexError(
            f"{name}: rois name images {int(places.min())} to {int(places.max())} of a batch of "
            f"{images}"
        )
    return _dense(rois)


def roi_align(
    out: Any, x: Any, rois: Any, *, spatial_scale: float, sampling_ratio: int, aligned: bool
) -> None:
    regions = _regions("roi_align_forward_kernel", rois, len(x))
    roi_ops.align(out, _dense(x), regions, x.dtype.type(spatial_scale), sampling_ratio, aligned)


def roi_align_backward(
    gx: Any, g: Any, rois: Any, *, spatial_scale: float, sampling_ratio: int, aligned: bool
) -> None:
    gx[...] = 0
    regions = _regions("roi_align_backward_kernel", rois, len(gx))
    scale = g.dtype.type(spatial_scale)
    roi_ops.align_gradient(gx, _dense(g), regions, scale, sampling_ratio, aligned)


def roi_pool(outs: Any, x: Any, rois: Any, *, spatial_scale: float) -> None:
    regions = _regions("roi_pool_forward_kernel", rois, len(x))
    roi_ops.pool(*outs, _dense(x), regions, x.dtype.type(spatial_scale))


def roi_pool_backward(gx: Any, g: Any, rois: Any, argmax: Any) -> None:
    gx[...] = 0
    regions = _regions("roi_pool_backward_kernel", rois, len(gx))
    roi_ops.pool_gradient(gx, _dense(g), _dense(argmax), regions)


def ps_roi_align(
    outs: Any, x: Any, rois: Any, *, spatial_scale: float, sampling_ratio: int
) -> None:
    regions = _regions("ps_roi_align_forward_kernel", rois, len(x))
    scale = x.dtype.type(spatial_scale)
    roi_ops.align_by_position(*outs, _dense(x), regions, scale, sampling_ratio)


def ps_roi_align_backward(
    gx: Any, g: Any, rois: Any, source: Any, *, spatial_scale: float, sampling_ratio: int
) -> None:
    gx[...] = 0
    regions = _regions("ps_roi_align_backward_kernel", rois, len(gx))
    scale = g.dtype.type(spatial_scale)
    roi_ops.align_by_position_gradient(
        gx, _dense(g), _dense(source), regions, scale, sampling_ratio
    )


def ps_roi_pool(outs: Any, x: Any, rois: Any, *, spatial_scale: float) -> None:
    regions = _regions("ps_roi_pool_forward_kernel", rois, len(x))
    ps_roi_pool_loops.pool(*outs, _dense(x), regions, x.dtype.type(spatial_scale))


def ps_roi_pool_backward(
    gx: Any, g: Any, rois: Any, source: Any, *, spatial_scale: float
) -> None:
    gx[...] = 0
    regions = _regions("ps_roi_pool_backward_kernel", rois, len(gx))
    scale = g.dtype.type(spatial_scale)
    ps_roi_pool_loops.pool_gradient(gx, _dense(g), _dense(source), regions, scale)


def box_iou_rotated(out: Any, boxes1: Any, boxes2: Any) -> None:
    rotated_iou.overlaps(out, _dense(boxes1), _dense(boxes2))


class _Deformable:
    """The arrays of a deformable convolution in the shapes of its loops.

    Attributes:
        offset: [N, offset groups, places of the window, 2, rows, columns]; mask without the 2.
        geometry: the window's columns; strides, padding and dilation of both axes.
    """

    def __init__(
        self, x: Any, weight: Any, offset: Any, mask: Any, stride: Any, padding: Any,
        dilation: Any, groups: int, offset_groups: int, use_mask: bool,
    ) -> None:  # fmt: skip
        self.x, self.weight = _dense(x), _dense(weight)
        self.groups, self.use_mask = groups, use_mask
        self.geometry = (weight.shape[3], *stride, *padding, *dilation)
        self.places = weight.shape[2] * weight.shape[3]
        self.sizes = offset.shape[2:]
        shape = (len(x), offset_groups, self.places)
        self.offset = _dense(offset).reshape(*shape, 2, *self.sizes)
        self.mask = np.zeros((1, 1, 1, 1, 1), x.dtype)
        if use_mask:
            self.mask = _dense(mask).reshape(*shape, *self.sizes)

    def columns(self) -> Any:
        """[N, groups, channels of a group * places, pixels]"""
        images, channels = self.x.shape[:2]
        out = np.empty((images, channels, self.places, *self.sizes), self.x.dtype)
        deform_im2col.columns(out, self.x, self.offset, self.mask, self.use_mask, self.geometry)
        return out.reshape(images, self.groups, -1, self.sizes[0] * self.sizes[1])

    def weights(self) -> Any:
        """[groups, filters of a group, channels of a group * places]"""
        return self.weight.reshape(self.groups, len(self.weight) // self.groups, -1)


def deform_conv2d(
    out: Any, x: Any, weight: Any, offset: Any, mask: Any, bias: Any, *, stride: Any,
    padding: Any, dilation: Any, groups: int, offset_groups: int, use_mask: bool,
) -> None:  # fmt: skip
    shapes = _Deformable(
        x, weight, offset, mask, stride, padding, dilation, groups, offset_groups, use_mask
    )
    found = shapes.weights() @ shapes.columns()
    np.add(found.reshape(out.shape), bias[:, None, None], out=out)


def deform_conv2d_backward(
    outs: Any, g: Any, x: Any, weight: Any, offset: Any, mask: Any, *, stride: Any, padding: Any,
    dilation: Any, groups: int, offset_groups: int, use_mask: bool,
) -> None:  # fmt: skip
    """The gradients of input, weight, offset, mask and bias."""
    gx, gw, g_offset, g_mask, g_bias = outs
    shapes = _Deformable(
        x, weight, offset, mask, stride, padding, dilation, groups, offset_groups, use_mask
    )
    by_group = _dense(g).reshape(len(x), groups, len(weight) // groups, -1)
    gw[...] = (by_group @ shapes.columns().swapaxes(-1, -2)).sum(0).reshape(gw.shape)
    of_columns = _dense(shapes.weights().swapaxes(-1, -2) @ by_group)
    of_columns = of_columns.reshape(*x.shape[:2], shapes.places, *shapes.sizes)
    for each in (gx, g_offset, g_mask):
        each[...] = 0
    room = g_mask.reshape(shapes.mask.shape) if use_mask else np.zeros_like(shapes.mask)
    deform_im2col.columns_gradient(
        gx, g_offset.reshape(shapes.offset.shape), room, of_columns, shapes.x, shapes.offset,
        shapes.mask, use_mask, shapes.geometry,
    )  # fmt: skip
    g_bias[...] = g.sum((0, 2, 3))
