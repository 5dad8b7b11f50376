"""Gradients of several batches added up, then one step of the optimizer."""

from __future__ import annotations

from typing import Any

from mindtorch.engine import dtypes

from ..common import Parameter, Tensor
from ..nn.cell import Cell
from ..ops import depend, zeros_like
from ..ops.composite import HyperMap, MultitypeFuncGraph, assign, assign_add, partial

__all__ = ["GradientAccumulation", "gradient_accumulation_op", "gradient_clear_op"]

gradient_accumulation_op = MultitypeFuncGraph("gradient_accumulation_op")
gradient_clear_op = MultitypeFuncGraph("gradient_clear_op")


@gradient_accumulation_op.register("Number", "Tensor", "Tensor")
def _add(steps: Any, held: Any, gradient: Any) -> Any:
    return assign_add(held, gradient / steps)


@gradient_clear_op.register("Tensor")
def _clear(held: Any) -> Any:
    return assign(held, zeros_like(held))


class GradientAccumulation(Cell):
    """``cell(loss, gradients)`` adds gradients up; every so often the optimizer takes their mean.

    Args:
        max_accumulation_step: how many batches make a step.
        optimizer: whose parameters the gradients are of.
    """

    def __init__(self, max_accumulation_step: int, optimizer: Any) -> None:
        super().__init__()
        self._max_accumulation_step = max_accumulation_step
        self.optimizer = optimizer
        self.weights = optimizer.parameters
        self.hyper_map = HyperMap()
        self._grad_accumulation = self.weights.clone(prefix="grad_accumulation", init="zeros")
        self._accumulation_step = Parameter(Tensor(0, dtypes.int32), "accumulation_step")

    def construct(self, loss: Any, grads: Any) -> Any:
        add = partial(gradient_accumulation_op, self._max_accumulation_step)
        loss = depend(loss, self.hyper_map(add, self._grad_accumulation, grads))
        self._accumulation_step += 1
        if self._accumulation_step >= self._max_accumulation_step:
            loss = depend(loss, self.optimizer(self._grad_accumulation))
            loss = depend(loss, self.hyper_map(gradient_clear_op, self._grad_accumulation))
            self._accumulation_step = 0
        return loss
