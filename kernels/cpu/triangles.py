"""Triangles and diagonals of matrices."""

from __future__ import annotations

import functools
from typing import Any

import numpy as np

from mindtorch.kernels.codegen.fused_loop import Step
from mindtorch.kernels.codegen.jit import entry_point, kernel

from . import elementwise, strided_copy
from .cat_flip_roll_pad import dense
from .strided_copy import WORDS


@functools.lru_cache(maxsize=16)
def _triangle(rows: int, columns: int, diagonal: int) -> Any:
    return np.tri(rows, columns, diagonal, dtype=bool).reshape(-1)


def _triangle_plan(lower: bool) -> Any:
    def plan(out_layouts: Any, in_layouts: Any, *, diagonal: int) -> Any:
        (out,), (x,) = out_layouts, in_layouts
        if out.dtype.kind == "c":
            return None
        rows, columns = out.shape[-2:]
        border = diagonal if lower else diagonal - 1
        mask = elementwise.Operand((rows, columns), (columns, 1), np.dtype(np.bool_))
        zero = elementwise.Operand((), (), out.dtype)
        step = Step("where", (0, 1, 2) if lower else (0, 2, 1), out.dtype, out.dtype)
        run = elementwise.fused_plan((step,), (0,), out_layouts, (mask, x, zero))
        nothing, word = np.zeros(1, out.dtype), WORDS[out.dtype.itemsize]
        row = f"{np.dtype(word).name}[::1]"
        clear = entry_point(_clear, f"void({row}, int64, int64, int64, boolean)")
        is_dense = dense(out)

        def run_or_clear(target: Any, source: Any) -> None:
            if target is source and is_dense:
                clear(target.view(word), rows, columns, border, lower)
            else:
                run(target, _triangle(rows, columns, border), source, nothing)

        return run_or_clear

    return plan


@kernel
def _clear(out: Any, rows: int, columns: int, border: int, lower: bool) -> None:
    """Zeros above a diagonal (``lower``), or on and below it, of matrices one after another."""
    for i in range(out.size // columns):
        last = min(max(i % rows + border + 1, 0), columns)
        first, last = (last, columns) if lower else (0, last)
        out[i * columns + first : i * columns + last] = 0


def tril(out: Any, x: Any, *, diagonal: int) -> None:
    """``x`` on and below a diagonal, zeros above it."""
    rows, columns = x.shape[-2:]
    out[...] = np.where(np.tri(rows, columns, diagonal, dtype=bool), x, np.zeros(1, x.dtype))


def triu(out: Any, x: Any, *, diagonal: int) -> None:
    """``x`` on and above a diagonal, zeros below it."""
    rows, columns = x.shape[-2:]
    below = np.tri(rows, columns, diagonal - 1, dtype=bool)
    out[...] = np.where(below, np.zeros(1, x.dtype), x)


tril.plan, triu.plan = _triangle_plan(True), _triangle_plan(False)


def diag_embed(out: Any, x: Any, *, offset: int, first: int, second: int) -> None:
    """Zeros, with the last axis of ``x`` on a diagonal."""
    out[...] = 0
    n, moved = np.arange(x.shape[-1]), np.moveaxis(out, (first, second), (-2, -1))
    moved[..., n + max(-offset, 0), n + max(offset, 0)] = x


def _diagonal_plan(outs: Any, ins: Any, *, offset: int, first: int, second: int) -> Any:
    """For results in C order: the diagonal is a view of them."""
    (out,), (x,) = outs, ins
    if not dense(out) or 0 in x.shape:
        return None
    strides = list(out.strides)
    down, across = strides[first], strides[second]
    start = max(-offset, 0) * down + max(offset, 0) * across
    for axis in sorted((first % len(strides), second % len(strides)), reverse=True):
        del strides[axis]
    copy = strided_copy.planned(x.shape, [*strides, down + across], x.strides, x.dtype, (start, 0))

    def run(target: Any, source: Any) -> None:
        target.fill(0)
        copy(target, source)

    return run


diag_embed.plan = _diagonal_plan
