"""``mindspore.boost``: gradients of several steps together."""

from .grad_accumulation import GradientAccumulation

__all__ = ["GradientAccumulation"]
