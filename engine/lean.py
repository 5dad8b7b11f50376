"""The steps of a remembered call where nothing is recorded: allocations and kernels on flat arrays.

What lies between the arguments and the results are arrays then, not tensors. A function is written
out for each pattern of steps; the plans of a call are its constants.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

from .core import KERNEL, SEVERAL, VIEW
from .tensor import result_types

_new = object.__new__
_MOST_STEPS = 24


def lean(watcher: Any, places: Any, wrap: Any) -> Callable[..., Any] | None:
    """``call(*given)`` without history; None where a result is an argument or a view of one."""
    several = places.__class__ is tuple
    made: dict[int, Any] = {}  # of each value the name and the aval
    constants: list[Any] = [result_types, _new, wrap]
    count = watcher.count
    for place, value in enumerate(watcher.values[:count]):
        made[place] = f"x{place}.flat", value.aval
    fresh: dict[int, int] = {}  # of a value the elements of its memory, where that is its own
    lines = []

    def constant(value: Any) -> str:
        constants.append(value)
        return f"c{len(constants) - 1}"

    for place, value in watcher.constants.items():
        made[place] = constant(value.flat), value.aval
    if len(watcher.steps) > _MOST_STEPS:
        return None
    for _, plan, _, inputs, start in watcher.steps:
        names = ["None" if i < 0 else made[i][0] for i in inputs]
        if plan.kind == VIEW:
            source, begin, end = made[inputs[0]][1], plan.run, plan.run + plan.size
            if begin < 0 or end > source.extent or source.dtype is not plan.aval.dtype:
                return None
            whole = not begin and end == source.extent
            cut = "" if whole else f"[{constant(begin)}:{constant(end)}]"
            made[start] = names[0] + cut, plan.aval
            if whole and inputs[0] in fresh:
                fresh[start] = fresh[inputs[0]]
            continue
        if plan.kind not in (KERNEL, SEVERAL):
            return None
        targets = []
        for i, aval in enumerate(plan.avals):
            name = f"f{start + i}"
            empty, size, kind = map(constant, (plan.empty, aval.extent, aval.dtype.np))
            lines.append(f"{name} = {empty}({size}, {kind})")
            made[start + i] = name, aval
            fresh[start + i] = aval.extent
            targets.append(name)
        lines.append(f"{constant(plan.run)}({', '.join(targets + names)})")
    wanted = places if several else (places,)
    if len(set(wanted)) != len(wanted) or not all(i in fresh for i in wanted):
        return None
    for at, i in enumerate(wanted):
        lines += [
            f"r{at} = c1(c0[0])", f"r{at}.flat = {made[i][0]}",
            f"r{at}.aval = {constant(made[i][1])}", f"r{at}._node = None",
        ]  # fmt: skip
    found = "".join(f"r{at}, " for at in range(len(wanted)))
    plain = f"({found})" if wrap is None else f"c2({found})"
    lines.append(f"return {plain if several else 'r0'}")
    given = ", ".join(f"x{i}" for i in range(count))
    function: Callable[..., Any] = _written(given, len(constants), "\n".join(lines))(*constants)
    return function


@functools.lru_cache(maxsize=512)
def _written(given: str, count: int, body: str) -> Callable[..., Any]:
    """A function of the constants that returns the function of the tensors given."""
    text = "\n".join(f"        {line}" for line in body.split("\n"))
    names = ", ".join(f"c{i}" for i in range(count))
    space: dict[str, Any] = {}
    exec(f"def bind({names}):\n    def call({given}):\n{text}\n    return call\n", space)
    bind: Callable[..., Any] = space["bind"]
    return bind
