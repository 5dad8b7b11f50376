"""Folds over axes for CUDA: sum, mean, prod, amax, amin, any, all.

    picture   one block for each element of the result; thread t folds the elements t, t + threads,
              ... of its set into a register. Sets of few elements (and many of them) are folded
              by one thread each
    memory    one value a thread in shared memory
    sync      after the registers are stored, and after each halving of the tree
    sizes     any; the set's axes and the kept axes are walked by division
Sums are added in float64 (whole numbers in int64) in an order that depends on the lengths alone, so
a result never changes from run to run.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable
from typing import Any

import ml_dtypes
import numpy as np
from numba import float32, float64, int64, uint8

from mindtorch.kernels.chains import load, store
from mindtorch.kernels.cpu.reduction import _accumulator, _identity
from mindtorch.kernels.typed_scalar import arithmetic_type

from . import launch
from .bits import NAMESPACE

_SHORT = 64
_COMBINE = {
    "sum": "a + x", "mean": "a + x", "prod": "a * x", "amax": "greater(x, a)",
    "amin": "lesser(x, a)", "any": "a | _A(x != 0)", "all": "a & _A(x != 0)",
}  # fmt: skip
_TWO = {**_COMBINE, "any": "a | x", "all": "a & x"}
_KINDS = {"float32": float32, "float64": float64, "int64": int64, "uint8": uint8}


def plan(
    name: str, out_layouts: Any, in_layouts: Any, *, axis: tuple[int, ...], keepdims: bool
) -> Callable[..., None] | None:
    """``run(out, x)`` on flat device arrays: the fold ``name`` of ``x`` over ``axis``."""
    out, x = out_layouts[0], in_layouts[0]
    if x.dtype.kind == "c":
        return None
    kept = _merged(x, [i for i in range(len(x.shape)) if i not in axis])
    folded = _merged(x, [i for i in range(len(x.shape)) if i in axis])
    rows = math.prod(n for n, _ in kept)
    count = math.prod(n for n, _ in folded)
    short = count <= _SHORT
    kernel = _kernel(name, x.dtype, out.dtype, len(kept), len(folded), short)
    geometry = [v for pair in (*kept, *folded) for v in pair]

    def run(target: Any, source: Any) -> None:
        if short:
            launch.each(kernel, rows, target, source, count, *geometry)
        else:
            launch.rows(kernel, rows, rows, target, source, count, *geometry)

    return run


def _merged(x: Any, axes: list[int]) -> list[tuple[int, int]]:
    """(length, stride) of axes in order, merged where they lie together; at least one."""
    result: list[tuple[int, int]] = []
    for i in axes:
        if x.shape[i] == 1:
            continue
        if result and result[-1][1] == x.strides[i] * x.shape[i]:
            result[-1] = (result[-1][0] * x.shape[i], x.strides[i])
        else:
            result.append((x.shape[i], x.strides[i]))
    return result or [(1, 0)]


def _walk(names: str, rank: int, number: str, place: str, depth: int) -> str:
    """Source that adds to ``place`` where element ``number`` of these axes lies."""
    pad = "    " * depth
    text = f"{pad}left = {number}\n"
    for k in range(rank - 1, 0, -1):
        text += f"{pad}{place} += (left % {names}n{k}) * {names}s{k}\n{pad}left //= {names}n{k}\n"
    return text + f"{pad}{place} += left * {names}s0\n"


@functools.cache
def _kernel(
    name: str, dtype: Any, out_dtype: Any, kept: int, folded: int, short: bool
) -> Any:
    accumulator, element = _accumulator(name, dtype), arithmetic_type(dtype)
    wide = name in ("any", "all", "amax", "amin", "sum", "mean")
    value = load(dtype, "source[place]")
    if not wide and element != accumulator:
        value = f"_C({value})"
    final = "a / count" if name == "mean" else "a"
    written = store(out_dtype, final, accumulator)
    if dtype == ml_dtypes.bfloat16 or dtype == np.float16:
        written = written.replace("_F(a / count)", "_F(_F(a) / _F(count))")
    if not wide or name in ("sum", "mean"):
        value = f"_A({value})"
    geometry = [f"{p}{v}{k}" for p, r in (("k", kept), ("f", folded)) for k in range(r)
                for v in "ns"]  # fmt: skip
    head = "count_, target, source, count" if short else "rows, target, source, count"
    step = "1" if short else "FOLDING"
    fold = (
        f"        base = 0\n{_walk('k', kept, 'r', 'base', 2)}"
        f"        a = {_identity(name, accumulator)}\n"
        f"        for j in range({'0' if short else 't'}, count, {step}):\n"
        f"            place = base\n{_walk('f', folded, 'j', 'place', 3)}"
        f"            x = {value}\n            a = {_COMBINE[name]}\n"
    )
    source = f"def fold({head}, {', '.join(geometry)}):\n"
    if short:
        source += "    for r in range(cuda.grid(1), count_, cuda.gridsize(1)):\n" + fold
        source += f"        target[r] = {written}\n"
    else:
        source += (
            "    lanes = cuda.shared.array(FOLDING, KIND)\n    t = cuda.threadIdx.x\n"
            "    r = cuda.blockIdx.x\n    if r < rows:\n" + fold + "        lanes[t] = a\n"
            "    cuda.syncthreads()\n    half = FOLDING // 2\n    while half > 0:\n"
            "        if t < half:\n            a = lanes[t]\n            x = lanes[t + half]\n"
            f"            lanes[t] = {_TWO[name]}\n        cuda.syncthreads()\n"
            "        half = half // 2\n    if t == 0:\n        a = lanes[0]\n"
            f"        target[r] = {written}\n"
        )
    space = {
        **NAMESPACE, "_A": accumulator.type, "_C": accumulator.type, "_F": np.float32,
        "_E": element.type, "_I": np.int64, "_I4": np.int32, "FOLDING": launch.FOLDING,
        "KIND": _KINDS.get(accumulator.name) or _numba_type(accumulator),
    }  # fmt: skip
    return launch.from_source(source, "fold", space)


def _numba_type(dtype: Any) -> Any:
    from numba.np.numpy_support import from_dtype

    return from_dtype(dtype)
