"""What the processes along one axis of a mesh do with their local parts; without history."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from mindtorch.engine.aval import aval, contiguous_strides
from mindtorch.engine.devices.device import empty_on
from mindtorch.engine.ops.movement import cat, clone, contiguous, reshape, select, slice_
from mindtorch.engine.tensor import Tensor, full_flat, make

from . import distributed_c10d as c10d
from ._observed import observed

__all__ = ["exchanged", "gathered", "reduced", "reduced_parts", "same_everywhere"]


def _operation(name: str) -> Any:
    return getattr(c10d.ReduceOp, name.upper())


def _empty(shape: Sequence[int], like: Tensor) -> Tensor:
    described = aval(tuple(shape), like.aval.dtype, None, like.aval.device)
    return make(empty_on(described.device)(described.size, described.dtype.np), described)


def _copied(local: Tensor) -> Tensor:
    made: Tensor = clone(local, strides=contiguous_strides(local.aval.shape))
    return made


@observed("c10d_functional.all_reduce")
def reduced(local: Tensor, operation: str, group: Any) -> Tensor:
    """The combination of all locals, in each process."""
    total = _copied(local)
    c10d.all_reduce(total, op=_operation(operation), group=group)
    return total


def _padded(local: Tensor, dim: int, length: int) -> Tensor:
    """``local`` with zeros behind it along ``dim``."""
    missing = length - local.aval.shape[dim]
    if not missing:
        return contiguous(local)
    shape = list(local.aval.shape)
    shape[dim] = missing
    zeros = full_flat(tuple(shape), local.aval.dtype, 0, local.aval.device)
    joined: Tensor = cat(local, zeros, axis=dim)
    return joined


@observed("c10d_functional.all_gather_into_tensor")
def gathered(local: Tensor, dim: int, sizes: Sequence[int], group: Any) -> Tensor:
    """The locals one after another along ``dim``, where they have these lengths."""
    part = _padded(local, dim, max(sizes))
    shape = part.aval.shape
    rows = _empty((len(sizes), *shape), part)
    c10d.all_gather_into_tensor(rows, part, group=group)
    even = all(n == sizes[0] for n in sizes)
    if even and all(n == 1 for n in shape[:dim]):
        return reshape(rows, (*shape[:dim], shape[dim] * len(sizes), *shape[dim + 1 :]))
    parts = [select(rows, axis=0, index=i) for i in range(len(sizes))]
    if not even:
        parts = [
            slice_(p, axis=dim, start=0, length=n, step=1)
            for p, n in zip(parts, sizes, strict=True)
        ]
    joined: Tensor = cat(*parts, axis=dim)
    return joined


@observed("c10d_functional.reduce_scatter_tensor")
def reduced_parts(parts: Sequence[Tensor], operation: str, group: Any) -> Tensor:
    """The combination of all processes' parts for this one."""
    own = c10d.get_rank(group)
    given = [contiguous(part) for part in parts]
    result = _empty(given[own].aval.shape, given[own])
    c10d.reduce_scatter(result, given, op=_operation(operation), group=group)
    return result


@observed("_dtensor.shard_dim_alltoall")
def exchanged(
    parts: Sequence[Tensor], shapes: Sequence[tuple[int, ...]], group: Any
) -> list[Tensor]:
    """Part ``i`` goes to process ``i``; what all of them sent here, in these shapes."""
    results = [_empty(shape, parts[0]) for shape in shapes]
    c10d.all_to_all(results, [contiguous(part) for part in parts], group=group)
    return results


@observed("c10d_functional.broadcast")
def same_everywhere(local: Tensor, source: int, group: Any) -> Tensor:
    """The local of one process, by its number in the group, in all."""
    result = _copied(local)
    c10d.broadcast(result, group=group, group_src=source)
    return result
