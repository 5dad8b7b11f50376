"""Resizing with antialiasing along an axis: each new pixel is a weighed mean of all it covers."""

from __future__ import annotations

import functools
from typing import Any

import numpy as np

from mindtorch.kernels.codegen.interpolation_weights import cubic

from ..tensor import constant, from_array
from . import comparison as comparisons
from . import elementwise as pointwise
from .indexing import index_select
from .linear_algebra import matmul
from .movement import transpose

_REACH = {"bilinear": 1.0, "bicubic": 2.0, "lanczos": 3.0}
_CUBIC = -0.5
_FEW = 8  # of so many pixels a sum has torch's order; of more, BLAS's, which is faster there


def _filter(distance: Any, mode: str) -> Any:
    """The weight at a distance, in units of the larger of both pixels."""
    d = np.abs(distance)
    kind = d.dtype.type
    if mode == "bilinear":
        return np.maximum(1 - d, 0)
    if mode == "lanczos":
        wide = d.astype(np.float64)
        return np.where(d < 3, np.sinc(wide) * np.sinc(wide / 3), 0).astype(kind)
    near, far = cubic(d, _CUBIC)
    return np.where(d < 1, near, np.where(d < 2, far, 0)).astype(kind)


@functools.lru_cache(maxsize=64)
def _weights(old: int, new: int, step: float, mode: str, kind: Any) -> Any:
    """(new, old): the weights of the old pixels in each new one, in the arithmetic of ``kind``;
    rows sum to 1. And the first pixel that each new one covers, and how many.

    The pixels that a new one covers begin at whole places, and those at the edges of its reach
    are left out where their centres are not within it.
    """
    half, size = kind(0.5), np.maximum(kind(step), kind(1))
    reach = kind(_REACH[mode]) * size
    centres = kind(step) * (np.arange(new).astype(kind) + half)
    first = np.maximum(np.trunc(centres - reach + half), 0)
    last = np.minimum(np.trunc(centres + reach + half), old)
    places = np.arange(old).astype(kind)
    distance = (places[None] - centres[:, None] + half) * (kind(1) / size)
    within = (places[None] >= first[:, None]) & (places[None] < last[:, None])
    weights = np.where(within, _filter(distance, mode), kind(0))
    total = np.add.accumulate(weights, axis=1)[:, -1:]  # one after another
    weights = weights / np.where(total == 0, kind(1), total)
    return weights, first.astype(np.int64), (last - first).astype(np.int64)


def _summed(x: Any, axis: int, weights: Any, first: Any, count: Any) -> Any:
    """``x`` with ``axis`` replaced by the weighed sums of the pixels that each new one covers.

    As PyTorch's loop adds them: one after another, of those after the first all that fill 16 bytes
    as rounded products, the rest fused with their sums.
    """
    device, new = x.aval.device, np.arange(len(first))
    shape, group = (-1, 1) if axis == 2 else (-1,), 16 // weights.itemsize

    def row(values: Any) -> Any:
        return from_array(np.ascontiguousarray(values).reshape(shape), device)

    total: Any = None
    for j in range(int(count.max())):
        there, fused = j < count, j > (count - 1) // group * group
        places = np.where(there, first + j, first)
        pixels = index_select(x, from_array(places, device), axis=axis)
        factor = row(weights[new, places])
        if total is None:
            total = pointwise.multiply(pixels, factor)
            continue
        product = pointwise.addcmul(total, pixels, factor, constant(1))
        if not fused[there].all():
            apart = pointwise.add(total, pointwise.multiply(pixels, factor))
            product = comparisons.where(row(fused), product, apart)
        total = product if there.all() else comparisons.where(row(there), product, total)
    return total


def resize_axis(x: Any, axis: int, new: int, step: float, mode: str) -> Any:
    """``x`` of (N, C, H, W) with H (``axis`` 0) or W (1) made ``new``, one pixel each ``step``."""
    old = x.aval.shape[2 + axis]
    weights, first, count = _weights(old, new, step, mode, x.aval.dtype.np.type)
    if count.max() <= _FEW:
        return _summed(x, axis + 2, weights, first, count)
    matrix = from_array(np.ascontiguousarray(weights), x.aval.device)
    return matmul(matrix, x) if axis == 0 else matmul(x, transpose(matrix, 0, 1))
