"""Examples of calibration from image files."""

from __future__ import annotations

import numpy as np

from mindtorch.mindspore.dataset.vision import Decode
from mindtorch.torch import from_numpy
from mindtorch.torch.nn.functional import interpolate

from ..config import Config
from ..errors import ConvertError

__all__ = ["image_of"]

_GRAY = np.array([0.299, 0.587, 0.114])  # BT.601, of red, green and blue
_MODES = {"LINEAR": "bilinear", "NEAREST": "nearest", "CUBIC": "bicubic"}


def image_of(path: str, config: Config) -> np.ndarray:
    """The image of a file as the settings ask for it: ``[channels, height, width]``, float32.

    As in converter_lite colours are arranged first, then come ``(x - mean) / std``, the resizing
    and the middle. Resizing takes pixels' centres, and no mean over what it leaves out.

    Raises:
        ConvertError: the file is no image, or smaller than the middle that is asked for.
    """
    try:
        with open(path, "rb") as file:
            picture = Decode()(np.frombuffer(file.read(), np.uint8))
    except Exception as error:  # decoders raise errors of many kinds
        raise ConvertError(f"{path} cannot be read as an image: {error}") from None
    pixels = _arranged(picture, config.image_to_format)
    if config.normalize_std:
        mean, std = (
            np.array(n)[:, None, None] for n in (config.normalize_mean, config.normalize_std)
        )
        pixels = (pixels - mean) / std
    pixels = pixels.astype(np.float32)
    if config.resize_method:
        size = (config.resize_height, config.resize_width)
        exact = {} if config.resize_method == "NEAREST" else {"align_corners": False}
        made = interpolate(
            from_numpy(pixels[None]), size, mode=_MODES[config.resize_method], **exact
        )
        pixels = made.numpy()[0]
    if config.center_crop_width:
        pixels = _middle(path, pixels, config.center_crop_height, config.center_crop_width)
    return np.ascontiguousarray(pixels)


def _arranged(picture: np.ndarray, kind: str) -> np.ndarray:
    """Red, green and blue, with the channels first, as another arrangement of colours."""
    if kind == "GRAY":
        return np.rint(picture @ _GRAY)[None]
    return np.moveaxis(picture if kind == "RGB" else picture[..., ::-1], -1, 0)


def _middle(path: str, pixels: np.ndarray, height: int, width: int) -> np.ndarray:
    _, rows, columns = pixels.shape
    if height > rows or width > columns:
        raise ConvertError(f"{path} has {rows} x {columns} pixels, fewer than {height} x {width}")
    top, left = (rows - height) // 2, (columns - width) // 2
    return pixels[:, top : top + height, left : left + width]
