"""A choice between two functions, made by a tensor."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from mindtorch.torch._tensor.tensor import Tensor
from mindtorch.torch.utils._pytree import tree_flatten

__all__ = ["cond"]


def cond(
    pred: Any, true_fn: Callable[..., Any], false_fn: Callable[..., Any], operands: Any = ()
) -> Any:
    """``true_fn(*operands)`` where ``pred`` holds, else ``false_fn(*operands)``.

    Only the chosen function runs, so the other one may return tensors of another shape.

    Args:
        pred: a number, or a tensor of one element.
        true_fn, false_fn: functions of the operands.
        operands: a tuple of tensors, or of trees of them.

    Raises:
        RuntimeError: arguments of other kinds.
    """
    if isinstance(pred, (bool, int, float)):
        return true_fn(*operands) if pred else false_fn(*operands)
    if not isinstance(pred, Tensor):
        raise RuntimeError(f"Expected pred to be bool or tensor, but got {pred}.")
    if pred.numel() != 1:
        raise RuntimeError(f"Expected pred to be bool or single-element tensor, but got {pred}.")
    if not callable(true_fn) or not callable(false_fn):
        raise RuntimeError("Expect both branches to be callable.")
    if not isinstance(operands, (tuple, list)) or not all(
        isinstance(each, Tensor) for each in tree_flatten(operands)[0]
    ):
        raise RuntimeError(
            "Expect operands to be a tuple of possibly nested dict/list/tuple that only consists "
            f"of tensor leaves, but got {operands}."
        )
    return true_fn(*operands) if bool(pred) else false_fn(*operands)
