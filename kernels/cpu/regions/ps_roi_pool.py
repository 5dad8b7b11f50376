"""Mean pooling of regions where each bin has an input channel of its own."""

from __future__ import annotations

from typing import Any

import numpy as np

from mindtorch.kernels.codegen.jit import kernel

from .roi_ops import _nearest


@kernel
def _bounds(start: int, step: Any, at: int, limit: int) -> Any:
    """First and past-the-last pixel of a bin, at most `limit`."""
    one = type(step)
    low = int(np.floor(one(at) * step + one(start)))
    high = int(np.ceil(one(at + 1) * step + one(start)))
    return min(max(low, 0), limit), min(max(high, 0), limit)


@kernel
def _frame(region: Any, scale: Any) -> Any:
    """(top, left, height, width) of a region in whole pixels."""
    left, top = _nearest(region[1] * scale), _nearest(region[2] * scale)
    width = max(_nearest(region[3] * scale) - left, 1)
    height = max(_nearest(region[4] * scale) - top, 1)
    return top, left, height, width


@kernel
def pool(out: Any, source: Any, x: Any, regions: Any, scale: Any) -> None:
    """``out[k, c, i, j]``: mean of bin (i, j) in channel ``(c * rows + i) * columns + j``."""
    one = x.dtype.type
    count, channels, rows, columns = out.shape
    for k in range(count):
        top, left, height, width = _frame(regions[k], scale)
        step_y, step_x = one(height) / one(rows), one(width) / one(columns)
        for c in range(channels):
            for i in range(rows):
                y0, y1 = _bounds(top, step_y, i, x.shape[2] - 1)
                for j in range(columns):
                    x0, x1 = _bounds(left, step_x, j, x.shape[3] - 1)
                    channel = (c * rows + i) * columns + j
                    image = x[int(regions[k, 0]), channel]
                    total = one(0)
                    for a in range(y0, y1):
                        for b in range(x0, x1):
                            total += image[a, b]
                    filled = y1 > y0 and x1 > x0
                    pixels = one((y1 - y0) * (x1 - x0))
                    out[k, c, i, j] = total / pixels if filled else one(0)
                    source[k, c, i, j] = channel


@kernel
def pool_gradient(gx: Any, g: Any, source: Any, regions: Any, scale: Any) -> None:
    """The gradient of torchvision's pooling for ``x``, added to ``gx``.

    Its bins reach the last row and column of the image, those of :func:`pool` do not: the models
    that exist were trained with this.
    """
    one = g.dtype.type
    count, channels, rows, columns = g.shape
    for k in range(count):
        top, left, height, width = _frame(regions[k], scale)
        step_y, step_x = one(height) / one(rows), one(width) / one(columns)
        for c in range(channels):
            for i in range(rows):
                y0, y1 = _bounds(top, step_y, i, gx.shape[2])
                for j in range(columns):
                    x0, x1 = _bounds(left, step_x, j, gx.shape[3])
                    if y1 <= y0 or x1 <= x0:
                        continue
                    image = gx[int(regions[k, 0]), source[k, c, i, j]]
                    share = g[k, c, i, j] / one((y1 - y0) * (x1 - x0))
                    for a in range(y0, y1):
                        for b in range(x0, x1):
                            image[a, b] += share
