"""Chains of scalar functions some of whose values are summed: one pass over memory.

    piece     up to 2048 elements of one sum: the chain fills lines that stay in the first cache
    blocks    of a line are added to the levels of the sum, as :mod:`.sums.cascade_sum` adds them

So the sums have the bits that they have when the chain's values are stored and summed afterwards.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from mindtorch.kernels.codegen.fused_loop import Steps, load, statements
from mindtorch.kernels.codegen.jit import entry_point, from_source

from . import reduction
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
from .sums import cascade_loops, cascade_sum
from .threads import thread_pool

_PARALLEL_SIZE = 1 << 18
_PIECE = 2048  # whole blocks of sums of less than _LONGEST
_SHORTEST = 64  # rows of fewer elements are quicker as a loop over all, and one over rows
_LONGEST = 1 << 31
Totals = tuple[tuple[str, int], ...]  # "sum" or "mean", and the step whose values it adds


class _Rows(NamedTuple):
    """How the elements are walked: in rows of ``length``, ``size`` in all.

    Attributes:
        strides: from row to row, for each input.
        modes: for each input "c" where a row of it is read in order, "s" where it is one number.
        sums: how many there are, each over as many elements.
    """

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
    if not _SHORTEST <= folded < _LONGEST or any(s[-1] not in (0, 1) for s in strides):
        return None
    if len(lengths) > 2 or lengths[-1] < _SHORTEST:
        return None
    modes = "".join("c" if s[-1] else "s" for s in strides[1:])
    steps = tuple(s[0] if len(lengths) == 2 else 0 for s in strides[1:])
    return _Rows(lengths[-1], size, steps, modes, sums)


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
    summed = tuple(step for _, step in totals)
    chain = _kernel(steps, results, summed, types, walk.modes)
    folded = walk.size // walk.sums
    counts = np.array([folded if name == "mean" else 1 for name, _ in totals], np.int64)
    between = np.array(walk.strides, np.int64)
    ahead, end = len(results), len(results) + len(totals)
    length, size = walk.length, walk.size

    def run_whole(*arrays: Any) -> None:
        given = [*arrays[:ahead], *arrays[end:], *arrays[ahead:end], between, counts]

        def part(first: int, last: int) -> None:
            chain(*given, first, last, length, folded, size)

        if size >= _PARALLEL_SIZE:
            thread_pool.parallel_for(walk.sums, part)
        else:
            part(0, walk.sums)

    if walk.sums > 1 or folded < cascade_sum.PARALLEL_SIZE:
        return run_whole
    ones = np.ones_like(counts)

    def run(*arrays: Any) -> None:
        threads = thread_pool.get_num_threads()
        if threads == 1:
            run_whole(*arrays)
            return
        pieces, each = cascade_sum.pieces_of(folded, threads)
        sums = [np.zeros(threads, steps[step].stored) for step in summed]
        given = [*arrays[:ahead], *arrays[end:], *sums, between, ones]

        def part(first: int, last: int) -> None:
            chain(*given, first, last, length, each, size)

        if size >= _PARALLEL_SIZE:
            thread_pool.parallel_for(pieces, part)
        else:
            part(0, pieces)
        for target, own, count in zip(arrays[ahead:end], sums, counts, strict=True):
            cascade_sum.of_pieces(own.dtype, threads)(target, own)
            if count > 1:
                target /= target.dtype.type(count)

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


@functools.cache
def _kernel(
    steps: Steps, results: tuple[int, ...], summed: tuple[int, ...], types: tuple[Any, ...],
    modes: str,
) -> Any:  # fmt: skip
    outs = len(results)
    in_types, stored = types[outs:], [steps[k].stored for k in summed]
    space: dict[str, Any] = {
        **LOADS, "PIECE": _PIECE,
        **{f"_T{f}": dtype.type for f, dtype in enumerate(stored)},
        **{f"PLACES{f}": cascade_loops.places(dtype) for f, dtype in enumerate(stored)},
    }  # fmt: skip
    for f, dtype in enumerate(stored):
        space[f"more{f}"], space[f"close{f}"] = cascade_loops.running_sum_of(dtype)
        space[f"whole{f}"] = cascade_loops.row_sum_of(dtype)
    row: list[str] = []
    inner: list[str] = []
    pieces = [f"o{i} = o{i}_[at : at + length]" for i in range(outs)]
    pieces += [f"u{f} = t{f}[fill : fill + length]" for f in range(len(summed))]
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
    source = _loop_source(outs, len(modes), len(summed), row, pieces, inner)
    # in place, an element's inputs are read before it is written, if it is the only result
    dispatcher = from_source(source, "loop", space, **({"noalias": True} if outs <= 1 else {}))
    arrays = [f"{carrier(t)}[::1]" for t in (*types, *stored)]
    return entry_point(dispatcher, f"void({', '.join(arrays)}{', int64[::1]' * 2}{', int64' * 5})")


def _loop_source(
    outs: int, ins: int, sums: int, row: list[str], pieces: list[str], inner: list[str]
) -> str:
    """Sums ``first`` to ``last`` of ``each`` elements (the last one maybe of fewer), a line of
    which ends where a row of ``n`` elements does, or is full."""
    names = [f"o{i}_" for i in range(outs)] + [f"a{i}_" for i in range(ins)]
    names += [f"p{f}" for f in range(sums)]
    source = f"def loop({', '.join(names)}, between, counts, first, last, n, each, size):\n"
    for f in range(sums):
        source += f"    t{f} = np.empty(PIECE, _T{f})\n    l{f} = np.empty(PLACES{f}, _T{f})\n"
        source += f"    c{f} = _T{f}(counts[{f}])\n"
    source += "    for q in range(first, last):\n        at = q * each\n"
    source += "        end = min(at + each, size)\n"
    source += "        own = end - at\n        fill = done = 0\n"
    source += "        while at < end:\n            k = at // n\n            start = at - k * n\n"
    source += "            length = min(n - start, end - at, PIECE - fill)\n"
    source += indented([*row, *pieces], 3)
    source += "            for i in range(length):\n" + indented(inner, 4)
    source += "            at += length\n            fill += length\n"
    source += "            if fill == PIECE and at < end:\n"
    for f in range(sums):
        source += f"                if not done:\n                    l{f}[:] = 0\n"
        source += f"                more{f}(l{f}, t{f}, fill, done, own)\n"
    source += "                done += PIECE\n                fill = 0\n"
    for f in range(sums):
        source += f"        if done:\n            s{f} = close{f}(l{f}, t{f}, fill, done, own)\n"
        source += f"        else:\n            s{f} = whole{f}(t{f}, fill)\n"
        source += f"        p{f}[q] = s{f} / c{f}\n"
    return source
