"""Weights of layers as steps take them."""

from __future__ import annotations

from typing import Any

import numpy as np

from mindtorch.kernels.cpu.inference import inference_packing as packing

from .layers import Layer

__all__ = ["is_run", "packed"]


def is_run(layer: Layer, x: Any, size_of: int) -> bool:
    """Whether a row of a window is one run of numbers, all of which may be multiplied."""
    inside = tuple(layer.padding) == (0, 0) and layer.dilation[1] == 1
    return inside and -(-x.channels * size_of // 4) * 4 == x.pitch * size_of


def packed(weight: np.ndarray, form: str, quantized: bool) -> Any:
    """A weight ``[channel, given channel, rows, columns]`` in panels."""
    channels, inner, down, across = weight.shape
    if form == "each":
        return packing.each_channel(weight.reshape(channels, down * across))
    last = np.moveaxis(weight, 1, 3)
    if form == "whole":
        taps = np.ascontiguousarray(last).reshape(channels, 1, -1)
    elif form in ("first", "rows"):
        last = packing.padded(last, packing.pitch_of(inner), 3) if form == "rows" else last
        taps = np.ascontiguousarray(last).reshape(channels, down, -1)
    else:
        taps = np.ascontiguousarray(last).reshape(channels, down * across, inner)
    return packing.packed_bytes(taps) if quantized else packing.packed_floats(taps)
