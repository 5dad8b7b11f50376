"""What pending ops leave behind when one of them fails: what eager calls would have left."""

from __future__ import annotations

import contextlib
from typing import Any

from ...tensor import NO_DATA, Tensor, fields_of, make, typed_buffer
from ..ir.ir import Value, run_nodes, waits
from ..runtime.partition import copy_to_layout


class Computed:
    """The values of the ops before the one that fails, computed one op after another.

    Args:
        path: the trace nodes of the pending ops.
        given: the tensors from outside, in the order of the path.
    """

    def __init__(self, path: list[Any], given: list[Tensor]) -> None:
        inputs = [node.value for node in path if node.op is None]
        self._tensors = {
            v.number: make(x.flat, v.aval) for v, x in zip(inputs, given, strict=True)
        }
        with contextlib.suppress(Exception):  # the error has been raised, or will be
            run_nodes(
                [node for node in path if node.op is not None], self._tensors,
                lambda node, inputs: node.op.evaluate(0, tuple(inputs), node.params),
            )  # fmt: skip

    def __contains__(self, value: Value) -> bool:
        return value.number in self._tensors

    def flat(self, value: Value) -> Any:
        """The value's array, which nothing else refers to."""
        return self._tensors[value.number].flat[: value.aval.extent].copy()

    def data(self, value: Value) -> Any:
        """:meth:`flat`, or what stands for the data of a value that was not computed."""
        return self.flat(value) if value in self else NO_DATA


def keep_what_was_computed(
    computed: Computed, given: list[Tensor], writes: list[Any], first_grads: Any,
    waiting: list[Tensor],
) -> None:  # fmt: skip
    """Write what was written before the error, and give tensors the data that they have by then.

    Args:
        given: the tensors from outside.
        writes: (storage, its record, the value that it has from then on), in order.
        first_grads: pairs of a leaf and the gradient that it had before.
        waiting: the tensors that are alive and have no data yet; those that the failing op or a
            later one was to compute have none afterwards.
    """
    for leaf, before in first_grads:
        gradient = leaf._grad
        if gradient is not None and waits(gradient) and gradient.flat not in computed:
            leaf._grad = before
    for storage, record, value in writes:
        if value not in computed:
            continue
        if record.owner is None:
            storage.buffer = computed.flat(value)
        else:
            target = given[record.owner].flat
            copy_to_layout(target, record.base_aval, computed.flat(value), value.aval)
    for x in waiting:
        if x._storage is None:
            x.flat = computed.data(x.flat)
            continue
        memory = x._storage.memory
        if type(memory.buffer) is Value:
            memory.buffer = computed.data(memory.buffer)
        if memory.buffer is NO_DATA:
            x.flat = NO_DATA
            continue
        flat = typed_buffer(memory, x.aval.dtype)
        x.flat = flat[x._offset : x._offset + x.aval.extent]
        fields_of(x).pop("_trace_stamp", None)
