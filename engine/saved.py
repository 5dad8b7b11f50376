"""What nodes keep of the tensors that scripts' hooks pack, and those hooks, by thread."""

from __future__ import annotations

import threading
from typing import Any

from .tensor import Tensor, alias, version_of

# (pack, unpack) of each thread that has any, by its number, the innermost last
saved_tensor_hooks: dict[int, tuple[Any, ...]] = {}

DETACHED = (
    "Trying to use a saved tensor that has been detached in-place, i.e. with .detach_()."
    "This is not supported, please use out-of-place `.detach()` instead"
)
_MODIFYING = (
    "A saved tensor pack hook is modifying its input in place. Tensors provided as input to pack "
    "hook cannot be modified by in-place operations as this can lead to unexpected side-effects. "
    "Please open an issue if you need to perform in-place operations on the input to a pack hook."
)


def hooks_of_thread() -> tuple[Any, ...]:
    """The hooks on saved tensors of this thread, the innermost last."""
    return saved_tensor_hooks.get(threading.get_ident(), ())


def set_hooks_of_thread(hooks: tuple[Any, ...]) -> None:
    """Make ``hooks`` those on what this thread saves."""
    if hooks:
        saved_tensor_hooks[threading.get_ident()] = hooks
    else:
        saved_tensor_hooks.pop(threading.get_ident(), None)


class PackedTensor:
    """A saved tensor that a script's hooks have packed, and its place in the graph.

    Args:
        tensor: what is saved; the pack hook runs without gradients, and must not write to it.
        node, index: what ``tensor`` is a result of, or None.
        hooks: (pack, unpack).
    """

    __slots__ = ("index", "node", "packed", "unpack_hook")

    def __init__(self, tensor: Tensor, node: Any, index: int, hooks: Any) -> None:
        from .autodiff import grad_mode

        self.node, self.index = node, index
        version = version_of(tensor)
        with grad_mode(False):
            self.packed = hooks[0](tensor)
        if version_of(tensor) != version:
            raise RuntimeError(_MODIFYING)
        self.unpack_hook = hooks[1]

    def unpack(self) -> Tensor:
        """What the hook gives back, in the place of the tensor that was saved."""
        value = self.unpack_hook(self.packed)
        if not isinstance(value, Tensor):
            raise TypeError(
                "Output of saved tensor unpack_hook expected to be a Tensor but got result of "
                f"type {type(value).__name__}"
            )
        if value._node is not self.node or value._output_index != self.index:
            value = alias(value)
            value._node = self.node
            value._output_index = self.index
        return value


def kept(tensors: Any, places: Any) -> list[Any]:
    """``tensors`` as a node saves them, packed where this thread has hooks.

    Args:
        places: for each of them (node, index) of what it is a result of.
    """
    hooks = hooks_of_thread()
    if not hooks:
        return list(tensors)
    return [
        x if x is None or x.aval.weak else PackedTensor(x, node, index, hooks[-1])
        for x, (node, index) in zip(tensors, places, strict=True)
    ]
