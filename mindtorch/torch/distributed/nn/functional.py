"""Collectives that gradients pass through.

Each process differentiates its own loss; what a process sent to others gets the sum of their
gradients. All processes must run backward, since each rule is a collective of its own.
"""

from __future__ import annotations

from typing import Any

from mindtorch.torch._tensor.tensor import Tensor
from mindtorch.torch.autograd import Function

from .. import distributed_c10d as c10d

__all__ = [
    "all_gather", "all_reduce", "all_to_all", "all_to_all_single", "broadcast", "gather", "reduce",
    "reduce_scatter", "scatter",
]  # fmt: skip


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


class _Gather(Function):
    @staticmethod
    def forward(ctx: Any, dst: int, group: Any, tensor: Tensor) -> Any:
        ctx.dst, ctx.group = dst, group
        parts = [tensor.new_zeros(tensor.shape) for _ in range(c10d.get_world_size(group))]
        here = c10d.get_rank(group) == dst
        c10d.gather(tensor.contiguous(), parts if here else None, dst, group=group)
        return tuple(parts)

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> Any:
        return None, None, _Scatter.apply(ctx.dst, ctx.group, *gradients)


class _Scatter(Function):
    @staticmethod
    def forward(ctx: Any, src: int, group: Any, *tensors: Tensor) -> Tensor:
        ctx.src, ctx.group = src, group
        result = tensors[0].new_zeros(tensors[0].shape)
        here = c10d.get_rank(group) == src
        given = [each.contiguous() for each in tensors] if here else None
        c10d.scatter(result, given, src, group=group)
        return result

    @staticmethod
    def backward(ctx: Any, gradient: Tensor) -> Any:
        return None, None, *_Gather.apply(ctx.src, ctx.group, gradient)


class _ReduceScatter(Function):
    @staticmethod
    def forward(ctx: Any, op: Any, group: Any, output: Tensor, *tensors: Tensor) -> Tensor:
        ctx.group = group
        given = [each.contiguous() for each in tensors]
        c10d.reduce_scatter(output, given, op=op, group=group)
        return output

    @staticmethod
    def backward(ctx: Any, gradient: Tensor) -> Any:
        return None, None, None, *_AllGather.apply(ctx.group, gradient)


class _AllToAll(Function):
    @staticmethod
    def forward(ctx: Any, group: Any, outputs: list[Tensor], *tensors: Tensor) -> Any:
        ctx.group, ctx.sizes = group, [each.shape for each in tensors]
        c10d.all_to_all(outputs, [each.contiguous() for each in tensors], group=group)
        return tuple(outputs)

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> Any:
        found = [gradients[0].new_empty(size) for size in ctx.sizes]
        return None, None, *_AllToAll.apply(ctx.group, found, *gradients)


class _AllToAllSingle(Function):
    @staticmethod
    def forward(
        ctx: Any, group: Any, output: Tensor, received: Any, sent: Any, tensor: Tensor
    ) -> Tensor:
        ctx.group, ctx.size, ctx.received, ctx.sent = group, tensor.shape, received, sent
        c10d.all_to_all_single(output, tensor.contiguous(), received, sent, group=group)
        return output

    @staticmethod
    def backward(ctx: Any, gradient: Tensor) -> Any:
        found = gradient.new_empty(ctx.size)
        back = _AllToAllSingle.apply(ctx.group, found, ctx.sent, ctx.received, gradient)
        return None, None, None, None, back


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


def gather(tensor: Tensor, dst: int = 0, group: Any = None) -> tuple[Tensor, ...]:
    """The tensors of all processes, in process ``dst``, whose gradients go back to them; elsewhere
    zeros, which all must run backward from."""
    return _Gather.apply(dst, group, tensor)


def scatter(tensors: list[Tensor], src: int = 0, group: Any = None) -> Tensor:
    """Each process's own of the tensors that ``src`` has, where their gradients are.

    Args:
        tensors: as many as processes, all of one shape; only those of ``src`` are sent.
    """
    return _Scatter.apply(src, group, *tensors)


def reduce_scatter(
    output: Tensor, input_list: list[Tensor], op: Any = c10d.ReduceOp.SUM, group: Any = None
) -> Tensor:
    """This process's own of the tensors, combined over the processes; each has the gradient of
    the process that it went to.

    Args:
        output: memory for the result.
        input_list: as many as processes.
    """
    return _ReduceScatter.apply(op, group, output, *input_list)


def all_to_all(
    output_tensor_list: list[Tensor], input_tensor_list: list[Tensor], group: Any = None
) -> tuple[Tensor, ...]:
    """What each process has for this one; gradients go the other way.

    Args:
        output_tensor_list: memory for the results.
        input_tensor_list: what this process has for each.
    """
    return _AllToAll.apply(group, output_tensor_list, *input_tensor_list)


def all_to_all_single(
    output: Tensor, input: Tensor, output_split_sizes: Any = None,  # noqa: A002
    input_split_sizes: Any = None, group: Any = None,
) -> Tensor:  # fmt: skip
    """:func:`all_to_all` of the parts of one tensor, along its first axis.

    Args:
        output: memory for the result.
        output_split_sizes, input_split_sizes: lengths of the parts; None: all of one length.
    """
    return _AllToAllSingle.apply(group, output, output_split_sizes, input_split_sizes, input)
