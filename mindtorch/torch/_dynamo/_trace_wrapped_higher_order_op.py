"""The block in which torch's vmap takes indexing by a scalar tensor for an op; ours always does."""

from __future__ import annotations

__all__ = ["TransformGetItemToIndex"]


class TransformGetItemToIndex:
    """A block around `vmap`: `x[i]` with a 0-d tensor `i` is an op, here also outside of it."""

    def __enter__(self) -> TransformGetItemToIndex:
        return self

    def __exit__(self, *exception: object) -> None:
        return None
