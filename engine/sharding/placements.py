"""How a tensor lies over the processes of one axis of a mesh."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

__all__ = ["NormPartial", "Partial", "Placement", "Replicate", "Shard", "StridedShard", "piece"]


def piece(length: int, count: int, index: int) -> tuple[int, int]:
    """Where piece ``index`` of ``count`` begins, and its length: all are as long as the first, but
    for the last ones."""
    step = -(-length // count)
    start = min(index * step, length)
    return start, min(step, length - start)


class Placement:
    """The base of the descriptions."""

    def is_shard(self, dim: int | None = None) -> bool:
        """Whether the tensor is cut, along ``dim`` where that is given."""
        return isinstance(self, Shard) and (dim is None or self.dim == dim)

    def is_replicate(self) -> bool:
        """Whether each process has all of it."""
        return isinstance(self, Replicate)

    def is_partial(self, reduce_op: str | None = None) -> bool:
        """Whether each process has a term of it, combined by ``reduce_op`` where that is given."""
        return isinstance(self, Partial) and (reduce_op is None or self.reduce_op == reduce_op)


@dataclass(frozen=True)
class Shard(Placement):
    """Cut along ``dim``, a piece for each process: as ``torch.chunk`` cuts."""

    dim: int

    @staticmethod
    def local_shard_size_and_offset(
        curr_local_size: int, num_chunks: int, rank: int
    ) -> tuple[int, int]:
        """How long the piece of process ``rank`` is, and where it begins.

        Args:
            curr_local_size: the length of what is cut.
            num_chunks: into how many pieces.
            rank: which piece.
        """
        start, length = piece(curr_local_size, num_chunks, rank)
        return length, start

    def __str__(self) -> str:
        return f"S({self.dim})"


@dataclass(frozen=True, repr=False)
class StridedShard(Shard):
    """Cut along ``dim`` after a later axis of the mesh has cut it into ``split_factor`` pieces."""

    split_factor: int = 1

    def __repr__(self) -> str:
        return f"_StridedShard(dim={self.dim}, sf={self.split_factor})"

    def __str__(self) -> str:
        return f"_S({self.dim}, {self.split_factor})"


@dataclass(frozen=True)
class Replicate(Placement):
    """Whole in each process."""

    def __str__(self) -> str:
        return "R"


@dataclass(frozen=True, repr=False)
class Partial(Placement):
    """A term in each process, to be combined by ``reduce_op``: sum, avg, product, max or min."""

    reduce_op: str = "sum"
    ALL_REDUCE_OPS: ClassVar[tuple[str, ...]] = ("sum", "avg", "min", "max", "product")
    LINEAR_REDUCE_OPS: ClassVar[tuple[str, ...]] = ("sum", "avg")

    def __repr__(self) -> str:
        return f"Partial({self.reduce_op})"

    def __str__(self) -> str:
        return f"P({self.reduce_op})"


@dataclass(frozen=True, repr=False)
class NormPartial(Partial):
    """The norm of a part in each process: the whole's is (sum of norm^p)^(1/p)."""

    norm_type: float = 2.0

    def __repr__(self) -> str:
        return f"_NormPartial({self.norm_type:g})"

    def __str__(self) -> str:
        return f"_NormP({self.norm_type:g})"
