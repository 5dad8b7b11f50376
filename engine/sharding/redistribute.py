"""Local parts for another sharding: which collectives make them, and the cost of that."""

from __future__ import annotations

import math
from typing import Any

from ..aval import aval
from ..ops.elementwise import power
from ..ops.movement import cat, clone, contiguous, slice_
from ..tensor import Tensor, constant, full_flat
from .placements import NormPartial, Partial, Placement, Replicate, Shard, piece
from .sharded import Sharding

__all__ = ["cost", "cut", "redistribute_local"]

_START = 64 * 1024  # what starting a collective costs, in bytes that could be sent meanwhile


def cost(now: Placement, wanted: Placement, size: float, count: int) -> float:
    """Bytes that a process sends for another placement along an axis of ``count`` processes.

    Args:
        size: the bytes of the whole.
    """
    if now == wanted or count == 1:
        return 0.0
    if isinstance(now, Replicate):
        return size / count * 0.01  # a copy of a part
    share = size * (count - 1) / count
    if isinstance(now, Partial):
        if isinstance(wanted, Partial):
            return 4 * share + _START
        return (share if isinstance(wanted, Shard) else 2 * share) + _START
    if isinstance(wanted, Shard):
        return share + _START + 1  # less is sent than for a gather, but a sum mostly follows
    return (share if isinstance(wanted, Replicate) else 2 * share) + _START


def cut(local: Tensor, dim: int, start: int, length: int) -> Tensor:
    """Some of an axis, in memory of its own."""
    part = slice_(local, axis=dim, start=start, length=length, step=1)
    return clone(part, strides=aval(part.aval.shape, part.aval.dtype).strides)


def _pieces(local: Tensor, dim: int, count: int) -> list[Tensor]:
    length = local.aval.shape[dim]
    return [cut(local, dim, *piece(length, count, i)) for i in range(count)]


def _combined(mesh: Any, axis: int, local: Tensor, how: Partial) -> Tensor:
    """The whole of which each process has a term."""
    if not isinstance(how, NormPartial):
        return mesh.reduce_along(axis, local, how.reduce_op)
    if math.isinf(how.norm_type):
        return mesh.reduce_along(axis, local, "max" if how.norm_type > 0 else "min")
    if how.norm_type in (0, 1):
        return mesh.reduce_along(axis, local, "sum")
    powers = power(local, constant(how.norm_type))
    total = mesh.reduce_along(axis, powers, "sum")
    return power(total, constant(1 / how.norm_type))


def _scattered(mesh: Any, axis: int, local: Tensor, how: Partial, dim: int, index: int) -> Tensor:
    """This process's piece of the whole of which each has a term."""
    count = mesh.shape[axis]
    if isinstance(how, NormPartial):
        whole = _combined(mesh, axis, local, how)
        return cut(whole, dim, *piece(whole.aval.shape[dim], count, index))
    return mesh.reduce_scatter_along(axis, _pieces(local, dim, count), how.reduce_op)


def _as_term(local: Tensor, how: Partial, index: int) -> Tensor:
    """A whole that every process has as the terms of one."""
    if how.reduce_op in ("max", "min", "avg") or index == 0:
        return local
    neutral = 1 if how.reduce_op == "product" else 0
    described = local.aval
    return full_flat(described.shape, described.dtype, neutral, described.device)


class _Change:
    """A local part on its way from one sharding to another.

    Attributes:
        now: how it lies by now.
        order: the axes of the mesh that cut each axis of the tensor by now.
    """

    def __init__(self, local: Tensor, shape: Any, source: Sharding, target: Sharding) -> None:
        self.local = local
        self.shape = shape
        self.target = target
        self.mesh: Any = source.mesh
        self.place: Any = source.mesh.get_coordinate()
        self.now = list(source.placements)
        self.order = {dim: list(axes) for dim, axes in source.order.items()}

    def run(self) -> Tensor:
        """The local part of the target."""
        wanted = self.target.placements
        for axis, each in enumerate(self.now):
            if isinstance(each, Partial) and not isinstance(wanted[axis], Shard):
                if each != wanted[axis]:
                    self.local = _combined(self.mesh, axis, self.local, each)
                    self.now[axis] = Replicate()
        for dim in list(self.order):
            while len(self.order[dim]) > self._kept(dim):
                self._uncut(dim)
        for dim, axes in self.target.order.items():
            for axis in axes[len(self.order.get(dim, ())) :]:
                self._cut(dim, axis)
        for axis, each in enumerate(wanted):
            if isinstance(each, Partial) and self.now[axis] != each:
                self.local = _as_term(self.local, each, self.place[axis])
        return self.local

    def _kept(self, dim: int) -> int:
        """How many of the cuts along ``dim`` are those of the target."""
        kept = 0
        goal = self.target.order.get(dim, ())
        for own, other in zip(self.order[dim], goal, strict=False):
            if own != other or self.now[own] != self.target.placements[own]:
                break
            kept += 1
        return kept

    def _length(self, dim: int) -> int:
        """That of the local part along ``dim``."""
        length: int = self.shape[dim]
        for axis in self.order.get(dim, ()):
            length = piece(length, self.mesh.shape[axis], self.place[axis])[1]
        return length

    def _uncut(self, dim: int) -> None:
        """Undo the last cut along ``dim``: the processes' pieces become one, or are exchanged for
        those of another cut."""
        axis = self.order[dim].pop()
        count = self.mesh.shape[axis]
        length = self._length(dim)
        sizes = [piece(length, count, i)[1] for i in range(count)]
        goal = self.target.placements[axis]
        if isinstance(goal, Shard) and goal.dim != dim and self._is_next(goal.dim, axis):
            self._exchange(dim, goal.dim, axis, sizes)
            self.now[axis] = goal
            return
        self.local = self.mesh.gather_along(axis, self.local, dim, sizes)
        self.now[axis] = Replicate()

    def _is_next(self, dim: int, axis: int) -> bool:
        done = self.order.get(dim, [])
        goal = self.target.order[dim]
        return goal[: len(done)] == done and goal[len(done)] == axis and (
            all(self.now[a] == self.target.placements[a] for a in done)
        )

    def _exchange(self, dim: int, other: int, axis: int, sizes: list[int]) -> None:
        count, index = len(sizes), self.place[axis]
        parts = _pieces(self.local, other, count)
        shape = list(parts[index].aval.shape)
        shapes = [(*shape[:dim], n, *shape[dim + 1 :]) for n in sizes]
        self.local = cat(*self.mesh.exchange_along(axis, parts, shapes), axis=dim)
        self.order.setdefault(other, []).append(axis)

    def _cut(self, dim: int, axis: int) -> None:
        count, index, how = self.mesh.shape[axis], self.place[axis], self.now[axis]
        if isinstance(how, Partial):
            self.local = _scattered(self.mesh, axis, self.local, how, dim, index)
        else:
            self.local = cut(self.local, dim, *piece(self.local.aval.shape[dim], count, index))
        self.order.setdefault(dim, []).append(axis)
        self.now[axis] = self.target.placements[axis]


def redistribute_local(
    local: Tensor, shape: Any, source: Sharding, target: Sharding
) -> Tensor:
    """The local part under ``target`` of a tensor whose part under ``source`` is ``local``.

    All processes of the mesh call it; outside of it nothing is done.

    Args:
        shape: of the whole.
    """
    if source == target or source.mesh.get_coordinate() is None:
        return local
    return _Change(contiguous(local), shape, source, target).run()
