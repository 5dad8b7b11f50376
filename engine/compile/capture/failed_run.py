"""A partition that fails in its first run: it leaves what the ops before the failure have done.

A trace notes what it changes in tensors that others hold, each time with how many ops came before.
Where a kernel raises, all of it is taken back. If the function may not run a second time, the ops
then run one by one up to the one that fails, and what came before that is done again.
"""

from __future__ import annotations

import weakref
from collections.abc import Callable
from functools import partial
from typing import Any

from ...op_nodes import run_until_error
from ...tensor import Storage, Tensor, fields_of, make, typed_buffer
from ..ir.ir import Graph, Value, waits
from ..runtime.partition import CONSTANT, InputSpec, copy_to_layout
from .traced_storage import TracedStorage


class UndoLog:
    """What a trace has changed since its last partition, to take it back and to do it again.

    Attributes:
        gradients: (number of ops before, leaf, what gives its ``grad`` until then).
        writes: (number of ops up to the write's last one, target's storage, its version and the
            value of its memory until then, and what stands for that memory).
        places: tensors written to, by their ids: (weak reference, place in autodiff's graph before
            as node and index, number of ops up to the last write).
        graph: of the partition, before the passes.
        sources: where the memory of its inputs is.
        storages: what stands for memory, by the storages' ids.
        refilled: constants that it writes to, by their ids.
    """

    def __init__(self) -> None:
        self.gradients: list[tuple[int, Tensor, Callable[[], Tensor | None]]] = []
        self.writes: list[tuple[int, Any, int, TracedStorage, Value]] = []
        self.places: dict[int, list[Any]] = {}
        self.graph = Graph()
        self.sources: list[tuple[Value, InputSpec]] = []
        self.storages: dict[int, TracedStorage] = {}
        self.refilled: dict[int, Storage] = {}

    def note_gradient(self, ops: int, leaf: Tensor) -> None:
        """A leaf's ``grad`` is about to be read or replaced."""
        gradient = leaf._grad
        if gradient is not None and waits(gradient):  # which is computed only if others hold it
            self.gradients.append((ops, leaf, weakref.ref(gradient)))
        else:
            self.gradients.append((ops, leaf, lambda: gradient))

    def note_place(self, ops: int, tensor: Tensor, node: Any, index: int) -> None:
        """A tensor was written to that had this place in autodiff's graph."""
        key = id(tensor)
        if key not in self.places:
            # held, it and what it is a view of would count as what others still see
            forget = partial(_forget_place, weakref.ref(self), key)
            self.places[key] = [weakref.ref(tensor, forget), node, index, ops]
        self.places[key][3] = ops

    def close(
        self, graph: Graph, sources: list[tuple[Value, InputSpec]],
        storages: dict[int, TracedStorage], written: list[TracedStorage],
        live: dict[int, list[Tensor]],
    ) -> None:  # fmt: skip
        """The partition is about to be run.

        ``live``: tensors of the call that still exist, by the ids of their storages."""
        self.graph.nodes = list(graph.nodes)
        self._inputs = [node.inputs for node in graph.nodes]  # which passes exchange
        self.sources, self.storages = sources, dict(storages)
        self._written, self._live = list(written), live

    def undo(self) -> None:
        """Make tensors what they were before."""
        self._after = {id(leaf): leaf._grad for _, leaf, _ in self.gradients}
        self._versions = {id(each[1]): each[1].version for each in self.writes}
        held = [(each[0](), *each[1:]) for each in list(self.places.values())]
        held = [each for each in held if each[0] is not None]
        self._nodes = [(x, x._node, x._output_index, last) for x, _, _, last in held]
        for _, leaf, gradient in reversed(self.gradients):
            leaf._grad = gradient()
        for _, storage, version, _, _ in reversed(self.writes):
            storage.version = version
        for tensor, node, index, _ in held:
            tensor._node, tensor._output_index = node, index

    def redo(self, made: dict[Any, Any], arguments: list[Tensor]) -> None:
        """Run the ops up to the one that fails, and leave what they have done."""
        for node, inputs in zip(self.graph.nodes, self._inputs, strict=True):
            node.inputs = inputs
        held = {v.number: make(s.flat(made, arguments), v.aval) for v, s in self.sources}
        done = run_until_error(self.graph.nodes, held)
        self._redo_writes(done, held, made, arguments)
        self._hand_out(held, made)
        self._redo_gradients(done)

    def _redo_writes(
        self, done: int, held: dict[int, Any], made: dict[Any, Any], arguments: list[Tensor]
    ) -> None:
        versions = dict(self._versions)
        for ops, storage, version, record, value in reversed(self.writes):
            if ops > done:
                record.value = value
                versions[id(storage)] = version
        for _, storage, _, _, _ in self.writes:
            storage.version = versions[id(storage)]
        given = {v.number for v, _ in self.sources}
        for record in self._written:
            value, source = record.value, record.owner
            if value.number in given or value.number not in held:
                continue
            target = source.flat(made, arguments)
            if source.kind == CONSTANT:
                target = next(x for k, x in self.refilled.items() if self.storages[k] is record)
                target = target.buffer
            flat = held[value.number].flat
            if value.aval.dense and value.aval.strides == source.described.strides:
                target[...] = flat[: value.aval.extent]
            else:
                copy_to_layout(target, source.described, flat, value.aval)
        for tensor, node, index, last in self._nodes:
            if last <= done:
                tensor._node, tensor._output_index = node, index

    def _hand_out(self, held: dict[int, Any], made: dict[Any, Any]) -> None:
        """Give tensors the data that was computed."""
        for key, tensors in self._live.items():
            storage = tensors[0]._shared.memory
            if isinstance(storage.buffer, Value):
                value = self.storages[key].value
                if value.number not in held:
                    continue
                made[key] = storage.buffer = held[value.number].flat[: value.aval.extent].copy()
            give_data(storage, tensors)

    def _redo_gradients(self, done: int) -> None:
        found = dict(self._after)
        for ops, leaf, gradient in reversed(self.gradients):
            now = found[id(leaf)]
            if ops > done or (now is not None and waits(now)):
                found[id(leaf)] = gradient()
        for _, leaf, _ in self.gradients:
            leaf._grad = found[id(leaf)]


def _forget_place(log: weakref.ref[UndoLog], key: int, _: Any) -> None:
    """A tensor that was written to is gone."""
    found = log()
    if found is not None:
        found.places.pop(key, None)


def give_data(storage: Storage, tensors: list[Tensor]) -> None:
    """Let tensors show the elements that their memory has now."""
    for tensor in tensors:
        flat = typed_buffer(storage, tensor.aval.dtype)
        first, extent = tensor._offset, tensor.aval.extent
        # all of it is the array itself, which the next run may fill again
        tensor.flat = flat if not first and extent == flat.size else flat[first : first + extent]
        fields_of(tensor).pop("_trace_stamp", None)
