"""Exchange: ops run by the kernels that they name for compiled functions.

Before: ``%2 = convolution(%0, %1)``. After: ``%2 = convolution by winograd(%0, %1)``. Sums are of
another order, so this is left out where a replay promises the bits of eager execution.
"""

from __future__ import annotations

import functools
from typing import Any

from ..core import Op, array_form, find_kernel, taken
from ..device import cpu
from .ir import Graph, GraphOp, GraphPlan


class Exchanged(GraphOp):
    """An op by another kernel than its own."""

    def __init__(self, op: Op, kernel: str) -> None:
        self.op = op
        self.kernel = kernel
        self.name = f"{op.name} by {kernel.partition('.')[0]}"
        self.defaults = op.defaults  # type: ignore[misc]
        self.aval = op.aval

    def plan_for(self, inputs: Any, params: dict[str, Any]) -> Any:
        own = self.op.plan_for(inputs, params)
        if not all(a.contiguous and a.size for a in own.avals):
            return own
        function = find_kernel(self, cpu.type)  # type: ignore[arg-type]
        given = taken(function, params)
        return GraphPlan(own.avals, array_form(function, own.avals, own.in_avals, given))

    def __call__(self, *inputs: Any, **params: Any) -> Any:
        return self.op(*inputs, **params)


@functools.cache
def _exchanged(op: Op, kernel: str) -> Exchanged:
    return Exchanged(op, kernel)


def exchange(graph: Graph) -> int:
    """Let nodes of the CPU run the kernels that their ops name for it; how many do."""
    count = 0
    for node in graph.nodes:
        kernel = getattr(node.op, "compiled", None)
        if kernel is not None and all(v.aval.device is cpu for v in node.outputs):
            node.op = _exchanged(node.op, kernel)
            count += 1
    return count
