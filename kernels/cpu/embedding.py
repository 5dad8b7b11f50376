"""Rows taken by index, and rows added back."""

from __future__ import annotations

from typing import Any

import numpy as np

from mindtorch.kernels.compile import kernel

from .half import flat, in_float32


@kernel
def _gather(out: Any, weight: Any, indices: Any, n: int) -> None:
    for i in range(indices.size):
        source = weight[indices[i] * n : (indices[i] + 1) * n]
        target = out[i * n : (i + 1) * n]
        for j in range(n):
            target[j] = source[j]


@kernel
def _scatter_add(out: Any, g: Any, indices: Any, n: int, skipped: int) -> None:
    for i in range(out.size):
        out[i] = 0
    for i in range(indices.size):
        if indices[i] == skipped:
            continue
        source = g[i * n : (i + 1) * n]
        target = out[indices[i] * n : (indices[i] + 1) * n]
        for j in range(n):
            target[j] += source[j]


def check_bounds(indices: Any, rows: int) -> None:
    """IndexError, as torch's, for an index outside of ``range(rows)``."""
    if indices.size and (int(indices.min()) < 0 or int(indices.max()) >= rows):
        raise IndexError("index out of range in self")


def gather_rows(out: Any, weight: Any, indices: Any, **params: Any) -> None:
    """``out[i] = weight[indices[i]]``; the indices must lie in range."""
    check_bounds(indices, weight.shape[0])
    n = weight.size // max(weight.shape[0], 1)
    target, table = out.reshape(-1), flat(weight)
    if target.dtype.kind not in "fiu" or target.dtype.itemsize == 2:
        out[...] = weight[indices]
        return
    _gather(target, table, flat(indices), n)


@in_float32
def scatter_add_rows(
    out: Any, g: Any, indices: Any, *, padding_idx: int | None = None
) -> None:
    """``out`` = zeros with ``g[i]`` added to row ``indices[i]``, in order; the padding row is
    left."""
    if out.dtype.kind not in "fiu":
        out[...] = 0
        np.add.at(out, indices, g)
        return
    n = out.size // max(out.shape[0], 1)
    skipped = -1 if padding_idx is None else padding_idx
    _scatter_add(out.reshape(-1), flat(g), flat(indices), n, skipped)
