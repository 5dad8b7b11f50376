"""Scaled dot product attention."""

from __future__ import annotations

import math
from typing import Any

from .. import dtypes
from ..aval import Aval, aval, broadcast_two, dense_strides
from ..dispatch import state
from ..result_strides import preserved_strides
from ..tensor import constant, full_flat
from .base import check_result
from .comparison import equal, where
from .convolution import NetworkOp
from .elementwise import add, multiply
from .indexing import tril
from .linear_algebra import adjoint, matmul
from .reduction import amax
from .softmax import softmax, softmax_gradient


def weights(q: Any, k: Any, mask: Any, *, scale: float, causal: bool) -> Any:
    """softmax(scale q k^T + mask) over the keys, made of differentiable ops.

    A query that may look at no key has weights of zero.
    """
    root = math.sqrt(abs(scale))
    queries = multiply(q, constant(-root if scale < 0 else root))
    scores = matmul(queries, adjoint(multiply(k, constant(root))))
    if causal:
        allowed = full_flat(scores.aval.shape[-2:], dtypes.bool_, True, scores.aval.device)
        scores = where(tril(allowed, diagonal=0), scores, constant(-math.inf))
    if mask is None:
        return softmax(scores, axis=scores.aval.ndim - 1)
    check_result(scores, broadcast_two(scores.aval.shape, mask.aval.shape), scores.aval.dtype)
    scores = add(scores, mask)
    last = scores.aval.ndim - 1
    if not scores.aval.size:
        return softmax(scores, axis=last)
    blind = equal(amax(scores, axis=(last,), keepdims=True), constant(-math.inf))
    zero = constant(0.0)
    return where(blind, zero, softmax(where(blind, zero, scores), axis=last))


def _lies_as_given(q: Aval, k: Aval, v: Aval) -> bool:
    """Whether results follow the inputs' order of axes, as those of torch's fused kernel do."""
    rows = all(x.ndim == 4 and x.strides[3] == 1 for x in (q, k, v))
    return rows and q.shape[3] == v.shape[3] and q.device.type != "cuda"


def _attention_aval(
    q: Aval, k: Aval, v: Aval, mask: Aval | None, *, scale: float, causal: bool
) -> tuple[Aval, Aval]:
    strides = preserved_strides(q) if _lies_as_given(q, k, v) else None
    return (
        aval((*q.shape[:-1], v.shape[-1]), q.dtype, strides, q.device),
        aval(q.shape[:-1], q.dtype, None, q.device),
    )


def _gradient_aval(
    y: Aval, q: Aval, k: Aval, v: Aval, mask: Aval | None, result: Aval, logsumexp: Aval, *,
    scale: float, causal: bool,
) -> tuple[Aval, ...]:  # fmt: skip
    """Heads lie beside each other where torch's fused kernel puts them so."""
    order = (3, 1, 2, 0) if _lies_as_given(q, k, v) else None
    return tuple(
        aval(x.shape, x.dtype, order and dense_strides(x.shape, order), x.device)
        for x in (q, k, v)
    )


def _composed_gradient(
    g: Any, q: Any, k: Any, v: Any, mask: Any, scale: float, causal: bool
) -> tuple[Any, ...]:
    """The gradients of query, key, value and mask: with P the weights and S the scores,
    dS = P (g v' - sum(P g v')), dq = scale dS k, dk = scale dS' q, dv = P' g, dmask = dS."""
    chosen = weights(q, k, mask, scale=scale, causal=causal)
    slope = softmax_gradient(matmul(g, adjoint(v)), chosen, axis=chosen.aval.ndim - 1)
    scaled = multiply(slope, constant(scale))
    return matmul(scaled, k), matmul(adjoint(scaled), q), matmul(adjoint(chosen), g), slope


def _attention_vjp(
    g: Any, out0: Any, out1: Any, q: Any, k: Any, v: Any, mask: Any, needs: Any, scale: float,
    causal: bool,
) -> Any:  # fmt: skip
    if needs[3] or state.grad_enabled:
        gradients: Any = _composed_gradient(g[0], q, k, v, mask, scale, causal)
    else:
        gradients = attention_gradient(
            g[0], q, k, v, mask, out0, out1, scale=scale, causal=causal
        )
        gradients = (*gradients, None)
    return [x if need else None for x, need in zip(gradients, needs, strict=True)]


# softmax(scale q k^T + mask) v, and the log-sum-exp of each query's scores
attention = NetworkOp(
    "scaled_dot_product_attention",
    _attention_aval,
    "attention.attention",
    vjp=_attention_vjp,
    autocast_cuda="lower",
    grad_name="ScaledDotProductFlashAttentionForCpuBackward0",
)
attention_gradient = NetworkOp(
    "scaled_dot_product_attention_backward",
    _gradient_aval,
    "attention.attention_gradient",
)
