"""Kernel substitution: ops run by the kernels that they name for compiled functions.

Before: ``%2 = convolution(%0, %1)``. After: ``%2 = convolution by winograd(%0, %1)``. Sums are of
another order, so this is left out in lazy mode, which promises the bits of eager execution.
"""

from __future__ import annotations

import functools
from typing import Any

from ...devices.device import cpu
from ...op import Op, Plan, find_kernel, layouts
from ..ir.ir import Graph, GraphOp


class SubstitutedOp(GraphOp):
    """An op by another kernel than its own, which may leave single results to that.

    The kernel is a function that makes plans, ``make(outs, ins, **params)``, of layouts: None where
    the kernel does not suit, else a function of flat arrays that says whether it did its work.

    Args:
        before: an op of one input whose result is the op's, where the kernel computes that too. It
            has to suit then, and to do all work.
    """

    def __init__(self, op: Op, kernel: str, before: Op | None = None) -> None:
        self.op = op
        self.kernel = kernel
        self.before = before
        self.name = f"{op.name} by {kernel.partition('.')[0]}"
        if before is not None:
            self.name = f"{before.name}+{op.name}"
        self.defaults = op.defaults  # type: ignore[misc]
        self.aval = op.aval

    def suits(self, own: Plan, params: dict[str, Any]) -> Any:
        """What runs in place of the op's own plan; None where the kernel does not suit."""
        make = find_kernel(self, cpu.type)  # type: ignore[arg-type]
        return make(layouts(own.avals), layouts(own.in_avals), **params)

    def plan_for(self, inputs: Any, params: dict[str, Any]) -> Plan:
        own = self.op.plan_for(inputs, params)
        quick = self.suits(own, params)
        if quick is None:
            return own
        if self.before is not None:
            return self.plan(inputs, own.avals, quick)

        def run(*flats: Any) -> None:
            if not quick(*flats):
                own.run(*flats)

        return self.plan(inputs, own.avals, run)

    def __call__(self, *inputs: Any, **params: Any) -> Any:
        if self.before is not None:
            inputs = (self.before(*inputs),)
        return self.op(*inputs, **params)


@functools.cache
def _substituted(op: Op, kernel: str) -> SubstitutedOp:
    return SubstitutedOp(op, kernel)


def substitute_kernels(graph: Graph) -> int:
    """Let nodes of the CPU run the first kernel that suits of those that their ops name for it; how
    many do."""
    count = 0
    for node in graph.nodes:
        kernels = getattr(node.op, "compiled", ())
        if not kernels or any(v.aval.device is not cpu for v in node.outputs):
            continue
        for kernel in kernels:
            other = _substituted(node.op, kernel)
            if other.suits(node.plan(), node.params) is not None:
                node.op = other
                count += 1
                break
    return count
