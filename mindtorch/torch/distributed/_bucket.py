"""What communication hooks of DistributedDataParallel get."""

from __future__ import annotations

from typing import Any


class GradBucket:
    """All gradients of one type, one after another, as communication hooks get them.

    Args:
        buffer: the gradients, in one vector.
        parameters: whose they are.
        index: the bucket's number.
        last: whether it is the last one of the pass.
    """

    def __init__(self, buffer: Any, parameters: list[Any], index: int, last: bool) -> None:
        self._buffer = buffer
        self._parameters = parameters
        self._index = index
        self._last = last

    def buffer(self) -> Any:
        """A flat tensor."""
        return self._buffer

    def set_buffer(self, tensor: Any) -> None:
        self._buffer = tensor

    def gradients(self) -> list[Any]:
        """Views of the buffer, one for each parameter."""
        sizes = [p.aval.size for p in self._parameters]
        parts = self._buffer.split(sizes)
        return [g.view(p.shape) for g, p in zip(parts, self._parameters, strict=True)]

    def parameters(self) -> list[Any]:
        return list(self._parameters)

    def index(self) -> int:
        return self._index

    def is_last(self) -> bool:
        return self._last
