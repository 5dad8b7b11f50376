"""Images whose channels lie last in memory: arrays ``[N, C, *spatial]`` of another order of axes.

A kernel marked by :func:`writes_channels_last` is given results in either order; of its other
operands each may have any order.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

from ..cat_flip_roll_pad import dense

Kernel = Callable[..., None]


def channels_behind(array: Any) -> Any:
    """The array with its channels as the last axis: a view."""
    return array.transpose(0, *range(2, array.ndim), 1)


def lies_last(array: Any) -> bool:
    """Whether the channels lie last in memory; not where the array is in C order, too."""
    flags = array.flags
    return not flags.c_contiguous and array.ndim > 2 and channels_behind(array).flags.c_contiguous


class _Axes(NamedTuple):
    """A layout's axes in another order."""

    shape: list[int]
    strides: list[int]


def channels_lie_last(layout: Any) -> bool | None:
    """:func:`lies_last` of a layout without gaps; None where it lies in neither order."""
    if dense(layout):
        return False
    behind = (0, *range(2, len(layout.shape)), 1)[: len(layout.shape)]
    turned = _Axes([layout.shape[i] for i in behind], [layout.strides[i] for i in behind])
    return True if dense(turned) else None


def writes_channels_last(kernel: Kernel) -> Kernel:
    """Mark a kernel whose results may have their channels last."""
    marked: Any = kernel
    marked.writes_channels_last = True
    return kernel
