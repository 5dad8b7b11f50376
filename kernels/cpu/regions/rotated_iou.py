"""Overlaps of boxes that are turned: a box is (x, y, width, height, degrees)."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from mindtorch.kernels.codegen.jit import kernel


@kernel
def _corners(box: Any, x: float, y: float) -> Any:
    """The corners of a box, (4, 2), its centre moved by -x and -y; counter-clockwise angles."""
    angle = box[4] * math.pi / 180
    along_x, along_y = math.cos(angle) * box[2] / 2, -math.sin(angle) * box[2] / 2
    across_x, across_y = math.sin(angle) * box[3] / 2, math.cos(angle) * box[3] / 2
    corners = np.empty((4, 2))
    for i in range(4):
        first = 1 if i in (0, 3) else -1
        second = 1 if i < 2 else -1
        corners[i, 0] = box[0] - x + first * along_x + second * across_x
        corners[i, 1] = box[1] - y + first * along_y + second * across_y
    return corners


@kernel
def _cut(polygon: Any, count: int, x0: float, y0: float, dx: float, dy: float) -> Any:
    """What of a convex polygon lies on the left of the line from (x0, y0) along (dx, dy)."""
    left = np.empty((16, 2))
    found = 0
    for i in range(count):
        j = (i + 1) % count
        here = dx * (polygon[i, 1] - y0) - dy * (polygon[i, 0] - x0)
        there = dx * (polygon[j, 1] - y0) - dy * (polygon[j, 0] - x0)
        if here >= 0:
            left[found] = polygon[i]
            found += 1
        if (here > 0 and there < 0) or (here < 0 and there > 0):
            share = here / (here - there)
            left[found] = polygon[i] + share * (polygon[j] - polygon[i])
            found += 1
    return left, found


@kernel
def _area(polygon: Any, count: int) -> float:
    twice = 0.0
    for i in range(1, count - 1):
        ax, ay = polygon[i, 0] - polygon[0, 0], polygon[i, 1] - polygon[0, 1]
        bx, by = polygon[i + 1, 0] - polygon[0, 0], polygon[i + 1, 1] - polygon[0, 1]
        twice += ax * by - ay * bx
    return abs(twice) / 2


@kernel
def overlaps(out: Any, first: Any, second: Any) -> None:
    """``out[i, j]``: area of the intersection over that of the union of two boxes."""
    for i in range(first.shape[0]):
        for j in range(second.shape[0]):
            a, b = first[i].astype(np.float64), second[j].astype(np.float64)
            sizes = a[2] * a[3], b[2] * b[3]
            if min(sizes) < 1e-14:
                out[i, j] = 0
                continue
            polygon, count = _corners(a, a[0], a[1]), 4
            window = _corners(b, a[0], a[1])
            turn = 0.0
            for k in range(4):
                p, q, r = window[k], window[(k + 1) % 4], window[(k + 2) % 4]
                turn += (q[0] - p[0]) * (r[1] - q[1]) - (q[1] - p[1]) * (r[0] - q[0])
            sign = 1.0 if turn > 0 else -1.0
            for k in range(4):
                p, q = window[k], window[(k + 1) % 4]
                dx, dy = sign * (q[0] - p[0]), sign * (q[1] - p[1])
                polygon, count = _cut(polygon, count, p[0], p[1], dx, dy)
            shared = _area(polygon, count)
            out[i, j] = shared / (sizes[0] + sizes[1] - shared)
