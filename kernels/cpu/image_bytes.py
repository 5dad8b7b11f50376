"""Pictures of bytes (height, width, channels): resized in whole numbers, and made into float32."""

from __future__ import annotations

from typing import Any

import numpy as np

from mindtorch.kernels.codegen.jit import kernel

__all__ = ["floats_by_channel", "resize_linear"]


@kernel(noalias=True)
def resize_linear(
    out: Any, image: Any, columns: Any, column_shares: Any, rows: Any, row_shares: Any, wide: Any
) -> None:
    """``out[y, x]`` between four pixels, weights in 2048ths, cut off as OpenCV does.

    Args:
        out, image: bytes, (height, width, channels).
        columns, rows: (2, new length): the old places before and after each new one.
        column_shares, row_shares: (2, new length): their weights.
        wide: int32 (2, new width * channels), for two old rows in the new width.
    """
    width, channels = out.shape[1], out.shape[2]
    held_first, held_second = -1, -1
    first, second = 0, 1  # which row of `wide` holds the upper and the lower old row
    for y in range(out.shape[0]):
        upper, lower = rows[0, y], rows[1, y]
        if upper == held_second and upper != held_first:
            first, second = second, first
            held_first, held_second = held_second, -1
        if upper != held_first:
            _widen(wide[first], image[upper], columns, column_shares, width, channels)
            held_first = upper
        if lower != held_second:
            _widen(wide[second], image[lower], columns, column_shares, width, channels)
            held_second = lower
        above, below = row_shares[0, y], row_shares[1, y]
        target, one, two = out[y].reshape(width * channels), wide[first], wide[second]
        for i in range(width * channels):
            value = ((one[i] * above) >> 16) + ((two[i] * below) >> 16)
            target[i] = min(max((value + 2) >> 2, 0), 255)


@kernel(noalias=True)
def _widen(
    out: Any, row: Any, columns: Any, shares: Any, width: int, channels: int
) -> None:
    """One old row in the new width, in 128ths."""
    for x in range(width):
        left, right = columns[0, x], columns[1, x]
        before, after = shares[0, x], shares[1, x]
        for c in range(channels):
            value = np.int32(row[left, c]) * before + np.int32(row[right, c]) * after
            out[x * channels + c] = value >> 4


@kernel(noalias=True)
def floats_by_channel(out: Any, image: Any, table: Any) -> None:
    """``out[c, y, x] = table[c, image[y, x, c]]``; out may be (height, width, channels) turned."""
    for y in range(image.shape[0]):
        for c in range(image.shape[2]):
            line, values, target = image[y], table[c], out[c, y]
            for x in range(image.shape[1]):
                target[x] = values[line[x, c]]
