"""What a compiled call does, in words: partitions, guards, kernels, and why it was traced again."""

from __future__ import annotations

import dataclasses
import time
from collections import Counter
from collections.abc import Callable
from typing import Any

from .decision import Decision
from .ir.ir import Graph, Node
from .jit import Jitted, jit
from .passes.fusion_report import fusion_report
from .runtime.executable import timing
from .runtime.partition import HostCall, Partition


@dataclasses.dataclass
class Explanation:
    """The compiled form of one call.

    Attributes:
        graphs: those of the partitions, in order, and that of the backward pass, after all passes.
        traced: these graphs as text as they were traced, before all passes; empty for one that
            was compiled before it was to be explained.
        fusion_report: for each graph, which kernels feed one another and are not one loop, and why.
        ops: names of the kernels of each graph.
        moved: bytes that each of these kernels reads and writes.
        seconds: how long each of them took in this call; empty for a graph that was not run in it
            (the backward pass of what was returned) or not kernel by kernel.
        arena: bytes of each graph's memory for what is not returned.
        host_calls: calls between partitions, such as optimizer steps.
        guards: what is checked before each run.
        reasons: why the function runs op by op, or was traced again.
        traces: how often it was traced.
        decision: how the call was run, and why.
    """

    graphs: list[Graph]
    traced: list[str]
    fusion_report: list[list[str]]
    ops: list[list[str]]
    moved: list[list[int]]
    seconds: list[list[float]]
    arena: list[int]
    host_calls: int
    guards: list[str]
    reasons: list[str]
    traces: int
    trace_seconds: float
    decision: Decision | None = None

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

    @property
    def summary(self) -> str:
        """What there is to know first: counts, how the call was run, why it was not captured as a
        whole, the kernels that took longest, the commonest reasons of what is no loop."""
        lines = [
            f"graphs: {self.graph_count}, kernels: {self.op_count}, host calls between them: "
            f"{self.host_calls}, traced {_times(self.traces)} in {self.trace_seconds:.2f} s"
        ]
        if self.decision is not None:
            lines.append(f"how this call was run: {self.decision}")
        lines += [f"in lazy mode, or captured again: {reason}" for reason in self.reasons]
        seconds: dict[str, float] = {}
        for names, taken in zip(self.ops, self.seconds, strict=True):
            for name, each in zip(names, taken, strict=False):
                seconds[name] = seconds.get(name, 0.0) + each
        whole = sum(seconds.values())
        if whole:
            moved = sum(map(sum, self.moved))
            longest = sorted(seconds.items(), key=lambda row: -row[1])[:_MOST]
            most = ", ".join(f"{name} {taken / whole:.0%}" for name, taken in longest)
            lines.append(f"kernels took {whole * 1e6:.0f} us, {moved} bytes: {most}")
        why = Counter(_reason_of(line) for report in self.fusion_report for line in report)
        lines += [
            f"{_times(count)} two kernels are not one loop, since a value {reason}"
            for reason, count in why.most_common(_MOST)
        ]
        if self.guards:
            kinds = Counter(self.guards)
            shown = [x if n == 1 else f"{x} ({_times(n)})" for x, n in kinds.items()]
            lines.append("guards: " + ", ".join(shown))
        return "\n".join(lines)

    def __str__(self) -> str:
        lines = [self.summary]
        for i, (graph, size) in enumerate(zip(self.graphs, self.arena, strict=True)):
            if self.traced[i]:
                lines += ["as traced:", self.traced[i], "after all passes:"]
            lines += [f"memory between kernels: {size} bytes", str(graph), *self._kernels(i)]
            if self.fusion_report[i]:
                lines += ["    kernels that are not one loop, and why"]
                lines += [f"    {reason}" for reason in self.fusion_report[i]]
        return "\n".join(lines)

    def _kernels(self, i: int) -> list[str]:
        """A line for each kernel of a graph: bytes, microseconds, and gigabytes in a second."""
        lines = [f"    {'kernel':<40} {'bytes':>12} {'us':>10} {'GB/s':>8}"]
        taken: list[Any] = [*self.seconds[i]] or [None] * len(self.ops[i])
        for name, size, seconds in zip(self.ops[i], self.moved[i], taken, strict=True):
            time_and_rate = f"{'':>10} {'':>8}" if seconds is None else (
                f"{seconds * 1e6:>10.1f} {size / max(seconds, 1e-9) / 1e9:>8.2f}"
            )
            lines.append(f"    {name:<40} {size:>12} {time_and_rate}".rstrip())
        return lines


_MOST = 3  # kernels and reasons in a summary


def _times(count: int) -> str:
    return "once" if count == 1 else f"{count} times"


def _reason_of(line: str) -> str:
    """Of a line of a fusion report what follows the names of its two kernels and of the value."""
    return line.partition(": ")[2].partition(" ")[2]


def _bytes(node: Node) -> int:
    values = [v for v in (*node.inputs, *node.outputs) if v is not None]
    return sum(v.aval.extent * v.aval.dtype.itemsize for v in values)


def explain(function: Callable[..., Any]) -> Callable[..., Explanation]:
    """``explain(function)(*args)`` calls the function, compiled, and says what was made of it."""
    jitted = function if isinstance(function, Jitted) else jit(function)

    def call(*args: Any, **kwargs: Any) -> Explanation:
        began = time.perf_counter()
        timing.on = True
        try:
            jitted(*args, **kwargs)
        finally:
            timing.on = False
        return explanation(jitted, time.perf_counter() - began)

    return call


def explanation(jitted: Jitted, seconds: float) -> Explanation:
    """What is known of a function that was called."""
    captures = [c for found in jitted.compiled.values() for c in found]
    partitions: list[Partition] = []
    hosts = 0
    guards: list[str] = []
    for compiled in captures:
        partitions += [s for s in compiled.steps if isinstance(s, Partition)]
        hosts += sum(isinstance(s, HostCall) for s in compiled.steps)
        if compiled.backward is not None and compiled.backward.whole is not None:
            partitions.append(compiled.backward.whole.partition)
        guards += [g.name for g in compiled.guards.guards.values()]
        guards += [type(m).__name__ for m, _ in compiled.guards.modules.values()]
    partitions += jitted.trace_tree.partitions()
    reasons = [jitted.eager] if jitted.eager else []
    return Explanation(
        [s.graph for s in partitions], [s.graph.traced for s in partitions],
        [fusion_report(s.graph) for s in partitions], [s.executable.names for s in partitions],
        [[_bytes(n) for n in s.executable.nodes] for s in partitions],
        [s.executable.seconds for s in partitions],
        [s.executable.arena_bytes for s in partitions], hosts, guards,
        reasons + jitted.misses + jitted.dynamic_shapes.notes(),
        jitted.traces, seconds, jitted.decision,
    )  # fmt: skip
