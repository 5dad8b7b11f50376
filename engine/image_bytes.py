"""Pictures of bytes as arrays: kernels that data pipelines call. They are in no graph."""

from __future__ import annotations

import functools
from typing import Any

import numpy as np

__all__ = ["floats_by_channel", "resize_linear"]


@functools.cache
def _kernels() -> Any:
    from mindtorch.kernels.cpu import image_bytes  # imports numba

    return image_bytes


def resize_linear(image: Any, columns: tuple[Any, Any], rows: tuple[Any, Any]) -> Any:
    """A picture (height, width, channels) of bytes in another size, by linear interpolation in
    whole numbers.

    Args:
        columns, rows: of each axis the old places before and after each new one, and their weights
            in 2048ths: int32 (2, new length).
    """
    channels, width = image.shape[2], columns[0].shape[1]
    made = np.empty((rows[0].shape[1], width, channels), np.uint8)
    wide = np.empty((2, width * channels), np.int32)
    _kernels().resize_linear(made, image, *columns, *rows, wide)
    return made


def floats_by_channel(image: Any, table: Any, turned: bool) -> Any:
    """``table[c, byte]`` of each byte of channel c of a picture, float32.

    Args:
        turned: channels are the first axis of the result, not the last.
    """
    height, width, channels = image.shape
    shape = (channels, height, width) if turned else (height, width, channels)
    made = np.empty(shape, np.float32)
    _kernels().floats_by_channel(made if turned else made.transpose(2, 0, 1), image, table)
    return made
