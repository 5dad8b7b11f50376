"""Numbers in even steps, each rounded as PyTorch's loops of vectors round it."""

from __future__ import annotations

from typing import Any

import numpy as np

from mindtorch.kernels.codegen.jit import entry_point, kernel

from .vectors.float_bits import fma


@kernel
def _from_one_end(out: Any, first: float, step: float, lanes: int) -> None:
    kind = out.dtype.type
    whole = out.size // (2 * lanes) * (2 * lanes)
    for begin in range(0, whole, lanes):
        begun = np.float64(kind(fma(step, np.float64(begin), first)))
        group = out[begin : begin + lanes]
        for j in range(lanes):
            group[j] = fma(step, np.float64(j), begun)
    for i in range(whole, out.size):
        out[i] = fma(step, np.float64(i), first)


@kernel
def _from_both_ends(out: Any, first: Any, last: Any, step: Any) -> None:
    kind, half = out.dtype.type, out.size // 2
    left, right = out[:half], out[half:]
    for i in range(left.size):
        left[i] = fma(step, kind(i), first)
    for i in range(right.size):
        right[i] = fma(-step, kind(right.size - 1 - i), last)


def from_one_end(first: float, step: float, count: int, dtype: Any) -> Any:
    """``first + i * step`` as float32 or float64; in groups of a vector's size from the group's
    rounded first number, up to the last multiple of two vectors."""
    out = np.empty(count, dtype)
    run = entry_point(_from_one_end, f"void({out.dtype.name}[::1], float64, float64, int64)")
    run(out, float(first), float(step), 32 // out.itemsize)
    return out


def from_both_ends(first: Any, last: Any, step: Any, count: int) -> Any:
    """``first + i * step`` in the first half, ``last - (count - 1 - i) * step`` in the second, in
    the arithmetic of their type, float32 or float64."""
    out = np.empty(count, step.dtype)
    name = out.dtype.name
    run = entry_point(_from_both_ends, f"void({name}[::1], {name}, {name}, {name})")
    run(out, first, last, step)
    return out
