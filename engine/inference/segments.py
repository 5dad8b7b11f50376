"""Runs of nodes that steps compute become one node each."""

from __future__ import annotations

import functools
from collections.abc import Sequence
from typing import Any

import numpy as np

from mindtorch.kernels.cpu.inference import inference_maps, inference_steps
from mindtorch.kernels.cpu.threads.thread_pool import get_num_threads, parallel_for

from .. import dtypes
from ..aval import Aval, aval
from ..compile.ir.ir import Graph, GraphOp, Node, Value
from ..op import Plan
from .layers import is_border, is_product, suits
from .lowering import Lowering
from .step_list import EXTERNAL, LINE, Step, StepList

__all__ = ["join_nodes"]

_WORK = 400_000  # multiplications of steps that threads share


class _Run:
    """Runs steps: ``planned(*outputs, *inputs, arena)``.

    Attributes:
        scratch: the arena's description, for who plans memory.
    """

    def __init__(self, steps: StepList, inputs: int, made: Sequence[Aval], parts: int) -> None:
        self.table, self.floats, size = steps.finish()
        self._kept, self._outputs = steps.kept, len(made)
        self._sizes = [each.size for each in made]
        self.scratch = [aval((size + LINE,), dtypes.uint8)]
        self._bases = np.zeros(EXTERNAL + inputs + len(made), np.int64)
        self._run, self._point = inference_steps.runner(), inference_steps.pointing()
        self._groups = list(_groups(steps.steps, parts))
        self._parts = parts
        self._arena: Any = None

    @property
    def is_one_call(self) -> bool:
        """Whether one thread runs all steps in one call."""
        return [group[2:] for group in self._groups] == [(None, False)]

    def _attach(self, arena: Any) -> None:
        """Let the steps have this arena from now on."""
        if arena is not self._arena:
            start = arena.__array_interface__["data"][0]
            self._bases[0], self._arena = -(-start // LINE) * LINE, arena

    def caller(self, arena: Any, lock: Any) -> Any:
        """``call(inputs)``, which is all that a graph does whose only node these steps are: the
        outputs' new arrays. It is one call of compiled code, in this thread."""
        point, bases, run, last = self._point, self._bases, self._run, len(self.table)
        table, floats, sizes, first = self.table, self.floats, self._sizes, EXTERNAL
        empty, kind = np.empty, np.dtype(np.float32)

        def call(inputs: Sequence[Any]) -> list[Any]:
            made = []
            with lock:
                if self._arena is not arena:
                    self._attach(arena)
                at = first
                for flat in inputs:
                    point(bases, at, flat)
                    at += 1
                for size in sizes:
                    flat = empty(size, kind)
                    point(bases, at, flat)
                    made.append(flat)
                    at += 1
                run(table, floats, bases, 0, last, 0, 1)
            return made

        return call

    def __call__(self, *flats: Any) -> None:
        self.planned(*flats, np.empty(self.scratch[0].size, np.uint8))

    def planned(self, *flats: Any) -> None:
        self._attach(flats[-1])
        bases, outputs = self._bases, self._outputs
        at = EXTERNAL
        for flat in (*flats[outputs:-1], *flats[:outputs]):
            self._point(bases, at, flat)
            at += 1
        parts = min(get_num_threads(), self._parts)
        if parts <= 1 and len(self._groups) == 1:
            self._run(self.table, self.floats, bases, 0, len(self.table), 0, 1)
            return
        for start, stop, apply, shared in self._groups:
            if parts > 1 and shared:
                parallel_for(parts, functools.partial(self._share, parts, start, stop, apply))
            else:
                self._part(start, stop, apply, 0, 1)

    def _part(self, start: int, stop: int, apply: Any, number: int, parts: int) -> None:
        if apply is None:
            self._run(self.table, self.floats, self._bases, start, stop, number, parts)
        else:
            apply(self.table[start], self.floats[start], self._bases, number, parts)

    def _share(
        self, parts: int, start: int, stop: int, apply: Any, first: int, last: int
    ) -> None:
        for number in range(first, last):
            self._part(start, stop, apply, number, parts)


def _groups(steps: Sequence[Step], threads: int) -> Any:
    """(first step, step behind, a kernel of its own, whether threads share it): others go
    together."""
    start = 0
    for number, step in enumerate(steps):
        shared = threads > 1 and step.work >= _WORK
        if not (shared or step.function):
            continue
        if start < number:
            yield start, number, None, False
        apply = inference_maps.mapping(step.function) if step.function else None
        yield number, number + 1, apply, shared
        start = number + 1
    if start < len(steps):
        yield start, len(steps), None, False


class _Segment(GraphOp):
    """Nodes that steps compute.

    Args:
        lower: makes the steps.
        made: the results' descriptions.
    """

    def __init__(self, name: str, lowering: Lowering, made: tuple[Aval, ...]) -> None:
        self.name, self.made = name, made
        steps = lowering.lower()
        self.run = _Run(steps, len(lowering.inputs), made, lowering.parts)

    def aval(self, *inputs: Any, **params: Any) -> Any:
        return self.made if len(self.made) > 1 else self.made[0]

    def plan_for(self, inputs: Any, params: dict[str, Any]) -> Plan:
        return self.plan(inputs, self.made, self.run)


def join_nodes(
    given: Sequence[Any], ir: Graph, values: dict[int, Value], arrays: dict[int, np.ndarray],
    uses: dict[int, int], packed: dict[Any, Any],
) -> int:  # fmt: skip
    """Replace runs of nodes by segments; how many there are.

    Args:
        given: the nodes of ``ir`` by the names of their ops, with the elementwise ops that
            follow them: ``op``, ``inputs``, ``outputs``, ``params`` and ``then``.
        values: of the places that these name, in ``ir``.
        arrays: constants by their places.
        uses: how often each place is read, or is an output.
        packed: weights that were packed before, which is filled.
    """
    avals = {place: value.aval for place, value in values.items()}
    last_reader = {i: n for n, node in enumerate(given) for i in node.reads()}
    wanted = {v.number for v in ir.outputs}
    nodes: list[Node] = []
    count = 0
    good = [suits(node, avals, arrays, uses) for node in given]
    for number, node in enumerate(given):
        if good[number] and node.op == "view":
            # channels of a flattened image lie last here: only products know how to read that
            readers = [other for other in given if node.outputs[0] in other.inputs]
            good[number] = all(other.op.endswith("linear") for other in readers)
        if good[number] and is_border(node.op):
            good[number] = number + 1 < len(given) and good[number + 1] and (
                "convolution" in given[number + 1].op
                and given[number + 1].inputs[0] == node.outputs[0]
                and uses[node.outputs[0]] == 1
            )
    for start, stop in _runs(good):
        held = given[start:stop]
        if not (good[start] and any(is_product(node.op) for node in held)):
            nodes += ir.nodes[start:stop]
            continue
        made = [node.outputs[0] for node in held]
        inputs = list(dict.fromkeys(
            i for node in held for i in node.inputs
            if i is not None and i not in arrays and i not in made
        ))  # fmt: skip
        outputs = [
            place for place in made
            if values[place].number in wanted or last_reader.get(place, -1) >= stop
        ]  # fmt: skip
        lowering = Lowering(held, inputs, outputs, avals, arrays, uses, packed)
        op = _Segment(f"steps[{start}:{stop}]", lowering, tuple(avals[i] for i in outputs))
        nodes.append(Node(
            op, tuple(values[i] for i in inputs), {}, tuple(values[i] for i in outputs),
            held[0].name,
        ))  # fmt: skip
        count += 1
    ir.nodes = nodes
    return count


def _runs(good: Sequence[bool]) -> Any:
    """(first, behind the last) of each run of nodes that suit, and of each other node alone."""
    at = 0
    while at < len(good):
        stop = at + 1
        while good[at] and stop < len(good) and good[stop]:
            stop += 1
        yield at, stop
        at = stop
