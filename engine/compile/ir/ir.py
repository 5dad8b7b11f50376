"""The intermediate representation: values with avals, nodes in order, each value made once."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, ClassVar

import numpy as np

from ...aval import Aval
from ...devices.cuda import drawing
from ...devices.device import empty_on
from ...dispatch import KERNEL, SEVERAL
from ...op import Plan
from ...op_nodes import Node as Node
from ...op_nodes import NodeValue
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


class GraphOp:
    """What stands for an op in nodes that eager execution does not have."""

    name = ""
    view = None
    checks_values = False
    defaults: ClassVar[dict[str, Any]] = {}

    def plan_for(self, inputs: Any, params: dict[str, Any]) -> Plan:
        """The plan for these inputs, values or tensors."""
        raise NotImplementedError

    def plan(self, inputs: Any, avals: tuple[Aval, ...], run: Callable[..., None]) -> Plan:
        """One that runs ``run(*flat outs, *flat ins)``."""
        plan = Plan(avals, tuple([None if v is None else v.aval for v in inputs]))
        plan.kind = KERNEL if len(avals) == 1 else SEVERAL
        plan.run = run
        return plan

    def scalar_step(self, aval: Aval, in_avals: Any) -> Any:
        return None

    def evaluate(self, mode: int, inputs: Any, params: dict[str, Any]) -> tuple[Tensor, ...]:
        """The results on real tensors, in memory of their own."""
        plan = self.plan_for(inputs, params)
        made = tuple(make(empty_on(a.device)(a.extent, a.dtype.np), a) for a in plan.avals)
        plan.run(*[x.flat for x in made], *[None if x is None else x.flat for x in inputs])
        return made


class FilledOp(GraphOp):
    """An op whose one result is memory, ``described`` in its params, that a function fills.

    Args:
        filling: ``filling(**other params)`` gives the function, ``fill(out, *arrays of inputs)``.
        draws: whether it draws random numbers, which devices do in their own way.
    """

    def __init__(
        self, name: str, filling: Callable[..., Callable[..., None]], draws: bool = False
    ) -> None:
        self.name = name
        self.filling = filling
        self.draws = draws

    def plan_for(self, inputs: Any, params: dict[str, Any]) -> Plan:
        made = params["described"]
        fill = self.filling(**{name: x for name, x in params.items() if name != "described"})
        given = [v.aval for v in inputs if v is not None]
        if self.draws and made.device.type == "cuda":
            return self.plan(inputs, (made,), drawing(made, fill, given))

        def run(out: Any, *flats: Any) -> None:
            arrays = [as_array(x, a) for x, a in zip(flats, given, strict=True)]
            fill(as_array(out, made), *arrays)

        return self.plan(inputs, (made,), run)

    def aval(self, *inputs: Aval, described: Aval, **params: Any) -> Aval:
        return described

    def __call__(self, *inputs: Tensor, described: Aval, **params: Any) -> Tensor:
        return draw(described, self.filling(**params), *inputs)


def _draws(fill: Callable[..., None]) -> Callable[..., None]:
    return fill


def _makes(function: Callable[..., Any], arguments: Any) -> Callable[..., None]:
    def fill(out: Any) -> None:
        out[...] = function(*arguments)

    return fill


# Random numbers: such nodes keep their order and are never dropped, since each moves the generator
# on.
DRAW = FilledOp("draw", _draws, draws=True)
# ``function(*arguments)``: numbers, filled tensors and sequences that hang on sizes.
MAKE = FilledOp("make", _makes)


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
