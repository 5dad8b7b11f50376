"""Graphs of programs: made of traced ones, and run again op by op, with gradients.

A program's graph is a :class:`~mindtorch.lite.graph.LiteGraph` whose nodes are ops of the engine,
and three more kinds that are known by name: ``detach``, ``make`` (a tensor that follows from
lengths) and ``view_update``, whose views are names here.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from mindtorch.engine import dtypes, even_steps
from mindtorch.engine.aval import aval
from mindtorch.engine.compile.ir.ir import DRAW, MAKE
from mindtorch.engine.ops import movement
from mindtorch.engine.symbolic_sizes import made_anew
from mindtorch.engine.tensor import Tensor, make
from mindtorch.lite.execution import engine_op
from mindtorch.lite.graph import LiteGraph, LiteNode, Size
from mindtorch.lite.importing import GraphWriter
from mindtorch.lite.sizes import evaluated

from .errors import ExportError
from .inference_graph import InferenceGraph

__all__ = ["Replay", "ReplayError", "program_graph"]

_MAKING: dict[str, Callable[..., Any]] = {
    "array": np.array, "eye": np.eye, "whole_numbers": even_steps.whole_numbers,
}  # fmt: skip
_LARGEST = 1 << 40  # elements of a tensor that is made


class ReplayError(RuntimeError):
    """A graph that cannot be run: it was not written by this library, or changed since."""


class _ProgramWriter(GraphWriter):
    """Makes a program's graph of a traced one."""

    def write_node(self, node: Any, name: str) -> None:
        if node.op is DRAW:
            raise ExportError(
                f"random numbers are drawn at {node.line or 'a layer that drops elements'}: "
                "call model.eval() first"
            )
        if node.op is MAKE:
            self._make(node, name)
            return
        if node.op is movement.view_update:
            chain = node.params["chain"]
            node.params = {"chain": tuple((op.name, tuple(place)) for op, place in chain)}
        if node.op in (movement.as_strided, movement.view_update):
            node.params = {**node.params, "base_strides": node.inputs[0].aval.strides}
        try:
            super().write_node(node, name)
        except RuntimeError as error:
            raise ExportError(str(error)) from error

    def _make(self, node: Any, name: str) -> None:
        described, function = node.params["described"], node.params["function"]
        known = [word for word, each in _MAKING.items() if each is function]
        if not known:
            raise ExportError(f"a tensor is made for open lengths at {node.line}")
        params = {
            "function": known[0], "shape": self.plain(described.shape), "dtype": described.dtype,
            "weak": described.weak, "arguments": self.plain(tuple(node.params["arguments"])),
        }  # fmt: skip
        outputs = (self.value(node.outputs[0], f"{name}:0"),)
        self.made.nodes.append(LiteNode("make", (), outputs, params, name=name))


def program_graph(
    graph: InferenceGraph, names: Sequence[str]
) -> tuple[LiteGraph, Callable[[int], int]]:
    """The graph of a program, and what gives a number of the trace its place in the graph's.

    Args:
        names: of the inputs.

    Raises:
        ExportError: it holds what has no place in a program.
    """
    writer = _ProgramWriter(graph, names)
    made = writer.write()
    return made, writer.size


def _made(params: dict[str, Any]) -> Tensor:
    shape, dtype = tuple(params["shape"]), params["dtype"]
    described = aval(shape, dtype, None, weak=bool(params["weak"]))
    function, arguments = _MAKING[params["function"]], params["arguments"]
    traced = made_anew(described, function, *arguments)
    if traced is not None:
        found: Tensor = traced
        return found
    if math.prod(shape) > _LARGEST:
        raise ReplayError(f"a tensor of the shape {shape} cannot be made")
    whole = np.array(np.broadcast_to(function(*arguments), shape), dtype.np, order="C")
    return make(whole.reshape(-1), described)


def _laid_out(x: Tensor, strides: Any) -> Tensor:
    """``x``, whose elements lie as the graph's numbers for views of it are meant."""
    for held in (x, x.contiguous()):
        pairs = zip(held.aval.shape, held.aval.strides, strides, strict=True)
        if all(a == b or n == 1 for n, a, b in pairs):
            return held
    raise ReplayError(f"a view is of memory with strides {tuple(strides)}, not {x.aval.strides}")


def _updated(base: Tensor, value: Tensor, chain: Any, base_strides: Any) -> Tensor:
    """``base`` with ``value`` in a view of it, which must lie in it."""
    ((name, place),) = chain
    at = dict(place)
    if name != "as_strided" or set(at) != {"shape", "strides", "offset"}:
        raise ReplayError(f"a write through {name!r} is not known")
    made = _laid_out(base.clone(), base_strides)
    _check_place(at["shape"], at["strides"], at["offset"], made.aval.extent)
    made.as_strided(at["shape"], at["strides"], at["offset"]).copy_(value)
    return made


def _check_place(shape: Any, strides: Any, offset: int, room: int) -> None:
    if len(shape) != len(strides) or offset < 0 or any(n < 0 for n in (*shape, *strides)):
        raise ReplayError("a view sees memory outside of its tensor")
    last = sum((n - 1) * s for n, s in zip(shape, strides, strict=True))
    if 0 not in shape and offset + last >= room:
        raise ReplayError("a view sees memory outside of its tensor")


def _strided(x: Tensor, base_strides: Any, **place: Any) -> Tensor:
    return _viewed(movement.as_strided)(_laid_out(x, base_strides), **place)


def _viewed(op: Any) -> Callable[..., Tensor]:
    def run(source: Tensor, **params: Any) -> Tensor:
        described = op.aval(source.aval, **params)
        offset = op.view(source.aval, **params)
        _check_place(described.shape, described.strides, offset, source.aval.extent)
        made: Tensor = op(source, **params)
        return made

    return run


_OWN: dict[str, Callable[..., Any]] = {
    "detach": lambda x: x.detach(), "make": lambda **params: _made(params),
    "view_update": _updated, "as_strided": _strided,
}  # fmt: skip


class Replay:
    """A program's graph, run op by op.

    Args:
        graph: of a program.

    Raises:
        ReplayError: an op is not known.
    """

    def __init__(self, graph: LiteGraph) -> None:
        self.graph = graph
        self._constants = {
            i: make(np.array(t.data).reshape(-1), aval(t.shape, dtypes.by_name(t.dtype), None,
                                                       weak=t.weak))
            for i, t in enumerate(graph.tensors) if t.data is not None
        }  # fmt: skip
        self._steps = [(_function(node), node) for node in graph.nodes]
        self._last = self._last_uses()

    def _last_uses(self) -> list[list[int]]:
        """For each node the tensors that nothing needs after it."""
        kept = {*self.graph.outputs, *self._constants}
        found: list[list[int]] = []
        for node in reversed(self.graph.nodes):
            ending = {*node.reads(), *node.outputs} - kept
            kept |= ending
            found.append(sorted(ending))
        return found[::-1]

    def numbers(self, lengths: Sequence[int]) -> list[Any]:
        """What follows from the open lengths."""
        return evaluated(self.graph.sizes, lengths)

    def __call__(self, inputs: Sequence[Tensor], numbers: Sequence[Any]) -> list[Tensor]:
        """The outputs for these inputs.

        Args:
            inputs: tensors of the shapes that the graph says.
            numbers: of :meth:`numbers`.

        Raises:
            ReplayError: a view leaves its tensor, or an op gives another number of results.
        """
        held: dict[int, Any] = dict(self._constants)
        for place, x in zip(self.graph.inputs, inputs, strict=True):
            held[place] = x.contiguous()
        for (function, node), ending in zip(self._steps, self._last, strict=True):
            params = {name: _plain(value, numbers) for name, value in node.params.items()}
            made = function(*[None if i is None else held[i] for i in node.inputs], **params)
            results = made if isinstance(made, tuple) else (made,)
            if len(results) != len(node.outputs):
                raise ReplayError(f"the node {node.name!r} has {len(results)} results")
            held.update(zip(node.outputs, results, strict=True))
            for place in ending:
                held.pop(place, None)
        return [held[place] for place in self.graph.outputs]


def _function(node: LiteNode) -> Callable[..., Any]:
    own = _OWN.get(node.op)
    if own is not None:
        return own
    op = engine_op(node.op)
    function: Callable[..., Any] = op if op.view is None else _viewed(op)
    return function


def _plain(value: Any, numbers: Sequence[Any]) -> Any:
    """A parameter for these numbers."""
    if isinstance(value, Size):
        return numbers[value.place]
    if isinstance(value, tuple):
        return tuple(_plain(each, numbers) for each in value)
    return value
