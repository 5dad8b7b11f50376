"""Columns of a deformable convolution: pixels sampled where the offsets say."""

from __future__ import annotations

from typing import Any

import numpy as np

from mindtorch.kernels.codegen.jit import kernel


@kernel
def _pixel(image: Any, y: int, x: int) -> Any:
    """A pixel, 0 outside of the image."""
    if y < 0 or y >= image.shape[0] or x < 0 or x >= image.shape[1]:
        return image.dtype.type(0)
    return image[y, x]


@kernel
def _sample(image: Any, y: Any, x: Any) -> Any:
    """Bilinear interpolation in an image that is continued by zeros."""
    one = image.dtype.type
    if y <= -1 or y >= image.shape[0] or x <= -1 or x >= image.shape[1]:
        return one(0)
    y0, x0 = int(np.floor(y)), int(np.floor(x))
    far_y, far_x = y - one(y0), x - one(x0)
    near_y, near_x = one(1) - far_y, one(1) - far_x
    return (
        near_y * near_x * _pixel(image, y0, x0) + near_y * far_x * _pixel(image, y0, x0 + 1)
        + far_y * near_x * _pixel(image, y0 + 1, x0)
        + far_y * far_x * _pixel(image, y0 + 1, x0 + 1)
    )  # fmt: skip


@kernel
def _spread(image: Any, y: Any, x: Any, value: Any) -> None:
    """The transpose of `_sample`."""
    one = image.dtype.type
    if y <= -1 or y >= image.shape[0] or x <= -1 or x >= image.shape[1]:
        return
    y0, x0 = int(np.floor(y)), int(np.floor(x))
    far_y, far_x = y - one(y0), x - one(x0)
    for a in range(2):
        for b in range(2):
            if 0 <= y0 + a < image.shape[0] and 0 <= x0 + b < image.shape[1]:
                share_y = far_y if a else one(1) - far_y
                share_x = far_x if b else one(1) - far_x
                image[y0 + a, x0 + b] += share_y * share_x * value


@kernel
def _slopes(image: Any, y: Any, x: Any) -> Any:
    """The derivatives of `_sample` for y and x."""
    one = image.dtype.type
    y0, x0 = int(np.floor(y)), int(np.floor(x))
    far_y, far_x = y - one(y0), x - one(x0)
    a, b = _pixel(image, y0, x0), _pixel(image, y0, x0 + 1)
    c, d = _pixel(image, y0 + 1, x0), _pixel(image, y0 + 1, x0 + 1)
    by_y = (c - a) * (one(1) - far_x) + (d - b) * far_x
    by_x = (b - a) * (one(1) - far_y) + (d - c) * far_y
    return by_y, by_x


@kernel
def columns(out: Any, x: Any, offset: Any, mask: Any, masked: bool, geometry: Any) -> None:
    """``out[n, c, k, i, j]``: the pixel that place k of the window at (i, j) sees in channel c.

    Shapes: x [N, C, H, W], offset [N, groups, K, 2, rows, columns], mask [N, groups, K, rows,
    columns]; geometry is (window's columns, stride, padding and dilation, each for y and x).
    """
    one = x.dtype.type
    images, channels, places, rows, cols = out.shape
    wide, sy, sx, py, px, dy, dx = geometry
    per_group = channels // offset.shape[1]
    for n in range(images):
        for c in range(channels):
            group = c // per_group
            for k in range(places):
                for i in range(rows):
                    for j in range(cols):
                        y = one(i * sy - py + k // wide * dy) + offset[n, group, k, 0, i, j]
                        z = one(j * sx - px + k % wide * dx) + offset[n, group, k, 1, i, j]
                        value = _sample(x[n, c], y, z)
                        out[n, c, k, i, j] = value * mask[n, group, k, i, j] if masked else value


@kernel
def columns_gradient(
    gx: Any, g_offset: Any, g_mask: Any, g: Any, x: Any, offset: Any, mask: Any, masked: bool,
    geometry: Any,
) -> None:  # fmt: skip
    """The gradients of :func:`columns`, added to ``gx``, ``g_offset`` and ``g_mask``."""
    one = x.dtype.type
    images, channels, places, rows, cols = g.shape
    wide, sy, sx, py, px, dy, dx = geometry
    per_group = channels // offset.shape[1]
    for n in range(images):
        for c in range(channels):
            group = c // per_group
            for k in range(places):
                for i in range(rows):
                    for j in range(cols):
                        y = one(i * sy - py + k // wide * dy) + offset[n, group, k, 0, i, j]
                        z = one(j * sx - px + k % wide * dx) + offset[n, group, k, 1, i, j]
                        given = g[n, c, k, i, j]
                        if masked:
                            g_mask[n, group, k, i, j] += given * _sample(x[n, c], y, z)
                            given = given * mask[n, group, k, i, j]
                        _spread(gx[n, c], y, z, given)
                        by_y, by_x = _slopes(x[n, c], y, z)
                        g_offset[n, group, k, 0, i, j] += given * by_y
                        g_offset[n, group, k, 1, i, j] += given * by_x
