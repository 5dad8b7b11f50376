"""Histograms of large tensors, in time that does not grow with every element."""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

__all__ = ["Counted", "count", "plain_array"]

BINS = 60
SAMPLE = 200_000  # elements that are counted, of those of a larger tensor


class Counted(NamedTuple):
    """Figures of a tensor's finite elements; `odd` of all elements are NaN or infinite.

    Attributes:
        limits: the upper ends of the buckets.
    """

    least: float
    most: float
    number: int
    total: float
    squares: float
    limits: list[float]
    counts: list[float]
    odd: int


def plain_array(tensor: Any, torch: Any) -> np.ndarray | None:
    """A tensor's real elements as one row, of complex ones the sizes; None for sparse tensors."""
    if getattr(tensor, "is_sparse", False) or tensor.layout != torch.strided:
        return None
    held = tensor.detach()
    if held.is_complex():
        held = held.abs()
    if held.dtype not in (torch.float32, torch.float64):
        held = held.to(torch.float32)
    return np.asarray(held.cpu().numpy()).reshape(-1)


def count(array: np.ndarray) -> Counted | None:
    """The histogram of an array's elements; None where none is finite.

    The buckets are of equal width on the scale of asinh(10 x / rms): fine around zero, wider in
    proportion further out. Least, most, sum and squares are of all elements; those counted are
    every so many of a large tensor's, and the counts are scaled to all.
    """
    total = float(np.sum(array, dtype=np.float64))
    odd = 0
    if not math.isfinite(total):
        finite = array[np.isfinite(array)]
        odd, array = array.size - finite.size, finite
        total = float(np.sum(array, dtype=np.float64))
    if not array.size:
        return None
    squares = float(np.dot(array, array)) if array.dtype == np.float64 else _squares(array)
    least, most = float(array.min()), float(array.max())
    scale = math.sqrt(squares / array.size) / 10 if math.isfinite(squares) else 0.0
    if not scale or most == least or not math.isfinite(total):
        return Counted(least, most, array.size, total, squares, [most], [float(array.size)], odd)
    sample = array[:: -(-array.size // SAMPLE)].astype(np.float64)
    ends = np.arcsinh(np.array([least, most]) / scale)
    counts, edges = np.histogram(np.arcsinh(sample / scale), BINS, (ends[0], ends[1]))
    limits = np.sinh(edges[1:]) * scale
    limits[-1] = most
    share = array.size / max(int(counts.sum()), 1)
    return Counted(
        least, most, array.size, total, squares, limits.tolist(), (counts * share).tolist(), odd
    )


def _squares(array: np.ndarray) -> float:
    """The sum of squares, in blocks, so that no copy of all elements is made."""
    parts = np.array_split(array, max(1, array.size // 262_144))
    return float(sum(np.dot(part := each.astype(np.float64), part) for each in parts))
