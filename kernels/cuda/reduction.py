"""Folds over axes for CUDA.

    picture   one block of 128 threads for each element of the result; thread t folds the elements
              t, t + 128, ... of its set into a register
    memory    one value a thread in shared memory
    sync      after the registers are stored, and after each of the 7 halvings of the tree
    sizes     any; the set's axes and the kept axes are walked by division
The order of additions depends on the lengths alone, so a result never changes from run to run.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import numpy as np
from numba import cuda, float64, int64

THREADS = 128
_COMBINE = {
    "sum": "a + x",
    "mean": "a + x",
    "prod": "a * x",
    "amax": "x if (x > a) or (x != x) else a",
    "amin": "x if (x < a) or (x != x) else a",
    "any": "1 if (a != 0) or (x != 0) else 0",
    "all": "1 if (a != 0) and (x != 0) else 0",
}


def plan(
    name: str, out_layouts: Any, in_layouts: Any, *, axis: tuple[int, ...], keepdims: bool
) -> Callable[..., None]:
    """``run(out, x)`` on flat device arrays: the fold ``name`` of ``x`` over ``axis``."""
    x = in_layouts[0]
    if x.dtype.kind == "c" or (x.dtype.itemsize == 2 and x.dtype.kind not in "iu"):
        raise NotImplementedError(f"'{name}' for {x.dtype} is not implemented on CUDA")
    kept = [i for i in range(len(x.shape)) if i not in axis]
    kept_axes = np.array([[x.shape[i] for i in kept], [x.strides[i] for i in kept]], np.int64)
    folded = np.array([[x.shape[i] for i in axis], [x.strides[i] for i in axis]], np.int64)
    rows, count = int(np.prod(kept_axes[0])), int(np.prod(folded[0]))
    kernel = _kernel(name, x.dtype.kind == "f", _identity(name, x.dtype))

    def run(out: Any, source: Any) -> None:
        kernel[rows, THREADS](out, source, cuda.to_device(kept_axes), cuda.to_device(folded), count)

    return run


def _identity(name: str, dtype: np.dtype[Any]) -> float | int:
    if name in ("amax", "amin"):
        if dtype.kind == "f":
            return -np.inf if name == "amax" else np.inf
        limits = np.iinfo(dtype if dtype.kind in "iu" else np.uint8)
        return int(limits.min if name == "amax" else limits.max)
    return 1 if name in ("prod", "all") else 0


@functools.cache
def _kernel(name: str, floating: bool, identity: float | int) -> Any:
    source = f"""
def kernel(out, x, kept, folded, count):
    lanes = cuda.shared.array(THREADS, KIND)
    t = cuda.threadIdx.x
    base = 0
    left = cuda.blockIdx.x
    for axis in range(kept.shape[1] - 1, -1, -1):
        base += (left % kept[0, axis]) * kept[1, axis]
        left = left // kept[0, axis]
    a = KIND_OF(identity)
    for k in range(t, count, THREADS):
        place = base
        left = k
        for axis in range(folded.shape[1] - 1, -1, -1):
            place += (left % folded[0, axis]) * folded[1, axis]
            left = left // folded[0, axis]
        x_ = KIND_OF(x[place])
        a = {_COMBINE[name].replace("x", "x_")}
    lanes[t] = a
    cuda.syncthreads()
    half = THREADS // 2
    while half > 0:
        if t < half:
            a = lanes[t]
            x_ = lanes[t + half]
            lanes[t] = {_COMBINE[name].replace("x", "x_")}
        cuda.syncthreads()
        half = half // 2
    if t == 0:
        out[cuda.blockIdx.x] = {"lanes[0] / count" if name == "mean" else "lanes[0]"}
"""
    scope: dict[str, Any] = {
        "cuda": cuda, "THREADS": THREADS, "KIND": float64 if floating else int64,
        "KIND_OF": np.float64 if floating else np.int64, "identity": identity,
    }  # fmt: skip
    exec(compile(source, f"<cuda {name}>", "exec"), scope)
    return cuda.jit(scope["kernel"])
