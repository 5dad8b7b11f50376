"""The code of a cached call, generated from the nodes that were recorded.

Where nothing is recorded on the tape, what lies between the arguments and the results are flat
arrays, not tensors. A function is written out for each pattern of nodes; the plans of a call are
its constants.
"""

from __future__ import annotations

import functools
import itertools
from collections.abc import Callable
from typing import Any

from ..dispatch import (
    KERNEL,
    SEVERAL,
    VIEW,
    bound,
    compiled,
    planned_call,
    planned_several,
    planned_view,
    result_text,
)
from ..op_nodes import Node

_MOST_KERNELS = 24  # that are written out as calls on arrays


class _Code:
    """The lines that do what was recorded.

    Attributes:
        arrays: of each value, by its number, the text of its array, and its aval.
        owners: of a value that is all of a memory taken here, the value that it was taken for.
        last_use: of a memory taken here, the line that reads it last.
    """

    def __init__(self, recorder: Any) -> None:
        self.recorder = recorder
        self.nodes: list[Node] = recorder.nodes
        self.plans = [node.plan() for node in self.nodes]
        self.constants: list[Any] = []
        self.lines: list[str] = []
        self.arrays: dict[int, Any] = {}
        self.owners: dict[int, int] = {}
        self.last_use: dict[str, int] = {}

    def constant(self, value: Any) -> str:
        self.constants.append(value)
        return f"c{len(self.constants) - 1}"

    # --- on tensors -----------------------------------------------------------------------------

    def calls(self) -> list[str]:
        """The lines that call each node's op on tensors, ``v<number>``, and record it."""
        lines = [f"v{i} = x{i}" for i in range(self.recorder.count)]
        lines += [f"v{i} = {self.constant(x)}" for i, x in self.recorder.constants.items()]
        for node, plan in zip(self.nodes, self.plans, strict=True):
            given = ["None" if v is None else f"v{v.number}" for v in node.inputs]
            targets = "".join(f"v{v.number}, " for v in node.outputs)
            if plan.kind == KERNEL and given and None not in node.inputs:
                call = self.constant(planned_call(node.op, plan, node.params))
                text = f"{call}(mode, {', '.join(given)})"
            elif plan.kind == VIEW:
                view = self.constant(planned_view(node.op, plan, node.params))
                text = f"{view}(mode, {given[0]})"
            elif plan.kind == SEVERAL and given:
                there = tuple([v is not None for v in node.inputs])
                call = self.constant(planned_several(node.op, plan, node.params, there))
                text = f"{call}({', '.join(['mode', *[x for x in given if x != 'None']])})"
            else:
                follow, *rest = map(self.constant, (node.op.follow, plan, node.params))
                text = f"{follow}({rest[0]}, mode, ({', '.join([*given, ''])}), {rest[1]})"
            several = plan.kind == SEVERAL
            lines.append(f"{targets if several else targets.rstrip(', ')} = {text}")
        return lines

    # --- on arrays ------------------------------------------------------------------------------

    def kernels(self, wanted: Any) -> bool:
        """Write the nodes as allocations and kernels, for the values ``wanted``; whether they can
        be written so."""
        recorder = self.recorder
        used = set(wanted)
        for node, plan in zip(reversed(self.nodes), reversed(self.plans), strict=True):
            if plan.kind != VIEW or node.outputs[0].number in used:  # views that nobody asks for
                used.update(v.number for v in node.inputs if v is not None)
        last_reads = self._last_reads(wanted)
        for i, aval in enumerate(recorder.avals):
            self.arrays[i] = f"x{i}.flat", aval
        for i, tensor in recorder.constants.items():
            self.arrays[i] = self.constant(tensor.flat), tensor.aval
        if sum(plan.kind != VIEW for plan in self.plans) > _MOST_KERNELS:
            return False
        for at, (node, plan) in enumerate(zip(self.nodes, self.plans, strict=True)):
            start = node.outputs[0].number
            if plan.kind == VIEW:
                viewed: Any = node.inputs[0]
                if start in used and not self._view(plan, viewed.number, start):
                    return False
                continue
            over = self._read_last(node, plan, at, last_reads)
            texts = ["None" if v is None else self.arrays[v.number][0] for v in node.inputs]
            alone = used.isdisjoint(v.number for v in node.outputs[1:])
            self._kernel(plan, texts, start, alone, over)
        return True

    def _last_reads(self, wanted: Any) -> dict[int, int]:
        """Of each value that lies in no other's memory, the place of the node that reads that
        memory last; past the end where one ``wanted`` lies there."""
        roots: dict[int, int] = {}
        last: dict[int, int] = {}
        for at, (node, plan) in enumerate(zip(self.nodes, self.plans, strict=True)):
            for v in node.inputs:
                if v is not None:
                    last[roots.get(v.number, v.number)] = at
            if plan.kind == VIEW:
                viewed: Any = node.inputs[0]
                roots[node.outputs[0].number] = roots.get(viewed.number, viewed.number)
        last.update((roots.get(i, i), len(self.nodes)) for i in wanted if i is not None)
        return last

    def _read_last(self, node: Any, plan: Any, at: int, last_reads: dict[int, int]) -> int | None:
        """An input whose memory becomes the result's: taken here, read by nobody later."""
        if plan.kind != KERNEL or not getattr(node.op, "in_place_safe", False):
            return None
        made = plan.aval
        layout = made.shape, made.strides, made.dtype
        read = [(v.number, *self.arrays[v.number]) for v in node.inputs if v is not None]
        for number, name, _ in read:
            if number in self.owners and last_reads.get(number) == at and all(
                (a.shape, a.strides, a.dtype) == layout and text == name
                for _, text, a in read if text.partition("[")[0] == name
            ):  # fmt: skip
                return int(number)
        return None

    def _view(self, plan: Any, of: int, number: int) -> bool:
        text, source = self.arrays[of]
        begin, end = plan.run, plan.run + plan.size
        if begin < 0 or end > source.extent or source.dtype is not plan.aval.dtype:
            return False
        whole = not begin and end == source.extent
        cut = "" if whole else f"[{self.constant(begin)}:{self.constant(end)}]"
        self.arrays[number] = text + cut, plan.aval
        if whole and of in self.owners:
            self.owners[number] = self.owners[of]
        return True

    def _kernel(
        self, plan: Any, texts: list[str], start: int, alone: bool, over: int | None
    ) -> None:
        """Write the call of a kernel.

        Args:
            alone: nobody uses a result but the first, which some kernels compute by itself.
            over: the value whose memory the only result is written to; None for new memory.
        """
        run = getattr(plan.run, "alone", None) if alone else None
        targets = []
        made = plan.avals if run is None else plan.avals[:1]
        if over is not None:
            self.arrays[start] = self.arrays[over][0], plan.aval
            self.owners[start] = self.owners[over]
            targets, made = [self.arrays[over][0]], ()
        for i, aval in enumerate(made, start):
            empty, size, kind = map(self.constant, (plan.empty, aval.extent, aval.dtype.np))
            self.lines.append(f"f{i} = {empty}({size}, {kind})")
            self.arrays[i] = f"f{i}", aval
            self.owners[i] = i
            targets.append(f"f{i}")
        for text in (*targets, *texts):
            self.last_use[text.partition("[")[0]] = len(self.lines)
        self.lines.append(f"{self.constant(run or plan.run)}({', '.join(targets + texts)})")

    def tensor(self, at: int, number: int) -> str:
        """Make the result ``r<at>`` of a value which is a memory's only owner."""
        text, aval = self.arrays[number]
        self.last_use.pop(text, None)
        self.lines += result_text(f"r{at}", text, self.constant(aval)).splitlines()
        return f"r{at}"

    def array_results(self, wanted: tuple[int, ...]) -> list[str] | None:
        """The tensors of the values ``wanted``, on arrays; None where one is an argument or a view
        of one."""
        if not self.kernels(wanted):
            return None
        owners = {self.owners.get(i, -1) for i in wanted}
        if len(owners) != len(wanted) or -1 in owners:
            return None
        return [self.tensor(at, i) for at, i in enumerate(wanted)]

    # --- the end --------------------------------------------------------------------------------

    def function(self, given: tuple[str, ...], head: list[str] | None = None) -> Callable[..., Any]:
        """``call(*given)``; memory that no later line reads is let go."""
        for name, line in self.last_use.items():
            if name[0] == "f":
                self.lines[line] += f"; {name} = None"
        code = code_of(
            self.recorder.name, given, len(self.constants), "\n".join([*(head or ()), *self.lines])
        )
        return bound(code, *self.constants)


def cached_call(
    recorder: Any, wanted: tuple[int, ...], kind: Any, several: bool
) -> Callable[..., Any]:
    """``call(mode, *given)``, which does what was recorded.

    Args:
        wanted: the numbers of the results.
        kind: the class of several results; None for tuples.
    """
    alone = None if several or recorder.named else _one_op(recorder, wanted)
    if alone is not None:
        return alone
    code = _Code(recorder)
    names = [f"x{i}" for i in range(recorder.count)]
    make = "" if kind is None else code.constant(kind)

    def returned(texts: list[str]) -> str:
        return f"return {make}(({', '.join([*texts, ''])}))" if several else f"return {texts[0]}"

    calls = [*code.calls(), returned([f"v{i}" for i in wanted])]
    for number, name in recorder.named:
        calls.insert(-1, f"named(v{number}, {code.constant(name)})")
    if recorder.views is not None:
        views, *facts = recorder.views
        given = [", ".join([*[f"v{i}" for i in views], ""]), *map(code.constant, facts)]
        calls.insert(-1, f"several_views(({given[0]}), {', '.join(given[1:])})")
    results = code.array_results(wanted)
    if results is None:
        code.lines.clear()
        code.last_use.clear()
    else:
        code.lines.append(returned(results))
        tests = [f"{x}._node is not None and derives({x}._node)" for x in names]
        calls = [f"if mode and ({' or '.join(tests)}):", *[f"    {line}" for line in calls]]
    return code.function(("mode", *names), calls)


def cached_write(
    recorder: Any, run: Callable[..., None], target: Any, inputs: tuple[Any, ...]
) -> Callable[..., Any] | None:
    """``call(mode, *given)``, which does what was recorded and ends with ``run(*arrays)`` on those
    of ``target``, the first tensor given or a view of it, and of ``inputs``.

    NotImplemented where what is read is tracked, or in the first one's memory.
    """
    code = _Code(recorder)
    if not code.kernels([v.number for v in (target, *inputs) if v is not None]):
        return None
    names = [f"x{i}" for i in range(recorder.count)]
    head = ["storage = x0._storage or x0._shared"]
    refused = []
    for x in names[1:]:
        refused.append(f"mode and {x}._node is not None and derives({x}._node)")
        refused.append(f"{x}._storage is not None and {x}._storage.memory is storage.memory")
    for test in refused:
        head += [f"if {test}:", "    return NotImplemented"]
    arrays = ["None" if v is None else code.arrays[v.number][0] for v in (target, *inputs)]
    for text in arrays:
        code.last_use.pop(text.partition("[")[0], None)
    if not arrays[0].startswith("x0.flat"):
        return None
    code.lines += [
        "storage.version += 1", f"{code.constant(run)}({', '.join(arrays)})", "return x0"
    ]
    return code.function(("mode", *names), head)


def kept_result(
    name: str, count: int, aval: Any, memory: Callable[..., Any], *arguments: Any
) -> Callable[..., Any]:
    """``call(mode, *given)``, with so many tensors, that makes one of ``memory(*arguments)``."""
    given = ("mode", *[f"x{i}" for i in range(count)])
    taken = f"c1({', '.join(f'c{i}' for i in range(2, 2 + len(arguments)))})"
    body = f"{result_text('result', taken, 'c0')}return result"
    code = code_of(name, given, 2 + len(arguments), body)
    return bound(code, aval, memory, *arguments)


def _one_op(recorder: Any, wanted: tuple[int, ...]) -> Callable[..., Any] | None:
    """The call where it is that of one op with one result, on the tensors as they are given."""
    count = recorder.count
    if len(recorder.nodes) != 1 or wanted != (count,):
        return None
    node = recorder.nodes[0]
    if not count or [-1 if v is None else v.number for v in node.inputs] != list(range(count)):
        return None
    plan = node.plan()
    if plan.kind == KERNEL:
        return planned_call(node.op, plan, node.params)
    if plan.kind == VIEW and count == 1:
        return planned_view(node.op, plan, node.params)
    return None


def cached_rule(
    recorder: Any, numbers: list[int | None], free: int
) -> Callable[..., Any] | None:
    """``call(*given)`` for a list of gradients, None where ``numbers`` has none.

    They may be of the first ``free`` arguments, too, or views of these: tensors as ever.
    """
    code = _Code(recorder)
    if not code.kernels(numbers):
        return None
    nodes = {
        v.number: (node, plan)
        for node, plan in zip(code.nodes, code.plans, strict=True) for v in node.outputs
    }  # fmt: skip
    results: list[str] = []
    taken: set[int] = set()

    def argument(number: int) -> str | None:
        """A tensor that is an argument or a view of one."""
        if number < free:
            return f"x{number}"
        if number not in nodes:
            return None
        node, plan = nodes[number]
        viewed: Any = node.inputs[0] if plan.kind == VIEW else None
        source = None if viewed is None else argument(viewed.number)
        if source is None:
            return None
        view = code.constant(planned_view(node.op, plan, node.params))
        code.lines.append(f"v{number} = {view}(0, {source})")
        return f"v{number}"

    for at, number in enumerate(numbers):
        if number is None:
            text: str | None = "None"
        elif number in code.owners:
            if code.owners[number] in taken:
                return None
            taken.add(code.owners[number])
            text = code.tensor(at, number)
        else:
            text = argument(number)
        if text is None:
            return None
        results.append(text)
    code.lines.append(f"return [{', '.join(results)}]")
    return code.function(tuple([f"x{i}" for i in range(recorder.count)]))


_serial = itertools.count(1)


@functools.lru_cache(maxsize=512)
def _compiled(given: tuple[str, ...], count: int, body: str) -> Any:
    lines = "".join(f"    {line}\n" for line in body.split("\n"))
    arguments = ", ".join([*given, *[f"c{i}" for i in range(count)]])
    text = f"def call({arguments}):\n{lines}"
    return compiled(text, "call", f"cached call {next(_serial)}").__code__


def code_of(name: str, given: tuple[str, ...], count: int, body: str) -> Any:
    """The code with these lines and so many constants as its last arguments, in frames ``name``."""
    return _compiled(given, count, body).replace(co_name=name, co_qualname=name)
