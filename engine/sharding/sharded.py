"""A tensor that lies over several processes, as the engine knows it.

Its aval describes the whole and says how it lies (:class:`ShardedAval`); where other tensors have
their data it has this process's part (:class:`LocalPart`). No op has a plan for such an aval, so
that a call on one gets to :mod:`.dispatch` where a plan would be made; calls on plain tensors pay
nothing.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NoReturn, Protocol

from ..aval import Aval, described_as
from ..tensor import Tensor, akin, make
from .placements import Partial, Placement, Replicate, Shard, StridedShard, piece

__all__ = [
    "LocalPart", "Mesh", "ShardedAval", "Sharding", "is_sharded", "local_part", "result_kind",
    "sharded_aval", "sharded_tensor",
]  # fmt: skip


class Mesh(Protocol):
    """The processes, in a grid, and what those along one of its axes do together.

    Local tensors come and go without history.
    """

    shape: tuple[int, ...]

    def get_coordinate(self) -> Sequence[int] | None:
        """This process's place in the grid; None outside of it."""

    def reduce_along(self, axis: int, local: Tensor, operation: str) -> Tensor:
        """The combination of all locals, in each process."""

    def gather_along(self, axis: int, local: Tensor, dim: int, sizes: Sequence[int]) -> Tensor:
        """The locals one after another along ``dim``, where they have these lengths."""

    def reduce_scatter_along(
        self, axis: int, parts: Sequence[Tensor], operation: str
    ) -> Tensor:
        """The combination of all processes' parts for this one."""

    def exchange_along(
        self, axis: int, parts: Sequence[Tensor], shapes: Sequence[tuple[int, ...]]
    ) -> list[Tensor]:
        """Part ``i`` goes to process ``i``; what all of them sent here, in these shapes."""


class Sharding:
    """A mesh, and how a tensor lies along each of its axes.

    Attributes:
        order: by the tensor's axis, those of the mesh that cut it, the first cut first.
    """

    __slots__ = ("_hash", "mesh", "order", "placements")

    def __init__(self, mesh: Mesh, placements: tuple[Placement, ...]) -> None:
        self.mesh = mesh
        self.placements = placements
        self._hash = hash((mesh, placements))
        self.order: dict[int, list[int]] = {}
        for late in (False, True):
            for axis, each in enumerate(placements):
                if isinstance(each, Shard) and isinstance(each, StridedShard) is late:
                    self.order.setdefault(each.dim, []).append(axis)

    def __hash__(self) -> int:
        return self._hash

    def __eq__(self, other: object) -> bool:
        return self is other or (
            isinstance(other, Sharding)
            and self.placements == other.placements
            and (self.mesh is other.mesh or self.mesh == other.mesh)
        )

    def __repr__(self) -> str:
        return f"{self.mesh!r} {', '.join(map(str, self.placements))}"

    def replicated(self) -> bool:
        """Whether every process has the whole."""
        return all(isinstance(each, Replicate) for each in self.placements)

    def partial(self) -> bool:
        """Whether some axis has terms only."""
        return any(isinstance(each, Partial) for each in self.placements)

    def pieces(self, dim: int) -> int:
        """Into how many pieces an axis of the tensor is cut."""
        count = 1
        for axis in self.order.get(dim, ()):
            count *= self.mesh.shape[axis]
        return count

    def local_range(self, shape: Sequence[int], place: Sequence[int]) -> list[tuple[int, int]]:
        """Where the part of the process at ``place`` begins along each axis, and its length.

        Of a tensor with a strided shard whose cut pieces are not adjacent it is the first place.
        """
        found = []
        for dim, length in enumerate(shape):
            start = 0
            for axis in self.order.get(dim, ()):
                first, length = piece(length, self.mesh.shape[axis], place[axis])
                start += first
            found.append((start, length))
        return found

    def local_shape(
        self, shape: Sequence[int], place: Sequence[int] | None = None
    ) -> tuple[int, ...]:
        """The shape of the part of this process, or of that at ``place``; all empty outside."""
        place = self.mesh.get_coordinate() if place is None else place
        if place is None:
            return (0,)
        return tuple([length for _, length in self.local_range(shape, place)])


class ShardedAval(Aval):
    """That of a tensor over several processes: equal to that of no other tensor.

    Attributes:
        whole: the aval of a plain tensor of the same elements.
        sharding: how it lies.
    """

    __slots__ = ("sharding", "whole")
    sharded = True
    sharding: Sharding
    whole: Aval

    def __repr__(self) -> str:
        return f"{Aval.__repr__(self)} over {self.sharding!r}"

    def __reduce__(self) -> tuple[Any, ...]:
        return sharded_aval, (self.whole, self.sharding)


def sharded_aval(whole: Aval, sharding: Sharding) -> ShardedAval:
    """The description of a tensor like ``whole`` that lies so; one object for each."""

    def finish(made: ShardedAval) -> None:
        made.whole, made.sharding = whole, sharding
        made.dense = False  # there is no memory of the whole

    return described_as(ShardedAval, whole, (ShardedAval, whole, sharding), finish)


class LocalPart:
    """Stands where a tensor's data would.

    Attributes:
        tensor: this process's part, a plain tensor without history.
    """

    __slots__ = ("tensor",)

    def __init__(self, tensor: Tensor) -> None:
        self.tensor = tensor

    @property
    def size(self) -> int:
        return self.tensor.aval.extent

    @property
    def dtype(self) -> Any:
        return self.tensor.aval.dtype.np

    def __getattr__(self, name: str) -> NoReturn:
        if name.startswith("__"):
            raise AttributeError(name)
        raise NotImplementedError(
            "this function reads a tensor's memory, which a DTensor does not have in one place: "
            "it is not available for DTensor in mindtorch; use to_local() or full_tensor()"
        )


def is_sharded(aval: Aval | None) -> bool:
    """Whether it describes a tensor over several processes."""
    return aval is not None and aval.sharded


def local_part(tensor: Tensor) -> Tensor:
    """This process's part of a tensor over several processes."""
    part: Tensor = tensor.flat.tensor
    return part


class ResultKind:
    """Which class tensors over several processes have.

    Attributes:
        result_type: the class; the namespace's own is put here.
    """

    result_type: Any = None


result_kind: Any = ResultKind()


def sharded_tensor(local: Tensor, described: ShardedAval) -> Tensor:
    """A tensor without history of which ``local`` is this process's part."""
    return akin(make(LocalPart(local), described), result_kind)
