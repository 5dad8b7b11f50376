"""What pending ops leave behind when one of them fails: what eager calls would have left."""

from __future__ import annotations

from typing import Any

from ...op_nodes import run_until_error
from ...tensor import NO_DATA, Tensor, fields_of, make, typed_buffer
from ..ir.ir import Value, waits
from ..runtime.partition import copy_to_layout


def computed_before(path: list[Any], given: list[Tensor]) -> dict[int, Tensor]:
    """The values of the ops before the one that fails, computed one op after another; by number.

    Args:
        path: the trace nodes of the pending ops.
        given: the tensors from outside, in the order of the path.
    """
    inputs = [node.value for node in path if node.op is None]
    held = {v.number: make(x.flat, v.aval) for v, x in zip(inputs, given, strict=True)}
    run_until_error([node for node in path if node.op is not None], held)
    return held


def _data(computed: dict[int, Tensor], value: Value) -> Any:
    """The value's array, which nothing else refers to, or what stands for the data of one that was
    not computed."""
    found = computed.get(value.number)
    return NO_DATA if found is None else found.flat[: value.aval.extent].copy()


def keep_what_was_computed(
    computed: dict[int, Tensor], given: list[Tensor], writes: list[Any], first_grads: Any,
    waiting: list[Tensor],
) -> None:  # fmt: skip
    """Write what was written before the error, and give tensors the data that they have by then.

    Args:
        computed: of :func:`computed_before`.
        given: the tensors from outside.
        writes: (storage, its record, the value that it has from then on), in order.
        first_grads: pairs of a leaf and the gradient that it had before.
        waiting: the tensors that are alive and have no data yet; those that the failing op or a
            later one was to compute have none afterwards.
    """
    for leaf, before in first_grads:
        gradient = leaf._grad
        if gradient is not None and waits(gradient) and gradient.flat.number not in computed:
            leaf._grad = before
    for storage, record, value in writes:
        if value.number not in computed:
            continue
        if record.owner is None:
            storage.buffer = _data(computed, value)
        else:
            target = given[record.owner].flat
            copy_to_layout(target, record.base_aval, _data(computed, value), value.aval)
    for x in waiting:
        if x._storage is None:
            x.flat = _data(computed, x.flat)
            continue
        memory = x._storage.memory
        if type(memory.buffer) is Value:
            memory.buffer = _data(computed, memory.buffer)
        if memory.buffer is NO_DATA:
            x.flat = NO_DATA
            continue
        flat = typed_buffer(memory, x.aval.dtype)
        x.flat = flat[x._offset : x._offset + x.aval.extent]
        fields_of(x).pop("_trace_stamp", None)
