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

from mindtorch.kernels.scalar import updates

from . import launch
from .device_math import mathematics

TOGETHER = 8


@functools.cache
def _kernel(update: updates.Update, dtype: Any) -> Any:
    """The kernel that makes ``update`` of eight tensors."""
    sqrt = mathematics(dtype)["sqrt"]
    element = updates.with_operations(update, {"sqrt": sqrt}, launch.device)
    own, numbers = ["p", *update.state_names], ", ".join(update.number_names)
    rounded = ", ".join(f"{name}_" for name in update.number_names)
    lists = ["g", *own]
    places = range(TOGETHER)
    tensors = [f"{name}{k}" for k in places for name in lists]
    ends = [f"end{k}" for k in places]
    source = f"def step(count, {', '.join([*tensors, *ends])}, maximize, {numbers}):\n"
    source += "".join(f"    {name}_ = kind({name})\n" for name in update.number_names)
    source += "    r = cuda.grid(1)\n    while r < count:\n"
    for k in places:
        at = f"[r - end{k - 1}]" if k else "[r]"
        test = f"{'el' if k else ''}if r < end{k}" if k < TOGETHER - 1 else "else"
        after = ", ".join(f"{name}{k}{at}" for name in own)
        states = ", ".join(f"{name}{k}{at}" for name in own[1:])
        source += f"        {test}:\n            d = -g{k}{at} if maximize else g{k}{at}\n"
        source += f"            {after}, = element(p{k}{at}, d, {states + ', ' * bool(states)}"
        source += f"{rounded})\n"
    source += "        r = following(r, count)\n"
    return launch.from_source(source, "step", {"element": element, "kind": dtype.type})


def step(
    update: updates.Update, params: Sequence[Any], grads: Sequence[Any],
    states: Sequence[Sequence[Any]], steps: Sequence[float], maximize: bool, *settings: float,
) -> None:  # fmt: skip
    """One step of an optimizer for lists of flat device arrays.

    Args:
        states: a list for each of the update's states.
        steps: for each parameter the number of its step, which begins with 1.
        settings: the update's.
    """
    kernel, lists = _kernel(update, params[0].dtype), (grads, params, *states)
    for number in dict.fromkeys(steps):  # the same for all of them, as a rule
        places = [i for i, own in enumerate(steps) if own == number]
        numbers = [float(x) for x in update.numbers(float(number), *settings)]
        for first in range(0, len(places), TOGETHER):
            _eight(kernel, lists, places[first : first + TOGETHER], int(maximize), *numbers)


def _eight(kernel: Any, lists: Any, places: Sequence[int], *numbers: Any) -> None:
    """Launch for up to eight tensors; where there are fewer the last stands in."""
    spare = TOGETHER - len(places)
    sizes = [lists[0][i].size for i in places] + [0] * spare
    ends = list(itertools.accumulate(sizes))
    tensors = [each[i] for i in [*places, *[places[-1]] * spare] for each in lists]
    launch.each(kernel, ends[-1], *tensors, *ends, *numbers)
