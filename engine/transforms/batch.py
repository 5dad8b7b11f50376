"""The data of a tensor that a mapped function sees: all examples, at one level of vmap."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NoReturn

from ..tensor import Tensor, alias, make

if TYPE_CHECKING:
    from .vmap import Vmap

BRANCH = (
    "vmap: It looks like you're attempting to use a Tensor in some data-dependent control flow. "
    "We don't support that yet, please file an issue at "
    "https://github.com/pytorch/pytorch/issues ."
)


class Batch:
    """Stands where a tensor's data would.

    Attributes:
        level: the vmap that it belongs to.
        tensor: all examples, the batch as axis 0; one for all examples unless ``batched``.
    """

    __slots__ = ("batched", "level", "tensor")

    def __init__(self, level: Vmap, tensor: Tensor, batched: bool) -> None:
        self.level = level
        self.tensor = tensor
        self.batched = batched

    def __getattr__(self, name: str) -> NoReturn:
        if name.startswith("__"):
            raise AttributeError(name)
        raise RuntimeError("Cannot access data pointer of Tensor that doesn't have storage")


def is_mapped(tensor: Any) -> bool:
    """Whether ``tensor`` belongs to a mapped function."""
    return isinstance(tensor, Tensor) and type(tensor.flat) is Batch


def detach(tensor: Tensor) -> Tensor:
    """``tensor`` without history, also at the levels around the mapped function."""
    if type(tensor.flat) is not Batch:
        return alias(tensor)
    held = tensor.flat
    inner = Batch(held.level, detach(held.tensor), held.batched)
    return make(inner, tensor.aval, tensor._shared, tensor._offset)


def refuse_branch(tensor: Tensor) -> None:
    """Raise torch's error when the truth of a mapped tensor is asked for."""
    if type(tensor.flat) is Batch:
        raise RuntimeError(BRANCH)
