"""Tensors as numpy arrays, and arrays as pictures."""

from __future__ import annotations

import io
import math
from typing import Any

import numpy as np

from mindtorch.engine.dtypes import bfloat16, float16

from ..._tensor.tensor import Tensor


def make_np(x: Any) -> Any:
    """An array of a tensor, an array or a number; NotImplementedError for anything else."""
    if isinstance(x, np.ndarray):
        return x
    if np.isscalar(x):
        return np.array([x])
    if not isinstance(x, Tensor):
        raise NotImplementedError(
            f"Got {type(x)}, but numpy array or torch tensor are expected."
        )
    if x.device.type == "meta":
        return np.zeros(1)
    return (x.to(float16) if x.dtype is bfloat16 else x).detach().cpu().numpy()


def make_grid(images: Any, ncols: int = 8) -> Any:
    """(N, 1 or 3, H, W) as one picture (3, rows * H, columns * W), filled row by row."""
    if not isinstance(images, np.ndarray):
        raise AssertionError("plugin error, should pass numpy array here")
    if images.shape[1] == 1:
        images = np.repeat(images, 3, 1)
    if images.ndim != 4 or images.shape[1] != 3:
        raise AssertionError("Input should be a 4D numpy array with 3 channels")
    count, _, height, width = images.shape
    columns = min(count, ncols)
    rows = math.ceil(count / columns)
    cells = np.zeros((rows * columns, 3, height, width), images.dtype)
    cells[:count] = images
    cells = cells.reshape(rows, columns, 3, height, width).transpose(2, 0, 3, 1, 4)
    return cells.reshape(3, rows * height, columns * width)


def convert_to_HWC(array: Any, input_format: str) -> Any:  # noqa: N802
    """A picture, or a batch of them as a grid, in the order height, width, channels."""
    if len(set(input_format)) != len(input_format):
        raise AssertionError(
            "You can not use the same dimension shorthand twice.             input_format: "
            f"{input_format}"
        )
    if array.ndim != len(input_format):
        raise AssertionError(
            "size of input tensor and input format are different.         tensor shape: "
            f"{array.shape}, input_format: {input_format}"
        )
    axes = input_format.upper()
    if len(axes) == 4:
        return make_grid(array.transpose([axes.find(a) for a in "NCHW"])).transpose(1, 2, 0)
    if len(axes) == 3:
        picture = array.transpose([axes.find(a) for a in "HWC"])
        return np.repeat(picture, 3, 2) if picture.shape[2] == 1 else picture
    if len(axes) == 2:
        picture = array.transpose([axes.find(a) for a in "HW"])
        return np.stack([picture] * 3, 2)
    raise AssertionError(f"input_format: {input_format}")


def as_bytes(picture: Any) -> Any:
    """Elements from 0 to 255: bytes as they are, anything else times 255."""
    factor = 1 if picture.dtype == np.uint8 else 255
    return (picture.astype(np.float32) * factor).clip(0, 255).astype(np.uint8)


def encode_png(picture: Any) -> bytes:
    output = io.BytesIO()
    picture.save(output, format="PNG")
    return output.getvalue()


def draw_boxes(picture: Any, boxes: Any, labels: Any = None) -> Any:
    """Red frames (left, top, right, bottom) on a picture of PIL, each with its label."""
    from PIL import ImageDraw, ImageFont

    draw = ImageDraw.Draw(picture)
    font = ImageFont.load_default()
    for i, (left, top, right, bottom) in enumerate(boxes):
        corners = [(left, top), (left, bottom), (right, bottom), (right, top), (left, top)]
        draw.line(corners, width=2, fill="Red")
        if labels is None or not labels[i]:
            continue
        box = font.getbbox(labels[i])
        width, height = box[2] - box[0], box[3] - box[1]
        margin = math.ceil(0.05 * height)
        above = bottom - height - 2 * margin
        draw.rectangle([(left, above), (left + width, bottom)], fill="Red")
        draw.text((left + margin, bottom - height - margin), labels[i], fill="black", font=font)
    return picture


def figure_to_image(figures: Any, close: bool = True) -> Any:
    """A figure of matplotlib drawn as (3, H, W); a list of them as (N, 3, H, W)."""
    import matplotlib.backends.backend_agg as agg
    import matplotlib.pyplot as plt

    def drawn(figure: Any) -> Any:
        canvas = agg.FigureCanvasAgg(figure)
        canvas.draw()
        width, height = canvas.get_width_height()
        pixels = np.frombuffer(canvas.buffer_rgba(), np.uint8).reshape(height, width, 4)
        if close:
            plt.close(figure)
        return np.moveaxis(pixels[:, :, :3], 2, 0)

    return np.stack([drawn(f) for f in figures]) if isinstance(figures, list) else drawn(figures)


def video_frames(video: Any) -> Any:
    """(N, T, C, H, W) as (T, rows * H, columns * W, C), the clips beside each other."""
    count, times, channels, height, width = video.shape
    if video.dtype == np.uint8:
        video = np.float32(video) / 255.0
    if count & (count - 1):
        missing = 2 ** count.bit_length() - count
        video = np.concatenate((video, np.zeros((missing, times, channels, height, width))))
    rows = 2 ** ((count.bit_length() - 1) // 2)
    columns = video.shape[0] // rows
    cells = video.reshape(rows, columns, times, channels, height, width)
    frames = cells.transpose(2, 0, 4, 1, 5, 3)
    return frames.reshape(times, rows * height, columns * width, channels)
