"""Where later runs of a capture find its tensors, and how they make those that it hands out."""

from __future__ import annotations

from typing import Any

from ...tensor import Tensor
from ..ir.ir import Value
from ..runtime.partition import ARGUMENT, CAPTURED, CONSTANT, MADE, InputSpec, OutputSpec


def leaf_spec(capture: Any, leaf: Tensor) -> InputSpec:
    """Where a run finds a leaf whose ``grad`` the call reads or sets."""
    place = capture.argument_of.get(id(leaf._shared.memory))
    if place is not None and capture.arguments[place] is leaf:
        return InputSpec(ARGUMENT, place, False, leaf.aval)
    return InputSpec(CAPTURED, leaf, False, leaf.aval)


def output_spec(capture: Any, tensor: Tensor) -> OutputSpec:
    """How a later run makes this tensor."""
    storage = tensor._shared.memory
    key = id(storage)
    offset = tensor._offset
    if key in capture.argument_of:
        place = capture.argument_of[key]
        memory = InputSpec(ARGUMENT, place, False, None)
        offset -= capture.arguments[place]._offset
    elif key in capture.makes or (
        key in capture.storages and isinstance(storage.buffer, Value)
    ):
        memory = InputSpec(MADE, key, True, None)
    elif id(tensor) in capture.existing:
        memory = InputSpec(CAPTURED, tensor, True, None)
    elif capture.existed(key):
        older = (x for x in capture.existing.values() if x._storage is not None)
        holder = next(x for x in older if x._storage.memory is storage)
        memory = InputSpec(CAPTURED, holder, True, None)
    else:
        memory = InputSpec(CONSTANT, storage.buffer, True, None)
    view = capture.is_view(tensor)
    found = OutputSpec(memory, tensor.aval, offset, None, type(tensor), view)
    if memory.kind == MADE:
        found.version = tensor._shared.version
    return found


def counted_writes(capture: Any) -> list[tuple[InputSpec, int]]:
    """How often tensors from outside were written to since the last partition."""
    found = []
    for storage, before in capture.versions.values():
        times = storage.version - before
        places = (i for i, x in enumerate(capture.arguments) if x._storage is storage)
        place = next(places, None)
        if place is not None:
            found.append((InputSpec(ARGUMENT, place, False, None), times))
            continue
        holder = next((x for x in capture.existing.values() if x._storage is storage), None)
        if holder is not None:
            found.append((InputSpec(CAPTURED, holder, False, None), times))
    capture.versions.clear()
    return found
