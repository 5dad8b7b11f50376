"""Scaled dot product attention, forward and backward, without a matrix of all pairs.

For each batch and head, some queries at a time (:mod:`attention_loops`). Backward computes the
weights again from the saved log-sum-exp:

    P = exp(scale q k' + mask - lse)      D = sum(g * y)
    dv += P' g     dS = P * (g v' - D) scale     dq = dS k     dk += dS' q

Arrays are read and written as they lie, but for those whose rows are not in order.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from . import attention_loops as loops
from .elementwise import Layouts, Operand
from .strided_copy import ordered
from .threads.thread_pool import parallel_for
from .via_float32 import in_float32

_SERIAL = 8192  # scores that one thread makes sooner than two
_FAST = (np.dtype(np.float32), np.dtype(np.float64))


def _four_axes(x: Any, shape: tuple[int, ...]) -> tuple[int, ...] | None:
    """The steps of an array along batches, heads, rows and columns, ``shape`` being those of the
    query's; 0 where it is broadcast. None where there is no one step for batches."""
    sizes, steps = (1,) * (4 - len(x.shape)) + x.shape, (0,) * (4 - len(x.shape)) + x.strides
    if len(shape) > 4 or min(steps, default=0) < 0:
        return None
    return tuple(0 if n == 1 else step for n, step in zip(sizes, steps, strict=True))


def _numbers(arrays: dict[int, Any], mask: Any, causal: bool) -> Any:
    """The array that describes a call to its loop; None where an array cannot be read as it lies.

    Args:
        arrays: those with rows, by their places in the array.
    """
    q, k, v = arrays[loops.Q], arrays[loops.K], arrays[loops.V]
    heads = q.shape[-3] if len(q.shape) > 2 else 1
    numbers = np.zeros(loops.NUMBERS, np.int64)
    sizes = heads, q.shape[-2], k.shape[-2], q.shape[-1], v.shape[-1], int(causal)
    numbers[: loops.MASK] = sizes
    for place, x in arrays.items():
        steps = _four_axes(x, q.shape)
        if steps is None or (steps[3] != 1 and x.shape[-1] != 1) or x.dtype != q.dtype:
            return None
        numbers[place : place + 3] = steps[:3]
    if mask is not None:
        steps = _four_axes(mask, q.shape)
        if steps is None or mask.dtype != q.dtype:
            return None
        numbers[loops.MASK : loops.MASK + 4] = steps
    return numbers if q.dtype in _FAST else None


def _over_sets(loop: Any, arrays: Any, numbers: Any, q: Any, scale: float) -> None:
    """The loop over batches and heads, shared out to the threads."""
    sets = math.prod(q.shape[:-2])

    def part(first: int, last: int) -> None:
        loop(*arrays, numbers, scale, first, last)

    scores = int(numbers[loops.QUERIES] * numbers[loops.KEYS])
    parallel_for(sets, part, 1 + _SERIAL // max(scores, 1))


def _plan(
    outs: Layouts, ins: Layouts, *, scale: float, causal: bool
) -> Callable[..., None] | None:
    """``run(y, lse, q, k, v, mask)`` on flat arrays."""
    q, k, v, mask = (*ins, None)[:4]
    numbers = _numbers({loops.Q: q, loops.K: k, loops.V: v, loops.Y: outs[0]}, mask, causal)
    if numbers is None:
        return None
    loop, absent, factor = loops.loop(q.dtype, False), np.empty(0, q.dtype), float(scale)

    def run(y: Any, lse: Any, q_: Any, k_: Any, v_: Any, mask_: Any = None) -> None:
        arrays = y, lse, q_, k_, v_, absent if mask_ is None else mask_
        _over_sets(loop, arrays, numbers, q, factor)

    return run


def _gradient_plan(
    outs: Layouts, ins: Layouts, *, scale: float, causal: bool
) -> Callable[..., None] | None:
    """``run(gq, gk, gv, g, q, k, v, mask, y, lse)`` on flat arrays."""
    g, q, k, v, mask, y, _ = ins
    places = loops.GQ, loops.GK, loops.GV, loops.G, loops.Q, loops.K, loops.V, loops.Y
    arrays = dict(zip(places, (*outs, g, q, k, v, y), strict=True))
    numbers = _numbers(arrays, mask, causal)
    if numbers is None:
        return None
    loop, absent, factor = loops.loop(q.dtype, True), np.empty(0, q.dtype), float(scale)

    def run(*flat: Any) -> None:
        held = absent if flat[7] is None else flat[7]
        _over_sets(loop, (*flat[:7], held, *flat[8:]), numbers, q, factor)

    return run


def _laid_out(x: Any) -> tuple[Any, Operand]:
    """An array in C order, flat, with axes of batches as one; and its layout."""
    made = ordered(x).reshape(-1, *x.shape[-3:])
    return made.reshape(-1), Operand(made.shape, _steps(made.shape), made.dtype)


def _steps(shape: tuple[int, ...]) -> tuple[int, ...]:
    return tuple(math.prod(shape[i + 1 :]) for i in range(len(shape)))


def _run_in_order(
    plan: Any, outs: Any, ins: Any, mask_at: int, q: Any, k: Any, params: Any
) -> None:
    """``plan`` on copies in C order of the arrays that are in another one."""
    if ins[mask_at] is not None:
        mask = ins[mask_at].astype(q.dtype, copy=False)
        mask = np.broadcast_to(mask, (*q.shape[:-2], q.shape[-2], k.shape[-2]))
        ins = (*ins[:mask_at], mask, *ins[mask_at + 1 :])
    made: list[Any] = [(None, None) if x is None else _laid_out(x) for x in (*outs, *ins)]
    results, given = made[: len(outs)], made[len(outs) :]
    run = plan([layout for _, layout in results], [layout for _, layout in given], **params)
    targets = [flat if out.flags.c_contiguous else np.empty_like(flat)
               for out, (flat, _) in zip(outs, results, strict=True)]
    run(*targets, *[flat for flat, _ in given])
    for out, target in zip(outs, targets, strict=True):
        if not out.flags.c_contiguous:
            out[...] = target.reshape(out.shape)


@in_float32
def attention(
    outs: Any, q: Any, k: Any, v: Any, mask: Any = None, *, scale: float, causal: bool
) -> None:
    """``outs`` = (``softmax(scale q k' + mask) v``, log-sum-exp of each query's scores).

    Shapes: q [..., L, E], k [..., S, E], v [..., S, F]; mask is added, and broadcasts to [..., L,
    S]. A query whose scores are all -inf gets zeros.
    """
    _run_in_order(_plan, outs, (q, k, v, mask), 3, q, k, {"scale": scale, "causal": causal})


@in_float32
def attention_gradient(
    outs: Any, g: Any, q: Any, k: Any, v: Any, mask: Any, y: Any, logsumexp: Any, *, scale: float,
    causal: bool,
) -> None:  # fmt: skip
    """``outs`` = gradients for (q, k, v) of :func:`attention`."""
    ins = g, q, k, v, mask, y, logsumexp
    _run_in_order(_gradient_plan, outs, ins, 4, q, k, {"scale": scale, "causal": causal})


attention.plan, attention_gradient.plan = _plan, _gradient_plan
