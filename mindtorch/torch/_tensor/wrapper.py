"""Tensors around a dense one, ``held``, which has autodiff's history for them."""

from __future__ import annotations

from typing import Any, Self

from .tensor import Tensor


class HeldTensor(Tensor):
    """Its gradients are those of ``held``."""

    held: Any

    @property
    def requires_grad(self) -> bool:
        return bool(self.held.requires_grad)

    @requires_grad.setter
    def requires_grad(self, value: bool) -> None:
        self.held.requires_grad_(value)

    def requires_grad_(self, requires_grad: bool = True) -> Self:
        self.held.requires_grad_(requires_grad)
        return self

    @property
    def is_leaf(self) -> bool:
        return bool(self.held.is_leaf)

    @property
    def grad_fn(self) -> Any:
        return self.held.grad_fn
