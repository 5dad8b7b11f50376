"""Optimizer updates for CUDA: one launch for each tensor, all of a step's arithmetic in it.

    picture   one thread for each element; blocks of 256 threads
    memory    no shared memory
    sync      none
    sizes     any; tensors without gaps, as 1-d arrays
"""

from __future__ import annotations

import math
from typing import Any

from numba import cuda

THREADS = 256


@cuda.jit
def _sgd(
    p: Any, g: Any, m: Any, fresh: int, lr: float, momentum: float, dampening: float, decay: float,
    nesterov: int, maximize: int,
) -> None:  # fmt: skip
    i = cuda.grid(1)
    if i < p.size:
        d = -g[i] if maximize else g[i]
        d = d + decay * p[i]
        if momentum != 0:
            b = d if fresh else m[i] * momentum + d * (1 - dampening)
            m[i] = b
            d = d + momentum * b if nesterov else b
        p[i] = p[i] - lr * d


@cuda.jit
def _adam(
    p: Any, g: Any, m: Any, v: Any, step: float, lr: float, beta1: float, beta2: float, eps: float,
    decay: float, decoupled: int, maximize: int,
) -> None:  # fmt: skip
    i = cuda.grid(1)
    if i < p.size:
        d = -g[i] if maximize else g[i]
        x = p[i]
        if decoupled:
            x = x * (1 - lr * decay)
        else:
            d = d + decay * x
        a = m[i] + (1 - beta1) * (d - m[i])
        b = v[i] * beta2 + (1 - beta2) * d * d
        m[i] = a
        v[i] = b
        root = math.sqrt(b) / math.sqrt(1 - beta2**step) + eps
        p[i] = x - lr / (1 - beta1**step) * a / root


def _blocks(p: Any) -> int:
    return max(-(-int(p.size) // THREADS), 1)


def sgd(params: Any, grads: Any, buffers: Any, fresh: Any, **settings: Any) -> None:
    """One step of stochastic gradient descent for lists of flat device arrays.

    Args:
        fresh: for each parameter whether its momentum buffer holds nothing yet.
        **settings: lr, momentum, dampening, weight_decay, nesterov, maximize.
    """
    s = settings
    for p, g, m, new in zip(params, grads, buffers, fresh, strict=True):
        _sgd[_blocks(p), THREADS](
            p, g, m, int(new), s["lr"], s["momentum"], s["dampening"], s["weight_decay"],
            int(s["nesterov"]), int(s["maximize"]),
        )  # fmt: skip


def adam(params: Any, grads: Any, first: Any, second: Any, step: int, **settings: Any) -> None:
    """One step of Adam (``decoupled``: AdamW) for lists of flat device arrays."""
    s = settings
    for p, g, m, v in zip(params, grads, first, second, strict=True):
        _adam[_blocks(p), THREADS](
            p, g, m, v, float(step), s["lr"], s["beta1"], s["beta2"], s["eps"],
            s["weight_decay"], int(s["decoupled"]), int(s["maximize"]),
        )  # fmt: skip
