"""Connectionist temporal classification on CUDA; the states are those of ``kernels.cpu.ctc``.

    picture   one block for each sample: its threads take the states s = t, t + threads, ... of a
              step, one step of the sequence after another. In the gradient they take the classes
              afterwards, each adding up the states of its own, so that sums come in one order
    memory    alpha, and beta of two steps, in global memory
    sync      after each step, since a state comes from its neighbours in the step before
    sizes     any number of samples, states and classes
"""

from __future__ import annotations

import functools
from typing import Any

import numpy as np

from . import arrays, errors, launch
from .cumulative import cumsum
from .device_math import mathematics
from .elementwise import plan
from .launch import cuda
from .via_float32 import flat


@launch.device
def _label(targets: Any, start: int, s: int, blank: int) -> Any:
    """The label of state s."""
    return targets[start + s // 2] if s % 2 else blank


@functools.cache
def _kernels(dtype: Any) -> tuple[Any, Any]:
    """(forward, backward) with arithmetic in ``dtype``."""
    own = mathematics(dtype)
    exponential, logarithm = own["exp"], own["log"]
    one = dtype.type
    none = one(-np.inf)

    @launch.device
    def joined(a: Any, b: Any, c: Any) -> Any:
        """The logarithm of the sum of three exponentials."""
        top = a if a > b else b
        top = top if top > c else c
        if top == none:
            return none
        sums = exponential(a - top) + exponential(b - top) + exponential(c - top)
        return logarithm(sums) + top

    @launch.kernel
    def forward(
        loss: Any, alpha: Any, x: Any, targets: Any, starts: Any, lengths: Any, counts: Any,
        batch: int, classes: int, steps: int, states: int, blank: int, fault: Any,
    ) -> None:  # fmt: skip
        b, t = cuda.blockIdx.x, cuda.threadIdx.x
        start, length, count = starts[b], lengths[b], counts[b]
        total, table = 2 * count + 1, b * steps * states
        for k in range(t, steps * states, cuda.blockDim.x):
            alpha[table + k] = none
        cuda.syncthreads()
        for step in range(length):
            for s in range(t, total, cuda.blockDim.x):
                label = _label(targets, start, s, blank)
                if label < 0 or label >= classes:
                    fault[0] = 1
                    label = 0
                own_value = x[(step * batch + b) * classes + label]
                if step == 0:
                    alpha[table + s] = own_value if s < 2 else none
                else:
                    before = table + (step - 1) * states + s
                    two = none
                    if s >= 2 and label != _label(targets, start, s - 2, blank):
                        two = alpha[before - 2]
                    one_before = alpha[before - 1] if s >= 1 else none
                    alpha[table + step * states + s] = (
                        joined(alpha[before], one_before, two) + own_value
                    )
            cuda.syncthreads()
        if t == 0:
            if length == 0:
                loss[b] = one(0) if count == 0 else -none
            else:
                end = table + (length - 1) * states + 2 * count
                loss[b] = -joined(alpha[end], alpha[end - 1] if count else none, none)

    @launch.kernel
    def backward(
        gx: Any, g: Any, x: Any, targets: Any, starts: Any, lengths: Any, counts: Any, loss: Any,
        alpha: Any, beta: Any, batch: int, classes: int, steps: int, states: int, blank: int,
        zero_infinity: int,
    ) -> None:  # fmt: skip
        b, t = cuda.blockIdx.x, cuda.threadIdx.x
        start, length, count = starts[b], lengths[b], counts[b]
        total, lost = 2 * count + 1, loss[b] == -none
        for step in range(steps):
            for k in range(t, classes, cuda.blockDim.x):
                bad = lost and not zero_infinity and step < length
                gx[(step * batch + b) * classes + k] = one(np.nan) if bad else one(0)
        if lost:
            length = 0
        for back in range(length):
            step = length - 1 - back
            row = (step * batch + b) * classes
            now, later = (2 * b + step % 2) * states, (2 * b + (step + 1) % 2) * states
            for s in range(t, total, cuda.blockDim.x):
                label = _label(targets, start, s, blank)
                label = label if label >= 0 and label < classes else 0
                if back == 0:
                    beta[now + s] = x[row + label] if s >= total - 2 else none
                else:
                    two = none
                    if s + 2 < total and label != _label(targets, start, s + 2, blank):
                        two = beta[later + s + 2]
                    after = beta[later + s + 1] if s + 1 < total else none
                    beta[now + s] = joined(beta[later + s], after, two) + x[row + label]
            cuda.syncthreads()
            for k in range(t, classes, cuda.blockDim.x):
                share, value = one(0), x[row + k]
                for s in range(total):
                    if _label(targets, start, s, blank) == k and value > none:
                        both = alpha[(b * steps + step) * states + s] + beta[now + s]
                        share += exponential(both + loss[b] - value)
                gx[row + k] = (exponential(value) - share) * g[b]
            cuda.syncthreads()

    return forward, backward


def _common(targets: Any, lengths: Any, counts: Any) -> tuple[Any, ...]:
    """Targets one after another, where each sample's begin, lengths and counts."""
    counts = arrays.cast(counts, np.int64)
    starts = arrays.empty(counts.shape, np.int64)
    if targets.ndim == 1:
        ends = arrays.empty(counts.shape, np.int64)
        cumsum(ends, counts, axis=0, reverse=False)
        plan("subtract", (starts,), (ends, counts), starts.dtype)(
            starts.flat, ends.flat, counts.flat
        )
    else:
        width = targets.shape[1]
        arrays.assign(starts, arrays.upload(np.arange(targets.shape[0], dtype=np.int64) * width))
    labels = arrays.cast(targets, np.int64) if targets.size else arrays.zeros((1,), np.int64)
    return flat(labels), starts.flat, flat(arrays.cast(lengths, np.int64)), counts.flat


def ctc_loss(outs: Any, x: Any, targets: Any, lengths: Any, counts: Any, *, blank: int) -> None:
    """``outs`` = the loss of each sample, alpha ``[sample, step, state]``."""
    loss, alpha = outs
    steps, batch, classes = x.shape
    common = _common(targets, lengths, counts)
    launch.rows(
        _kernels(x.dtype)[0], batch, loss, alpha, flat(x), *common, batch, classes, steps,
        alpha.shape[2], blank, errors.cell(),
    )  # fmt: skip


def ctc_loss_gradient(
    out: Any, g: Any, x: Any, targets: Any, lengths: Any, counts: Any, loss: Any, alpha: Any,
    *, blank: int, zero_infinity: bool,
) -> None:  # fmt: skip
    """``out`` = g (exp(x) - the share of alignments in each class), the gradient for ``x``."""
    steps, batch, classes = x.shape
    beta = arrays.empty((batch, 2, alpha.shape[2]), x.dtype)
    common = _common(targets, lengths, counts)
    launch.rows(
        _kernels(x.dtype)[1], batch, out, flat(g), flat(x), *common, flat(loss), flat(alpha), beta,
        batch, classes, steps, alpha.shape[2], blank, int(zero_infinity),
    )  # fmt: skip
