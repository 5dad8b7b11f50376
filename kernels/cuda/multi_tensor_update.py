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

from . import launch
from .device_math import mathematics

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

    @launch.device
    def update(
        p: Any, g: Any, m: Any, v: Any, w: Any, i: int, rate: float, root: float, lr: float,
        beta1: float, beta2: float, eps: float, decay: float, decoupled: int, largest: int,
        maximize: int,
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
        p[i] = x + kind(rate) * (a / (sqrt(b) / kind(root) + kind(eps)))

    names = "lr, beta1, beta2, eps, decay, decoupled, largest, maximize"
    return _together(update, "p g m v w", names, 2)


def _together(update: Any, lists: str, names: str, numbers: int = 1) -> Any:
    """The kernel that runs ``update`` on eight tensors of each of ``lists``, with numbers each."""
    places = range(TOGETHER)
    tensors = [f"{name}{k}" for k in places for name in lists.split()]
    ends = [f"end{k}" for k in places]
    owned = [", ".join(f"own{k}_{j}" for j in range(numbers)) for k in places]
    own = ", ".join(owned).split(", ")
    source = f"def step(count, {', '.join([*tensors, *ends, *own])}, {names}):\n"
    source += "    r = cuda.grid(1)\n    while r < count:\n"
    for k in places:
        arrays = ", ".join(f"{name}{k}" for name in lists.split())
        start = f" - end{k - 1}" if k else ""
        test = f"{'el' if k else ''}if r < end{k}" if k < TOGETHER - 1 else "else"
        source += f"        {test}:\n            update({arrays}, r{start}, {owned[k]}, {names})\n"
    source += "        r = following(r, count)\n"
    return launch.from_source(source, "step", {"update": update})


def _run(
    kernel: Any, lists: Sequence[Sequence[Any]], own: Sequence[tuple[float, ...]], *settings: Any
) -> None:
    """Launch for all tensors, eight at a time; where fewer are left the last stands in."""
    number = len(lists[0])
    for first in range(0, number, TOGETHER):
        places = [min(first + k, number - 1) for k in range(TOGETHER)]
        sizes = [lists[0][i].size if first + k < number else 0 for k, i in enumerate(places)]
        ends = list(itertools.accumulate(sizes))
        tensors = [each[i] for i in places for each in lists]
        numbers = [float(number) for i in places for number in own[i]]
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
    _run(_sgd(params[0].dtype), (params, grads, buffers), [(f,) for f in fresh], float(lr),
         float(momentum), float(dampening), float(weight_decay), int(nesterov),
         int(maximize))  # fmt: skip


def adam(
    params: Sequence[Any], grads: Sequence[Any], first: Sequence[Any], second: Sequence[Any],
    largest: Sequence[Any], steps: Sequence[float], *, lr: float, beta1: float, beta2: float,
    eps: float, weight_decay: float, decoupled: bool, maximize: bool,
) -> None:  # fmt: skip
    """One step of Adam (``decoupled``: AdamW) for lists of flat device arrays; ``largest`` is empty
    but for amsgrad."""
    lists = (params, grads, first, second, largest or second)
    own = [(-(lr / (1.0 - beta1**s)), (1.0 - beta2**s) ** 0.5) for s in map(float, steps)]
    _run(_adam(params[0].dtype), lists, own, float(lr), float(beta1), float(beta2), float(eps),
         float(weight_decay), int(decoupled), int(bool(largest)), int(maximize))  # fmt: skip
