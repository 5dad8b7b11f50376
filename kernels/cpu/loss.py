"""Losses of class scores: negative log likelihood, and it with log_softmax (cross entropy)."""

from __future__ import annotations

from typing import Any

import numpy as np

from mindtorch.kernels.compile import kernel

from .half import flat, in_float32
from .normalization import _optional


@kernel
def _pick(out: Any, x: Any, target: Any, weight: Any, rows: int, classes: int, inner: int,
          ignored: int) -> None:  # fmt: skip
    for r in range(rows):
        for j in range(inner):
            t = target[r * inner + j]
            at = r * inner + j
            if t == ignored:
                out[at] = 0
                continue
            value = x[(r * classes + t) * inner + j]
            out[at] = -value * weight[t] if weight.size else -value


@kernel
def _spread(gx: Any, g: Any, target: Any, weight: Any, rows: int, classes: int, inner: int,
            ignored: int) -> None:  # fmt: skip
    for i in range(gx.size):
        gx[i] = 0
    for r in range(rows):
        for j in range(inner):
            t = target[r * inner + j]
            if t == ignored:
                continue
            slope = g[r * inner + j]
            gx[(r * classes + t) * inner + j] = -slope * weight[t] if weight.size else -slope


def _sizes(x: Any) -> tuple[int, int, int]:
    inner = int(np.prod(x.shape[2:], dtype=np.int64))
    return int(x.shape[0]), int(x.shape[1]), inner


def check_targets(target: Any, classes: int, ignore_index: int) -> None:
    """IndexError, as torch's, for a class outside of ``range(classes)``."""
    wrong = (target != ignore_index) & ((target < 0) | (target >= classes))
    if wrong.any():
        raise IndexError(f"Target {int(target[wrong].flat[0])} is out of bounds.")


@in_float32
def nll(out: Any, x: Any, target: Any, weight: Any = None, *, ignore_index: int = -100) -> None:
    """``out[n, ...] = -weight[t] * x[n, t, ...]``; 0 where the target is ignored."""
    check_targets(target, x.shape[1], ignore_index)
    _pick(out.reshape(-1), flat(x), flat(target), _optional(weight, x.dtype), *_sizes(x),
          ignore_index)  # fmt: skip


@in_float32
def nll_gradient(
    out: Any, g: Any, target: Any, weight: Any = None, *, ignore_index: int = -100
) -> None:
    """The gradient of :func:`nll` for ``x`` (shape of ``out``)."""
    _spread(out.reshape(-1), flat(g), flat(target), _optional(weight, out.dtype), *_sizes(out),
            ignore_index)  # fmt: skip
