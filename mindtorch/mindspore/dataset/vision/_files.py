"""Files of images and their bytes."""

from __future__ import annotations

import enum
import io
from pathlib import Path
from typing import Any

import numpy as np

from mindtorch.kernels.support.atomic_file import write_whole

from ._images import as_image, pillow

__all__ = [
    "ImageReadMode", "encode_jpeg", "encode_png", "read_file", "read_image", "write_file",
    "write_jpeg", "write_png",
]  # fmt: skip


class ImageReadMode(enum.IntEnum):
    """Which channels an image is read with: its own, grey, or red, green and blue."""

    UNCHANGED, GRAYSCALE, COLOR = range(3)


def _encoded(image: Any, kind: str, **options: Any) -> Any:
    array = as_image(image)
    if array.dtype != np.uint8:
        raise RuntimeError(f"an image of bytes is needed, but got {array.dtype}")
    if array.ndim == 3 and array.shape[2] == 1:
        array = array[..., 0]
    if array.ndim == 3 and array.shape[2] != 3:
        raise RuntimeError(f"an image has 1 or 3 channels, but got {array.shape[2]}")
    file = io.BytesIO()
    pillow().fromarray(array).save(file, kind, **options)
    return np.frombuffer(file.getvalue(), np.uint8).copy()


def encode_jpeg(image: Any, quality: int = 75) -> Any:
    """The bytes of a JPEG file.

    Args:
        image: bytes (height, width) or (height, width, channels).
        quality: 1 to 100.
    """
    if not 1 <= quality <= 100:
        raise ValueError(f"Invalid quality {quality}, should be in range of [1, 100].")
    return _encoded(image, "jpeg", quality=quality)


def encode_png(image: Any, compression_level: int = 6) -> Any:
    """The bytes of a PNG file.

    Args:
        image: bytes (height, width) or (height, width, channels).
        compression_level: 0 to 9.
    """
    if not 0 <= compression_level <= 9:
        raise ValueError(
            f"Invalid compression_level {compression_level}, should be in range of [0, 9]."
        )
    return _encoded(image, "png", compress_level=compression_level)


def read_file(filename: Any) -> Any:
    """The bytes of a file."""
    return np.frombuffer(Path(filename).read_bytes(), np.uint8).copy()


def read_image(filename: Any, mode: ImageReadMode = ImageReadMode.UNCHANGED) -> Any:
    """An image (height, width, channels) of a file.

    Args:
        filename: its path.
        mode: which channels.
    """
    image = pillow().open(filename)
    if mode is ImageReadMode.GRAYSCALE:
        image = image.convert("L")
    elif mode is ImageReadMode.COLOR or image.mode not in ("L", "RGB", "RGBA"):
        image = image.convert("RGB")
    array = np.asarray(image)
    return array[..., None] if array.ndim == 2 else array


def write_file(filename: Any, data: Any) -> None:
    """Write bytes into a file, as a whole or not at all."""
    array = np.asarray(data)
    if array.dtype != np.uint8 or array.ndim != 1:
        raise RuntimeError(f"bytes along one axis are needed, but got {array.dtype} {array.shape}")
    write_whole(filename, array.tobytes())


def write_jpeg(filename: Any, image: Any, quality: int = 75) -> None:
    """:func:`encode_jpeg` into a file.

    Args:
        filename: its path.
        image, quality: of :func:`encode_jpeg`.
    """
    write_file(filename, encode_jpeg(image, quality))


def write_png(filename: Any, image: Any, compression_level: int = 6) -> None:
    """:func:`encode_png` into a file.

    Args:
        filename: its path.
        image, compression_level: of :func:`encode_png`.
    """
    write_file(filename, encode_png(image, compression_level))
