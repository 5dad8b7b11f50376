"""Images whose channels lie last in memory: arrays ``[N, C, *spatial]`` of another order of axes.

A kernel marked by :func:`writes_channels_last` is given results in either order; of its other
operands each may have any order.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

Kernel = Callable[..., None]


def channels_behind(array: Any) -> Any:
    """The array with its channels as the last axis: a view."""
    return array.transpose(0, *range(2, array.ndim), 1)


def lies_last(array: Any) -> bool:
    """Whether the channels lie last in memory; not where the array is in C order, too."""
    flags = array.flags
    return not flags.c_contiguous and array.ndim > 2 and channels_behind(array).flags.c_contiguous


def writes_channels_last(kernel: Kernel) -> Kernel:
    """Mark a kernel whose results may have their channels last."""
    marked: Any = kernel
    marked.writes_channels_last = True
    return kernel
