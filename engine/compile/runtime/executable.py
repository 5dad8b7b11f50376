"""Programs: a graph bound to memory, run as a list of kernels with their arguments.

    slot      the place of one value: (root, first element, number of elements)
    root      memory: an input's, an output's (new at each run), a constant's, or a part of the
              arena, where values whose lives do not overlap share bytes
    step      (run, arguments): the arguments that change between runs are put in place before

Nothing is allocated between the first kernel and the last one. An output has new memory unless
that of the last run is held by nobody any more.
"""

from __future__ import annotations

import bisect
import itertools
import operator
import time
import types
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from mindtorch.kernels.support.fork_safe_lock import lock

from ...allocator import line_of_bytes, make_room
from ...devices.cuda import kernels, on
from ...devices.device import Device, cpu, empty_on
from ...dispatch import VIEW
from ...reference_counts import holders
from ...switches import switches
from ..ir.ir import Graph, Node, Value
from .cuda_graph import Recorded, wanted

_ALIGNMENT = 64


class Unsupported(Exception):
    """A graph that cannot be bound to memory; it is run by other means."""


# whether programs take the time of each kernel (:mod:`..explain`)
timing = types.SimpleNamespace(on=False)


_first = operator.itemgetter(0)


def timed(steps: Sequence[tuple[Callable[..., None], list[Any]]]) -> list[float]:
    """Run the steps; how many seconds each took (on CUDA: to launch)."""
    ends = [time.perf_counter()]
    for step, given in steps:
        step(*given)
        ends.append(time.perf_counter())
    return [end - begin for begin, end in itertools.pairwise(ends)]


class Pool:
    """What the programs of one segment for several sizes share: they run one after another.

    Attributes:
        turn: the segment that ran last, which holds its results until another one runs.
    """

    def __init__(self) -> None:
        self.lock = lock()
        self.turn: Any = None
        self._memory: Any = None

    def memory(self, size: int) -> Any:
        """So many bytes; a program that had fewer before keeps those."""
        if self._memory is None or self._memory.size < size:
            before = 0 if self._memory is None else self._memory.size
            self._memory = line_of_bytes(max(size, before + before // 2))
        return self._memory

    def give_turn(self, segment: Any) -> None:
        """Let the segment that ran before let go of its memory."""
        before, self.turn = self.turn, segment
        if before is not None:
            before.let_go()


class Slot:
    """Where a value is: elements ``start`` to ``start + size`` of a root."""

    __slots__ = ("dtype", "root", "size", "start")

    def __init__(self, root: Root, start: int, size: int, dtype: Any) -> None:
        self.root = root
        self.start = start
        self.size = size
        self.dtype = dtype


class Root:
    """Memory of one value and of its views.

    Attributes:
        kind: "input", "output", "constant" or "arena".
        device: where the memory lies.
        flat: the array that the steps hold now.
        sites: (arguments, place, start, stop) that take the array or a part of it.
        first, last: steps between which an arena root lives.
        held: how many holders ``flat`` had when it was new; -1 before.
    """

    __slots__ = ("device", "dtype", "first", "flat", "held", "kind", "last", "sites", "size")

    def __init__(
        self, kind: str, size: int, dtype: Any, flat: Any = None, device: Device = cpu
    ) -> None:
        self.kind = kind
        self.size = size
        self.dtype = dtype
        self.flat = flat
        self.device = device
        self.sites: list[tuple[list[Any], int, int, int]] = []
        self.first = self.last = self.held = -1

    def take(self, flat: Any) -> None:
        """Let the steps work on another array from now on."""
        self.flat = flat
        size = flat.size
        for arguments, place, start, stop in self.sites:
            arguments[place] = flat if not start and stop == size else flat[start:stop]


class Program:
    """A graph bound to memory.

    Args:
        graph: what to compute.
        inputs: values whose memory is given at each run.
        outputs: values whose memory is new at each run. Each must have memory of its own: the
            result of a node that is no view, named once.
        constants: values that never change, with their arrays.
        pool: shared with programs of the same graph for other sizes.
    """

    def __init__(
        self, graph: Graph, inputs: Sequence[Value], outputs: Sequence[Value],
        constants: Sequence[tuple[Value, Any]], pool: Pool | None = None,
    ) -> None:  # fmt: skip
        self.lock = lock() if pool is None else pool.lock
        self._pool = pool
        self.slots: dict[int, Slot] = {}
        self.steps: list[tuple[Callable[..., None], list[Any]]] = []
        self.names: list[str] = []
        self.nodes: list[Node] = []
        self.inputs = [
            self._enter(v, Root("input", -1, v.aval.dtype.np, None, v.aval.device)) for v in inputs
        ]
        for value, flat in constants:
            self._enter(value, Root("constant", flat.size, flat.dtype, flat, value.aval.device))
        self._outputs = {v.number for v in outputs}
        self._anew = [None] * len(outputs)
        self.arena_bytes = 0
        self.seconds: list[float] = []
        for node in graph.nodes:
            self._bind(node)
        self.outputs = [self.slots[v.number].root for v in outputs]
        self._makers = [empty_on(root.device) for root in self.outputs]
        roots = list({id(s.root): s.root for s in self.slots.values()}.values())
        arena = [root for root in roots if root.kind == "arena"]
        for device in dict.fromkeys(root.device for root in arena):
            self._lay_out([root for root in arena if root.device is device], device)
        self._devices = {root.device for root in roots if root.device.type == "cuda"}
        self._on_cuda = bool(self._devices)
        self._streams: dict[Device, Any] = {}
        self.recorded: Any = None
        if len(self._devices) == 1:
            self.recorded = Recorded(self) if wanted.recorded else None
        for root in roots:
            if root.kind in ("arena", "constant"):
                root.take(root.flat)

    def _enter(self, value: Value, root: Root) -> Root:
        self.slots[value.number] = Slot(root, 0, value.aval.extent, value.aval.dtype.np)
        return root

    def _bind(self, node: Node) -> None:
        plan = node.plan()
        if plan.kind == VIEW:
            source = self.slots[node.inputs[0].number]  # type: ignore[union-attr]
            value = node.outputs[0]
            if value.aval.dtype.np != source.dtype or source.start + plan.run < 0:
                raise Unsupported(f"{node!r} sees memory outside of its input")
            self.slots[value.number] = Slot(
                source.root, source.start + plan.run, plan.size, source.dtype
            )
            return
        arguments: list[Any] = []
        run, constants = getattr(plan.run, "direct", (plan.run, ()))
        scratch = getattr(run, "scratch", ())
        self.steps.append((run.planned if scratch else run, arguments))
        self.names.append(node.op.name)
        self.nodes.append(node)
        for value in node.outputs:
            kind = "output" if value.number in self._outputs else "arena"
            made = value.aval
            self._enter(value, Root(kind, made.extent, made.dtype.np, None, made.device))
            self._use(value.number, arguments)
        for used in node.inputs:
            if used is None:
                arguments.append(None)
            else:
                self._use(used.number, arguments)
        arguments.extend(constants)
        for made in scratch:
            number = -1 - len(self.slots)  # of no value
            root = Root("arena", made.extent, made.dtype.np, None, made.device)
            self.slots[number] = Slot(root, 0, made.extent, made.dtype.np)
            self._use(number, arguments)

    def _use(self, number: int, arguments: list[Any]) -> None:
        slot = self.slots[number]
        root = slot.root
        root.sites.append((arguments, len(arguments), slot.start, slot.start + slot.size))
        arguments.append(None)
        step = len(self.steps) - 1
        root.last = step
        if root.first < 0:
            root.first = step

    def _lay_out(self, roots: list[Root], device: Device) -> None:
        """Give arena roots their bytes: the largest first, each at the lowest free place."""
        total = 0
        placed: list[tuple[int, int, Root]] = []
        for root in sorted(roots, key=lambda r: -r.size * r.dtype.itemsize):
            need = -(-max(root.size * root.dtype.itemsize, 1) // _ALIGNMENT) * _ALIGNMENT
            at = 0
            for start, stop, other in placed:  # in order of their starts
                if other.first > root.last or other.last < root.first:
                    continue
                if start - at >= need:
                    break
                at = max(at, stop)
            bisect.insort(placed, (at, at + need, root), key=_first)
            total = max(total, at + need)
        self.arena_bytes += total
        make_room(total)
        if device is cpu:
            memory = (self._pool or Pool()).memory(total)
        else:
            memory = empty_on(device)(total, np.dtype(np.uint8))
        for start, _, root in placed:
            stop = start + root.size * root.dtype.itemsize
            root.flat = memory[start:stop].view(root.dtype)

    def let_go(self) -> None:
        """Hold neither what was given nor what was handed out."""
        for root in (*self.inputs, *self.outputs):
            root.flat = None
            for arguments, place, _, _ in root.sites:
                arguments[place] = None

    def run(
        self, flats: Sequence[Any], again: Sequence[Any] = (), arguments: Any = ()
    ) -> list[Any]:
        """The outputs' arrays for these inputs' arrays.

        The caller holds ``lock``.

        Args:
            again: for each output None, or the :class:`.grad_buffer_reuse.Again` that knows whether
                its memory may be filled once more.
            arguments: of the compiled call.
        """
        if self._on_cuda:
            self._order()
            if self.recorded is not None:
                with on(*self._devices):
                    return self.recorded.run(flats)
        return self.run_steps(flats, again, arguments)

    def run_steps(
        self, flats: Sequence[Any], again: Sequence[Any] = (), arguments: Any = ()
    ) -> list[Any]:
        """:meth:`run`, one kernel after another."""
        for root, flat in zip(self.inputs, flats, strict=True):
            if root.flat is not flat:
                root.take(flat)
        results = self.fresh_outputs(again, arguments)
        if timing.on:
            self.seconds = timed(self.steps)
            return results
        for step, given in self.steps:
            step(*given)
        return results

    def fresh_outputs(self, again: Sequence[Any] = (), arguments: Any = ()) -> list[Any]:
        """New memory for the outputs, but for those whose old one may be filled again."""
        results = []
        for root, empty, known in zip(
            self.outputs, self._makers, again or self._anew, strict=True
        ):
            flat = root.flat
            # what the last run handed out is gone, or is the gradient that nobody else holds
            if self._on_cuda or root.held < 0 or (holders(flat) > root.held and (
                known is None or not known.free(flat, root.held, arguments)
            )):
                flat = empty(root.size, root.dtype)
                root.take(flat)
                if root.held < 0 and switches.grad_buffer_reuse:
                    root.held = holders(flat)
            results.append(flat)
        return results

    def _order(self) -> None:
        """See to it that what another stream does in the arena is done."""
        streams = kernels("streams")
        for device in self._devices:
            with on(device):
                now, before = streams.current(), self._streams.get(device)
                if before is not None and before is not now:
                    streams.synchronize(before)
                self._streams[device] = now
