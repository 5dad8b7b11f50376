"""Weights as whole numbers: of so many bits, or of as many as a budget of errors needs."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..config import Config
from ..execution import dequantized, packed
from ..graph import LiteGraph, LiteNode, LiteTensor, Quantization

__all__ = ["candidates", "quantize_weights", "quantized_weight", "replace_weight", "rounded"]

PRODUCTS = ("convolution", "linear")
_MOST_BITS = 16
_SEARCHED = 24  # halvings of the factor between steps and a channel's numbers


def candidates(graph: LiteGraph, config: Config) -> list[LiteNode]:
    """The nodes whose constant weights are quantised."""
    found = []
    least, channels = config.min_quant_weight_size, config.min_quant_weight_channel
    if config.quant_type == "DYNAMIC_QUANT":  # which has no such limits
        least = channels = 0
    for node in graph.nodes:
        weight = node.inputs[1] if node.op in PRODUCTS else None
        tensor = None if weight is None else graph.tensors[weight]
        if tensor is None or tensor.data is None or tensor.data.dtype != np.float32:
            continue
        if node.name in config.skip_quant_node or tensor.quantization is not None:
            continue
        if tensor.data.size > least and tensor.data.shape[0] > channels:
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
    array: np.ndarray, bits: int, per_channel: bool = True, correction: bool = True,
    budget: float = 0.0,
) -> tuple[np.ndarray, Quantization]:  # fmt: skip
    """Whole numbers for a weight whose first axis is that of the channels.

    Args:
        bits: 0: as many as ``budget`` needs, 16 at most.
        correction: let scale and zero point be those of the least squares of the differences, so
            that they sum up to 0 in each channel and a layer's mean stays.
        budget: the mean of the channels' relative errors, norm of the difference by norm.
    """
    if bits == 0:
        return _within(array, per_channel, correction, budget)
    numbers, scales = rounded(array, bits, per_channel)
    zeros = np.full(len(scales), -0.5 if bits == 1 else 0.0)
    return numbers, _fitted(array, numbers, (bits, scales, zeros), per_channel, correction)


def _fitted(
    array: np.ndarray, numbers: np.ndarray, about: Any, per_channel: bool, correction: bool
) -> Quantization:
    """Bits, scales and zero points, the latter those of the least squares if so asked."""
    bits, scales, zeros = about
    if correction:
        q, rows = _rows(numbers, per_channel), _rows(array, per_channel)
        middle = q - q.mean(axis=1, keepdims=True)
        spread = (middle**2).sum(axis=1)
        slopes = (middle * rows).sum(axis=1) / np.where(spread > 0, spread, 1)
        fits = (spread > 0) & (slopes > 0)
        scales = np.where(fits, slopes, scales)
        zeros = np.where(fits, q.mean(axis=1) - rows.mean(axis=1) / scales, zeros)
    axis = 0 if per_channel else None
    return Quantization(bits, scales.astype(np.float32), zeros.astype(np.float32), axis)


def _within(
    array: np.ndarray, per_channel: bool, correction: bool, budget: float
) -> tuple[np.ndarray, Quantization]:
    """The largest steps, in proportion to the numbers of a channel, that keep within the budget."""
    rows = _rows(array, per_channel)
    sizes = np.sqrt((rows**2).mean(axis=1))
    largest = np.abs(rows).max(axis=1)
    sizes = np.where(sizes > 0, sizes, 1.0)
    # what 16 bits hold, and what leaves no number but 0
    low, high = float((largest / sizes).max()) / (2 ** (_MOST_BITS - 1) - 1) or 1.0, 64.0
    best = _steps(array, low * sizes, per_channel, correction)
    for _ in range(_SEARCHED):
        middle = float(np.sqrt(low * high))
        tried = _steps(array, middle * sizes, per_channel, correction)
        if _relative_error(array, *tried) <= budget:
            low, best = middle, tried
        else:
            high = middle
    return best


def _steps(
    array: np.ndarray, scales: np.ndarray, per_channel: bool, correction: bool
) -> tuple[np.ndarray, Quantization]:
    """The nearest multiples of these steps."""
    rows = np.rint(_rows(array, per_channel) / scales[:, None])
    numbers = rows.reshape(array.shape).astype(np.int32)
    most = max(int(numbers.max(initial=0)), -int(numbers.min(initial=0)) - 1)
    about = most.bit_length() + 1, scales, np.zeros(len(scales))
    return numbers, _fitted(array, numbers, about, per_channel, correction)


def _relative_error(array: np.ndarray, numbers: np.ndarray, made: Quantization) -> float:
    shown = _rows(numbers, made.axis is not None) - made.zero_points[:, None]
    shown *= made.scales[:, None]
    rows = _rows(array, True)
    wanted = (rows**2).sum(axis=1)
    lost = ((rows - shown.reshape(rows.shape)) ** 2).sum(axis=1)
    some = wanted > 0
    return float(np.sqrt(lost[some] / wanted[some]).mean()) if some.any() else 0.0


def stored(numbers: np.ndarray, bits: int, uneven: bool = False) -> np.ndarray:
    """The numbers as a graph has them: up to 8 bits in bytes, which a file keeps in fewer bits
    than they have, and packed between 8 and 16, unless few of them need so many bits."""
    if bits <= 8 or bits == 16 or uneven:
        return numbers.astype(np.int8 if bits <= 8 else np.int16)
    return packed(numbers, bits)


def replace_weight(
    graph: LiteGraph, node: LiteNode, place: int, bits: int, per_channel: bool, correction: bool,
    budget: float = 0.0,
) -> dict[str, Any]:  # fmt: skip
    """Keep a weight as whole numbers; what it cost."""
    old = graph.tensors[place]
    assert old.data is not None
    numbers, made = quantized_weight(old.data, bits, per_channel, correction, budget)
    held = stored(numbers, made.bits, uneven=bits == 0)
    new = graph.tensors[place] = LiteTensor(old.name, old.dtype, old.data.shape, held, made)
    return {
        "node": node.name, "op": node.op, "weight": old.name, "bits": made.bits,
        **difference(old.data, dequantized(new), "weight"),
    }  # fmt: skip


def quantize_weights(graph: LiteGraph, config: Config) -> list[tuple[LiteNode, dict[str, Any]]]:
    """Replace the weights; for each layer what it cost."""
    return [
        (node, replace_weight(
            graph, node, node.inputs[1] or 0, config.bit_num, config.per_channel,
            config.bias_correction, config.init_scale,
        ))
        for node in candidates(graph, config)
    ]  # fmt: skip


def difference(exact: np.ndarray, found: np.ndarray, what: str) -> dict[str, float]:
    """The ratio of signal to noise in decibels, and the largest difference."""
    error = found.astype(np.float64) - exact
    noise, signal = float((error**2).sum()), float((exact.astype(np.float64) ** 2).sum())
    ratio = float("inf") if noise == 0 else -float("inf")
    if noise > 0 and signal > 0:
        ratio = 10 * float(np.log10(signal / noise))
    largest = float(np.abs(error).max()) if error.size else 0.0
    return {f"{what}_snr_db": ratio, f"{what}_largest_difference": largest}
