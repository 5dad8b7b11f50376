"""Scaled dot product attention, forward and backward, without a matrix of all pairs.

For each batch and head, 64 or 128 queries at a time: their scores with all keys lie in a scratch
block that stays in cache, and are turned into weights and used there; the product with the values
is divided by the weights' sum. Backward computes the block again from the saved log-sum-exp:

    P = exp(scale q k' + mask - lse)      D = sum(g * y)
    dv += P' g     dS = P * (g v' - D) scale     dq = dS k     dk += dS' q
"""

from __future__ import annotations

from typing import Any

import numpy as np

from mindtorch.kernels.codegen.jit import kernel

from . import openblas
from .blocked_sum import row_sum
from .float32_math import exp_falling
from .float64_math import exp64
from .float_bits import add_any_order
from .openblas import gemm
from .softmax import _maximum
from .thread_pool import parallel_for
from .via_float32 import flat, in_float32

_SERIAL = 8192  # scores that one thread makes sooner than two


@kernel(inline="always")
def _rows(keys: int) -> int:
    """How many queries' scores are held at once: more where they fit into 128 KiB."""
    return 128 if keys <= 256 else 64


def _loops(exponential: Any) -> Any:
    """The loops with an ``exp`` for one element type."""

    @kernel
    def scores(
        block: Any, q: Any, k: Any, mask: Any, steps: Any, at_mask: int, start: int, rows: int,
        keys: int, width: int, scale: float, causal: int,
    ) -> None:  # fmt: skip
        gemm(0, 1, rows, keys, width, scale, q[start * width :], width, k, width, 0.0, block, keys)
        lowest = block.dtype.type(-np.inf)
        for i in range(rows):
            row = block[i * keys : (i + 1) * keys]
            if mask.size:
                for j in range(keys):
                    row[j] += mask[at_mask + (start + i) * steps[2] + j * steps[3]]
            if causal:
                for j in range(min(start + i + 1, keys), keys):
                    row[j] = lowest

    @kernel
    def exponentials(row: Any, shift: Any) -> Any:
        """Turn ``row`` into ``exp(row - shift)``; their sum."""
        total = row.dtype.type(0)
        for i in range(row.size):
            row[i] = exponential(row[i] - shift)
            total = add_any_order(total, row[i])
        return total

    @kernel(fastmath={"reassoc", "contract"})
    def row_product(a: Any, b: Any) -> Any:
        total = a.dtype.type(0)
        for i in range(a.size):
            total += a[i] * b[i]
        return total

    @kernel
    def forward(
        y: Any, lse: Any, q: Any, k: Any, v: Any, mask: Any, steps: Any, heads: int,
        queries: int, keys: int, width: int, out_width: int, scale: float, causal: int, begin: int,
        end: int,
    ) -> None:  # fmt: skip
        most = _rows(keys)
        block, factors = np.empty(most * keys, q.dtype), np.empty(most, q.dtype)
        kind = q.dtype.type
        for s in range(begin, end):
            at_mask = (s // heads) * steps[0] + (s % heads) * steps[1]
            q_, k_ = q[s * queries * width :], k[s * keys * width :]
            v_ = v[s * keys * out_width :]
            for start in range(0, queries, most):
                rows, first = min(most, queries - start), s * queries + start
                scores(block, q_, k_, mask, steps, at_mask, start, rows, keys, width, scale, causal)
                for i in range(rows):
                    row = block[i * keys : (i + 1) * keys]
                    best = _maximum(row)
                    if best == kind(-np.inf) and row_sum(row) == best:  # not beside NaNs
                        row[:] = 0
                        factors[i] = 1
                        lse[first + i] = best
                        continue
                    total = exponentials(row, best)
                    factors[i] = kind(1) / total
                    lse[first + i] = best + kind(np.log(total))
                target = y[first * out_width :]
                gemm(0, 0, rows, out_width, keys, 1.0, block, keys, v_, out_width, 0.0, target,
                     out_width)  # fmt: skip
                for i in range(rows):
                    result = target[i * out_width : (i + 1) * out_width]
                    for j in range(out_width):
                        result[j] *= factors[i]

    @kernel
    def slopes(row: Any, pull: Any, whole: Any, drop: Any) -> None:
        """Turn scores into weights, and the weights' gradients into the scores'."""
        for j in range(row.size):
            row[j] = exponential(row[j] - whole)
            pull[j] = row[j] * (pull[j] - drop)

    @kernel
    def backward(
        gq: Any, gk: Any, gv: Any, g: Any, q: Any, k: Any, v: Any, mask: Any, y: Any, lse: Any,
        steps: Any, heads: int, queries: int, keys: int, width: int, out_width: int, scale: float,
        causal: int, begin: int, end: int,
    ) -> None:  # fmt: skip
        most = _rows(keys)
        block, slope = np.empty(most * keys, q.dtype), np.empty(most * keys, q.dtype)
        kind = q.dtype.type
        for s in range(begin, end):
            at_mask = (s // heads) * steps[0] + (s % heads) * steps[1]
            q_, k_ = q[s * queries * width :], k[s * keys * width :]
            v_ = v[s * keys * out_width :]
            gk_, gv_ = gk[s * keys * width :], gv[s * keys * out_width :]
            for start in range(0, queries, most):
                rows = min(most, queries - start)
                kept = 0.0 if start == 0 else 1.0
                first = s * queries + start
                g_ = g[first * out_width :]
                scores(block, q_, k_, mask, steps, at_mask, start, rows, keys, width, scale, causal)
                gemm(0, 1, rows, keys, out_width, 1.0, g_, out_width, v_, out_width, 0.0, slope,
                     keys)
                for i in range(rows):
                    row = block[i * keys : (i + 1) * keys]
                    pull = slope[i * keys : (i + 1) * keys]
                    if lse[first + i] == kind(-np.inf):
                        row[:] = 0
                        pull[:] = 0
                        continue
                    at = (first + i) * out_width
                    drop = row_product(g[at : at + out_width], y[at : at + out_width])
                    slopes(row, pull, lse[first + i], drop)
                gemm(1, 0, keys, out_width, rows, 1.0, block, keys, g_, out_width, kept, gv_,
                     out_width)
                gemm(0, 0, rows, width, keys, scale, slope, keys, k_, width, 0.0,
                     gq[first * width :], width)
                gemm(1, 0, keys, width, rows, scale, slope, keys, q[first * width :], width, kept,
                     gk_, width)

    return forward, backward


_BY_TYPE = {np.dtype(np.float32): _loops(exp_falling), np.dtype(np.float64): _loops(exp64)}


def _mask_of(mask: Any, q: Any, k: Any) -> tuple[Any, Any, int]:
    """(flat mask, its strides over [batch, head, query, key], heads)."""
    heads = q.shape[-3] if q.ndim >= 3 else 1
    if mask is None:
        return np.empty(0, q.dtype), np.zeros(4, np.int64), heads
    lead = int(np.prod(q.shape[:-3], dtype=np.int64)) if q.ndim > 3 else 1
    whole = np.broadcast_to(mask, (*q.shape[:-2], q.shape[-2], k.shape[-2]))
    if q.ndim > 4:
        whole = np.ascontiguousarray(whole)
    whole = whole.reshape(lead, heads, q.shape[-2], k.shape[-2]) if q.ndim != 4 else whole
    own = np.ascontiguousarray(mask, q.dtype)
    if q.ndim == 4:
        padded = own.reshape((1,) * (4 - own.ndim) + own.shape)
        steps = [0 if n == 1 else s // own.itemsize
                 for n, s in zip(padded.shape, padded.strides, strict=True)]  # fmt: skip
        return own.reshape(-1), np.array(steps, np.int64), heads
    dense = np.ascontiguousarray(whole, q.dtype)
    return dense.reshape(-1), np.array([s // dense.itemsize for s in dense.strides]), heads


def _sizes(q: Any, k: Any, v: Any) -> tuple[int, ...]:
    sets = int(np.prod(q.shape[:-2], dtype=np.int64))
    return sets, q.shape[-2], k.shape[-2], q.shape[-1], v.shape[-1]


@in_float32
def attention(
    outs: Any, q: Any, k: Any, v: Any, mask: Any = None, *, scale: float, causal: bool
) -> None:
    """``outs`` = (``softmax(scale q k' + mask) v``, log-sum-exp of each query's scores).

    Shapes: q [..., L, E], k [..., S, E], v [..., S, F]; mask is added, and broadcasts to [..., L,
    S]. A query whose scores are all -inf gets zeros.
    """
    y, lse = outs
    values, steps, heads = _mask_of(mask, q, k)
    arrays = (y.reshape(-1), lse.reshape(-1), flat(q), flat(k), flat(v), values, steps)
    _over_sets(_BY_TYPE[q.dtype][0], arrays, heads, _sizes(q, k, v), scale, causal)


def _over_sets(
    loop: Any, arrays: Any, heads: int, sizes: Any, scale: float, causal: bool
) -> None:
    """The loop over batches and heads, shared out to the threads."""
    openblas.library()
    sets, *lengths = sizes

    def part(begin: int, end: int) -> None:
        loop(*arrays, heads, *lengths, float(scale), int(causal), begin, end)

    parallel_for(sets, part, 1 + _SERIAL // max(lengths[0] * lengths[1], 1))


@in_float32
def attention_gradient(
    outs: Any, g: Any, q: Any, k: Any, v: Any, mask: Any, y: Any, logsumexp: Any, *, scale: float,
    causal: bool,
) -> None:  # fmt: skip
    """``outs`` = gradients for (q, k, v) of :func:`attention`."""
    values, steps, heads = _mask_of(mask, q, k)
    arrays = (
        *[o.reshape(-1) for o in outs], flat(g), flat(q), flat(k), flat(v), values, flat(y),
        flat(logsumexp), steps,
    )  # fmt: skip
    _over_sets(_BY_TYPE[q.dtype][1], arrays, heads, _sizes(q, k, v), scale, causal)
