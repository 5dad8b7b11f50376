"""One number of each row for CUDA: variance, norms, logsumexp.

    picture   one block for each row of a dense [rows, count] array; two passes where a mean or a
              maximum comes first
    memory    one float64 a thread in shared memory
    sync      of the folds (see ``fold``)
    sizes     any
"""

from __future__ import annotations

import functools
import math
from typing import Any

import numpy as np
from numba import float64

from . import launch
from .fold import largest, total
from .mathematics import mathematics

# the first pass's result m, what the second pass adds up of a value v, and what becomes of the sum
_KINDS = {
    "var": ("mean", "(v - m) * (v - m)", "s / max(count - number, 0.0) if count > number else "
            "s / zero"),
    "std": ("mean", "(v - m) * (v - m)", "sqrt(s / max(count - number, 0.0)) if count > number "
            "else sqrt(s / zero)"),
    "logsumexp": ("max", "exp(v - m)", "log(s) + m"),
    "norm0": ("", "1.0 if v != 0 else 0.0", "s"),
    "norm1": ("", "abs(v)", "s"),
    "norm2": ("", "v * v", "sqrt(s)"),
    "norm": ("", "pow(abs(v), number)", "pow(s, 1.0 / number)"),
    "largest": ("top", "0.0", "m"),
    "smallest": ("bottom", "0.0", "-m"),
}  # fmt: skip
_FIRST = {
    "mean": ("0.0", "p + v", "total(lanes, t, p) / count"),
    "max": ("-inf", "v if (v > p) or (v != v) else p", "finite(largest(lanes, t, p))"),
    "top": ("-inf", "abs(v) if (abs(v) > p) or (v != v) else p", "largest(lanes, t, p)"),
    "bottom": ("-inf", "-abs(v) if (-abs(v) > p) or (v != v) else p", "largest(lanes, t, p)"),
}  # fmt: skip


@launch.device
def finite(x: Any) -> Any:
    """``x``, or 0 where it is infinite or NaN."""
    return x if x - x == 0 else 0.0


@functools.cache
def _kernel(kind: str) -> Any:
    first, value, final = _KINDS[kind]
    source = (
        "def fold(out, x, count, number, zero):\n    lanes = cuda.shared.array(FOLDING, float64)\n"
        "    r = cuda.blockIdx.x\n    t = cuda.threadIdx.x\n    base = r * count\n    m = 0.0\n"
    )
    if first:
        begin, step, end = _FIRST[first]
        source += (
            f"    p = {begin}\n    for j in range(t, count, FOLDING):\n"
            f"        v = np.float64(x[base + j])\n        p = {step}\n    m = {end}\n"
        )
    source += (
        "    s = 0.0\n    for j in range(t, count, FOLDING):\n"
        f"        v = np.float64(x[base + j])\n        s += {value}\n"
        f"    s = total(lanes, t, s)\n    if t == 0:\n        out[r] = {final}\n"
    )
    own = mathematics(np.dtype(np.float64))
    space: dict[str, Any] = {
        "FOLDING": launch.FOLDING, "float64": float64, "np": np,
        "inf": math.inf, "total": total, "largest": largest, "finite": finite, "sqrt": own["sqrt"],
        "log": own["log"], "exp": own["exp"], "pow": own["_pow"],
    }  # fmt: skip
    return launch.from_source(source, "fold", space)


def fold_rows(kind: str, out: Any, x: Any, rows: int, count: int, number: float) -> None:
    """``out[r]`` = the ``kind`` of ``x[r * count : (r + 1) * count]``, flat arrays."""
    launch.rows(_kernel(kind), rows, out, x, count, number, 0.0)


