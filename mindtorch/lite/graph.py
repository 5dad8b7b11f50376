"""The graph of a Lite model: tensors, nodes of the engine's ops, and open lengths."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

import numpy as np

__all__ = ["LiteGraph", "LiteNode", "LiteTensor", "Quantization", "Size", "Then"]


@dataclass(frozen=True)
class Size:
    """A number that hangs on open lengths: a place in :attr:`LiteGraph.sizes`."""

    place: int


@dataclass
class Quantization:
    """How whole numbers stand for a tensor's elements, ``scale * (number - zero_point)``.

    Attributes:
        bits: of each number.
        scales, zero_points: of each place along ``axis``, one of all where that is None.
    """

    bits: int
    scales: np.ndarray
    zero_points: np.ndarray
    axis: int | None = None


@dataclass
class LiteTensor:
    """A value of the graph.

    Attributes:
        shape: lengths, each a number or a :class:`Size`; of inputs and constants.
        data: a constant's elements, the whole numbers where ``quantization`` is set.
        weak: made of a Python number, so that it does not promote.
    """

    name: str
    dtype: str
    shape: tuple[Any, ...]
    data: np.ndarray | None = None
    quantization: Quantization | None = None
    weak: bool = False


@dataclass
class Then:
    """An elementwise op that is computed in the place of a node's result.

    Attributes:
        inputs: tensors, the first of them the result itself (-1).
    """

    op: str
    inputs: tuple[int, ...]
    params: dict[str, Any]


@dataclass
class LiteNode:
    """``outputs = op(*inputs, **params)``, then what ``then`` says; inputs of None are absent."""

    op: str
    inputs: tuple[int | None, ...]
    outputs: tuple[int, ...]
    params: dict[str, Any] = field(default_factory=dict)
    then: tuple[Then, ...] = ()
    name: str = ""

    def reads(self) -> Iterable[int]:
        """The tensors that it needs."""
        yield from (i for i in self.inputs if i is not None)
        yield from (i for step in self.then for i in step.inputs if i >= 0)


@dataclass
class LiteGraph:
    """A model.

    Attributes:
        nodes: in an order in which they can run.
        inputs, outputs: tensors.
        sizes: how numbers follow from open lengths, as expressions of ``v0``, ``v1``, ...; the
            first ones are the lengths.
        lengths: of the open axes, as the model was converted with.
        information: what else is known: who wrote the file, from what.
    """

    tensors: list[LiteTensor] = field(default_factory=list)
    nodes: list[LiteNode] = field(default_factory=list)
    inputs: list[int] = field(default_factory=list)
    outputs: list[int] = field(default_factory=list)
    sizes: list[str] = field(default_factory=list)
    lengths: list[int] = field(default_factory=list)
    information: dict[str, Any] = field(default_factory=dict)

    def add(self, tensor: LiteTensor) -> int:
        """A new tensor's place."""
        self.tensors.append(tensor)
        return len(self.tensors) - 1

    def constant(self, name: str, array: np.ndarray) -> int:
        """A new constant's place."""
        array = np.ascontiguousarray(array).reshape(array.shape)
        return self.add(LiteTensor(name, array.dtype.name, array.shape, array))

    def uses(self) -> dict[int, int]:
        """How often each tensor is read by nodes, or is an output."""
        found: dict[int, int] = {}
        for place in [*self.outputs, *[i for node in self.nodes for i in node.reads()]]:
            found[place] = found.get(place, 0) + 1
        return found
