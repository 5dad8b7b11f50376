"""Connectionist temporal classification: the likelihood of a label sequence over all alignments.

For labels l the states are blank, l1, blank, l2, ..., blank: ``2 S + 1`` of them. ``alpha[t, s]``
is the log probability of all ways to be in state s after step t; one comes from the same state,
the one before it, or, past a blank between different labels, the one before that. ``beta`` is the
same from the end. All in logarithms, in the element type, as PyTorch's.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from mindtorch.kernels.codegen.jit import kernel

from .scalar_math.float32_math import exp32, log32
from .scalar_math.float64_math import exp64, log64
from .threads.thread_pool import parallel_for
from .vectors.float_bits import choose, greater
from .via_float32 import flat


@kernel
def _states(labels: Any, gates: Any, targets: Any, count: int, blank: int) -> None:
    """The label of each state; 0 where state s may follow state s - 2, else -inf (2 more)."""
    for s in range(2 * count + 1):
        labels[s] = targets[s // 2] if s % 2 else blank
    gates[:] = -np.inf
    for s in range(2, 2 * count + 1):
        if labels[s] != labels[s - 2]:
            gates[s] = 0


def _loops(exponential: Any, logarithm: Any) -> tuple[Any, Any]:
    """(forward, backward) for the samples ``first`` to ``last``."""

    @kernel
    def advance(now: Any, same: Any, one: Any, two: Any, gate: Any, own: Any) -> None:
        for s in range(now.size):
            a, b, c = same[s], one[s], two[s] + gate[s]
            top = greater(a, greater(b, c))
            top = choose(top == -np.inf, now.dtype.type(0), top)
            sums = exponential(a - top) + exponential(b - top) + exponential(c - top)
            now[s] = logarithm(sums) + top + own[s]

    @kernel
    def weights(out: Any, alpha: Any, beta: Any, own: Any, loss: Any) -> None:
        """The share of all alignments that is in each state at a step."""
        zero = out.dtype.type(0)
        for s in range(out.size):
            known = own[s] > -np.inf
            out[s] = choose(known, exponential(alpha[s] + beta[s] + loss - own[s]), zero)

    @kernel
    def emissions(own: Any, row: Any, labels: Any) -> None:
        for s in range(own.size):
            own[s] = row[labels[s]]

    @kernel
    def forward(
        loss: Any, alpha: Any, x: Any, targets: Any, starts: Any, lengths: Any, counts: Any,
        blank: int, first: int, last: int,
    ) -> None:  # fmt: skip
        none = x.dtype.type(-np.inf)
        states = alpha.shape[2]
        labels, own = np.empty(states, np.int64), np.empty(states, x.dtype)
        gates, held = np.empty(states + 2, x.dtype), np.empty(states + 2, x.dtype)
        for b in range(first, last):
            table = alpha[b]
            table[:] = none
            count, length = counts[b], lengths[b]
            if length == 0:
                loss[b] = x.dtype.type(0) if count == 0 else -none
                continue
            total = 2 * count + 1
            _states(labels, gates, targets[starts[b] :], count, blank)
            table[0, 0] = x[0, b, blank]
            if count:
                table[0, 1] = x[0, b, labels[1]]
            held[:] = none
            for t in range(1, length):
                for s in range(total):
                    held[s + 2] = table[t - 1, s]
                emissions(own[:total], x[t, b], labels)
                advance(table[t, :total], held[2:], held[1:], held, gates, own)
            end = table[length - 1]
            held[0], held[1] = end[2 * count], end[2 * count - 1] if count else none
            held[2] = none
            own[0] = 0
            advance(held[:1], held[:1], held[1:2], held[2:3], held[2:3], own)
            loss[b] = -held[0]

    @kernel
    def backward(
        gx: Any, g: Any, x: Any, targets: Any, starts: Any, lengths: Any, counts: Any, loss: Any,
        alpha: Any, blank: int, zero_infinity: int, first: int, last: int,
    ) -> None:  # fmt: skip
        none = x.dtype.type(-np.inf)
        states, classes = alpha.shape[2], x.shape[2]
        labels, own = np.empty(states, np.int64), np.empty(states, x.dtype)
        gates, held = np.empty(states + 2, x.dtype), np.empty(states + 2, x.dtype)
        beta, shares = np.empty(states, x.dtype), np.empty(classes, x.dtype)
        for b in range(first, last):
            gx[:, b] = 0
            count, length = counts[b], lengths[b]
            if loss[b] == np.inf:
                if not zero_infinity:
                    gx[:length, b] = np.nan
                continue
            total = 2 * count + 1
            _states(labels, gates, targets[starts[b] :], count, blank)
            held[:] = none
            for t in range(length - 1, -1, -1):
                row, target = x[t, b], gx[t, b]
                emissions(own[:total], row, labels)
                if t == length - 1:
                    held[total - 1] = own[total - 1]
                    if count:
                        held[total - 2] = own[total - 2]
                else:
                    advance(beta[:total], held, held[1:], held[2:], gates[2:], own)
                    for s in range(total):
                        held[s] = beta[s]
                weights(beta[:total], alpha[b, t], held, own, loss[b])
                shares[:] = 0
                for s in range(total):
                    shares[labels[s]] += beta[s]
                for k in range(classes):
                    target[k] = (exponential(row[k]) - shares[k]) * g[b]

    return forward, backward


_BY_TYPE = {
    np.dtype(np.float32): _loops(exp32, log32),
    np.dtype(np.float64): _loops(exp64, log64),
}


def _common(x: Any, targets: Any, lengths: Any, counts: Any) -> tuple[Any, ...]:
    """Targets one after another, where each sample's begin, and the lengths."""
    counts = flat(counts)
    if targets.ndim == 1:
        starts = np.cumsum(counts) - counts
    else:
        starts = np.arange(targets.shape[0], dtype=np.int64) * targets.shape[1]
    labels = flat(targets).astype(np.int64, copy=False)
    used = np.concatenate(
        [np.empty(0, np.int64), *[labels[a : a + n] for a, n in zip(starts, counts, strict=True)]]
    )
    wrong = (used < 0) | (used >= x.shape[2])
    if wrong.any():
        raise IndexError(f"Target {used[wrong][0]} is out of bounds.")
    return np.append(labels, 0), starts, flat(lengths), counts


def ctc_loss(
    outs: Any, x: Any, targets: Any, lengths: Any, counts: Any, *, blank: int
) -> None:
    """``outs`` = the loss of each sample, alpha ``[sample, step, state]``."""
    loss, alpha = outs
    arrays = (loss, alpha, np.ascontiguousarray(x), *_common(x, targets, lengths, counts))
    forward = _BY_TYPE[x.dtype][0]
    parallel_for(loss.size, lambda first, last: forward(*arrays, blank, first, last))


def ctc_loss_gradient(
    out: Any, g: Any, x: Any, targets: Any, lengths: Any, counts: Any, loss: Any, alpha: Any,
    *, blank: int, zero_infinity: bool,
) -> None:  # fmt: skip
    """``out`` = g (exp(x) - the share of alignments in each class), the gradient for ``x``."""
    common = _common(x, targets, lengths, counts)
    arrays = (out, flat(g), np.ascontiguousarray(x), *common, loss, np.ascontiguousarray(alpha))
    backward = _BY_TYPE[x.dtype][1]
    parallel_for(
        loss.size, lambda first, last: backward(*arrays, blank, int(zero_infinity), first, last)
    )
