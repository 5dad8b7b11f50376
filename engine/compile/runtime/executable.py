"""Executables: a graph bound to memory, run as a list of kernels with their arguments.

    buffer    memory: an input's, an output's (new at each run), a constant's, or a part of the
              arena, where values whose lives do not overlap share bytes
    place     where one value is: (buffer, first element)
    step      (run, arguments): the arguments that change between runs are put in place before

Nothing is allocated between the first kernel and the last one. An output has new memory unless
that of the last run is held by nobody any more.

A graph that cannot be bound to memory, or is not worth it, has its nodes for steps, and each of
these makes memory for its results. One loop (:func:`...op_nodes.run_steps`) runs both.
"""

from __future__ import annotations

import bisect
import operator
import types
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from mindtorch.kernels.support.fork_safe_lock import lock, reentrant_lock

from ...allocator import line_of_bytes, make_room
from ...devices.cuda import kernels, on
from ...devices.device import Device, cpu, empty_on
from ...dispatch import VIEW
from ...op_nodes import last_uses, run_nodes, run_steps
from ...reference_counts import holders
from ...switches import switches
from ...tensor import make
from ..ir.ir import Graph, Node, Value
from .cuda_graph import CudaGraph, is_wanted

_ALIGNMENT = 64


# whether executables take the time of each kernel (:mod:`..explain`)
timing = types.SimpleNamespace(on=False)


_first = operator.itemgetter(0)


def lowest_places(needs: Sequence[tuple[int, int, int]]) -> tuple[list[int], int]:
    """Where memory lies whose parts share bytes by liveness, and how much there is of it.

    Args:
        needs: of each part (bytes, first step, last step).
    """
    total = 0
    starts = [0] * len(needs)
    placed: list[tuple[int, int, int]] = []
    for number in sorted(range(len(needs)), key=lambda i: -needs[i][0]):
        size, first, last = needs[number]
        need = -(-size // _ALIGNMENT) * _ALIGNMENT
        at = 0
        for start, stop, other in placed:  # in order of their starts
            if needs[other][1] > last or needs[other][2] < first:
                continue
            if start - at >= need:
                break
            at = max(at, stop)
        bisect.insort(placed, (at, at + need, number), key=_first)
        starts[number] = at
        total = max(total, at + need)
    return starts, total


class SharedArena:
    """What the executables of one partition for several sizes share: they run one after another.

    Attributes:
        latest: the partition that ran last, which holds its results until another one runs.
    """

    def __init__(self) -> None:
        self.lock = lock()
        self.latest: Any = None
        self._memory: Any = None

    def memory(self, size: int) -> Any:
        """So many bytes; an executable that had fewer before keeps those."""
        if self._memory is None or self._memory.size < size:
            before = 0 if self._memory is None else self._memory.size
            self._memory = line_of_bytes(max(size, before + before // 2))
        return self._memory

    def hand_over(self, partition: Any) -> None:
        """Let the partition that ran before let go of its memory."""
        before, self.latest = self.latest, partition
        if before is not None:
            before.release()


class Buffer:
    """Memory of one value and of its views.

    Attributes:
        kind: "input", "output", "constant" or "arena".
        device: where the memory lies.
        flat: the array that the steps hold now.
        uses: (arguments, place, start, stop) that take the array or a part of it.
        first, last: steps between which an arena buffer lives.
        held: how many holders ``flat`` had when it was new; -1 before.
    """

    __slots__ = ("device", "dtype", "first", "flat", "held", "kind", "last", "size", "uses")

    def __init__(
        self, kind: str, size: int, dtype: Any, flat: Any = None, device: Device = cpu
    ) -> None:
        self.kind = kind
        self.size = size
        self.dtype = dtype
        self.flat = flat
        self.device = device
        self.uses: list[tuple[list[Any], int, int, int]] = []
        self.first = self.last = self.held = -1

    def bind(self, flat: Any) -> None:
        """Let the steps work on another array from now on."""
        self.flat = None  # a signal may come before all have it: the next run binds anew
        size = flat.size
        for arguments, place, start, stop in self.uses:
            arguments[place] = flat if not start and stop == size else flat[start:stop]
        self.flat = flat


class Executable:
    """A graph as steps, bound to memory where it can be.

    Args:
        graph: what to compute.
        inputs: values whose memory is given at each run.
        outputs: values whose memory is new at each run. Where the graph is bound, each must have
            memory of its own: the result of a node that is no view, named once.
        constants: values that never change, with their arrays.
        shared_arena: shared with executables of the same graph for other sizes.

    Attributes:
        refused: why the graph is not bound to memory, "" where it is.
        nodes, names: what the steps are.
        places: where each value is, by its number: a buffer, and the first element there.
        seconds: how long each step took, where :data:`timing` is on.
    """

    def __init__(
        self, graph: Graph, inputs: Sequence[Value], outputs: Sequence[Value],
        constants: Sequence[tuple[Value, Any]], shared_arena: SharedArena | None = None,
    ) -> None:  # fmt: skip
        self.lock = lock() if shared_arena is None else shared_arena.lock
        self._shared_arena = shared_arena
        self.places: dict[int, tuple[Buffer, int]] = {}
        self.steps: list[tuple[Callable[..., None], list[Any]]] = []
        self.nodes: list[Node] = []
        self.inputs = [
            self._add(v.number, Buffer("input", -1, v.aval.dtype.np, None, v.aval.device))
            for v in inputs
        ]
        for value, flat in constants:
            made = Buffer("constant", flat.size, flat.dtype, flat, value.aval.device)
            self._add(value.number, made)
        self._outputs = {v.number for v in outputs}
        self._anew = [None] * len(outputs)
        self.outputs: list[Buffer] = []
        self.arena_bytes = 0
        self.seconds: list[float] = []
        self.refused = graph.refused
        for node in () if self.refused else graph.nodes:
            self.refused = self._bind(node)
            if self.refused:
                break
        if self.refused:
            self._leave_unbound(graph, inputs, outputs, constants)
        else:
            self._bind_outputs(outputs)
        self.names = [node.op.name for node in self.nodes]

    def _leave_unbound(self, graph: Graph, inputs: Any, outputs: Any, constants: Any) -> None:
        """Have the nodes for steps."""
        self.lock = reentrant_lock()  # each run has memory of its own
        self.places, self.steps, self.nodes = {}, [], graph.nodes
        self._given, self._results, self._constants = list(inputs), list(outputs), list(constants)
        self._dying = last_uses(graph.nodes, self._outputs)
        self._owned = {v.number for n in graph.nodes if n.op.view is None for v in n.outputs}

    def _run_unbound(self, flats: Sequence[Any]) -> list[Any]:
        """The outputs' arrays, new at each run, for these inputs' arrays."""
        held = {v.number: make(flat, v.aval) for v, flat in zip(self._given, flats, strict=True)}
        held.update((v.number, make(flat, v.aval)) for v, flat in self._constants)
        run_nodes(
            self.nodes, held, dying=self._dying, seconds=self.seconds if timing.on else None
        )
        return [self._own(held.pop(v.number).flat, v) for v in self._results]

    def _own(self, flat: Any, value: Value) -> Any:
        """The array of a result, copied unless nothing else can hold it."""
        if value.number in self._owned and getattr(flat, "base", self) is None:
            return flat
        return flat[: value.aval.extent].copy()

    def runs_bound(self) -> bool:
        """Whether its steps are kernels on bound memory, on the CPU."""
        return not self.refused and not self._on_cuda

    def buffers(self) -> list[Buffer]:
        """All of them, each once."""
        return list({id(buffer): buffer for buffer, _ in self.places.values()}.values())

    def _bind_outputs(self, outputs: Sequence[Value]) -> None:
        """Lay out the memory, once all nodes are steps."""
        self.outputs = [self.places[v.number][0] for v in outputs]
        self._makers = [empty_on(buffer.device) for buffer in self.outputs]
        buffers = self.buffers()
        arena = [buffer for buffer in buffers if buffer.kind == "arena"]
        for device in dict.fromkeys(buffer.device for buffer in arena):
            self._lay_out([buffer for buffer in arena if buffer.device is device], device)
        self._devices = {buffer.device for buffer in buffers if buffer.device.type == "cuda"}
        self._on_cuda = bool(self._devices)
        self._streams: dict[Device, Any] = {}
        self.cuda_graph: CudaGraph | None = None
        if len(self._devices) == 1:
            self.cuda_graph = CudaGraph(self) if is_wanted() else None
        for buffer in buffers:
            if buffer.kind in ("arena", "constant"):
                buffer.bind(buffer.flat)

    def _add(self, number: int, buffer: Buffer) -> Buffer:
        self.places[number] = buffer, 0
        return buffer

    def _bind(self, node: Node) -> str:
        """Make a step of a node; why that cannot be, "" where it can."""
        plan = node.plan()
        if plan.kind == VIEW:
            buffer, start = self.places[node.inputs[0].number]  # type: ignore[union-attr]
            value = node.outputs[0]
            if value.aval.dtype.np != buffer.dtype or start + plan.run < 0:
                return f"{node!r} sees memory outside of its input"
            self.places[value.number] = buffer, start + plan.run
            return ""
        arguments: list[Any] = []
        run, constants = getattr(plan.run, "direct", (plan.run, ()))
        scratch = getattr(run, "scratch", ())
        self.steps.append((run.planned if scratch else run, arguments))
        self.nodes.append(node)
        for value in node.outputs:
            kind = "output" if value.number in self._outputs else "arena"
            made = value.aval
            self._add(value.number, Buffer(kind, made.extent, made.dtype.np, None, made.device))
            self._use(value.number, made.extent, arguments)
        for used in node.inputs:
            if used is None:
                arguments.append(None)
            else:
                self._use(used.number, used.aval.extent, arguments)
        arguments.extend(constants)
        for made in scratch:
            number = -1 - len(self.places)  # of no value
            self._add(number, Buffer("arena", made.extent, made.dtype.np, None, made.device))
            self._use(number, made.extent, arguments)
        return ""

    def _use(self, number: int, size: int, arguments: list[Any]) -> None:
        buffer, start = self.places[number]
        buffer.uses.append((arguments, len(arguments), start, start + size))
        arguments.append(None)
        step = len(self.steps) - 1
        buffer.last = step
        if buffer.first < 0:
            buffer.first = step

    def _lay_out(self, buffers: list[Buffer], device: Device) -> None:
        """Give arena buffers their bytes: the largest first, each at the lowest free place."""
        starts, total = lowest_places([
            (max(b.size * b.dtype.itemsize, 1), b.first, b.last) for b in buffers
        ])  # fmt: skip
        self.arena_bytes += total
        make_room(total)
        if device is cpu:
            memory = (self._shared_arena or SharedArena()).memory(total)
        else:
            memory = empty_on(device)(total, np.dtype(np.uint8))
        for start, buffer in zip(starts, buffers, strict=True):
            stop = start + buffer.size * buffer.dtype.itemsize
            buffer.flat = memory[start:stop].view(buffer.dtype)

    def release(self) -> None:
        """Hold neither what was given nor what was handed out."""
        for buffer in (*self.inputs, *self.outputs):
            buffer.flat = None
            for arguments, place, _, _ in buffer.uses:
                arguments[place] = None

    def run(
        self, flats: Sequence[Any], reuses: Sequence[Any] = (), arguments: Any = (),
        as_kernels: bool = False,
    ) -> list[Any]:
        """The outputs' arrays for these inputs' arrays.

        The caller holds ``lock``. Without memory laid out beforehand they are new at each run.

        Args:
            reuses: for each output None, or the :class:`.grad_buffer_reuse.GradBufferReuse` that
                knows whether its memory may be filled once more.
            arguments: of the compiled call.
            as_kernels: without the CUDA graph, where there is one.
        """
        if self.refused:
            return self._run_unbound(flats)
        if self._on_cuda:
            self._order()
            if self.cuda_graph is not None and not as_kernels:
                with on(*self._devices):
                    return self.cuda_graph.run(flats)
        for buffer, flat in zip(self.inputs, flats, strict=True):
            if buffer.flat is not flat:
                buffer.bind(flat)
        results = self.fresh_outputs(reuses, arguments)
        self.run_bound()
        return results

    def run_bound(self) -> None:
        """Run the kernels on the memory that is bound."""
        run_steps(self.steps, self.seconds if timing.on else None)

    def fresh_outputs(self, reuses: Sequence[Any] = (), arguments: Any = ()) -> list[Any]:
        """New memory for the outputs, but for those whose old one may be filled again."""
        known = reuses or self._anew
        return [self.fresh_output(i, reuse, arguments) for i, reuse in enumerate(known)]

    def fresh_output(self, place: int, known: Any = None, arguments: Any = ()) -> Any:
        """:meth:`fresh_outputs` for one of them."""
        buffer = self.outputs[place]
        flat = buffer.flat
        # what the last run handed out is the gradient that nobody else holds, or is gone
        if self._on_cuda or buffer.held < 0 or (
            (known is None or not known.may_reuse(flat, buffer.held, arguments))
            and holders(flat) > buffer.held
        ):
            flat = self._makers[place](buffer.size, buffer.dtype)
            buffer.bind(flat)
            if buffer.held < 0 and switches.grad_buffer_reuse:
                buffer.held = holders(flat)
        return flat

    def _order(self) -> None:
        """See to it that what another stream does in the arena is done."""
        streams = kernels("streams")
        for device in self._devices:
            with on(device):
                now, before = streams.current(), self._streams.get(device)
                if before is not None and before is not now:
                    streams.synchronize(before)
                self._streams[device] = now
