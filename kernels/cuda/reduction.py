"""Folds over axes for CUDA: sum, mean, prod, amax, amin, any, all, exclusive or.

    picture   one block for each element of the result; thread t folds the elements t, t + threads,
              ... of its set into a register, and reads some of them at once. Sets of few elements,
              and sets whose neighbours lie side by side (columns), are folded by one thread each.
              Where that makes too few blocks, sets are cut into parts, whose results a second
              launch folds
    memory    one value a thread in shared memory; the parts' results in global memory
    sync      after the registers are stored, and after each halving of the tree; between the two
              launches
    sizes     any; the set's axes and the kept axes are told apart by products (``division``)
Sums are added in float64 (whole numbers in int64, complex ones in complex128) in an order that
depends on the layout alone, so a result never changes from run to run.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable
from typing import Any, NamedTuple

import ml_dtypes
import numpy as np
from numba import complex128, float32, float64, int64, uint8

from mindtorch.kernels.codegen.fused_loop import load, store
from mindtorch.kernels.codegen.typed_scalar import arithmetic_type
from mindtorch.kernels.cpu import reduction as on_cpu

from . import arrays, launch, memory
from .fast_division import divisor, over
from .float_bits import NAMESPACE, double_bits

_SHORT = 64
# elements that a part has at least, and parts and sets together that are enough: by a block, by a
# thread each
_LEAST = (32, 32) if launch.SIMULATED else (2048, 64)
_WANTED = (4, 64) if launch.SIMULATED else (1056, 1 << 17)
_MOST_PARTS = 1024
_AT_ONCE = 4  # elements that a thread reads before it adds the first
_COMBINE = {
    "sum": "a + x", "mean": "a + x", "prod": "a * x", "amax": "greater(x, a)",
    "amin": "lesser(x, a)", "any": "a | _A(x != 0)", "all": "a & _A(x != 0)", "xor_sum": "a ^ x",
}  # fmt: skip
_TWO = {**_COMBINE, "any": "a | x", "all": "a & x"}
KINDS = {"float32": float32, "float64": float64, "int64": int64, "uint8": uint8,
          "complex128": complex128}  # fmt: skip
_OF_COMPLEX = ("sum", "mean", "prod", "any", "all")


def _accumulator(name: str, dtype: np.dtype[Any]) -> np.dtype[Any]:
    if name == "xor_sum":
        return np.dtype(np.int64)
    if dtype.kind == "c" and name in ("sum", "mean", "prod"):
        return np.dtype(np.complex128)
    return on_cpu._accumulator("sum" if name == "mean" else name, dtype)


def _identity(name: str, dtype: np.dtype[Any]) -> str:
    return "_A(0)" if name in ("xor_sum", "mean") else on_cpu._identity(name, dtype)


class _Cut(NamedTuple):
    """How sets are folded: by a thread each or by a block each, in how many parts."""

    by_thread: bool
    parts: int
    length: int


def _cut(kept: Any, folded: Any, rows: int, count: int) -> _Cut:
    columns = kept[-1][1] == 1 and folded[-1][1] != 1 and rows >= _SHORT // 2
    by_thread = count <= _SHORT or columns
    least, wanted = _LEAST[by_thread], _WANTED[by_thread]
    parts = max(min(wanted // max(rows, 1), count // least, _MOST_PARTS), 1)
    length = max(-(-count // parts), 1)
    return _Cut(by_thread, max(-(-count // length), 1), length)


def plan(
    name: str, out_layouts: Any, in_layouts: Any, *, axis: tuple[int, ...], keepdims: bool
) -> Callable[..., None] | None:
    """``run(out, x)`` on flat device arrays: the fold ``name`` of ``x`` over ``axis``."""
    out, x = out_layouts[0], in_layouts[0]
    if x.dtype.kind == "c" and name not in _OF_COMPLEX:
        return None
    kept = _merged(x, [i for i in range(len(x.shape)) if i not in axis])
    folded = _merged(x, [i for i in range(len(x.shape)) if i in axis])
    rows = math.prod(n for n, _ in kept)
    count = math.prod(n for n, _ in folded)
    cut = _cut(kept, folded, rows, count)
    if cut.parts == 1:
        return _launch(name, x.dtype, out.dtype, kept, folded, cut, count)
    between = _accumulator(name, x.dtype)
    first = _launch(name, x.dtype, None, kept, folded, cut, count)
    lie = (1, rows) if cut.by_thread else (cut.parts, 1)  # where parts' results are
    again = [[(rows, lie[0])], [(cut.parts, lie[1])]]
    whole = _Cut(cut.by_thread or cut.parts <= _SHORT, 1, cut.parts)
    second = _launch(name, between, out.dtype, again[0], again[1], whole, count)

    def run(target: Any, source: Any) -> None:
        partial = memory.empty(rows * cut.parts, between)
        first(partial, source)
        second(target, partial)

    return run


def xor_sum(out: Any, x: Any, *, axis: tuple[int, ...], keepdims: bool) -> None:
    """The exclusive or over ``axis`` of the elements' bits as float64 or int64."""
    words = arrays.Array(out.flat.view(np.int64), out.shape, out.strides)
    run: Any = plan("xor_sum", (words,), (x,), axis=axis, keepdims=keepdims)
    run(words.flat, x.flat)


def _launch(
    name: str, dtype: Any, out_dtype: Any, kept: Any, folded: Any, cut: _Cut, number: int
) -> Callable[..., None]:
    """One launch; without ``out_dtype`` the parts' accumulators are what is written."""
    kernel = _kernel(name, dtype, out_dtype, len(kept), len(folded), cut.by_thread)
    rows, count = (math.prod(n for n, _ in each) for each in (kept, folded))
    sizes = (rows, cut.parts, cut.length, count, number)
    across = divisor(rows if cut.by_thread else cut.parts, rows * cut.parts)
    geometry = [v for n, s in kept for v in (n, s, divisor(n, rows))]
    geometry += [v for n, s in folded for v in (n, s, divisor(n, count))]

    def run(target: Any, source: Any) -> None:
        if cut.by_thread:
            launch.each(kernel, rows * cut.parts, target, source, *sizes, across, *geometry)
        else:
            launch.rows(kernel, rows * cut.parts, target, source, *sizes, across, *geometry)

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
        text += f"{pad}q = over(left, {names}m{k})\n"
        text += f"{pad}{place} += (left - q * {names}n{k}) * {names}s{k}\n{pad}left = q\n"
    return text + f"{pad}{place} += left * {names}s0\n"


def _value(name: str, dtype: Any, element: Any, accumulator: Any) -> str:
    """Source of an element as it is folded."""
    wide = name in ("any", "all", "amax", "amin", "sum", "mean")
    value = load(dtype, "source[place]")
    if not wide and element != accumulator:
        value = f"_C({value})"
    if not wide or name in ("sum", "mean"):
        value = f"_A({value})"
    if name == "xor_sum":
        value = ("_A({})" if element.kind in "iu" else "_bits({})").format(
            load(dtype, "source[place]")
        )
    return value


def _fold_source(
    name: str, value: str, accumulator: Any, kept: int, folded: int, by_thread: bool
) -> str:
    """Source that folds a thread's elements of part ``part`` of set ``r`` into ``a``."""
    combined = f"            a = {_COMBINE[name]}\n"
    one = f"            place = base\n{_walk('f', folded, 'j', 'place', 3)}"
    one += f"            x = {value}\n{combined}"
    several = "".join(
        f"            place = base\n{_walk('f', folded, f'(j + {k} * step)', 'place', 3)}"
        f"            x{k} = {value}\n" for k in range(_AT_ONCE)
    ) + "".join(f"            x = x{k}\n{combined}" for k in range(_AT_ONCE))
    return (
        f"        step = {'1' if by_thread else 'FOLDING'}\n"
        f"        base = 0\n{_walk('k', kept, 'r', 'base', 2)}"
        f"        a = {_identity(name, accumulator)}\n"
        "        start = part * length\n        stop = min(start + length, count)\n"
        f"        j = start{'' if by_thread else ' + t'}\n"
        f"        while j < stop - {_AT_ONCE - 1} * step:\n{several}"
        f"            j += {_AT_ONCE} * step\n"
        f"        while j < stop:\n{one}            j += step\n"
    )


@functools.cache
def _kernel(
    name: str, dtype: Any, out_dtype: Any, kept: int, folded: int, by_thread: bool
) -> Any:
    accumulator, element = _accumulator(name, dtype), arithmetic_type(dtype)
    geometry = [f"{p}{v}{k}" for p, r in (("k", kept), ("f", folded)) for k in range(r)
                for v in "nsm"]  # fmt: skip
    head = "target, source, rows, parts, length, count, number, across"
    fold = _fold_source(name, _value(name, dtype, element, accumulator), accumulator, kept, folded,
                        by_thread)  # fmt: skip
    written = _written(name, out_dtype, accumulator)
    if by_thread:
        source = (
            f"def fold(items, {head}, {', '.join(geometry)}):\n"
            "    i = cuda.grid(1)\n    while i < items:\n"
            "        part = over(i, across)\n        r = i - part * rows\n"
            f"{fold}        target[i] = {written}\n        i = following(i, items)\n"
        )
    else:
        source = (
            f"def fold({head}, {', '.join(geometry)}):\n"
            "    lanes = cuda.shared.array(FOLDING, KIND)\n    t = cuda.threadIdx.x\n"
            "    r = over(cuda.blockIdx.x, across)\n    part = cuda.blockIdx.x - r * parts\n"
            "    if r < rows:\n" + fold + "        lanes[t] = a\n"
            "    cuda.syncthreads()\n    half = FOLDING // 2\n    while half > 0:\n"
            "        if t < half:\n            a = lanes[t]\n            x = lanes[t + half]\n"
            f"            lanes[t] = {_TWO[name]}\n        cuda.syncthreads()\n"
            "        half = half // 2\n    if t == 0:\n        a = lanes[0]\n"
            f"        target[cuda.blockIdx.x] = {written}\n"
        )
    space = {
        **NAMESPACE, "_A": accumulator.type, "_C": accumulator.type, "_F": np.float32,
        "_E": element.type, "_I": np.int64, "_I4": np.int32, "FOLDING": launch.FOLDING,
        "KIND": KINDS.get(accumulator.name) or numba_type(accumulator), "_bits": double_bits,
        "_complex": complex, "over": over,
    }  # fmt: skip
    return launch.from_source(source, "fold", space)


def _written(name: str, out_dtype: Any, accumulator: Any) -> str:
    """Source of the result from the accumulator ``a``; itself for a part's."""
    if out_dtype is None:
        return "a"
    if name == "mean" and accumulator.kind == "c":
        return "_complex(a.real / number, a.imag / number)"
    text = store(out_dtype, "a / number" if name == "mean" else "a", accumulator)
    if out_dtype == ml_dtypes.bfloat16 or out_dtype == np.float16:
        text = text.replace("_F(a / number)", "_F(_F(a) / _F(number))")
    return text


def numba_type(dtype: Any) -> Any:
    from numba.np.numpy_support import from_dtype

    return from_dtype(dtype)
