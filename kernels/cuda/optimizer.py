"""Optimizer updates for CUDA: one launch for eight tensors, all of a step's arithmetic in it.

    picture   one thread for each element of the eight tensors, taken as one row; the thread finds
              its tensor by comparing its number with where the tensors end
    memory    no shared memory; neighbours read neighbours but where a tensor ends
    sync      none
    sizes     any; dense tensors of one type, as flat arrays
"""

from __future__ import annotations

import functools
import itertools
from collections.abc import Sequence
from typing import Any

import numpy as np

from . import launch
from .mathematics import mathematics

TOGETHER = 8


@functools.cache
def _sgd(dtype: Any) -> Any:
    kind = dtype.type

    @launch.device
    def update(
        p: Any, g: Any, m: Any, i: int, fresh: float, lr: float, momentum: float,
        dampening: float, decay: float, nesterov: int, maximize: int,
    ) -> None:  # fmt: skip
        d = -g[i] if maximize else g[i]
        x = p[i]
        if decay != 0.0:
            d = d + kind(decay) * x
        if momentum != 0.0:
            b = d if fresh != 0.0 else m[i] * kind(momentum) + d * kind(1.0 - dampening)
            m[i] = b
            d = d + kind(momentum) * b if nesterov else b
        p[i] = x + kind(-lr) * d

    names = "lr, momentum, dampening, decay, nesterov, maximize"
    return _together(update, "p g m", names)


@functools.cache
def _adam(dtype: Any) -> Any:
    kind, sqrt = dtype.type, mathematics(dtype)["sqrt"]
    power = mathematics(np.dtype(np.float64))["_pow"]

    @launch.device
    def update(
        p: Any, g: Any, m: Any, v: Any, w: Any, i: int, step: float, lr: float, beta1: float,
        beta2: float, eps: float, decay: float, decoupled: int, largest: int, maximize: int,
    ) -> None:  # fmt: skip
        d = -g[i] if maximize else g[i]
        x = p[i]
        if decay != 0.0:
            if decoupled:
                x = x * kind(1.0 - lr * decay)
            else:
                d = d + kind(decay) * x
        a = m[i] + kind(1.0 - beta1) * (d - m[i])
        b = v[i] * kind(beta2) + kind(1.0 - beta2) * d * d
        m[i] = a
        v[i] = b
        if largest:
            b = w[i] if w[i] > b else b
            w[i] = b
        rate = kind(-(lr / (1.0 - power(beta1, step))))
        root = kind(power(1.0 - power(beta2, step), 0.5))
        p[i] = x + rate * (a / (sqrt(b) / root + kind(eps)))

    names = "lr, beta1, beta2, eps, decay, decoupled, largest, maximize"
    return _together(update, "p g m v w", names)


def _together(update: Any, lists: str, names: str) -> Any:
    """The kernel that runs ``update`` on eight tensors of each of ``lists``, with a number each."""
    places = range(TOGETHER)
    tensors = [f"{name}{k}" for k in places for name in lists.split()]
    ends, own = [f"end{k}" for k in places], [f"own{k}" for k in places]
    source = f"def step(count, {', '.join([*tensors, *ends, *own])}, {names}):\n"
    source += "    for r in range(cuda.grid(1), count, cuda.gridsize(1)):\n"
    for k in places:
        arrays = ", ".join(f"{name}{k}" for name in lists.split())
        start = f" - end{k - 1}" if k else ""
        test = f"{'el' if k else ''}if r < end{k}" if k < TOGETHER - 1 else "else"
        source += f"        {test}:\n            update({arrays}, r{start}, own{k}, {names})\n"
    return launch.from_source(source, "step", {"update": update})


def _run(kernel: Any, lists: Sequence[Sequence[Any]], own: Sequence[float], *settings: Any) -> None:
    """Launch for all tensors, eight at a time; where fewer are left the last stands in."""
    number = len(lists[0])
    for first in range(0, number, TOGETHER):
        places = [min(first + k, number - 1) for k in range(TOGETHER)]
        sizes = [lists[0][i].size if first + k < number else 0 for k, i in enumerate(places)]
        ends = list(itertools.accumulate(sizes))
        tensors = [each[i] for i in places for each in lists]
        numbers = [float(own[i]) for i in places]
        launch.each(kernel, ends[-1], *tensors, *ends, *numbers, *settings)


def sgd(
    params: Sequence[Any], grads: Sequence[Any], buffers: Sequence[Any], fresh: Sequence[int], *,
    lr: float, momentum: float, dampening: float, weight_decay: float, nesterov: bool,
    maximize: bool,
) -> None:  # fmt: skip
    """One step of stochastic gradient descent for lists of flat device arrays.

    Args:
        buffers: of momentum; the parameters themselves where there is none.
        fresh: for each parameter whether its momentum buffer holds nothing yet.
    """
    _run(_sgd(params[0].dtype), (params, grads, buffers), fresh, float(lr), float(momentum),
         float(dampening), float(weight_decay), int(nesterov), int(maximize))  # fmt: skip


def adam(
    params: Sequence[Any], grads: Sequence[Any], first: Sequence[Any], second: Sequence[Any],
    largest: Sequence[Any], steps: Sequence[float], *, lr: float, beta1: float, beta2: float,
    eps: float, weight_decay: float, decoupled: bool, maximize: bool,
) -> None:  # fmt: skip
    """One step of Adam (``decoupled``: AdamW) for lists of flat device arrays; ``largest`` is empty
    but for amsgrad."""
    lists = (params, grads, first, second, largest or second)
    _run(_adam(params[0].dtype), lists, steps, float(lr), float(beta1), float(beta2), float(eps),
         float(weight_decay), int(decoupled), int(bool(largest)), int(maximize))  # fmt: skip
