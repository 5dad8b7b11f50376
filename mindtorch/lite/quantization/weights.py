"""Weights as whole numbers."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..config import Config
from ..execution import dequantized, packed
from ..graph import LiteGraph, LiteNode, LiteTensor, Quantization

__all__ = ["candidates", "quantize_weights", "quantized_weight", "rounded"]

PRODUCTS = ("convolution", "linear")


def candidates(graph: LiteGraph, config: Config) -> list[LiteNode]:
    """The nodes whose constant weights are quantised."""
    found = []
    for node in graph.nodes:
        weight = node.inputs[1] if node.op in PRODUCTS else None
        tensor = None if weight is None else graph.tensors[weight]
        if tensor is None or tensor.data is None or tensor.data.dtype != np.float32:
            continue
        if node.name in config.skip_quant_node or tensor.quantization is not None:
            continue
        if tensor.data.size <= config.min_quant_weight_size:
            continue
        if tensor.data.shape[0] > config.min_quant_weight_channel:
            found.append(node)
    return found


def _rows(array: np.ndarray, per_channel: bool) -> np.ndarray:
    return array.reshape(array.shape[0] if per_channel else 1, -1).astype(np.float64)


def rounded(array: np.ndarray, bits: int, per_channel: bool) -> tuple[np.ndarray, np.ndarray]:
    """The nearest whole numbers, symmetric around 0, and the scale of each channel.

    For one bit the numbers are -1 and 0, which stand for -m and m, the mean of the magnitudes.
    """
    rows = _rows(array, per_channel)
    if bits == 1:
        scales = 2 * np.abs(rows).mean(axis=1)
        numbers = np.where(rows < 0, -1, 0)
    else:
        most = 2 ** (bits - 1) - 1
        scales = np.abs(rows).max(axis=1) / most
        safe = np.where(scales > 0, scales, 1)
        numbers = np.clip(np.rint(rows / safe[:, None]), -most, most)
    return numbers.reshape(array.shape).astype(np.int32), np.where(scales > 0, scales, 1.0)


def quantized_weight(
    array: np.ndarray, bits: int, per_channel: bool = True, correction: bool = True
) -> tuple[np.ndarray, Quantization]:
    """Whole numbers for a weight whose first axis is that of the channels.

    Args:
        correction: let scale and zero point be those of the least squares of the differences, so
            that they sum up to 0 in each channel and a layer's mean stays.
    """
    numbers, scales = rounded(array, bits, per_channel)
    zeros = np.full(len(scales), -0.5 if bits == 1 else 0.0)
    if correction:
        q, rows = _rows(numbers, per_channel), _rows(array, per_channel)
        middle = q - q.mean(axis=1, keepdims=True)
        spread = (middle**2).sum(axis=1)
        slopes = (middle * rows).sum(axis=1) / np.where(spread > 0, spread, 1)
        fits = (spread > 0) & (slopes > 0)
        scales = np.where(fits, slopes, scales)
        zeros = np.where(fits, q.mean(axis=1) - rows.mean(axis=1) / scales, zeros)
    made = Quantization(
        bits, scales.astype(np.float32), zeros.astype(np.float32), 0 if per_channel else None
    )
    return numbers, made


def stored(numbers: np.ndarray, bits: int) -> np.ndarray:
    """The numbers as a graph has them: up to 8 bits in bytes, which a file keeps in fewer bits
    than they have, and packed between 8 and 16."""
    if bits <= 8 or bits == 16:
        return numbers.astype(np.int8 if bits <= 8 else np.int16)
    return packed(numbers, bits)


def quantize_weights(graph: LiteGraph, config: Config) -> list[dict[str, Any]]:
    """Replace the weights; for each layer what it cost."""
    lines = []
    for node in candidates(graph, config):
        place = node.inputs[1]
        assert place is not None
        old = graph.tensors[place]
        assert old.data is not None
        numbers, made = quantized_weight(
            old.data, config.bit_num, config.per_channel, config.bias_correction
        )
        new = LiteTensor(
            old.name, old.dtype, old.data.shape, stored(numbers, config.bit_num), made
        )
        graph.tensors[place] = new
        lines.append({
            "node": node.name, "op": node.op, "weight": old.name, "bits": config.bit_num,
            **difference(old.data, dequantized(new), "weight"),
        })  # fmt: skip
    return lines


def difference(exact: np.ndarray, found: np.ndarray, what: str) -> dict[str, float]:
    """The ratio of signal to noise in decibels, and the largest difference."""
    error = found.astype(np.float64) - exact
    noise, signal = float((error**2).sum()), float((exact.astype(np.float64) ** 2).sum())
    ratio = float("inf") if noise == 0 else -float("inf")
    if noise > 0 and signal > 0:
        ratio = 10 * float(np.log10(signal / noise))
    largest = float(np.abs(error).max()) if error.size else 0.0
    return {f"{what}_snr_db": ratio, f"{what}_largest_difference": largest}
