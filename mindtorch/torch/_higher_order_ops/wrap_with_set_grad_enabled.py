"""A part of an exported program for which gradients are on, or off."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from mindtorch.torch.autograd.grad_mode import set_grad_enabled

__all__ = ["wrap_with_set_grad_enabled"]


def wrap_with_set_grad_enabled(
    enable_grad: bool, wrapped_func: Callable[..., Any], *args: Any
) -> Any:
    """``wrapped_func(*args)`` in a block of ``set_grad_enabled(enable_grad)``.

    Args:
        enable_grad: whether operations are recorded.
        wrapped_func: the part; args: what it takes.
    """
    with set_grad_enabled(enable_grad):
        return wrapped_func(*args)


wrap_with_set_grad_enabled.__module__ = "torch._ops.higher_order"
# what files of exported programs call it
wrap_with_set_grad_enabled.file_word = (  # type: ignore[attr-defined]
    "torch.ops.higher_order.wrap_with_set_grad_enabled"
)
