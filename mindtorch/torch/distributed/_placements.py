"""How a tensor would be spread over processes. Descriptions only: no tensor is spread here."""

from __future__ import annotations

from dataclasses import dataclass

__all__ = ["Partial", "Placement", "Replicate", "Shard", "_StridedShard"]


class Placement:
    """The base of the descriptions."""

    def is_shard(self, dim: int | None = None) -> bool:
        """Whether the tensor is cut, along ``dim`` where that is given."""
        return isinstance(self, Shard) and (dim is None or self.dim == dim)

    def is_replicate(self) -> bool:
        return isinstance(self, Replicate)

    def is_partial(self, reduce_op: str | None = None) -> bool:
        """Whether each process has a term of the result."""
        return isinstance(self, Partial) and (reduce_op is None or self.reduce_op == reduce_op)


@dataclass(frozen=True)
class Shard(Placement):
    """Cut along ``dim``, a piece for each process."""

    dim: int

    def __str__(self) -> str:
        return f"S({self.dim})"


@dataclass(frozen=True)
class _StridedShard(Shard):
    """Cut along ``dim`` after it was cut ``split_factor`` times the other way."""

    split_factor: int = 1


@dataclass(frozen=True)
class Replicate(Placement):
    """Whole in each process."""

    def __str__(self) -> str:
        return "R"


@dataclass(frozen=True)
class Partial(Placement):
    """A term in each process, to be combined by ``reduce_op``."""

    reduce_op: str = "sum"

    def __str__(self) -> str:
        return f"P({self.reduce_op})"
