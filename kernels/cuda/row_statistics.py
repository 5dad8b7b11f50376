"""One number of each row for CUDA: variance, norms, logsumexp.

    picture   one block for each row of a dense [rows, count] array; two passes where a mean or a
              maximum comes first. Norms of few long rows are sums of parts, a block each, that a
              second launch adds up
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

from . import launch, memory
from .block_reduce import largest, total
from .device_math import mathematics

# elements that a part has at least, and blocks that are enough
_LEAST, _ENOUGH = (16, 4) if launch.SIMULATED else (2048, 1056)
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
    "sum": ("", "v", "s"),
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
def _kernel(kind: str, ending: str) -> Any:
    """What ``kind`` adds up in each row, and what ``ending`` makes of the sum."""
    first, value, _ = _KINDS[kind]
    final = _KINDS[ending][2]
    source = (
        "def fold(out, x, row, count, parts, number, zero):\n"
        "    lanes = cuda.shared.array(FOLDING, float64)\n    r = cuda.blockIdx.x\n"
        "    t = cuda.threadIdx.x\n    base = (r // parts) * row + (r % parts) * count\n"
        "    count = min(count, row - (r % parts) * count)\n    m = 0.0\n"
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
    parts = 1
    if not _KINDS[kind][0]:
        parts = max(min(_ENOUGH // max(rows, 1), count // _LEAST), 1)
    length = -(-count // parts)
    parts = max(-(-count // max(length, 1)), 1)
    if parts == 1:
        launch.rows(_kernel(kind, kind), rows, out, x, count, count, 1, number, 0.0)
        return
    sums = memory.empty(rows * parts, np.float64)
    launch.rows(_kernel(kind, "sum"), rows * parts, sums, x, count, length, parts, number, 0.0)
    launch.rows(_kernel("sum", kind), rows, out, sums, parts, parts, 1, number, 0.0)
