"""A loop that goes on while a tensor says so."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from mindtorch.torch._aten.overloads import receiver
from mindtorch.torch._tensor.tensor import Tensor
from mindtorch.torch.utils._pytree import tree_flatten

__all__ = ["while_loop", "while_loop_op"]


def while_loop(
    cond_fn: Callable[..., Any], body_fn: Callable[..., Any], carried_inputs: Any
) -> Any:
    """``x = body_fn(*x)`` while ``cond_fn(*x)`` holds, from ``x = carried_inputs`` on; the last
    ``x``.

    Args:
        cond_fn: gives a bool, or a tensor of one element.
        body_fn: gives as many values as it takes, as a tuple.
        carried_inputs: a tuple of tensors and whole numbers, or of trees of them.

    Raises:
        RuntimeError: arguments or results of other kinds.
    """
    if not callable(cond_fn) or not callable(body_fn):
        raise RuntimeError("Expect cond_fn and body_fn to be callable.")
    if not all(isinstance(each, (Tensor, int)) for each in tree_flatten(carried_inputs)[0]):
        raise RuntimeError(
            "Expect carried_inputs to be a tuple of possibly nested dict/list/tuple that only"
            f"consists of tensor or int leaves, but got {carried_inputs}."
        )
    return while_loop_op(cond_fn, body_fn, tuple(carried_inputs), ())


def while_loop_op(
    cond_fn: Callable[..., Any], body_fn: Callable[..., Any], carried_inputs: Any,
    additional_inputs: Any,
) -> Any:  # fmt: skip
    """`torch.ops.higher_order.while_loop`: :func:`while_loop` of functions that take more.

    Args:
        cond_fn, body_fn: functions or graphs of the carried and the additional inputs.
        carried_inputs: what each round changes; additional_inputs: what stays.
    """
    top = receiver()
    if top is not None:
        found = top.repeat(cond_fn, body_fn, carried_inputs, tuple(additional_inputs))
        if found is not NotImplemented:
            return found
    carried, more = tuple(carried_inputs), tuple(additional_inputs)
    while _holds(cond_fn(*carried, *more)):
        made = body_fn(*carried, *more)
        if not isinstance(made, (tuple, list)) or len(made) != len(carried):
            raise RuntimeError(
                f"body_fn should return a tuple of {len(carried)} values, but got {made}"
            )
        carried = tuple(made)
    return carried


def _holds(found: Any) -> bool:
    if not isinstance(found, bool) and not (isinstance(found, Tensor) and found.numel() == 1):
        raise RuntimeError(
            f"cond_fn must return a boolean scalar tensor or a boolean but got {found}"
        )
    return bool(found)


while_loop_op.__module__, while_loop_op.__name__ = "torch._ops.higher_order", "while_loop"
# what files of exported programs call it
while_loop_op.file_word = "torch.ops.higher_order.while_loop"  # type: ignore[attr-defined]
