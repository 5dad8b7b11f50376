"""Scaled dot product attention for CUDA, tiled over keys; where cuBLAS is, its products make it
(``attention_products``).

    picture   forward: one block for each query; each thread scores one key of a tile, the block
              folds the tile's maximum and sum into those so far, and each thread adds the tile's
              values to its share of the result. Backward: one block for each query (its gradient),
              then one block for each key (its own and its value's)
    memory    one number a thread for folds, and one weight a thread of the tile, in shared memory;
              scores are never written down
    sync      of the folds, and before and after a tile's weights are used
    sizes     any; a tile has as many keys as the block has threads
Statistics and sums are float64.
"""

from __future__ import annotations

import functools
import math
from typing import Any

import numpy as np
from numba import float64

from . import arrays, launch
from . import attention_products as products
from .block_reduce import largest, product, total
from .device_math import mathematics
from .launch import cuda
from .via_float32 import flat, in_float32

FOLDING = launch.FOLDING


@functools.cache
def _kernels() -> tuple[Any, Any, Any]:
    own = mathematics(np.dtype(np.float64))
    exp, log = own["exp"], own["log"]

    @launch.device
    def score(
        q: Any, k: Any, mask: Any, masked: int, at_q: int, at_k: int, at_mask: int, width: int,
        scale: float, hidden: int,
    ) -> Any:  # fmt: skip
        """A query's score of a key, -inf where the key is hidden."""
        result = -math.inf
        if hidden == 0:
            result = 0.0
            for e in range(width):
                result += np.float64(q[at_q + e]) * k[at_k + e]
            result = result * scale
            if masked:
                result += mask[at_mask]
        return result

    @launch.kernel
    def forward(
        y: Any, lse: Any, q: Any, k: Any, v: Any, mask: Any, masked: int, m0: int, m1: int,
        m2: int, m3: int, heads: int, queries: int, keys: int, width: int, out_width: int,
        scale: float, causal: int,
    ) -> None:  # fmt: skip
        lanes = cuda.shared.array(FOLDING, float64)
        weights = cuda.shared.array(FOLDING, float64)
        r, t = cuda.blockIdx.x, cuda.threadIdx.x
        s, i = r // queries, r % queries
        at_mask = (s // heads) * m0 + (s % heads) * m1 + i * m2
        for f in range(t, out_width, FOLDING):
            y[r * out_width + f] = 0
        best = -math.inf
        whole = 0.0
        for start in range(0, keys, FOLDING):
            j = start + t
            value = -math.inf
            if j < keys:
                hidden = 1 if causal and j > i else 0
                value = score(q, k, mask, masked, r * width, (s * keys + j) * width,
                              at_mask + j * m3, width, scale, hidden)  # fmt: skip
            top = largest(lanes, t, value)
            new = top if (top > best) or (top != top) else best
            kept, weight = 0.0, 0.0
            if new != -math.inf:
                kept = exp(best - new)
                weight = exp(value - new)
            weights[t] = weight
            whole = whole * kept + total(lanes, t, weight)
            best = new
            stop = min(FOLDING, keys - start)
            for f in range(t, out_width, FOLDING):
                part = y[r * out_width + f] * kept
                for b in range(stop):
                    part += weights[b] * v[(s * keys + start + b) * out_width + f]
                y[r * out_width + f] = part
            cuda.syncthreads()
        for f in range(t, out_width, FOLDING):
            if best != -math.inf:
                y[r * out_width + f] = y[r * out_width + f] / whole
        if t == 0:
            lse[r] = best + log(whole) if best != -math.inf else best

    @launch.kernel
    def query_gradient(
        gq: Any, drops: Any, g: Any, q: Any, k: Any, v: Any, mask: Any, masked: int, m0: int,
        m1: int, m2: int, m3: int, y: Any, lse: Any, heads: int, queries: int, keys: int,
        width: int, out_width: int, scale: float, causal: int,
    ) -> None:  # fmt: skip
        lanes = cuda.shared.array(FOLDING, float64)
        pulls = cuda.shared.array(FOLDING, float64)
        r, t = cuda.blockIdx.x, cuda.threadIdx.x
        s, i = r // queries, r % queries
        at_mask = (s // heads) * m0 + (s % heads) * m1 + i * m2
        drop = product(lanes, t, g, y, r * out_width, out_width)
        if t == 0:
            drops[r] = drop
        for e in range(t, width, FOLDING):
            gq[r * width + e] = 0
        for start in range(0, keys, FOLDING):
            j = start + t
            pull = 0.0
            if j < keys and lse[r] != -math.inf:
                hidden = 1 if causal and j > i else 0
                value = score(q, k, mask, masked, r * width, (s * keys + j) * width,
                              at_mask + j * m3, width, scale, hidden)  # fmt: skip
                slope = 0.0
                for f in range(out_width):
                    slope += np.float64(g[r * out_width + f]) * v[(s * keys + j) * out_width + f]
                pull = exp(value - lse[r]) * (slope - drop) * scale
            pulls[t] = pull
            cuda.syncthreads()
            stop = min(FOLDING, keys - start)
            for e in range(t, width, FOLDING):
                part = np.float64(gq[r * width + e])
                for b in range(stop):
                    part += pulls[b] * k[(s * keys + start + b) * width + e]
                gq[r * width + e] = part
            cuda.syncthreads()

    @launch.kernel
    def key_gradient(
        gk: Any, gv: Any, drops: Any, g: Any, q: Any, k: Any, v: Any, mask: Any, masked: int,
        m0: int, m1: int, m2: int, m3: int, lse: Any, heads: int, queries: int, keys: int,
        width: int, out_width: int, scale: float, causal: int,
    ) -> None:  # fmt: skip
        weights = cuda.shared.array(FOLDING, float64)
        pulls = cuda.shared.array(FOLDING, float64)
        r, t = cuda.blockIdx.x, cuda.threadIdx.x
        s, j = r // keys, r % keys
        at_mask = (s // heads) * m0 + (s % heads) * m1 + j * m3
        for e in range(t, width, FOLDING):
            gk[r * width + e] = 0
        for f in range(t, out_width, FOLDING):
            gv[r * out_width + f] = 0
        for start in range(0, queries, FOLDING):
            i = start + t
            weight, pull = 0.0, 0.0
            if i < queries:
                at = s * queries + i
                if lse[at] != -math.inf:
                    hidden = 1 if causal and j > i else 0
                    value = score(q, k, mask, masked, at * width, r * width, at_mask + i * m2,
                                  width, scale, hidden)  # fmt: skip
                    weight = exp(value - lse[at])
                    slope = 0.0
                    for f in range(out_width):
                        slope += np.float64(g[at * out_width + f]) * v[r * out_width + f]
                    pull = weight * (slope - drops[at]) * scale
            weights[t] = weight
            pulls[t] = pull
            cuda.syncthreads()
            stop = min(FOLDING, queries - start)
            for e in range(t, width, FOLDING):
                part = np.float64(gk[r * width + e])
                for b in range(stop):
                    part += pulls[b] * q[(s * queries + start + b) * width + e]
                gk[r * width + e] = part
            for f in range(t, out_width, FOLDING):
                part = np.float64(gv[r * out_width + f])
                for b in range(stop):
                    part += weights[b] * g[(s * queries + start + b) * out_width + f]
                gv[r * out_width + f] = part
            cuda.syncthreads()

    return forward, query_gradient, key_gradient


def _mask_of(mask: Any, q: Any, k: Any) -> tuple[Any, int, tuple[int, ...], int]:
    """(flat mask, whether there is one, its strides over [batch, head, query, key], heads)."""
    heads = q.shape[-3] if q.ndim >= 3 else 1
    dtype = np.dtype(np.float32) if q.dtype.itemsize == 2 else q.dtype
    if mask is None:
        return arrays.zeros((1,), dtype).flat, 0, (0, 0, 0, 0), heads
    whole = arrays.cast(mask, dtype).expand((*q.shape[:-1], k.shape[-2]))
    if whole.ndim < 4:
        extra = 4 - whole.ndim
        return whole.flat, 1, (*[0] * extra, *whole.strides), heads
    if whole.ndim > 4:
        whole = whole.reshape(-1, *whole.shape[-3:])
    return whole.flat, 1, whole.strides, heads


def _sizes(q: Any, k: Any, v: Any) -> tuple[int, ...]:
    return q.shape[-2], k.shape[-2], q.shape[-1], v.shape[-1]


def attention(
    outs: Any, q: Any, k: Any, v: Any, mask: Any = None, *, scale: float, causal: bool
) -> None:
    """``outs`` = (``softmax(scale q k' + mask) v``, log-sum-exp of each query's scores).

    Shapes: q [..., L, E], k [..., S, E], v [..., S, F]; mask is added, and broadcasts to [..., L,
    S]. A query whose scores are all -inf gets zeros.
    """
    given = (float(scale), int(causal))
    if not (outs[0].size and products.forward(outs, q, k, v, _mask_of(mask, q, k), *given)):
        _tiled(outs, q, k, v, mask, scale=scale, causal=causal)


@in_float32
def _tiled(outs: Any, q: Any, k: Any, v: Any, mask: Any, *, scale: float, causal: bool) -> None:
    y, lse = outs
    values, masked, steps, heads = _mask_of(mask, q, k)
    launch.rows(_kernels()[0], lse.size, y, lse, flat(q), flat(k), flat(v), values, masked, *steps,
                heads, *_sizes(q, k, v), float(scale), int(causal))  # fmt: skip


def attention_gradient(
    outs: Any, g: Any, q: Any, k: Any, v: Any, mask: Any, y: Any, logsumexp: Any, *, scale: float,
    causal: bool,
) -> None:  # fmt: skip
    """``outs`` = gradients for (q, k, v) of :func:`attention`."""
    given = (y, logsumexp, float(scale), int(causal))
    if not (g.size and products.backward(outs, g, q, k, v, _mask_of(mask, q, k), *given)):
        _tiled_gradient(outs, g, q, k, v, mask, y, logsumexp, scale=scale, causal=causal)


@in_float32
def _tiled_gradient(
    outs: Any, g: Any, q: Any, k: Any, v: Any, mask: Any, y: Any, logsumexp: Any, *, scale: float,
    causal: bool,
) -> None:  # fmt: skip
    gq, gk, gv = outs
    values, masked, steps, heads = _mask_of(mask, q, k)
    given = [flat(a) for a in (g, q, k, v)]
    drops, sums = arrays.empty((logsumexp.size,), np.float64), flat(logsumexp)
    sizes = (heads, *_sizes(q, k, v), float(scale), int(causal))
    _, for_queries, for_keys = _kernels()
    launch.rows(for_queries, logsumexp.size, gq, drops, *given, values, masked, *steps, flat(y),
                sums, *sizes)  # fmt: skip
    keys = math.prod(k.shape[:-1])
    launch.rows(for_keys, keys, gk, gv, drops, *given, values, masked, *steps, sums, *sizes)
