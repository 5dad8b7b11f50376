"""Collectives that gradients pass through.

Each process differentiates its own loss; what a process sent to others gets the sum of their
gradients. All processes must run backward, since each rule is a collective of its own.
"""

from __future__ import annotations

from typing import Any

from mindtorch.torch._tensor.tensor import Tensor
from mindtorch.torch.autograd import Function

from .. import distributed_c10d as c10d

__all__ = ["all_gather", "all_reduce", "broadcast", "reduce"]


def _summed(gradient: Tensor, op: Any, group: Any) -> Tensor:
    """The sum over all processes, in a tensor of its own."""
    result = gradient.clone()
    c10d.all_reduce(result, op=op, group=group)
    return result


class _AllReduce(Function):
    @staticmethod
    def forward(ctx: Any, op: Any, group: Any, tensor: Tensor) -> Tensor:
        ctx.op, ctx.group = op, group
        return _summed(tensor, op, group)

    @staticmethod
    def backward(ctx: Any, gradient: Tensor) -> Any:
        return None, None, _AllReduce.apply(ctx.op, ctx.group, gradient)


class _Broadcast(Function):
    @staticmethod
    def forward(ctx: Any, src: int, group: Any, tensor: Tensor) -> Tensor:
        ctx.src, ctx.group = src, group
        result = tensor.clone()
        c10d.broadcast(result, src, group=group)
        return result

    @staticmethod
    def backward(ctx: Any, gradient: Tensor) -> Any:
        whole = _Reduce.apply(ctx.src, c10d.ReduceOp.SUM, ctx.group, gradient)
        return None, None, whole if c10d.get_rank() == ctx.src else whole.mul(0)


class _Reduce(Function):
    @staticmethod
    def forward(ctx: Any, dst: int, op: Any, group: Any, tensor: Tensor) -> Tensor:
        ctx.dst, ctx.group = dst, group
        result = tensor.clone()
        c10d.reduce(result, dst, op=op, group=group)
        return result

    @staticmethod
    def backward(ctx: Any, gradient: Tensor) -> Any:
        return None, None, None, _Broadcast.apply(ctx.dst, ctx.group, gradient)


class _AllGather(Function):
    @staticmethod
    def forward(ctx: Any, group: Any, tensor: Tensor) -> Any:
        ctx.group = group
        parts = [tensor.new_empty(tensor.shape) for _ in range(c10d.get_world_size(group))]
        c10d.all_gather(parts, tensor.contiguous(), group=group)
        return tuple(parts)

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> Any:
        own = c10d.get_rank(ctx.group)
        summed = [_AllReduce.apply(c10d.ReduceOp.SUM, ctx.group, each) for each in gradients]
        return None, summed[own]


def all_reduce(tensor: Tensor, op: Any = c10d.ReduceOp.SUM, group: Any = None) -> Tensor:
    """Combine ``tensor`` over the processes of ``group``; the result is the same in all.

    Its gradient is combined likewise.
    """
    return _AllReduce.apply(op, group, tensor)


def broadcast(tensor: Tensor, src: int, group: Any = None) -> Tensor:
    """The tensor of process ``src``, in all; its gradient there is the sum of all, elsewhere 0."""
    return _Broadcast.apply(src, group, tensor)


def reduce(tensor: Tensor, dst: int, op: Any = c10d.ReduceOp.SUM, group: Any = None) -> Tensor:
    """Combine over the processes, for ``dst`` alone, whose gradient goes to all."""
    return _Reduce.apply(dst, op, group, tensor)


def all_gather(tensor: Tensor, group: Any = None) -> tuple[Tensor, ...]:
    """The tensors of all processes; ``tensor`` gets the sum of the gradients of its copies."""
    return _AllGather.apply(group, tensor)
