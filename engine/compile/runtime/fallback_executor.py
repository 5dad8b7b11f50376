"""A graph that cannot be bound to memory, run one node after another on eager memory."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from mindtorch.kernels.support.fork_safe_lock import reentrant_lock

from ...tensor import make
from ..ir.ir import Graph, Value, last_uses, run_nodes


class FallbackExecutor:
    """What :class:`.executable.Executable` is, with memory that each op makes.

    Args:
        graph: what to compute.
        inputs: values whose memory is given at each run.
        outputs: values whose memory is new at each run.
        constants: values that never change, with their arrays.
        reason: why the graph is not bound to memory.
    """

    def __init__(
        self, graph: Graph, inputs: Sequence[Value], outputs: Sequence[Value],
        constants: Sequence[tuple[Value, Any]], reason: str,
    ) -> None:  # fmt: skip
        self.lock = reentrant_lock()
        self.inputs = list(inputs)
        self.outputs = list(outputs)
        self.constants = list(constants)
        self.nodes = graph.nodes
        self.names = [node.op.name for node in graph.nodes]
        self.arena_bytes = 0
        self.seconds: list[float] = []
        self.reason = reason
        self.dying = last_uses(graph.nodes, {v.number for v in outputs})
        self.owned = {v.number for n in graph.nodes if n.op.view is None for v in n.outputs}

    def run(self, flats: Sequence[Any], reuses: Any = (), arguments: Any = ()) -> list[Any]:
        """The outputs' arrays, new at each run, for these inputs' arrays."""
        held = {v.number: make(flat, v.aval) for v, flat in zip(self.inputs, flats, strict=True)}
        held.update((v.number, make(flat, v.aval)) for v, flat in self.constants)
        run_nodes(
            self.nodes, held, lambda node, given: node.op.evaluate(0, tuple(given), node.params),
            self.dying,
        )  # fmt: skip
        return [self._own(held.pop(v.number).flat, v) for v in self.outputs]

    def _own(self, flat: Any, value: Value) -> Any:
        """The array of a result, copied unless nothing else can hold it."""
        if value.number in self.owned and getattr(flat, "base", self) is None:
            return flat
        return flat[: value.aval.extent].copy()
