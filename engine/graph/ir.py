"""The intermediate representation: values with avals, nodes in order, each value made once."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np

from ..aval import Aval
from ..core import KERNEL
from ..tensor import Tensor, as_array, capturing


class Value:
    """A tensor of the graph: a number and an aval. It stands where a tensor's data would."""

    __slots__ = ("aval", "number")

    def __init__(self, number: int, aval: Aval) -> None:
        self.number = number
        self.aval = aval

    def __repr__(self) -> str:
        return f"%{self.number}"

    def __getattr__(self, name: str) -> Any:
        if name[:2] == "__":
            raise AttributeError(name)
        return getattr(self._data(name), name)

    def __getitem__(self, place: Any) -> Any:
        return self._data("elements")[place]

    def __array__(self, dtype: Any = None, copy: Any = None) -> Any:
        return np.array(self._data("an array"), dtype)

    def _data(self, name: str) -> Any:
        from .trace import refuse_data

        reveal = getattr(capturing(), "reveal", None)
        return refuse_data(name) if reveal is None else reveal(self)


class Draw:
    """Stands for an op in nodes that draw random numbers: ``fill(out, *inputs)``.

    Such nodes keep their order and are never dropped: each one moves the generator on.
    """

    name = "draw"
    view = None
    defaults: ClassVar[dict[str, Any]] = {}

    def aval(self, *inputs: Aval, described: Aval, fill: Any) -> Aval:
        return described

    def __call__(self, *inputs: Tensor, described: Aval, fill: Any) -> Tensor:
        from ..vmap import draw

        return draw(described, fill, *inputs)


DRAW = Draw()


class Node:
    """One application of an op: ``outputs = op(*inputs, **params)``."""

    __slots__ = ("inputs", "op", "outputs", "params")

    def __init__(
        self, op: Any, inputs: tuple[Value | None, ...], params: dict[str, Any],
        outputs: tuple[Value, ...],
    ) -> None:  # fmt: skip
        self.op = op
        self.inputs = inputs
        self.params = params
        self.outputs = outputs

    def plan(self) -> Any:
        """How the op runs on these inputs: what eager execution uses."""
        if self.op is DRAW:
            return DrawPlan(self)
        return self.op.plan_for(self.inputs, self.params)

    def __repr__(self) -> str:
        made = ", ".join(f"{v}: {v.aval!r}" for v in self.outputs)
        given = [("none" if v is None else repr(v)) for v in self.inputs]
        given += [f"{name}={_text(value)}" for name, value in sorted(self.params.items())]
        return f"{made} = {self.op.name}({', '.join(given)})"


class DrawPlan:
    """The plan of a node that draws."""

    kind = KERNEL

    def __init__(self, node: Node) -> None:
        fill = node.params["fill"]
        made = node.outputs[0].aval
        given = [v.aval for v in node.inputs if v is not None]

        def run(out: Any, *inputs: Any) -> None:
            arrays = [as_array(x, a) for x, a in zip(inputs, given, strict=True)]
            fill(as_array(out, made), *arrays)

        self.run = run


def _text(value: Any) -> str:
    if isinstance(value, tuple):
        inner = ", ".join(_text(v) for v in value)
        return f"({inner},)" if len(value) == 1 else f"({inner})"
    return repr(value)


class Graph:
    """A traced function.

    Attributes:
        inputs: the values of the tensors it is called with.
        captured: (value, tensor) of the tensors it finds by itself; they are read at each run.
        nodes: in an order in which each input is made before it is used.
        outputs: the values it returns.
        writes: (tensor, value): captured tensors and what they hold after a run.
        gradients: (tensor, value): what ``grad`` of these leaves is after a run.
    """

    def __init__(self) -> None:
        self.inputs: list[Value] = []
        self.captured: list[tuple[Value, Tensor]] = []
        self.nodes: list[Node] = []
        self.outputs: list[Value] = []
        self.writes: list[tuple[Tensor, Value]] = []
        self.gradients: list[tuple[Tensor, Value]] = []
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
