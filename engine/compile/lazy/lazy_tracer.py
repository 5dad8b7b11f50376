"""Lazy mode: Python runs, kernels wait; what was seen before runs compiled.

The user's code runs at each call, with tensors whose data is still to come. Each op is compared
with what followed the same ops before, in a tree of :class:`.trace_tree.TraceNode`; where it is the
same, nothing is derived again. Where data is needed (``item()``, ``print``, an optimizer's step,
the end) the path from the root is a partition: it is bound once and run, and the tensors that are
alive get data.

A branch on data is another child in the tree; a number that is only appended to a list is none.
"""

from __future__ import annotations

import weakref
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from ...autograd import backward, inplace, tape
from ...autograd.saved_tensors import saved_tensor_hooks
from ...aval import aval
from ...dispatch import recorded, state, tensor_of
from ...numpy_aliases import may_be_seen
from ...op import Op
from ...switches import switches
from ...tensor import (
    Storage,
    Tensor,
    captures,
    inferring,
    levels,
    make,
    note_origin,
)
from ...transforms.vmap import redraw
from ..capture import dtype_views
from ..capture.index_checks import may_fail
from ..capture.traced_storage import TracedStorage, inside, overlap, without_gaps
from ..capture.tracer import (
    TracingError,
    check_type,
    elements_of,
    plan_without_kernel,
    recording,
    refuse_data,
    strong,
    user_line,
)
from ..ir.ir import DRAW, Value, waits
from .backward_cache import cache_entry, inputs_of, kept_by, set_gradients, visit
from .pending_ops import PendingOps
from .trace_tree import TraceNode, TraceTree

_new = object.__new__
_reference = weakref.ref
# so many ops wait at most
MOST_WAITING = 20_000
# bytes of an array that others see, up to which it is copied when read
_LARGE, _ANY_SIZE = 1 << 20, 1 << 62
# so many backward passes are known at one place
MOST_PASSES = 16


class LazyTracer(PendingOps):
    """One run of user code over a tree.

    Attributes:
        pause: given the run of a whole script, ends lazy mode until what it gives is called;
            :mod:`.script_mode` sets it.
    """

    pause: Callable[[LazyTracer], Callable[[], None]]

    is_capture = True
    graph_break = ""
    large = _LARGE

    # --- values -------------------------------------------------------------------------------

    def value_of(self, tensor: Tensor) -> Value:
        flat = tensor.flat
        storage = tensor._storage
        if storage is None:
            if type(flat) is Value:
                return flat
            storage = tensor._shared
        if type(storage) is not Storage:
            storage = storage.memory
        record = self.storages.get(id(storage))
        if id(storage) in self.copied:
            return self._of_copied(tensor, storage)
        if record is None:
            if self.position.depth > MOST_WAITING:
                self.sync(within=True)
            record = self._capture(tensor, storage)
            if tensor.aval is record.base_aval:
                return record.value
        elif not record.count and tensor.aval is record.base_aval and (
            tensor._offset == record.base_offset
        ):
            return record.value
        elif type(flat) is not Value:
            part = self._part(tensor, storage, record)
            if part is not None:
                return part.value
            if not inside(tensor, record):
                if tensor.aval.dtype is record.base_aval.dtype:
                    self._widen(tensor)
                self.sync(within=True)
                record = self._capture(tensor, storage)
        elif id(storage) in self.parts and not inside(tensor, record):
            return self._of_part(tensor, storage)
        return super().value_of(tensor)

    def _of_copied(self, tensor: Tensor, storage: Storage) -> Value:
        """The value of memory that others may have written to since it was copied."""
        self.parts.pop(id(storage), None)
        waits = type(tensor.flat) is Value
        record = self._capture(self.copied[id(storage)] if waits else tensor, storage)
        if tensor.aval is record.base_aval and tensor._offset == record.base_offset:
            return record.value
        return self._derive(record, tensor.aval, tensor._offset)

    def _of_part(self, tensor: Tensor, storage: Storage) -> Value:
        """The value of a view that was derived from a part."""
        for part in self.parts.get(id(storage), {}).values():
            if part.count and overlap(tensor, part):
                if inside(tensor, part):
                    return self._derive(part, tensor.aval, tensor._offset)
                self.sync(within=True)
                return self.value_of(tensor)
        value: Value = tensor.flat
        return value

    def _part(
        self, tensor: Tensor, storage: Storage, record: TracedStorage
    ) -> TracedStorage | None:
        """What a part of memory holds that is read besides another part; None where they overlap
        and one of them was written to, or where the types differ."""
        parts = self.parts.setdefault(id(storage), {})
        place = tensor._offset, tensor.aval
        part = parts.get(place)
        if part is None and tensor.aval.dtype is record.base_aval.dtype:
            if any(r.count and overlap(tensor, r) for r in (record, *parts.values())):
                return None
            part = parts[place] = self._read(tensor)
        return part

    def _record(self, target: Tensor) -> TracedStorage:
        """What is written to; parts of the same memory that were read before are forgotten."""
        storage = target._shared.memory
        record = self.storages[id(storage)]
        parts = self.parts.get(id(storage))
        if parts:
            part = parts.get((target._offset, target.aval))
            if part is not None and not overlap(target, record):
                record = part
            for place, each in list(parts.items()):
                if each is not record and overlap(target, each):
                    del parts[place]
        return record

    def values_of(self, inputs: Any) -> tuple[Any, ...]:
        """The values that an op's inputs have now.

        Raises:
            TracingError: to have a later one, what waited was run, which the earlier belong to.
        """
        began = self.began
        values = super().values_of(inputs)
        if self.began != began and len(values) > 1:
            raise TracingError("parts of one memory that were not read together before")
        return values

    def _widen(self, tensor: Tensor) -> None:
        """Remember that more of the memory is needed than its first tensor shows."""
        first = self.firsts.get(id(tensor._shared.memory))
        if first is None:  # a copy was made
            return
        node, offset = first
        low, high = node.reach or (0, node.aval.extent)
        start = tensor._offset - offset
        node.reach = min(low, start), max(high, start + tensor.aval.extent)

    def _reaching(self, tensor: Tensor) -> Tensor:
        """The tensor, or the flat one over so much of its memory as was needed before."""
        for node in self.position.children:
            if node.reach is not None and node.aval is tensor.aval:
                start, stop = (tensor._offset + end for end in node.reach)
                storage = tensor._shared
                if start < 0 or stop > storage.buffer.size:
                    break
                self.firsts[id(storage.memory)] = node, tensor._offset
                described = aval((stop - start,), tensor.aval.dtype, None, tensor.aval.device)
                return make(storage.buffer[start:stop], described, storage, start)
        return tensor

    def _capture(self, tensor: Tensor, storage: Storage | None = None) -> TracedStorage:
        if storage is None:
            storage = tensor._shared.memory
        self.kept.append(storage)
        buffer = storage.buffer
        if type(buffer) is Value:
            record = TracedStorage(buffer, buffer.aval, None)
        else:
            described = tensor.aval
            if buffer.dtype is not described.dtype.np:
                check_type(tensor)
            first = tensor
            for node in self.position.children:
                if node.reach is not None and node.aval is described:
                    first = self._reaching(tensor)
                    break
            record = self._read(first)
            if first is tensor:
                self.firsts[id(storage)] = self.position, tensor._offset
        self.storages[id(storage)] = record
        return record

    def _read(self, tensor: Tensor) -> TracedStorage:
        """A tensor's memory as the partition finds it."""
        memory = tensor._shared.memory
        if may_be_seen(memory):
            if tensor.flat.nbytes > self.large:
                error = TracingError("a large array that others see")
                error.large = True
                raise error
            self.copied[id(memory)] = tensor
            tensor = _copied(tensor)
        value = self._from_outside(tensor.aval, tensor)
        return TracedStorage(value, tensor.aval, len(self.given) - 1, tensor._offset)

    def _remember(self, tensor: Tensor) -> None:
        """See to it that the tensor's memory has a record."""
        storage = tensor._storage
        if storage is None or type(storage) is not Storage:
            storage = tensor._shared.memory
        if id(storage) not in self.storages:
            self._capture(tensor, storage)

    def _write(self, target: Tensor, source: Tensor, whole: bool = False) -> Tensor:
        self._remember(without_gaps(target))
        record = self.storages[id(target._shared.memory)]
        if type(target.flat) is not Value and not inside(target, record):
            if overlap(target, record):
                self.sync(within=True)
            self.value_of(target)
        record = self._record(target)
        if not record.base_aval.dense:
            raise TracingError("a write to memory that was read with gaps")
        super()._write(target, source, whole)
        self.writes_in_order.append((target._shared.memory, record, record.value))
        return target

    def _from_outside(self, described: Any, tensor: Tensor) -> Value:
        """The value of a tensor that the partition finds; a number is part of what is compared."""
        number = tensor.flat.item() if described.weak else None
        numbers = 0
        for node in self.position.children:
            if node.op is None and node.aval is described:
                if not described.weak or _same(node.number, number) or node.number is Ellipsis:
                    return self._taken(node, (tensor,), ()).value  # type: ignore[return-value]
                numbers += 1
        node = TraceNode(self.position, None, (), {})
        node.aval = described
        node.value = Value(self.count, described)
        node.number = Ellipsis if numbers > 1 else number
        self.tree.nodes += 1
        self.position.children.insert(0, node)
        return self._taken(node, (tensor,), ()).value  # type: ignore[return-value]

    def _step(self, node: TraceNode) -> TraceNode:
        """Go on to an entry that follows."""
        self._put_first(node)
        count = self.count + len(node.outputs)
        self.position, self.count = node, count
        return node

    def _taken(self, node: TraceNode, given: Any, fills: Any) -> TraceNode:
        """Go on to an entry of one value, with what this run gives it."""
        self._put_first(node)
        # nothing is called in here: a signal finds that the entry has it, or is not reached
        self.given += given
        self.fills += fills
        self.position, self.count = node, self.count + 1
        return node

    def _put_first(self, node: TraceNode) -> None:
        children = self.position.children
        if children[0] is not node:
            children.insert(0, node)
            del children[children.index(node, 1)]

    def _grown(self, node: TraceNode, values: int) -> TraceNode:
        """Go on to an entry that is new."""
        self.tree.nodes += 1
        self.position.children.insert(0, node)
        self.position, self.count = node, self.count + values
        return node

    def emit(self, op: Any, inputs: Any, params: dict[str, Any]) -> tuple[Value, ...]:
        """The results' values of an op: known ones where it was met here before."""
        inputs = tuple(inputs)
        for node in self.position.children:
            if node.op is op and node.inputs == inputs and node.params == params:
                return self._step(node).outputs
        derived = op.aval(*[None if v is None else v.aval for v in inputs], **params)
        avals = derived if isinstance(derived, tuple) else (derived,)
        node = TraceNode(self.position, op, inputs, params)
        node.line = user_line()
        node.outputs = tuple(Value(self.count + i, a) for i, a in enumerate(avals))
        return self._grown(node, len(avals)).outputs

    def draw(self, described: Any, fill: Any, inputs: Any) -> Tensor:
        with self._any_size():
            try:
                values = self.values_of(inputs)
            except TracingError:
                self.sync(within=True)
                values = self.values_of([_copied(x) for x in inputs])
        for node in self.position.children:
            if node.op is DRAW and node.inputs == values and (
                node.params["described"] is described
            ):
                return self._tensor(self._taken(node, (), (fill,)).outputs[0])
        node = TraceNode(self.position, DRAW, values, {"described": described})
        node.params["fill"] = node.draw
        node.outputs = (Value(self.count, described),)
        self.tree.nodes += 1
        self.position.children.insert(0, node)
        return self._tensor(self._taken(node, (), (fill,)).outputs[0])

    def _tensor(self, value: Value) -> Tensor:
        result = tensor_of(value, value.aval)
        if inferring or levels:
            note_origin(result)
        self.live_tensors.append(_reference(result))
        return result

    def shared(self, tensor: Tensor) -> None:
        """A tensor was made over the memory of another one."""
        if type(tensor.flat) is Value:
            self.live_tensors.append(_reference(tensor))

    # --- ops ------------------------------------------------------------------------------------

    def apply(self, op: Op, inputs: Any, params: dict[str, Any]) -> Any:
        if op.view is not None and type(inputs[0].flat) is not Value and op not in (
            dtype_views.VIEWS
        ) and not tape.requires_grad(inputs[0]):
            return self._at_once(op, *inputs, **params)  # memory that is there: nothing is computed
        # it may raise, and whoever called it may wait for that
        if params.get("check") or may_fail(op, inputs, params, self.is_written):
            return self.outside(op, *inputs, **params)
        try:
            values = self.values_of(inputs)
        except TracingError as error:
            if error.large:
                return self._with_large(op, inputs, params)
            return self.outside(op, *inputs, **params)
        if op in dtype_views.VIEWS:
            self._remember(inputs[0])
            return self._apply_retyped(op, inputs[0])
        outputs = self.emit(op, values, params)
        node = self.position
        plan = node.traced_plan
        if plan is None:
            plan = plan_without_kernel(inputs, outputs)
            derived = op.aval(*[None if v is None else v.aval for v in values], **params)
            node.several = isinstance(derived, tuple)
            if op.view is not None:
                node.offset = op.view(*[x.aval for x in inputs], **params)
            node.traced_plan = plan  # last: it says that the rest is known
        mode = recording()
        if op.view is not None:
            self._remember(inputs[0])
            return self._apply_view(op, plan, mode, inputs, params, outputs[0])
        made = tuple([self._tensor(v) for v in outputs])
        results = recorded(op, plan, mode, inputs, params, made)
        return results if node.several else results[0]

    def _with_large(self, op: Op, inputs: Any, params: Any) -> Any:
        """Apply an op to a large array that others see: at once where it takes a part of it, so
        that not all is copied."""
        avals = [None if x is None else x.aval for x in inputs]
        derived = op.aval(*avals, **params)
        made = sum(a.size for a in (derived if isinstance(derived, tuple) else (derived,)))
        if op.view is not None or 2 * made <= max(a.size for a in avals if a is not None):
            return self.outside(op, *inputs, **params)
        with self._any_size():
            return self.apply(op, inputs, params)

    @contextmanager
    def _any_size(self) -> Iterator[None]:
        """Copy what others see, however large it is."""
        self.large, before = _ANY_SIZE, self.large
        try:
            yield
        finally:
            self.large = before

    def apply_in_place(self, op: Op, target: Tensor, inputs: Any, params: Any) -> Tensor:
        if self._shown(target):
            return self.outside(inplace.apply_in_place, op, target, *inputs, **params)
        try:
            super().apply_in_place(op, target, inputs, params)
        except TracingError:
            return self.outside(inplace.apply_in_place, op, target, *inputs, **params)
        return self._written_to(target)

    def copy_into(self, target: Tensor, source: Tensor) -> Tensor:
        if self._shown(target):
            return self.outside(inplace.copy_, target, source, True)
        try:
            super().copy_into(target, source)
        except TracingError:
            return self.outside(inplace.copy_, target, source, True)
        return self._written_to(target)

    def _shown(self, target: Tensor) -> bool:
        """Whether what is written must be seen at once, by arrays over the same memory."""
        memory = target._shared.memory
        return id(memory) in self.copied or may_be_seen(memory)

    def _written_to(self, target: Tensor) -> Tensor:
        """Memory that others may look at is written at once."""
        if may_be_seen(target._shared.memory):
            self.sync()
        return target

    def redraw(self, target: Tensor, fill: Any, inputs: Any) -> None:
        if self._shown(target) or not target.aval.dense:
            self.outside(redraw, target, fill, *inputs)
            target._shared.version -= 1
            return
        drawn = self.draw(strong(target.aval), fill, inputs)
        try:
            self._write(target, drawn)
        except TracingError:
            self.outside(inplace.copy_, target, drawn)
        target._shared.version -= 1
        self._written_to(target)

    def _remember_leaves(self, inputs: Any) -> None:
        """Gradients are tensors like all others here."""

    def note_leaf(self, leaf: Tensor, read: bool) -> None:
        if self not in state.interpreters:
            return
        known = self.first_grads.get(id(leaf))
        now = leaf._grad if read else None  # what is replaced by the user does not come back
        if not read or known is None or (
            known[1] is None and now is not None and not waits(now)
        ):
            self.first_grads[id(leaf)] = (leaf, now)

    def walk(self, run: backward.Pass, roots: list[Any]) -> bool:
        """Run a backward pass, or take a cached one; whether the caller has nothing left to do."""
        if len(backward.running()) > 1 or run.create_graph or run.targets is not None or (
            not switches.vjp_cache or tape.anomaly.enabled or saved_tensor_hooks
            or state.interpreters[-1:] != (self,)
        ):
            return False
        visited = visit(roots, self.started, self.began)
        if visited is None:
            return False
        key, nodes, leaves = visited
        for leaf in leaves:
            self.note_leaf(leaf, True)
        start, began, before = self.position, self.began, len(self.given)
        for cached in start.passes:
            if cached.key == key:
                given = inputs_of(cached, nodes, roots)
                if given is not None:
                    self.given += given
                    self.position, self.count = cached.end, cached.count
                    set_gradients(cached, visited, self._tensor, run.retain_graph)
                    return True
        kept = kept_by(nodes)
        run.run_nodes(roots)
        if self.began == began and len(start.passes) < MOST_PASSES:
            given = self.given[before:]
            new = cache_entry(visited, start, self.position, self.count, given, roots, kept)
            if new is not None:
                start.passes = (*start.passes, new)
        return True

    # --- data -----------------------------------------------------------------------------------

    def outside(self, function: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
        """Call a function on real tensors."""
        self.sync()
        return self._at_once(function, *args, **kwargs)

    def host(self, function: Callable[..., Any], args: Any, kwargs: Any) -> Any:
        return self.outside(function, *args, **kwargs)

    def item(self, tensor: Tensor) -> Any:
        self._check_innermost("item()")
        return self.outside(tensor.item) if self._waits(tensor) else self._at_once(tensor.item)

    def _at_once(self, function: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
        """Call a function that needs nothing of what waits."""
        try:
            self.exit()
            return function(*args, **kwargs)
        finally:
            try:
                self.enter()
            except BaseException:  # of a signal
                self.enter()
                raise

    def is_from_outside(self, tensor: Tensor) -> bool:
        """Whether a tensor is older than what waits."""
        return type(tensor.flat) is not Value

    def _waits(self, tensor: Tensor) -> bool:
        """Whether the tensor's elements are still to be computed or written."""
        if type(tensor.flat) is Value:
            return True
        if tensor._storage is None:
            return False
        return self.is_written(tensor._storage.memory)

    def is_written(self, storage: Storage) -> bool:
        parts = self.parts.get(id(storage), {}).values()
        return super().is_written(storage) or any(part.count for part in parts)

    def data_needed(self, tensor: Tensor) -> None:
        if self in state.interpreters and self._waits(tensor):
            self.needed("the elements of a tensor")

    def memory_needed(self, storage: Storage) -> None:
        if self in state.interpreters and id(storage) in self.storages:
            self.needed("the memory of a tensor")

    def needed(self, what: str) -> None:
        if self in state.interpreters:
            self._check_innermost(what)
            self.sync()

    def break_graph(self, what: str) -> None:
        """What a capture would end at: the ops so far are run."""
        self.needed(what)

    def raw_write(self, tensor: Tensor) -> None:
        """Memory is about to be written to by other means than an op."""
        if self in state.interpreters and tensor._storage is not None and (
            id(tensor._storage.memory) in self.storages or self._waits(tensor)
        ):
            self.sync()

    def reveal(self, value: Value) -> Any:
        """The elements of a value that somebody takes for a tensor's data."""
        if state.interpreters[-1] is not self:
            refuse_data("elements")
        return elements_of(value, self.live_tensors, self.sync)

    def materialise(self) -> None:
        """Run what waits."""
        self.sync()

    def _check_innermost(self, what: str) -> None:
        if state.interpreters[-1] is not self:
            refuse_data(what)


def _copied(tensor: Tensor) -> Tensor:
    copied = make(tensor.flat.copy(), tensor.aval)
    copied._offset = tensor._offset
    return copied


def _same(a: Any, b: Any) -> bool:
    """Equal numbers of one type; -0.0 is not 0.0, and NaN is NaN."""
    return a is not Ellipsis and type(a) is type(b) and repr(a) == repr(b)


def run_lazily(tree: TraceTree, function: Callable[..., Any], args: Any, kwargs: Any) -> Any:
    """Call ``function`` in lazy mode: its ops are pending until their data is needed."""
    run = LazyTracer(tree)
    try:
        captures.append(run)
        run.enter()
        try:
            return function(*args, **kwargs)
        finally:
            run.sync()
    finally:
        try:
            run.end()
        except BaseException:  # of a signal
            run.end()
            raise
