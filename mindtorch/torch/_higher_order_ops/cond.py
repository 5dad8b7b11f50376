"""A choice between two functions, made by a tensor."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from contextvars import ContextVar
from typing import Any

from mindtorch.engine.compile.ir.ir import waits
from mindtorch.torch._aten.overloads import receiver
from mindtorch.torch._tensor.tensor import Tensor
from mindtorch.torch.functions.comparison import where
from mindtorch.torch.utils._pytree import tree_flatten, tree_unflatten

__all__ = ["cond", "cond_op", "selecting"]

_selects: ContextVar[bool] = ContextVar("selects", default=False)


@contextlib.contextmanager
def selecting() -> Iterator[None]:
    """A block in which both functions are computed where the condition is not known yet, and the
    results of one are taken: for graphs without branches."""
    before = _selects.set(True)
    try:
        yield
    finally:
        _selects.reset(before)


def _selected(pred: Any, true_fn: Any, false_fn: Any, operands: Any) -> Any:
    (one, spec), (other, same) = [tree_flatten(f(*operands)) for f in (true_fn, false_fn)]
    if spec != same or [(x.dtype, x.shape) for x in one] != [(x.dtype, x.shape) for x in other]:
        raise RuntimeError("torch.cond: both branches must return tensors of one type and shape")
    condition = pred.reshape(()).bool()
    return tree_unflatten([where(condition, a, b) for a, b in zip(one, other, strict=True)], spec)


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
    return cond_op(pred, true_fn, false_fn, operands)


def cond_op(
    pred: Any, true_fn: Callable[..., Any], false_fn: Callable[..., Any], operands: Any
) -> Any:
    """`torch.ops.higher_order.cond`: :func:`cond` without checks.

    Args:
        pred: a tensor of one element.
        true_fn, false_fn: functions or graphs of the operands.
        operands: what they take.
    """
    top = receiver()
    found = NotImplemented if top is None else top.choose(pred, true_fn, false_fn, operands)
    if found is not NotImplemented:
        return found
    if _selects.get() and waits(pred):
        return _selected(pred, true_fn, false_fn, operands)
    return true_fn(*operands) if bool(pred) else false_fn(*operands)


cond_op.__module__, cond_op.__name__ = "torch._ops.higher_order", "cond"
# what files of exported programs call it
cond_op.file_word = "torch.ops.higher_order.cond"  # type: ignore[attr-defined]
