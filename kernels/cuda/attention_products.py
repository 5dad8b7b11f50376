"""Scaled dot product attention as cuBLAS's products, where cuBLAS is: scores are written down.

    picture   some batches and heads at a time. Forward: scores = q k', a block for each query makes
              weights of its scores, y = weights v. Backward: the weights again from the
              log-sum-exps, their slopes g v' by a thread each, and three products
    memory    scores (and slopes) of at most ``SCORES`` bytes; one float64 a thread in shared memory
    sync      of the folds (see ``fold``)
    sizes     any. 16-bit floats are multiplied as such and summed in float32
"""

from __future__ import annotations

import functools
import math
from typing import Any

import numpy as np
from numba import float64

from . import arrays, launch, library_calls
from .arrays import Array
from .block_reduce import largest, product, total
from .device_math import mathematics
from .launch import cuda
from .via_float32 import flat

FOLDING = launch.FOLDING
SCORES = 1 << 30


@functools.cache
def _kernels(dtype: Any) -> tuple[Any, Any]:
    """(weights of scores, weights and slopes) in a type."""
    exp, log = mathematics(dtype)["exp"], mathematics(np.dtype(np.float64))["log"]
    kind = dtype.type

    @launch.device
    def score(value: Any, mask: Any, masked: int, at: int, scale: float, hidden: bool) -> Any:
        value = value * kind(scale)
        if masked:
            value = value + mask[at]
        return kind(-math.inf) if hidden else value

    @launch.kernel
    def weigh(
        scores: Any, lse: Any, mask: Any, masked: int, m0: int, m1: int, m2: int, m3: int,
        heads: int, first: int, queries: int, keys: int, scale: float, causal: int,
    ) -> None:  # fmt: skip
        lanes = cuda.shared.array(FOLDING, float64)
        r, t = np.int64(cuda.blockIdx.x), cuda.threadIdx.x
        s, i, base = first + r // queries, r % queries, r * keys
        at = (s // heads) * m0 + (s % heads) * m1 + i * m2
        best = -math.inf
        for j in range(t, keys, FOLDING):
            value = score(scores[base + j], mask, masked, at + j * m3, scale, causal != 0 and j > i)
            scores[base + j] = value
            best = value if (value > best) or (value != value) else best
        top = largest(lanes, t, best)
        shift = kind(top) if top != -math.inf else kind(0)
        part = 0.0
        for j in range(t, keys, FOLDING):
            weight = exp(scores[base + j] - shift)
            scores[base + j] = weight
            part += weight
        whole = total(lanes, t, part)
        share = kind(1.0 / whole) if top != -math.inf else kind(0)
        for j in range(t, keys, FOLDING):
            scores[base + j] = scores[base + j] * share
        if t == 0:
            lse[r] = top + log(whole) if top != -math.inf else top

    @launch.kernel
    def slopes(
        count: int, scores: Any, pulls: Any, lse: Any, drops: Any, mask: Any, masked: int, m0: int,
        m1: int, m2: int, m3: int, heads: int, first: int, queries: int, keys: int, scale: float,
        causal: int,
    ) -> None:  # fmt: skip
        k = cuda.grid(1)
        while k < count:
            r, j = k // keys, k % keys
            s, i = first + r // queries, r % queries
            at = (s // heads) * m0 + (s % heads) * m1 + i * m2 + j * m3
            value = score(scores[k], mask, masked, at, scale, causal != 0 and j > i)
            weight = exp(value - lse[r]) if lse[r] != -math.inf else kind(0)
            scores[k] = weight
            pulls[k] = weight * (pulls[k] - drops[r]) * kind(scale)
            k = launch.following(k, count)

    return weigh, slopes


@launch.kernel
def _drops(drops: Any, g: Any, y: Any, width: int) -> None:
    """For each row the sum of the products of its elements."""
    lanes = cuda.shared.array(FOLDING, float64)
    r, t = np.int64(cuda.blockIdx.x), cuda.threadIdx.x
    drop = product(lanes, t, g, y, r * width, width)
    if t == 0:
        drops[r] = drop


def _wide(dtype: Any) -> Any:
    return np.dtype(np.float32) if dtype.itemsize == 2 else dtype


class _Case:
    """The sizes of one attention, and its batches and heads some at a time."""

    def __init__(self, q: Any, k: Any, v: Any) -> None:
        self.queries, self.keys, self.width, self.out = (
            q.shape[-2], k.shape[-2], q.shape[-1], v.shape[-1])  # fmt: skip
        self.number = math.prod(q.shape[:-2])
        self.wide = _wide(q.dtype)

    def parts(self) -> list[tuple[int, int]]:
        each = self.queries * self.keys * self.wide.itemsize
        count = max(min(SCORES // max(each, 1), self.number), 1)
        return [(k, min(count, self.number - k)) for k in range(0, self.number, count)]

    def matrices(self, x: Any, first: int, count: int, rows: int, columns: int) -> Array:
        """Some matrices of a dense flat array."""
        size = rows * columns
        return Array(x[first * size : (first + count) * size], (count, rows, columns))

    def scores(self, count: int) -> Array:
        return arrays.empty((count, self.queries, self.keys), self.wide)


_TURNED = (0, 2, 1)


def forward(outs: Any, q: Any, k: Any, v: Any, mask: Any, scale: float, causal: int) -> bool:
    """As :func:`attention.attention`; False where cuBLAS is not there. ``mask``: what its
    ``_mask_of`` gives for operands of the scores' type."""
    if not library_calls.multiplies(q.dtype):
        return False
    case, (y, lse) = _Case(q, k, v), outs
    values, masked, steps, heads = mask
    given = [flat(x) for x in (q, k, v)]
    sums = lse if lse.dtype == case.wide else arrays.empty(lse.shape, case.wide)
    for first, count in case.parts():
        left = case.matrices(given[0], first, count, case.queries, case.width)
        right = case.matrices(given[1], first, count, case.keys, case.width).permute(_TURNED)
        scores = case.scores(count)
        if not library_calls.matmul(scores, left, right):
            return False
        launch.rows(_kernels(case.wide)[0], count * case.queries, scores,
                    sums.flat[first * case.queries :], values, masked, *steps, heads, first,
                    case.queries, case.keys, scale, causal)  # fmt: skip
        own = case.matrices(given[2], first, count, case.keys, case.out)
        target = case.matrices(y.flat, first, count, case.queries, case.out)
        library_calls.matmul(target, arrays.cast(scores, q.dtype), own)
    if sums is not lse:
        arrays.assign(lse, sums)
    return True


def backward(
    outs: Any, g: Any, q: Any, k: Any, v: Any, mask: Any, y: Any, lse: Any, scale: float,
    causal: int,
) -> bool:  # fmt: skip
    """As :func:`attention.attention_gradient`; False where cuBLAS is not there."""
    if not library_calls.multiplies(q.dtype):
        return False
    case = _Case(q, k, v)
    values, masked, steps, heads = mask
    slope, query, key, value = (flat(x) for x in (g, q, k, v))
    drops = arrays.empty((case.number * case.queries,), case.wide)
    launch.rows(_drops, drops.size, drops, flat(arrays.cast(g, case.wide)),
                flat(arrays.cast(y, case.wide)), case.out)  # fmt: skip
    sums = flat(arrays.cast(lse, case.wide))
    for first, count in case.parts():
        rows = (first, count, case.queries)
        a, c = (case.matrices(x, *rows, n) for x, n in ((query, case.width), (slope, case.out)))
        rows = (first, count, case.keys)
        b, d = (case.matrices(x, *rows, n) for x, n in ((key, case.width), (value, case.out)))
        scores, pulls = case.scores(count), case.scores(count)
        made = library_calls.matmul(scores, a, b.permute(_TURNED))
        if not made or not library_calls.matmul(pulls, c, d.permute(_TURNED)):
            return False
        here = first * case.queries
        launch.each(_kernels(case.wide)[1], scores.size, scores, pulls, sums[here:],
                    drops.flat[here:], values, masked, *steps, heads, first, case.queries,
                    case.keys, scale, causal)  # fmt: skip
        weights, pulled = (arrays.cast(x, q.dtype) for x in (scores, pulls))
        gq, gk, gv = (
            case.matrices(out.flat, first, count, n, m) for out, n, m in zip(
                outs, (case.queries, case.keys, case.keys), (case.width, case.width, case.out),
                strict=True)
        )  # fmt: skip
        library_calls.matmul(gq, pulled, b)
        library_calls.matmul(gk, pulled.permute(_TURNED), a)
        library_calls.matmul(gv, weights.permute(_TURNED), c)
    return True
