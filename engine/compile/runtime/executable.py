"""Executables: a graph bound to memory, run as a list of kernels with their arguments.

    buffer    memory: an input's, an output's (new at each run), a constant's, or a part of the
              arena, where values whose lives do not overlap share bytes
    view      where one value is: (buffer, first element, number of elements)
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
from .cuda_graph import CudaGraph, is_wanted

_ALIGNMENT = 64


class Unsupported(Exception):
    """A graph that cannot be bound to memory; it is run by other means."""


# whether executables take the time of each kernel (:mod:`..explain`)
timing = types.SimpleNamespace(on=False)


_first = operator.itemgetter(0)


def timed(steps: Sequence[tuple[Callable[..., None], list[Any]]]) -> list[float]:
    """Run the steps; how many seconds each took (on CUDA: to launch)."""
    ends = [time.perf_counter()]
    for step, given in steps:
        step(*given)
        ends.append(time.perf_counter())
    return [end - begin for begin, end in itertools.pairwise(ends)]


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


class BufferView:
    """Where a value is: elements ``start`` to ``start + size`` of a buffer."""

    __slots__ = ("buffer", "dtype", "size", "start")

    def __init__(self, buffer: Buffer, start: int, size: int, dtype: Any) -> None:
        self.buffer = buffer
        self.start = start
        self.size = size
        self.dtype = dtype


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
        self.flat = flat
        size = flat.size
        for arguments, place, start, stop in self.uses:
            arguments[place] = flat if not start and stop == size else flat[start:stop]


class Executable:
    """A graph bound to memory.

    Args:
        graph: what to compute.
        inputs: values whose memory is given at each run.
        outputs: values whose memory is new at each run. Each must have memory of its own: the
            result of a node that is no view, named once.
        constants: values that never change, with their arrays.
        shared_arena: shared with executables of the same graph for other sizes.
    """

    def __init__(
        self, graph: Graph, inputs: Sequence[Value], outputs: Sequence[Value],
        constants: Sequence[tuple[Value, Any]], shared_arena: SharedArena | None = None,
    ) -> None:  # fmt: skip
        self.lock = lock() if shared_arena is None else shared_arena.lock
        self._shared_arena = shared_arena
        self.views: dict[int, BufferView] = {}
        self.steps: list[tuple[Callable[..., None], list[Any]]] = []
        self.names: list[str] = []
        self.nodes: list[Node] = []
        self.inputs = [
            self._add(v, Buffer("input", -1, v.aval.dtype.np, None, v.aval.device)) for v in inputs
        ]
        for value, flat in constants:
            self._add(value, Buffer("constant", flat.size, flat.dtype, flat, value.aval.device))
        self._outputs = {v.number for v in outputs}
        self._anew = [None] * len(outputs)
        self.arena_bytes = 0
        self.seconds: list[float] = []
        for node in graph.nodes:
            self._bind(node)
        self.outputs = [self.views[v.number].buffer for v in outputs]
        self._makers = [empty_on(buffer.device) for buffer in self.outputs]
        buffers = list({id(s.buffer): s.buffer for s in self.views.values()}.values())
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

    def _add(self, value: Value, buffer: Buffer) -> Buffer:
        self.views[value.number] = BufferView(buffer, 0, value.aval.extent, value.aval.dtype.np)
        return buffer

    def _bind(self, node: Node) -> None:
        plan = node.plan()
        if plan.kind == VIEW:
            source = self.views[node.inputs[0].number]  # type: ignore[union-attr]
            value = node.outputs[0]
            if value.aval.dtype.np != source.dtype or source.start + plan.run < 0:
                raise Unsupported(f"{node!r} sees memory outside of its input")
            self.views[value.number] = BufferView(
                source.buffer, source.start + plan.run, plan.size, source.dtype
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
            self._add(value, Buffer(kind, made.extent, made.dtype.np, None, made.device))
            self._use(value.number, arguments)
        for used in node.inputs:
            if used is None:
                arguments.append(None)
            else:
                self._use(used.number, arguments)
        arguments.extend(constants)
        for made in scratch:
            number = -1 - len(self.views)  # of no value
            buffer = Buffer("arena", made.extent, made.dtype.np, None, made.device)
            self.views[number] = BufferView(buffer, 0, made.extent, made.dtype.np)
            self._use(number, arguments)

    def _use(self, number: int, arguments: list[Any]) -> None:
        view = self.views[number]
        buffer = view.buffer
        buffer.uses.append((arguments, len(arguments), view.start, view.start + view.size))
        arguments.append(None)
        step = len(self.steps) - 1
        buffer.last = step
        if buffer.first < 0:
            buffer.first = step

    def _lay_out(self, buffers: list[Buffer], device: Device) -> None:
        """Give arena buffers their bytes: the largest first, each at the lowest free place."""
        total = 0
        placed: list[tuple[int, int, Buffer]] = []
        for buffer in sorted(buffers, key=lambda r: -r.size * r.dtype.itemsize):
            need = -(-max(buffer.size * buffer.dtype.itemsize, 1) // _ALIGNMENT) * _ALIGNMENT
            at = 0
            for start, stop, other in placed:  # in order of their starts
                if other.first > buffer.last or other.last < buffer.first:
                    continue
                if start - at >= need:
                    break
                at = max(at, stop)
            bisect.insort(placed, (at, at + need, buffer), key=_first)
            total = max(total, at + need)
        self.arena_bytes += total
        make_room(total)
        if device is cpu:
            memory = (self._shared_arena or SharedArena()).memory(total)
        else:
            memory = empty_on(device)(total, np.dtype(np.uint8))
        for start, _, buffer in placed:
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

        The caller holds ``lock``.

        Args:
            reuses: for each output None, or the :class:`.grad_buffer_reuse.GradBufferReuse` that
                knows whether its memory may be filled once more.
            arguments: of the compiled call.
            as_kernels: without the CUDA graph, where there is one.
        """
        if self._on_cuda:
            self._order()
            if self.cuda_graph is not None and not as_kernels:
                with on(*self._devices):
                    return self.cuda_graph.run(flats)
        for buffer, flat in zip(self.inputs, flats, strict=True):
            if buffer.flat is not flat:
                buffer.bind(flat)
        results = self.fresh_outputs(reuses, arguments)
        if timing.on:
            self.seconds = timed(self.steps)
            return results
        for step, given in self.steps:
            step(*given)
        return results

    def fresh_outputs(self, reuses: Sequence[Any] = (), arguments: Any = ()) -> list[Any]:
        """New memory for the outputs, but for those whose old one may be filled again."""
        results = []
        for buffer, empty, known in zip(
            self.outputs, self._makers, reuses or self._anew, strict=True
        ):
            flat = buffer.flat
            # what the last run handed out is gone, or is the gradient that nobody else holds
            if self._on_cuda or buffer.held < 0 or (holders(flat) > buffer.held and (
                known is None or not known.may_reuse(flat, buffer.held, arguments)
            )):
                flat = empty(buffer.size, buffer.dtype)
                buffer.bind(flat)
                if buffer.held < 0 and switches.grad_buffer_reuse:
                    buffer.held = holders(flat)
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
