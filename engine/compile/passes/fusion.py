"""Fusion: elementwise nodes that feed one another become one loop.

Before: ``%2 = multiply(%0, %1); %4 = masked_fill(%2, %3, -inf)``. After: ``%4 = fused(...)``, one
pass over memory, and ``%2`` is never stored unless something else needs it. Each step is rounded
to its own type, so the values stay those of the nodes run one after another. Sums of a chain's
values over their last axes are made in the same pass, with the same bits.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from mindtorch.kernels.codegen.fused_loop import Step
from mindtorch.kernels.scalar.facts import facts_of

from ... import dtypes
from ...aval import Aval
from ...devices.device import cpu
from ...op import Plan, find_kernel, layouts
from ...ops.reduction import mean, sum_
from ...symbolic_sizes import fixed
from ..ir.ir import Graph, GraphOp, Node

# below this a pass over memory costs less than the time to compile a loop of its own
SMALLEST = 4096
MOST_ARRAYS = 10
MOST_STEPS = 24
_MOST_COPIES = 8
SUMS = (sum_, mean)
_SUMMED_TYPES = (dtypes.float32, dtypes.float64)


class Fused(GraphOp):
    """Several ops as one loop, and sums of some of their values.

    Args:
        steps: the scalar functions, as the kernels' ``fused_plan`` takes them.
        results: the steps whose values are results.
        names: the ops it is made of.
        sums: their names and steps.
        axis: what they are summed over.
    """

    def __init__(
        self, steps: tuple[Step, ...], results: tuple[int, ...], names: list[str],
        sums: tuple[Any, ...] = (), axis: tuple[int, ...] = (),
    ) -> None:  # fmt: skip
        self.steps = steps
        self.results = results
        self.name = "+".join(names)
        self.sums = sums
        self.axis = axis
        self.kernel = "fused_reduction.plan" if sums else "elementwise.fused_plan"

    def plan_for(self, inputs: Any, params: dict[str, Any]) -> Plan:
        avals = params["avals"]
        make = find_kernel(self, avals[0].device.type)  # type: ignore[arg-type]
        given = layouts([v.aval for v in inputs])
        if not self.sums:
            run = make(self.steps, self.results, layouts(avals), given)
        else:
            made = layouts([params["whole"], *avals])
            run = make(self.steps, self.results, self.sums, self.axis, made, given)
        return self.plan(inputs, avals, run)

    def aval(self, *inputs: Aval, avals: tuple[Aval, ...], whole: Any = None) -> Any:
        """The results' avals, which are those of the ops that it is made of."""
        return avals


class _Group:
    """Nodes that may become one; a node that cannot be fused is alone in its group.

    Attributes:
        members: places in the graph, in order; ``bits`` has a bit for each.
        layout: shape and strides of what is written, None for what is no loop.
        above: the bits of all groups that this one needs, directly or not.
        copies: places of nodes of other groups that this one does again.
        sums: places of the sums of its values that it makes.
    """

    __slots__ = ("above", "bits", "copies", "layout", "members", "sums")

    def __init__(self, place: int, layout: Any, above: int) -> None:
        self.members = [place]
        self.bits = 1 << place
        self.layout = layout
        self.above = above
        self.copies: list[int] = []
        self.sums: list[int] = []


def fuse(graph: Graph) -> int:
    """Put chains of elementwise nodes into one node each; how many nodes went."""
    before = len(graph.nodes)
    if any(loop_layout(node) for node in graph.nodes):
        _Fusion(graph).run()
    return before - len(graph.nodes)


class _Fusion:
    """The pass over one graph."""

    def __init__(self, graph: Graph) -> None:
        self.graph = graph
        self.nodes = graph.nodes
        self.results = {v.number for v in graph.results()}
        self.users: dict[int, list[int]] = {}
        for place, node in enumerate(self.nodes):
            for v in node.inputs:
                if v is not None:
                    self.users.setdefault(v.number, []).append(place)
        self.makers: dict[int, _Group] = {}
        self.places = {v.number: i for i, n in enumerate(self.nodes) for v in n.outputs}
        self.copied: set[int] = set()

    def run(self) -> None:
        groups: list[_Group] = []
        for place, node in enumerate(self.nodes):
            sources = self._sources([place])
            group = _Group(place, loop_layout(node), 0)
            for source in sources:
                group.above |= source.bits | source.above
            self._enter(group)
            groups.append(group)
            for source in sources:
                if source is not group and self._may_join(source, group):
                    group = self._join(source, group, groups)
        for group in groups:
            if group.layout is not None:
                self._copy_cheap(group)
        for group in groups:
            self._give_sum(group)
        self._rewrite()

    def _enter(self, group: _Group) -> None:
        for member in group.members:
            for v in self.nodes[member].outputs:
                self.makers[v.number] = group

    def _sources(self, members: list[int]) -> list[_Group]:
        """The groups whose values these nodes use, without their own."""
        found: dict[int, _Group] = {}
        for member in members:
            for v in self.nodes[member].inputs:
                if v is not None and v.number in self.makers:
                    maker = self.makers[v.number]
                    found[id(maker)] = maker
        return [g for g in found.values() if g.members != members]

    def _may_join(self, a: _Group, b: _Group) -> bool:
        """Whether two groups may be one: the same places, no way from one out to the other."""
        if a.layout is None or a.layout != b.layout:
            return False
        members = [*a.members, *b.members]
        if len(members) > MOST_STEPS or self._arrays(members) > MOST_ARRAYS:
            return False
        own = a.bits | b.bits
        return not any(g.above & own for g in self._sources(members) if not g.bits & own)

    def _arrays(self, members: list[int]) -> int:
        """How many arrays a loop of these nodes reads and writes."""
        made = {v.number for m in members for v in self.nodes[m].outputs}
        read = {v.number for m in members for v in self.nodes[m].inputs if v is not None} - made
        return len(read) + len(self._written(members))

    def _written(self, members: list[int], sums: Sequence[int] = ()) -> list[int]:
        """The members whose values are needed outside, but for these sums, as places within
        ``members``."""
        inside = {*members, *sums}
        return [
            k for k, m in enumerate(members) for v in self.nodes[m].outputs
            if v.number in self.results or not inside.issuperset(self.users.get(v.number, ()))
        ]  # fmt: skip

    def _join(self, a: _Group, b: _Group, groups: list[_Group]) -> _Group:
        a.members = sorted([*a.members, *b.members])
        a.bits |= b.bits
        a.above = (a.above | b.above) & ~a.bits
        groups.remove(b)
        below = a.bits | a.above
        for group in groups:
            if group.above & a.bits:
                group.above |= below
        self._enter(a)
        return a

    def _copy_cheap(self, group: _Group) -> None:
        """Do again what costs less than storing it and reading it."""
        own = [self.nodes[m] for m in group.members]
        read = {v.number for node in own for v in node.inputs if v is not None}
        read -= {v.number for node in own for v in node.outputs}
        for number in sorted(read):
            copies = self._derived(number, group, read - {number}, _MOST_COPIES)
            if copies:
                group.copies = sorted({*group.copies, *copies})
                for v in [v for p in copies for v in self.nodes[p].inputs if v is not None]:
                    self.users[v.number].append(group.members[0])
                read.discard(number)
                self.users[number] = [p for p in self.users[number] if p not in group.members]
                self.copied.add(number)

    def _derived(self, number: int, group: _Group, read: set[int], most: int) -> set[int] | None:
        """Cheap nodes that make a value of what a group reads or does again; None without such."""
        maker = self.makers.get(number)
        place = self.places.get(number, -1)
        if number in read or place in group.copies:
            return set()
        if maker is None or maker is group or maker.layout != group.layout or most <= 0:
            return None
        if not facts_of(step_of(self.nodes[place])[0]).cheap:
            return None
        found, size = {place}, self.nodes[place].outputs[0].aval.size
        for v in self.nodes[place].inputs:
            if v is not None and (v.aval.size > 1 or size == 1):
                inner = self._derived(v.number, group, read, most - len(found))
                if inner is None:
                    return None
                found |= inner
        return found if len(found) <= most else None

    def _give_sum(self, group: _Group) -> None:
        """If the group is a sum of a chain's values, let the chain make it."""
        node = self.nodes[group.members[0]]
        if node.op not in SUMS:
            return
        value, made = node.inputs[0], node.outputs[0].aval
        chain = self.makers.get(value.number)  # type: ignore[union-attr]
        if chain is None or chain.layout is None or made.device is not cpu:
            return
        if made.dtype is not value.aval.dtype or made.dtype not in _SUMMED_TYPES:  # type: ignore[union-attr]
            return
        if chain.sums and self.nodes[chain.sums[0]].params["axis"] != node.params["axis"]:
            return
        own = [self.nodes[m] for m in (*chain.copies, *chain.members)]
        full = len(_read(own)) + len(chain.sums) >= MOST_ARRAYS
        if full or _rows(value.aval, own, node.params["axis"]) is None:  # type: ignore[union-attr]
            return
        chain.sums.append(group.members[0])
        self.makers[node.outputs[0].number] = chain

    def _rewrite(self) -> None:
        """The nodes again, each group where all that it needs has been done."""
        owner = {m: g for g in self.makers.values() for m in (*g.members, *g.sums)}
        kept: list[Node] = []
        done: set[int] = set()
        for place in range(len(self.nodes)):
            waiting = [owner[place]]
            while waiting:
                group = waiting[-1]
                needed = self._sources([*group.copies, *group.members])
                missing = [g for g in needed if g is not group and id(g) not in done]
                if missing and id(group) not in done:
                    waiting += missing
                    continue
                waiting.pop()
                if id(group) not in done:
                    done.add(id(group))
                    kept += self._node(group)
        self.graph.nodes = kept

    def _live(self, group: _Group) -> list[int]:
        """The members without those that only copies needed."""
        inside = set(group.members)
        live: list[int] = []
        for m in reversed(group.members):
            numbers = {v.number for v in self.nodes[m].outputs}
            users = [p for n in numbers for p in self.users.get(n, ())]
            unused = not users and bool(numbers & self.copied)
            passed = users and all(p in inside and p not in live for p in users)
            if numbers & self.results or not (unused or passed):
                live.append(m)
        return live[::-1]

    def _node(self, group: _Group) -> list[Node]:
        """The node that does what the group does, if anything is left of it."""
        members = self._live(group)
        nodes = [self.nodes[m] for m in (*group.copies, *members)]
        if len(nodes) <= 1 and not group.sums:
            return nodes
        inputs = _read(nodes)
        made = {node.outputs[0].number: k for k, node in enumerate(nodes)}
        place = {v.number: i for i, v in enumerate(inputs)}
        place.update({number: len(inputs) + k for number, k in made.items()})
        steps = []
        for node in nodes:
            function, order, compute = step_of(node)
            operands = tuple(place[node.inputs[i].number] for i in order)
            steps.append(Step(function, operands, compute, node.outputs[0].aval.dtype.np))
        written = tuple(len(group.copies) + k for k in self._written(members, group.sums))
        sums = [self.nodes[m] for m in group.sums]
        outputs = tuple(node.outputs[0] for node in (*[nodes[k] for k in written], *sums))
        names = [node.op.name for node in (*nodes, *sums)]
        params: dict[str, Any] = {"avals": tuple(v.aval for v in outputs)}
        totals: tuple[Any, ...] = ()
        axis: tuple[int, ...] = ()
        if sums:
            params["whole"] = nodes[-1].outputs[0].aval
            totals = tuple((n.op.name, made[n.inputs[0].number]) for n in sums)  # type: ignore[union-attr]
            axis = sums[0].params["axis"]
        op = Fused(tuple(steps), written, names, totals, axis)
        return [Node(op, tuple(inputs), params, outputs)]


def _read(nodes: list[Node]) -> list[Any]:
    """The values that nodes use and do not make."""
    made = {node.outputs[0].number for node in nodes}
    return list(dict.fromkeys(v for n in nodes for v in n.inputs if v.number not in made))  # type: ignore[union-attr]


def _rows(whole: Any, nodes: list[Node], axis: tuple[int, ...]) -> Any:
    """How kernels walk over the values of a chain that is summed, if they can."""
    # these import numba, which is wanted where something is compiled and not before
    from mindtorch.kernels.cpu.elementwise import Operand
    from mindtorch.kernels.cpu.fused_reduction import rows

    def plain(a: Any) -> Operand:  # in the numbers of the call that was captured
        return Operand(tuple(map(fixed, a.shape)), tuple(map(fixed, a.strides)), a.dtype.np)

    return rows(plain(whole), tuple(plain(v.aval) for v in _read(nodes)), axis)


def step_of(node: Node) -> Any:
    return node.op.scalar_step(node.outputs[0].aval, [v.aval for v in node.inputs if v is not None])


def loop_layout(node: Node) -> Any:
    """Shape and strides of a node that can be part of a loop, else None."""
    made = node.outputs[0].aval
    if len(node.outputs) != 1 or made.size < SMALLEST or not made.dense:
        return None
    if any(v is None or v.aval.dtype.is_complex for v in node.inputs) or made.dtype.is_complex:
        return None
    if step_of(node) is None:
        return None
    return (made.shape, made.strides, made.device)
