"""Indices out of range: found where eager code finds them, before their op waits.

Kernels of waiting ops run when somebody looks, which is too late for ``except IndexError`` around
the op. Indices whose elements are there are compared with the sizes that they index; what may fail
runs at once and raises what it raises eagerly.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ...devices.device import cpu
from ...op import Op
from ...ops.base import WholeDivision
from ...symbolic_sizes import KINDS
from ...tensor import Tensor
from ..ir.ir import DRAW, Value


def _now(size: Any) -> int:
    return size.value if type(size) in KINDS else size


def draws_in_vain(nodes: Any) -> bool:
    """Whether one of these may fail at run time and one, perhaps the same, draws."""
    drawing = [node for node in nodes if node.op is DRAW]
    return bool(drawing) and (
        any(node.inputs for node in drawing) or any(node.op.checks_values for node in nodes)
    )


def elements(tensor: Tensor, is_written: Callable[[Any], bool]) -> Any:
    """The flat elements of a tensor; None where they are still to be computed or written, or on
    another device, whose work a look at them would have to wait for.

    ``is_written``: whether a write to a storage waits."""
    if tensor.aval.device is not cpu:
        return None
    storage = tensor._storage
    if storage is None:
        return None if type(tensor.flat) is Value else tensor.flat
    memory = storage.memory
    buffer = memory.buffer
    if type(buffer) is Value or is_written(memory) or (
        buffer.dtype != tensor.aval.dtype.np
    ):
        return None
    return buffer[tensor._offset : tensor._offset + _now(tensor.aval.extent)]


def _by_zero(inputs: Any, is_written: Callable[[Any], bool]) -> bool:
    """Whether whole numbers are divided by a zero that is there already."""
    if any(x.aval.dtype.is_floating_point or x.aval.dtype.is_complex for x in inputs):
        return False
    flat = elements(inputs[1], is_written)
    return flat is not None and not flat.all()


def may_fail(op: Op, inputs: Any, params: Any, is_written: Callable[[Any], bool]) -> bool:
    """Whether an index is out of range, of those whose :func:`elements` are there."""
    if op.index_bounds is None:
        return isinstance(op, WholeDivision) and _by_zero(inputs, is_written)
    for index, size, from_end, ignored in op.index_bounds(inputs, params):
        flat = elements(index, is_written)
        if flat is None or flat.dtype.kind not in "iu" or not flat.size:
            continue
        stop = _now(size)
        low = -stop if from_end else 0
        least, most = flat.min(), flat.max()
        if least < low or most >= stop:
            known = flat[flat != ignored] if ignored is not None else flat
            if known.size and (known.min() < low or known.max() >= stop):
                return True
    return False
