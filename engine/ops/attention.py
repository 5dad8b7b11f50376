"""Scaled dot product attention."""

from __future__ import annotations

from typing import Any

from ..aval import Aval, aval
from .convolution import NetworkOp


def _attention_aval(
    q: Aval, k: Aval, v: Aval, mask: Aval | None, *, scale: float, causal: bool
) -> tuple[Aval, Aval]:
    return (
        aval((*q.shape[:-1], v.shape[-1]), q.dtype, None, q.device),
        aval(q.shape[:-1], q.dtype, None, q.device),
    )


def _attention_vjp(
    g: Any, out0: Any, out1: Any, q: Any, k: Any, v: Any, mask: Any, needs: Any, scale: float,
    causal: bool,
) -> Any:
    if needs[3]:
        raise NotImplementedError("the gradient of fused attention for its mask")
    gradients = attention_gradient(
        g[0], q, k, v, mask, out0, out1, scale=scale, causal=causal
    )
    return [*[x if need else None for x, need in zip(gradients, needs, strict=False)], None]


# softmax(scale q k^T + mask) v, and the log-sum-exp of each query's scores
attention = NetworkOp(
    "scaled_dot_product_attention",
    _attention_aval,
    "attention.attention",
    vjp=_attention_vjp,
    group="network",
)


def _no_second(g: Any, needs: Any) -> Any:
    raise NotImplementedError("the second derivative of attention is not implemented")


attention_gradient = NetworkOp(
    "scaled_dot_product_attention_backward",
    lambda y, q, k, v, mask, result, logsumexp, *, scale, causal: tuple(
        aval(x.shape, x.dtype, None, x.device) for x in (q, k, v)
    ),
    "attention.attention_gradient",
    vjp=_no_second,
    group="network",
)
