"""What stands for memory while a call is traced, and where tensors lie in it."""

from __future__ import annotations

from typing import Any

from ...autograd import tape
from ...tensor import Tensor
from ..ir.ir import Value


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
