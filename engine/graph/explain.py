"""What a compiled call does, in words: segments, guards, kernels, and why it was traced again."""

from __future__ import annotations

import dataclasses
import time
from collections.abc import Callable
from typing import Any

from .capture import HostCall, Segment
from .ir import Graph, Node
from .jit import Jitted, jit


@dataclasses.dataclass
class Explanation:
    """The compiled form of one call.

    Attributes:
        graphs: those of the segments, in order, and that of the backward pass.
        ops: names of the kernels of each graph.
        arena: bytes of each graph's memory for what is not returned.
        host_calls: calls between segments, such as optimizer steps.
        guards: what is checked before each run.
        reasons: why the function runs op by op, or was traced again.
        traces: how often it was traced.
    """

    graphs: list[Graph]
    ops: list[list[str]]
    arena: list[int]
    host_calls: int
    guards: list[str]
    reasons: list[str]
    traces: int
    trace_seconds: float

    @property
    def graph_count(self) -> int:
        return len(self.graphs)

    @property
    def graph_break_count(self) -> int:
        return len(self.reasons)

    @property
    def break_reasons(self) -> list[str]:
        return self.reasons

    @property
    def op_count(self) -> int:
        return sum(map(len, self.ops))

    def __str__(self) -> str:
        lines = [
            f"graphs: {self.graph_count}, kernels: {self.op_count}, host calls between them: "
            f"{self.host_calls}, traced {self.traces} times in {self.trace_seconds:.2f} s"
        ]
        lines += [f"is replayed or was traced again: {reason}" for reason in self.reasons]
        if self.guards:
            lines.append("guards: " + ", ".join(self.guards))
        for graph, size in zip(self.graphs, self.arena, strict=True):
            moved = ", ".join(f"{n.op.name} {_bytes(n)}" for n in graph.nodes)
            lines += [f"memory between kernels: {size} bytes", str(graph)]
            lines += [f"bytes that each kernel reads and writes: {moved}"]
        return "\n".join(lines)


def _bytes(node: Node) -> int:
    values = [v for v in (*node.inputs, *node.outputs) if v is not None]
    return sum(v.aval.extent * v.aval.dtype.itemsize for v in values)


def explain(function: Callable[..., Any]) -> Callable[..., Explanation]:
    """``explain(function)(*args)`` calls the function, compiled, and says what was made of it."""
    jitted = function if isinstance(function, Jitted) else jit(function)

    def call(*args: Any, **kwargs: Any) -> Explanation:
        began = time.perf_counter()
        jitted(*args, **kwargs)
        return explanation(jitted, time.perf_counter() - began)

    return call


def explanation(jitted: Jitted, seconds: float) -> Explanation:
    """What is known of a function that was called."""
    captures = [c for found in jitted.compiled.values() for c in found]
    segments: list[Segment] = []
    hosts = 0
    guards: list[str] = []
    for compiled in captures:
        segments += [s for s in compiled.steps if isinstance(s, Segment)]
        hosts += sum(isinstance(s, HostCall) for s in compiled.steps)
        if compiled.backward is not None and compiled.backward.segment is not None:
            segments.append(compiled.backward.segment)
        guards += [g.name for g in compiled.watch.guards.values()]
        guards += [type(m).__name__ for m, _ in compiled.watch.modules.values()]
    segments += jitted.tree.segments()
    reasons = [jitted.eager] if jitted.eager else []
    return Explanation(
        [s.graph for s in segments], [s.program.names for s in segments],
        [s.program.arena_bytes for s in segments], hosts, guards, reasons + jitted.misses,
        jitted.traces, seconds,
    )  # fmt: skip
