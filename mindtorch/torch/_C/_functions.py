"""Nodes and functions of torch's C++ module that scripts name."""

from __future__ import annotations

from typing import Any

from mindtorch.engine.autograd.tape import AccumulateGrad as AccumulateGrad
from mindtorch.torch.autograd.function import DelayedError as _DelayedError
from mindtorch.torch.autograd.function import Function

__all__ = ["AccumulateGrad", "DelayedError", "UndefinedGrad"]


class DelayedError:
    """``DelayedError(text, n)(*tensors)``: the n tensors, whose derivative raises RuntimeError."""

    def __init__(self, msg: str, num_inputs: int) -> None:
        self.msg, self.num_inputs = msg, num_inputs

    def __call__(self, *tensors: Any) -> Any:
        found = _DelayedError.apply(self.msg, *tensors)
        return found if self.num_inputs > 1 else found[0]


class _Undefined(Function):
    @staticmethod
    def forward(ctx: Any, *tensors: Any) -> Any:
        return tuple(x.detach() for x in tensors)

    @staticmethod
    def backward(ctx: Any, *gradients: Any) -> Any:
        return (None,) * len(gradients)


class UndefinedGrad:
    """``UndefinedGrad()(*tensors)``: the tensors, whose gradient does not arrive."""

    def __call__(self, *tensors: Any) -> Any:
        found = _Undefined.apply(*tensors)
        return found if len(tensors) > 1 else found[0]
