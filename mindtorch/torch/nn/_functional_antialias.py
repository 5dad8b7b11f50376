"""Resizing images with antialiasing: each new pixel is a weighed mean of all that it covers."""

from __future__ import annotations

import math
from typing import Any

from mindtorch.engine import dtypes
from mindtorch.engine.ops.antialias import resize_axis

from ._resampling import resample


def resize_smoothly(
    x: Any, new: tuple[int, int], scales: Any, mode: str, align: bool
) -> Any:
    """``x`` of (N, C, H, W) with H and W made ``new``; ``mode``: bilinear, bicubic or lanczos.

    Args:
        scales: the factors that were asked for, None where the lengths were.
        align: one step is ``(old - 1) / (new - 1)``, not ``old / new``.
    """
    if x.aval.dtype is dtypes.uint8:
        return resample(x, new, scales, mode, align, smooth=True)
    if x.aval.dtype not in (dtypes.float32, dtypes.float64):
        kind = dtypes.scalar_type_name(x.aval.dtype)
        raise NotImplementedError(
            f"\"compute_index_ranges_weights\" not implemented for '{kind}'"
        )
    old = x.aval.shape[2:]
    if min(*old, *new) <= 0:
        raise RuntimeError(
            f"Input and output sizes should be greater than 0, but got input (H: {old[0]}, W: "
            f"{old[1]}) output (H: {new[0]}, W: {new[1]})"
        )
    for axis in (1, 0):
        if align:
            step = (old[axis] - 1) / (new[axis] - 1) if new[axis] > 1 else 0.0
        else:
            step = 1 / scales[axis] if scales[axis] else old[axis] / new[axis]
        if old[axis] == new[axis] and step == 1:
            continue
        x = resize_axis(x, axis, new[axis], step, mode)
    return x


def output_size(old: tuple[int, ...], size: Any, factors: Any) -> tuple[int, ...]:
    """The lengths asked for: ``size``, or the old ones times ``factors``."""
    if (size is None) == (factors is None):
        raise RuntimeError("Must specify exactly one of output_size and scale_factors")
    if size is not None:
        return tuple(int(n) for n in size)
    return tuple(math.floor(n * f) for n, f in zip(old, factors, strict=True))
