"""Loops over boxes and regions of images: suppression of overlaps, pooling of regions.

A region is a row (image, x1, y1, x2, y2). All arithmetic is in the type of the images, step by
step as detection models are trained with; `one` gives that type to constants. Gradients scatter
with additions in the order of the loops.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from mindtorch.kernels.codegen.jit import kernel


@kernel
def suppress(kept: Any, boxes: Any, order: Any, dropped: Any, threshold: float) -> int:
    """Indices of boxes, in `order`, that overlap no earlier kept one by more than `threshold`.

    Overlap is the area of the intersection over that of the union. Returns how many are kept.
    """
    zero = boxes.dtype.type(0)
    count = 0
    for at in range(order.size):
        i = order[at]
        if dropped[i]:
            continue
        kept[count] = i
        count += 1
        x1, y1, x2, y2 = boxes[i, 0], boxes[i, 1], boxes[i, 2], boxes[i, 3]
        area = (x2 - x1) * (y2 - y1)
        for later in range(at + 1, order.size):
            j = order[later]
            if dropped[j]:
                continue
            width = max(zero, min(x2, boxes[j, 2]) - max(x1, boxes[j, 0]))
            height = max(zero, min(y2, boxes[j, 3]) - max(y1, boxes[j, 1]))
            shared = width * height
            other = (boxes[j, 2] - boxes[j, 0]) * (boxes[j, 3] - boxes[j, 1])
            if shared / (area + other - shared) > threshold:
                dropped[j] = True
    return count


@kernel
def _corner(place: Any, size: int) -> Any:
    """(low, high, share of low, share of high) of a place on an axis, held within it."""
    one = type(place)(1)
    place = max(place, type(place)(0))
    low = int(place)
    if low >= size - 1:
        return size - 1, size - 1, one, type(place)(0)
    share = place - type(place)(low)
    return low, low + 1, one - share, share


@kernel
def _outside(y: Any, x: Any, height: int, width: int) -> bool:
    return y < -1 or y > height or x < -1 or x > width


@kernel
def _sample(image: Any, y: Any, x: Any) -> Any:
    """Bilinear interpolation of an image at a place; 0 more than one pixel outside of it."""
    height, width = image.shape
    if _outside(y, x, height, width):
        return image.dtype.type(0)
    y0, y1, near_y, far_y = _corner(y, height)
    x0, x1, near_x, far_x = _corner(x, width)
    return (
        near_y * near_x * image[y0, x0] + near_y * far_x * image[y0, x1]
        + far_y * near_x * image[y1, x0] + far_y * far_x * image[y1, x1]
    )  # fmt: skip


@kernel
def _spread(image: Any, y: Any, x: Any, value: Any) -> None:
    """The transpose of `_sample`: add a value's shares to the four pixels."""
    height, width = image.shape
    if _outside(y, x, height, width):
        return
    y0, y1, near_y, far_y = _corner(y, height)
    x0, x1, near_x, far_x = _corner(x, width)
    image[y0, x0] += value * (near_y * near_x)
    image[y0, x1] += value * (near_y * far_x)
    image[y1, x0] += value * (far_y * near_x)
    image[y1, x1] += value * (far_y * far_x)


@kernel
def _points(length: Any, bins: int, ratio: int) -> int:
    """How many samples a bin has along an axis."""
    if ratio > 0:
        return ratio
    return int(np.ceil(length / type(length)(bins)))


@kernel
def _frame(region: Any, scale: Any, shift: Any, least: Any) -> Any:
    """(top, left, height, width) of a region on the scaled image, at least `least` large."""
    left, top = region[1] * scale - shift, region[2] * scale - shift
    width = max(region[3] * scale - shift - left, least)
    height = max(region[4] * scale - shift - top, least)
    return top, left, height, width


@kernel
def _place(start: Any, step: Any, at: int, point: int, points: int) -> Any:
    one = type(start)
    return start + one(at) * step + one(point + 0.5) * step / one(points)


@kernel
def align(out: Any, x: Any, regions: Any, scale: Any, ratio: int, aligned: bool) -> None:
    """``out[k, c, i, j]``: mean of the samples of bin (i, j) of region k in channel c.

    Shapes: out [K, C, rows, columns], x [N, C, H, W], regions [K, 5].
    """
    one = x.dtype.type
    count, channels, rows, columns = out.shape
    shift, least = (one(0.5), one(-np.inf)) if aligned else (one(0), one(1))
    for k in range(count):
        top, left, height, width = _frame(regions[k], scale, shift, least)
        down, right = _points(height, rows, ratio), _points(width, columns, ratio)
        samples = one(max(down * right, 1))
        step_y, step_x = height / one(rows), width / one(columns)
        for c in range(channels):
            image = x[int(regions[k, 0]), c]
            for i in range(rows):
                for j in range(columns):
                    total = one(0)
                    for a in range(down):
                        y = _place(top, step_y, i, a, down)
                        for b in range(right):
                            total += _sample(image, y, _place(left, step_x, j, b, right))
                    out[k, c, i, j] = total / samples


@kernel
def align_gradient(
    gx: Any, g: Any, regions: Any, scale: Any, ratio: int, aligned: bool
) -> None:
    """The gradient of :func:`align` for ``x``, added to ``gx`` [N, C, H, W]."""
    one = g.dtype.type
    count, channels, rows, columns = g.shape
    shift, least = (one(0.5), one(-np.inf)) if aligned else (one(0), one(1))
    for k in range(count):
        top, left, height, width = _frame(regions[k], scale, shift, least)
        down, right = _points(height, rows, ratio), _points(width, columns, ratio)
        samples = one(max(down * right, 1))
        step_y, step_x = height / one(rows), width / one(columns)
        for c in range(channels):
            image = gx[int(regions[k, 0]), c]
            for i in range(rows):
                for j in range(columns):
                    share = g[k, c, i, j] / samples
                    for a in range(down):
                        y = _place(top, step_y, i, a, down)
                        for b in range(right):
                            _spread(image, y, _place(left, step_x, j, b, right), share)


@kernel
def align_by_position(
    out: Any, source: Any, x: Any, regions: Any, scale: Any, ratio: int
) -> None:
    """As :func:`align`, where bin (i, j) of channel c is taken from an input channel of its own.

    ``source[k, c, i, j] = (c * rows + i) * columns + j`` is that channel.
    """
    one = x.dtype.type
    count, channels, rows, columns = out.shape
    for k in range(count):
        top, left, height, width = _frame(regions[k], scale, one(0.5), one(-np.inf))
        down, right = _points(height, rows, ratio), _points(width, columns, ratio)
        step_y, step_x = height / one(rows), width / one(columns)
        for c in range(channels):
            for i in range(rows):
                for j in range(columns):
                    channel = (c * rows + i) * columns + j
                    image = x[int(regions[k, 0]), channel]
                    total = one(0)
                    for a in range(down):
                        y = _place(top, step_y, i, a, down)
                        for b in range(right):
                            total += _sample(image, y, _place(left, step_x, j, b, right))
                    out[k, c, i, j] = total / one(down * right)
                    source[k, c, i, j] = channel


@kernel
def align_by_position_gradient(
    gx: Any, g: Any, source: Any, regions: Any, scale: Any, ratio: int
) -> None:
    """The gradient of :func:`align_by_position` for ``x``, added to ``gx``."""
    one = g.dtype.type
    count, channels, rows, columns = g.shape
    for k in range(count):
        top, left, height, width = _frame(regions[k], scale, one(0.5), one(-np.inf))
        down, right = _points(height, rows, ratio), _points(width, columns, ratio)
        step_y, step_x = height / one(rows), width / one(columns)
        for c in range(channels):
            for i in range(rows):
                for j in range(columns):
                    image = gx[int(regions[k, 0]), source[k, c, i, j]]
                    share = g[k, c, i, j] / one(down * right)
                    for a in range(down):
                        y = _place(top, step_y, i, a, down)
                        for b in range(right):
                            _spread(image, y, _place(left, step_x, j, b, right), share)


@kernel
def _nearest(value: Any) -> int:
    """The nearest whole number; halves go away from zero."""
    size = abs(value)
    below = int(np.floor(size))
    if size - np.floor(size) >= 0.5:
        below += 1
    return below if value >= 0 else -below


@kernel
def pool(out: Any, places: Any, x: Any, regions: Any, scale: Any) -> None:
    """``out[k, c, i, j]``: the largest pixel of bin (i, j); `places` its index in the image.

    Bins without pixels are 0 and have the place -1.
    """
    one = x.dtype.type
    count, channels, rows, columns = out.shape
    size_y, size_x = x.shape[2], x.shape[3]
    for k in range(count):
        left, top = _nearest(regions[k, 1] * scale), _nearest(regions[k, 2] * scale)
        width = max(_nearest(regions[k, 3] * scale) - left + 1, 1)
        height = max(_nearest(regions[k, 4] * scale) - top + 1, 1)
        step_y, step_x = one(height) / one(rows), one(width) / one(columns)
        for i in range(rows):
            y0 = min(max(int(np.floor(one(i) * step_y)) + top, 0), size_y)
            y1 = min(max(int(np.ceil(one(i + 1) * step_y)) + top, 0), size_y)
            for j in range(columns):
                x0 = min(max(int(np.floor(one(j) * step_x)) + left, 0), size_x)
                x1 = min(max(int(np.ceil(one(j + 1) * step_x)) + left, 0), size_x)
                for c in range(channels):
                    image = x[int(regions[k, 0]), c]
                    best, place = one(0), -1
                    for a in range(y0, y1):
                        for b in range(x0, x1):
                            if place < 0 or image[a, b] > best:
                                best, place = image[a, b], a * size_x + b
                    out[k, c, i, j] = best
                    places[k, c, i, j] = place


@kernel
def pool_gradient(gx: Any, g: Any, places: Any, regions: Any) -> None:
    """The gradient of :func:`pool` for ``x``, added to ``gx``."""
    count, channels, rows, columns = g.shape
    width = gx.shape[3]
    for k in range(count):
        for c in range(channels):
            image = gx[int(regions[k, 0]), c]
            for i in range(rows):
                for j in range(columns):
                    place = places[k, c, i, j]
                    if place >= 0:
                        image[place // width, place % width] += g[k, c, i, j]
