"""Where tensors lie in memory that a lazy run has read."""

from __future__ import annotations

from ...autograd import tape
from ...tensor import Tensor
from ..capture.tracer import TracedStorage


def inside(tensor: Tensor, record: TracedStorage) -> bool:
    """Whether a real tensor lies in what was captured of its memory."""
    start = tensor._offset - record.base_offset
    if tensor.aval.dtype is not record.base_aval.dtype:
        return False
    return start >= 0 and start + tensor.aval.extent <= record.base_aval.extent


def without_gaps(target: Tensor) -> Tensor:
    """The tensor, or the one that it is a view of: its memory is written back as a whole."""
    while not target.aval.dense and type(target._node) is tape.ViewHistory:
        target = target._node.parent
    return target


def overlap(tensor: Tensor, record: TracedStorage) -> bool:
    """Whether a tensor may have elements in what was captured of its memory."""
    first, base = tensor._offset, record.base_offset
    return first < base + record.base_aval.extent and base < first + tensor.aval.extent
