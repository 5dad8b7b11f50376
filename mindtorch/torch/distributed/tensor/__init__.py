"""torch.distributed.tensor: tensors that lie over the processes of a mesh."""

from __future__ import annotations

from mindtorch.engine.sharding.placements import Partial as Partial
from mindtorch.engine.sharding.placements import Placement as Placement
from mindtorch.engine.sharding.placements import Replicate as Replicate
from mindtorch.engine.sharding.placements import Shard as Shard
from mindtorch.torch._api.public_names import own_names as _own_names

from ..device_mesh import DeviceMesh as DeviceMesh
from ..device_mesh import init_device_mesh as init_device_mesh
from . import _functions as _functions
from . import _mixed as _mixed
from . import debug as debug
from . import placement_types as placement_types
from ._distribute import distribute_module as distribute_module
from ._distribute import distribute_tensor as distribute_tensor
from ._distribute import empty as empty
from ._distribute import full as full
from ._distribute import ones as ones
from ._distribute import rand as rand
from ._distribute import randn as randn
from ._distribute import zeros as zeros
from ._tensor import DTensor as DTensor

__all__ = [
    "DTensor", "Partial", "Placement", "Replicate", "Shard", "distribute_module",
    "distribute_tensor", "empty", "full", "ones", "rand", "randn", "zeros",
]  # fmt: skip

_own_names(globals())
