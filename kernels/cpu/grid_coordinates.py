"""Where the numbers of a grid lie: what sampling of images and of volumes share."""

from __future__ import annotations

from typing import Any

import numpy as np

from mindtorch.kernels.codegen.jit import kernel

MODES = ("nearest", "bilinear", "bicubic")
PADDINGS = ("zeros", "border", "reflection")


@kernel
def reflected(place: Any, size: int, align: bool) -> Any:
    """The place mirrored at the image's ends, and 1 or -1, the slope of that."""
    one = type(place)
    low = one(0) if align else one(-0.5)
    span = one(size - 1) if align else one(size)
    if span == 0:
        return one(0), one(0)
    distance = abs(place - low)
    beyond = distance % span
    slope = one(-1) if place < low else one(1)
    if np.floor(distance / span) % one(2) == 0:
        return beyond + low, slope
    return span - beyond + low, -slope
