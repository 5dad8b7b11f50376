"""Tracing: run a function once with tensors whose data is a graph value, and write down the ops.

Writes in place are made functional. A storage has a current value; a tensor that was made before
the last write is derived from it again (``as_strided``) when it is read, and a write through a view
replaces the storage's value by ``view_update``. Tensors that the function finds by itself become
captured inputs; those it writes to are written back at the end of a run.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, NoReturn

from ...autograd import inplace, tape
from ...aval import aval
from ...dispatch import GRAD, recorded, state
from ...interpreter import Interpreter
from ...op import Op, Plan
from ...ops.movement import as_strided, cast, expand, view_update
from ...tensor import Storage, Tensor, fields_of, make, new_storage
from ..ir.ir import DRAW, Graph, Node, Value
from . import dtype_views
from .tracing_error import TracingError as TracingError
from .tracing_error import ours as ours
from .tracing_error import refuse_data as refuse_data
from .tracing_error import user_line as user_line


def recording() -> int:
    """The mode in which traced ops run: whether the tape takes them down."""
    return state.mode & GRAD


def elements_of(value: Value, tensors: Iterable[Any], fill: Callable[[], None]) -> Any:
    """The elements of a value that stands for a tensor's data, or its storage's.

    Args:
        tensors: weak references to the tensors whose data may be still to come.
        fill: called when the tensor is found, gives it its data.
    """
    for x in [reference() for reference in tensors]:
        if x is not None and x.flat is value:
            fill()
            return x.flat
        if x is not None and x._storage is not None and x._storage.memory.buffer is value:
            fill()
            return x._storage.memory.buffer
    refuse_data("elements")


def check_type(tensor: Tensor) -> None:
    """Raise for a tensor that reads its memory as another type than it was made with."""
    if tensor._shared.memory.buffer.dtype != tensor.aval.dtype.np:
        raise TracingError("a tensor from view(dtype) or view_as_real cannot be captured")


class TracedStorage:
    """A storage's current value: that of the tensor which is its base."""

    __slots__ = ("base_aval", "base_offset", "count", "owner", "value")

    def __init__(self, value: Value, base_aval: Any, owner: Any, base_offset: int = 0) -> None:
        self.value = value
        self.base_aval = base_aval
        self.base_offset = base_offset
        self.count = 0
        self.owner = owner

    def place(self, described: Any, offset: int) -> dict[str, Any]:
        """Where a tensor lies in the base, as ``as_strided`` takes it."""
        begin = offset - self.base_offset
        return {"shape": described.shape, "strides": described.strides, "offset": begin}


class Tracer(Interpreter):
    """The interpreter that writes down what is done to tensors."""

    traces = True
    draws = True

    def __init__(self) -> None:
        self.graph = Graph()
        self.storages: dict[int, TracedStorage] = {}
        self.kept: list[Any] = []
        self.written: list[TracedStorage] = []
        self.leaves: dict[int, tuple[Tensor, Tensor | None]] = {}

    # --- values -------------------------------------------------------------------------------

    def argument(self, tensor: Tensor, described: Any = None) -> Tensor:
        """A traced tensor for an argument, with another description where one is given."""
        value = self.graph.value(described or strong(tensor.aval))
        self.graph.inputs.append(value)
        made = self._tensor(value)
        if tape.requires_grad(tensor):
            made._node = tape.AccumulateGrad(made)
        return made

    def _tensor(self, value: Value) -> Tensor:
        """A traced tensor with a storage of its own."""
        storage = new_storage(value, value.aval.device)
        self.kept.append(storage)
        self.storages[id(storage)] = TracedStorage(value, value.aval, None)
        return make(value, value.aval, storage)

    def is_written(self, storage: Storage) -> bool:
        """Whether a write to the memory waits."""
        record = self.storages.get(id(storage))
        return record is not None and record.count > 0

    def value_of(self, tensor: Tensor) -> Value:
        """The value that ``tensor`` has now."""
        storage = tensor._shared.memory
        record = self.storages.get(id(storage))
        if record is None:
            record = self._capture(tensor)
        stamp = fields_of(tensor).get("_trace_stamp", 0)
        if isinstance(tensor.flat, Value) and stamp == record.count:
            return tensor.flat
        if tensor.aval is record.base_aval and tensor._offset == record.base_offset:
            value = record.value
        else:
            value = self._derive(record, tensor.aval, tensor._offset)
        if isinstance(tensor.flat, Value):
            tensor.flat = value
            fields_of(tensor)["_trace_stamp"] = record.count
        return value

    def _record(self, target: Tensor) -> TracedStorage:
        """What stands for the memory that a tensor is written to."""
        return self.storages[id(target._shared.memory)]

    def values_of(self, inputs: Any) -> tuple[Any, ...]:
        """The values that an op's inputs have now, None for those that are absent."""
        return tuple([None if x is None else self.value_of(x) for x in inputs])

    def _derive(self, record: TracedStorage, described: Any, offset: int) -> Value:
        own_type = described.dtype is record.base_aval.dtype
        seen = record if own_type else dtype_views.read(self.emit, record, described.dtype)
        return self.emit(as_strided, (seen.value,), seen.place(described, offset))[0]

    def _capture(self, tensor: Tensor) -> TracedStorage:
        """Make a tensor that the function found by itself an input of the graph."""
        storage = tensor._shared.memory
        check_type(tensor)
        room = self._room(storage)
        whole = tensor.aval.dense and tensor.aval.size == room
        described = strong(tensor.aval) if whole else aval(
            (room,), tensor.aval.dtype, None, tensor.aval.device
        )
        if tensor.aval.weak:
            described = tensor.aval
        value = self.graph.value(described)
        self.kept.append(storage)
        record = TracedStorage(value, described, self._owner(tensor, value))
        self.storages[id(storage)] = record
        return record

    def _room(self, storage: Storage) -> Any:
        """How many elements a storage holds."""
        return storage.buffer.size

    def _owner(self, tensor: Tensor, value: Value) -> Any:
        """What is written to at the end of a run when the captured memory is written to."""
        self.graph.captured.append((value, tensor))
        return tensor

    def emit(self, op: Op, inputs: Any, params: dict[str, Any]) -> tuple[Value, ...]:
        """Append an application; its results' values."""
        derived = op.aval(*[None if v is None else v.aval for v in inputs], **params)
        return self._append(op, inputs, params, derived)

    def _append(
        self, op: Op, inputs: Any, params: dict[str, Any], derived: Any
    ) -> tuple[Value, ...]:
        avals = derived if isinstance(derived, tuple) else (derived,)
        outputs = tuple([self.graph.value(a) for a in avals])
        self.graph.nodes.append(Node(op, tuple(inputs), params, outputs, user_line()))
        return outputs

    # --- as an interpreter --------------------------------------------------------------------

    def outside(self, function: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
        """What has no op cannot be written down."""
        name = function.name if isinstance(function, Op) else function.__name__
        raise NotImplementedError(f"{name} in a graph")

    def apply(self, op: Op, inputs: Any, params: dict[str, Any]) -> Any:
        """Write down ``op(*inputs)`` and record it on the tape."""
        values = self.values_of(inputs)
        if op in dtype_views.VIEWS:
            return self._apply_retyped(op, inputs[0])
        derived = op.aval(*[None if v is None else v.aval for v in values], **params)
        outputs = self._append(op, values, params, derived)
        plan = plan_without_kernel(inputs, outputs)
        mode = recording()
        if op.view is not None:
            return self._apply_view(op, plan, mode, inputs, params, outputs[0])
        if mode:
            self._remember_leaves(inputs)
        made = tuple([self._tensor(v) for v in outputs])
        results = recorded(op, plan, mode, inputs, params, made)
        return results if isinstance(derived, tuple) else results[0]

    def _apply_view(
        self, op: Op, plan: Any, mode: int, inputs: Any, params: Any, value: Value
    ) -> Tensor:
        source = inputs[0]
        offset = op.view(*[x.aval for x in inputs], **params)  # type: ignore[misc]
        result = make(value, value.aval, source._shared, source._offset + offset)
        fields_of(result)["_trace_stamp"] = self.storages[id(source._shared.memory)].count
        if mode:
            self._remember_leaves(inputs)
        tape.record_view(op, plan, mode, inputs, params, result)
        return result

    def _apply_retyped(self, op: Op, source: Tensor) -> Tensor:
        """A view that reads complex numbers as pairs of real ones, or pairs as complex numbers."""
        described: Any = op.aval(source.aval)
        record = self.storages[id(source._shared.memory)]
        offset = source._offset * source.aval.dtype.itemsize // described.dtype.itemsize
        value = self._derive(record, described, offset)
        result = make(value, described, source._shared, offset)
        fields_of(result)["_trace_stamp"] = record.count
        mode = recording()
        if mode:
            self._remember_leaves((source,))
        plan = plan_without_kernel((source,), (value,))
        tape.record_view(op, plan, mode, (source,), {}, result)
        return result

    def apply_in_place(self, op: Op, target: Tensor, inputs: Any, params: Any) -> Tensor:
        """``target[...] = op(*inputs)``."""
        inplace.check_target(target, inputs)
        if recording():
            inputs = tuple([self._as_it_is(x) if x is target else x for x in inputs])
        result = self.apply(op, inputs, params)
        inplace.check_result(target, result.aval.shape, result.aval.dtype)
        return self._write(target, result)

    def _as_it_is(self, tensor: Tensor) -> Tensor:
        """The tensor's present value, which a write to the tensor does not change."""
        kept = self._tensor(self.value_of(tensor))
        kept._node = tape.node_of(tensor)
        kept._output_index = tensor._output_index
        return kept

    def copy_into(self, target: Tensor, source: Tensor) -> Tensor:
        """``target[...] = source``."""
        inplace.check_writable(target)
        return self._write(target, source, whole=True)

    def item(self, tensor: Tensor) -> NoReturn:
        refuse_data("item")

    def _write(self, target: Tensor, source: Tensor, whole: bool = False) -> Tensor:
        """``target[...] = source``; ``whole``: the source does not derive from the target."""
        if source.aval.shape != target.aval.shape:
            source = expand(source, shape=target.aval.shape)
        if source.aval.dtype is not target.aval.dtype:
            source = cast(source, dtype=target.aval.dtype)
        value, _ = self.values_of((source, target))
        record = self._record(target)
        own_type = target.aval.dtype is record.base_aval.dtype
        seen = record if own_type else dtype_views.read(self.emit, record, target.aval.dtype)
        place = tuple(sorted(seen.place(target.aval, target._offset).items()))
        chain = ((as_strided, place),)
        value = self.emit(view_update, (seen.value, value), {"chain": chain})[0]
        if not own_type:
            value = dtype_views.written(self.emit, record, value)
        if record.owner is not None and record not in self.written:
            self.written.append(record)
        storage = target._shared
        # nothing is called in here: a signal finds the write done, or not begun
        record.value, record.count = value, record.count + 1
        storage.version += 1
        if recording() and (target._node is not None or source._node is not None):
            if type(target._node) is not tape.ViewHistory and (whole or source._node is None) and (
                tape.requires_grad(source) or tape.requires_grad(target)
            ):
                inplace.replace(target, source)  # what was there before has a gradient of 0
            else:
                inplace.rebase(target, source)
        return target

    def _remember_leaves(self, inputs: Any) -> None:
        for x in inputs:
            if x is not None and type(x._node) is tape.AccumulateGrad:
                self.leaves.setdefault(id(x), (x, x._grad))

    # --- random numbers -------------------------------------------------------------------------

    def draw(self, described: Any, fill: Any, inputs: Any) -> Tensor:
        values = self.values_of(inputs)
        value = self.graph.value(described)
        params = {"described": described, "fill": fill}
        self.graph.nodes.append(Node(DRAW, values, params, (value,)))
        return self._tensor(value)

    def redraw(self, target: Tensor, fill: Any, inputs: Any) -> None:
        """Overwrite ``target``, whose layout decides which element gets which number."""
        if not target.aval.dense:
            raise TracingError("random numbers in memory with gaps")
        self._write(target, self.draw(strong(target.aval), fill, inputs))
        target._shared.version -= 1

    # --- the end ------------------------------------------------------------------------------

    def finish(self, outputs: list[Tensor]) -> Graph:
        """Close the graph: results, writes, and gradients of leaves (whose ``grad`` is put
        back)."""
        graph = self.graph
        graph.outputs = [self.value_of(x) for x in outputs]
        graph.writes = [(r.owner, r.value) for r in self.written]
        for leaf, before in self.leaves.values():
            if leaf._grad is not before and leaf._grad is not None:
                if not isinstance(leaf.flat, Value):
                    graph.gradients.append((leaf, self.value_of(leaf._grad)))
                leaf._grad = before
        return graph


def strong(description: Any) -> Any:
    if not description.weak:
        return description
    return aval(description.shape, description.dtype, description.strides, description.device)


def plan_without_kernel(inputs: Any, outputs: Any) -> Any:
    in_avals = tuple(None if x is None else x.aval for x in inputs)
    return Plan(tuple(v.aval for v in outputs), in_avals)


def trace(function: Callable[..., Any], *examples: Tensor) -> Graph:
    """The graph of ``function`` for tensors like ``examples``.

    Args:
        function: takes tensors; returns a tensor or a tuple or list of tensors. What it does to
            other tensors it reaches (reads, writes in place, gradients) is part of the graph.
        *examples: tensors whose avals the graph is made for; their data is not used.

    Raises:
        TracingError: the function needs a tensor's data.
    """
    tracer = Tracer()
    return traced(tracer, function, [tracer.argument(x) for x in examples])


def traced(tracer: Tracer, function: Callable[..., Any], arguments: list[Tensor]) -> Graph:
    """The graph that ``tracer`` writes down while ``function(*arguments)`` runs."""
    before = state.interpreters
    state.update(interpreters=(*before, tracer))
    try:
        returned = function(*arguments)
        outputs = list(returned) if isinstance(returned, (tuple, list)) else [returned]
        return tracer.finish([x for x in outputs if x is not None])
    finally:
        state.update(interpreters=before)
