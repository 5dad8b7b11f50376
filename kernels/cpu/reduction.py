"""Folds over axes: sum, mean, prod, amax, amin, any, all, norms of first and second order.

Axes that lie together in memory are merged, kept and folded ones apart. What is left is one of
three pictures, K kept and R folded, the last axis contiguous, rows with or without room between:

    rows      [K, R]      each row is folded by lanes, then the lanes
    columns   [K, R, K]   rows are folded into a row of accumulators
    planes    [R, K, R]   rows of one k, spread over the planes, are folded (statistics of a batch)

Sums and means of floating-point numbers have PyTorch's order (:mod:`.sums.cascade_sum`). Terms of
norms are added in blocks of 256 and the blocks in float64, so that their error does not grow with
the length. Anything else is copied into one of the three pictures.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from mindtorch.kernels.codegen.fused_loop import load, store
from mindtorch.kernels.codegen.jit import bound, entry_point, from_source
from mindtorch.kernels.codegen.typed_scalar import arithmetic_type

from .elementwise import Layouts, Operand, carrier, strided
from .strided_copy import ordered, planned
from .sums import cascade_sum
from .sums.cascade_sum import result_strides
from .threads.thread_pool import get_num_threads, parallel_for
from .vectors import float_bits

_LANES = 64
_PARALLEL_SIZE = 1 << 18
BLOCK = 256  # terms that are added in their own type
_COMBINE = {
    "sum": "a + x",
    "prod": "a * x",
    "amax": "greater(x, a)",
    "amin": "lesser(x, a)",
    "norm1": "a + x",
    "norm2": "a + x",
    "any": "a | (x != 0)",
    "all": "a & (x != 0)",
}
_COMBINE_INTEGERS = {**_COMBINE, "amax": "max(x, a)", "amin": "min(x, a)"}
_TERMS = {"norm1": "abs({0})", "norm2": "({0} * {0})"}  # of an element, where that is not itself
_SUMS = ("sum", "norm1", "norm2")
_compiled: dict[Any, Any] = {}


def plan(
    name: str, out_layouts: Layouts, in_layouts: Layouts, *, axis: tuple[int, ...], keepdims: bool
) -> Callable[..., None]:
    """``run(out, x)`` on flat arrays: the fold ``name`` of ``x`` over ``axis``."""
    out, x = out_layouts[0], in_layouts[0]
    if x.dtype.kind == "c":
        return _complex_plan(name, out, x, axis)
    if name in ("sum", "mean") and arithmetic_type(x.dtype).kind == "f" and out.dtype == x.dtype:
        return cascade_sum.plan(name, out, x, axis)
    axes, kept = memory_order(x, axis)
    found = picture(axes)
    if found is None:
        return _copying_plan(name, out, x, axis)
    fold = _folding(name, x.dtype, out.dtype, *found)
    if kept == sorted(kept):
        return fold
    return _in_order(fold, out.dtype, [x.shape[i] for i in kept], kept)


def _folding(
    name: str, dtype: Any, out_type: Any, kind: str, a: int, r: int, b: int, pitch: int
) -> Callable[..., None]:
    """The fold of one picture, whose rows begin ``pitch`` elements apart."""
    run = _kernel(name, kind, dtype, out_type)

    def fold(target: Any, source: Any) -> None:
        run(target, source, a, r, b, pitch)

    divided = _divided(name, kind, run, out_type, a, r, b, pitch)
    return divided or bound(fold, run, a, r, b, pitch)


def _in_order(
    fold: Callable[..., None], dtype: Any, lengths: list[int], kept: list[int]
) -> Callable[..., None]:
    """The fold, whose results come in the order of memory: ``lengths`` of the axes ``kept``."""
    steps = result_strides(lengths, ())
    places = sorted(range(len(kept)), key=lambda i: kept[i])
    shape = [lengths[i] for i in places]
    copy = planned(shape, result_strides(shape, ()), [steps[i] for i in places], dtype)
    size = math.prod(lengths)

    def run(target: Any, source: Any) -> None:
        found = np.empty(size, dtype)
        fold(found, source)
        copy(target, found)

    return run


def _divided(
    name: str, kind: str, run: Any, out_type: Any, a: int, r: int, b: int, pitch: int
) -> Callable[..., None] | None:
    """The fold over the threads, each result by one of them; None where that gains nothing. One
    result is made of several where their order is all one."""
    size = a * r * b
    if size < _PARALLEL_SIZE or r < 2 or kind == "planes":
        return None

    ahead = pitch if kind == "rows" else r * pitch

    def groups(target: Any, source: Any) -> None:
        def part(first: int, last: int) -> None:
            results = target[first * b : last * b]
            run(results, source[first * ahead :], last - first, r, b, pitch)

        parallel_for(a, part, 1 + a * _PARALLEL_SIZE // (2 * size))

    def columns(target: Any, source: Any) -> None:
        def part(first: int, last: int) -> None:
            run(target[first:last], source[first:], 1, r, last - first, pitch)

        parallel_for(b, part, _LANES)

    def whole(target: Any, source: Any) -> None:
        pieces = get_num_threads()
        if pieces == 1:
            run(target, source, 1, r, 1, 1)
            return
        parts = np.empty(pieces, out_type)

        def part(first: int, last: int) -> None:
            for i in range(first, last):
                row = source[i * r // pieces : (i + 1) * r // pieces]
                run(parts[i : i + 1], row, 1, row.size, 1, 1)

        parallel_for(pieces, part)
        again(target, parts, 1, pieces, 1, 1)

    if a > 1:
        return groups
    if kind == "columns":
        return columns
    if name not in ("amax", "amin", "any", "all"):
        return None
    again = _kernel(name, kind, out_type, out_type)
    return whole


def memory_order(x: Any, axis: tuple[int, ...]) -> tuple[list[tuple[int, bool, int]], list[int]]:
    """Merged (length, folded, stride) in the order of memory; the kept axes in that order."""
    axes = [i for i, n in enumerate(x.shape) if n != 1]
    axes.sort(key=lambda i: (-x.strides[i], i))
    merged: list[tuple[int, bool, int]] = []
    for i in axes:
        n, s, folded = x.shape[i], x.strides[i], i in axis
        if merged and merged[-1][1:] == (folded, n * s):
            merged[-1] = (merged[-1][0] * n, folded, s)
        else:
            merged.append((n, folded, s))
    return merged, [i for i in axes if i not in axis]


def picture(axes: list[tuple[int, bool, int]]) -> tuple[str, int, int, int, int] | None:
    """The kind, its lengths, and how far rows are apart; None where a copy must come first."""
    folded = "".join("R" if f else "K" for _, f, _ in axes)
    n, strides = [each[0] for each in axes], [each[2] for each in axes]
    if axes and strides[-1] != 1:
        return None
    if folded == "":
        return "rows", 1, 1, 1, 1
    if folded == "K":
        return "rows", n[0], 1, 1, 1
    if folded == "R":
        return "rows", 1, n[0], 1, n[0]
    if folded == "KR":
        return "rows", n[0], n[1], 1, strides[0]
    if folded == "RK":
        return "columns", 1, n[0], n[1], strides[0]
    if folded == "KRK" and strides[0] == n[1] * strides[1]:
        return "columns", n[0], n[1], n[2], strides[1]
    if folded == "RKR" and strides[:2] == [n[1] * n[2], n[2]]:
        return "planes", n[0], n[1], n[2], n[2]
    return None


def _copying_plan(name: str, out: Any, x: Any, axis: tuple[int, ...]) -> Callable[..., None]:
    """Copy first, to C order or, where that is no picture either, with the kept axes in front."""
    order = tuple(range(len(x.shape)))
    dense = Operand(x.shape, result_strides(x.shape, ()), x.dtype)
    found = picture(memory_order(dense, axis)[0])
    if found is None:
        kept = [i for i in order if i not in axis]
        order = (*kept, *axis)
        count = math.prod(x.shape[i] for i in axis)
        found = "rows", math.prod(x.shape[i] for i in kept), count, 1, count
    run = _folding(name, x.dtype, out.dtype, *found)

    def fold(target: Any, source: Any) -> None:
        run(target, ordered(strided(source, x).transpose(order)).reshape(-1))

    return fold


def _accumulator(name: str, dtype: np.dtype[Any]) -> np.dtype[Any]:
    if name in ("any", "all"):
        return np.dtype(np.uint8)
    if name in ("amax", "amin"):
        return arithmetic_type(dtype)
    return np.dtype(np.float64) if arithmetic_type(dtype).kind == "f" else np.dtype(np.int64)


def _identity(name: str, dtype: np.dtype[Any]) -> str:
    if name in (*_SUMS, "any"):
        return "_A(0)"
    if name in ("prod", "all"):
        return "_A(1)"
    if dtype.kind == "f":
        return "_A(-np.inf)" if name == "amax" else "_A(np.inf)"
    limits = np.iinfo(dtype)
    return f"_A({limits.min if name == 'amax' else limits.max})"


def _kernel(name: str, kind: str, dtype: Any, out_dtype: Any) -> Callable[..., None]:
    key = (name, kind, dtype, out_dtype)
    found = _compiled.get(key)
    if found is None:
        found = _compiled[key] = _generate(name, kind, dtype, out_dtype)
    return found


def _generate(name: str, kind: str, dtype: Any, out_dtype: Any) -> Any:
    accumulator = _accumulator(name, dtype)
    element = arithmetic_type(dtype)
    space: dict[str, Any] = {
        "np": np, "_A": accumulator.type, "_C": accumulator.type, "_F": np.float32,
        "_E": element.type, "_I": np.int64, "_I4": np.int32, "load_half": float_bits.load_half,
        "load_bfloat16": float_bits.load_bfloat16, "store_half": float_bits.store_half,
        "store_bfloat16": float_bits.store_bfloat16, "greater": float_bits.greater,
        "lesser": float_bits.lesser,
        "LANES": _LANES, "BLOCK": BLOCK,
    }  # fmt: skip
    raw = load(dtype, "{0}")
    if name == "prod" and element != accumulator:
        raw = f"_C({raw})"
    combine = (_COMBINE if accumulator.kind == "f" else _COMBINE_INTEGERS)[name]
    if name in _TERMS:
        raw = _TERMS[name].format(raw)
    summing = name in _SUMS and accumulator == np.float64
    final = "np.sqrt(total)" if name == "norm2" else "total"
    written = store(out_dtype, final, accumulator)
    row = _summed_row(raw) if summing else _folded_row(raw, combine, name)
    source = _SHAPES[kind](row, raw, combine, _identity(name, accumulator), written)
    adding = accumulator.kind == "f" and name in (*_SUMS, "prod")
    flags = {"reassoc", "contract"} if adding else False
    dispatcher = from_source(source, "fold", space, fastmath=flags)
    signature = f"void({carrier(out_dtype)}[::1], {carrier(dtype)}[::1]{', int64' * 4})"
    return entry_point(dispatcher, signature)


def _indent(text: str, depth: int) -> str:
    return "".join("    " * depth + line + "\n" for line in text.strip("\n").split("\n"))


def _summed_row(raw: str) -> str:
    """``total += the sum of row``, in blocks."""
    return f"""
start = 0
while start < n:
    stop = min(start + BLOCK, n)
    block = row[start:stop]
    part = _E(0)
    for i in range(block.size):
        part += {raw.format("block[i]")}
    total += _A(part)
    start = stop
"""


def _folded_row(raw: str, combine: str, name: str) -> str:
    """``total`` combined with the row, by lanes where it is long."""
    if name in ("amax", "amin", "prod"):  # LLVM makes vectors of these
        return f"""
for j in range(n):
    x = {raw.format("row[j]")}
    a = total
    total = {combine}
"""
    value = raw.format("row[j * LANES + i]")
    tail = raw.format("row[j]")
    return f"""
j = 0
whole = n // LANES
if whole > 1:
    for i in range(LANES):
        lanes[i] = identity
    for j in range(whole):
        for i in range(LANES):
            x = {value}
            a = lanes[i]
            lanes[i] = {combine}
    for i in range(LANES):
        x = lanes[i]
        a = total
        total = {combine}
else:
    whole = 0
for j in range(whole * LANES, n):
    x = {tail}
    a = total
    total = {combine}
"""


def _rows(row: str, raw: str, combine: str, identity: str, written: str) -> str:
    return (
        "def fold(out, source, a_, r_, b_, pitch):\n"
        f"    identity = {identity}\n    lanes = np.empty(LANES, _A)\n    n = r_\n"
        "    for k in range(a_):\n        total = identity\n"
        "        row = source[k * pitch : k * pitch + n]\n"
        + _indent(row, 2)
        + f"        out[k] = {written}\n"
    )


def _planes(row: str, raw: str, combine: str, identity: str, written: str) -> str:
    return (
        "def fold(out, source, planes, kept, n, pitch):\n"
        f"    identity = {identity}\n    lanes = np.empty(LANES, _A)\n"
        "    for k in range(kept):\n        total = identity\n        for p in range(planes):\n"
        "            first = (p * kept + k) * n\n            row = source[first : first + n]\n"
        + _indent(row, 3)
        + f"        out[k] = {written}\n"
    )


def _columns(row: str, raw: str, combine: str, identity: str, written: str) -> str:
    value = raw.format("row[i]")
    return (
        "def fold(out, source, outer, folded, n, pitch):\n"
        f"    identity = {identity}\n    held = np.empty(n, _A)\n"
        "    for k in range(outer):\n        for i in range(n):\n            held[i] = identity\n"
        "        for r in range(folded):\n            first = (k * folded + r) * pitch\n"
        "            row = source[first : first + n]\n            for i in range(n):\n"
        f"                x = {value}\n                a = held[i]\n"
        f"                held[i] = {combine}\n"
        "        result = out[k * n : k * n + n]\n        for i in range(n):\n"
        f"            total = held[i]\n            result[i] = {written}\n"
    )


_SHAPES: dict[str, Callable[..., str]] = {"rows": _rows, "columns": _columns, "planes": _planes}

_NUMPY: dict[str, Callable[..., Any]] = {
    "sum": np.sum, "mean": np.mean, "prod": np.prod, "any": np.any, "all": np.all,
}  # fmt: skip


def _complex_plan(name: str, out: Any, x: Any, axis: tuple[int, ...]) -> Callable[..., None]:
    if name not in _NUMPY:
        raise NotImplementedError(f"'{name}' is not implemented for complex numbers")

    def fold(target: Any, source: Any) -> None:
        numbers = strided(source, x)
        if name == "mean" and not numbers.size:  # numpy warns of it
            strided(target, out)[...] = complex(np.nan, np.nan)
            return
        strided(target, out)[...] = _NUMPY[name](numbers, axis=axis).reshape(out.shape)

    return fold


def xor_sum(out: Any, x: Any, axis: tuple[int, ...], keepdims: bool) -> None:
    """The exclusive or over ``axis`` of the elements' bits as float64 or int64."""
    wide: Any = x.astype(np.int64 if x.dtype.kind in "biu" else np.float64).view(np.uint64)
    found = np.bitwise_xor.reduce(wide, axis=axis, keepdims=True)
    out[...] = found.reshape(out.shape)
