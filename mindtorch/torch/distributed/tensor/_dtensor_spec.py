"""A tensor's mesh, placements and description in one object, as PyTorch's internals have it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

from mindtorch.engine.sharding.placements import Placement

__all__ = ["DTensorSpec", "TensorMeta"]


class TensorMeta(NamedTuple):
    """Shape, strides and type of the whole."""

    shape: Any
    stride: tuple[int, ...]
    dtype: Any


@dataclass(frozen=True)
class DTensorSpec:
    """How a tensor lies, and what it is as a whole.

    Attributes:
        mesh: the processes.
        placements: one for each axis of the mesh.
        tensor_meta: shape, strides and type.
    """

    mesh: Any
    placements: tuple[Placement, ...]
    tensor_meta: TensorMeta | None = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "placements", tuple(self.placements))

    @property
    def device_mesh(self) -> Any:
        return self.mesh

    @property
    def shape(self) -> Any:
        return self._meta.shape

    @property
    def stride(self) -> tuple[int, ...]:
        return self._meta.stride

    @property
    def ndim(self) -> int:
        return len(self._meta.shape)

    @property
    def _meta(self) -> TensorMeta:
        if self.tensor_meta is None:
            raise ValueError("tensor_meta is not set")
        return self.tensor_meta
