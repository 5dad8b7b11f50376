"""Collectives that give their result back in a new tensor; they are done when they return."""

from __future__ import annotations

from typing import Any

from mindtorch.torch._api.publish import FUNCTIONS
from mindtorch.torch._compat.unsupported_names import absent_function
from mindtorch.torch._tensor.tensor import Tensor

from . import distributed_c10d as c10d
from ._observed import observed

__all__ = [
    "all_gather_tensor", "all_reduce", "all_to_all_single", "broadcast", "reduce_scatter_tensor",
    "wait_tensor",
]  # fmt: skip

all_to_all_single_autograd = absent_function(
    "torch.distributed._functional_collectives", "all_to_all_single_autograd",
    "of the collectives only those of torch.distributed.nn.functional have gradients",
)  # fmt: skip


def wait_tensor(tensor: Tensor) -> Tensor:
    """``tensor``, which is there already."""
    return tensor


@observed("c10d_functional.all_reduce")
def all_reduce(self: Tensor, reduceOp: str, group: Any, tag: str = "") -> Tensor:  # noqa: N803
    """The combination of all processes' tensors; ``reduceOp`` is "sum", "avg", "max", ..."""
    result = self.clone()
    c10d.all_reduce(result, op=getattr(c10d.ReduceOp, reduceOp.upper()), group=group)
    return result


@observed("c10d_functional.broadcast")
def broadcast(self: Tensor, src: int, group: Any, tag: str = "") -> Tensor:
    """The tensor of process ``src``."""
    result = self.clone()
    c10d.broadcast(result, src, group=group)
    return result


@observed("c10d_functional.all_gather_into_tensor")
def all_gather_tensor(self: Tensor, gather_dim: int, group: Any, tag: str = "") -> Tensor:
    """The tensors of all processes, one after another along ``gather_dim``."""
    parts = [self.new_empty(self.shape) for _ in range(c10d.get_world_size(group))]
    c10d.all_gather(parts, self.contiguous(), group=group)
    return FUNCTIONS["cat"](parts, gather_dim)


@observed("c10d_functional.reduce_scatter_tensor")
def reduce_scatter_tensor(
    self: Tensor, reduceOp: str, scatter_dim: int, group: Any, tag: str = ""  # noqa: N803
) -> Tensor:
    """This process's piece, along ``scatter_dim``, of the combination of all processes' tensors."""
    size = c10d.get_world_size(group)
    if self.shape[scatter_dim] % size:
        raise AssertionError(
            f"input dimension {scatter_dim} ({self.shape[scatter_dim]}) must be a multiple of "
            f"group_size {size}"
        )
    pieces = [piece.contiguous() for piece in self.chunk(size, scatter_dim)]
    result = self.new_empty(pieces[0].shape)
    c10d.reduce_scatter(result, pieces, getattr(c10d.ReduceOp, reduceOp.upper()), group)
    return result


@observed("c10d_functional.all_to_all_single")
def all_to_all_single(
    self: Tensor,
    output_split_sizes: list[int] | None,
    input_split_sizes: list[int] | None,
    group: Any,
    tag: str = "",
) -> Tensor:
    """Send the pieces of ``self`` to the processes, and put theirs together."""
    rows = self.shape[0] if output_split_sizes is None else sum(output_split_sizes)
    result = self.new_empty((rows, *self.shape[1:]))
    c10d.all_to_all_single(
        result, self.contiguous(), output_split_sizes, input_split_sizes, group=group
    )
    return result
