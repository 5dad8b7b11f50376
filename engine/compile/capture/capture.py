"""Capture: trace a call, run what was traced, and write down how to do the same again.

A capture is a trace with real arguments behind it. The function's body runs once, on tensors
without data. Where data is needed (the end of the call, an optimizer's step), the graph so far
becomes a :class:`..runtime.partition.Partition`: it is run, and the traced tensors that are still
alive get their data.

    partition -> host call (optimizer.step) -> partition -> ... -> what is returned

Where the function itself asks for data (``item()``, ``print``), the trace ends and the rest of
the body runs op by op: nothing is done twice, and the call is not compiled.
"""

from __future__ import annotations

import functools
import sys
import threading
import types
import weakref
from collections.abc import Callable
from typing import Any

from ...autograd import inplace, tape
from ...dispatch import state
from ...op import Op
from ...symbolic_sizes import NOTES, PLAIN, fixed
from ...tensor import Storage, Tensor
from ...transforms.vmap import redraw
from ..dynamic_shapes.specialize import Specialization
from ..ir.ir import MAKE, Graph, Value
from ..runtime.partition import (
    ARGUMENT,
    CAPTURED,
    CONSTANT,
    MADE,
    HostCall,
    InputSpec,
    OutputSpec,
    Partition,
    UnboundPartition,
)
from .failed_run import UndoLog, give_data
from .index_checks import may_fail
from .specs import counted_writes, leaf_spec, output_spec
from .symbolic_tracer import SymbolicTracer
from .thread_start_hook import hook_thread_starts
from .traced_storage import TracedStorage
from .tracer import (
    TracingError,
    check_type,
    elements_of,
    refuse_data,
    user_line,
)

_CALLED = (types.FunctionType, types.MethodType, functools.partial)


class Capture(SymbolicTracer):
    """The trace of one call with real arguments.

    Args:
        existing: the tensors that were made before the call.
        profile: called as a profile function, by the user's code.
    """

    is_capture = True

    def __init__(self, existing: list[Any], profile: Any) -> None:
        super().__init__()
        hook_thread_starts()
        self.profile = profile
        self.thread = threading.get_ident()
        self.existing = {id(x): x for x in existing}
        self.existing_storages: set[int] = set()
        self.without_storage = list(self.existing.values())
        self.outer = state.interpreters
        self.arguments: list[Tensor] = []
        self.histories: list[tuple[Any, int]] = []
        self.argument_of: dict[int, int] = {}
        self.makes: set[int] = set()
        self.made: dict[Any, Any] = {}
        self.sources: list[tuple[Value, InputSpec]] = []
        self.live_tensors: list[weakref.ref[Tensor]] = []
        self.steps: list[Any] = []
        self.graph_break = ""
        self.whole = False  # whether what is traced cannot go on op by op
        self.hooked = False
        self.started = next(tape.sequence)
        self.saved: list[tuple[int, Value]] = []
        self.first_uses: dict[int, tuple[Tensor, Tensor | None, bool]] = {}
        self.refilled: dict[int, Storage] = {}
        self.changed: list[InputSpec] = []
        self.boundary_hooks: list[Any] = []
        self.handed: list[weakref.ref[Tensor]] = []
        self.crossed_boundary = False
        self.found_argument = False
        # each storage that is written to, and its version before
        self.versions: dict[int, tuple[Any, int]] = {}
        self.changes = UndoLog()
        self.failed = False  # whether a kernel has raised
        self.unfinished: UndoLog | None = None  # a partition that failed and was taken back
        self._collecting = False

    # --- the call -------------------------------------------------------------------------------

    def enter(self) -> None:
        if self.sizes is not None:
            self._describe(NOTES)
        state.update(interpreters=(*self.outer, self))
        sys.setprofile(self.profile)

    def exit(self) -> None:
        sys.setprofile(None)
        state.update(interpreters=self.outer)
        if self.sizes is not None:
            self._describe(PLAIN)

    def around_collection(self, phase: str, _: Any) -> None:
        """In ``gc.callbacks``: finalizers of what the garbage collector finds, which may be
        anybody's, are no part of the call, and the profile function does not look at them."""
        if phase != "start":
            if self._collecting:
                self._collecting = False
                sys.setprofile(self.profile)
        elif threading.get_ident() == self.thread and sys.getprofile() == self.profile:
            sys.setprofile(None)
            self._collecting = True

    def add_argument(self, tensor: Tensor) -> None:
        """Note an argument of the call."""
        storage = tensor._shared.memory
        self.argument_of[id(storage)] = len(self.arguments)
        self.arguments.append(tensor)
        self.histories.append((tape.node_of(tensor), tensor._output_index))
        self._hook_boundary(tensor)

    def _hook_boundary(self, tensor: Tensor) -> None:
        """Find out when a backward pass in the call leaves it through this tensor."""
        node = tape.node_of(tensor)
        if node is not None and type(node) is not tape.AccumulateGrad:
            self.boundary_hooks.append(tape.add_hook(node, "pre", self._at_boundary))

    def _at_boundary(self, gradients: Any) -> None:
        self.crossed_boundary = True

    def remove_boundary_hooks(self) -> None:
        while self.boundary_hooks:
            self.boundary_hooks.pop().remove()

    def draw(self, described: Any, fill: Any, inputs: Any) -> Tensor:
        if self.sizes is not None:
            self.sizes.fix_hidden(fill)
        return super().draw(described, fill, inputs)

    def value_of(self, tensor: Tensor) -> Value:
        if id(tensor) in self.existing and tensor._storage is not None:
            place = self.argument_of.get(id(tensor._storage.memory))
            if place is not None and self.arguments[place] is not tensor:
                self.found_argument = True
                argument = self.arguments[place]
                if tensor.aval.dtype is not argument.aval.dtype:
                    raise TracingError("an argument's memory as another type")
                start = tensor._offset - argument._offset
                if start < 0 or start + tensor.aval.extent > argument.aval.extent:
                    raise TracingError("more of an argument's memory than the argument shows")
        return super().value_of(tensor)

    def _capture(self, tensor: Tensor) -> TracedStorage:
        storage = tensor._shared.memory
        place = self.argument_of.get(id(storage))
        if place is None:
            return super()._capture(tensor)
        argument = self.arguments[place]
        check_type(argument)
        value = self.graph.value(argument.aval)
        source = InputSpec(ARGUMENT, place, False, value.aval)
        self.sources.append((value, source))
        record = TracedStorage(value, value.aval, source, argument._offset)
        self.storages[id(storage)] = record
        return record

    def rewritten(self) -> bool:
        """Whether a tensor from outside has another place in autodiff's graph now."""
        for x, (node, index) in zip(self.arguments, self.histories, strict=True):
            if tape.node_of(x) is not node or x._output_index != index:
                return True
        for source in self.changed:
            found = tape.node_of(source.key) if source.kind == CAPTURED else None
            if found is not None and found.sequence >= self.started:
                return True
        return False

    def shared(self, tensor: Tensor) -> None:
        """A tensor was made over the memory of another one."""
        if isinstance(tensor.flat, Value):
            self.live_tensors.append(weakref.ref(tensor))
            if self.sizes is not None:
                self.described.append(self.live_tensors[-1])

    def _room(self, storage: Storage) -> Any:
        return self.rooms.get(id(storage)) or super()._room(storage)

    def raw_write(self, tensor: Tensor) -> None:
        if id(tensor) in self.existing:
            self.needed("to set the memory of a tensor from outside")

    def _owner(self, tensor: Tensor, value: Value) -> InputSpec:
        """Where the memory of a tensor comes from that was not used in this partition yet."""
        storage = tensor._shared.memory
        key, described = id(storage), value.aval
        if key in self.makes:
            source = InputSpec(MADE, key, True, described)
        elif id(tensor) in self.existing or self.existed(key):
            source = InputSpec(CAPTURED, tensor, True, described)
            self.graph.captured.append((value, tensor))
            self._hook_boundary(tensor)
        else:
            source = InputSpec(CONSTANT, storage.buffer.copy(), True, described)
            if not tensor.aval.weak:
                self.handed.append(weakref.ref(tensor))
        self.sources.append((value, source))
        return source

    def existed(self, storage: int) -> bool:
        """Whether memory, by its id, is older than the call."""
        if storage not in self.existing_storages:  # tensors get theirs when somebody asks for it
            late = [x._storage for x in self.without_storage if x._storage is not None]
            if late:
                self.existing_storages.update([id(each.memory) for each in late])
                self.without_storage = [x for x in self.without_storage if x._storage is None]
        return storage in self.existing_storages

    # --- ops ------------------------------------------------------------------------------------

    def apply(self, op: Op, inputs: Any, params: dict[str, Any]) -> Any:
        self.finish_failed()
        if params.get("check"):
            self.break_graph(f"to know whether {op.name} fails")
            return op(*inputs, **params)
        if not self.whole and may_fail(op, inputs, params, self.is_written):
            self.break_graph(f"an index of {op.name} that is in range")
            return op(*inputs, **params)
        sys.setprofile(None)  # no code of the user's runs in there
        try:
            return super().apply(op, inputs, params)
        except TracingError as error:
            reason = str(error)
        finally:
            sys.setprofile(self.profile)
        self.break_graph(reason)
        return op(*inputs, **params)

    def _write(self, target: Tensor, source: Tensor, whole: bool = False) -> Tensor:
        storage = target._shared
        self.versions.setdefault(id(storage), (storage, storage.version))
        history, version = target._node, storage.version
        held = [target, history.base] if type(history) is tape.ViewHistory else [target]
        places = [(x, x._node, x._output_index) for x in held]
        known = self.storages.get(id(storage.memory))
        before = None if known is None else known.value
        result = super()._write(target, source, whole)
        ops, record = len(self.graph.nodes), self._record(target)
        if before is None:
            before = next(v for v, found in self.sources if found is record.owner)
        self.changes.writes.append((ops, storage, version, record, before))
        for place in places:
            self.changes.note_place(ops, *place)
        return result

    def apply_in_place(self, op: Op, target: Tensor, inputs: Any, params: Any) -> Tensor:
        try:
            return super().apply_in_place(op, target, inputs, params)
        except TracingError as error:
            self.needed(str(error))
            return inplace.apply_in_place(op, target, *inputs, **params)

    def copy_into(self, target: Tensor, source: Tensor) -> Tensor:
        try:
            return super().copy_into(target, source)
        except TracingError as error:
            self.needed(str(error))
            return inplace.copy_(target, source, True)

    def redraw(self, target: Tensor, fill: Any, inputs: Any) -> None:
        try:
            super().redraw(target, fill, inputs)
        except TracingError as error:
            self.needed(str(error))
            redraw(target, fill, *inputs)
            target._shared.version -= 1

    # --- data -----------------------------------------------------------------------------------

    def item(self, tensor: Tensor) -> Any:
        self.break_graph("item()")
        return tensor.item()

    def data_needed(self, tensor: Tensor) -> None:
        """Somebody asks for the elements of a tensor."""
        if tensor.aval.weak:
            return
        key = id(tensor._shared.memory)
        record = self.storages.get(key)
        if isinstance(tensor.flat, Value) or id(tensor) in self.existing or (
            key in self.makes or key in self.argument_of or self.existed(key)
            or (record is not None and record.count)
        ):
            self.needed("the elements of a tensor")

    def identity_needed(self, tensor: Tensor, what: str) -> None:
        if id(tensor) in self.existing:
            self.needed(f"a tensor's {what}")

    def memory_needed(self, storage: Storage) -> None:
        key = id(storage)
        if key in self.storages or key in self.makes or key in self.argument_of or (
            self.existed(key)
        ):
            self.needed("the memory of a tensor")

    def reveal(self, value: Value) -> Any:
        """The elements of a value that somebody takes for a tensor's data, or its storage's."""
        if self not in state.interpreters:
            refuse_data("elements")
        for node in self.graph.nodes if value.aval.weak else ():
            if node.op is MAKE and node.outputs[0] is value:  # a number that follows from sizes
                return node.params["function"](*map(fixed, node.params["arguments"])).reshape(1)
        return elements_of(
            value, self.live_tensors, lambda: self.break_graph("the memory of a tensor")
        )

    def needed(self, what: str) -> None:
        """Leave, unless a host call or the rest of the body runs op by op."""
        if self in state.interpreters:
            self.break_graph(what)

    def thread_starts(self, thread: threading.Thread) -> None:
        """A thread is about to start, which may read what was computed."""
        self.needed("what another thread may read")

    def break_graph(self, reason: str) -> None:
        """Run what was traced; from here on the call runs op by op."""
        if self.whole or state.interpreters[-1] is not self:
            refuse_data(reason)
        self.finish_failed()
        try:
            if not self.graph_break:
                self.graph_break = f"{user_line()} needs {reason}"
                self.make_concrete()
                self.materialise()
        finally:
            self.exit()

    def outside(self, function: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
        """Call a function on real tensors, and leave."""
        name = function.name if isinstance(function, Op) else function.__name__
        self.break_graph(f"real memory for {name}()")
        return function(*args, **kwargs)

    def host(self, function: Callable[..., Any], args: Any, kwargs: Any) -> Any:
        """A call that works on real tensors, made at each run at this place."""
        if any(isinstance(v, _CALLED) for v in (*args, *kwargs.values())):
            # what it calls belongs to this call of the user's function alone
            return self.outside(function, *args, **kwargs)
        if self.whole:
            raise TracingError(f"its backward pass, which is run later, calls {function.__name__}")
        self.finish_failed()
        if self.sizes is not None and self._sized(args, kwargs):
            self.make_concrete()
        self.materialise()
        constants = self._constants_of((*args, *kwargs.values()))
        given = self._placed(args), {k: self._placed(v) for k, v in kwargs.items()}
        self.exit()
        try:
            result = function(*args, **kwargs)
        finally:
            self.enter()
        step = HostCall(function, given, state.grad_enabled, constants)
        if isinstance(result, Tensor):
            storage = result._shared.memory
            self.kept.append(storage)
            step.key = id(storage)
            self.makes.add(step.key)
            self.made[step.key] = storage.buffer
        elif result is not None and result is not True:
            self.break_graph("what a host call returns")
        self.steps.append(step)
        return result

    def _constants_of(self, values: Any) -> list[tuple[int, Any]]:
        """Memory that the call has made from nothing and a host call may write to, with what is in
        it before: each run has its own from here on."""
        found = []
        for value in values:
            if type(value) in (tuple, list):
                found += self._constants_of(value)
            elif isinstance(value, Tensor) and not value.aval.sharded:
                storage = value._shared.memory
                key = id(storage)
                known = key in self.makes or key in self.argument_of or self.existed(key)
                if not known and id(value) not in self.existing:
                    self.kept.append(storage)
                    self.makes.add(key)
                    self.made[key] = storage.buffer
                    found.append((key, storage.buffer.copy()))
        return found

    def _placed(self, value: Any) -> Any:
        """``value`` with places for the tensors that belong to this call."""
        if isinstance(value, Tensor):
            for place, argument in enumerate(self.arguments):
                if argument is value:
                    return InputSpec(ARGUMENT, place, False, None)
            return value if id(value) in self.existing else output_spec(self, value)
        return type(value)(map(self._placed, value)) if type(value) in (tuple, list) else value

    def materialise(self) -> None:
        """Close the partition, run it, and give the traced tensors that are alive their data."""
        live: dict[int, list[Tensor]] = {}
        for reference in self.live_tensors:
            tensor = reference()
            if tensor is not None and isinstance(tensor.flat, Value):
                live.setdefault(id(tensor._shared.memory), []).append(tensor)
        outputs: list[tuple[Any, Value]] = []
        for key, tensors in live.items():
            if isinstance(tensors[0]._shared.memory.buffer, Value):
                outputs.append((key, self.storages[key].value))
                self.makes.add(key)
        outputs += self.saved
        self.saved = []
        changes = self.changes
        changes.close(self.graph, self.sources, self.storages, self.written, live)
        refilled = set(self.refilled)
        unbound = self._traced(outputs)
        self.exit()
        try:
            if unbound is not None:
                partition = self._bound(unbound)
                results = partition.compute(self.made, self.arguments)
                if partition.writes:
                    partition.write(self.made, self.arguments, results)
                self.steps.append(partition)
            self._hand_out(live)
        except BaseException as error:
            self.failed = True
            new = self.refilled.keys() - refilled
            changes.refilled = {key: self.refilled.pop(key) for key in new}
            changes.undo()
            self._forget()
            if isinstance(error, Exception):
                self.unfinished = changes
            if self.graph_break:
                self.finish_failed()
            raise
        finally:
            self.changes = UndoLog()
            self.enter()
            following = Graph()
            following._count = self.graph._count
            self.graph = following

    def finish_failed(self) -> None:
        """Do once more what the ops before a failed one have done, where the call goes on or ends
        with that."""
        unfinished, self.unfinished = self.unfinished, None
        if unfinished is None:
            return
        entered = self in state.interpreters
        if self.sizes is not None:
            following, self.graph = self.graph, unfinished.graph
            self.sources, self.storages = unfinished.sources, unfinished.storages
            self.make_concrete()
            self.graph, self.sources, self.storages = following, [], {}
        self.exit()
        try:
            unfinished.redo(self.made, self.arguments)
        finally:
            if entered:
                self.enter()

    def end(self) -> None:
        """The call has raised: leave what eager code leaves."""
        self.finish_failed()
        if not self.graph_break:
            self.graph_break = "the call has raised"
            self.make_concrete()
            self.materialise()

    def _hand_out(self, live: dict[int, list[Tensor]]) -> None:
        """Give tensors the data that was computed."""
        for key, storage in self.refilled.items():
            storage.buffer[...] = self.made[key]
            self.made[key] = storage.buffer  # which a host call may write to
        for key, tensors in live.items():
            storage = tensors[0]._shared.memory
            if isinstance(storage.buffer, Value):
                storage.buffer = self.made[key]
            give_data(storage, tensors)
            self.handed += map(weakref.ref, tensors)
        self._forget()

    def _forget(self) -> None:
        """A partition has ended."""
        self.live_tensors.clear()
        self.storages.clear()
        self.written.clear()
        self.sources = []

    def _traced(self, outputs: list[tuple[Any, Value]]) -> UnboundPartition | None:
        """What was traced, with these outputs; None when nothing was done."""
        graph = self.graph
        writes = [(r.owner, r.value) for r in self.written if r.owner.kind != CONSTANT]
        self.changed += [owner for owner, _ in writes]
        for record in self.written:
            if record.owner.kind == CONSTANT:
                key, storage = next(
                    (id(x), x) for x in self.kept if self.storages.get(id(x)) is record
                )
                outputs.append((key, record.value))
                self.makes.add(key)
                self.refilled[key] = storage
        gradients = self._gradients()
        if not graph.nodes and not outputs and not writes and not gradients:
            return None
        if self.sizes is not None:
            self.rooms.update((key, value.aval.extent) for key, value in outputs)
        return UnboundPartition(graph, self.sources, outputs, writes, gradients)

    def _bound(self, unbound: UnboundPartition) -> Partition:
        """What was traced, bound to memory."""
        unbound.versions = counted_writes(self)
        if self.sizes is None:
            return unbound.bind()
        self.unspecialized.append(unbound)
        return Specialization(self.sizes).partition(unbound)

    def _gradients(self) -> list[tuple[InputSpec, OutputSpec | None]]:
        """Leaves whose ``grad`` is another since the last partition."""
        found: list[tuple[InputSpec, OutputSpec | None]] = []
        for leaf, before in self.leaves.values():
            now = leaf._grad
            if now is not before:
                source = leaf_spec(self, leaf)
                found.append((source, None if now is None else output_spec(self, now)))
        self.leaves = {}
        return found

    def note_leaf(self, leaf: Tensor, read: bool) -> None:
        """The ``grad`` of a leaf is about to be read or replaced."""
        if self not in state.interpreters:
            return
        if leaf._node is not None and tape.has_hooks(leaf._node):
            self.hooked = True
        self.changes.note_gradient(len(self.graph.nodes), leaf)
        self.first_uses.setdefault(id(leaf), (leaf, leaf._grad, read))
        self.leaves.setdefault(id(leaf), (leaf, leaf._grad))

    def grads(self) -> list[tuple[InputSpec, Tensor | None]]:
        """Leaves whose ``grad`` the call depends on, and the ``grad`` they had at first."""
        return [
            (leaf_spec(self, leaf), before)
            for leaf, before, read in self.first_uses.values()
            if read and (id(leaf) in self.existing)
        ]

    def is_from_outside(self, tensor: Tensor) -> bool:
        """Whether a tensor is older than the call."""
        return id(tensor) in self.existing

    def is_view(self, tensor: Tensor) -> bool:
        """Whether a tensor is a view, in autodiff's sense, of one from outside of the call."""
        history = tensor._node
        return type(history) is tape.ViewHistory and id(history.base) in self.existing

    @staticmethod
    def base_tracked(view: Tensor) -> bool:
        """Whether autodiff follows a view's base, and so what is written through the view."""
        return tape.requires_grad(view._node.base)  # type: ignore[union-attr]

    def outlived(self) -> bool:
        """Whether a tensor of the call still exists that is neither a result nor a gradient."""
        expected = {id(leaf._grad) for leaf, _, _ in self.first_uses.values()}
        for step in self.steps:
            for node in step.graph.nodes if isinstance(step, Partition) else ():
                cells = getattr(node.params.get("fill"), "__closure__", None)
                expected.update(id(cell.cell_contents) for cell in cells or ())
        live_tensors = (reference() for reference in self.handed)
        return any(x is not None and id(x) not in expected for x in live_tensors)
