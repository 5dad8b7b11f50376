"""Chains of scalar functions some of whose values are summed: one pass over memory.

    piece     up to 2048 elements of a row: the chain fills lines that stay in the first cache
    part      the sum of 256 elements, in their own type, as :mod:`.reduction` adds them
    total     of a row's parts, in float64

So the sums have the bits that they have when the chain's values are stored and summed afterwards.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from mindtorch.kernels.codegen.fused_loop import Steps, load, statements
from mindtorch.kernels.codegen.jit import entry_point, from_source, kernel

from . import reduction, thread_pool
from .elementwise import (
    LOADS,
    Layouts,
    Operand,
    broadcast_strides,
    carrier,
    fused_plan,
    indented,
    merge_axes,
    typed_scalar,
)  # fmt: skip
from .reduction import BLOCK

_PIECE = 2048
_SHORTEST = 64  # rows of fewer elements are quicker as a loop over all, and one over rows
_PARALLEL_SIZE = 1 << 18
Totals = tuple[tuple[str, int], ...]  # "sum" or "mean", and the step whose values it adds


class _Rows(NamedTuple):
    """How the elements are walked: ``many`` rows of ``length``, the last one maybe shorter.

    Attributes:
        size: of all rows together.
        strides: from row to row, for each input.
        modes: for each input "c" where a row of it is read in order, "s" where it is one number.
        sums: how many there are, each over as many elements.
    """

    many: int
    length: int
    size: int
    strides: tuple[int, ...]
    modes: str
    sums: int


def rows(out: Any, in_layouts: Layouts, axis: tuple[int, ...]) -> _Rows | None:
    """The walk over a chain whose values have the layout ``out`` and are summed over ``axis``;
    None where another one would be needed: sums over other axes than the last ones, or inputs that
    are not read in order."""
    axes = [i for i, n in enumerate(out.shape) if n != 1]
    kept = [i for i in axes if i not in axis]
    dense = [math.prod(out.shape[i + 1 :]) for i in range(len(out.shape))]
    if axes[: len(kept)] != kept or any(out.strides[i] != dense[i] for i in axes):
        return None
    sums, size = math.prod(out.shape[i] for i in kept), math.prod(out.shape)
    folded = size // max(sums, 1)
    operands = [dense, *[broadcast_strides(x, out.shape) for x in in_layouts]]
    lengths, strides = merge_axes(out.shape, operands)
    if folded < _SHORTEST or any(s[-1] not in (0, 1) for s in strides):
        return None
    modes = "".join("c" if s[-1] else "s" for s in strides[1:])
    if len(lengths) == 1:
        length = folded if sums > 1 else _PIECE
        steps = tuple(length if m == "c" else 0 for m in modes)
    elif len(lengths) == 2 and (
        lengths[1] == folded or not (folded % lengths[1] or lengths[1] % BLOCK)
    ):
        length = lengths[1]
        steps = tuple(s[0] for s in strides[1:])
    else:
        return None
    return _Rows(-(-size // length), length, size, steps, modes, sums)


def plan(
    steps: Steps, results: tuple[int, ...], totals: Totals, axis: tuple[int, ...],
    out_layouts: Layouts, in_layouts: Layouts,
) -> Callable[..., None]:  # fmt: skip
    """``run(*outs, *sums, *ins)`` on flat arrays: the chain, and sums of its values.

    Args:
        steps: the chain, in order; the summed values are float32 or float64.
        results: the steps whose values are written.
        totals: what is summed, over ``axis``.
        out_layouts: of the chain's values, then of those that are written, then of the sums.
        in_layouts: broadcast against the chain's values.
    """
    whole, written = out_layouts[0], out_layouts[1 : 1 + len(results)]
    walk = rows(whole, in_layouts, axis)
    if walk is None:
        return _one_by_one(steps, results, totals, axis, out_layouts, in_layouts)
    types = tuple(x.dtype for x in (*written, *in_layouts))
    chain = _kernel(steps, results, tuple(step for _, step in totals), types, walk.modes)
    finish = [(_total(steps[step].stored), name == "mean") for name, step in totals]
    blocks = -(-walk.length // BLOCK)
    folded = walk.size // walk.sums
    each = -(-folded // BLOCK)
    parts = [np.empty(walk.many * blocks, steps[step].stored) for _, step in totals]
    between = np.array(walk.strides, np.int64)
    ahead, end = len(results), len(results) + len(totals)
    parallel = walk.size >= _PARALLEL_SIZE

    def run(*arrays: Any) -> None:
        given = [*arrays[:ahead], *arrays[end:], *parts, between]

        def part(start: int, stop: int) -> None:
            chain(*given, start, stop, walk.length, walk.size)

        if parallel:
            thread_pool.parallel_for(walk.many, part)
        else:
            part(0, walk.many)
        for (add, mean), target, own in zip(finish, arrays[ahead:end], parts, strict=True):
            add(target, own, each, folded if mean else 1)

    return run


def _one_by_one(
    steps: Steps, results: tuple[int, ...], totals: Totals, axis: tuple[int, ...],
    out_layouts: Layouts, in_layouts: Layouts,
) -> Callable[..., None]:  # fmt: skip
    """The same where the sizes have become such that no walk over rows is one over the inputs."""
    ahead, end = len(results), len(results) + len(totals)
    whole, made = out_layouts[0], out_layouts[1 + ahead :]
    lines = [Operand(whole.shape, whole.strides, steps[step].stored) for _, step in totals]
    every = (*results, *[step for _, step in totals])
    chain = fused_plan(steps, every, (*out_layouts[1 : 1 + ahead], *lines), in_layouts)
    folds = [
        reduction.plan(name, (out,), (line,), axis=axis, keepdims=False)
        for (name, _), out, line in zip(totals, made, lines, strict=True)
    ]
    size = math.prod(whole.shape)

    def run(*arrays: Any) -> None:
        values = [np.empty(size, line.dtype) for line in lines]
        chain(*arrays[:ahead], *values, *arrays[end:])
        for fold, target, value in zip(folds, arrays[ahead:end], values, strict=True):
            fold(target, value)

    return run


@kernel(fastmath={"reassoc", "contract"})
def _part(block: Any) -> Any:
    part = block.dtype.type(0)
    for i in range(block.size):
        part += block[i]
    return part


@functools.cache
def _kernel(
    steps: Steps, results: tuple[int, ...], summed: tuple[int, ...], types: tuple[Any, ...],
    modes: str,
) -> Any:  # fmt: skip
    outs, ins = len(results), len(modes)
    in_types, stored = types[outs:], [steps[k].stored for k in summed]
    space: dict[str, Any] = {
        **LOADS, "PIECE": _PIECE, "BLOCK": BLOCK, "_part": _part,
        **{f"_T{f}": dtype.type for f, dtype in enumerate(stored)},
    }  # fmt: skip
    row: list[str] = []
    inner: list[str] = []
    pieces = [f"o{i} = o{i}_[at : at + length]" for i in range(outs)]
    pieces += [f"u{f} = t{f}[:length]" for f in range(len(summed))]
    for i, (dtype, mode) in enumerate(zip(in_types, modes, strict=True)):
        if mode == "s":
            row.append(f"v{i} = {load(dtype, f'a{i}_[k * between[{i}]]')}")
        else:
            pieces += [
                f"b{i} = k * between[{i}] + start",
                f"a{i} = a{i}_[b{i} : b{i} + length]",
            ]
            inner.append(f"v{i} = {load(dtype, f'a{i}[i]')}")
    places = [f"o{i}[i]" for i in range(outs)] + [f"u{f}[i]" for f in range(len(summed))]
    inner += statements(steps, (*results, *summed), in_types, modes, places, typed_scalar, space)
    names = [f"o{i}_" for i in range(outs)] + [f"a{i}_" for i in range(ins)]
    names += [f"p{f}" for f in range(len(summed))]
    source = f"def loop({', '.join(names)}, between, first, last, n, size):\n"
    source += "".join(f"    t{f} = np.empty(PIECE, _T{f})\n" for f in range(len(summed)))
    source += "    blocks = (n + BLOCK - 1) // BLOCK\n    for k in range(first, last):\n"
    source += "        own = min(n, size - k * n)\n        block = k * blocks\n"
    source += indented(row, 2)
    source += "        for start in range(0, own, PIECE):\n"
    source += "            length = min(PIECE, own - start)\n            at = k * n + start\n"
    source += indented(pieces, 3) + "            for i in range(length):\n" + indented(inner, 4)
    source += "            for s in range(0, length, BLOCK):\n"
    source += "                e = min(s + BLOCK, length)\n"
    source += indented([f"p{f}[block] = _part(u{f}[s:e])" for f in range(len(summed))], 4)
    source += "                block += 1\n"
    # in place, an element's inputs are read before it is written, if it is the only result
    dispatcher = from_source(source, "loop", space, **({"noalias": True} if outs <= 1 else {}))
    arrays = [f"{carrier(t)}[::1]" for t in (*types, *stored)]
    return entry_point(dispatcher, f"void({', '.join(arrays)}, int64[::1]{', int64' * 4})")


@kernel
def _totals(out: Any, parts: Any, blocks: int, divisor: int) -> None:
    for k in range(out.size):
        total = 0.0
        for j in range(k * blocks, k * blocks + blocks):
            total += parts[j]
        out[k] = total / divisor


def _total(dtype: Any) -> Any:
    line = f"{carrier(dtype)}[::1]"
    return entry_point(_totals, f"void({line}, {line}, int64, int64)")
