"""Convolutions with one input channel for each group: a row of the image at a time.

Rows of results are multiples of rows of the padded image, one tap after another, so the innermost
loop runs along a row.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from mindtorch.kernels.compile import kernel

from .convolution_geometry import Geometry
from .threads import parallel_for


def suits(window: Any, groups: int) -> bool:
    """Each group reads one channel, and there is more than one."""
    return groups > 1 and window[1] == 1 and window[0] <= 4 * groups


@kernel
def _pad(padded: Any, x: Any, sizes: Any, inward: int) -> None:
    """One plane into the middle of zeros, or the middle back into the plane."""
    depth, height, width = sizes[1], sizes[2], sizes[3]
    bz, by, bx = sizes[4], sizes[5], sizes[6]
    planes, rows, columns = sizes[7], sizes[8], sizes[9]
    if inward:
        padded[: planes * rows * columns] = 0
    else:
        x[: depth * height * width] = 0
    for z in range(max(0, -bz), min(depth, planes - bz)):
        for y in range(max(0, -by), min(height, rows - by)):
            line = padded[((z + bz) * rows + y + by) * columns + bx :]
            row = x[(z * height + y) * width :]
            for i in range(min(width, columns - bx)):
                if inward:
                    line[i] = row[i]
                else:
                    row[i] = line[i]


@kernel
def _multiply_add(target: Any, source: Any, factor: Any, count: int, to_step: int, step: int
                  ) -> None:  # fmt: skip
    """``target[i * to_step] += factor * source[i * step]``."""
    if to_step == 1 and step == 1:
        a, b = target[:count], source[:count]
        for i in range(a.size):
            a[i] += factor * b[i]
    else:
        for i in range(count):
            target[i * to_step] += factor * source[i * step]


@kernel
def _forward(
    out: Any, x: Any, weight: Any, bias: Any, padded: Any, sizes: Any, taps: Any, starts: Any,
    row: int, step: int, features: int, first: int, last: int,
) -> None:  # fmt: skip
    plane = sizes[1] * sizes[2] * sizes[3]
    count, places = taps.size, starts.size * row
    for channel in range(first, last):
        _pad(padded, x[channel * plane :], sizes, 1)
        for f in range(features):
            feature = channel % sizes[0] * features + f
            result = out[(channel * features + f) * places :]
            for r in range(starts.size):
                target = result[r * row : (r + 1) * row]
                for i in range(row):
                    target[i] = bias[feature]
                for k in range(count):
                    _multiply_add(
                        target, padded[starts[r] + taps[k] :], weight[feature * count + k], row,
                        1, step,
                    )  # fmt: skip


@kernel
def _input_gradient(
    out: Any, g: Any, weight: Any, padded: Any, sizes: Any, taps: Any, starts: Any, row: int,
    step: int, features: int, first: int, last: int,
) -> None:  # fmt: skip
    plane = sizes[1] * sizes[2] * sizes[3]
    count, places = taps.size, starts.size * row
    for channel in range(first, last):
        padded[:] = 0
        for f in range(features):
            feature = channel % sizes[0] * features + f
            given = g[(channel * features + f) * places :]
            for r in range(starts.size):
                for k in range(count):
                    _multiply_add(
                        padded[starts[r] + taps[k] :], given[r * row :],
                        weight[feature * count + k], row, step, 1,
                    )  # fmt: skip
        _pad(padded, out[channel * plane :], sizes, 0)


@kernel
def _weight_gradient(
    out: Any, g: Any, x: Any, padded: Any, sums: Any, sizes: Any, taps: Any, starts: Any, row: int,
    step: int, features: int, images: int, first: int, last: int,
) -> None:  # fmt: skip
    plane = sizes[1] * sizes[2] * sizes[3]
    channels, count, places = sizes[0], taps.size, starts.size * row
    for channel in range(first, last):
        sums[: features * count * row] = 0
        for image in range(images):
            at = image * channels + channel
            _pad(padded, x[at * plane :], sizes, 1)
            for f in range(features):
                given = g[(at * features + f) * places :]
                for r in range(starts.size):
                    weights = given[r * row : (r + 1) * row]
                    for k in range(count):
                        total = sums[(f * count + k) * row : (f * count + k + 1) * row]
                        source = padded[starts[r] + taps[k] :]
                        if step == 1:
                            for i in range(total.size):
                                total[i] += weights[i] * source[i]
                        else:
                            for i in range(row):
                                total[i] += weights[i] * source[i * step]
        for k in range(features * count):
            total = out.dtype.type(0)
            for i in range(row):
                total += sums[k * row + i]
            out[channel * features * count + k] = total


def convolution(out: Any, x: Any, weight: Any, bias: Any, plan: Geometry) -> None:
    rows, channels = plan.phases[0], plan.groups
    offset = np.zeros(channels * plan.channels, out.dtype) if bias is None else bias

    def part(first: int, last: int) -> None:
        padded = np.empty(plan.pitch, out.dtype)
        _forward(out, x, weight, offset, padded, plan.sizes, plan.window, rows.starts, rows.row,
                 rows.step, plan.channels, first, last)  # fmt: skip

    parallel_for(plan.images * channels, part, 1 + 500_000 // plan.pitch)


def input_gradient(out: Any, g: Any, weight: Any, plan: Geometry) -> None:
    rows = plan.phases[0]

    def part(first: int, last: int) -> None:
        padded = np.empty(plan.pitch, out.dtype)
        _input_gradient(out, g, weight, padded, plan.sizes, plan.window, rows.starts, rows.row,
                        rows.step, plan.channels, first, last)  # fmt: skip

    parallel_for(plan.images * plan.groups, part, 1 + 500_000 // plan.pitch)


def weight_gradient(out: Any, g: Any, x: Any, plan: Geometry) -> None:
    rows = plan.phases[0]

    def part(first: int, last: int) -> None:
        padded = np.empty(plan.pitch, out.dtype)
        sums = np.empty(plan.channels * plan.window.size * rows.row, out.dtype)
        _weight_gradient(out, g, x, padded, sums, plan.sizes, plan.window, rows.starts, rows.row,
                         rows.step, plan.channels, plan.images, first, last)  # fmt: skip

    parallel_for(plan.groups, part, 1 + 500_000 // (plan.pitch * max(plan.images, 1)))
