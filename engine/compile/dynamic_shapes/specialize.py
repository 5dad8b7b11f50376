"""What was traced with :mod:`...symbolic_sizes`, in its form for given ones."""

from __future__ import annotations

import contextlib
import copy
from collections.abc import Iterator
from typing import Any

from ...autograd import tape
from ...aval import Aval, aval
from ...symbolic_sizes import FORMAL, KINDS, Sizes, open_sizes
from ..ir.ir import Graph, Node, Value
from ..runtime.executable import SharedArena
from ..runtime.partition import (
    HostCall,
    InputSpec,
    OutputSpec,
    Partition,
    UnboundPartition,
)


class Specialization:
    """What stands for things of a capture when its numbers have these values; ``None``: those of
    the call that was captured."""

    def __init__(self, sizes: Sizes, values: Any = None) -> None:
        self.sizes = sizes
        self.values = sizes.values if values is None else values
        self._avals: dict[int, Aval] = {}
        self._values: dict[int, Value] = {}
        self._sources: dict[int, InputSpec] = {}
        self._places: dict[int, OutputSpec] = {}

    def copy(self) -> Specialization:
        """The same, for a later use."""
        return type(self)(self.sizes, self.values)

    def thing(self, x: Any) -> Any:
        """``x`` with plain numbers in it, itself where it has no others."""
        kind = type(x)
        if kind in KINDS:
            return self.values[x.place]
        if kind is Aval:
            return self.aval(x)
        if kind is list or isinstance(x, tuple):
            things = [self.thing(each) for each in x]
            if all(a is b for a, b in zip(things, x, strict=True)):
                return x
            return kind(*things) if hasattr(kind, "_fields") else kind(things)
        if kind is dict:
            made = {name: self.thing(each) for name, each in x.items()}
            return x if all(made[name] is each for name, each in x.items()) else made
        if kind is OutputSpec:
            return self.place(x)
        return x

    def aval(self, x: Aval) -> Aval:
        found = self._avals.get(id(x))
        if found is None:
            found = x
            if id(x) in self.sizes.described:
                numbers: list[Any] = [*x.shape, *x.strides]
                numbers = [self.values[n.place] if type(n) in KINDS else n for n in numbers]
                shape, strides = tuple(numbers[: x.ndim]), tuple(numbers[x.ndim :])
                found = aval(shape, x.dtype, strides, x.device, x.weak)
            self._avals[id(x)] = found
        return found

    def value(self, x: Value) -> Value:
        found = self._values.get(id(x))
        if found is None:
            described = self.aval(x.aval)
            found = x if described is x.aval else Value(x.number, described)
            self._values[id(x)] = found
        return found

    def source(self, x: InputSpec) -> InputSpec:
        found = self._sources.get(id(x))
        if found is None:
            described = None if x.described is None else self.aval(x.described)
            found = x
            if described is not x.described:
                found = InputSpec(x.kind, x.key, x.whole, described)
            self._sources[id(x)] = found
        return found

    def place(self, x: OutputSpec) -> OutputSpec:
        found = self._places.get(id(x))
        if found is None:
            found = self._places[id(x)] = copy.copy(x)
            found.memory = self.source(x.memory)
            found.described = self.aval(x.described)
            found.offset = self.thing(x.offset)
            found.base = None if x.base is None else self.place(x.base)
        return found

    def node(self, x: Node) -> Node:
        value = self.value
        inputs = tuple([None if v is None else value(v) for v in x.inputs])
        outputs = tuple([value(v) for v in x.outputs])
        params = x.params
        for name, each in x.params.items():
            now = self.thing(each)
            if now is not each:
                params = params if params is not x.params else dict(params)
                params[name] = now
        return Node(x.op, inputs, params, outputs, x.line)

    def graph(self, x: Graph) -> Graph:
        made = Graph()
        made._count = x._count
        made.refused = x.refused
        made.nodes = [self.node(node) for node in x.nodes]
        made.outputs = [self.value(v) for v in x.outputs]
        made.captured = x.captured
        return made

    def partition(self, x: UnboundPartition) -> Partition:
        """``x`` for these sizes, bound to memory that it shares with those for others."""
        if not x.prepared:
            with symbolic(self.sizes):
                x.prepare()
        if x.arena is None:
            x.arena = SharedArena()
        sized = UnboundPartition(
            self.graph(x.graph), [(self.value(v), self.source(s)) for v, s in x.sources],
            [(n, self.value(v)) for n, v in x.outputs],
            [(self.source(s), self.value(v)) for s, v in x.writes],
            [(s, None if p is None else self.place(p)) for s, p in x.gradients], x.exact,
        )  # fmt: skip
        sized.prepared, sized.arena, sized.versions = True, x.arena, x.versions
        made = sized.bind()
        made.same_inputs_as, x.latest = x.latest, made
        return made

    # --- a capture that goes on with plain numbers ------------------------------------------------

    def concretize_graph(self, graph: Graph, sources: Any, records: Any) -> None:
        """Put plain numbers in place of sizes in what was traced."""
        for value, source in sources:
            value.aval = self.aval(value.aval)
            source.described = self.thing(source.described)
        for node in graph.nodes:
            node.params = self.thing(node.params)
            for v in (*node.inputs, *node.outputs):
                if v is not None:
                    v.aval = self.aval(v.aval)
        for record in records:
            record.base_aval = self.aval(record.base_aval)
            record.base_offset = self.thing(record.base_offset)

    def concretize_tensor(self, tensor: Any, started: int) -> None:
        """The same for a tensor and its history since the capture began."""
        if tensor is None:
            return
        tensor.aval = self.aval(tensor.aval)
        if type(tensor._offset) in KINDS:
            tensor._offset = self.thing(tensor._offset)
        waiting, seen = [tensor._node], set()
        while waiting:
            node = waiting.pop()
            if node is None or id(node) in seen:
                continue
            seen.add(id(node))
            if type(node) is tape.ViewHistory:
                self._concretize_plan(node)
                waiting += [node.node, node.parent._node]
            elif type(node) is tape.Node and node.sequence >= started:
                self._concretize_plan(node)
                waiting += [edge[0] for edge in node.edges if edge is not None]

    def _concretize_plan(self, node: Any) -> None:
        node.params = self.thing(node.params)
        plan = node.plan
        plan.avals, plan.in_avals = self.thing(plan.avals), self.thing(plan.in_avals)
        plan.aval, plan.size = plan.avals[0], self.thing(plan.size)

    def step(self, x: Any) -> Any:
        """A host call with the numbers of these sizes."""
        made = HostCall(x.function, self.thing(x.given), x.grad, x.constants)
        made.key = x.key
        return made


@contextlib.contextmanager
def symbolic(sizes: Sizes) -> Iterator[None]:
    """A block in which the numbers of a capture are equal only to themselves, for passes that shall
    hold for all sizes."""
    before, sizes.mode = sizes.mode, FORMAL
    open_sizes.append(sizes)
    try:
        yield
    finally:
        open_sizes.pop()
        sizes.mode = before
