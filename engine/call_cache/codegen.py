"""The steps of a remembered call where nothing is recorded: allocations and kernels on flat arrays.

What lies between the arguments and the results are arrays then, not tensors. A function is written
out for each pattern of steps; the plans of a call are its constants.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

from ..dispatch import KERNEL, SEVERAL, VIEW
from ..tensor import result_types

_new = object.__new__
_MOST_STEPS = 24


class _Written:
    """The lines that do a watcher's steps.

    Attributes:
        made: of each value the name of its array, and its aval.
        roots: of a value that is all of a memory taken here, what was taken first.
    """

    def __init__(self, watcher: Any, *constants: Any) -> None:
        self.watcher = watcher
        self.constants = list(constants)
        self.lines: list[str] = []
        self.made: dict[int, Any] = {}
        self.roots: dict[int, int] = {}
        self.last: dict[str, int] = {}  # of a memory taken here, the line that reads it last

    def constant(self, value: Any) -> str:
        self.constants.append(value)
        return f"c{len(self.constants) - 1}"

    def steps(self, wanted: Any) -> bool:
        """Write all steps, of which the values at the places ``wanted`` are the results; whether
        they can be written."""
        watcher, made = self.watcher, self.made
        used = {*wanted, *[i for step in watcher.steps for i in step[3]]}
        for place, value in enumerate(watcher.values[: watcher.count]):
            made[place] = f"x{place}.flat", value.aval
        for place, value in watcher.constants.items():
            made[place] = self.constant(value.flat), value.aval
        if len(watcher.steps) > _MOST_STEPS:
            return False
        for _, plan, _, inputs, start in watcher.steps:
            names = ["None" if i < 0 else made[i][0] for i in inputs]
            if plan.kind == VIEW:
                if not self._view(plan, inputs[0], start):
                    return False
            elif plan.kind in (KERNEL, SEVERAL):
                alone = used.isdisjoint(range(start + 1, start + len(plan.avals)))
                self._kernel(plan, names, start, alone)
            else:
                return False
        return True

    def _view(self, plan: Any, of: int, start: int) -> bool:
        name, source = self.made[of]
        begin, end = plan.run, plan.run + plan.size
        if begin < 0 or end > source.extent or source.dtype is not plan.aval.dtype:
            return False
        whole = not begin and end == source.extent
        cut = "" if whole else f"[{self.constant(begin)}:{self.constant(end)}]"
        self.made[start] = name + cut, plan.aval
        if whole and of in self.roots:
            self.roots[start] = self.roots[of]
        return True

    def _kernel(self, plan: Any, names: list[str], start: int, alone: bool) -> None:
        """``alone``: nobody uses a result but the first, which some kernels compute by itself."""
        run = getattr(plan.run, "alone", None) if alone else None
        targets = []
        for i, aval in enumerate(plan.avals if run is None else plan.avals[:1]):
            name = f"f{start + i}"
            empty, size, kind = map(self.constant, (plan.empty, aval.extent, aval.dtype.np))
            self.lines.append(f"{name} = {empty}({size}, {kind})")
            self.made[start + i] = name, aval
            self.roots[start + i] = start + i
            targets.append(name)
        for name in (*targets, *names):
            self.last[name.partition("[")[0]] = len(self.lines)
        self.lines.append(f"{self.constant(run or plan.run)}({', '.join(targets + names)})")

    def tensor(self, at: int, place: int) -> None:
        """Make the result ``r<at>`` of the value at ``place``, which is a memory's only owner."""
        name, aval = self.made[place]
        self.last.pop(name, None)
        self.lines += [
            f"r{at} = c1(c0[0])", f"r{at}.flat = {name}", f"r{at}.aval = {self.constant(aval)}",
            f"r{at}._node = None",
        ]  # fmt: skip

    def function(self) -> Callable[..., Any]:
        """Of the tensors given; memory that no later line reads is let go."""
        for name, line in self.last.items():
            if name[0] == "f":
                self.lines[line] += f"; {name} = None"
        given = ", ".join(f"x{i}" for i in range(self.watcher.count))
        bind = _compiled(given, len(self.constants), "\n".join(self.lines))
        made: Callable[..., Any] = bind(*self.constants)
        return made


def lean(watcher: Any, places: Any, wrap: Any) -> Callable[..., Any] | None:
    """``call(*given)`` without history; None where a result is an argument or a view of one."""
    several = places.__class__ is tuple
    written = _Written(watcher, result_types, _new, wrap)
    wanted = places if several else (places,)
    if not written.steps(wanted):
        return None
    roots = {written.roots.get(i, -1) for i in wanted}
    if len(roots) != len(wanted) or -1 in roots:
        return None
    for at, i in enumerate(wanted):
        written.tensor(at, i)
    found = "".join(f"r{at}, " for at in range(len(wanted)))
    plain = f"({found})" if wrap is None else f"c2({found})"
    written.lines.append(f"return {plain if several else 'r0'}")
    return written.function()


def lean_rule(watcher: Any, places: list[int | None], free: int) -> Callable[..., Any] | None:
    """``call(*given)`` for a list of gradients, None where ``places`` has none.

    They may be of the first ``free`` arguments, too, or views of these: tensors as ever.
    """
    written = _Written(watcher, result_types, _new)
    if not written.steps(places):
        return None
    steps = {start: step for step in watcher.steps for start in step[4:]}
    names: dict[int, str] = {}
    taken: set[int] = set()

    def name_of(place: int) -> str | None:
        """A tensor at ``place`` that is an argument or a view of one."""
        if place < free:
            return f"x{place}"
        if place not in steps or place in watcher.constants:
            return None
        op, plan, params, inputs, _ = steps[place]
        source = name_of(inputs[0]) if plan.kind == VIEW else None
        if source is None:
            return None
        view, *rest = map(written.constant, (op._view, plan, params, plan.run))
        written.lines.append(f"v{place} = {view}({rest[0]}, 0, ({source},), {rest[1]}, {rest[2]})")
        return f"v{place}"

    for at, place in enumerate(places):
        if place is None:
            names[at] = "None"
        elif place in written.roots:
            if written.roots[place] in taken:
                return None
            taken.add(written.roots[place])
            written.tensor(at, place)
            names[at] = f"r{at}"
        else:
            name = name_of(place)
            if name is None:
                return None
            names[at] = name
    written.lines.append(f"return [{', '.join(names.values())}]")
    return written.function()


@functools.lru_cache(maxsize=512)
def _compiled(given: str, count: int, body: str) -> Callable[..., Any]:
    """A function of the constants that returns the function of the tensors given."""
    text = "\n".join(f"        {line}" for line in body.split("\n"))
    names = ", ".join(f"c{i}" for i in range(count))
    space: dict[str, Any] = {}
    source = f"def bind({names}):\n    def call({given}):\n{text}\n    return call\n"
    exec(compile(source, f"{__file__} (generated)", "exec"), space)
    bind: Callable[..., Any] = space["bind"]
    return bind
