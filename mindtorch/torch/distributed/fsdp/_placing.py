"""Over which processes parameters are cut, and over which they are repeated."""

from __future__ import annotations

from typing import Any

from mindtorch.engine.aval import aval
from mindtorch.engine.sharding.placements import Placement, Replicate, Shard, StridedShard
from mindtorch.engine.sharding.sharded import (
    Sharding,
    is_sharded,
    local_part,
    sharded_aval,
    sharded_tensor,
)
from mindtorch.engine.tensor import from_array

from .._group import ProcessGroup

__all__ = ["MeshPlacing", "Placing"]


class Placing:
    """The processes that each have a part of a parameter, which is a tensor of this process.

    Args:
        group: those that have the parts; None where each has the whole.
        repeated: those that have the same part; None where there are no others.
    """

    def __init__(self, group: ProcessGroup | None, repeated: ProcessGroup | None) -> None:
        self.repeated = repeated
        self.shards = 1 if group is None else group.size()
        self.place = 0 if group is None else group.rank()
        found = group or repeated
        assert found is not None
        self.group: ProcessGroup = found
        self.processes = self.shards * (1 if repeated is None else repeated.size())

    def local_of(self, parameter: Any) -> Any:
        """The tensor of this process."""
        return parameter

    def spec_of(self, parameter: Any) -> Any:
        """What is known of a parameter that is spread already; None for others."""
        return None

    def shown(self, part: Any, shard: Any) -> Any:
        """A part, or its gradient, as users see it."""
        return part

    def whole_shown(self, leaf: Any, shard: Any) -> Any:
        """The whole as modules compute with it."""
        return leaf

    def whole_gradient(self, gradient: Any, shard: Any) -> Any:
        """This process's part of the gradient of what :meth:`whole_shown` gave."""
        return gradient

    def tensor_of(self, array: Any) -> Any:
        """A tensor over the memory of an array."""
        return from_array(array)


class MeshPlacing(Placing):
    """The processes of a mesh of one axis, or of two, of which the first repeats. Parts are
    DTensors; parameters that are DTensors of another mesh are cut further.

    Args:
        mesh: of one or two axes.
    """

    def __init__(self, mesh: Any) -> None:
        super().__init__(
            mesh.get_group(mesh.ndim - 1), mesh.get_group(0) if mesh.ndim == 2 else None
        )
        self.mesh = mesh
        self._meshes: dict[Any, Any] = {}

    def local_of(self, parameter: Any) -> Any:
        return local_part(parameter) if is_sharded(parameter.aval) else parameter

    def spec_of(self, parameter: Any) -> Any:
        return parameter.aval if is_sharded(parameter.aval) else None

    def shown(self, part: Any, shard: Any) -> Any:
        cuts: Placement = Shard(shard.dim)
        mesh, others, shape = self.mesh, (), shard.shape
        if shard.spec is not None:
            spread = shard.spec.sharding
            mesh, others, shape = self._with(spread.mesh), spread.placements, shard.spec.shape
            inner = spread.pieces(shard.dim)
            if inner > 1:
                cuts = StridedShard(shard.dim, inner)
        repeats = () if self.repeated is None else (Replicate(),)
        whole = aval(shape, part.aval.dtype, None, part.aval.device)
        return sharded_tensor(part, sharded_aval(whole, Sharding(mesh, (*repeats, cuts, *others))))

    def _with(self, inner: Any) -> Any:
        """The mesh of this one's axes and then those over which a parameter is spread already."""
        if inner not in self._meshes:
            own, others = self.mesh.mesh_dim_names or (), inner.mesh_dim_names or ()
            root = self.mesh._get_root_mesh()
            known = set(root.mesh_dim_names or ())
            if not own or not others or not known >= {*own, *others} or root[others] != inner:
                raise RuntimeError(
                    "FSDP over parameters that are DTensors needs both meshes to be slices, with "
                    f"names, of one: {self.mesh} and {inner}"
                )
            self._meshes[inner] = root[(*own, *others)]
        return self._meshes[inner]

    def whole_shown(self, leaf: Any, shard: Any) -> Any:
        if shard.spec is None:
            return leaf
        spread = shard.spec
        whole = aval(spread.shape, leaf.aval.dtype, None, leaf.aval.device)
        return sharded_tensor(leaf, sharded_aval(whole, spread.sharding))

    def whole_gradient(self, gradient: Any, shard: Any) -> Any:
        if shard.spec is None:
            return gradient
        spread = shard.spec.sharding
        return local_part(gradient.detach().redistribute(spread.mesh, spread.placements))


def cut(whole: Any, mesh: Any, placing: Placing) -> Any:
    """The DTensor, cut along axis 0, of a tensor that all processes have; without messages.

    Args:
        mesh: of the processes that get the parts, or of one axis more, the first, that repeats.
        placing: tells which part is this process's.
    """
    placements: tuple[Placement, ...] = (Replicate(),) * mesh.ndim
    local = whole.detach()
    if placing.shards > 1 and local.aval.ndim:
        placements = (*placements[:-1], Shard(0))
        rows = -(-local.shape[0] // placing.shards)
        local = local[rows * placing.place : rows * (placing.place + 1)]
    described = sharded_aval(whole.aval, Sharding(mesh, placements))
    return sharded_tensor(local.clone(), described)
