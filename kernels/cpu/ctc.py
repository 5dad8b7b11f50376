"""Connectionist temporal classification: the likelihood of a label sequence over all alignments.

For labels l the states are blank, l1, blank, l2, ..., blank: ``2 S + 1`` of them. ``alpha[t, s]``
is the log probability of all ways to be in state s after step t; one comes from the same state,
the one before it, or, past a blank between different labels, the one before that. ``beta`` is the
same from the end. All in logarithms, in the element type, as PyTorch's.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from mindtorch.kernels.compile import kernel

from .half import flat
from .math import exp32, log32
from .math_double import exp64, log64
from .threads import parallel_for


@kernel
def _states(labels: Any, skips: Any, targets: Any, count: int, blank: int) -> None:
    """The label of each state, and whether state s may follow state s - 2."""
    for s in range(2 * count + 1):
        labels[s] = targets[s // 2] if s % 2 else blank
    for s in range(2 * count + 1):
        skips[s] = s > 1 and labels[s] != labels[s - 2]


def _loops(exponential: Any, logarithm: Any) -> tuple[Any, Any]:
    """(forward, backward) for the samples ``first`` to ``last``."""

    @kernel
    def log_sum(a: Any, b: Any, c: Any) -> Any:
        top = max(a, b, c)
        if top == -np.inf:
            return top
        return logarithm(exponential(a - top) + exponential(b - top) + exponential(c - top)) + top

    @kernel
    def forward(
        loss: Any, alpha: Any, x: Any, targets: Any, starts: Any, lengths: Any, counts: Any,
        blank: int, first: int, last: int,
    ) -> None:  # fmt: skip
        none = x.dtype.type(-np.inf)
        states = alpha.shape[2]
        labels, skips = np.empty(states, np.int64), np.empty(states, np.bool_)
        for b in range(first, last):
            table = alpha[b]
            table[:] = none
            count, length = counts[b], lengths[b]
            if length == 0:
                loss[b] = x.dtype.type(0) if count == 0 else -none
                continue
            _states(labels, skips, targets[starts[b] :], count, blank)
            table[0, 0] = x[0, b, blank]
            if count:
                table[0, 1] = x[0, b, labels[1]]
            for t in range(1, length):
                for s in range(2 * count + 1):
                    one = table[t - 1, s - 1] if s else none
                    two = table[t - 1, s - 2] if skips[s] else none
                    table[t, s] = log_sum(table[t - 1, s], one, two) + x[t, b, labels[s]]
            end = table[length - 1]
            loss[b] = -log_sum(end[2 * count], end[2 * count - 1] if count else none, none)

    @kernel
    def backward(
        gx: Any, g: Any, x: Any, targets: Any, starts: Any, lengths: Any, counts: Any, loss: Any,
        alpha: Any, blank: int, zero_infinity: int, first: int, last: int,
    ) -> None:  # fmt: skip
        none = x.dtype.type(-np.inf)
        states, classes = alpha.shape[2], x.shape[2]
        labels, skips = np.empty(states, np.int64), np.empty(states, np.bool_)
        held, beta = np.empty(states, x.dtype), np.empty(states, x.dtype)
        shares = np.empty(classes, x.dtype)
        for b in range(first, last):
            gx[:, b] = 0
            if zero_infinity and loss[b] == np.inf:
                continue
            count, length = counts[b], lengths[b]
            _states(labels, skips, targets[starts[b] :], count, blank)
            total = 2 * count + 1
            for t in range(length - 1, -1, -1):
                for s in range(total):
                    own = x[t, b, labels[s]]
                    if t == length - 1:
                        beta[s] = own if s >= total - 2 else none
                        continue
                    one = held[s + 1] if s + 1 < total else none
                    two = none
                    if s + 2 < total and skips[s + 2]:
                        two = held[s + 2]
                    beta[s] = log_sum(held[s], one, two) + own
                held, beta = beta, held
                shares[:] = none
                for s in range(total):
                    k = labels[s]
                    shares[k] = log_sum(shares[k], alpha[b, t, s] + held[s], none)
                for k in range(classes):
                    value = x[t, b, k]
                    part = exponential(shares[k] + loss[b] - value)
                    gx[t, b, k] = (exponential(value) - part) * g[b]

    return forward, backward


_BY_TYPE = {
    np.dtype(np.float32): _loops(exp32, log32),
    np.dtype(np.float64): _loops(exp64, log64),
}


def _common(x: Any, targets: Any, lengths: Any, counts: Any, blank: int) -> tuple[Any, ...]:
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
    arrays = (loss, alpha, np.ascontiguousarray(x), *_common(x, targets, lengths, counts, blank))
    forward = _BY_TYPE[x.dtype][0]
    parallel_for(loss.size, lambda first, last: forward(*arrays, blank, first, last))


def ctc_loss_gradient(
    out: Any, g: Any, x: Any, targets: Any, lengths: Any, counts: Any, loss: Any, alpha: Any,
    *, blank: int, zero_infinity: bool,
) -> None:  # fmt: skip
    """``out`` = g (exp(x) - the share of alignments in each class), the gradient for ``x``."""
    common = _common(x, targets, lengths, counts, blank)
    arrays = (out, flat(g), np.ascontiguousarray(x), *common, loss, np.ascontiguousarray(alpha))
    backward = _BY_TYPE[x.dtype][1]
    parallel_for(
        loss.size, lambda first, last: backward(*arrays, blank, int(zero_infinity), first, last)
    )
