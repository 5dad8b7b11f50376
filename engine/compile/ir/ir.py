"""The intermediate representation: values with avals, nodes in order, each value made once."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, ClassVar

import numpy as np

from ...aval import Aval
from ...devices.cuda import drawing
from ...devices.device import empty_on
from ...dispatch import KERNEL, SEVERAL
from ...op_nodes import Node as Node
from ...op_nodes import NodeValue
from ...op_nodes import last_uses as last_uses
from ...op_nodes import run_nodes as run_nodes
from ...tensor import Tensor, as_array, capturing, make
from ...transforms.vmap import draw
from ..capture.tracing_error import refuse_data


class Value(NodeValue):
    """A tensor of the graph: a number and an aval. It stands where a tensor's data would."""

    __slots__ = ()

    def __getattr__(self, name: str) -> Any:
        if name[:2] == "__":
            raise AttributeError(name)
        return getattr(self._data(name), name)

    def __getitem__(self, place: Any) -> Any:
        return self._data("elements")[place]

    def __array__(self, dtype: Any = None, copy: Any = None) -> Any:
        return np.array(self._data("an array"), dtype)

    def _data(self, name: str) -> Any:
        capture = capturing()
        return refuse_data(name) if capture is None else capture.reveal(self)


def waits(tensor: Tensor) -> bool:
    """Whether a tensor's data is still to come; sparse ones have theirs."""
    return not tensor._sparse and type(tensor.flat) is Value


class GraphPlan:
    """How a :class:`GraphOp` runs: ``run(*flat outs, *flat ins)``."""

    def __init__(self, avals: tuple[Aval, ...], run: Callable[..., None]) -> None:
        self.avals = avals
        self.run = run
        self.kind = KERNEL if len(avals) == 1 else SEVERAL


class GraphOp:
    """What stands for an op in nodes that eager execution does not have."""

    name = ""
    view = None
    checks_values = False
    defaults: ClassVar[dict[str, Any]] = {}

    def plan_for(self, inputs: Any, params: dict[str, Any]) -> GraphPlan:
        """The plan for these inputs, values or tensors."""
        raise NotImplementedError

    def scalar_step(self, aval: Aval, in_avals: Any) -> Any:
        return None

    def evaluate(self, mode: int, inputs: Any, params: dict[str, Any]) -> tuple[Tensor, ...]:
        """The results on real tensors, in memory of their own."""
        plan = self.plan_for(inputs, params)
        made = tuple(make(empty_on(a.device)(a.extent, a.dtype.np), a) for a in plan.avals)
        plan.run(*[x.flat for x in made], *[None if x is None else x.flat for x in inputs])
        return made


class Draw(GraphOp):
    """Draws random numbers: ``fill(out, *inputs)``.

    Such nodes keep their order and are never dropped: each one moves the generator on.
    """

    name = "draw"

    def plan_for(self, inputs: Any, params: dict[str, Any]) -> GraphPlan:
        fill, made = params["fill"], params["described"]
        given = [v.aval for v in inputs if v is not None]
        if made.device.type == "cuda":
            return GraphPlan((made,), drawing(made, fill, given))

        def run(out: Any, *flats: Any) -> None:
            arrays = [as_array(x, a) for x, a in zip(flats, given, strict=True)]
            fill(as_array(out, made), *arrays)

        return GraphPlan((made,), run)

    def aval(self, *inputs: Aval, described: Aval, fill: Any) -> Aval:
        return described

    def __call__(self, *inputs: Tensor, described: Aval, fill: Any) -> Tensor:
        return draw(described, fill, *inputs)


DRAW = Draw()


class Make(GraphOp):
    """Fills memory with the array that ``function(*arguments)`` gives: numbers, filled tensors and
    sequences that hang on sizes."""

    name = "make"

    def plan_for(self, inputs: Any, params: dict[str, Any]) -> GraphPlan:
        made, function, arguments = params["described"], params["function"], params["arguments"]

        def run(out: Any) -> None:
            as_array(out, made)[...] = function(*arguments)

        return GraphPlan((made,), run)

    def aval(self, *, described: Aval, function: Any, arguments: Any) -> Aval:
        return described


MAKE = Make()


class Graph:
    """A traced function.

    Attributes:
        inputs: the values of the tensors it is called with.
        captured: (value, tensor) of the tensors it finds by itself; they are read at each run.
        nodes: in an order in which each input is made before it is used.
        outputs: the values it returns.
        writes: (tensor, value): captured tensors and what they hold after a run.
        gradients: (tensor, value): what ``grad`` of these leaves is after a run.
        laid_out: places of the outputs whose layout is known to others.
        refused: why the graph cannot be bound to memory, "" if it can.
        traced: the graph as text before the passes, where it is to be explained.
    """

    def __init__(self) -> None:
        self.inputs: list[Value] = []
        self.captured: list[tuple[Value, Tensor]] = []
        self.nodes: list[Node] = []
        self.outputs: list[Value] = []
        self.writes: list[tuple[Tensor, Value]] = []
        self.gradients: list[tuple[Tensor, Value]] = []
        self.laid_out: set[int] = set()
        self.refused = ""
        self.traced = ""
        self._count = 0

    def value(self, aval: Aval) -> Value:
        """A new value."""
        self._count += 1
        return Value(self._count - 1, aval)

    def results(self) -> list[Value]:
        """Everything that a run must compute."""
        return [
            *self.outputs, *[v for _, v in self.writes], *[v for _, v in self.gradients],
        ]  # fmt: skip

    def __str__(self) -> str:
        given = ", ".join(f"{v}: {v.aval!r}" for v in self.inputs)
        lines = [f"graph({given}):"]
        lines += [f"    {v}: {v.aval!r} = captured" for v, _ in self.captured]
        lines += [f"    {node!r}" for node in self.nodes]
        places = {id(t): v for v, t in self.captured}
        for tensor, value in self.writes:
            lines.append(f"    write {places.get(id(tensor), 'captured')} <- {value}")
        for tensor, value in self.gradients:
            lines.append(f"    grad {places.get(id(tensor), 'captured')} <- {value}")
        returned = ", ".join(repr(v) for v in self.outputs)
        return "\n".join([*lines, f"    return {returned}"])
